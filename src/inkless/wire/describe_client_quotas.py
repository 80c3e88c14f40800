"""DescribeClientQuotas (API key 48)."""

from inkless.wire.shape import (
    array,
    boolean,
    float64,
    int8,
    int16,
    int32,
    message,
    nullable_array,
    nullable_string,
    string,
    struct,
)


@struct
class ComponentData:
    """The match types: 0 this name, 1 the default, 2 any name."""

    entity_type: str = string()
    match_type: int = int8()
    match: str | None = nullable_string()


@message(flexible_from=1)
class DescribeClientQuotasRequest:
    components: list[ComponentData] = array(ComponentData)
    strict: bool = boolean()


@struct
class EntityData:
    entity_type: str = string()
    entity_name: str | None = nullable_string()


@struct
class ValueData:
    key: str = string()
    value: float = float64()


@struct
class EntryData:
    entity: list[EntityData] = array(EntityData)
    values: list[ValueData] = array(ValueData)


@message(flexible_from=1)
class DescribeClientQuotasResponse:
    throttle_time_ms: int = int32()
    error_code: int = int16()
    error_message: str | None = nullable_string()
    entries: list[EntryData] | None = nullable_array(EntryData)
