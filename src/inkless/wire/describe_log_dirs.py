"""DescribeLogDirs (API key 35): sizes of partitions."""

from inkless.wire.shape import (
    array,
    boolean,
    int16,
    int32,
    int32_array,
    int64,
    message,
    nullable_array,
    string,
    struct,
)


@struct
class DescribableLogDirTopic:
    topic: str = string()
    partitions: list[int] = int32_array()


@message(flexible_from=2)
class DescribeLogDirsRequest:
    """Null topics ask for all of them."""

    topics: list[DescribableLogDirTopic] | None = nullable_array(DescribableLogDirTopic)


@struct
class DescribeLogDirsPartition:
    partition_index: int = int32()
    partition_size: int = int64()
    offset_lag: int = int64()
    is_future_key: bool = boolean()


@struct
class DescribeLogDirsTopic:
    name: str = string()
    partitions: list[DescribeLogDirsPartition] = array(DescribeLogDirsPartition)


@struct
class DescribeLogDirsResult:
    error_code: int = int16()
    log_dir: str = string()
    topics: list[DescribeLogDirsTopic] = array(DescribeLogDirsTopic)
    total_bytes: int = int64("4+", default=-1)
    usable_bytes: int = int64("4+", default=-1)


@message(flexible_from=2)
class DescribeLogDirsResponse:
    throttle_time_ms: int = int32()
    error_code: int = int16("3+")
    results: list[DescribeLogDirsResult] = array(DescribeLogDirsResult)
