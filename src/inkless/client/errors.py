"""What can go wrong between a client and a cluster."""

from inkless.core.errors import InklessError
from inkless.wire.error_codes import ErrorCode


class ClientError(InklessError):
    """`retriable` says whether the same request may succeed later."""

    retriable: bool = False


class ConnectionFailed(ClientError):
    """No connection, or it broke: what was in flight may or may not have been done."""

    retriable = True


class RequestTimedOut(ClientError):
    """No answer in time: it may or may not have been done."""

    retriable = True


class ApiNotSupported(ClientError):
    """The broker and this client have no version of the API in common."""


class InvalidAnswer(ClientError):
    """The other side does not speak Kafka's protocol, or broke it."""


class BrokerError(ClientError):
    """The broker's own word, as a Kafka error code and its name."""

    def __init__(self, code: int, message: str | None = None) -> None:
        known = _known(code)
        self.code = code
        self.name = f"error {code}" if known is None else known.name
        super().__init__(f"{self.name}: {message}" if message else self.name)
        self.retriable = known is not None and known.retriable


def check_code(code: int, about: str | None = None) -> None:
    """Raise what a response's error code says, if it says anything."""
    if code != ErrorCode.NONE:
        raise BrokerError(code, about)


def _known(code: int) -> ErrorCode | None:
    try:
        return ErrorCode(code)
    except ValueError:
        return None
