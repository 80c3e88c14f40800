"""What the text of a setting may be: each kind parses it, says what it expects, and shows a value again.

A parser raises ValueError with a text that completes the sentence "expected …".
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar

from inkless.settings.listeners import Listener, parse_listeners, parse_protocol_map
from inkless.settings.urls import hide_credentials, parse_url

T = TypeVar("T")

MAX_INT = 2**31 - 1
MAX_LONG = 2**63 - 1


def _as_typed(text: str) -> str:
    return text


@dataclass(frozen=True, slots=True)
class Kind(Generic[T]):
    type: str
    valid: str
    parse: Callable[[str], T]
    show: Callable[[Any], str] = str
    redact: Callable[[str], str] = _as_typed


def whole(low: int, high: int = MAX_INT, type: str = "int") -> Kind[int]:
    open_ended = high in (MAX_INT, MAX_LONG)
    valid = f"at least {low}" if open_ended else f"{low} to {high}"

    def parse(text: str) -> int:
        if not re.fullmatch(r"[+-]?[0-9]{1,19}", text) or not low <= int(text) <= high:
            raise ValueError(f"a whole number from {low} to {high}")
        return int(text)

    return Kind(type, valid, parse)


def long(low: int, high: int = MAX_LONG) -> Kind[int]:
    return whole(low, high, type="long")


def boolean() -> Kind[bool]:
    def parse(text: str) -> bool:
        if text.lower() not in ("true", "false"):
            raise ValueError("true or false")
        return text.lower() == "true"

    return Kind("boolean", "true or false", parse, show=lambda value: str(value).lower())


def text() -> Kind[str]:
    return Kind("string", "any text", _as_typed)


def choice(pick: Callable[[str], T], *choices: str) -> Kind[T]:
    """One of a few words in any case; `pick` turns the word, as declared, into the value."""
    by_lower = {word.lower(): word for word in choices}
    valid = " or ".join(choices) if len(choices) == 2 else "one of " + ", ".join(choices)

    def parse(text: str) -> T:
        if text.lower() not in by_lower:
            raise ValueError(valid)
        return pick(by_lower[text.lower()])

    return Kind("string", valid, parse)


def names() -> Kind[tuple[str, ...]]:
    def parse(text: str) -> tuple[str, ...]:
        return tuple(name.strip().upper() for name in text.split(",") if name.strip())

    return Kind("list", "names, separated by commas", parse, show=",".join)


def folder() -> Kind[Path]:
    def parse(text: str) -> Path:
        if not text or "\0" in text:
            raise ValueError("the path of a folder")
        try:
            return Path(text).expanduser()
        except RuntimeError:
            raise ValueError("the path of a folder (this user has no home folder for '~')") from None

    return Kind("string", "the path of a folder", parse)


def url(local_schemes: tuple[str, ...], *bare_schemes: str) -> Kind[str]:
    """A URL of one of these schemes: a local one names a path, a bare one nothing at all."""
    valid = " or ".join([f"{scheme}:///path" for scheme in local_schemes] + [f"{s}:" for s in bare_schemes])

    def parse(text: str) -> str:
        return parse_url(text, local_schemes, bare_schemes, valid)

    return Kind("string", valid, parse, show=hide_credentials, redact=hide_credentials)


def key_prefix() -> Kind[str]:
    valid = "letters, digits and !_.*'()-/ without a leading slash, an empty part or '..'"

    def parse(text: str) -> str:
        parts = text.removesuffix("/").split("/")
        if not re.fullmatch(r"[A-Za-z0-9!_.*'()/-]*", text) or (text and {"", ".", ".."} & set(parts)):
            raise ValueError(valid)
        return text

    return Kind("string", valid, parse)


def _show_joined(values: tuple[object, ...]) -> str:
    return ",".join(map(str, values))


def listeners() -> Kind[tuple[Listener, ...]]:
    return Kind(
        "list",
        "NAME://host:port, separated by commas",
        lambda text: parse_listeners(text, empty_host="0.0.0.0"),
        show=_show_joined,
    )


def advertised_listeners() -> Kind[tuple[Listener, ...]]:
    def parse(text: str) -> tuple[Listener, ...]:
        parsed = parse_listeners(text, empty_host="")
        for listener in parsed:
            if listener.binds_everywhere:
                raise ValueError(f"an address that clients can reach; {listener.host} is none")
        return parsed

    return Kind("list", "NAME://host:port, separated by commas; not 0.0.0.0", parse, show=_show_joined)


def protocol_map() -> Kind[tuple[tuple[str, str], ...]]:
    return Kind(
        "string",
        "NAME:PROTOCOL, separated by commas",
        parse_protocol_map,
        show=lambda value: ",".join(f"{name}:{protocol}" for name, protocol in value),
    )
