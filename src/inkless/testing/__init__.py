"""The real broker inside a test: `with broker() as running: ...`, or the pytest fixture `inkless_broker`."""

from inkless.testing.running import RunningBroker, broker

__all__ = ["RunningBroker", "broker"]
