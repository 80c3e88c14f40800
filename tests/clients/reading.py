"""Reading whole topics through any client."""

import time
from collections.abc import Iterable, Mapping

from client_port import PATIENCE_S, Client, Reader
from sample_records import Received

POLL_S = 0.5


def read_all(
    client: Client, topic: str, partitions: Iterable[int] | Mapping[int, int], **options: int
) -> dict[int, list[Received]]:
    """Every record, from offset 0 to the end as the client is told it; or as many as are expected."""
    expected = (
        dict(partitions)
        if isinstance(partitions, Mapping)
        else {partition: end for partition, (_, end) in client.bounds(topic, list(partitions)).items()}
    )
    with client.reader(topic, dict.fromkeys(expected, 0), **options) as reader:
        got = read(reader, sum(expected.values()))
    received: dict[int, list[Received]] = {partition: [] for partition in expected}
    for item in got:
        received[item.record.partition].append(item)
    return {partition: items for partition, items in received.items() if items}


def read(reader: Reader, count: int) -> list[Received]:
    """The next records, at least so many."""
    got: list[Received] = []
    deadline = time.monotonic() + PATIENCE_S
    while len(got) < count:
        assert time.monotonic() < deadline, f"{len(got)} of {count} records came in time"
        got += reader.poll(POLL_S)
    return got
