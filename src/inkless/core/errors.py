"""The kinds of things that go wrong in the world; `broker/errors.py` alone maps them to Kafka's codes."""

from enum import StrEnum


class ErrorKind(StrEnum):
    """What went wrong with one batch, topic or partition: a plain value that fits into any answer."""

    UNKNOWN_TOPIC_OR_PARTITION = "unknown topic or partition"
    UNKNOWN_TOPIC_ID = "unknown topic id"
    TOPIC_EXISTS = "topic exists"
    INVALID_TOPIC = "invalid topic name"
    INVALID_PARTITIONS = "invalid partition count"
    INVALID_REPLICATION_FACTOR = "invalid replication factor"
    INVALID_ASSIGNMENT = "invalid replica assignment"
    INVALID_CONFIG = "invalid config"
    INVALID_REQUEST = "invalid request"
    INVALID_RECORD = "invalid record"
    UNSUPPORTED_COMPRESSION = "unsupported compression"
    INVALID_TIMESTAMP = "invalid timestamp"
    CORRUPT_BATCH = "corrupt batch"
    BATCH_TOO_LARGE = "batch too large"
    OFFSET_OUT_OF_RANGE = "offset out of range"
    OUT_OF_ORDER_SEQUENCE = "out of order sequence"
    INVALID_PRODUCER_EPOCH = "invalid producer epoch"
    UNKNOWN_LEADER_EPOCH = "unknown leader epoch"
    TRANSACTIONS_REFUSED = "transactions refused"
    STORAGE_FAILED = "storage failed"
    OUTCOME_UNKNOWN = "outcome unknown"
    FENCED = "broker fenced"
    SHUTTING_DOWN = "shutting down"
    UNEXPECTED = "unexpected"


class InklessError(Exception):
    """Base of every error that this system raises on purpose."""


class SettingError(InklessError):
    """The user typed a setting wrong; the message says which and what would be right."""


class StorageError(InklessError):
    """The object store failed in a way that may pass."""


class ObjectNotFound(StorageError):
    """The store holds no object under that key."""


class ObjectExists(StorageError):
    """A create-only put found the key taken."""


class ControlPlaneError(InklessError):
    """The plane could not do it, and nothing was done."""


class CommitOutcomeUnknown(ControlPlaneError):
    """The plane was lost in the middle of a commit: it may have landed, may land still, or never."""


class BrokerFenced(ControlPlaneError):
    """Another registration holds this node id under a higher epoch."""
