"""Keys: their shape, their order, their way back; and that a place has one tenant."""

import asyncio
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inkless.core.clock import SystemClock
from inkless.core.errors import SettingError
from inkless.storage.keys import ObjectKey, ensure_sole_tenant, object_key, parse_key
from inkless.storage.memory import MemoryStore
from inkless.storage.port import InvalidKey

CLUSTER = "5L6g3nShT-eMCtK--X86sw"
OTHER = "AAAAAAAAQACAAAAAAAAAAA"
TIMES = st.integers(0, 9_999_999_999_999)


def test_the_shape_of_a_key() -> None:
    unique = bytes.fromhex("00ff10")
    assert object_key(CLUSTER, 1_709_210_096_789, unique) == f"{CLUSTER}/2024-02-29/1709210096789-00ff10.ink"
    assert object_key("c", 5, unique, "merge-17") == "c/1970-01-01/0000000000005-00ff10-merge-17.ink"


@given(TIMES, st.binary(min_size=1, max_size=16), st.from_regex(r"[A-Za-z0-9._=-]{0,20}", fullmatch=True))
def test_a_key_comes_back(time_ms: int, unique: bytes, work: str) -> None:
    key = object_key(CLUSTER, time_ms, unique, work)
    assert parse_key(key) == ObjectKey(CLUSTER, time_ms, unique, work)
    assert key.split("/")[1] == datetime.fromtimestamp(time_ms // 1000, UTC).date().isoformat()


@given(TIMES, TIMES)
def test_keys_sort_by_time(one: int, two: int) -> None:
    keys = [object_key(CLUSTER, time_ms, b"\0") for time_ms in (one, two)]
    assert (keys[0] < keys[1]) == (one < two)


@pytest.mark.parametrize(
    "key",
    [
        "",
        "c/1970-01-01/0000000000005-00.txt",
        "c/1970-01-01/0000000000005-0.ink",
        "c/1970-01-01/0000000000005-.ink",
        "c/1970-01-01/5-00.ink",
        "c/1970-01-02/0000000000005-00.ink",
        "c/1970-01-01/0000000000005-00.ink\n",
        "c/1970-01-01/٠٠٠٠٠٠٠٠٠٠٠٠٥-00.ink",
        "a/c/1970-01-01/0000000000005-00.ink",
        "c/1970-01-01/0000000000005-00-a/b.ink",
    ],
)
def test_keys_of_others(key: str) -> None:
    with pytest.raises(ValueError, match="not the key"):
        parse_key(key)


def test_a_work_item_that_fits_no_key() -> None:
    with pytest.raises(InvalidKey):
        object_key("c", 5, b"\0", "a b")


def test_another_clusters_objects_are_refused() -> None:
    async def work() -> None:
        store = MemoryStore(SystemClock())
        await ensure_sole_tenant(store, CLUSTER)
        await store.put(object_key(CLUSTER, 5, b"\0"), [b""])
        await store.put("backups/of/something", [b""])
        await ensure_sole_tenant(store, CLUSTER)
        await store.put(object_key(OTHER, 5, b"\0"), [b""])
        with pytest.raises(SettingError) as caught:
            await ensure_sole_tenant(store, CLUSTER)
        assert CLUSTER in str(caught.value)
        assert OTHER in str(caught.value)

    asyncio.run(work())
