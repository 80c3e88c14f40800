"""A cluster as a client sees it: connections to its brokers, and who leads what."""

import asyncio
import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from inkless.client.connection import Connection
from inkless.client.errors import BrokerError, ClientError, check_code
from inkless.client.retry import Attempts
from inkless.core.clock import Clock
from inkless.core.errors import SettingError
from inkless.wire.error_codes import ErrorCode
from inkless.wire.metadata import MetadataRequest, MetadataRequestTopic, MetadataResponse, MetadataResponseTopic

DEFAULT_PORT = 9092

_CONNECT_TIMEOUT_S = 10.0
# How long an unknown topic is asked for again: other brokers may learn of a new one a moment later.
_UNKNOWN_TOPIC_S = 1.0
_CREATED_TOPIC_S = 5.0
_ADDRESS = re.compile(r"(?P<host>\[[0-9A-Fa-f:.]+\]|[^\s\[\]/:@]+)(?::(?P<port>[0-9]{1,5}))?")


class Address(NamedTuple):
    host: str
    port: int


@dataclass(frozen=True, slots=True)
class Topic:
    """A topic with the node id of each partition's leader; -1 where there is none."""

    name: str
    topic_id: bytes
    leaders: tuple[int, ...]

    def check_partition(self, partition: int) -> None:
        if not 0 <= partition < len(self.leaders):
            there = f"0 to {len(self.leaders) - 1}" if len(self.leaders) > 1 else "0"
            raise ClientError(f"topic {self.name} has no partition {partition}, only {there}")


def parse_bootstrap(text: str) -> tuple[Address, ...]:
    """`host:port,…` as clients write it; a protocol in front (`PLAINTEXT://`) is left out."""
    addresses = []
    for part in filter(None, (part.strip() for part in text.split(","))):
        match = _ADDRESS.fullmatch(part.removeprefix("PLAINTEXT://"))
        port = int(match["port"] or DEFAULT_PORT) if match is not None else 0
        if match is None or not 0 < port <= 65535:
            raise SettingError(f"bootstrap server {part!r}: expected host:port, such as 127.0.0.1:9092")
        addresses.append(Address(match["host"].strip("[]"), port))
    if not addresses:
        raise SettingError("no bootstrap server: expected host:port, such as 127.0.0.1:9092")
    return tuple(addresses)


class Cluster:
    """`timeout_s` bounds each request, and each attempt to find something out over several of them."""

    def __init__(self, bootstrap: Sequence[Address], client_id: str, clock: Clock, timeout_s: float) -> None:
        self.clock = clock
        self.timeout_s = timeout_s
        self._bootstrap = tuple(bootstrap)
        self._client_id = client_id
        self._brokers: dict[int, Address] = {}
        self._controller = -1
        self._topics: dict[str, Topic] = {}
        self._connections: dict[Address, Connection] = {}
        self._opening: defaultdict[Address, asyncio.Lock] = defaultdict(asyncio.Lock)

    async def close(self) -> None:
        connections = list(self._connections.values())
        self._connections.clear()
        for connection in connections:
            await connection.close()

    def attempts(self) -> Attempts:
        return Attempts(self.clock, self.timeout_s)

    async def any_connection(self) -> Connection:
        """To a broker that answers; the last one's failure where none does."""
        for connection in self._connections.values():
            if not connection.is_broken:
                return connection
        failure = ClientError("no broker is known")
        for address in dict.fromkeys((*self._brokers.values(), *self._bootstrap)):
            try:
                return await self._connect(address)
            except ClientError as error:
                failure = error
        raise failure

    async def controller(self) -> Connection:
        """Where changes go. Kafka's brokers forward them, as long as they have no ZooKeeper."""
        await self.attempts().run(lambda: self.metadata([]))
        address = self._brokers.get(self._controller)
        return await (self.any_connection() if address is None else self._connect(address))

    async def metadata(self, names: Sequence[str] | None, *, create: bool = False) -> MetadataResponse:
        """One Metadata request for these topics, or for all; it also teaches who the brokers are."""
        topics = None if names is None else [MetadataRequestTopic(name=name) for name in names]
        connection = await self.any_connection()
        response: MetadataResponse = await connection.request(
            MetadataRequest(topics=topics, allow_auto_topic_creation=create)
        )
        check_code(response.error_code, "Metadata")
        if response.brokers:
            self._brokers = {broker.node_id: Address(broker.host, broker.port) for broker in response.brokers}
        self._controller = response.controller_id
        return response

    async def topic(self, name: str, *, create: bool = False) -> Topic:
        """The topic as last heard of; `create` lets a broker that is set so make it."""
        if (known := self._topics.get(name)) is not None:
            return known
        attempts = self.attempts()
        unknown = Attempts(self.clock, _CREATED_TOPIC_S if create else _UNKNOWN_TOPIC_S)
        while True:
            try:
                return await self._ask_topic(name, create)
            except ClientError as error:
                await (unknown if _is_unknown(error) else attempts).again(error)

    def forget(self, name: str) -> None:
        """What was heard of the topic turned out to be stale."""
        self._topics.pop(name, None)

    async def leader(self, topic: Topic, partition: int) -> Connection:
        topic.check_partition(partition)
        address = self._brokers.get(topic.leaders[partition])
        if address is None:
            raise BrokerError(ErrorCode.LEADER_NOT_AVAILABLE, f"{topic.name}-{partition} has no leader")
        return await self._connect(address)

    async def _ask_topic(self, name: str, create: bool) -> Topic:
        response = await self.metadata([name], create=create)
        found = next((topic for topic in response.topics if topic.name == name), None)
        if found is None:
            raise unknown_topic(name)
        check_topic(found.error_code, name)
        if not found.partitions:
            raise BrokerError(ErrorCode.LEADER_NOT_AVAILABLE, f"topic {name} has no partitions yet")
        topic = self._topics[name] = Topic(name, found.topic_id, leaders_of(found))
        return topic

    async def _connect(self, address: Address) -> Connection:
        async with self._opening[address]:
            connection = self._connections.get(address)
            if connection is not None and not connection.is_broken:
                return connection
            if connection is not None:
                del self._connections[address]
                await connection.close()
            opened = await Connection.open(
                address.host,
                address.port,
                self._client_id,
                min(self.timeout_s, _CONNECT_TIMEOUT_S),
                request_timeout_s=self.timeout_s,
            )
            self._connections[address] = opened
            return opened


def check_topic(code: int, name: str, message: str | None = None) -> None:
    """Raise what an error code says of a topic; few brokers' messages name it."""
    if code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
        raise unknown_topic(name)
    check_code(code, f"topic {name}: {message}" if message else f"topic {name}")


def unknown_topic(name: str) -> BrokerError:
    return BrokerError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"there is no topic {name}")


def leaders_of(topic: MetadataResponseTopic) -> tuple[int, ...]:
    leaders = {partition.partition_index: partition.leader_id for partition in topic.partitions}
    return tuple(leaders.get(index, -1) for index in range(max(leaders, default=-1) + 1))


def _is_unknown(error: ClientError) -> bool:
    return isinstance(error, BrokerError) and error.code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
