"""DeleteTopics (API key 20): by name, or from version 6 on by name or id."""

from inkless.wire.shape import array, int16, int32, message, nullable_string, string_array, struct, uuid


@struct
class DeleteTopicState:
    name: str | None = nullable_string()
    topic_id: bytes = uuid()


@message(flexible_from=4)
class DeleteTopicsRequest:
    topics: list[DeleteTopicState] = array(DeleteTopicState, "6+")
    topic_names: list[str] = string_array("0-5")
    timeout_ms: int = int32()


@struct
class DeletableTopicResult:
    name: str | None = nullable_string(nullable="6+")
    topic_id: bytes = uuid("6+")
    error_code: int = int16()
    error_message: str | None = nullable_string("5+")


@message(flexible_from=4)
class DeleteTopicsResponse:
    throttle_time_ms: int = int32("1+")
    responses: list[DeletableTopicResult] = array(DeletableTopicResult)
