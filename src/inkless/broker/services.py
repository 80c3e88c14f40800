"""What handlers work with: the parts of one broker, made in `compose.py`."""

from collections.abc import Mapping
from dataclasses import dataclass

from inkless.broker.catalog import Catalog
from inkless.broker.producer_ids import ProducerIds
from inkless.broker.sessions import Sessions
from inkless.control_plane.port import ControlPlane
from inkless.control_plane.values import Endpoint
from inkless.core.clock import Clock
from inkless.core.tasks import Executor
from inkless.data_plane.reader import Reader
from inkless.data_plane.writer import Writer


@dataclass(frozen=True, slots=True)
class Identity:
    """This broker as clients see it: one endpoint for each listener."""

    node_id: int
    cluster_id: str
    rack: str | None
    endpoints: Mapping[str, Endpoint]


@dataclass(frozen=True, slots=True)
class Policy:
    """Settings that handlers consult."""

    auto_create_topics: bool
    num_partitions: int
    fetch_max_bytes: int


@dataclass(frozen=True, slots=True)
class Services:
    identity: Identity
    policy: Policy
    plane: ControlPlane
    catalog: Catalog
    writer: Writer
    reader: Reader
    sessions: Sessions
    producer_ids: ProducerIds
    decoding: Executor
    clock: Clock
