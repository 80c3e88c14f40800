"""Objects alone: index and footer there and back, damage found, batches salvaged without the index."""

import struct

import pytest
from crc32c import crc32c
from hypothesis import given
from hypothesis import strategies as st

from inkless.core.ids import TopicId
from inkless.records.record import Record, encode_batch
from inkless.storage.object_format import (
    FOOTER_BYTES,
    HEAD,
    IndexEntry,
    ObjectFormatError,
    decode_tail,
    encode_tail,
    salvage,
    tail_bytes,
)

TOPICS = [TopicId(bytes([i]) * 16) for i in range(1, 4)]


def batch(count: int, fill: bytes = b"v") -> bytes:
    return encode_batch([Record(i, i, b"k", fill * 50) for i in range(count)])


def an_object() -> tuple[bytes, list[IndexEntry], list[bytes]]:
    """Three partitions of two batches each."""
    body = HEAD
    entries, batches = [], []
    for index, topic in enumerate(TOPICS):
        pair = [batch(index + 1), batch(5)]
        entries.append(IndexEntry(topic, index, len(body), len(pair[0]) + len(pair[1]), 2, index + 6))
        batches += pair
        body += b"".join(pair)
    return body + encode_tail(entries, len(body)), entries, batches


@st.composite
def indexes(draw: st.DrawFn) -> list[IndexEntry]:
    places = draw(st.sets(st.tuples(st.binary(min_size=16, max_size=16), st.integers(0, 2**31 - 1)), max_size=20))
    position = len(HEAD)
    entries = []
    for topic, partition in sorted(places):
        size = draw(st.integers(0, 2**40))
        entries.append(IndexEntry(TopicId(topic), partition, position, size, draw(st.integers(0, 9)), 2**40))
        position += size
    return entries


@given(indexes(), st.integers(0, 100))
def test_an_index_comes_back(entries: list[IndexEntry], unused: int) -> None:
    end = entries[-1].position + entries[-1].size if entries else len(HEAD)
    tail = encode_tail(entries, end + unused)
    assert tail_bytes(memoryview(tail)[-FOOTER_BYTES:]) == len(tail)
    assert decode_tail(memoryview(tail), end + unused + len(tail)) == entries


def test_the_layout_stays_as_it_is() -> None:
    """Objects outlive releases."""
    assert b"INKLESS\x1a\x00\x01" + bytes(6) == HEAD
    index = bytes(range(16)) + struct.pack(">iQQIQ", 7, 16, 100, 2, 30)
    footer = struct.pack(">QQI", 116, 48, crc32c(index)) + b"\x00\x01\x00\x00INKLESS\x1a"
    assert encode_tail([IndexEntry(TopicId(bytes(range(16))), 7, 16, 100, 2, 30)], 116) == index + footer


def test_whole_objects_and_their_tails_decode_alike() -> None:
    data, entries, _ = an_object()
    view = memoryview(data)
    needed = tail_bytes(view[-FOOTER_BYTES:])
    for length in (needed, needed + 1, needed + 500, len(view)):
        assert decode_tail(view[-length:], len(view)) == entries
    with pytest.raises(ObjectFormatError):
        decode_tail(view[-needed + 1 :], len(view))


def test_an_object_cut_off_at_any_byte_is_found_out() -> None:
    view = memoryview(an_object()[0])
    for end in range(len(view)):
        with pytest.raises(ObjectFormatError):
            decode_tail(view[:end], end)


def test_every_changed_byte_of_head_index_and_footer_is_found_out() -> None:
    data = an_object()[0]
    tail = len(data) - tail_bytes(memoryview(data))
    reserved = {*range(10, 16), len(data) - 10, len(data) - 9}
    for at in (*range(16), *range(tail, len(data))):
        if at not in reserved:
            damaged = bytearray(data)
            damaged[at] ^= 0x55
            with pytest.raises(ObjectFormatError):
                decode_tail(memoryview(damaged), len(damaged))


@pytest.mark.parametrize(
    "change",
    [
        lambda e: [e[1], e[0], e[2]],
        lambda e: [e[0]._replace(position=0), e[1], e[2]],
        lambda e: [e[0]._replace(size=10_000), e[1], e[2]],
        lambda e: [e[0], e[1], e[2]._replace(size=10_000)],
        lambda e: [e[0]._replace(partition=-1), e[1], e[2]],
        lambda e: [e[0], e[1]._replace(topic_id=e[0].topic_id, partition=-5), e[2]],
    ],
)
def test_an_index_that_makes_no_sense_is_refused(change) -> None:
    _, entries, batches = an_object()
    end = len(HEAD) + sum(map(len, batches))
    tail = encode_tail(change(entries), end)
    with pytest.raises(ObjectFormatError):
        decode_tail(memoryview(tail), end + len(tail))


def positions_of(batches: list[bytes]) -> list[int]:
    positions, position = [], len(HEAD)
    for each in batches:
        positions.append(position)
        position += len(each)
    return positions


def test_salvage_finds_every_batch_of_a_sound_object() -> None:
    data, _, batches = an_object()
    found = salvage(memoryview(data))
    assert [each.position for each in found.batches] == positions_of(batches)
    assert [each.header.size for each in found.batches] == [len(each) for each in batches]
    assert found.gaps == ((len(data) - tail_bytes(memoryview(data)), len(data)),)


def test_salvage_of_an_object_cut_off_anywhere_finds_the_whole_batches() -> None:
    data, _, batches = an_object()
    ends = [position + len(each) for position, each in zip(positions_of(batches), batches, strict=True)]
    for end in range(len(data)):
        assert len(salvage(memoryview(data)[:end]).batches) == sum(1 for each in ends if each <= end)


def test_salvage_steps_over_damage() -> None:
    data, _, batches = an_object()
    positions = positions_of(batches)
    for at in range(positions[2], positions[3]):
        if not positions[2] <= at < positions[2] + 8 and not positions[2] + 12 <= at < positions[2] + 16:
            damaged = bytearray(data)
            damaged[at] ^= 0x81
            found = salvage(memoryview(damaged))
            assert [each.position for each in found.batches] == [p for p in positions if p != positions[2]]
            assert found.gaps[0] == (positions[2], positions[3])


@given(st.binary(max_size=400))
def test_rubbish_is_all_gap(rubbish: bytes) -> None:
    found = salvage(memoryview(rubbish))
    assert found.batches == ()
    with pytest.raises(ObjectFormatError):
        decode_tail(memoryview(rubbish), len(rubbish))
