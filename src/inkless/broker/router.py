"""From a frame to a handler and back: the route table, and the shape that every handler has."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from inkless.broker.services import Services
from inkless.broker.turns import Turn
from inkless.wire.api import APIS, Api, ApiKey
from inkless.wire.codec import decoder
from inkless.wire.errors import WireError
from inkless.wire.frames import RequestHeader, decode_request_header

# The answer of a handler whose client waits for none, where something went wrong: all it can notice is the end.
CLOSE = object()


class Call(NamedTuple):
    """One request's surroundings. `turn` is its place among the ordered requests of its connection."""

    version: int
    client_id: str | None
    listener: str
    peer: str
    turn: Turn


Handler = Callable[[Services, Any, Call], Awaitable[Any]]
Begin = Callable[[Services, Any, Call, Callable[[Any], None]], bool]


@dataclass(frozen=True, slots=True)
class Route:
    """An API and who serves it.

    `ordered`: requests of a connection pass one after the other through their handler's turn, then go on together.
    `one_at_a_time`: a connection's next one starts when the answer to the last has gone out.
    `abandonable`: it ends with its connection; others run to their end, as what was sent was meant.
    `keeps_frame`: the request's bytes stay in memory until it is answered, and in the budget for as long.
    `begin`: a way without a task for requests that need not wait; False where the handler must be called.
    """

    api: Api
    handler: Handler
    ordered: bool = False
    one_at_a_time: bool = False
    abandonable: bool = False
    keeps_frame: bool = False
    begin: Begin | None = None


class Routed(NamedTuple):
    header: RequestHeader
    route: Route
    request: Any
    version: int


class Router:
    def __init__(self, routes: Sequence[Route]) -> None:
        self._routes = {int(route.api.key): route for route in routes}

    @property
    def apis(self) -> list[Api]:
        return [route.api for route in self._routes.values()]

    def route(self, frame: memoryview) -> Routed:
        """Decode a frame; WireError where it is none, or asks for what is not served."""
        header, position = decode_request_header(frame)
        route = self._routes.get(header.api_key)
        if route is None:
            raise WireError(f"API key {header.api_key} is not served")
        version = header.api_version
        if not route.api.serves(version):
            if header.api_key == ApiKey.API_VERSIONS:
                # KIP-511: a newer client is told in version 0 what it may use instead.
                return Routed(header, route, None, 0)
            raise WireError(f"{route.api.name} version {version} is not served")
        request, _ = decoder(route.api.request, version)(frame, position)
        return Routed(header, route, request, version)


def route(
    key: ApiKey,
    handler: Handler,
    *,
    ordered: bool = False,
    one_at_a_time: bool = False,
    abandonable: bool = False,
    keeps_frame: bool = False,
    begin: Begin | None = None,
) -> Route:
    return Route(APIS[key], handler, ordered, one_at_a_time, abandonable, keeps_frame, begin)
