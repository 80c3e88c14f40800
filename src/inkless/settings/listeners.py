"""Listener addresses as Kafka writes them: `NAME://host:port`."""

import re
from dataclasses import dataclass

PROTOCOLS = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")

_SHAPE = re.compile(r"(?P<name>[A-Za-z0-9_.-]+)://(?P<host>\[[0-9A-Fa-f:.]+\]|[^\s\[\]/:@]*):(?P<port>[0-9]{1,5})")


@dataclass(frozen=True, slots=True)
class Listener:
    name: str
    host: str
    port: int

    @property
    def binds_everywhere(self) -> bool:
        return self.host in ("0.0.0.0", "::")

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.name}://{host}:{self.port}"


def parse_listeners(text: str, empty_host: str) -> tuple[Listener, ...]:
    parsed = tuple(_parse_listener(part.strip(), empty_host) for part in text.split(",") if part.strip())
    if not parsed:
        raise ValueError("at least one listener, such as PLAINTEXT://127.0.0.1:9092")
    names = [listener.name for listener in parsed]
    addresses = [(listener.host, listener.port) for listener in parsed if listener.port]
    for listener in parsed:
        if names.count(listener.name) > 1:
            raise ValueError(f"each listener under its own name, but {listener.name} is there twice")
        if addresses.count((listener.host, listener.port)) > 1:
            raise ValueError(f"each listener at its own address, but port {listener.port} is there twice")
    return parsed


def _parse_listener(text: str, empty_host: str) -> Listener:
    match = _SHAPE.fullmatch(text)
    if match is None:
        raise ValueError(f"NAME://host:port, such as PLAINTEXT://127.0.0.1:9092, but {text!r} is not of that form")
    port = int(match["port"])
    if port > 65535:
        raise ValueError(f"a port from 0 to 65535, but {port} is too large")
    return Listener(match["name"].upper(), match["host"].strip("[]") or empty_host, port)


def parse_protocol_map(text: str) -> tuple[tuple[str, str], ...]:
    protocols: dict[str, str] = {}
    for part in filter(None, (part.strip() for part in text.split(","))):
        name, _, protocol = (side.strip().upper() for side in part.partition(":"))
        if not name or protocol not in PROTOCOLS:
            raise ValueError(f"NAME:PROTOCOL with one of {', '.join(PROTOCOLS)}, but {part!r} is not of that form")
        if protocols.setdefault(name, protocol) != protocol:
            raise ValueError(f"one protocol per listener, but {name} has two")
    return tuple(protocols.items())
