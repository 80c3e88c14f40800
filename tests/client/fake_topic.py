"""A topic held by fake brokers: who leads what, and the batches in it."""

from collections import defaultdict
from typing import Any

from fake_broker import FakeBroker

from inkless.records.batch import read_header, stamp
from inkless.wire.error_codes import ErrorCode
from inkless.wire.fetch import FetchableTopicResponse, FetchRequest, FetchResponse, PartitionData
from inkless.wire.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from inkless.wire.list_offsets import (
    ListOffsetsPartitionResponse,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopicResponse,
)
from inkless.wire.metadata import (
    MetadataRequest,
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from inkless.wire.produce import PartitionProduceResponse, ProduceRequest, ProduceResponse, TopicProduceResponse

NAME = "t"
TOPIC_ID = b"0123456789abcdef"


class FakeTopic:
    def __init__(self, leaders: list[int]) -> None:
        self.leaders = leaders
        self.brokers: dict[int, FakeBroker] = {}
        self.log: defaultdict[int, bytearray] = defaultdict(bytearray)
        self.ends: defaultdict[int, int] = defaultdict(int)
        self.log_start = 0
        self.producer_ids = 0
        self.written: list[tuple[int, bytes]] = []

    def broker(self, node_id: int, **handlers: Any) -> FakeBroker:
        by_class = {
            MetadataRequest: self.metadata,
            InitProducerIdRequest: self.init_producer_id,
            ProduceRequest: self.produce,
            ListOffsetsRequest: self.list_offsets,
            FetchRequest: self.fetch,
        }
        made = {kind: handlers.get(kind.__name__, handler) for kind, handler in by_class.items()}
        self.brokers[node_id] = FakeBroker(made)
        return self.brokers[node_id]

    def metadata(self, request: MetadataRequest) -> MetadataResponse:
        asked = [topic.name for topic in request.topics or ()]
        partitions = [
            MetadataResponsePartition(partition_index=index, leader_id=leader, replica_nodes=[leader])
            for index, leader in enumerate(self.leaders)
        ]
        topic = MetadataResponseTopic(name=NAME, topic_id=TOPIC_ID, partitions=partitions)
        unknown = [
            MetadataResponseTopic(name=name, error_code=ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
            for name in asked
            if name != NAME
        ]
        return MetadataResponse(
            brokers=[
                MetadataResponseBroker(node_id=node_id, host=broker.host, port=broker.port)
                for node_id, broker in self.brokers.items()
            ],
            controller_id=next(iter(self.brokers)),
            cluster_id="fake",
            topics=([topic] if NAME in asked or request.topics is None else []) + unknown,
        )

    def init_producer_id(self, _: InitProducerIdRequest) -> InitProducerIdResponse:
        self.producer_ids += 1
        return InitProducerIdResponse(producer_id=self.producer_ids, producer_epoch=0)

    def produce(self, request: ProduceRequest) -> ProduceResponse:
        ((partition, batch),) = batches_of(request)
        base_offset = self.append(partition, batch)
        return produce_response(partition, base_offset=base_offset)

    def append(self, partition: int, batch: bytes) -> int:
        self.written.append((partition, batch))
        base_offset = self.ends[partition]
        stamped = bytearray(batch)
        stamp(stamped, 0, base_offset)
        self.log[partition] += stamped
        self.ends[partition] += read_header(batch).last_offset_delta + 1
        return base_offset

    def list_offsets(self, request: ListOffsetsRequest) -> ListOffsetsResponse:
        answers = [
            ListOffsetsPartitionResponse(
                partition_index=asked.partition_index,
                offset={-1: self.ends[asked.partition_index], -2: self.log_start}.get(asked.timestamp, -1),
            )
            for asked in request.topics[0].partitions
        ]
        return ListOffsetsResponse(topics=[ListOffsetsTopicResponse(name=NAME, partitions=answers)])

    def fetch(self, request: FetchRequest) -> FetchResponse:
        """The whole log of each partition, whatever the offset: a client has to cope with more than it asked for."""
        answers = []
        for asked in request.topics[0].partitions:
            end = self.ends[asked.partition]
            records = bytes(self.log[asked.partition]) if asked.fetch_offset < end else b""
            in_range = self.log_start <= asked.fetch_offset <= end
            code = ErrorCode.NONE if in_range else ErrorCode.OFFSET_OUT_OF_RANGE
            answers.append(PartitionData(partition_index=asked.partition, error_code=code, records=records))
        return fetch_response(answers)


def batches_of(request: ProduceRequest) -> list[tuple[int, bytes]]:
    return [(data.index, bytes(data.records or b"")) for topic in request.topic_data for data in topic.partition_data]


def produce_response(partition: int, code: int = ErrorCode.NONE, base_offset: int = -1) -> ProduceResponse:
    answer = PartitionProduceResponse(index=partition, error_code=code, base_offset=base_offset)
    return ProduceResponse(
        responses=[TopicProduceResponse(name=NAME, topic_id=TOPIC_ID, partition_responses=[answer])]
    )


def fetch_response(answers: list[PartitionData]) -> FetchResponse:
    return FetchResponse(responses=[FetchableTopicResponse(topic=NAME, topic_id=TOPIC_ID, partitions=answers)])
