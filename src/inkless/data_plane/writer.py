"""The writer: buffer, PUT, commit, acknowledge.

Requests gather in a draft, a flush turns it into one object, uploads run in parallel and commits go in order: an
object is committed when every object before it was uploaded or has failed for good, and all that are ready go into
one call.
"""

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import Enum

from inkless.control_plane.port import ControlPlane
from inkless.control_plane.values import BatchResult, BrokerEpoch, ObjectCommit, ObjectResult, ObjectStatus
from inkless.core.clock import Clock
from inkless.core.errors import (
    BrokerFenced,
    CommitOutcomeUnknown,
    ControlPlaneError,
    ErrorKind,
    InklessError,
)
from inkless.core.tasks import TaskSet
from inkless.data_plane.draft import AppendBatch, Draft, Layout, OnResults, in_order_of_arrival, lay_out
from inkless.storage.keys import object_key
from inkless.storage.port import Buffer, ObjectStore

log = logging.getLogger(__name__)

FIRST_RETRY_S = 0.05
LAST_RETRY_S = 1.0
MAX_UPLOADS = 6


@dataclass(frozen=True, slots=True)
class WriterLimits:
    """When a flush goes, and how long an answer may take."""

    buffer_max_bytes: int = 8 * 1024 * 1024
    commit_interval_s: float = 0.25
    adaptive: bool = True
    uploads_in_flight: int = 1
    plane_timeout_s: float = 20.0


class _State(Enum):
    UPLOADING = 1
    UPLOADED = 2
    FAILED = 3


@dataclass(slots=True)
class _Upload:
    """An object on its way: its draft, its bytes, and how far it is."""

    draft: Draft
    layout: Layout
    key: str = ""
    state: _State = _State.UPLOADING
    uploads: int = 0

    def commit(self) -> ObjectCommit:
        return ObjectCommit(self.key, self.layout.size, self.layout.commits)


@dataclass(slots=True)
class WriterMetrics:
    requests: int = 0
    batches: int = 0
    bytes: int = 0
    objects: int = 0
    object_bytes: int = 0
    failed_objects: int = 0
    commits: int = 0
    settled: dict[str, int] = field(default_factory=dict)


OnCommitted = Callable[[ObjectCommit, tuple[BatchResult, ...], Sequence[Buffer]], None]


class Writer:
    """One per broker. `append` is called on the event loop, in the order in which requests arrived."""

    def __init__(
        self,
        plane: ControlPlane,
        store: ObjectStore,
        clock: Clock,
        broker: BrokerEpoch,
        on_committed: OnCommitted,
        limits: WriterLimits,
    ) -> None:
        self._plane = plane
        self._store = store
        self._clock = clock
        self._broker = broker
        self._on_committed = on_committed
        self._limits = limits
        self._draft = Draft()
        self._chain: deque[_Upload] = deque()
        self._committing: list[_Upload] = []
        self._uploading = 0
        self._flush_soon = False
        self._interval: asyncio.TimerHandle | None = None
        self._ready = asyncio.Event()
        self._idle = asyncio.Event()
        self._idle.set()
        self._tasks = TaskSet()
        self._committer: asyncio.Task[None] | None = None
        self._closed = False
        self.fenced = asyncio.Event()
        self.metrics = WriterMetrics()

    def start(self) -> None:
        self._committer = self._tasks.spawn(self._commit_loop(), "committer")

    def append(self, batches: Sequence[AppendBatch]) -> "asyncio.Future[Sequence[BatchResult]]":
        """The same as `submit`, which has happened when this returns; the future gets a result for each batch."""
        answer: asyncio.Future[Sequence[BatchResult]] = asyncio.get_running_loop().create_future()

        def settle(results: Sequence[BatchResult]) -> None:
            if not answer.done():
                answer.set_result(results)

        self.submit(batches, settle)
        return answer

    def submit(self, batches: Sequence[AppendBatch], answer: OnResults) -> None:
        """Take the batches of one request into the current object; `answer` is called with a result for each."""
        assert batches
        if self._closed or self.fenced.is_set():
            error = ErrorKind.FENCED if self.fenced.is_set() else ErrorKind.SHUTTING_DOWN
            answer([BatchResult(-1, error=error)] * len(batches))
            return
        self._draft.add(batches, answer)
        self._idle.clear()
        self.metrics.requests += 1
        if self._draft.bytes >= self._limits.buffer_max_bytes:
            self._flush()
        elif self._may_flush_now():
            self._flush_when_loop_turns()
        elif self._interval is None:
            loop = asyncio.get_running_loop()
            self._interval = loop.call_later(self._limits.commit_interval_s, self._flush)

    def _may_flush_now(self) -> bool:
        return self._limits.adaptive and self._uploading < self._limits.uploads_in_flight

    def _flush_when_loop_turns(self) -> None:
        """Not at once: every request that this turn of the loop has read joins the same object."""
        if not self._flush_soon:
            self._flush_soon = True
            asyncio.get_running_loop().call_soon(self._flush)

    def _flush(self) -> None:
        self._flush_soon = False
        if self._interval is not None:
            self._interval.cancel()
            self._interval = None
        if not self._draft.batches:
            return
        draft, self._draft = self._draft, Draft()
        upload = _Upload(draft, lay_out(draft.batches))
        self._chain.append(upload)
        self._start_upload(upload)

    def _start_upload(self, upload: _Upload) -> None:
        upload.state = _State.UPLOADING
        upload.uploads += 1
        upload.key = object_key(self._plane.cluster_id, self._clock.now_ms(), self._clock.random_bytes(8))
        self._uploading += 1
        self._tasks.spawn(self._upload(upload), f"upload {upload.key}")

    async def _upload(self, upload: _Upload) -> None:
        state = _State.FAILED
        try:
            if upload.uploads > 1:
                await self._pause(FIRST_RETRY_S * 2**upload.uploads)
            await self._store.put(upload.key, upload.layout.pieces)
            state = _State.UPLOADED
            self.metrics.objects += 1
            self.metrics.object_bytes += upload.layout.size
        except InklessError as error:
            self.metrics.failed_objects += 1
            log.warning("upload of %s failed for good: %s", upload.key, error)
        finally:
            upload.state = state
            self._uploading -= 1
            self._ready.set()
            if self._draft.batches and self._may_flush_now():
                self._flush_when_loop_turns()

    async def _commit_loop(self) -> None:
        while True:
            await self._ready.wait()
            self._ready.clear()
            while self._chain and self._chain[0].state is not _State.UPLOADING:
                await self._commit_ready()
            self._note_idle()

    async def _commit_ready(self) -> None:
        """Commit every object at the head of the chain that is uploaded; answer those that failed."""
        ready: list[_Upload] = []
        while self._chain and self._chain[0].state is _State.UPLOADED:
            ready.append(self._chain.popleft())
        if ready:
            self._committing = ready
            try:
                await self._commit(ready)
            except Exception:  # a mistake of ours must not leave producers waiting for ever
                log.exception("the committer failed")
                for upload in ready:
                    upload.draft.refuse(ErrorKind.OUTCOME_UNKNOWN)
            self._committing = []
        while self._chain and self._chain[0].state is _State.FAILED:
            self._chain.popleft().draft.refuse(ErrorKind.STORAGE_FAILED)

    async def _commit(self, uploads: list[_Upload]) -> None:
        results = await self._results(uploads)
        if isinstance(results, ErrorKind):
            for upload in uploads:
                upload.draft.refuse(results)
            return
        again: list[_Upload] = []
        for upload, result in zip(uploads, results, strict=True):
            if result.status is ObjectStatus.COMMITTED:
                self._committed(upload, result)
            else:
                again.append(upload)
                if result.status is ObjectStatus.CONDEMNED:
                    self._upload_again(upload)
        self._chain.extendleft(reversed(again))

    def _upload_again(self, upload: _Upload) -> None:
        """A condemned key can never be committed, so giving up after some rounds tells no lie."""
        if upload.uploads >= MAX_UPLOADS:
            log.error("%s was condemned, and so were the keys before it: given up", upload.key)
            upload.state = _State.FAILED
            return
        log.info("key %s was condemned; its bytes go up again under another", upload.key)
        self._start_upload(upload)

    def _committed(self, upload: _Upload, result: ObjectResult) -> None:
        self.metrics.batches += len(result.batches)
        self.metrics.bytes += upload.draft.bytes
        self._on_committed(upload.commit(), result.batches, upload.layout.pieces)
        upload.draft.resolve(in_order_of_arrival(upload.layout.order, result.batches))

    async def _results(self, uploads: list[_Upload]) -> list[ObjectResult] | ErrorKind:
        """The plane's answer for these objects; an error kind that all of them get where there is none in time."""
        deadline = self._clock.monotonic() + self._limits.plane_timeout_s
        delay_s = FIRST_RETRY_S
        while True:
            try:
                self.metrics.commits += 1
                return await self._plane.commit(self._broker, [upload.commit() for upload in uploads])
            except BrokerFenced as error:
                log.error("this broker is fenced: %s", error)
                self.fenced.set()
                return ErrorKind.FENCED
            except CommitOutcomeUnknown as error:
                log.warning("outcome of a commit is unknown, settling it: %s", error)
                return await self._settle(uploads, deadline)
            except ControlPlaneError as error:
                if self._clock.monotonic() + delay_s > deadline:
                    log.error("commit given up, nothing was written: %s", error)
                    return ErrorKind.STORAGE_FAILED
                log.warning("commit failed, trying again: %s", error)
            await self._pause(delay_s)
            delay_s = min(2 * delay_s, LAST_RETRY_S)

    async def _pause(self, delay_s: float) -> None:
        await self._clock.sleep(delay_s * (0.5 + self._clock.random() / 2))

    async def _settle(self, uploads: list[_Upload], deadline: float) -> list[ObjectResult] | ErrorKind:
        """Find out what became of a commit by condemning its keys: either it landed, or now it never can."""
        results: list[ObjectResult] = []
        delay_s = FIRST_RETRY_S
        while len(results) < len(uploads):
            if results and results[-1].status is not ObjectStatus.COMMITTED:
                results.append(ObjectResult(ObjectStatus.SKIPPED))
                continue
            try:
                stored = await self._plane.condemn(uploads[len(results)].key)
            except ControlPlaneError as error:
                if self._clock.monotonic() + delay_s > deadline:
                    log.error("outcome of a commit stays unknown: %s", error)
                    return ErrorKind.OUTCOME_UNKNOWN
                await self._pause(delay_s)
                delay_s = min(2 * delay_s, LAST_RETRY_S)
                continue
            outcome = "landed" if stored else "condemned"
            self.metrics.settled[outcome] = self.metrics.settled.get(outcome, 0) + 1
            results.append(stored or ObjectResult(ObjectStatus.CONDEMNED))
        return results

    def _note_idle(self) -> None:
        if not self._chain and not self._committing and not self._draft.batches:
            self._idle.set()

    async def drain(self) -> None:
        """Take no more, flush what is there, and wait until everything is answered."""
        self._closed = True
        self._flush()
        self._note_idle()
        await self._idle.wait()

    async def close(self) -> None:
        """Stop at once; requests that wait are answered with an error that says that the outcome is unknown."""
        self._closed = True
        if self._interval is not None:
            self._interval.cancel()
        self._draft.refuse(ErrorKind.SHUTTING_DOWN)
        self._draft = Draft()
        await self._tasks.cancel()
        for upload in [*self._committing, *self._chain]:
            upload.draft.refuse(ErrorKind.OUTCOME_UNKNOWN)
