"""Kafka's configuration files: the format of java.util.Properties, with line numbers kept for messages.

Unlike Java's reader it takes UTF-8, and drops white space at the end of a value.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

_BLANK = " \t\f"
_PAIR = re.compile(r"((?:[^\\=: \t\f]|\\.)*)[ \t\f]*[=:]?[ \t\f]*(.*)", re.DOTALL)
_ESCAPE = re.compile(r"\\(u[0-9A-Fa-f]{4}|.)", re.DOTALL)
_LETTERS = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}


@dataclass(frozen=True, slots=True)
class Property:
    line: int
    key: str
    value: str


def parse_properties(text: str) -> list[Property]:
    """Raises ValueError, starting with the line's number, for a broken \\uXXXX; all else has a meaning."""
    found = []
    for number, line in _logical_lines(text):
        match = _PAIR.fullmatch(line)
        assert match is not None
        try:
            key, value = _unescape(match[1]), _unescape(match[2])
        except ValueError as error:
            raise ValueError(f"{number}: {error}") from None
        found.append(Property(number, key, value.strip()))
    return found


def _logical_lines(text: str) -> Iterator[tuple[int, str]]:
    """Lines with their continuations, without comments and blank lines."""
    started, joined = 0, ""
    for number, raw in enumerate(re.split(r"\r\n|\r|\n", text), start=1):
        line = raw.lstrip(_BLANK)
        if not started and (not line or line[0] in "#!"):
            continue
        started = started or number
        backslashes = len(line) - len(line.rstrip("\\"))
        if backslashes % 2:
            joined += line[:-1]
            continue
        joined += line
        if joined:
            yield started, joined
        started, joined = 0, ""
    if joined:
        yield started, joined


def _unescape(text: str) -> str:
    if "\\" not in text:
        return text
    plain = _ESCAPE.sub(_unescape_one, text)
    try:
        # Java writes a character beyond U+FFFF as two escapes, a surrogate pair.
        return plain.encode("utf-16-le", "surrogatepass").decode("utf-16-le")
    except UnicodeDecodeError:
        raise ValueError("half of a surrogate pair in a \\uXXXX escape") from None


def _unescape_one(match: re.Match[str]) -> str:
    escaped = match[1]
    if len(escaped) > 1:
        return chr(int(escaped[1:], 16))
    if escaped == "u":
        raise ValueError("\\u is not followed by four hexadecimal digits")
    return _LETTERS.get(escaped, escaped)
