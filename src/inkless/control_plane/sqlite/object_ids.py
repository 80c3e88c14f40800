"""The number under which the plane knows an object: made from its key, so that no index of keys has to be written.

Numbers grow with the time in the key, so new rows come at the end of the table. Two keys of one millisecond may get
the same number; the second is then refused as if it were condemned, and its bytes go up under another key.
"""

from zlib import crc32

_TIME_DIGITS = 13
_HASH_BITS = 21


def object_id(key: str) -> int:
    name = key.rpartition("/")[2]
    time_ms = int(name[:_TIME_DIGITS]) if name[:_TIME_DIGITS].isdigit() else 0
    return time_ms << _HASH_BITS | crc32(key.encode()) & ((1 << _HASH_BITS) - 1)
