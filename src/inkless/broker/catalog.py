"""Topics as this broker knows them. What it does not know it asks the plane, which alone can say no (rule 7)."""

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import dataclass

from inkless.broker.names import collision_key
from inkless.control_plane.port import ControlPlane
from inkless.control_plane.values import Topic
from inkless.core.ids import TopicId

log = logging.getLogger(__name__)

MAX_MESSAGE_BYTES = "max.message.bytes"


@dataclass(frozen=True, slots=True)
class CatalogTopic:
    """A topic with what the produce path needs of its configs, parsed once."""

    topic: Topic
    max_message_bytes: int


class Catalog:
    def __init__(self, plane: ControlPlane, message_max_bytes: int) -> None:
        self._plane = plane
        self._message_max_bytes = message_max_bytes
        self._by_name: dict[str, CatalogTopic] = {}
        self._by_id: dict[TopicId, CatalogTopic] = {}
        self._by_collision_key: dict[str, str] = {}
        self._version = -1
        self._loading = asyncio.Lock()

    async def load(self) -> list[Topic]:
        """Read every topic; those that are gone since the last time."""
        async with self._loading:
            before = list(self._by_id.values())
            snapshot = await self._plane.topics()
            self._version = snapshot.version
            held = [self._entry(topic) for topic in snapshot.topics]
            self._by_name = {entry.topic.name: entry for entry in held}
            self._by_id = {entry.topic.id: entry for entry in held}
            self._by_collision_key = {collision_key(name): name for name in self._by_name}
            return [entry.topic for entry in before if entry.topic.id not in self._by_id]

    def is_current(self, version: int) -> bool:
        return version == self._version

    def by_name(self, name: str) -> CatalogTopic | None:
        return self._by_name.get(name)

    def by_id(self, topic_id: bytes) -> CatalogTopic | None:
        return self._by_id.get(TopicId(topic_id))

    def all(self) -> list[Topic]:
        return [entry.topic for entry in self._by_name.values()]

    def colliding(self, key: str) -> str | None:
        """A topic whose name differs from another at most in '.' and '_'."""
        return self._by_collision_key.get(key)

    async def find(self, names: Sequence[str] = (), ids: Sequence[bytes] = ()) -> list[CatalogTopic | None]:
        """By name, then by id; what memory lacks is asked of the plane in one call."""
        found = [self.by_name(name) for name in names] + [self.by_id(topic_id) for topic_id in ids]
        return found if all(found) else await self.ask(names, ids)

    async def ask(self, names: Sequence[str] = (), ids: Sequence[bytes] = ()) -> list[CatalogTopic | None]:
        """The same from the plane, whatever memory thinks."""
        answers = await self._plane.find_topics(names, [TopicId(topic_id) for topic_id in ids])
        for name, topic in zip(names, answers, strict=False):
            if topic is None:
                self._drop_name(name)
        return [None if topic is None else self.put(topic) for topic in answers]

    def put(self, topic: Topic) -> CatalogTopic:
        """Take in a topic that the plane has just told of."""
        entry = self._entry(topic)
        self._by_name[topic.name] = self._by_id[topic.id] = entry
        self._by_collision_key.setdefault(collision_key(topic.name), topic.name)
        return entry

    def forget(self, topic_id: TopicId) -> None:
        """The plane does not know this id any more."""
        if (entry := self._by_id.get(topic_id)) is not None:
            self.drop(entry.topic)

    def drop(self, topic: Topic) -> None:
        self._by_id.pop(topic.id, None)
        held = self._by_name.get(topic.name)
        if held is not None and held.topic.id == topic.id:
            del self._by_name[topic.name]
            self._by_collision_key.pop(collision_key(topic.name), None)

    def _drop_name(self, name: str) -> None:
        if (entry := self._by_name.get(name)) is not None:
            self.drop(entry.topic)

    def _entry(self, topic: Topic) -> CatalogTopic:
        limit = topic.configs.get(MAX_MESSAGE_BYTES)
        return CatalogTopic(topic, self._message_max_bytes if limit is None else int(limit))
