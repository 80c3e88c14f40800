"""One connection to one broker: requests in flight together, each answered by its correlation id.

The versions are settled when it opens: of each API the highest that both sides know.
"""

import asyncio
import logging
import os
from struct import Struct
from typing import Any, NamedTuple, Self

from inkless import __version__
from inkless.client.errors import (
    ApiNotSupported,
    ClientError,
    ConnectionFailed,
    InvalidAnswer,
    RequestTimedOut,
    check_code,
)
from inkless.wire.api import APIS, Api, ApiKey
from inkless.wire.api_versions import ApiVersionsRequest, ApiVersionsResponse
from inkless.wire.error_codes import ErrorCode
from inkless.wire.errors import WireError
from inkless.wire.frames import decode_response, encode_request

MAX_FRAME_BYTES = 256 * 1024 * 1024

log = logging.getLogger(__name__)

_CLOSE_S = 1.0
_STREAM_BYTES = 1024 * 1024
_SIZE = Struct(">i")
_ERROR_CODE = Struct(">4xh")  # behind the correlation id, in every version of ApiVersions
_API_OF_REQUEST: dict[type[Any], Api] = {api.request: api for api in APIS.values()}


class _Pending(NamedTuple):
    api: Api
    version: int
    answer: asyncio.Future[Any]


class Connection:
    """Broken once, it stays broken: every later request fails, and the owner opens another."""

    def __init__(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        address: str,
        client_id: str,
        timeout_s: float,
    ) -> None:
        self.address = address
        self.versions: dict[int, int] = {ApiKey.API_VERSIONS: APIS[ApiKey.API_VERSIONS].max_version}
        self._reader = reader
        self._writer = writer
        self._client_id = client_id
        self._timeout_s = timeout_s
        self._correlation_id = 0
        self._pending: dict[int, _Pending] = {}
        self._broken: ClientError | None = None
        self._reading = asyncio.get_running_loop().create_task(self._read_answers())

    @classmethod
    async def open(
        cls, host: str, port: int, client_id: str, timeout_s: float, *, request_timeout_s: float | None = None
    ) -> Self:
        """Connect and settle the versions within `timeout_s` each; requests have as long unless told otherwise."""
        address = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
        try:
            async with asyncio.timeout(timeout_s):
                reader, writer = await asyncio.open_connection(host, port, limit=_STREAM_BYTES)
        except TimeoutError:
            raise RequestTimedOut(f"{address} did not take a connection within {timeout_s:g} s") from None
        except OSError as error:
            raise ConnectionFailed(f"can't connect to {address}: {_reason(error)}") from error
        connection = cls(reader, writer, address, client_id, request_timeout_s or timeout_s)
        try:
            await connection._settle_versions(timeout_s)
        except BaseException:
            await connection.close()
            raise
        return connection

    @property
    def is_broken(self) -> bool:
        return self._broken is not None

    async def request(self, message: Any, timeout_s: float | None = None) -> Any:
        """The answer to a request message; its class says which API is meant."""
        api, version = self._choose(message)
        answer = asyncio.get_running_loop().create_future()
        self._write(api, version, message, answer)
        timeout_s = self._timeout_s if timeout_s is None else timeout_s
        try:
            async with asyncio.timeout(timeout_s):
                await self._writer.drain()
                return await answer
        except TimeoutError:
            # Answers come in order, so nothing behind this one can come either.
            error = RequestTimedOut(f"{self.address} did not answer {api.name} within {timeout_s:g} s")
            self._break(error)
            raise error from None
        except OSError as error:
            failure = ConnectionFailed(f"the connection to {self.address} broke: {_reason(error)}")
            self._break(failure)
            raise failure from error

    async def send(self, message: Any) -> None:
        """Write a request that is never answered: a Produce with acks=0."""
        self._write(*self._choose(message), message, None)
        try:
            async with asyncio.timeout(self._timeout_s):
                await self._writer.drain()
        except TimeoutError:
            raise RequestTimedOut(f"{self.address} did not read for {self._timeout_s:g} s") from None
        except OSError as error:
            raise ConnectionFailed(f"the connection to {self.address} broke: {_reason(error)}") from error

    async def close(self) -> None:
        """What was written still goes out, if the other side takes it soon."""
        self._break(ConnectionFailed(f"the connection to {self.address} was closed"))
        self._reading.cancel()
        await asyncio.wait({self._reading})
        try:
            async with asyncio.timeout(_CLOSE_S):
                await self._writer.wait_closed()
        except TimeoutError:
            self._writer.transport.abort()
        except OSError as error:
            log.debug("the connection to %s was gone before it was closed: %s", self.address, error)

    def _choose(self, message: Any) -> tuple[Api, int]:
        api = _API_OF_REQUEST[type(message)]
        version = self.versions.get(api.key)
        if version is None:
            raise ApiNotSupported(f"{self.address} serves no version of {api.name} that this client knows")
        return api, version

    def _write(self, api: Api, version: int, message: Any, answer: asyncio.Future[Any] | None) -> None:
        if self._broken is not None:
            raise ConnectionFailed(str(self._broken))
        self._correlation_id = (self._correlation_id + 1) & 0x7FFFFFFF
        chunks = encode_request(api, version, self._correlation_id, self._client_id, message)
        if answer is not None:
            self._pending[self._correlation_id] = _Pending(api, version, answer)
        self._writer.writelines(chunks)

    async def _settle_versions(self, timeout_s: float) -> None:
        response = await self._ask_versions(timeout_s)
        if response.error_code == ErrorCode.UNSUPPORTED_VERSION:
            # KIP-511: an older broker answers in version 0 and says which versions of ApiVersions it has.
            own = APIS[ApiKey.API_VERSIONS]
            self.versions[own.key] = _in_common(response).get(own.key, 0)
            response = await self._ask_versions(timeout_s)
        check_code(response.error_code, f"ApiVersions of {self.address}")
        self.versions = _in_common(response)

    async def _ask_versions(self, timeout_s: float) -> ApiVersionsResponse:
        request = ApiVersionsRequest(client_software_name="inkless", client_software_version=__version__)
        response: ApiVersionsResponse = await self.request(request, timeout_s)
        return response

    async def _read_answers(self) -> None:
        try:
            while True:
                (size,) = _SIZE.unpack(await self._reader.readexactly(_SIZE.size))
                if not _SIZE.size <= size <= MAX_FRAME_BYTES:
                    raise InvalidAnswer(f"{self.address} announced {size} bytes: it does not speak Kafka's protocol")
                self._take(memoryview(await self._reader.readexactly(size)))
        except asyncio.IncompleteReadError:
            self._break(ConnectionFailed(f"{self.address} closed the connection"))
        except OSError as error:
            self._break(ConnectionFailed(f"the connection to {self.address} broke: {_reason(error)}"))
        except WireError as error:
            self._break(InvalidAnswer(f"{self.address} answered something else than it was asked: {error}"))
        except ClientError as error:
            self._break(error)

    def _take(self, frame: memoryview) -> None:
        (correlation_id,) = _SIZE.unpack_from(frame)
        pending = self._pending.get(correlation_id)
        if pending is None:
            raise InvalidAnswer(f"{self.address} answered a request that nobody made")
        version = pending.version
        if pending.api.key is ApiKey.API_VERSIONS and _is_unsupported(frame):
            version = 0
        _, message = decode_response(pending.api, version, frame)
        del self._pending[correlation_id]
        if not pending.answer.done():  # its caller may have given up
            pending.answer.set_result(message)

    def _break(self, error: ClientError) -> None:
        if self._broken is not None:
            return
        self._broken = error
        self._writer.close()
        for pending in self._pending.values():
            if not pending.answer.done():
                pending.answer.set_exception(error)
                pending.answer.exception()  # seen: its caller may be on the way out already
        self._pending.clear()


def _is_unsupported(frame: memoryview) -> bool:
    return len(frame) >= _ERROR_CODE.size and _ERROR_CODE.unpack_from(frame)[0] == ErrorCode.UNSUPPORTED_VERSION


def _in_common(response: ApiVersionsResponse) -> dict[int, int]:
    versions = {}
    for theirs in response.api_keys:
        ours = APIS.get(theirs.api_key)
        if ours is None:
            continue
        highest = min(ours.max_version, theirs.max_version)
        if highest >= max(ours.min_version, theirs.min_version):
            versions[theirs.api_key] = highest
    return versions


def _reason(error: OSError) -> str:
    """The system's words without asyncio's; a failed name lookup has a number below zero and its own words."""
    if error.errno is not None and error.errno > 0:
        return os.strerror(error.errno)
    return error.strerror or str(error) or type(error).__name__
