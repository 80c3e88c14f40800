"""Keys that files written for Kafka or Aiven's Inkless may hold and that have no setting here.

A key that ends in a dot stands for all that start with it.
"""

from collections.abc import Mapping

_NO_CONTROLLER = "there is no controller here"
_NO_LOG_FILES = "a broker keeps no log on its disk"
_ONE_LOOP = "a broker has one event loop"
_NO_INTERNAL_TOPIC = "there is no internal topic here"
_NOT_YET = "not supported yet"
_PLANE_URL = "set inkless.control.plane to a URL, such as sqlite:///path, instead"
_STORE_URL = "set inkless.storage to a URL, such as file:///path, instead"

IGNORED: Mapping[str, str] = {
    "controller.": _NO_CONTROLLER,
    "process.roles": _NO_CONTROLLER,
    "zookeeper.": _NO_CONTROLLER,
    "broker.heartbeat.interval.ms": _NOT_YET,
    "broker.session.timeout.ms": _NOT_YET,
    "default.replication.factor": "durability is the store's",
    "group.initial.rebalance.delay.ms": _NOT_YET,
    "inter.broker.listener.name": _NOT_YET,
    "log.cleaner.": _NOT_YET,
    "log.cleanup.policy": _NOT_YET,
    "log.dir": _NO_LOG_FILES,
    "log.dirs": _NO_LOG_FILES,
    "log.diskless.enable": "every topic is diskless",
    "log.flush.": "every write is durable before it is answered",
    "log.retention.": _NOT_YET,
    "log.segment.": _NO_LOG_FILES,
    "num.io.threads": _ONE_LOOP,
    "num.network.threads": _ONE_LOOP,
    "num.recovery.threads.per.data.dir": _NO_LOG_FILES,
    "num.replica.fetchers": "brokers don't replicate; durability is the store's",
    "offsets.topic.": _NO_INTERNAL_TOPIC,
    "share.coordinator.": _NO_INTERNAL_TOPIC,
    "socket.receive.buffer.bytes": "the system chooses the size",
    "socket.send.buffer.bytes": "the system chooses the size",
    "transaction.state.log.": _NO_INTERNAL_TOPIC,
    "inkless.client.az.listener.map": _NOT_YET,
    "inkless.consume.cache.expiration.lifespan.sec": "the cache is bounded by bytes, not by age",
    "inkless.fetch.lagging.consumer.threshold.ms": _NOT_YET,
    "inkless.file.cleaner.": _NOT_YET,
    "inkless.retention.enforcement.interval.ms": _NOT_YET,
}

# Ignoring these would send the data to a place that their owner did not choose.
REFUSED: Mapping[str, str] = {
    "inkless.control.plane.class": _PLANE_URL,
    "inkless.control.plane.connection.": _PLANE_URL,
    "inkless.storage.backend.class": _STORE_URL,
    "inkless.storage.s3.": _STORE_URL,
}


def reason(key: str, table: Mapping[str, str]) -> str | None:
    if key in table:
        return table[key]
    return next((why for start, why in table.items() if start.endswith(".") and key.startswith(start)), None)
