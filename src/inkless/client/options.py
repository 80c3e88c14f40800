"""The settings of clients, under Kafka's names where Kafka has one."""

import difflib
from collections.abc import Iterable
from dataclasses import dataclass, fields
from typing import Any, TypeVar

from inkless.core.errors import SettingError
from inkless.settings import kinds
from inkless.settings.setting import Setting, declare, declared

ACKS_ALL = -1

_MEBIBYTE = 1024 * 1024
_ACKS = {"-1": ACKS_ALL, "0": 0, "1": 1, "all": ACKS_ALL}
_ACKS_TEXT = {value: text for text, value in _ACKS.items()}


def _client_id() -> str:
    return declare("client.id", kinds.text(), "inkless", "The name of this client in the broker's eyes.")


def _request_timeout_ms() -> int:
    return declare(
        "request.timeout.ms",
        kinds.whole(1),
        30_000,
        "How long the answer to a request may take, and how long its failures are retried.",
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ProducerOptions:
    client_id: str = _client_id()
    acks: int = declare(
        "acks",
        kinds.Kind("string", "all, 1 or 0", lambda text: _parse_acks(text), show=lambda value: _ACKS_TEXT[value]),
        ACKS_ALL,
        "Whose word a write needs: `all`, or `0` for nobody's (the answer is not waited for).",
    )
    enable_idempotence_given: bool | None = declare(
        "enable.idempotence",
        kinds.boolean(),
        None,
        "Write each record once, even where answers are lost.",
        default_text="`true` with acks=all, else `false`",
    )
    compression_type: str = declare(
        "compression.type",
        kinds.choice(str, "none", "gzip", "snappy", "lz4", "zstd"),
        "none",
        "How batches are compressed.",
    )
    linger_ms: int = declare("linger.ms", kinds.whole(0), 5, "How long a batch that isn't full waits for more.")
    batch_size: int = declare("batch.size", kinds.whole(1), 262_144, "The bytes of records at which a batch is full.")
    buffer_memory: int = declare(
        "buffer.memory", kinds.long(1), 32 * _MEBIBYTE, "Bytes of records that wait for their answers at most."
    )
    request_timeout_ms: int = _request_timeout_ms()
    delivery_timeout_ms: int = declare(
        "delivery.timeout.ms", kinds.whole(1), 120_000, "How long a batch is retried before its records fail."
    )

    @property
    def is_idempotent(self) -> bool:
        if self.enable_idempotence_given is None:
            return self.acks == ACKS_ALL
        return self.enable_idempotence_given


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumerOptions:
    client_id: str = _client_id()
    client_rack: str = declare("client.rack", kinds.text(), "", "The availability zone of this client.")
    auto_offset_reset_given: str | None = declare(
        "auto.offset.reset",
        kinds.choice(str, "earliest", "latest", "none"),
        None,
        "Where to go on when the wanted offset is not there: `none` fails.",
        default_text="`earliest` when reading from the beginning, else `none`",
    )
    fetch_min_bytes: int = declare("fetch.min.bytes", kinds.whole(0), 1, "A fetch waits until so much is there.")
    fetch_max_wait_ms: int = declare("fetch.max.wait.ms", kinds.whole(0), 500, "A fetch waits so long at most.")
    fetch_max_bytes: int = declare(
        "fetch.max.bytes", kinds.whole(1), 50 * _MEBIBYTE, "The most that one fetch brings."
    )
    max_partition_fetch_bytes: int = declare(
        "max.partition.fetch.bytes", kinds.whole(1), 4 * _MEBIBYTE, "The most of one partition in one fetch."
    )
    request_timeout_ms: int = _request_timeout_ms()


@dataclass(frozen=True, slots=True, kw_only=True)
class AdminOptions:
    client_id: str = _client_id()
    request_timeout_ms: int = _request_timeout_ms()


Options = TypeVar("Options", ProducerOptions, ConsumerOptions, AdminOptions)


def parse_options(kind: type[Options], properties: Iterable[str]) -> Options:
    """From `KEY=VALUE` texts, of which the last counts; raises SettingError."""
    attributes = {setting.name: (attribute, setting) for attribute, setting in declared_in(kind).items()}
    values: dict[str, Any] = {}
    for text in properties:
        name, equals, value = (part.strip() for part in text.partition("="))
        if not equals or not name:
            raise SettingError(f"expected KEY=VALUE, such as client.id=me; got {text!r}")
        if name not in attributes:
            near = difflib.get_close_matches(name.lower(), attributes, n=1)
            hint = f"; did you mean {near[0]}?" if near else f"; known are {', '.join(attributes)}"
            raise SettingError(f"unknown property {name}{hint}")
        attribute, setting = attributes[name]
        values[attribute] = _parse(setting, value)
    options = kind(**values)
    if isinstance(options, ProducerOptions) and options.is_idempotent and options.acks != ACKS_ALL:
        raise SettingError(f"enable.idempotence=true needs acks=all, but acks is {options.acks}")
    return options


def declared_in(kind: type[Any]) -> dict[str, Setting]:
    return {each.name: setting for each in fields(kind) if (setting := declared(each)) is not None}


def _parse(setting: Setting, text: str) -> Any:
    try:
        return setting.kind.parse(text)
    except ValueError as error:
        raise SettingError(f"{setting.name}={setting.redact(text)}: expected {error}") from None


def _parse_acks(text: str) -> int:
    if text not in _ACKS:
        raise ValueError("all, 1 or 0")
    return _ACKS[text]
