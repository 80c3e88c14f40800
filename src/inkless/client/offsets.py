"""Where in a partition to start: at an offset, at a time, or at one of its ends."""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass

from inkless.client.cluster import Cluster
from inkless.client.connection import Connection
from inkless.client.errors import ClientError, InvalidAnswer, check_code
from inkless.wire.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopic,
)


@dataclass(frozen=True, slots=True)
class AtOffset:
    offset: int


@dataclass(frozen=True, slots=True)
class AtTime:
    """The first record of that time (milliseconds since the epoch) or later; the end where there is none."""

    timestamp: int


EARLIEST = AtTime(-2)
LATEST = AtTime(-1)

Start = AtOffset | AtTime


async def find_offsets(cluster: Cluster, topic: str, starts: Mapping[int, Start]) -> dict[int, int]:
    """The offset at which each partition's reader starts."""
    found = {partition: start.offset for partition, start in starts.items() if isinstance(start, AtOffset)}
    times = {partition: start.timestamp for partition, start in starts.items() if isinstance(start, AtTime)}
    found |= await _look_up(cluster, topic, times)
    beyond = {partition: LATEST.timestamp for partition, offset in found.items() if offset < 0}
    return found | await _look_up(cluster, topic, beyond)


async def _look_up(cluster: Cluster, topic: str, times: Mapping[int, int]) -> dict[int, int]:
    """By ListOffsets at each partition's leader; -1 where no record is as late as asked."""
    found: dict[int, int] = {}

    async def attempt() -> None:
        missing = {partition: time for partition, time in times.items() if partition not in found}
        try:
            for connection, asked in (await _by_leader(cluster, topic, missing)).items():
                found.update(await _ask(connection, topic, asked, cluster.timeout_s))
        except ClientError:
            cluster.forget(topic)
            raise

    if times:
        await cluster.attempts().run(attempt)
    return found


async def _by_leader(cluster: Cluster, name: str, times: Mapping[int, int]) -> dict[Connection, dict[int, int]]:
    topic = await cluster.topic(name)
    asked: defaultdict[Connection, dict[int, int]] = defaultdict(dict)
    for partition, time in times.items():
        asked[await cluster.leader(topic, partition)][partition] = time
    return asked


async def _ask(connection: Connection, name: str, times: Mapping[int, int], timeout_s: float) -> dict[int, int]:
    partitions = [ListOffsetsPartition(partition_index=index, timestamp=time) for index, time in times.items()]
    response: ListOffsetsResponse = await connection.request(
        ListOffsetsRequest(
            replica_id=-1,
            topics=[ListOffsetsTopic(name=name, partitions=partitions)],
            timeout_ms=int(timeout_s * 1000),
        )
    )
    found = {}
    for topic in response.topics:
        for answer in topic.partitions:
            check_code(answer.error_code, f"offsets of {name}-{answer.partition_index}")
            found[answer.partition_index] = answer.offset
    if found.keys() != times.keys():
        raise InvalidAnswer(f"{connection.address} gave offsets of other partitions of {name} than it was asked for")
    return found
