"""Running work: blocking calls off the event loop, and background tasks whose failure is never silent."""

import asyncio
import logging
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Protocol, TypeVar

T = TypeVar("T")
log = logging.getLogger(__name__)


class Executor(Protocol):
    """Where blocking calls go: threads in a broker, inline in the simulation."""

    async def run(self, call: Callable[..., T], *args: Any) -> T: ...

    def close(self) -> None:
        """Wait for what runs; take no more."""
        ...


class ThreadExecutor:
    """A named pool of threads; with one thread it also serializes its calls."""

    def __init__(self, name: str, threads: int) -> None:
        self._pool = ThreadPoolExecutor(max_workers=threads, thread_name_prefix=name)

    async def run(self, call: Callable[..., T], *args: Any) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._pool, call, *args)

    def close(self) -> None:
        self._pool.shutdown(wait=True)


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
