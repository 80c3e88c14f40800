"""Every API that this broker serves. ApiVersions is derived from this table and from nothing else."""

from inkless.broker.handlers.committed_offsets import offset_fetch
from inkless.broker.handlers.fetch import fetch
from inkless.broker.handlers.metadata import (
    describe_cluster,
    describe_topic_partitions,
    find_coordinator,
    metadata,
)
from inkless.broker.handlers.offsets import list_offsets, offset_for_leader_epoch
from inkless.broker.handlers.produce import begin, produce
from inkless.broker.handlers.producers import init_producer_id
from inkless.broker.handlers.topics import create_partitions, create_topics, delete_topics
from inkless.broker.router import Call, Router, route
from inkless.broker.services import Services
from inkless.wire.api import ApiKey
from inkless.wire.api_versions import ApiVersion, ApiVersionsRequest, ApiVersionsResponse
from inkless.wire.error_codes import ErrorCode


async def api_versions(services: Services, request: ApiVersionsRequest | None, call: Call) -> ApiVersionsResponse:
    """`request` is None where the client's version is not served: the answer is in version 0 and says so."""
    code = ErrorCode.NONE if request is not None else ErrorCode.UNSUPPORTED_VERSION
    return ApiVersionsResponse(error_code=code, api_keys=_SERVED)


ROUTER = Router(
    [
        route(ApiKey.PRODUCE, produce, ordered=True, keeps_frame=True, begin=begin),
        route(ApiKey.FETCH, fetch, one_at_a_time=True, abandonable=True),
        route(ApiKey.LIST_OFFSETS, list_offsets),
        route(ApiKey.METADATA, metadata),
        route(ApiKey.OFFSET_FETCH, offset_fetch),
        route(ApiKey.FIND_COORDINATOR, find_coordinator),
        route(ApiKey.API_VERSIONS, api_versions),
        route(ApiKey.CREATE_TOPICS, create_topics),
        route(ApiKey.DELETE_TOPICS, delete_topics),
        route(ApiKey.INIT_PRODUCER_ID, init_producer_id),
        route(ApiKey.OFFSET_FOR_LEADER_EPOCH, offset_for_leader_epoch),
        route(ApiKey.CREATE_PARTITIONS, create_partitions),
        route(ApiKey.DESCRIBE_CLUSTER, describe_cluster),
        route(ApiKey.DESCRIBE_TOPIC_PARTITIONS, describe_topic_partitions),
    ]
)

_SERVED = [
    ApiVersion(api_key=api.key, min_version=api.min_version, max_version=api.max_version) for api in ROUTER.apis
]
