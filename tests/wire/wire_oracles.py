"""The two foreign implementations that the codec is held against, and random messages made from their schemas.

A message is drawn as a plain tree (dicts, lists, ints, str, bytes, None) by walking kio's schema of the version, with
the field names of Kafka's own schemas. From the tree are built: kio's entity, kafka-python's message, and ours.
"""

import datetime
import functools
import io
import random
import types
import typing
import uuid
import warnings
from dataclasses import MISSING, Field, dataclass, fields, is_dataclass
from typing import Any

from kio.index import load_request_schema, load_response_schema
from kio.schema.errors import ErrorCode
from kio.serial import entity_reader, entity_writer

from inkless.wire.api import APIS
from inkless.wire.shape import Shape

with warnings.catch_warnings():
    # It reads its schemas in a way that Python has deprecated.
    warnings.simplefilter("ignore", DeprecationWarning)
    from kafka.protocol import admin, consumer, metadata, producer, sasl
    from kafka.protocol.api_message import ApiMessage

# Names and newest versions, all of them from 0 on.
KAFKA_PYTHON_HAS_NO_API = {
    "ConsumerGroupHeartbeat": 1,
    "ConsumerGroupDescribe": 1,
    "GetTelemetrySubscriptions": 0,
    "PushTelemetry": 0,
}
# What an oracle can't do, by (message, version), with the reason. Everything else is compared with it.
KIO_LACKS: dict[tuple[str, int], str] = {}
KAFKA_PYTHON_LACKS: dict[tuple[str, int], str] = {
    (name + kind, version): "kafka-python has no such API"
    for name, newest in KAFKA_PYTHON_HAS_NO_API.items()
    for kind in ("Request", "Response")
    for version in range(newest + 1)
}

EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
MILLISECOND = datetime.timedelta(milliseconds=1)
BITS = {"int8": 8, "int16": 16, "int32": 32, "int64": 64}
LENGTHS = (0, 1, 5, 126, 127, 128, 300)
RECORD_SIZES = (0, 1, 126, 127, 16_382, 16_383, 20_000)
# Kafka's names that kafka-python shortened, where it gives them another type: a set of bits.
KAFKA_PYTHON_SHORTENS = {"cluster_authorized_operations", "topic_authorized_operations"}


@dataclass(frozen=True)
class Case:
    """One message in one version."""

    name: str
    ours: type
    version: int
    theirs: type

    def __str__(self) -> str:
        return f"{self.name}-v{self.version}"


def _cases() -> list[Case]:
    found = []
    for api in APIS.values():
        for version in range(api.min_version, api.max_version + 1):
            for ours, load in ((api.request, load_request_schema), (api.response, load_response_schema)):
                found.append(Case(ours.__name__, ours, version, load(api.key, version)))
    return found


CASES = _cases()


# --- random trees ---------------------------------------------------------------------------------------------------


@functools.cache
def wire_name(field: Field) -> str:
    """kio drops the unit from durations and times."""
    kind = field.metadata.get("kafka_type", "")
    return f"{field.name}_ms" if kind.startswith(("timedelta", "datetime")) else field.name


@functools.cache
def split_type(field: Field) -> tuple[Any, bool, bool]:
    """The type without its wrappings, whether it is an array, and whether it can be None."""
    kind, nullable = field.type, False
    if isinstance(kind, types.UnionType) or typing.get_origin(kind) is typing.Union:
        nullable = True
        kind = next(each for each in typing.get_args(kind) if each is not types.NoneType)
    if typing.get_origin(kind) is tuple:
        return typing.get_args(kind)[0], True, nullable
    return kind, False, nullable


def draw_tree(cls: type, rng: random.Random, small: bool = False) -> dict[str, Any]:
    return {wire_name(field): draw_field(field, rng, small) for field in fields(cls)}


def draw_field(field: Field, rng: random.Random, small: bool) -> Any:
    kind, is_array, nullable = split_type(field)
    if "tag" in field.metadata and rng.random() < 0.5:
        return default_tree(field)
    kafka_type = field.metadata.get("kafka_type")
    if nullable and kafka_type not in ("uuid", "datetime_i64") and rng.random() < 0.25:
        return None
    if nullable and kafka_type == "datetime_i64" and rng.random() < 0.33:
        return -1
    if not is_array:
        return draw_value(kind, kafka_type, rng, small)
    if is_dataclass(kind):
        count = rng.choice((0, 1, 2, 3) if small or rng.random() < 0.97 else (127, 130))
        return [draw_tree(kind, rng, small or count > 3) for _ in range(count)]
    count = rng.choice((0, 1, 3) if small else (0, 1, 2, 3, 16, 17, 127, 200))
    return [draw_value(kind, kafka_type, rng, small) for _ in range(count)]


def draw_value(kind: Any, kafka_type: str | None, rng: random.Random, small: bool) -> Any:
    if is_dataclass(kind):
        return draw_tree(typing.cast(type, kind), rng, small)
    if kafka_type in BITS:
        top = 1 << (BITS[kafka_type] - 1)
        return rng.choice((0, 1, -1, top - 1, -top, rng.randrange(-top, top)))
    match kafka_type:
        case "error_code":
            return int(rng.choice(list(ErrorCode)))
        case "timedelta_i32":
            return rng.choice((0, 1, -1, 2**31 - 1, -(2**31), rng.randrange(-(2**31), 2**31)))
        case "timedelta_i64":
            return rng.choice((0, 1, -1, rng.randrange(2**45)))
        case "float64":
            return rng.choice((0.0, 1.0, -1e300, float("inf"), rng.random()))
        case "datetime_i64":
            return rng.choice((0, rng.randrange(2**42)))
        case "bool":
            return rng.random() < 0.5
        case "uuid":
            return rng.choice((bytes(16), rng.randbytes(16)))
        case "string":
            length = rng.choice(LENGTHS[:3] if small else LENGTHS)
            return "".join(rng.choices("abcXYZ-._0é€🙂", k=length))
        case "bytes":
            return rng.randbytes(rng.choice(LENGTHS[:3] if small else LENGTHS))
        case "records":
            return rng.randbytes(rng.choice(RECORD_SIZES[:3] if small else RECORD_SIZES))
    raise AssertionError(f"kio has a type that the tests don't know: {kafka_type}")


def default_tree(field: Field) -> Any:
    """A tagged field's value when it is not sent."""
    kind, is_array, _ = split_type(field)
    if is_array:
        return []
    if is_dataclass(kind):
        return {wire_name(each): default_tree(each) for each in fields(typing.cast(type, kind))}
    if field.default is not MISSING and field.default is not None:
        return field.default
    match field.metadata["kafka_type"]:
        case "uuid":
            return bytes(16)
        case "string":
            return None
        case "bool":
            return False
    return 0


# --- kio ------------------------------------------------------------------------------------------------------------


def kio_entity(cls: type, tree: dict[str, Any]) -> Any:
    return cls(**{field.name: _kio_value(field, tree[wire_name(field)]) for field in fields(cls)})


def _kio_value(field: Field, value: Any) -> Any:
    kind, is_array, _ = split_type(field)
    if value is None:
        return None
    if is_array:
        return tuple(_kio_scalar(kind, field.metadata.get("kafka_type"), each) for each in value)
    return _kio_scalar(kind, field.metadata.get("kafka_type"), value)


def _kio_scalar(kind: Any, kafka_type: str | None, value: Any) -> Any:
    if is_dataclass(kind):
        return kio_entity(typing.cast(type, kind), value)
    match kafka_type:
        case "error_code":
            return next(code for code in ErrorCode if code == value)
        case "timedelta_i32" | "timedelta_i64":
            return value * MILLISECOND
        case "datetime_i64":
            return None if value == -1 else EPOCH + value * MILLISECOND
        case "uuid":
            return None if value == bytes(16) else uuid.UUID(bytes=value)
    return value


def kio_encode(case: Case, tree: dict[str, Any]) -> bytes:
    out = io.BytesIO()
    entity_writer(case.theirs)(out, kio_entity(case.theirs, tree))
    return out.getvalue()


def kio_decode(case: Case, encoded: bytes) -> Any:
    entity, size = entity_reader(case.theirs)(encoded, 0)
    assert size == len(encoded)
    return entity


# --- kafka-python ---------------------------------------------------------------------------------------------------


def kafka_python_class(name: str) -> Any:
    for module in (admin, consumer, metadata, producer, sasl):
        if (found := getattr(module, name, None)) is not None:
            return found
    raise LookupError(name)


def kafka_python_encode(case: Case, tree: dict[str, Any]) -> bytes:
    cls = kafka_python_class(case.name)
    struct = cls._struct
    return bytes(cls[case.version](**_kafka_python_values(struct, tree, case.version)).encode())


def kafka_python_recode(case: Case, encoded: bytes) -> bytes:
    """Through kafka-python's objects and back."""
    # Its ApiVersionsResponse reads any error as version 0; the schema below it doesn't.
    decode = ApiMessage.decode.__func__  # type: ignore[attr-defined]
    decoded = decode(kafka_python_class(case.name), encoded, version=case.version)
    decoded._header = None
    return bytes(decoded.encode())


def _kafka_python_values(struct: Any, tree: dict[str, Any], version: int) -> dict[str, Any]:
    values = {}
    for name, value in tree.items():
        shortened = name in KAFKA_PYTHON_SHORTENS and name not in struct.fields
        their_name = "authorized_operations" if shortened else name
        values[their_name] = _kafka_python_value(struct.fields[their_name], value, version)
    return values


def _kafka_python_value(field: Any, value: Any, version: int) -> Any:
    if value is None:
        return None
    if field.is_struct():
        made = field.data_class(version=version, **_kafka_python_values(field, value, version))
        untagged = field.data_class(version=version)
        # Its default for a tagged struct is None, where Kafka's is a struct of defaults.
        return None if field.tag is not None and made == untagged else made
    if field.is_struct_array():
        return [field.data_class(version=version, **_kafka_python_values(field, each, version)) for each in value]
    if isinstance(value, bytes) and field.type_str == "uuid":
        return None if value == bytes(16) else uuid.UUID(bytes=value)
    if isinstance(value, int) and field.type_str == "bitfield":
        return {bit for bit in range(32) if value >> bit & 1}
    return value


# --- ours -----------------------------------------------------------------------------------------------------------


def our_message(cls: type, theirs: type, tree: dict[str, Any], spell_out: bool = False) -> Any:
    """Our object for a tree; unsent tagged structs are None, or spelt out as a struct of defaults."""
    shape: Shape = vars(cls)["__shape__"]
    values = {}
    for field in fields(theirs):
        value = tree[wire_name(field)]
        kind, is_array, _ = split_type(field)
        element = shape.fields[wire_name(field)].element
        if is_dataclass(kind) and value is not None:
            assert isinstance(element, type)
            inner = typing.cast(type, kind)
            if is_array:
                value = [our_message(element, inner, each, spell_out) for each in value]
            elif "tag" in field.metadata and value == default_tree(field) and not spell_out:
                value = None
            else:
                value = our_message(element, inner, value, spell_out)
        values[wire_name(field)] = value
    return cls(**values)
