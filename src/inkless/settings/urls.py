"""The URLs of control plane and object store: checked, made absolute, and shown without credentials."""

import os
import re
from pathlib import Path
from urllib.parse import quote, unquote, urlsplit

_SECRET_WORDS = ("secret", "password", "token", "key")


def parse_url(text: str, local_schemes: tuple[str, ...], bare_schemes: tuple[str, ...], valid: str) -> str:
    scheme, colon, rest = text.partition(":")
    scheme = scheme.lower()
    if not colon:
        raise ValueError(f"a URL: {valid}")
    if scheme in bare_schemes:
        if rest.strip("/"):
            raise ValueError(f"just {scheme}: with nothing behind it")
        return f"{scheme}:"
    if scheme not in local_schemes:
        raise ValueError(f"{valid}; {scheme}: is not supported")
    parts = urlsplit(text)
    if parts.netloc:
        raise ValueError(f"{valid}, with three slashes before an absolute path")
    if parts.query or parts.fragment:
        raise ValueError(f"{valid}, with '?' and '#' in a path written as %3F and %23")
    if not parts.path.strip("/") or "\0" in unquote(parts.path):
        raise ValueError(f"{valid}, with a path")
    return f"{scheme}:{rest}"


def resolve_url(url: str, data_dir: Path) -> str:
    """The URL with an absolute path; a relative one lies in the data folder."""
    parts = urlsplit(url)
    if not parts.path:
        return url
    path = os.path.abspath(data_dir / unquote(parts.path))
    return f"{parts.scheme}://{quote('/' + path.lstrip('/'))}"


def url_path(url: str) -> Path:
    """The path that a resolved local URL names."""
    return Path(unquote(urlsplit(url).path))


def hide_credentials(url: str) -> str:
    """The URL, even a broken one, without its password and without query values that look secret."""
    url = re.sub(r"://([^/?#:@]*):.*@", r"://\1:[hidden]@", url)

    def hide(match: re.Match[str]) -> str:
        is_secret = any(word in match["name"].lower() for word in _SECRET_WORDS)
        return f"{match['lead']}{match['name']}={'[hidden]' if is_secret else match['value']}"

    return re.sub(r"(?P<lead>[?&])(?P<name>[^=&#]*)=(?P<value>[^&#]*)", hide, url)
