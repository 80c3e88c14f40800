"""Topics: make, list, describe and delete them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from inkless.client.cluster import Cluster, check_topic, unknown_topic
from inkless.client.errors import BrokerError, InvalidAnswer
from inkless.wire.create_topics import CreatableTopic, CreatableTopicConfig, CreateTopicsRequest, CreateTopicsResponse
from inkless.wire.delete_topics import DeleteTopicsRequest, DeleteTopicsResponse, DeleteTopicState
from inkless.wire.error_codes import ErrorCode
from inkless.wire.metadata import MetadataResponse, MetadataResponsePartition, MetadataResponseTopic

# The broker's default partition count or replication factor (KIP-464).
BROKER_DEFAULT = -1


@dataclass(frozen=True, slots=True)
class PartitionDescription:
    partition: int
    leader: int
    replicas: tuple[int, ...]
    isr: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class TopicDescription:
    name: str
    topic_id: bytes
    is_internal: bool
    partitions: tuple[PartitionDescription, ...]


@dataclass(frozen=True, slots=True)
class CreatedTopic:
    """`partitions` is -1 where the broker doesn't say."""

    name: str
    topic_id: bytes
    partitions: int


async def create_topic(
    cluster: Cluster, name: str, partitions: int = BROKER_DEFAULT, configs: Mapping[str, str] | None = None
) -> CreatedTopic:
    """One try once connected: after a lost answer a second one would find the topic there and blame its owner."""
    wanted = CreatableTopic(
        name=name,
        num_partitions=partitions,
        replication_factor=BROKER_DEFAULT,
        configs=[CreatableTopicConfig(name=key, value=value) for key, value in (configs or {}).items()],
    )
    connection = await cluster.controller()
    response: CreateTopicsResponse = await connection.request(
        CreateTopicsRequest(topics=[wanted], timeout_ms=int(cluster.timeout_s * 1000))
    )
    for topic in response.topics:
        check_topic(topic.error_code, name, topic.error_message)
        return CreatedTopic(name, topic.topic_id, topic.num_partitions)
    raise InvalidAnswer(f"{connection.address} did not answer for topic {name}")


async def delete_topic(cluster: Cluster, name: str) -> None:
    connection = await cluster.controller()
    response: DeleteTopicsResponse = await connection.request(
        DeleteTopicsRequest(
            topics=[DeleteTopicState(name=name)], topic_names=[name], timeout_ms=int(cluster.timeout_s * 1000)
        )
    )
    cluster.forget(name)
    for topic in response.responses:
        check_topic(topic.error_code, name, topic.error_message)
        return
    raise InvalidAnswer(f"{connection.address} did not answer for topic {name}")


async def list_topics(cluster: Cluster) -> list[TopicDescription]:
    """All topics by name; those that vanish while they are listed are left out."""
    response = await cluster.attempts().run(lambda: cluster.metadata(None))
    topics = (_describe(topic) for topic in response.topics if topic.error_code == ErrorCode.NONE)
    return sorted(topics, key=lambda topic: topic.name)


async def describe_topics(cluster: Cluster, names: Sequence[str]) -> dict[str, TopicDescription | BrokerError]:
    """Each topic, or why it can't be described, in the order of the names."""
    response = await cluster.attempts().run(lambda: cluster.metadata(names))
    return {name: _find(response, name) for name in names}


def _find(response: MetadataResponse, name: str) -> TopicDescription | BrokerError:
    for topic in response.topics:
        if topic.name == name:
            try:
                check_topic(topic.error_code, name)
            except BrokerError as error:
                return error
            return _describe(topic)
    return unknown_topic(name)


def _describe(topic: MetadataResponseTopic) -> TopicDescription:
    partitions = sorted(topic.partitions, key=lambda partition: partition.partition_index)
    return TopicDescription(
        topic.name or "", topic.topic_id, topic.is_internal, tuple(map(_describe_partition, partitions))
    )


def _describe_partition(partition: MetadataResponsePartition) -> PartitionDescription:
    return PartitionDescription(
        partition.partition_index,
        partition.leader_id,
        tuple(partition.replica_nodes),
        tuple(partition.isr_nodes),
    )
