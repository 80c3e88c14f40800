"""The composition root: the only place where the parts of a broker are made and put together."""

import asyncio
import gc
import logging
import resource
import signal
import tempfile
from collections.abc import Callable, Coroutine
from contextlib import AsyncExitStack
from typing import Any

import uvloop

from inkless.broker.catalog import Catalog
from inkless.broker.connection import Limits
from inkless.broker.housekeeping import Housekeeping
from inkless.broker.producer_ids import ProducerIds
from inkless.broker.routes import ROUTER
from inkless.broker.server import Server, bind, bound
from inkless.broker.services import Identity, Policy, Services
from inkless.broker.sessions import Sessions
from inkless.cache.memory import BlockCache
from inkless.client.probe import who_answers
from inkless.control_plane.port import ControlPlane
from inkless.control_plane.sqlite.plane import SqlitePlane
from inkless.control_plane.values import BrokerEpoch, BrokerRegistration, Endpoint
from inkless.core.clock import Clock, SystemClock
from inkless.core.errors import SettingError, StorageError
from inkless.core.tasks import TaskSet, ThreadExecutor
from inkless.data_plane.feed import Feed
from inkless.data_plane.reader import Reader
from inkless.data_plane.signals import Signals
from inkless.data_plane.tails import Tails
from inkless.data_plane.writer import Writer, WriterLimits
from inkless.settings import Flush, Listener, Settings, url_path
from inkless.storage.keys import ensure_sole_tenant
from inkless.storage.local import LocalStore
from inkless.storage.memory import MemoryStore
from inkless.storage.metered import MeteredStore
from inkless.storage.port import ObjectStore
from inkless.storage.prefixed import PrefixedStore
from inkless.storage.retrying import RetryingStore

log = logging.getLogger(__name__)

RETRY_FIRST_S = 0.1
RETRY_LAST_S = 2.0
STORE_TIMEOUT_S = 30.0
PROBE_TIMEOUT_S = 2.0
KEEP_COORDINATES_MS = 30_000
SESSION_ID_BYTES = 4
GC_ALLOCATIONS = 50_000
OTHER_FILES = 256
ENOUGH_FILES = 8192


async def open_plane(settings: Settings, clock: Clock, parts: AsyncExitStack) -> ControlPlane:
    """The control plane that `inkless.control.plane` names; closed with `parts`."""
    url = settings.control_plane_url
    if settings.storage_url.startswith("memory:") and settings.control_plane_given is None:
        # What the store forgets at the end, the plane must not remember.
        folder = parts.enter_context(tempfile.TemporaryDirectory(prefix="inkless-"))
        url = f"sqlite://{folder}/control-plane.db"
    if not url.startswith("sqlite:"):
        raise SettingError(f"inkless.control.plane: only sqlite: is supported so far, not {url.partition(':')[0]}:")
    plane = await SqlitePlane.open(
        url_path(url),
        clock,
        ThreadExecutor("plane-write", 1),
        ThreadExecutor("plane-read", 1),
        poll_interval_s=settings.control_plane_poll_interval_ms / 1000,
        producer_expiration_ms=settings.producer_id_expiration_ms,
        result_retention_ms=settings.commit_result_retention_ms,
    )
    parts.push_async_callback(plane.close)
    return plane


def open_store(settings: Settings, clock: Clock, reading: ThreadExecutor, writing: ThreadExecutor) -> ObjectStore:
    """The object store that `inkless.storage` names, with retries and meters around it."""
    url = settings.storage_url
    if url.startswith("memory:"):
        store: ObjectStore = MemoryStore(clock)
    elif url.startswith("file:"):
        try:
            store = LocalStore(url_path(url), reading, writing)
        except StorageError as error:
            raise SettingError(f"inkless.storage={url}: {error}") from error
    else:
        scheme = url.partition(":")[0]
        raise SettingError(f"inkless.storage: only file: and memory: are supported so far, not {scheme}:")
    store = RetryingStore(
        MeteredStore(store, clock),
        clock,
        settings.produce_max_upload_attempts,
        RETRY_FIRST_S,
        RETRY_LAST_S,
        STORE_TIMEOUT_S,
    )
    return PrefixedStore(store, settings.object_key_prefix) if settings.object_key_prefix else store


class Broker:
    """A running broker. Made by `start_broker`."""

    def __init__(
        self, settings: Settings, services: Services, server: Server, listeners: tuple[Listener, ...]
    ) -> None:
        self.node_id = services.identity.node_id
        self.cluster_id = services.identity.cluster_id
        self.listeners = listeners
        self._settings = settings
        self.services = services
        self.server = server
        self._parts = AsyncExitStack()
        self._tasks = TaskSet()

    def keep_running(self, work: Coroutine[Any, Any, None], name: str) -> None:
        """Run a loop of the background until the broker ends."""
        self._tasks.spawn(work, name)

    def take_over(self, parts: AsyncExitStack) -> None:
        """From now on the broker closes what it is made of."""
        self._parts = parts

    async def wait_closed_by_itself(self) -> None:
        """Returns when the broker can't go on, because another one has taken its node id."""
        await self.services.writer.fenced.wait()

    async def stop(self) -> None:
        """Drain: stop accepting, flush, answer, close; bounded in time."""
        log.info("draining")
        self.server.stop_accepting()
        self.services.reader.stop_waiting()
        try:
            async with asyncio.timeout(self._settings.drain_timeout_ms / 1000):
                await self.services.writer.drain()
                await self.server.registry.drained()
        except TimeoutError:
            log.warning("not everything was answered within %d ms", self._settings.drain_timeout_ms)
        await self.kill()
        log.info("stopped")

    async def kill(self) -> None:
        """Close at once; nothing is flushed."""
        await self.server.close()
        await self._tasks.cancel()
        await self._parts.aclose()


async def start_broker(settings: Settings) -> Broker:
    """Open plane and store, register, and listen. SettingError says what stands in the way."""
    clock = SystemClock()
    async with AsyncExitStack() as parts:
        sockets = bind(settings.listeners)
        for sock in sockets:
            parts.callback(sock.close)
        listeners = bound(settings.listeners, sockets)
        plane = await open_plane(settings, clock, parts)
        store = open_store(settings, clock, _threads("store-read", 4, parts), _threads("store-write", 4, parts))
        parts.callback(store.close)
        await ensure_sole_tenant(store, plane.cluster_id)
        endpoints = tuple(_endpoint(settings, listener) for listener in listeners)
        epoch = await _register(settings, plane, endpoints)
        tails, signals = Tails(KEEP_COORDINATES_MS), Signals()
        services = await _services(settings, clock, plane, store, epoch, endpoints, tails, signals, parts)
        server = _server(settings, services)
        broker = Broker(settings, services, server, listeners)
        housekeeping = Housekeeping(plane, services.catalog, services.reader, clock)
        services.writer.start()
        broker.keep_running(Feed(plane, tails, signals, clock, housekeeping.topics_at).run(), "feed")
        broker.keep_running(housekeeping.run(), "housekeeping")
        await server.start(listeners, sockets)
        broker.take_over(parts.pop_all())
        return broker


def _threads(name: str, count: int, parts: AsyncExitStack) -> ThreadExecutor:
    executor = ThreadExecutor(name, count)
    parts.callback(executor.close)
    return executor


async def _services(
    settings: Settings,
    clock: Clock,
    plane: ControlPlane,
    store: ObjectStore,
    epoch: BrokerEpoch,
    endpoints: tuple[Endpoint, ...],
    tails: Tails,
    signals: Signals,
    parts: AsyncExitStack,
) -> Services:
    cache = BlockCache(store, settings.consume_cache_max_bytes, settings.consume_cache_block_bytes)
    parts.push_async_callback(cache.close)
    reader = Reader(plane, store, cache, tails, signals, clock)
    writer = Writer(plane, store, clock, epoch, reader.committed, _writer_limits(settings))
    parts.push_async_callback(writer.close)
    catalog = Catalog(plane, settings.message_max_bytes)
    await catalog.load()
    ends = {end.listener: end for end in endpoints}
    slots = settings.max_incremental_fetch_session_cache_slots
    return Services(
        Identity(settings.node_id, plane.cluster_id, settings.broker_rack, ends),
        _policy(settings),
        plane,
        catalog,
        writer,
        reader,
        Sessions(slots, lambda: int.from_bytes(clock.random_bytes(SESSION_ID_BYTES)) & 0x7FFFFFFF),
        ProducerIds(plane, clock, settings.producer_id_expiration_ms),
        _threads("decode", 1, parts),
        clock,
    )


def _server(settings: Settings, services: Services) -> Server:
    return Server(
        services,
        ROUTER,
        Limits(settings.socket_request_max_bytes, settings.connection_bytes_in_flight),
        max_connections=settings.max_connections,
        request_bytes=settings.request_bytes_in_flight,
        idle_s=settings.connections_max_idle_ms / 1000,
        clock=services.clock,
    )


def _endpoint(settings: Settings, listener: Listener) -> Endpoint:
    advertised = settings.advertised_listener(listener)
    return Endpoint(listener.name, advertised.host, advertised.port)


def _writer_limits(settings: Settings) -> WriterLimits:
    return WriterLimits(
        buffer_max_bytes=settings.produce_buffer_max_bytes,
        commit_interval_s=settings.produce_commit_interval_ms / 1000,
        adaptive=settings.produce_flush is Flush.ADAPTIVE,
        uploads_in_flight=settings.uploads_in_flight,
    )


def _policy(settings: Settings) -> Policy:
    return Policy(
        auto_create_topics=settings.auto_create_topics_enable,
        num_partitions=settings.num_partitions,
        fetch_max_bytes=settings.fetch_max_bytes,
    )


async def _register(settings: Settings, plane: ControlPlane, endpoints: tuple[Endpoint, ...]) -> BrokerEpoch:
    """Take the node id, unless a broker of this cluster answers under it where it is registered."""
    before = await plane.registration(settings.node_id)
    if before is not None:
        for end in before.endpoints:
            answering = await who_answers(end.host, end.port, PROBE_TIMEOUT_S)
            if answering is None:
                continue
            if (answering.cluster_id, answering.node_id) == (plane.cluster_id, settings.node_id):
                raise SettingError(
                    f"node.id={settings.node_id} is taken: a broker of this cluster answers with it "
                    f"at {end.host}:{end.port}; stop that one or choose another node.id"
                )
    return await plane.register(BrokerRegistration(settings.node_id, settings.broker_rack, endpoints))


def _raise_file_limit(max_connections: int) -> None:
    """Each connection is a file; the usual soft limit of 1024 is meant to be raised by those who need it."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = max_connections + OTHER_FILES
    allowed = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
    if allowed > soft:
        resource.setrlimit(resource.RLIMIT_NOFILE, (allowed, hard))
    if allowed < min(wanted, ENOUGH_FILES):
        log.warning(
            "this process may open %d files, max.connections=%d needs %d: raise its limit (ulimit -n)",
            allowed,
            max_connections,
            wanted,
        )


def serve(settings: Settings, on_ready: Callable[[Broker], None]) -> int:
    """Run a broker until it is told to stop; the process's exit code."""
    _raise_file_limit(settings.max_connections)
    # Requests leave little garbage in cycles; collecting what lives as long as the broker would cost the most.
    gc.freeze()
    gc.set_threshold(GC_ALLOCATIONS, 20, 50)
    return uvloop.run(_serve(settings, on_ready))


async def _serve(settings: Settings, on_ready: Callable[[Broker], None]) -> int:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop.set)
    broker = await start_broker(settings)
    on_ready(broker)
    tasks = TaskSet()
    told = tasks.spawn(stop.wait(), "stop signal")
    fenced = tasks.spawn(broker.wait_closed_by_itself(), "fencing")
    await asyncio.wait({told, fenced}, return_when=asyncio.FIRST_COMPLETED)
    code = 1 if fenced.done() else 0
    await tasks.cancel()
    await broker.stop()
    return code
