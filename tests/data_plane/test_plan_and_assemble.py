"""Planning and assembling, against plain models, with random logs."""

import random
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from inkless.cache.memory import Block
from inkless.control_plane.values import Coordinate
from inkless.data_plane.assemble import assemble
from inkless.data_plane.plan import Wanted, plan
from inkless.records.batch import spans_real, verify_crc
from inkless.records.record import Record, decode_records, encode_batch

MIB = 1 << 20


def coordinate(base: int, size: int, records: int = 1, real: bool = False) -> Coordinate:
    return Coordinate(base, base + records - 1, "k", 0, 0, size, 0, 0, False, real)


sizes = st.lists(st.lists(st.integers(60, 500), max_size=5), min_size=1, max_size=6)


@given(sizes, st.integers(0, 1500), st.integers(0, 2500))
def test_a_plan_keeps_its_budgets(partitions: list[list[int]], each: int, total: int) -> None:
    wanted = [
        Wanted(0, each, [coordinate(at, size) for at, size in enumerate(coordinates)]) for coordinates in partitions
    ]
    shares = plan(wanted, total)
    assert len(shares) == len(partitions)
    sizes = [sum(coordinate.size for coordinate in share.coordinates) for share in shares]
    assert sum(min(size, share.budget) for size, share in zip(sizes, shares, strict=True)) <= total
    assert sum(share.at_least_one for share in shares) <= 1
    first = next((at for at, coordinates in enumerate(partitions) if coordinates), None)
    if first is not None:
        assert shares[first].at_least_one
        assert len(shares[first].coordinates) >= 1
    for share, want in zip(shares, wanted, strict=True):
        assert share.budget <= each or share.budget == 0
        assert list(share.coordinates) == list(want.coordinates)[: len(share.coordinates)]


@given(st.integers(0, 1 << 30), st.booleans(), st.booleans())
def test_an_answer_is_whole_batches_with_their_real_offsets(seed: int, big: bool, real: bool) -> None:
    rng = random.Random(seed)
    base = rng.randrange(1 << 40)
    batches: list[tuple[int, int, bytes]] = []
    offset = base
    for _ in range(rng.randint(1, 8)):
        count = rng.randint(1, 3)
        filler = rng.randbytes(20_000 if big else 20)
        first = offset if real else 0
        records = [Record(first + at, 5, b"k", filler) for at in range(count)]
        batches.append((offset, offset + count - 1, encode_batch(records, base_offset=first)))
        offset += count
    data = b"".join(raw for _, _, raw in batches)
    pieces = _pieces(rng, data, [len(raw) for _, _, raw in batches])
    asked = rng.randrange(base, offset)
    budget = rng.randrange(len(data) + 10)
    at_least_one = rng.random() < 0.5
    place = Coordinate(base, offset - 1, "k", len(data), 0, len(data), 5, 0, False, real)
    part = assemble(pieces, place, asked, budget, at_least_one)

    expected, size = [], 0
    for first, last, raw in batches:
        if last < asked:
            continue
        if size + len(raw) > budget and not (at_least_one and not expected):
            break
        expected.append((first, last))
        size += len(raw)
    answer = memoryview(b"".join(part.buffers))
    assert len(answer) == part.size == size
    found = spans_real(answer)
    assert [(span.base_offset, span.last_offset) for span in found] == expected
    for span in found:
        raw = answer[span.position : span.position + span.size]
        assert verify_crc(raw)
        assert [r.offset for r in decode_records(raw, MIB)] == list(range(span.base_offset, span.last_offset + 1))


def _pieces(rng: random.Random, data: bytes, lengths: list[int]) -> list[memoryview]:
    """As a writer left them, a batch each; or as blocks were loaded, cut anywhere."""
    cuts: list[int] = []
    if rng.random() < 0.5:
        position = 0
        for length in lengths[:-1]:
            position += length
            cuts.append(position)
    else:
        cuts = sorted(rng.sample(range(1, len(data)), rng.randint(0, 2)))
    edges = [0, *cuts, len(data)]
    return [memoryview(data)[start:end] for start, end in pairwise(edges)]


@given(st.lists(st.binary(min_size=1, max_size=20), min_size=1, max_size=10), st.data())
def test_slices_of_a_block_are_the_bytes_of_the_object(pieces: list[bytes], data: st.DataObject) -> None:
    whole = b"".join(pieces)
    block = Block(100, pieces)
    start = data.draw(st.integers(100, 100 + len(whole)))
    end = data.draw(st.integers(start, 100 + len(whole)))
    assert b"".join(block.slices(start, end)) == whole[start - 100 : end - 100]
