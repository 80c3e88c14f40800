"""Running work: blocking calls off the event loop, and background tasks whose failure is never silent."""

import asyncio
import logging
import threading
from collections.abc import Callable, Coroutine
from contextlib import suppress
from queue import SimpleQueue
from typing import Any, Protocol, TypeVar

T = TypeVar("T")
log = logging.getLogger(__name__)

JOIN_S = 0.5


class Executor(Protocol):
    """Where blocking calls go: threads in a broker, inline in the simulation."""

    async def run(self, call: Callable[..., T], *args: Any) -> T: ...

    def close(self) -> None:
        """Take no more."""
        ...


class ThreadExecutor:
    """A named pool of threads; with one thread it also serializes its calls.

    A queue and a wake-up of the loop each way: a third of what the standard library's pool costs per call, and there
    are two calls for every object that is written.
    """

    def __init__(self, name: str, threads: int) -> None:
        self._name = name
        self._closed = False
        self._calls: SimpleQueue[_Call | None] = SimpleQueue()
        self._threads = [
            threading.Thread(target=self._work, name=f"{name}-{number}", daemon=True) for number in range(threads)
        ]
        for thread in self._threads:
            thread.start()

    async def run(self, call: Callable[..., T], *args: Any) -> T:
        if self._closed:
            raise RuntimeError(f"{self._name}: no calls are taken any more")
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[T] = loop.create_future()
        self._calls.put((loop, answer, call, args))
        return await answer

    def _work(self) -> None:
        while (item := self._calls.get()) is not None:
            _perform(*item)
            del item  # what was written must not stay in memory until the next call

    def close(self) -> None:
        """Wait a little for what runs; a call that hangs is left to its thread, which ends with the process."""
        self._closed = True
        for _ in self._threads:
            self._calls.put(None)
        for thread in self._threads:
            thread.join(JOIN_S)


_Call = tuple[asyncio.AbstractEventLoop, "asyncio.Future[Any]", Callable[..., Any], tuple[Any, ...]]


def _perform(
    loop: asyncio.AbstractEventLoop, answer: "asyncio.Future[Any]", call: Callable[..., Any], args: tuple[Any, ...]
) -> None:
    if answer.done():
        return  # cancelled while it waited in the queue
    result: Any = None
    failure: BaseException | None = None
    try:
        result = call(*args)
    except BaseException as error:  # noqa: BLE001 - it is raised again where the call is awaited
        failure = RuntimeError(repr(error)) if isinstance(error, StopIteration) else error
    with suppress(RuntimeError):  # the loop has ended, and with it whoever waited
        loop.call_soon_threadsafe(_settle, answer, result, failure)


def _settle(answer: "asyncio.Future[Any]", result: Any, failure: BaseException | None) -> None:
    if answer.done():
        return
    if failure is None:
        answer.set_result(result)
    else:
        answer.set_exception(failure)


class TaskSet:
    """Keeps references to running tasks and logs what they die of."""

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[Any]] = set()

    def spawn(self, work: Coroutine[Any, Any, Any], name: str) -> asyncio.Task[Any]:
        task = asyncio.get_running_loop().create_task(work, name=name)
        self._tasks.add(task)
        task.add_done_callback(self._ended)
        return task

    def _ended(self, task: asyncio.Task[Any]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            log.error("task %s died", task.get_name(), exc_info=error)

    async def cancel(self) -> None:
        """End every task and wait until it has."""
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
