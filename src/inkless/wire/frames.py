"""Frames: the headers before every request and response, and the size before those.

The views that come in are frames without their four bytes of size; what goes out has them.
"""

import struct
from dataclasses import dataclass
from typing import Any

from inkless.wire.api import APIS, Api, ApiKey
from inkless.wire.codec import decoder, encoder
from inkless.wire.errors import WireError
from inkless.wire.primitives import skip_tags
from inkless.wire.shape import Buffer

_REQUEST_START = struct.Struct(">hhih")
_CORRELATION_ID = struct.Struct(">i")
_RESPONSE_V0 = struct.Struct(">ii")
_RESPONSE_V1 = struct.Struct(">iix")
_SIZE = struct.Struct(">i")
_NO_TAGS = b"\x00"


@dataclass(slots=True)
class RequestHeader:
    api_key: int
    api_version: int
    correlation_id: int
    client_id: str | None


def decode_request_header(view: memoryview) -> tuple[RequestHeader, int]:
    """The header and the position behind it.

    Where the API or its version is not served, the header is read up to the client id, which every version encodes
    alike: enough to answer that it isn't served. The position means nothing then.
    """
    try:
        api_key, version, correlation_id, length = _REQUEST_START.unpack_from(view, 0)
        position = _REQUEST_START.size
        if length < -1 or length > len(view) - position:
            raise WireError("request header: a length outside the frame")
        client_id = None
        if length >= 0:
            client_id = str(view[position : position + length], "utf-8")
            position += length
        api = APIS.get(api_key)
        if api is not None and api.serves(version) and api.flexible(version):
            position = skip_tags(view, position + 1, view[position])
    except (struct.error, IndexError, UnicodeDecodeError) as error:
        raise WireError(f"request header: {error}") from error
    return RequestHeader(api_key, version, correlation_id, client_id), position


def encode_request(api: Api, version: int, correlation_id: int, client_id: str | None, message: Any) -> list[Buffer]:
    chunks = encoder(api.request, version)(message)
    client = b"" if client_id is None else client_id.encode()
    length = -1 if client_id is None else len(client)
    start = _REQUEST_START.pack(api.key, version, correlation_id, length)
    tags = _NO_TAGS if api.flexible(version) else b""
    header = b"".join((start, client, tags))
    chunks[0] = b"".join((_SIZE.pack(len(header) + sum(map(len, chunks))), header, chunks[0]))
    return chunks


def encode_response(correlation_id: int, message: Any, version: int, api: Api) -> list[Buffer]:
    """The whole frame, one buffer unless it carries records; those are not copied."""
    chunks = encoder(api.response, version)(message)
    size = len(chunks[0]) if len(chunks) == 1 else sum(map(len, chunks))
    if _has_tags(api, version):
        chunks[0] = _RESPONSE_V1.pack(size + 5, correlation_id) + chunks[0]
    else:
        chunks[0] = _RESPONSE_V0.pack(size + 4, correlation_id) + chunks[0]
    return chunks


def decode_response(api: Api, version: int, view: memoryview) -> tuple[int, Any]:
    """The correlation id and the message; WireError also where the frame goes on behind it."""
    try:
        (correlation_id,) = _CORRELATION_ID.unpack_from(view, 0)
        position = _CORRELATION_ID.size
        if _has_tags(api, version):
            position = skip_tags(view, position + 1, view[position])
    except (struct.error, IndexError) as error:
        raise WireError(f"response header: {error}") from error
    message, end = decoder(api.response, version)(view, position)
    if end != len(view):
        raise WireError(f"{api.name} v{version}: {len(view) - end} bytes behind the response")
    return correlation_id, message


def _has_tags(api: Api, version: int) -> bool:
    """Whether the response has header v1: never for ApiVersions, whose client may not know the version yet."""
    return api.flexible(version) and api.key is not ApiKey.API_VERSIONS
