"""CreateTopics, DeleteTopics and CreatePartitions."""

from collections import Counter
from collections.abc import Sequence

from inkless.broker.errors import code_of
from inkless.broker.router import Call
from inkless.broker.services import Services
from inkless.broker.topic_admin import MAX_PARTITIONS, create_topics_checked, refusal
from inkless.control_plane.values import NewTopic, Refusal, Topic, TopicPartition
from inkless.core.errors import ErrorKind
from inkless.core.ids import ZERO_ID, TopicId
from inkless.wire.create_partitions import (
    CreatePartitionsRequest,
    CreatePartitionsResponse,
    CreatePartitionsTopic,
    CreatePartitionsTopicResult,
)
from inkless.wire.create_topics import (
    CreatableTopic,
    CreatableTopicConfigs,
    CreatableTopicResult,
    CreateTopicsRequest,
    CreateTopicsResponse,
)
from inkless.wire.delete_topics import (
    DeletableTopicResult,
    DeleteTopicsRequest,
    DeleteTopicsResponse,
    DeleteTopicState,
)
from inkless.wire.error_codes import ErrorCode

DEFAULT = -1
SOURCE_TOPIC = 1


async def create_topics(services: Services, request: CreateTopicsRequest, call: Call) -> CreateTopicsResponse:
    named = Counter(topic.name for topic in request.topics)
    wishes: list[NewTopic | Refusal] = [
        Refusal(ErrorKind.INVALID_REQUEST, "Duplicate topic name.")
        if named[topic.name] > 1
        else _wish(services, topic)
        for topic in request.topics
    ]
    good = [wish for wish in wishes if isinstance(wish, NewTopic)]
    if request.validate_only:
        await services.catalog.load()
        checked: list[Topic | Refusal] = [
            refusal(services, wish) or Topic(ZERO_ID, wish.name, wish.partitions, wish.configs) for wish in good
        ]
    else:
        checked = await create_topics_checked(services, good)
    made = iter(checked)
    answers = [next(made) if isinstance(wish, NewTopic) else wish for wish in wishes]
    results = [_created(topic, answer) for topic, answer in zip(request.topics, answers, strict=True)]
    return CreateTopicsResponse(topics=list({result.name: result for result in results}.values()))


def _wish(services: Services, topic: CreatableTopic) -> NewTopic | Refusal:
    """What a client wants; the number of replicas and their places are checked as Kafka does, then ignored."""
    partitions = topic.num_partitions
    if topic.assignments:
        if partitions != DEFAULT or topic.replication_factor != DEFAULT:
            message = "With a manual assignment, partitions and replication factor must both be -1."
            return Refusal(ErrorKind.INVALID_REQUEST, message)
        partitions = len(topic.assignments)
        if (problem := _problem_with_assignment(services, topic)) is not None:
            return Refusal(ErrorKind.INVALID_ASSIGNMENT, problem)
    elif (problem := _problem_with_factor(topic.replication_factor)) is not None:
        return Refusal(ErrorKind.INVALID_REPLICATION_FACTOR, problem)
    if partitions == DEFAULT:
        partitions = services.policy.num_partitions
    configs = {config.name: config.value for config in topic.configs}
    missing = [name for name, value in configs.items() if value is None]
    if missing:
        return Refusal(ErrorKind.INVALID_CONFIG, f"Null value not supported for topic configs: {','.join(missing)}")
    return NewTopic(topic.name, partitions, {name: value for name, value in configs.items() if value is not None})


def _problem_with_factor(factor: int) -> str | None:
    if factor == DEFAULT or factor == 1:
        return None
    if factor < 1:
        return "Replication factor must be larger than 0, or -1 to use the default value."
    return f"Replication factor {factor} is larger than the number of brokers: 1. Durability is the object store's."


def _problem_with_assignment(services: Services, topic: CreatableTopic) -> str | None:
    if sorted(item.partition_index for item in topic.assignments) != list(range(len(topic.assignments))):
        return "Partitions must be numbered from 0 without gaps."
    for item in topic.assignments:
        if item.broker_ids != [services.identity.node_id]:
            return f"Partition {item.partition_index} names brokers {item.broker_ids}, which are not all there."
    return None


def _created(topic: CreatableTopic, answer: Topic | Refusal) -> CreatableTopicResult:
    if isinstance(answer, Refusal):
        return CreatableTopicResult(
            name=topic.name, error_code=code_of(answer.error), error_message=answer.message or None, configs=[]
        )
    configs = [
        CreatableTopicConfigs(name=name, value=value, config_source=SOURCE_TOPIC)
        for name, value in answer.configs.items()
    ]
    return CreatableTopicResult(
        name=answer.name,
        topic_id=answer.id,
        num_partitions=answer.partitions,
        replication_factor=1,
        configs=configs,
    )


async def delete_topics(services: Services, request: DeleteTopicsRequest, call: Call) -> DeleteTopicsResponse:
    states = request.topics if call.version >= 6 else [DeleteTopicState(name=name) for name in request.topic_names]
    found = await _find(services, states)
    ids = list(dict.fromkeys(topic.id for topic in found if topic is not None))
    outcome = dict(zip(ids, await services.plane.delete_topics(ids) if ids else [], strict=True))
    for topic in outcome.values():
        if isinstance(topic, Topic):
            services.catalog.drop(topic)
            services.reader.forget(TopicPartition(topic.id, index) for index in range(topic.partitions))
    return DeleteTopicsResponse(
        responses=[
            _deleted(state, None if topic is None else outcome[topic.id])
            for state, topic in zip(states, found, strict=True)
        ]
    )


async def _find(services: Services, states: Sequence[DeleteTopicState]) -> list[Topic | None]:
    names = [state.name for state in states if state.name is not None]
    ids = [state.topic_id for state in states if state.name is None]
    entries = await services.catalog.ask(names, ids)
    named, by_id = iter(entries[: len(names)]), iter(entries[len(names) :])
    ordered = [next(by_id) if state.name is None else next(named) for state in states]
    return [None if entry is None else entry.topic for entry in ordered]


def _deleted(state: DeleteTopicState, outcome: Topic | Refusal | None) -> DeletableTopicResult:
    if isinstance(outcome, Topic):
        return DeletableTopicResult(name=outcome.name, topic_id=outcome.id)
    error = ErrorCode.UNKNOWN_TOPIC_ID if state.name is None else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    return DeletableTopicResult(
        name=state.name,
        topic_id=state.topic_id,
        error_code=error,
        error_message="This server does not host this topic.",
    )


async def create_partitions(
    services: Services, request: CreatePartitionsRequest, call: Call
) -> CreatePartitionsResponse:
    named = Counter(topic.name for topic in request.topics)
    entries = await services.catalog.ask([topic.name for topic in request.topics])
    results = []
    for topic, entry in zip(request.topics, entries, strict=True):
        if named[topic.name] > 1:
            answer: Topic | Refusal = Refusal(ErrorKind.INVALID_REQUEST, "Duplicate topic in request.")
        elif entry is None:
            message = f"Topic '{topic.name}' does not exist."
            answer = Refusal(ErrorKind.UNKNOWN_TOPIC_OR_PARTITION, message)
        else:
            answer = await _grow(services, topic, entry.topic, request.validate_only)
        error = answer if isinstance(answer, Refusal) else None
        results.append(
            CreatePartitionsTopicResult(
                name=topic.name,
                error_code=0 if error is None else code_of(error.error),
                error_message=None if error is None else error.message or None,
            )
        )
    return CreatePartitionsResponse(results=results)


async def _grow(
    services: Services, wish: CreatePartitionsTopic, topic: Topic, validate_only: bool
) -> Topic | Refusal:
    added = wish.count - topic.partitions
    if added < 0:
        message = f"{topic.name} has {topic.partitions} partition(s); {wish.count} would not be an increase."
        return Refusal(ErrorKind.INVALID_PARTITIONS, message)
    if added == 0:
        return Refusal(ErrorKind.INVALID_PARTITIONS, f"Topic already has {wish.count} partition(s).")
    if wish.count > MAX_PARTITIONS:
        return Refusal(ErrorKind.INVALID_PARTITIONS, f"At most {MAX_PARTITIONS} partitions are possible.")
    if wish.assignments is not None:
        places = [item.broker_ids for item in wish.assignments]
        if len(places) != added or any(place != [services.identity.node_id] for place in places):
            message = f"{added} new partitions need as many assignments, each to brokers that are there."
            return Refusal(ErrorKind.INVALID_ASSIGNMENT, message)
    if validate_only:
        return topic
    grown = (await services.plane.grow_topics([(TopicId(topic.id), wish.count)]))[0]
    if isinstance(grown, Topic):
        services.catalog.put(grown)
    return grown
