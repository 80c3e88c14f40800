"""Microseconds per message, beside kio's for the same bytes: `python bench/wire_codec.py`.

Each figure is the best of several rounds. kio decodes in native code and encodes in Python; it copies records out of
the frame and joins its output. So the figures say what the hot path would cost with it, not which design is better.
"""

import io
import timeit
from collections.abc import Callable
from typing import Any

from kio.index import load_payload_module
from kio.serial import entity_reader, entity_writer
from kio.static.constants import EntityType

from inkless.wire import fetch, metadata, produce
from inkless.wire.codec import decoder, encoder

ROUNDS = 5
ROUND_SECONDS = 0.05
TOPIC_ID = bytes(range(16))
RECORDS = bytes(1024)


def microseconds(call: Callable[[], Any]) -> float:
    timer = timeit.Timer(call)
    loops, taken = timer.autorange()
    loops = max(1, int(loops * ROUND_SECONDS / taken))
    return min(timer.repeat(ROUNDS, loops)) / loops * 1e6


def produce_request(partitions: int) -> produce.ProduceRequest:
    data = [produce.PartitionProduceData(index=i, records=memoryview(RECORDS)) for i in range(partitions)]
    return produce.ProduceRequest(
        acks=-1,
        timeout_ms=30_000,
        topic_data=[produce.TopicProduceData(name="orders", topic_id=TOPIC_ID, partition_data=data)],
    )


def produce_response(partitions: int) -> produce.ProduceResponse:
    data = [produce.PartitionProduceResponse(index=i, base_offset=1000) for i in range(partitions)]
    topic = produce.TopicProduceResponse(name="orders", topic_id=TOPIC_ID, partition_responses=data)
    return produce.ProduceResponse(responses=[topic])


def fetch_request(partitions: int) -> fetch.FetchRequest:
    asked = [
        fetch.FetchPartition(partition=i, fetch_offset=1000, partition_max_bytes=1 << 20) for i in range(partitions)
    ]
    topic = fetch.FetchTopic(topic="orders", topic_id=TOPIC_ID, partitions=asked)
    return fetch.FetchRequest(max_wait_ms=500, min_bytes=1, session_id=7, session_epoch=3, topics=[topic])


def fetch_response(partitions: int, records: bytes) -> fetch.FetchResponse:
    data = [
        fetch.PartitionData(partition_index=i, high_watermark=2000, last_stable_offset=2000, records=records)
        for i in range(partitions)
    ]
    topic = fetch.FetchableTopicResponse(topic="orders", topic_id=TOPIC_ID, partitions=data)
    return fetch.FetchResponse(session_id=7, responses=[topic])


def metadata_response(partitions: int) -> metadata.MetadataResponse:
    rows = [
        metadata.MetadataResponsePartition(
            partition_index=i, leader_id=i % 3, leader_epoch=0, replica_nodes=[0, 1, 2], isr_nodes=[0, 1, 2]
        )
        for i in range(partitions)
    ]
    brokers = [metadata.MetadataResponseBroker(node_id=i, host=f"broker-{i}", port=9092) for i in range(3)]
    topic = metadata.MetadataResponseTopic(name="orders", topic_id=TOPIC_ID, partitions=rows)
    return metadata.MetadataResponse(brokers=brokers, cluster_id="inkless", controller_id=0, topics=[topic])


CASES: list[tuple[str, Any, int]] = [
    ("Produce request, 1 partition of 1 KiB", produce_request(1), 9),
    ("Produce request, 1 partition of 1 KiB", produce_request(1), 13),
    ("Produce request, 100 partitions of 1 KiB", produce_request(100), 13),
    ("Produce response, 1 partition", produce_response(1), 9),
    ("Produce response, 1 partition", produce_response(1), 13),
    ("Fetch request, 100 partitions", fetch_request(100), 12),
    ("Fetch request, 100 partitions", fetch_request(100), 17),
    ("Fetch response, 100 partitions, no records", fetch_response(100, b""), 12),
    ("Fetch response, 100 partitions of 1 KiB", fetch_response(100, RECORDS), 12),
    ("Fetch response, 100 partitions of 1 KiB", fetch_response(100, RECORDS), 17),
    ("Metadata response, 1000 partitions", metadata_response(1000), 12),
]

KIO_TYPES = {"Request": EntityType.request, "Response": EntityType.response}
API_KEYS = {"Produce": 0, "Fetch": 1, "Metadata": 3}


def kio_class(cls: type, version: int) -> type:
    api, kind = next((cls.__name__.removesuffix(kind), kind) for kind in KIO_TYPES if cls.__name__.endswith(kind))
    module = load_payload_module(API_KEYS[api], version, KIO_TYPES[kind])
    found: type = getattr(module, cls.__name__)
    return found


def measure(message: Any, version: int) -> tuple[float, float, float, float]:
    """Microseconds to decode and to encode: ours, kio's, ours, kio's."""
    cls = type(message)
    theirs = kio_class(cls, version)
    encode, decode = encoder(cls, version), decoder(cls, version)
    read, write = entity_reader(theirs), entity_writer(theirs)
    encoded = b"".join(encode(message))
    view = memoryview(encoded)
    value, _ = read(encoded, 0)
    return (
        microseconds(lambda: decode(view, 0)),
        microseconds(lambda: read(encoded, 0)),
        microseconds(lambda: encode(message)),
        microseconds(lambda: write(io.BytesIO(), value)),
    )


def main() -> None:
    print(f"{'message':44} {'version':>7} {'decode µs':>10} {'kio':>8} {'encode µs':>10} {'kio':>8}")
    for title, message, version in CASES:
        decoded, kio_decoded, encoded, kio_encoded = measure(message, version)
        print(f"{title:44} {version:7} {decoded:10.2f} {kio_decoded:8.1f} {encoded:10.2f} {kio_encoded:8.1f}")


if __name__ == "__main__":
    main()
