"""Idempotent producers whose connections are cut, mostly after the broker has done what it was asked to.

The client can't know what was written and sends it again; each record is there once all the same, and in order.
"""

import pytest
from client_port import Client
from cutting_proxy import CuttingProxy, Plan
from reading import read_all
from sample_records import RECORDS, check_same, numbered

PARTITIONS = 8
CHANCE = 0.25
CUTS = min(12 + RECORDS // 2000, 60)

# All of them have one batch of a partition in flight at a time. librdkafka sends each in a request of its own; the
# others put those of all partitions into one request.
IN_FLIGHT = {"confluent-kafka": 5, "kafka-python": 1, "aiokafka": 1}


@pytest.mark.slow
def test_each_record_once(client: Client, topic: str, proxy: CuttingProxy, lossy: Plan) -> None:
    records = numbered(RECORDS, PARTITIONS)
    client.create_topic(topic, PARTITIONS)
    lossy.left, lossy.chance = CUTS, CHANCE
    with client.lossy_writer(proxy.address) as writer:
        writer.write(topic, records)
    print(f"cuts: {lossy.made}, in flight: {lossy.most_in_flight}")
    assert lossy.left == 0
    assert lossy.most_in_flight >= IN_FLIGHT[client.name]
    check_same(records, read_all(client, topic, range(PARTITIONS)))
