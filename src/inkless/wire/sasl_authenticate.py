"""SaslAuthenticate (API key 36): one step of the mechanism that SaslHandshake chose."""

from inkless.wire.shape import binary, int16, int64, message, nullable_string


@message(flexible_from=2)
class SaslAuthenticateRequest:
    auth_bytes: bytes = binary()


@message(flexible_from=2)
class SaslAuthenticateResponse:
    error_code: int = int16()
    error_message: str | None = nullable_string()
    auth_bytes: bytes = binary()
    session_lifetime_ms: int = int64("1+")
