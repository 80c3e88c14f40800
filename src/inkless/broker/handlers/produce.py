"""Produce: check the headers, hand all batches of the request to the writer at once, answer per partition.

`begin` is the way that nearly every request takes: nothing is awaited between the frame and the writer, and nothing
is scheduled between the commit and the answer. What must first ask the plane goes through `produce`.
"""

from collections.abc import Callable, Sequence
from typing import Any

from inkless.broker.catalog import Catalog, CatalogTopic
from inkless.broker.errors import code_of
from inkless.broker.names import is_valid_topic_name
from inkless.broker.router import CLOSE, Call
from inkless.broker.services import Services
from inkless.control_plane.values import BatchResult
from inkless.core.errors import ControlPlaneError, ErrorKind
from inkless.data_plane.draft import AppendBatch
from inkless.records.batch import BatchError, check_produced
from inkless.records.compression import Compression
from inkless.wire.error_codes import ErrorCode
from inkless.wire.produce import (
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
    TopicProduceResponse,
)

IDS_FROM = 13
ZSTD_FROM = 7
ACKS = (-1, 0, 1)


def begin(services: Services, request: ProduceRequest, call: Call, done: Callable[[Any], None]) -> bool:
    """Answer through `done`, now or when it is committed; False where the plane must be asked first."""
    if not call.turn.is_reached:
        return False
    topics = _in_memory(services, request, call.version)
    if topics is None:
        return False
    checked = _Checked(request, topics, call.version)
    call.turn.pass_on()
    if not checked.batches:
        done(checked.response)
        return True

    def finish(results: Sequence[BatchResult]) -> None:
        checked.set_results(results, services.catalog)
        done(checked.response)

    services.writer.submit(checked.batches, finish)
    return True


async def produce(services: Services, request: ProduceRequest, call: Call) -> Any:
    """The same for a request that waits: for those before it, or for the plane to tell of its topics."""
    try:
        try:
            topics = _in_memory(services, request, call.version) or await _find(services, request, call.version)
            checked = _Checked(request, topics, call.version)
        except ControlPlaneError:
            checked = _Checked(request, [None] * len(request.topic_data), call.version, ErrorCode.KAFKA_STORAGE_ERROR)
        await call.turn.reached()
        writing = services.writer.append(checked.batches) if checked.batches else None
    finally:
        call.turn.pass_on()
    if writing is not None:
        checked.set_results(await writing, services.catalog)
    return checked.response


class _Checked:
    """A request whose headers were checked: the batches to write, and the answer as far as it is known."""

    __slots__ = ("_acks", "_refused", "_responses", "_taken", "_version", "batches")

    def __init__(
        self,
        request: ProduceRequest,
        topics: Sequence[CatalogTopic | None],
        version: int,
        refused: ErrorCode | None = None,
    ) -> None:
        self._acks = request.acks
        self._version = version
        self._refused = refused
        self.batches: list[AppendBatch] = []
        self._taken: list[PartitionProduceResponse] = []
        self._responses = [
            self._check_topic(request, data, topic) for data, topic in zip(request.topic_data, topics, strict=True)
        ]

    @property
    def response(self) -> Any:
        """None for acks=0, as the client waits for no answer; it learns of an error by losing its connection."""
        if self._acks != 0:
            return ProduceResponse(responses=self._responses)
        failed = any(partition.error_code for topic in self._responses for partition in topic.partition_responses)
        return CLOSE if failed else None

    def set_results(self, results: Sequence[BatchResult], catalog: Catalog) -> None:
        for batch, partition, result in zip(self.batches, self._taken, results, strict=True):
            _set_result(partition, result, self._version)
            if result.error is ErrorKind.UNKNOWN_TOPIC_OR_PARTITION:
                catalog.forget(batch.topic_id)  # its name may be another topic's by now

    def _check_topic(
        self, request: ProduceRequest, data: TopicProduceData, entry: CatalogTopic | None
    ) -> TopicProduceResponse:
        refused = self._refused or _refusal(request, data, entry, self._version)
        partitions = []
        for partition in data.partition_data:
            response = PartitionProduceResponse(index=partition.index, base_offset=-1)
            partitions.append(response)
            if refused is not None or entry is None:
                response.error_code = refused or ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
                continue
            batch = _check_partition(partition, response, entry, self._version)
            if batch is not None:
                self.batches.append(batch)
                self._taken.append(response)
        return TopicProduceResponse(name=data.name, topic_id=data.topic_id, partition_responses=partitions)


def _in_memory(services: Services, request: ProduceRequest, version: int) -> list[CatalogTopic | None] | None:
    """The topics of the request, if memory knows each of them and each partition."""
    catalog = services.catalog
    found: list[CatalogTopic | None] = []
    for data in request.topic_data:
        entry = catalog.by_id(data.topic_id) if version >= IDS_FROM else catalog.by_name(data.name)
        if entry is None:
            return None
        for partition in data.partition_data:
            if partition.index >= entry.topic.partitions:
                return None
        found.append(entry)
    return found


async def _find(services: Services, request: ProduceRequest, version: int) -> Sequence[CatalogTopic | None]:
    """Ask the plane: it alone may say that a topic or partition does not exist."""
    by_id = version >= IDS_FROM
    names = [] if by_id else [data.name for data in request.topic_data]
    ids = [data.topic_id for data in request.topic_data] if by_id else []
    return await services.catalog.ask(names, ids)


def _refusal(
    request: ProduceRequest, data: TopicProduceData, entry: CatalogTopic | None, version: int
) -> ErrorCode | None:
    """An error that holds for every partition of the topic."""
    if request.acks not in ACKS:
        return ErrorCode.INVALID_REQUIRED_ACKS
    if request.transactional_id is not None:
        return ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
    if entry is not None:
        return None
    if version >= IDS_FROM:
        return ErrorCode.UNKNOWN_TOPIC_ID
    if not is_valid_topic_name(data.name):
        return ErrorCode.INVALID_TOPIC_EXCEPTION
    return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def _check_partition(
    data: PartitionProduceData, response: PartitionProduceResponse, entry: CatalogTopic, version: int
) -> AppendBatch | None:
    if not 0 <= data.index < entry.topic.partitions:
        response.error_code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        return None
    try:
        if data.records is None:
            raise BatchError(ErrorKind.INVALID_RECORD, "a produce request carries exactly one batch per partition")
        header = check_produced(data.records, entry.max_message_bytes)
        if header.compression == Compression.ZSTD and version < ZSTD_FROM:
            raise BatchError(ErrorKind.UNSUPPORTED_COMPRESSION, f"zstd needs version {ZSTD_FROM} of Produce")
        if header.is_transactional:
            raise BatchError(ErrorKind.TRANSACTIONS_REFUSED, "transactions are not supported yet")
    except BatchError as error:
        response.error_code = code_of(error.kind)
        response.error_message = str(error)
        return None
    return AppendBatch(entry.topic.id, data.index, header, data.records)


def _set_result(response: PartitionProduceResponse, result: BatchResult, version: int) -> None:
    if result.error is None:
        response.base_offset = result.base_offset
        response.log_start_offset = result.log_start
        return
    if result.error is ErrorKind.UNKNOWN_TOPIC_OR_PARTITION and version >= IDS_FROM:
        response.error_code = ErrorCode.UNKNOWN_TOPIC_ID
    else:
        response.error_code = code_of(result.error)
