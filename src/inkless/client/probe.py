"""Who answers at an address: which cluster, which node."""

import asyncio
from dataclasses import dataclass

from inkless.client.connection import Connection
from inkless.client.errors import ClientError
from inkless.wire.describe_cluster import DescribeClusterRequest, DescribeClusterResponse
from inkless.wire.error_codes import ErrorCode


@dataclass(frozen=True, slots=True)
class Answering:
    cluster_id: str
    node_id: int


async def who_answers(host: str, port: int, timeout_s: float) -> Answering | None:
    """None where nothing answers in time, or something that is no Kafka broker.

    Each broker of this system names itself as the controller, so that one request tells who it is.
    """
    try:
        async with asyncio.timeout(timeout_s):
            response = await _describe(host, port, timeout_s)
    except (ClientError, TimeoutError):
        return None
    if response.error_code != ErrorCode.NONE:
        return None
    return Answering(response.cluster_id, response.controller_id)


async def _describe(host: str, port: int, timeout_s: float) -> DescribeClusterResponse:
    connection = await Connection.open(host, port, "inkless-probe", timeout_s)
    try:
        response: DescribeClusterResponse = await connection.request(DescribeClusterRequest())
    finally:
        await connection.close()
    return response
