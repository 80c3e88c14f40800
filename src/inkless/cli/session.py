"""A command's time with a cluster."""

import asyncio
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from typing import Any

from inkless.client.cluster import Cluster, parse_bootstrap
from inkless.client.options import AdminOptions, ConsumerOptions, ProducerOptions, declared_in
from inkless.core.clock import SystemClock


@asynccontextmanager
async def connected(
    bootstrap: str, options: AdminOptions | ProducerOptions | ConsumerOptions
) -> AsyncIterator[Cluster]:
    """A cluster that has answered; where nobody listens a person wants to hear that now, not after retries."""
    addresses = parse_bootstrap(bootstrap)
    cluster = Cluster(addresses, options.client_id, SystemClock(), options.request_timeout_ms / 1000)
    try:
        await cluster.any_connection()
        yield cluster
    finally:
        await cluster.close()


def run(work: Coroutine[Any, Any, int]) -> int:
    return asyncio.run(work)


def forgive_interrupt() -> None:
    """Ctrl-C has cancelled this task, and that was all it was meant to do: it may await again."""
    task = asyncio.current_task()
    assert task is not None
    task.uncancel()


def describe_properties(kind: type[Any]) -> str:
    """The client's settings for a command's help."""
    lines = ["\b", "Client settings (--property):"]
    for setting in declared_in(kind).values():
        default = setting.default_text or setting.show(setting.default) or "none"
        lines += (f"  {setting.name}  (default: {default})", f"      {setting.doc}")
    return "\n".join(lines).replace("`", "")
