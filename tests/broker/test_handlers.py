"""What each API answers, over a real connection to a real broker, in the newest version of each."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from inkless.client.connection import Connection
from inkless.client.errors import ClientError
from inkless.core.ids import ZERO_ID
from inkless.records.batch import spans_real
from inkless.records.record import Record, decode_records, encode_batch
from inkless.testing import RunningBroker
from inkless.wire.create_partitions import CreatePartitionsRequest, CreatePartitionsTopic
from inkless.wire.create_topics import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
)
from inkless.wire.delete_topics import DeleteTopicsRequest, DeleteTopicState
from inkless.wire.describe_cluster import DescribeClusterRequest
from inkless.wire.describe_topic_partitions import DescribeTopicPartitionsRequest, TopicRequest
from inkless.wire.error_codes import ErrorCode
from inkless.wire.fetch import FetchPartition, FetchRequest, FetchResponse, FetchTopic, ForgottenTopic
from inkless.wire.find_coordinator import FindCoordinatorRequest
from inkless.wire.init_producer_id import InitProducerIdRequest
from inkless.wire.list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from inkless.wire.metadata import MetadataRequest, MetadataRequestTopic
from inkless.wire.offset_for_leader_epoch import (
    OffsetForLeaderEpochRequest,
    OffsetForLeaderPartition,
    OffsetForLeaderTopic,
)
from inkless.wire.produce import PartitionProduceData, ProduceRequest, TopicProduceData

MIB = 1 << 20


class Talk:
    """A connection, and short ways to say what the tests say most."""

    def __init__(self, connection: Connection) -> None:
        self.ask = connection.request
        self.connection = connection

    async def create(self, name: str, partitions: int = 2, **fields: Any) -> Any:
        topic = CreatableTopic(name=name, num_partitions=partitions, replication_factor=-1)
        for field, value in fields.items():
            setattr(topic, field, value)
        answer = await self.ask(CreateTopicsRequest(topics=[topic]))
        return answer.topics[0]

    async def produce(self, topic_id: bytes, *parts: tuple[int, bytes | None], acks: int = -1) -> list[Any]:
        data = [PartitionProduceData(index=at, records=None if raw is None else memoryview(raw)) for at, raw in parts]
        request = ProduceRequest(acks=acks, topic_data=[TopicProduceData(topic_id=topic_id, partition_data=data)])
        answer = await self.ask(request)
        return list(answer.responses[0].partition_responses)

    async def fetch(
        self, topic_id: bytes, *offsets: tuple[int, int], session: int = 0, epoch: int = -1, **fields: Any
    ) -> FetchResponse:
        partitions = [
            FetchPartition(partition=at, fetch_offset=offset, partition_max_bytes=MIB) for at, offset in offsets
        ]
        topics = [FetchTopic(topic_id=topic_id, partitions=partitions)] if partitions else []
        request = FetchRequest(session_id=session, session_epoch=epoch, topics=topics, max_wait_ms=0, min_bytes=1)
        for field, value in fields.items():
            setattr(request, field, value)
        answer: FetchResponse = await self.ask(request)
        return answer

    async def offset(self, topic: str, timestamp: int, partition: int = 0, epoch: int = -1) -> Any:
        wanted = ListOffsetsPartition(partition_index=partition, timestamp=timestamp, current_leader_epoch=epoch)
        request = ListOffsetsRequest(replica_id=-1, topics=[ListOffsetsTopic(name=topic, partitions=[wanted])])
        return (await self.ask(request)).topics[0].partitions[0]


@pytest.fixture
def talk(inkless_broker: RunningBroker) -> Callable[[Callable[[Talk], Awaitable[None]]], None]:
    def run(test: Callable[[Talk], Awaitable[None]]) -> None:
        async def main() -> None:
            connection = await Connection.open(inkless_broker.host, inkless_broker.port, "tests", 10)
            try:
                await test(Talk(connection))
            finally:
                await connection.close()

        asyncio.run(main())

    return run


def batch(*values: bytes, **fields: Any) -> bytes:
    times = fields.pop("times", [1000 + at for at in range(len(values))])
    return encode_batch([Record(at, times[at], None, value) for at, value in enumerate(values)], **fields)


def values(answer: FetchResponse) -> list[tuple[int, list[bytes | None]]]:
    found = []
    for topic in answer.responses:
        for part in topic.partitions:
            raw = part.records
            data = memoryview(b"".join(raw) if isinstance(raw, list) else bytes(raw or b""))
            spans = [data[span.position : span.position + span.size] for span in spans_real(data)]
            found.append((part.partition_index, [r.value for span in spans for r in decode_records(span, MIB)]))
    return found


def test_topics_by_name_by_id_and_by_javas_id_with_an_empty_name(talk: Any) -> None:
    async def test(t: Talk) -> None:
        made = await t.create("handlers-by-id")
        wanted = [
            MetadataRequestTopic(name="handlers-by-id"),
            MetadataRequestTopic(topic_id=made.topic_id, name=None),
            MetadataRequestTopic(topic_id=made.topic_id, name=""),
            MetadataRequestTopic(topic_id=bytes(15) + b"x", name=None),
            MetadataRequestTopic(name="no such/topic"),
            MetadataRequestTopic(name="handlers-none"),
        ]
        answer = await t.ask(MetadataRequest(topics=wanted, allow_auto_topic_creation=False))
        unknown, invalid = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.INVALID_TOPIC_EXCEPTION
        codes = [topic.error_code for topic in answer.topics]
        assert codes == [0, 0, 0, ErrorCode.UNKNOWN_TOPIC_ID, invalid, unknown]
        assert [topic.name for topic in answer.topics[:3]] == ["handlers-by-id"] * 3
        assert {topic.topic_id for topic in answer.topics[:3]} == {made.topic_id}
        leaders = {(p.leader_id, p.leader_epoch) for topic in answer.topics[:3] for p in topic.partitions}
        assert leaders == {(answer.brokers[0].node_id, 0)}

    talk(test)


def test_creating_topics_is_checked_as_kafka_does(talk: Any) -> None:
    async def test(t: Talk) -> None:
        made = await t.create("handlers.made", -1, configs=[CreatableTopicConfig(name="retention.ms", value="1")])
        assert (made.error_code, made.num_partitions, made.replication_factor) == (0, 1, 1)
        assert [(c.name, c.value, c.config_source) for c in made.configs] == [("retention.ms", "1", 1)]
        assert (await t.create("handlers.made")).error_code == ErrorCode.TOPIC_ALREADY_EXISTS
        assert (await t.create("handlers_made")).error_code == ErrorCode.INVALID_TOPIC_EXCEPTION
        assert (await t.create("a b")).error_code == ErrorCode.INVALID_TOPIC_EXCEPTION
        assert (await t.create("h1", 0)).error_code == ErrorCode.INVALID_PARTITIONS
        assert (await t.create("h2", replication_factor=3)).error_code == ErrorCode.INVALID_REPLICATION_FACTOR
        assert (await t.create("h3", replication_factor=0)).error_code == ErrorCode.INVALID_REPLICATION_FACTOR
        wrong = [CreatableTopicConfig(name="retention.mss", value="1")]
        refused = await t.create("h4", configs=wrong)
        assert refused.error_code == ErrorCode.INVALID_CONFIG
        assert "retention.ms" in refused.error_message
        places = [CreatableReplicaAssignment(partition_index=0, broker_ids=[99])]
        assert (await t.create("h5", -1, assignments=places)).error_code == ErrorCode.INVALID_REPLICA_ASSIGNMENT
        assert (await t.create("h6", 1, assignments=places)).error_code == ErrorCode.INVALID_REQUEST
        twice = CreatableTopic(name="h7", num_partitions=1, replication_factor=1)
        answer = await t.ask(CreateTopicsRequest(topics=[twice, twice]))
        assert [topic.error_code for topic in answer.topics] == [ErrorCode.INVALID_REQUEST]
        only = await t.ask(
            CreateTopicsRequest(
                topics=[CreatableTopic(name="h8", num_partitions=1, replication_factor=1)], validate_only=True
            )
        )
        assert only.topics[0].error_code == 0
        listed = await t.ask(MetadataRequest(topics=None))
        assert "h8" not in {topic.name for topic in listed.topics}

    talk(test)


def test_partitions_grow_and_topics_go(talk: Any) -> None:
    async def test(t: Talk) -> None:
        made = await t.create("handlers-grow", 2)

        async def grow(count: int, name: str = "handlers-grow") -> int:
            topic = CreatePartitionsTopic(name=name, count=count)
            return int((await t.ask(CreatePartitionsRequest(topics=[topic]))).results[0].error_code)

        codes = [await grow(2), await grow(1), await grow(3, "handlers-none"), await grow(3)]
        invalid = ErrorCode.INVALID_PARTITIONS
        assert codes == [invalid, invalid, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, 0]
        assert (await t.produce(made.topic_id, (2, batch(b"x"))))[0].error_code == 0
        states = [
            DeleteTopicState(name="handlers-none"),
            DeleteTopicState(name=None, topic_id=made.topic_id),
            DeleteTopicState(name=None, topic_id=bytes(15) + b"y"),
        ]
        answer = await t.ask(DeleteTopicsRequest(topics=states))
        expected = [ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, 0, ErrorCode.UNKNOWN_TOPIC_ID]
        assert [topic.error_code for topic in answer.responses] == expected
        assert (await t.produce(made.topic_id, (0, batch(b"x"))))[0].error_code == ErrorCode.UNKNOWN_TOPIC_ID

    talk(test)


def test_each_partition_of_a_produce_has_its_own_error(talk: Any) -> None:
    async def test(t: Talk) -> None:
        made = await t.create(
            "handlers-produce", 4, configs=[CreatableTopicConfig(name="max.message.bytes", value="500")]
        )
        broken = bytearray(batch(b"x"))
        broken[-1] ^= 1
        parts = [(0, batch(b"good")), (1, bytes(broken)), (2, batch(b"x" * 600)), (3, None), (9, batch(b"x"))]
        results = await t.produce(made.topic_id, *parts)
        assert [result.error_code for result in results] == [
            0,
            ErrorCode.CORRUPT_MESSAGE,
            ErrorCode.MESSAGE_TOO_LARGE,
            ErrorCode.INVALID_RECORD,
            ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ]
        assert (results[0].base_offset, results[0].log_start_offset, results[0].log_append_time_ms) == (0, 0, -1)
        transactional = batch(b"x", producer_id=1, producer_epoch=0, base_sequence=0, is_transactional=True)
        (refused,) = await t.produce(made.topic_id, (0, transactional))
        assert refused.error_code == ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
        (refused,) = await t.produce(made.topic_id, (0, batch(b"x")), acks=2)
        assert refused.error_code == ErrorCode.INVALID_REQUIRED_ACKS

    talk(test)


def test_a_failed_write_without_acks_costs_the_connection(talk: Any) -> None:
    async def test(t: Talk) -> None:
        data = PartitionProduceData(index=0, records=memoryview(batch(b"x")))
        topic = TopicProduceData(topic_id=bytes(15) + b"z", partition_data=[data])
        await t.connection.send(ProduceRequest(acks=0, topic_data=[topic]))
        with pytest.raises(ClientError):
            await t.ask(MetadataRequest(topics=[]), timeout_s=10)

    talk(test)


def test_a_session_tells_only_news_and_serves_in_turn(talk: Any) -> None:
    async def test(t: Talk) -> None:
        made = await t.create("handlers-session", 3)
        topic_id = made.topic_id
        opened = await t.fetch(topic_id, (0, 0), (1, 0), epoch=0)
        session = opened.session_id
        assert session != 0
        assert [part for part, _ in values(opened)] == [0, 1]
        assert values(await t.fetch(topic_id, session=session, epoch=1)) == []
        await t.produce(topic_id, (1, batch(b"a")))
        assert values(await t.fetch(topic_id, session=session, epoch=2)) == [(1, [b"a"])]
        assert values(await t.fetch(topic_id, (1, 1), (2, 0), session=session, epoch=3)) == [(2, [])]
        forgotten = [ForgottenTopic(topic_id=topic_id, partitions=[0, 2])]
        assert values(await t.fetch(topic_id, session=session, epoch=4, forgotten_topics_data=forgotten)) == []
        await t.produce(topic_id, (0, batch(b"b")), (1, batch(b"c")))
        assert values(await t.fetch(topic_id, session=session, epoch=5)) == [(1, [b"c"])]
        stale = await t.fetch(topic_id, session=session, epoch=5)
        assert stale.error_code == ErrorCode.INVALID_FETCH_SESSION_EPOCH
        ended = await t.fetch(topic_id, (0, 0), session=session, epoch=-1)
        assert values(ended) == [(0, [b"b"])]
        assert (await t.fetch(topic_id, session=session, epoch=6)).error_code == ErrorCode.FETCH_SESSION_ID_NOT_FOUND

    talk(test)


def test_fetch_errors_are_told_at_once(talk: Any) -> None:
    async def test(t: Talk) -> None:
        made = await t.create("handlers-fetch", 1)
        async with asyncio.timeout(5):
            for topic_id, offset in [(made.topic_id, 5), (made.topic_id, -5), (bytes(15) + b"q", 0)]:
                answer = await t.fetch(topic_id, (0, offset), max_wait_ms=30_000)
                expected = ErrorCode.UNKNOWN_TOPIC_ID if topic_id != made.topic_id else ErrorCode.OFFSET_OUT_OF_RANGE
                assert answer.responses[0].partitions[0].error_code == expected
            nothing = await t.fetch(made.topic_id, max_wait_ms=30_000)
            assert nothing.responses == []
        newer = FetchPartition(partition=0, current_leader_epoch=3, partition_max_bytes=MIB)
        request = FetchRequest(topics=[FetchTopic(topic_id=made.topic_id, partitions=[newer])])
        answer = await t.ask(request)
        assert answer.responses[0].partitions[0].error_code == ErrorCode.UNKNOWN_LEADER_EPOCH

    talk(test)


def test_offsets_by_every_kind_of_timestamp(talk: Any) -> None:
    async def test(t: Talk) -> None:
        name = "handlers-offsets"
        made = await t.create(name, 1)
        await t.produce(made.topic_id, (0, batch(b"a", b"b", b"c", times=[100, 300, 200])))
        await t.produce(made.topic_id, (0, batch(b"d", times=[250])))
        told = [(p.offset, p.timestamp) for p in [await t.offset(name, ts) for ts in (-1, -2, -3, -4, -5)]]
        assert told == [(4, -1), (0, -1), (1, 300), (0, -1), (-1, -1)]
        exact = [(await t.offset(name, ts)).offset for ts in (0, 100, 101, 250, 300, 301)]
        assert exact == [0, 0, 1, 1, 1, -1]
        assert (await t.offset("handlers-none", -1)).error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        assert (await t.offset(name, -1, partition=7)).error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        assert (await t.offset(name, -1, epoch=1)).error_code == ErrorCode.UNKNOWN_LEADER_EPOCH

    talk(test)


def test_a_header_that_promises_too_much_does_not_end_the_search(talk: Any) -> None:
    async def test(t: Talk) -> None:
        from inkless.records.batch import HEADER, crc_of

        made = await t.create("handlers-promise", 1)
        raw = bytearray(batch(b"a", times=[10]))
        fields = list(HEADER.unpack_from(raw))
        fields[8] = 5000
        HEADER.pack_into(raw, 0, *fields)
        fields[4] = crc_of(memoryview(raw))
        HEADER.pack_into(raw, 0, *fields)
        await t.produce(made.topic_id, (0, bytes(raw)))
        await t.produce(made.topic_id, (0, batch(b"b", times=[4000])))
        assert (await t.offset("handlers-promise", 3000)).offset == 1

    talk(test)


def test_the_leader_epoch_is_zero_for_ever(talk: Any) -> None:
    async def test(t: Talk) -> None:
        made = await t.create("handlers-epoch", 1)
        await t.produce(made.topic_id, (0, batch(b"a", b"b")))

        async def end(epoch: int, current: int = -1) -> tuple[int, int, int]:
            wanted = OffsetForLeaderPartition(partition=0, leader_epoch=epoch, current_leader_epoch=current)
            topics = [OffsetForLeaderTopic(topic="handlers-epoch", partitions=[wanted])]
            found = (await t.ask(OffsetForLeaderEpochRequest(topics=topics))).topics[0].partitions[0]
            return found.error_code, found.leader_epoch, found.end_offset

        assert await end(0) == (0, 0, 2)
        assert await end(1) == (0, -1, -1)
        assert await end(0, current=1) == (ErrorCode.UNKNOWN_LEADER_EPOCH, -1, -1)

    talk(test)


def test_topics_are_described_a_page_at_a_time(talk: Any) -> None:
    async def test(t: Talk) -> None:
        for name, count in [("page-a", 3), ("page-b", 2)]:
            await t.create(name, count)
        topics = [TopicRequest(name=name) for name in ("page-b", "page-a", "page-none")]
        seen: list[tuple[str | None, int]] = []
        cursor = None
        for _ in range(10):
            request = DescribeTopicPartitionsRequest(topics=topics, response_partition_limit=2, cursor=cursor)
            answer = await t.ask(request)
            seen += [(topic.name, part.partition_index) for topic in answer.topics for part in topic.partitions]
            cursor = answer.next_cursor
            if cursor is None:
                break
        assert seen == [("page-a", 0), ("page-a", 1), ("page-a", 2), ("page-b", 0), ("page-b", 1)]

    talk(test)


def test_the_cluster_the_coordinator_and_producer_ids(talk: Any) -> None:
    async def test(t: Talk) -> None:
        cluster = await t.ask(DescribeClusterRequest())
        assert cluster.controller_id == cluster.brokers[0].broker_id
        assert len(cluster.cluster_id) == 22
        found = await t.ask(FindCoordinatorRequest(key_type=0, coordinator_keys=["g1", "g2"]))
        assert [(c.key, c.error_code) for c in found.coordinators] == [("g1", 0), ("g2", 0)]
        ids = [await t.ask(InitProducerIdRequest()) for _ in range(3)]
        assert len({answer.producer_id for answer in ids}) == 3
        refused = await t.ask(InitProducerIdRequest(transactional_id="t"))
        assert refused.error_code == ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
        assert cluster.cluster_id != ZERO_ID

    talk(test)
