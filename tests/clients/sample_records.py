"""Records to write, and the comparison with what was read."""

import os
import random
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

FIRST_TIMESTAMP = 1_700_000_000_000
SEED = 20_240_229
RECORDS = int(os.environ.get("INKLESS_RECORDS", "5000"))

Headers = tuple[tuple[str, bytes | None], ...]


class Record(NamedTuple):
    partition: int
    key: bytes | None
    value: bytes | None
    timestamp: int | None  # None: the client sets it
    headers: Headers = ()


class Received(NamedTuple):
    offset: int
    record: Record


@lru_cache(maxsize=4)
def sample(
    count: int, partitions: int, *, null_headers: bool = False, null_records: bool = False
) -> tuple[Record, ...]:
    """Keys and values of all kinds and sizes, timestamps that go back now and then, headers that repeat."""
    rng = random.Random(SEED)
    text = b" ".join(b"word%d" % number for number in range(200))
    records = []
    for number in range(count):
        key = rng.choice((None, b"", b"key-%d" % number, b"key-%d" % (number % 100)))
        content = text[: rng.randrange(400)] if rng.random() < 0.5 else rng.randbytes(80)
        value = rng.choices((None, b"", content), (1, 1, 10))[0]
        if key is None and value is None and not null_records:
            value = content
        timestamp = FIRST_TIMESTAMP + number + rng.randrange(-500, 500)
        records.append(Record(rng.randrange(partitions), key, value, timestamp, _headers(rng, null_headers)))
    return tuple(records)


def _headers(rng: random.Random, null_headers: bool) -> Headers:
    values: list[bytes | None] = [b"", b"\x00\xff", rng.randbytes(8), *([None] if null_headers else [])]
    names = ("trace", "trace", "größe", "")
    return tuple((rng.choice(names), rng.choice(values)) for _ in range(rng.choice((0, 0, 1, 3))))


def numbered(count: int, partitions: int) -> list[Record]:
    """Records that say which they are, spread evenly."""
    return [
        Record(number % partitions, b"%d" % number, b"record %d" % number, FIRST_TIMESTAMP + number)
        for number in range(count)
    ]


def by_partition(records: Iterable[Record]) -> dict[int, list[Record]]:
    split: dict[int, list[Record]] = defaultdict(list)
    for record in records:
        split[record.partition].append(record)
    return dict(split)


def check_same(sent: Iterable[Record], got: Mapping[int, Sequence[Received]]) -> None:
    """Each record once, in order, at offsets without gaps. Says where the first difference is, not all of them."""
    expected = by_partition(sent)
    assert sorted(got) == sorted(expected)
    for partition, records in expected.items():
        received = got[partition]
        for offset, (wanted, found) in enumerate(zip(records, received, strict=False)):
            assert found == (offset, wanted), f"partition {partition}, offset {offset}"
        assert len(received) == len(records), f"partition {partition}"
