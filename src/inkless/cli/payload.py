"""Keys, values and headers as people and programs see them, and back.

In JSON, bytes are text where they are UTF-8, and `{"base64": "..."}` where they are not.
"""

import base64
import binascii
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from inkless.core.errors import InklessError
from inkless.records.record import Record

Headers = tuple[tuple[str, bytes | None], ...]

# A terminal obeys control characters, so only tab and newline get through.
_CONTROLS = {code: f"\\x{code:02x}" for code in (*range(0x20), 0x7F) if chr(code) not in "\t\n"}
_CONTROLS |= {code: f"\\u{code:04x}" for code in range(0x80, 0xA0)}

_FIELDS = frozenset({"key", "value", "headers", "partition", "timestamp"})
_IGNORED = frozenset({"topic", "offset", "timestamp_type"})  # what `consume` prints besides
_MAX_TIMESTAMP = (1 << 63) - 1
_MAX_PARTITION = (1 << 31) - 1


class InputError(InklessError):
    """A line of input that can't be made a record."""


@dataclass(frozen=True, slots=True)
class Message:
    """What is to be written."""

    value: bytes | None
    key: bytes | None = None
    headers: Headers = ()
    partition: int | None = None
    timestamp: int | None = None


def bytes_to_text(data: bytes | None) -> str:
    """UTF-8; what is not, and control characters, as backslash escapes."""
    return "null" if data is None else data.decode("utf-8", "backslashreplace").translate(_CONTROLS)


def headers_to_text(headers: Headers) -> str:
    if not headers:
        return "NO_HEADERS"
    return ",".join(f"{bytes_to_text(_name_bytes(name))}:{bytes_to_text(value)}" for name, value in headers)


def bytes_to_json(data: bytes | None) -> str | dict[str, str] | None:
    if data is None:
        return None
    try:
        return data.decode()
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(data).decode("ascii")}


def record_to_json(record: Record) -> dict[str, Any]:
    return {
        "offset": record.offset,
        "timestamp": record.timestamp,
        "key": bytes_to_json(record.key),
        "value": bytes_to_json(record.value),
        "headers": [
            {"key": bytes_to_json(_name_bytes(name)), "value": bytes_to_json(value)} for name, value in record.headers
        ],
    }


def message_from_json(line: bytes) -> Message:
    """From one JSON object, also one that `consume --output json` printed; raises InputError."""
    try:
        fields = json.loads(line)
    except ValueError as error:
        raise InputError(f"not JSON: {error}") from None
    if not isinstance(fields, dict):
        raise InputError("expected a JSON object")
    if unknown := fields.keys() - _FIELDS - _IGNORED:
        raise InputError(f"unknown field {min(unknown)!r}; known are {', '.join(sorted(_FIELDS))}")
    return Message(
        _bytes_from_json(fields, "value"),
        _bytes_from_json(fields, "key"),
        _headers_from_json(fields.get("headers")),
        _number(fields, "partition", _MAX_PARTITION),
        _number(fields, "timestamp", _MAX_TIMESTAMP),
    )


def _bytes_from_json(fields: Mapping[str, Any], name: str) -> bytes | None:
    match fields.get(name):
        case None:
            return None
        case str(text):
            return _encode(text, name)
        case {"base64": str(text), **rest} if not rest:
            try:
                return base64.b64decode(text, validate=True)
            except (binascii.Error, ValueError):
                raise InputError(f"{name}: not base64") from None
    raise InputError(f'{name}: expected text, null or {{"base64": "..."}}')


def _headers_from_json(headers: Any) -> Headers:
    """A list of `{"key": ..., "value": ...}`, or an object where no name comes twice."""
    match headers:
        case None:
            return ()
        case dict():
            return tuple((_checked_name(name), _bytes_from_json(headers, name)) for name in headers)
        case list() if all(isinstance(each, dict) and each.keys() == {"key", "value"} for each in headers):
            return tuple((_name_from_json(each), _bytes_from_json(each, "value")) for each in headers)
    raise InputError('headers: expected {"name": "value"} or [{"key": "name", "value": "value"}]')


def _name_from_json(header: Mapping[str, Any]) -> str:
    name = _bytes_from_json(header, "key")
    if name is None:
        raise InputError("headers: a key is null")
    return name.decode("utf-8", "surrogateescape")


def _checked_name(name: str) -> str:
    _encode(name, "headers")
    return name


def _encode(text: str, name: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError:
        raise InputError(f"{name}: half of a surrogate pair is no text") from None


def _number(fields: Mapping[str, Any], name: str, largest: int) -> int | None:
    number = fields.get(name)
    if number is None:
        return None
    if not isinstance(number, int) or isinstance(number, bool) or not 0 <= number <= largest:
        raise InputError(f"{name}: expected a whole number from 0 on")
    return number


def _name_bytes(name: str) -> bytes:
    return name.encode("utf-8", "surrogateescape")
