"""DescribeUserScramCredentials (API key 50)."""

from inkless.wire.shape import array, int8, int16, int32, message, nullable_array, nullable_string, string, struct


@struct
class UserName:
    name: str = string()


@message(flexible_from=0)
class DescribeUserScramCredentialsRequest:
    """Null or no users ask for all of them."""

    users: list[UserName] | None = nullable_array(UserName)


@struct
class CredentialInfo:
    mechanism: int = int8()
    iterations: int = int32()


@struct
class DescribeUserScramCredentialsResult:
    user: str = string()
    error_code: int = int16()
    error_message: str | None = nullable_string()
    credential_infos: list[CredentialInfo] = array(CredentialInfo)


@message(flexible_from=0)
class DescribeUserScramCredentialsResponse:
    throttle_time_ms: int = int32()
    error_code: int = int16()
    error_message: str | None = nullable_string()
    results: list[DescribeUserScramCredentialsResult] = array(DescribeUserScramCredentialsResult)
