"""OffsetFetch: no group has committed anything yet, which is an answer and no error.

Clients that assign partitions themselves ask for it all the same, and librdkafka crashes where it is not offered.
"""

from inkless.broker.router import Call
from inkless.broker.services import Services
from inkless.wire.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchResponse,
    OffsetFetchResponseGroup,
    OffsetFetchResponsePartition,
    OffsetFetchResponsePartitions,
    OffsetFetchResponseTopic,
    OffsetFetchResponseTopics,
)

GROUPS_FROM = 8
NOT_COMMITTED = -1


async def offset_fetch(services: Services, request: OffsetFetchRequest, call: Call) -> OffsetFetchResponse:
    if call.version >= GROUPS_FROM:
        return OffsetFetchResponse(
            groups=[
                OffsetFetchResponseGroup(
                    group_id=group.group_id,
                    topics=[
                        OffsetFetchResponseTopics(
                            name=topic.name,
                            topic_id=topic.topic_id,
                            partitions=[
                                OffsetFetchResponsePartitions(
                                    partition_index=index, committed_offset=NOT_COMMITTED, metadata=""
                                )
                                for index in topic.partition_indexes
                            ],
                        )
                        for topic in group.topics or ()
                    ],
                )
                for group in request.groups
            ]
        )
    return OffsetFetchResponse(
        topics=[
            OffsetFetchResponseTopic(
                name=topic.name,
                partitions=[
                    OffsetFetchResponsePartition(partition_index=index, committed_offset=NOT_COMMITTED, metadata="")
                    for index in topic.partition_indexes
                ],
            )
            for topic in request.topics or ()
        ]
    )
