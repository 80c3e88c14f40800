"""Every plane that there is, for the contract suite."""

import asyncio
import tempfile
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from plane_fixtures import Case, HandClock

from inkless.control_plane.sqlite.plane import SqlitePlane
from inkless.core.tasks import ThreadExecutor

FAST_FOLDER = Path("/dev/shm")


@pytest.fixture(params=["sqlite"])
def on_plane(request: pytest.FixtureRequest) -> Iterator[Callable[[Callable[[Case], Awaitable[Any]]], Any]]:
    """Runs a test's coroutine with a fresh plane; `case.again()` opens the same one as another process would."""
    assert request.param == "sqlite"
    with tempfile.TemporaryDirectory(dir=FAST_FOLDER if FAST_FOLDER.is_dir() else None) as folder:
        path = Path(folder) / "plane.db"

        def run(test: Callable[[Case], Awaitable[Any]]) -> Any:
            async def main() -> Any:
                clock = HandClock()
                opened: list[SqlitePlane] = []

                async def again() -> SqlitePlane:
                    plane = await SqlitePlane.open(
                        path,
                        clock,
                        ThreadExecutor("w", 1),
                        ThreadExecutor("r", 1),
                        poll_interval_s=0.01,
                        producer_expiration_ms=60_000,
                        result_retention_ms=30_000,
                    )
                    opened.append(plane)
                    return plane

                try:
                    return await test(await Case.start(await again(), clock, again))
                finally:
                    for plane in opened:
                        await plane.close()

            return asyncio.run(main())

        yield run
