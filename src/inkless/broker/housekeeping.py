"""The broker's quiet work: the catalog follows the feed, and the plane forgets what it may."""

import logging

from inkless.broker.catalog import Catalog
from inkless.control_plane.port import ControlPlane
from inkless.control_plane.values import TopicPartition
from inkless.core.clock import Clock
from inkless.core.errors import ControlPlaneError
from inkless.data_plane.reader import Reader

log = logging.getLogger(__name__)

INTERVAL_S = 1.0


class Housekeeping:
    def __init__(self, plane: ControlPlane, catalog: Catalog, reader: Reader, clock: Clock) -> None:
        self._plane = plane
        self._catalog = catalog
        self._reader = reader
        self._clock = clock
        self.last_success_s = clock.monotonic()

    async def topics_at(self, version: int) -> None:
        """The feed says which version of the topics holds; fetches of topics that are gone are woken."""
        if self._catalog.is_current(version):
            return
        for topic in await self._catalog.load():
            self._reader.forget(TopicPartition(topic.id, index) for index in range(topic.partitions))

    async def run(self) -> None:
        while True:
            await self._clock.sleep(INTERVAL_S)
            try:
                await self._plane.tidy()
                self.last_success_s = self._clock.monotonic()
            except ControlPlaneError as error:
                log.warning("tidying the plane failed, trying again: %s", error)
