"""The one place where kinds of errors become Kafka's codes."""

from inkless.core.errors import ErrorKind
from inkless.wire.error_codes import ErrorCode

CODES: dict[ErrorKind, ErrorCode] = {
    ErrorKind.UNKNOWN_TOPIC_OR_PARTITION: ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    ErrorKind.UNKNOWN_TOPIC_ID: ErrorCode.UNKNOWN_TOPIC_ID,
    ErrorKind.TOPIC_EXISTS: ErrorCode.TOPIC_ALREADY_EXISTS,
    ErrorKind.INVALID_TOPIC: ErrorCode.INVALID_TOPIC_EXCEPTION,
    ErrorKind.INVALID_PARTITIONS: ErrorCode.INVALID_PARTITIONS,
    ErrorKind.INVALID_REPLICATION_FACTOR: ErrorCode.INVALID_REPLICATION_FACTOR,
    ErrorKind.INVALID_ASSIGNMENT: ErrorCode.INVALID_REPLICA_ASSIGNMENT,
    ErrorKind.INVALID_CONFIG: ErrorCode.INVALID_CONFIG,
    ErrorKind.INVALID_REQUEST: ErrorCode.INVALID_REQUEST,
    ErrorKind.INVALID_RECORD: ErrorCode.INVALID_RECORD,
    ErrorKind.UNSUPPORTED_COMPRESSION: ErrorCode.UNSUPPORTED_COMPRESSION_TYPE,
    ErrorKind.INVALID_TIMESTAMP: ErrorCode.INVALID_TIMESTAMP,
    ErrorKind.CORRUPT_BATCH: ErrorCode.CORRUPT_MESSAGE,
    ErrorKind.BATCH_TOO_LARGE: ErrorCode.MESSAGE_TOO_LARGE,
    ErrorKind.OFFSET_OUT_OF_RANGE: ErrorCode.OFFSET_OUT_OF_RANGE,
    ErrorKind.OUT_OF_ORDER_SEQUENCE: ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER,
    ErrorKind.INVALID_PRODUCER_EPOCH: ErrorCode.INVALID_PRODUCER_EPOCH,
    ErrorKind.UNKNOWN_LEADER_EPOCH: ErrorCode.UNKNOWN_LEADER_EPOCH,
    # The one code that every client takes as final for a transactional producer.
    ErrorKind.TRANSACTIONS_REFUSED: ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
    ErrorKind.STORAGE_FAILED: ErrorCode.KAFKA_STORAGE_ERROR,
    ErrorKind.OUTCOME_UNKNOWN: ErrorCode.REQUEST_TIMED_OUT,
    ErrorKind.FENCED: ErrorCode.NOT_LEADER_OR_FOLLOWER,
    ErrorKind.SHUTTING_DOWN: ErrorCode.NOT_LEADER_OR_FOLLOWER,
    ErrorKind.UNEXPECTED: ErrorCode.UNKNOWN_SERVER_ERROR,
}


def code_of(kind: ErrorKind | None) -> int:
    return 0 if kind is None else int(CODES[kind])
