"""The topic configs that are known: which values they take, and which of them can't be had yet."""

from collections.abc import Callable, Mapping
from difflib import get_close_matches


def _whole(low: int, high: int = 2**63 - 1) -> Callable[[str], str | None]:
    def problem(text: str) -> str | None:
        try:
            number = int(text)
        except ValueError:
            return f"a whole number is expected, not '{text}'"
        return None if low <= number <= high else f"{number} is not between {low} and {high}"

    return problem


def _one_of(*choices: str, not_yet: tuple[str, ...] = ()) -> Callable[[str], str | None]:
    def problem(text: str) -> str | None:
        if text in not_yet:
            return f"'{text}' is not supported yet"
        return None if text in choices else f"one of {', '.join(choices)} is expected, not '{text}'"

    return problem


def _number(low: float, high: float) -> Callable[[str], str | None]:
    def problem(text: str) -> str | None:
        try:
            return None if low <= float(text) <= high else f"{text} is not between {low} and {high}"
        except ValueError:
            return f"a number is expected, not '{text}'"

    return problem


def _any(text: str) -> str | None:
    return None


_BOOLEAN = _one_of("true", "false")
_INT = 2**31 - 1

KNOWN: Mapping[str, Callable[[str], str | None]] = {
    "cleanup.policy": _one_of("delete", not_yet=("compact", "compact,delete", "delete,compact")),
    "compression.type": _one_of("producer", not_yet=("uncompressed", "gzip", "snappy", "lz4", "zstd")),
    "compression.gzip.level": _whole(-1, 9),
    "compression.lz4.level": _whole(1, 17),
    "compression.zstd.level": _whole(-131072, 22),
    "delete.retention.ms": _whole(0),
    "diskless.enable": _one_of("true", not_yet=("false",)),
    "file.delete.delay.ms": _whole(0),
    "flush.messages": _whole(1),
    "flush.ms": _whole(0),
    "follower.replication.throttled.replicas": _any,
    "index.interval.bytes": _whole(0, _INT),
    "leader.replication.throttled.replicas": _any,
    "local.retention.bytes": _whole(-2),
    "local.retention.ms": _whole(-2),
    "max.compaction.lag.ms": _whole(1),
    "max.message.bytes": _whole(0, _INT),
    "message.timestamp.after.max.ms": _whole(2**63 - 1),
    "message.timestamp.before.max.ms": _whole(2**63 - 1),
    "message.timestamp.type": _one_of("CreateTime", not_yet=("LogAppendTime",)),
    "min.cleanable.dirty.ratio": _number(0.0, 1.0),
    "min.compaction.lag.ms": _whole(0),
    "min.insync.replicas": _whole(1, _INT),
    "preallocate": _BOOLEAN,
    "remote.storage.enable": _BOOLEAN,
    "retention.bytes": _whole(-1),
    "retention.ms": _whole(-1),
    "segment.bytes": _whole(1024 * 1024, _INT),
    "segment.index.bytes": _whole(4, _INT),
    "segment.jitter.ms": _whole(0),
    "segment.ms": _whole(1),
    "unclean.leader.election.enable": _BOOLEAN,
}


def problem_with(configs: Mapping[str, str | None]) -> str | None:
    """What is wrong with a topic's configs, or None."""
    for name, value in configs.items():
        check = KNOWN.get(name)
        if check is None:
            near = get_close_matches(name, KNOWN, 1)
            return f"Unknown topic config name: {name}" + (f" (did you mean {near[0]}?)" if near else "")
        if value is None:
            return f"Null value not supported for topic config: {name}"
        problem = check(value)
        if problem is not None:
            return f"Invalid value for configuration {name}: {problem}"
    return None
