"""Follows the plane's feed: what other brokers commit reaches the fetches that wait here."""

import logging
from collections.abc import Awaitable, Callable

from inkless.control_plane.port import ControlPlane
from inkless.control_plane.values import LocateQuery, PartitionState, TopicPartition
from inkless.core.clock import Clock
from inkless.core.errors import ControlPlaneError
from inkless.data_plane.signals import Signals
from inkless.data_plane.tails import Tails

log = logging.getLogger(__name__)

FOLLOW_MS = 300_000
WAIT_S = 1.0
RETRY_S = 1.0
PULL_BYTES = 8 * 1024 * 1024
NO_CURSOR = -1

OnTopics = Callable[[int], Awaitable[None]]


class Feed:
    """A loop over `changes`. A partition that is fetched for the first time makes it look at all states once."""

    def __init__(
        self, plane: ControlPlane, tails: Tails, signals: Signals, clock: Clock, on_topics: OnTopics
    ) -> None:
        self._plane = plane
        self._tails = tails
        self._signals = signals
        self._clock = clock
        self._on_topics = on_topics
        self._cursor = NO_CURSOR
        self._known: set[TopicPartition] = set()
        self.last_success_s = clock.monotonic()

    async def run(self) -> None:
        while True:
            try:
                await self.step()
                self.last_success_s = self._clock.monotonic()
            except ControlPlaneError as error:
                log.warning("the feed failed, trying again: %s", error)
                await self._clock.sleep(RETRY_S)

    async def step(self) -> None:
        """One look at the feed, and the pulls that follow from it."""
        followed = self._tails.followed(self._clock.now_ms(), FOLLOW_MS)
        if not self._known.issuperset(followed):
            self._cursor = NO_CURSOR
        self._known = set(followed)
        cursor, self._cursor = self._cursor, NO_CURSOR  # what fails half-way is looked at again as a whole
        answer = await self._plane.changes(cursor, followed, WAIT_S)
        await self._on_topics(answer.topics_version)
        behind = [name for name, state in answer.partitions.items() if self._note(name, state)]
        if behind:
            await self._pull(behind)
        self._cursor = answer.cursor

    def _note(self, name: TopicPartition, state: PartitionState | None) -> bool:
        if state is None:
            self._tails.forget(name)
            self._signals.changed(name)
            return False
        return self._tails.note(name, state)

    async def _pull(self, names: list[TopicPartition]) -> None:
        """Fetch the coordinates that a tail lacks, and wake its readers."""
        queries = [LocateQuery(*name, self._tails.end_of(name), PULL_BYTES) for name in names]
        for name, found in zip(names, await self._plane.locate(queries), strict=True):
            if found.error is not None:
                self._tails.forget(name)
                self._signals.changed(name)
                continue
            self._tails.learn(name, found, self._clock.now_ms())
            self._signals.arrived(name, sum([coordinate.size for coordinate in found.coordinates]))
