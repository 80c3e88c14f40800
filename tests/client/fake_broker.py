"""A broker made of handlers, on a real socket: what a client sends it is decoded and kept, and answered as told."""

import asyncio
import contextlib
from collections.abc import Callable, Mapping
from typing import Any, Self

from inkless.wire.api import APIS, ApiKey
from inkless.wire.api_versions import ApiVersion, ApiVersionsRequest, ApiVersionsResponse
from inkless.wire.codec import decoder
from inkless.wire.error_codes import ErrorCode
from inkless.wire.frames import decode_request_header, encode_response

# What a handler may give instead of a response.
CLOSE = object()
SILENCE = object()

Handler = Callable[[Any], Any]


async def closed(writer: asyncio.StreamWriter) -> None:
    writer.close()
    with contextlib.suppress(OSError):
        await writer.wait_closed()


class FakeBroker:
    def __init__(
        self, handlers: Mapping[type, Handler], versions: Mapping[ApiKey, tuple[int, int]] | None = None
    ) -> None:
        self.handlers = {ApiVersionsRequest: self._api_versions, **handlers}
        self.versions = versions or {api.key: (api.min_version, api.max_version) for api in APIS.values()}
        self.requests: list[Any] = []
        self.asked_versions: list[tuple[ApiKey, int]] = []
        self.connections = 0
        self._serving: dict[asyncio.Task[None], asyncio.StreamWriter] = {}

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.host, self.port = self._server.sockets[0].getsockname()
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        for writer in self._serving.values():
            writer.transport.abort()
        await asyncio.gather(*self._serving)
        await self._server.wait_closed()

    def requests_of(self, kind: type) -> list[Any]:
        return [request for request in self.requests if isinstance(request, kind)]

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._serving[task] = writer
        self.connections += 1
        answers: set[asyncio.Task[None]] = set()
        try:
            while True:
                size = int.from_bytes(await reader.readexactly(4))
                frame = memoryview(await reader.readexactly(size))
                answers.add(asyncio.get_running_loop().create_task(self._answer(frame, writer)))
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            for answer in answers:
                answer.cancel()
            await asyncio.gather(*answers, return_exceptions=True)
            await closed(writer)

    async def _answer(self, frame: memoryview, writer: asyncio.StreamWriter) -> None:
        header, position = decode_request_header(frame)
        key, version = ApiKey(header.api_key), header.api_version
        api = APIS[key]
        self.asked_versions.append((key, version))
        low, high = self.versions.get(key, (0, -1))
        if key is ApiKey.API_VERSIONS and not low <= version <= high:
            answer: Any = ApiVersionsResponse(error_code=ErrorCode.UNSUPPORTED_VERSION, api_keys=self._api_keys())
            version = 0
        else:
            assert low <= version <= high, f"{key} version {version}"
            request, end = decoder(api.request, version)(frame, position)
            assert end == len(frame)
            self.requests.append(request)
            answer = self.handlers[api.request](request)
            if asyncio.iscoroutine(answer):
                answer = await answer
        if answer is CLOSE:
            writer.close()
        elif answer is not SILENCE:
            writer.writelines(encode_response(header.correlation_id, answer, version, api))

    def _api_versions(self, _: ApiVersionsRequest) -> ApiVersionsResponse:
        return ApiVersionsResponse(api_keys=self._api_keys())

    def _api_keys(self) -> list[ApiVersion]:
        return [
            ApiVersion(api_key=key, min_version=low, max_version=high) for key, (low, high) in self.versions.items()
        ]
