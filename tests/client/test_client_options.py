"""Client settings as people type them."""

import pytest

from inkless.client.options import ConsumerOptions, ProducerOptions, parse_options
from inkless.core.errors import SettingError


def test_defaults_and_the_last_one_counts() -> None:
    assert parse_options(ProducerOptions, []) == ProducerOptions()
    options = parse_options(
        ProducerOptions, ["linger.ms=1", " linger.ms = 7", "compression.type=ZSTD", "client.id=a=b"]
    )
    assert (options.linger_ms, options.compression_type, options.client_id) == (7, "zstd", "a=b")


@pytest.mark.parametrize(
    ("properties", "is_idempotent"),
    [
        ([], True),
        (["acks=all"], True),
        (["acks=-1"], True),
        (["acks=1"], False),
        (["acks=0"], False),
        (["enable.idempotence=false"], False),
    ],
)
def test_idempotence_follows_acks_unless_set(properties: list[str], is_idempotent: bool) -> None:
    assert parse_options(ProducerOptions, properties).is_idempotent is is_idempotent


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("linger.mss=1", "unknown property linger.mss; did you mean linger.ms?"),
        ("Linger.MS=1", "unknown property Linger.MS; did you mean linger.ms?"),
        ("zzz=1", "unknown property zzz; known are client.id, acks, "),
        ("linger.ms=x", "linger.ms=x: expected a whole number from 0 to 2147483647"),
        ("linger.ms=-1", "linger.ms=-1: expected a whole number from 0"),
        ("acks=2", "acks=2: expected all, 1 or 0"),
        ("compression.type=zip", "compression.type=zip: expected one of none, gzip, snappy, lz4, zstd"),
        ("linger.ms", "expected KEY=VALUE, such as client.id=me; got 'linger.ms'"),
        ("=5", "expected KEY=VALUE"),
    ],
)
def test_mistakes_are_named(text: str, message: str) -> None:
    with pytest.raises(SettingError) as caught:
        parse_options(ProducerOptions, [text])
    assert str(caught.value).startswith(message)


def test_idempotence_without_all_acks_is_refused() -> None:
    with pytest.raises(SettingError, match=r"enable\.idempotence=true needs acks=all, but acks is 1"):
        parse_options(ProducerOptions, ["acks=1", "enable.idempotence=true"])


def test_each_client_has_its_own() -> None:
    assert parse_options(ConsumerOptions, ["fetch.min.bytes=5"]).fetch_min_bytes == 5
    with pytest.raises(SettingError, match=r"unknown property linger\.ms"):
        parse_options(ConsumerOptions, ["linger.ms=5"])
