"""Object keys: whose an object is, when it was uploaded, what makes it unique; and one tenant per place."""

import re
from dataclasses import dataclass
from datetime import date

from inkless.core.errors import SettingError
from inkless.storage.port import ObjectStore, check_key

_DAY_MS = 86_400_000
_EPOCH_DAY = date(1970, 1, 1).toordinal()
_KEY = re.compile(
    r"(?P<cluster>[A-Za-z0-9_-]+)/(?P<day>[0-9]{4}-[0-9]{2}-[0-9]{2})/"
    r"(?P<time>[0-9]{13})-(?P<unique>(?:[0-9a-f]{2})+)(?:-(?P<work>[A-Za-z0-9._=-]+))?\.ink"
)
_CLUSTER_ID = re.compile(r"[A-Za-z0-9_-]{22}")


@dataclass(frozen=True, slots=True)
class ObjectKey:
    cluster_id: str
    time_ms: int
    unique: bytes
    work: str = ""


def object_key(cluster_id: str, now_ms: int, unique: bytes, work: str = "") -> str:
    """Keys of one cluster sort by time; the folder of the day (UTC) is for people and for listing in parts."""
    assert unique
    suffix = f"-{work}" if work else ""
    key = f"{cluster_id}/{_day(now_ms)}/{now_ms:013d}-{unique.hex()}{suffix}.ink"
    check_key(key)
    return key


def parse_key(key: str) -> ObjectKey:
    """ValueError for a key that `object_key` didn't make."""
    match = _KEY.fullmatch(key)
    if match is None or match["day"] != _day(int(match["time"])):
        raise ValueError(f"not the key of an Inkless object: {key!r}")
    return ObjectKey(match["cluster"], int(match["time"]), bytes.fromhex(match["unique"]), match["work"] or "")


async def ensure_sole_tenant(store: ObjectStore, cluster_id: str) -> None:
    """Refuse a place that holds another cluster's objects: two sweeps would delete each other's data."""
    others = [
        name for name in await store.folders("") if name != cluster_id and _CLUSTER_ID.fullmatch(name) is not None
    ]
    if others:
        raise SettingError(
            f"the object storage of cluster {cluster_id} already holds objects of cluster {others[0]}: "
            "give each cluster its own inkless.object.key.prefix"
        )


def _day(now_ms: int) -> str:
    return date.fromordinal(_EPOCH_DAY + now_ms // _DAY_MS).isoformat()
