"""What both code generators share: indented lines, fresh names, and the objects that the generated code refers to."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from struct import Struct
from typing import Any

from inkless.wire.shape import FIXED, Field, Shape, shape_of


class Source:
    """Python source in the making, with the namespace that it will run in."""

    def __init__(self, namespace: dict[str, Any]) -> None:
        self.namespace = dict(namespace)
        self._lines: list[str] = []
        self._depth = 0
        self._names = 0

    def line(self, text: str) -> None:
        self._lines.append("    " * self._depth + text)

    @contextmanager
    def block(self, head: str) -> Iterator[None]:
        self.line(head)
        self._depth += 1
        yield
        self._depth -= 1

    def fresh(self, prefix: str) -> str:
        self._names += 1
        return f"{prefix}{self._names}"

    def bind(self, prefix: str, value: Any) -> str:
        """A name by which the generated code reaches the value."""
        name = self.fresh(prefix)
        self.namespace[name] = value
        return name

    def compile(self, name: str, title: str) -> Callable[..., Any]:
        exec(compile("\n".join(self._lines), f"<{title}>", "exec"), self.namespace)
        function: Callable[..., Any] = self.namespace[name]
        return function


def present(shape: Shape, version: int) -> tuple[dict[str, Field], dict[str, Field]]:
    """The fields that exist in the version: those in line, and those that travel tagged."""
    here = {name: field for name, field in shape.fields.items() if version in field.versions}
    plain = {name: field for name, field in here.items() if field.tag is None}
    tagged = {name: field for name, field in here.items() if field.tag is not None}
    return plain, dict(sorted(tagged.items(), key=lambda item: item[1].tag or 0))


def minimum_size(element: str | type, version: int, flexible: bool) -> int:
    """The fewest bytes that one element takes, so that a count can be held against what is left of the frame."""
    if isinstance(element, type):
        plain, _ = present(shape_of(element), version)
        return flexible + sum(_minimum_field_size(field, version, flexible) for field in plain.values())
    if element in FIXED:
        return Struct(">" + FIXED[element]).size
    if flexible:
        return 1
    return 2 if element == "string" else 4


def _minimum_field_size(field: Field, version: int, flexible: bool) -> int:
    if field.kind == "struct":
        return 1
    return minimum_size(field.kind, version, flexible)
