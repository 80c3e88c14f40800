"""Metadata, DescribeTopicPartitions, DescribeCluster and FindCoordinator: who serves what."""

from collections.abc import Sequence

from inkless.broker.errors import code_of
from inkless.broker.names import problem_with
from inkless.broker.router import Call
from inkless.broker.services import Services
from inkless.broker.topic_admin import create_topics_checked
from inkless.control_plane.values import NewTopic, Topic
from inkless.core.errors import ErrorKind
from inkless.core.ids import ZERO_ID
from inkless.wire.describe_cluster import (
    DescribeClusterBroker,
    DescribeClusterRequest,
    DescribeClusterResponse,
)
from inkless.wire.describe_topic_partitions import (
    Cursor,
    DescribeTopicPartitionsRequest,
    DescribeTopicPartitionsResponse,
    DescribeTopicPartitionsResponsePartition,
    DescribeTopicPartitionsResponseTopic,
)
from inkless.wire.error_codes import ErrorCode
from inkless.wire.find_coordinator import Coordinator, FindCoordinatorRequest, FindCoordinatorResponse
from inkless.wire.metadata import (
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)

LEADER_EPOCH = 0
MAX_DESCRIBED_PARTITIONS = 2000


async def metadata(services: Services, request: MetadataRequest, call: Call) -> MetadataResponse:
    identity = services.identity
    endpoint = identity.endpoints[call.listener]
    asked = request.topics
    everything = asked is None or (call.version == 0 and not asked)
    topics = (
        [_topic_answer(services, topic) for topic in await _all_topics(services)]
        if everything or asked is None
        else await _asked_topics(services, asked, request.allow_auto_topic_creation)
    )
    return MetadataResponse(
        brokers=[
            MetadataResponseBroker(
                node_id=identity.node_id, host=endpoint.host, port=endpoint.port, rack=identity.rack
            )
        ],
        cluster_id=identity.cluster_id,
        controller_id=identity.node_id,
        topics=topics,
    )


async def _all_topics(services: Services) -> list[Topic]:
    """A list of all is an answer that bounds a search: it is read from the plane (rule 7)."""
    await services.catalog.load()
    return services.catalog.all()


async def _asked_topics(
    services: Services, asked: Sequence[MetadataRequestTopic], may_create: bool
) -> list[MetadataResponseTopic]:
    # Java names a topic by its id with an empty name beside it.
    names = [topic.name or "" for topic in asked if topic.topic_id == ZERO_ID]
    ids = [topic.topic_id for topic in asked if topic.topic_id != ZERO_ID]
    found = await services.catalog.find(names, ids)
    by_name = {name: entry.topic for name, entry in zip(names, found, strict=False) if entry is not None}
    by_id = dict(zip(ids, found[len(names) :], strict=True))
    errors: dict[str, ErrorCode] = {}
    if may_create and services.policy.auto_create_topics:
        missing = [name for name in dict.fromkeys(names) if name not in by_name and problem_with(name) is None]
        errors = await _auto_create(services, missing, by_name)
    answers = []
    for topic in asked:
        if topic.topic_id == ZERO_ID:
            name = topic.name or ""
            answers.append(_named(services, name, by_name.get(name), errors))
        else:
            entry = by_id[topic.topic_id]
            answers.append(_with_id(services, topic.topic_id, None if entry is None else entry.topic))
    return answers


async def _auto_create(services: Services, names: Sequence[str], found: dict[str, Topic]) -> dict[str, ErrorCode]:
    """Make topics that do not exist; the errors of those that could not be made."""
    if not names:
        return {}
    wishes = [NewTopic(name, services.policy.num_partitions) for name in names]
    errors: dict[str, ErrorCode] = {}
    for name, made in zip(names, await create_topics_checked(services, wishes), strict=True):
        if isinstance(made, Topic):
            found[name] = made
        elif made.error is ErrorKind.TOPIC_EXISTS:
            entry = (await services.catalog.ask([name]))[0]
            if entry is not None:
                found[name] = entry.topic
        else:
            errors[name] = ErrorCode(code_of(made.error))
    return errors


def _named(services: Services, name: str, topic: Topic | None, errors: dict[str, ErrorCode]) -> MetadataResponseTopic:
    if topic is not None:
        return _topic_answer(services, topic)
    if problem_with(name) is not None:
        return MetadataResponseTopic(error_code=ErrorCode.INVALID_TOPIC_EXCEPTION, name=name)
    return MetadataResponseTopic(error_code=errors.get(name, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION), name=name)


def _with_id(services: Services, topic_id: bytes, topic: Topic | None) -> MetadataResponseTopic:
    if topic is not None:
        return _topic_answer(services, topic)
    # Java reads the name of a topic that is unknown by id, in versions where it may not be null, too.
    return MetadataResponseTopic(error_code=ErrorCode.UNKNOWN_TOPIC_ID, name="", topic_id=topic_id)


def _topic_answer(services: Services, topic: Topic) -> MetadataResponseTopic:
    node_id = services.identity.node_id
    return MetadataResponseTopic(
        name=topic.name,
        topic_id=topic.id,
        partitions=[
            MetadataResponsePartition(
                partition_index=index,
                leader_id=node_id,
                leader_epoch=LEADER_EPOCH,
                replica_nodes=[node_id],
                isr_nodes=[node_id],
            )
            for index in range(topic.partitions)
        ],
    )


async def describe_topic_partitions(
    services: Services, request: DescribeTopicPartitionsRequest, call: Call
) -> DescribeTopicPartitionsResponse:
    """Topics sorted by name, a page of partitions at a time; no names mean all topics."""
    limit = max(1, min(request.response_partition_limit, MAX_DESCRIBED_PARTITIONS))
    names = sorted({topic.name for topic in request.topics})
    if not names:
        names = sorted(topic.name for topic in await _all_topics(services))
    start = request.cursor
    if start is not None:
        names = [name for name in names if name >= start.topic_name]
    answer = DescribeTopicPartitionsResponse()
    for name, entry in zip(names, await services.catalog.find(names), strict=True):
        if limit <= 0:
            answer.next_cursor = Cursor(topic_name=name, partition_index=0)
            break
        if entry is None:
            error = ErrorCode.INVALID_TOPIC_EXCEPTION if problem_with(name) else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
            answer.topics.append(DescribeTopicPartitionsResponseTopic(error_code=error, name=name))
            continue
        first = start.partition_index if start is not None and start.topic_name == name else 0
        last = min(entry.topic.partitions, max(first, 0) + limit)
        answer.topics.append(_described_topic(services, entry.topic, range(max(first, 0), last)))
        limit -= last - max(first, 0)
        if last < entry.topic.partitions:
            answer.next_cursor = Cursor(topic_name=name, partition_index=last)
            break
    return answer


def _described_topic(services: Services, topic: Topic, partitions: range) -> DescribeTopicPartitionsResponseTopic:
    node_id = services.identity.node_id
    return DescribeTopicPartitionsResponseTopic(
        name=topic.name,
        topic_id=topic.id,
        partitions=[
            DescribeTopicPartitionsResponsePartition(
                partition_index=index,
                leader_id=node_id,
                leader_epoch=LEADER_EPOCH,
                replica_nodes=[node_id],
                isr_nodes=[node_id],
                eligible_leader_replicas=[],
                last_known_elr=[],
            )
            for index in partitions
        ],
    )


async def describe_cluster(
    services: Services, request: DescribeClusterRequest, call: Call
) -> DescribeClusterResponse:
    """Every broker names itself as controller, because every broker can do what a controller does."""
    identity = services.identity
    if call.version >= 1 and request.endpoint_type != 1:
        return DescribeClusterResponse(
            error_code=ErrorCode.UNSUPPORTED_ENDPOINT_TYPE
            if request.endpoint_type != 2
            else ErrorCode.MISMATCHED_ENDPOINT_TYPE,
            error_message="This is a broker's endpoint.",
            endpoint_type=1,
            cluster_id=identity.cluster_id,
        )
    endpoint = identity.endpoints[call.listener]
    return DescribeClusterResponse(
        cluster_id=identity.cluster_id,
        controller_id=identity.node_id,
        brokers=[
            DescribeClusterBroker(
                broker_id=identity.node_id, host=endpoint.host, port=endpoint.port, rack=identity.rack
            )
        ],
    )


async def find_coordinator(
    services: Services, request: FindCoordinatorRequest, call: Call
) -> FindCoordinatorResponse:
    """Names this broker, so that a client that needs groups stops at once on the missing JoinGroup."""
    node_id = services.identity.node_id
    endpoint = services.identity.endpoints[call.listener]
    if call.version < 4:
        return FindCoordinatorResponse(node_id=node_id, host=endpoint.host, port=endpoint.port)
    return FindCoordinatorResponse(
        coordinators=[
            Coordinator(key=key, node_id=node_id, host=endpoint.host, port=endpoint.port)
            for key in request.coordinator_keys
        ]
    )
