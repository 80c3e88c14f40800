"""Keys go where Kafka's own producers would put them."""

import pytest
from aiokafka.partitioner import murmur2 as aiokafka_murmur2
from hypothesis import given
from hypothesis import strategies as st

from inkless.client.partitioner import murmur2, partition_of_key


# Values of org.apache.kafka.common.utils.Utils.murmur2, as unsigned numbers.
@pytest.mark.parametrize(
    ("key", "hashed"),
    [
        (b"21", -973932308),
        (b"foobar", -790332482),
        (b"a-little-bit-long-string", -985981536),
        (b"a-little-bit-longer-string", -1486304829),
        (b"lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8", -58897971),
        (b"abc", 479470107),
    ],
)
def test_known_values(key: bytes, hashed: int) -> None:
    assert murmur2(key) == hashed & 0xFFFFFFFF


@given(st.binary(max_size=64))
def test_as_aiokafka(key: bytes) -> None:
    assert murmur2(key) == aiokafka_murmur2(key) & 0xFFFFFFFF


@given(st.binary(max_size=64), st.integers(1, 10_000))
def test_every_key_has_a_partition(key: bytes, partitions: int) -> None:
    assert 0 <= partition_of_key(key, partitions) < partitions
