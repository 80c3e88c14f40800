"""The settings of one broker as a value: one typed attribute per setting, declared here and nowhere else.

An attribute that ends in `_given` is None unless its owner set it; the property of a like name says what holds.
"""

# ruff: noqa: RUF009 (`declare` makes a dataclass field with an immutable default)

import os
from dataclasses import dataclass, field, fields, replace
from enum import StrEnum
from pathlib import Path

from inkless.settings import kinds
from inkless.settings.listeners import Listener
from inkless.settings.setting import Setting, declare, declared
from inkless.settings.urls import resolve_url


class Flush(StrEnum):
    ADAPTIVE = "adaptive"
    INTERVAL = "interval"


@dataclass(frozen=True, slots=True)
class Described:
    """One setting with its value as text, for documentation and listings."""

    setting: Setting
    value: str
    explicit: bool


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Settings:
    node_id: int = declare(
        "node.id",
        kinds.whole(0),
        1,
        "The number of this broker; no two brokers of a cluster share one.",
        aliases=("broker.id",),
    )
    broker_rack: str | None = declare(
        "broker.rack", kinds.text(), None, "The availability zone of this broker.", default_text="none"
    )
    listeners: tuple[Listener, ...] = declare(
        "listeners",
        kinds.listeners(),
        (Listener("PLAINTEXT", "127.0.0.1", 9092),),
        "Where clients connect. Reachable from this machine only unless set. An empty host is 0.0.0.0, "
        "port 0 a free port.",
    )
    listener_security_protocol_map: tuple[tuple[str, str], ...] = declare(
        "listener.security.protocol.map",
        kinds.protocol_map(),
        (),
        "The protocol of each listener name. A name that is left out is its own protocol. "
        "Only PLAINTEXT is supported so far.",
        default_text="each name for itself",
    )
    advertised_listeners_given: tuple[Listener, ...] | None = declare(
        "advertised.listeners",
        kinds.advertised_listeners(),
        None,
        "The addresses that clients are told to use. A listener that is left out is advertised as it is, "
        "with the host's name in place of 0.0.0.0.",
        default_text="the listeners",
    )
    controller_listener_names: tuple[str, ...] = declare(
        "controller.listener.names",
        kinds.names(),
        (),
        "Listeners to leave out, so that a file written for Kafka works: there is no controller here.",
    )
    auto_create_topics_enable: bool = declare(
        "auto.create.topics.enable",
        kinds.boolean(),
        True,
        "Create a topic when a client first asks for it and allows that.",
    )
    num_partitions: int = declare(
        "num.partitions", kinds.whole(1), 1, "Partitions of a topic that is created without a number."
    )
    message_max_bytes: int = declare(
        "message.max.bytes",
        kinds.whole(0),
        1_048_588,
        "The largest record batch, as the client compressed it.",
    )
    socket_request_max_bytes: int = declare(
        "socket.request.max.bytes",
        kinds.whole(1024),
        104_857_600,
        "The largest request; a connection that announces a larger one is closed.",
    )
    max_connections: int = declare(
        "max.connections",
        kinds.whole(1),
        20_000,
        "Connections open at once; further ones are closed. Kafka's default is no bound (2147483647).",
    )
    connections_max_idle_ms: int = declare(
        "connections.max.idle.ms", kinds.long(1), 600_000, "A connection that is idle for so long is closed."
    )
    request_bytes_in_flight: int = declare(
        "inkless.request.bytes.in.flight",
        kinds.long(1024),
        67_108_864,
        "Bytes of requests in flight on all connections; above it sockets are not read. "
        "A larger request (up to `socket.request.max.bytes`) is let in alone.",
        aliases=("queued.max.request.bytes",),
    )
    connection_bytes_in_flight: int = declare(
        "inkless.connection.bytes.in.flight",
        kinds.long(1024),
        16_777_216,
        "Bytes of requests in flight on one connection; above it the socket is not read. "
        "A larger request is let in alone.",
    )
    producer_id_expiration_ms: int = declare(
        "producer.id.expiration.ms",
        kinds.whole(1),
        86_400_000,
        "How long a partition remembers an idempotent producer that does not write.",
    )
    fetch_max_bytes: int = declare(
        "fetch.max.bytes", kinds.whole(1024), 57_671_680, "The most bytes that one fetch is answered with."
    )
    max_incremental_fetch_session_cache_slots: int = declare(
        "max.incremental.fetch.session.cache.slots",
        kinds.whole(0),
        1000,
        "Incremental fetch sessions kept at once.",
    )

    control_plane_given: str | None = declare(
        "inkless.control.plane",
        kinds.url(("sqlite",)),
        None,
        "Where topics, offsets and coordinates are kept. A relative path (`sqlite:name.db`) lies in the data folder.",
        default_text="`sqlite:///<data dir>/control-plane.db`",
    )
    storage_given: str | None = declare(
        "inkless.storage",
        kinds.url(("file",), "memory"),
        None,
        "Where objects are kept. A relative path (`file:name`) lies in the data folder. "
        "`memory:` forgets everything when the broker ends.",
        default_text="`file:///<data dir>/objects`",
    )
    data_dir: Path = declare(
        "inkless.data.dir",
        kinds.folder(),
        Path("inkless-data"),
        "The folder of the control plane and the objects where their own settings don't say otherwise.",
        default_text="`./inkless-data`",
    )
    object_key_prefix: str = declare(
        "inkless.object.key.prefix", kinds.key_prefix(), "", "What the key of every object starts with."
    )
    produce_buffer_max_bytes: int = declare(
        "inkless.produce.buffer.max.bytes",
        kinds.whole(1024),
        8_388_608,
        "The size at which gathered batches are flushed as one object.",
    )
    produce_commit_interval_ms: int = declare(
        "inkless.produce.commit.interval.ms",
        kinds.whole(1, 60_000),
        250,
        "The longest time that batches are gathered before a flush.",
    )
    produce_flush_given: Flush | None = declare(
        "inkless.produce.flush",
        kinds.choice(Flush, *Flush),
        None,
        "`adaptive` flushes at once while few uploads are under way; `interval` flushes by size and interval "
        "only, which makes fewer PUTs.",
        default_text="`interval` where `inkless.produce.commit.interval.ms` is set, else `adaptive`",
    )
    produce_uploads_in_flight_given: int | None = declare(
        "inkless.produce.uploads.in.flight",
        kinds.whole(1, 64),
        None,
        "While fewer uploads than this are under way an adaptive flush goes at once. A threshold, not a cap.",
        default_text="1 for `file:` and `memory:`, 3 for remote stores",
    )
    produce_max_upload_attempts: int = declare(
        "inkless.produce.max.upload.attempts",
        kinds.whole(1, 100),
        3,
        "How often an object is uploaded before its producers get an error.",
    )
    consume_cache_max_bytes: int = declare(
        "inkless.consume.cache.max.bytes", kinds.long(0), 67_108_864, "Memory for cached blocks of objects."
    )
    consume_cache_block_bytes: int = declare(
        "inkless.consume.cache.block.bytes",
        kinds.whole(65_536, 1_073_741_824),
        16_777_216,
        "The size of a cached block; a read near the tail loads whole blocks.",
    )
    control_plane_poll_interval_ms: int = declare(
        "inkless.control.plane.poll.interval.ms",
        kinds.whole(1, 60_000),
        100,
        "How often the control plane is asked for what other processes committed.",
    )
    commit_result_retention_ms: int = declare(
        "inkless.commit.result.retention.ms",
        kinds.long(900_000),
        900_000,
        "How long the result of a commit is kept for a writer that lost the answer.",
    )
    drain_timeout_ms: int = declare(
        "inkless.drain.timeout.ms",
        kinds.whole(0, 600_000),
        3500,
        "How long a broker that was told to stop goes on answering what it has accepted.",
    )
    log_level: str = declare(
        "inkless.log.level",
        kinds.choice(str, "DEBUG", "INFO", "WARNING", "ERROR"),
        "INFO",
        "The least important messages that are logged.",
    )

    explicit: frozenset[str] = field(default=frozenset())
    warnings: tuple[str, ...] = field(default=())

    @property
    def control_plane_url(self) -> str:
        return resolve_url(self.control_plane_given or "sqlite:control-plane.db", self.data_dir)

    @property
    def storage_url(self) -> str:
        return resolve_url(self.storage_given or "file:objects", self.data_dir)

    @property
    def produce_flush(self) -> Flush:
        if self.produce_flush_given is not None:
            return self.produce_flush_given
        # Who sets the interval pays per PUT, so the interval is kept.
        return Flush.INTERVAL if "inkless.produce.commit.interval.ms" in self.explicit else Flush.ADAPTIVE

    @property
    def uploads_in_flight(self) -> int:
        if self.produce_uploads_in_flight_given is not None:
            return self.produce_uploads_in_flight_given
        return 1 if self.storage_url.startswith(("file:", "memory:")) else 3

    def advertised_listener(self, bound: Listener, hostname: str | None = None) -> Listener:
        """What clients of a listener, bound to its real port, are told to use."""
        named = {listener.name: listener for listener in self.advertised_listeners_given or ()}
        advertised = named.get(bound.name, bound)
        if not advertised.host or advertised.binds_everywhere:
            advertised = replace(advertised, host=hostname or os.uname().nodename)
        return replace(advertised, port=advertised.port or bound.port)

    def describe(self) -> list[Described]:
        """Every setting in the order of declaration; secrets are hidden."""
        return [
            Described(setting, setting.show(getattr(self, attribute)), setting.name in self.explicit)
            for attribute, setting in DECLARED.items()
        ]

    def __repr__(self) -> str:
        given = (f"{row.setting.name}={row.value}" for row in self.describe() if row.explicit)
        return f"Settings({', '.join(given)})"


DECLARED = {attribute.name: setting for attribute in fields(Settings) if (setting := declared(attribute)) is not None}
