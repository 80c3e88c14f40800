"""One declared setting, and how it is declared as a typed field of `Settings`."""

from dataclasses import Field, dataclass, field
from typing import Any, TypeVar, cast

from inkless.settings.kinds import Kind

T = TypeVar("T")
D = TypeVar("D")

HIDDEN = "[hidden]"


@dataclass(frozen=True, slots=True)
class Setting:
    name: str
    kind: Kind[Any]
    default: Any
    doc: str
    default_text: str | None
    aliases: tuple[str, ...]
    secret: bool

    def show(self, value: Any) -> str:
        """The value as a file would spell it; a secret stays hidden, and what is not set is empty."""
        if value is None:
            return ""
        return HIDDEN if self.secret else self.kind.show(value)

    def redact(self, text: str) -> str:
        """The typed text as a message may repeat it."""
        return HIDDEN if self.secret else self.kind.redact(text)


def declare(
    name: str,
    kind: Kind[T],
    default: D,
    doc: str,
    *,
    default_text: str | None = None,
    aliases: tuple[str, ...] = (),
    secret: bool = False,
) -> T | D:
    """A dataclass field that carries its setting; typed as its value, so that mypy knows the attribute."""
    setting = Setting(name, kind, default, doc, default_text, aliases, secret)
    return cast(T, field(default=default, metadata={"setting": setting}))


def declared(attribute: Field[Any]) -> Setting | None:
    return cast("Setting | None", attribute.metadata.get("setting"))


def environment_name(name: str) -> str:
    return "INKLESS_" + name.removeprefix("inkless.").replace(".", "_").upper()
