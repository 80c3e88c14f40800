"""One broker process for all tests of clients, a proxy in front of it, and the clients."""

import itertools
import os
import random
import warnings
from collections.abc import Callable, Iterator

import pytest

with warnings.catch_warnings():  # kafka-python warns while it is imported
    warnings.simplefilter("ignore", DeprecationWarning)
    from aiokafka_client import AiokafkaClient
    from kafka_python_client import KafkaPythonClient

from client_port import Client
from confluent_client import ConfluentClient
from cutting_proxy import CuttingProxy, Plan, cutting_proxy
from served_broker import BrokerProcess, broker_process

CLIENTS: dict[str, Callable[[str], Client]] = {
    client.name: client for client in (ConfluentClient, KafkaPythonClient, AiokafkaClient)
}
NUMBERS = itertools.count()


@pytest.fixture(scope="session")
def proxy() -> Iterator[CuttingProxy]:
    """Stands in front of the broker's listener PROXIED."""
    with cutting_proxy() as running:
        yield running


@pytest.fixture(scope="session")
def broker(tmp_path_factory: pytest.TempPathFactory, proxy: CuttingProxy) -> Iterator[BrokerProcess]:
    settings = {
        "listeners": "PLAINTEXT://127.0.0.1:0,PROXIED://127.0.0.1:0",
        "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,PROXIED:PLAINTEXT",
        # A client connects to the address that Metadata names, so that has to be the proxy's.
        "advertised.listeners": f"PROXIED://{proxy.address}",
    }
    with broker_process(tmp_path_factory.mktemp("broker"), settings) as running:
        proxy.target = running.addresses["PROXIED"]
        yield running


@pytest.fixture(scope="session")
def address(broker: BrokerProcess) -> str:
    return broker.address


@pytest.fixture(scope="session")
def strict_address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Another broker, which makes no topic by itself."""
    with broker_process(tmp_path_factory.mktemp("strict"), {"auto.create.topics.enable": "false"}) as running:
        yield running.address


@pytest.fixture
def lossy(proxy: CuttingProxy) -> Iterator[Plan]:
    """A plan of cuts; its seed is printed, and INKLESS_SEED sets it."""
    seed = int(os.environ.get("INKLESS_SEED", random.randrange(2**32)))
    print(f"INKLESS_SEED={seed}")
    proxy.plan = Plan(random.Random(seed))
    yield proxy.plan
    proxy.plan = Plan()


@pytest.fixture(scope="session", params=sorted(CLIENTS))
def client(request: pytest.FixtureRequest, address: str) -> Iterator[Client]:
    made = CLIENTS[request.param](address)
    yield made
    made.close()


@pytest.fixture
def topic(request: pytest.FixtureRequest) -> str:
    """A name that no other test uses."""
    return f"{request.node.originalname}-{next(NUMBERS)}"
