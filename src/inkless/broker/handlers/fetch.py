"""Fetch: sessions, leader epochs and topic ids around one read."""

from collections.abc import Sequence
from dataclasses import dataclass

from inkless.broker.catalog import CatalogTopic
from inkless.broker.errors import code_of
from inkless.broker.router import Call
from inkless.broker.services import Services
from inkless.broker.sessions import FINAL_EPOCH, NEW_SESSION_EPOCH, Session, SessionKey, SessionPartition
from inkless.control_plane.values import TopicPartition
from inkless.core.errors import ControlPlaneError, ErrorKind
from inkless.data_plane.reader import PartitionAnswer, PartitionRead, ReadRequest
from inkless.wire.error_codes import ErrorCode
from inkless.wire.fetch import (
    FetchableTopicResponse,
    FetchRequest,
    FetchResponse,
    PartitionData,
)

IDS_FROM = 13
LEADER_EPOCH = 0
UNKNOWN = -1


@dataclass(slots=True)
class _Asked:
    """A partition of this fetch, in the order in which it is served, with its answer."""

    wanted: SessionPartition
    error: ErrorCode | None = None
    answer: PartitionAnswer | None = None


async def fetch(services: Services, request: FetchRequest, call: Call) -> FetchResponse:
    uses_ids = call.version >= IDS_FROM
    asked = _asked_partitions(request, uses_ids)
    if request.session_epoch in (NEW_SESSION_EPOCH, FINAL_EPOCH):
        return await _full_fetch(services, request, asked, uses_ids)
    session = services.sessions.find(request.session_id, services.clock.monotonic())
    error = _session_error(session, request, uses_ids)
    if error is not None or session is None:
        return FetchResponse(error_code=error or ErrorCode.FETCH_SESSION_ID_NOT_FOUND)
    session.busy = True
    try:
        return await _incremental_fetch(services, request, asked, session)
    finally:
        session.busy = False


def _session_error(session: Session | None, request: FetchRequest, uses_ids: bool) -> ErrorCode | None:
    if session is None:
        return ErrorCode.FETCH_SESSION_ID_NOT_FOUND
    if session.busy or session.epoch != request.session_epoch:
        return ErrorCode.INVALID_FETCH_SESSION_EPOCH
    if session.uses_ids != uses_ids:
        return ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR
    return None


async def _full_fetch(
    services: Services, request: FetchRequest, asked: Sequence[SessionPartition], uses_ids: bool
) -> FetchResponse:
    """Every partition is named and answered; with epoch 0 a session begins, with -1 one ends."""
    if request.session_id != 0:
        services.sessions.close(request.session_id)
    looked = [_Asked(wanted) for wanted in asked]
    await _read(services, request, looked, uses_ids)
    session = None
    if request.session_epoch == NEW_SESSION_EPOCH:
        session = services.sessions.open(uses_ids, asked, services.clock.monotonic())
    if session is not None:
        for item in looked:
            _tell(item)
            if item.answer is not None and item.answer.size:
                session.served(item.wanted.key)
    return _response(0 if session is None else session.id, looked, uses_ids)


async def _incremental_fetch(
    services: Services, request: FetchRequest, asked: Sequence[SessionPartition], session: Session
) -> FetchResponse:
    """The session's partitions are read; those with nothing new to tell are left out of the answer."""
    forgotten = [
        SessionKey(topic.topic_id if session.uses_ids else topic.topic, index)
        for topic in request.forgotten_topics_data
        for index in topic.partitions
    ]
    session.update(asked, forgotten)
    looked = [_Asked(wanted) for wanted in session.partitions.values()]
    if not await _read(services, request, looked, session.uses_ids):
        # The topic behind a name is another one now: the session ends with the old id (rule 9).
        services.sessions.close(session.id)
        return FetchResponse(error_code=ErrorCode.FETCH_SESSION_ID_NOT_FOUND)
    session.advance()
    news = [item for item in looked if _tell(item)]
    for item in news:
        if item.answer is not None and item.answer.size:
            session.served(item.wanted.key)
    return _response(session.id, news, session.uses_ids)


def _tell(item: _Asked) -> bool:
    """Remember what the client is told now; whether any of it is news."""
    wanted, answer = item.wanted, item.answer
    if item.error is not None or answer is None or answer.error is not None:
        wanted.told_high_watermark = wanted.told_log_start = UNKNOWN
        return True
    known = (wanted.told_high_watermark, wanted.told_log_start)
    wanted.told_high_watermark, wanted.told_log_start = answer.high_watermark, answer.log_start
    return answer.size > 0 or known != (answer.high_watermark, answer.log_start)


def _asked_partitions(request: FetchRequest, uses_ids: bool) -> list[SessionPartition]:
    return [
        SessionPartition(
            SessionKey(topic.topic_id if uses_ids else topic.topic, partition.partition),
            partition.fetch_offset,
            partition.partition_max_bytes,
            partition.current_leader_epoch,
        )
        for topic in request.topics
        for partition in topic.partitions
    ]


async def _read(services: Services, request: FetchRequest, looked: Sequence[_Asked], uses_ids: bool) -> bool:
    """Fill in errors and answers; False where a name of the session has come to mean another topic."""
    try:
        if not await _resolve(services, looked, uses_ids):
            return False
        readable = [item for item in looked if item.error is None]
        limit = min(request.max_bytes, services.policy.fetch_max_bytes)
        answers = await services.reader.read(
            ReadRequest(
                [_partition_read(item.wanted) for item in readable],
                # An error is told at once, and so is a fetch that asks for nothing.
                request.min_bytes if looked and len(readable) == len(looked) else 0,
                max(limit, 0),
                request.max_wait_ms / 1000,
            )
        )
    except ControlPlaneError:
        for item in looked:
            item.error = item.error or ErrorCode.KAFKA_STORAGE_ERROR
        return True
    for item, answer in zip(readable, answers, strict=True):
        item.answer = answer
        if answer.error is ErrorKind.UNKNOWN_TOPIC_OR_PARTITION:
            item.error = _unknown(uses_ids)
            if item.wanted.topic_id is not None:
                services.catalog.forget(item.wanted.topic_id)
    return True


def _partition_read(wanted: SessionPartition) -> PartitionRead:
    assert wanted.topic_id is not None
    name = TopicPartition(wanted.topic_id, wanted.key.partition)
    return PartitionRead(name, wanted.fetch_offset, max(wanted.max_bytes, 1))


async def _resolve(services: Services, looked: Sequence[_Asked], uses_ids: bool) -> bool:
    """Find each topic's id and check the leader epoch; what memory lacks is asked of the plane once."""
    topics = _topics_of(services, looked)
    missing = {
        item.wanted.key.topic
        for item in looked
        if (entry := topics[item.wanted.key.topic]) is None or item.wanted.key.partition >= entry.topic.partitions
    }
    if missing:
        await services.catalog.ask(
            [topic for topic in missing if isinstance(topic, str)],
            [topic for topic in missing if isinstance(topic, bytes)],
        )
        topics = _topics_of(services, looked)
    for item in looked:
        wanted = item.wanted
        entry = topics[wanted.key.topic]
        if entry is None or not 0 <= wanted.key.partition < entry.topic.partitions:
            wanted.topic_id = None
            item.error = _unknown(uses_ids)
            continue
        if wanted.topic_id is not None and wanted.topic_id != entry.topic.id:
            return False
        wanted.topic_id = entry.topic.id
        if wanted.leader_epoch > LEADER_EPOCH:
            item.error = ErrorCode.UNKNOWN_LEADER_EPOCH
    return True


def _topics_of(services: Services, looked: Sequence[_Asked]) -> dict[str | bytes, CatalogTopic | None]:
    """What memory knows of each topic that is asked for."""
    catalog = services.catalog
    return {
        topic: catalog.by_name(topic) if isinstance(topic, str) else catalog.by_id(topic)
        for topic in {item.wanted.key.topic for item in looked}
    }


def _unknown(uses_ids: bool) -> ErrorCode:
    return ErrorCode.UNKNOWN_TOPIC_ID if uses_ids else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def _response(session_id: int, items: Sequence[_Asked], uses_ids: bool) -> FetchResponse:
    """Group neighbours of one topic; the order in which partitions were served is kept."""
    topics: list[FetchableTopicResponse] = []
    current: str | bytes | None = None
    for item in items:
        topic = item.wanted.key.topic
        if topic != current:
            current = topic
            named = FetchableTopicResponse(topic_id=topic) if uses_ids else FetchableTopicResponse(topic=topic)  # type: ignore[arg-type]
            topics.append(named)
        topics[-1].partitions.append(_partition_data(item))
    return FetchResponse(session_id=session_id, responses=topics)


def _partition_data(item: _Asked) -> PartitionData:
    index, answer = item.wanted.key.partition, item.answer
    if item.error is not None or answer is None:
        code = item.error or ErrorCode.UNKNOWN_SERVER_ERROR
        return PartitionData(partition_index=index, error_code=code, high_watermark=UNKNOWN)
    if answer.error is not None:
        code = ErrorCode(code_of(answer.error))
        return PartitionData(
            partition_index=index,
            error_code=code,
            high_watermark=UNKNOWN,
            log_start_offset=answer.log_start,
        )
    return PartitionData(
        partition_index=index,
        high_watermark=answer.high_watermark,
        last_stable_offset=answer.last_stable_offset,
        log_start_offset=answer.log_start,
        records=answer.buffers or b"",
    )
