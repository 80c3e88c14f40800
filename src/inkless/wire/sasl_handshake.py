"""SaslHandshake (API key 17): version 0 is followed by bare SASL tokens, version 1 by SaslAuthenticate."""

from inkless.wire.shape import NEVER_FLEXIBLE, int16, message, string, string_array


@message(flexible_from=NEVER_FLEXIBLE)
class SaslHandshakeRequest:
    mechanism: str = string()


@message(flexible_from=NEVER_FLEXIBLE)
class SaslHandshakeResponse:
    error_code: int = int16()
    mechanisms: list[str] = string_array()
