"""How a Kafka message is declared: a class whose fields say their wire type and the versions they exist in.

Versions are written as Kafka's schemas write them: "0+", "3-12", "7". A field with a tag is tagged in every version
it exists in, which holds for all of Kafka's schemas served here. The codec compiles shapes; nothing here runs per
message.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, fields
from typing import Any, TypeVar, dataclass_transform

T = TypeVar("T")

Buffer = bytes | bytearray | memoryview
# A view of the frame once decoded; to encode, anything that can be sent without joining it.
Records = Buffer | list[Buffer] | list[bytes] | list[memoryview] | None

ZERO_UUID = bytes(16)
NEWEST = 1 << 15
NEVER = range(0)
# The `flexible_from` of messages that have no compact version.
NEVER_FLEXIBLE = NEWEST

# The wire types of one width, by their letter in the struct module.
FIXED = {"int8": "b", "int16": "h", "int32": "i", "int64": "q", "float64": "d", "boolean": "?", "uuid": "16s"}


@dataclass(frozen=True, slots=True)
class Field:
    """One field's place on the wire. `kind` is a name of FIXED or string, binary, records, array or struct."""

    kind: str
    versions: range
    nullable: range
    default: Any
    tag: int | None = None
    element: "str | type | None" = None


@dataclass(frozen=True, slots=True)
class Shape:
    """A class's fields in wire order; `flexible_from` is known for whole messages only."""

    name: str
    fields: dict[str, Field]
    flexible_from: int | None


def shape_of(cls: type) -> Shape:
    shape: Shape = vars(cls)["__shape__"]
    return shape


def parse_versions(text: str) -> range:
    first, dash, last = text.rstrip("+").partition("-")
    if text.endswith("+"):
        return range(int(first), NEWEST)
    return range(int(first), int(last if dash else first) + 1)


def _shaped(cls: type[T], flexible_from: int | None) -> type[T]:
    made = dataclass(slots=True, kw_only=True)(cls)
    declared = {each.name: each.metadata["wire"] for each in fields(made)}  # type: ignore[arg-type]
    made.__shape__ = Shape(made.__name__, declared, flexible_from)  # type: ignore[attr-defined]
    return made


@dataclass_transform(kw_only_default=True)
def struct(cls: type[T]) -> type[T]:
    """A part of messages: a slotted, mutable, keyword-only dataclass whose fields all have defaults."""
    return _shaped(cls, None)


@dataclass_transform(kw_only_default=True)
def message(*, flexible_from: int) -> Callable[[type[T]], type[T]]:
    """A whole request or response, with compact lengths and tagged fields from that version on."""
    return lambda cls: _shaped(cls, flexible_from)


# The specifiers below claim to return the value that their field holds, and the decorators above name no specifiers:
# so the type checker compares each annotation with its wire type and knows that every field has a default.


def _field(
    kind: str,
    versions: str,
    default: Any,
    *,
    tag: int | None = None,
    nullable: str | None = None,
    element: "str | type | None" = None,
) -> Any:
    nullable_in = NEVER if nullable is None else parse_versions(nullable)
    wire = Field(kind, parse_versions(versions), nullable_in, default, tag, element)
    if default == []:
        return field(default_factory=list, metadata={"wire": wire})
    return field(default=default, metadata={"wire": wire})


def int8(versions: str = "0+", *, default: int = 0, tag: int | None = None) -> int:
    return _field("int8", versions, default, tag=tag)  # type: ignore[no-any-return]


def int16(versions: str = "0+", *, default: int = 0, tag: int | None = None) -> int:
    return _field("int16", versions, default, tag=tag)  # type: ignore[no-any-return]


def int32(versions: str = "0+", *, default: int = 0, tag: int | None = None) -> int:
    return _field("int32", versions, default, tag=tag)  # type: ignore[no-any-return]


def int64(versions: str = "0+", *, default: int = 0, tag: int | None = None) -> int:
    return _field("int64", versions, default, tag=tag)  # type: ignore[no-any-return]


def float64(versions: str = "0+") -> float:
    return _field("float64", versions, 0.0)  # type: ignore[no-any-return]


def boolean(versions: str = "0+", *, default: bool = False, tag: int | None = None) -> bool:
    return _field("boolean", versions, default, tag=tag)  # type: ignore[no-any-return]


def uuid(versions: str = "0+", *, tag: int | None = None) -> bytes:
    return _field("uuid", versions, ZERO_UUID, tag=tag)  # type: ignore[no-any-return]


def string(versions: str = "0+") -> str:
    return _field("string", versions, "")  # type: ignore[no-any-return]


def nullable_string(
    versions: str = "0+", *, nullable: str = "0+", default: str | None = None, tag: int | None = None
) -> str | None:
    return _field("string", versions, default, tag=tag, nullable=nullable)  # type: ignore[no-any-return]


def binary(versions: str = "0+") -> bytes:
    return _field("binary", versions, b"")  # type: ignore[no-any-return]


def records(versions: str = "0+", *, default: bytes | None = None) -> Any:
    return _field("records", versions, default, nullable=versions)


def array(element: type[T], versions: str = "0+", *, tag: int | None = None) -> list[T]:
    return _field("array", versions, [], tag=tag, element=element)  # type: ignore[no-any-return]


def nullable_array(
    element: type[T], versions: str = "0+", *, nullable: str = "0+", default: list[T] | None = None
) -> list[T] | None:
    return _field("array", versions, default, nullable=nullable, element=element)  # type: ignore[no-any-return]


def int8_array(versions: str = "0+") -> list[int]:
    return _field("array", versions, [], element="int8")  # type: ignore[no-any-return]


def int32_array(versions: str = "0+") -> list[int]:
    return _field("array", versions, [], element="int32")  # type: ignore[no-any-return]


def nullable_int32_array(versions: str = "0+") -> list[int] | None:
    return _field("array", versions, None, nullable=versions, element="int32")  # type: ignore[no-any-return]


def int64_array(versions: str = "0+") -> list[int]:
    return _field("array", versions, [], element="int64")  # type: ignore[no-any-return]


def string_array(versions: str = "0+") -> list[str]:
    return _field("array", versions, [], element="string")  # type: ignore[no-any-return]


def nullable_string_array(versions: str = "0+") -> list[str] | None:
    return _field("array", versions, None, nullable=versions, element="string")  # type: ignore[no-any-return]


def inner_struct(element: type[T]) -> T:
    """A struct that is in every version and never null."""
    wire = Field("struct", parse_versions("0+"), NEVER, None, element=element)
    return field(default_factory=element, metadata={"wire": wire})


def nullable_struct(element: type[T], versions: str = "0+") -> T | None:
    return _field("struct", versions, None, nullable=versions, element=element)  # type: ignore[no-any-return]


def tagged_struct(element: type[T], versions: str = "0+", *, tag: int) -> T | None:
    """None stands for the default that Kafka leaves unsent: an object per unsent field would cost too much."""
    return _field("struct", versions, None, tag=tag, element=element)  # type: ignore[no-any-return]
