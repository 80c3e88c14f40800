"""The pytest plugin: installed with the package, it offers the fixture `inkless_broker`."""

from collections.abc import Iterator

import pytest

from inkless.testing.running import RunningBroker, broker


@pytest.fixture(scope="session")
def inkless_broker() -> Iterator[RunningBroker]:
    """A broker that all tests of the session share: `inkless_broker.bootstrap_servers` is where clients connect.

    One for all, because topics cost nothing and a test that names its own topics needs no broker of its own. A test
    that does (for other settings, or to stop it) writes `with inkless.testing.broker(...) as running:`.
    """
    with broker() as running:
        yield running
