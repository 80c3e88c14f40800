"""Every message in every version, byte for byte against kio and kafka-python."""

import functools
import random
from dataclasses import MISSING, fields, is_dataclass
from datetime import timedelta
from typing import Any

import pytest
from wire_oracles import (
    CASES,
    KAFKA_PYTHON_LACKS,
    KIO_LACKS,
    MILLISECOND,
    Case,
    default_tree,
    draw_tree,
    kafka_python_encode,
    kafka_python_recode,
    kio_decode,
    kio_encode,
    kio_entity,
    our_message,
    split_type,
    wire_name,
)

from inkless.wire.codec import decoder, encoder
from inkless.wire.shape import Shape

SAMPLES = 6


@functools.cache
def samples(case: Case) -> list[tuple[dict, Any, bytes]]:
    """Trees, our messages for them, and the bytes that kio makes of them."""
    rng = random.Random(str(case))
    trees = [draw_tree(case.theirs, rng) for _ in range(SAMPLES)]
    return [(tree, our_message(case.ours, case.theirs, tree), kio_encode(case, tree)) for tree in trees]


def with_oracle(lacks):
    return pytest.mark.parametrize(
        "case", [case for case in CASES if (case.name, case.version) not in lacks], ids=str
    )


def encode(case: Case, message) -> bytes:
    return b"".join(encoder(case.ours, case.version)(message))


def test_every_message_and_version_has_an_oracle():
    assert not KIO_LACKS.keys() & KAFKA_PYTHON_LACKS.keys()


@with_oracle(KIO_LACKS)
def test_encodes_what_kio_encodes(case):
    for tree, message, expected in samples(case):
        assert encode(case, message) == expected
        assert encode(case, our_message(case.ours, case.theirs, tree, spell_out=True)) == expected


@with_oracle(KIO_LACKS)
def test_decodes_what_kio_encodes(case):
    for _, message, encoded in samples(case):
        decoded, end = decoder(case.ours, case.version)(memoryview(encoded), 0)
        assert decoded == message
        assert end == len(encoded)
        assert encode(case, decoded) == encoded


@with_oracle(KIO_LACKS)
def test_kio_decodes_what_we_encode(case):
    for tree, message, _ in samples(case):
        encoded = encode(case, message)
        assert kio_decode(case, encoded) == kio_entity(case.theirs, tree)


@with_oracle(KAFKA_PYTHON_LACKS)
def test_encodes_what_kafka_python_encodes(case):
    for tree, message, _ in samples(case):
        encoded = encode(case, message)
        assert encoded == kafka_python_encode(case, tree)
        assert encoded == kafka_python_recode(case, encoded)


@with_oracle(KIO_LACKS)
def test_decodes_from_the_middle_of_a_buffer(case):
    _, message, encoded = samples(case)[0]
    decoded, end = decoder(case.ours, case.version)(memoryview(b"before" + encoded + b"behind"), 6)
    assert decoded == message
    assert end == 6 + len(encoded)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_field_names_and_defaults_are_kafkas(case):
    compare_with_kio(case.ours, case.theirs, case.version)


def compare_with_kio(ours: type, theirs: type, version: int) -> None:
    shape: Shape = vars(ours)["__shape__"]
    present = {name: field for name, field in shape.fields.items() if version in field.versions}
    assert list(present) == [wire_name(field) for field in fields(theirs)]
    message = ours()
    for field in fields(theirs):
        kind, is_array, nullable = split_type(field)
        declared = present[wire_name(field)]
        value = getattr(message, wire_name(field))
        assert declared.tag == field.metadata.get("tag")
        if is_dataclass(kind):
            compare_with_kio(declared.element, kind, version)
        elif field.metadata["kafka_type"] == "datetime_i64":
            assert value == (-1 if nullable else 0)
        elif isinstance(field.default, timedelta):
            assert value * MILLISECOND == field.default
        elif field.default is not MISSING and not is_array and field.metadata["kafka_type"] != "uuid":
            assert value == field.default
        if declared.tag is not None and not is_dataclass(kind):
            assert value == default_tree(field)
        may_be_null = nullable and field.metadata.get("kafka_type") not in ("uuid", "datetime_i64")
        assert may_be_null == (version in declared.nullable)


def test_no_class_has_a_field_that_no_version_sends():
    declared: dict[str, set[str]] = {}
    sent: dict[str, set[str]] = {}
    for case in CASES:
        declared[case.name] = set(vars(case.ours)["__shape__"].fields)
        sent.setdefault(case.name, set()).update(wire_name(field) for field in fields(case.theirs))
    assert declared == sent
