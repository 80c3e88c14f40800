"""A broker that runs in a thread of this process, on a free port, with everything in a folder that goes away.

What a broker needs is imported when one is started: the pytest plugin is loaded into every test run of whoever has
this package installed.
"""

import contextlib
import tempfile
import threading
from collections.abc import Iterator, Mapping
from concurrent.futures import Future
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from inkless.compose import Broker
    from inkless.settings import Settings

_START_S = 30.0
_STOP_S = 30.0


@contextlib.contextmanager
def broker(settings: Mapping[str, object] | None = None, /, **named: object) -> Iterator["RunningBroker"]:
    """A broker for the time of a `with` block.

    Settings go by their own names in a mapping, or as keywords with underscores for dots:
    `broker({"num.partitions": 3})`, `broker(num_partitions=3)`. Unless set otherwise it listens on a free port of
    127.0.0.1, keeps its objects in memory and its SQLite file in a temporary folder. With `inkless.data.dir` set,
    objects are files in that folder, and a second broker may start where the first one left off.
    """
    with tempfile.TemporaryDirectory(prefix="inkless-") as folder:
        running = RunningBroker(_settings(folder, {**(settings or {}), **_by_setting_name(named)}))
        with running:
            yield running


class RunningBroker:
    """A started broker; it has accepted connections by the time its constructor returns."""

    def __init__(self, settings: "Settings") -> None:
        self._settings = settings
        self._started: Future[Broker] = Future()
        self._thread = threading.Thread(target=self._run, name="inkless-broker", daemon=True)
        self._thread.start()
        try:
            self._broker = self._started.result(_START_S)
        finally:
            if self._started.done() and self._started.exception() is not None:
                self._thread.join(_STOP_S)

    @property
    def bootstrap_servers(self) -> str:
        """What Kafka clients take: `127.0.0.1:port`."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{host}:{self.port}"

    @property
    def host(self) -> str:
        return self._broker.listeners[0].host

    @property
    def port(self) -> int:
        return self._broker.listeners[0].port

    @property
    def cluster_id(self) -> str:
        return self._broker.cluster_id

    @property
    def node_id(self) -> int:
        return self._broker.node_id

    def stop(self) -> None:
        """End it as SIGTERM would: what was accepted is written and answered. A second call does nothing."""
        self._end(drain=True)

    def kill(self) -> None:
        """End it at once, with nothing flushed and nothing answered."""
        self._end(drain=False)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def _end(self, *, drain: bool) -> None:
        if self._thread.is_alive():
            with contextlib.suppress(RuntimeError):  # its loop ended in this moment
                self._loop.call_soon_threadsafe(self._tell, drain)
            self._thread.join(_STOP_S)
            if self._thread.is_alive():
                raise TimeoutError(f"the broker did not end within {_STOP_S:g} s")

    def _tell(self, drain: bool) -> None:
        if not self._told.done():
            self._told.set_result(drain)

    def _run(self) -> None:
        import asyncio

        import uvloop

        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            runner.run(self._serve())

    async def _serve(self) -> None:
        import asyncio

        from inkless.compose import start_broker

        self._loop: asyncio.AbstractEventLoop = asyncio.get_running_loop()
        self._told: asyncio.Future[bool] = self._loop.create_future()
        try:
            running = await start_broker(self._settings)
        except BaseException as error:  # noqa: BLE001 (raised again in the caller's thread)
            self._started.set_exception(error)
            return
        self._started.set_result(running)
        drain = await self._told
        await (running.stop() if drain else running.kill())


def _settings(folder: str, given: Mapping[str, object]) -> "Settings":
    from inkless.settings import load

    defaults: dict[str, object] = {"listeners": "PLAINTEXT://127.0.0.1:0"}
    if "inkless.data.dir" not in given:
        defaults |= {"inkless.data.dir": folder, "inkless.storage": "memory:"}
    return load(None, {}, [f"{name}={_text(value)}" for name, value in (defaults | dict(given)).items()])


def _by_setting_name(named: Mapping[str, Any]) -> dict[str, object]:
    """Keywords are attributes of Settings (`produce_commit_interval_ms`), or names with underscores for dots."""
    from inkless.settings.model import DECLARED

    attributes = {attribute.removesuffix("_given"): setting.name for attribute, setting in DECLARED.items()}
    return {attributes.get(keyword, keyword.replace("_", ".")): value for keyword, value in named.items()}


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
