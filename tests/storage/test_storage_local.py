"""Files: the order of system calls that makes a put durable, and what is left when one of them fails."""

import asyncio
import errno
import gc
import os
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

import pytest

from inkless.core.errors import ObjectNotFound, StorageError
from inkless.core.tasks import ThreadExecutor
from inkless.storage import folders, local
from inkless.storage.local import LocalStore

T = TypeVar("T")


class InlineExecutor:
    """Counts its calls and makes them at once."""

    def __init__(self) -> None:
        self.calls = 0

    async def run(self, call: Callable[..., T], *args: Any) -> T:
        self.calls += 1
        return call(*args)

    def close(self) -> None: ...


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "deep" / "store"


@pytest.fixture
def executor() -> InlineExecutor:
    return InlineExecutor()


@pytest.fixture
def store(root: Path, executor: InlineExecutor) -> Iterator[LocalStore]:
    opened = LocalStore(root, executor)
    yield opened
    opened.close()


def files_below(root: Path) -> list[str]:
    return sorted(str(path.relative_to(root)) for path in root.rglob("*") if path.is_file())


def open_below(root: Path) -> list[str]:
    """The paths under the root that this process holds open."""
    gc.collect()  # the traceback of an earlier failure may hold one
    paths = []
    for descriptor in os.listdir("/proc/self/fd"):
        with suppress(FileNotFoundError):
            paths.append(os.readlink(f"/proc/self/fd/{descriptor}"))
    return [path for path in paths if path.startswith(str(root))]


async def keys_of(store: LocalStore) -> list[str]:
    return [stored.key async for stored in store.list("")]


class Tracer:
    """Stands in for `os` in the module: writes down the calls that matter, and fails those it is told to."""

    def __init__(self) -> None:
        self.calls: list[str] = []
        self.failing: dict[str, int] = {}
        self._names: dict[int, str] = {}

    def __getattr__(self, name: str) -> Any:
        real = getattr(os, name)
        if name not in ("open", "writev", "fdatasync", "fsync", "rename", "mkdir", "unlink"):
            return real

        def traced(*args: Any, **kwargs: Any) -> Any:
            target = self._names.get(args[0], "?") if isinstance(args[0], int) else os.path.basename(args[0])
            target = "temporary" if target.startswith(".put-") else target
            if name != "open":
                self.calls.append(f"{name} {target}")
            if (code := self.failing.get(f"{name} {target}")) is not None:
                raise OSError(code, os.strerror(code))
            result = real(*args, **kwargs)
            if name == "open":
                self._names[result] = target
            return result

        return traced


@pytest.fixture
def tracer(monkeypatch: pytest.MonkeyPatch, store: LocalStore) -> Tracer:
    tracer = Tracer()
    monkeypatch.setattr(local, "os", tracer)
    monkeypatch.setattr(folders, "os", tracer)
    return tracer


def test_a_put_syncs_the_file_before_the_rename_and_the_folder_after_it(
    store: LocalStore, tracer: Tracer, executor: InlineExecutor
) -> None:
    asyncio.run(store.put("c/day/o", [b"x"]))
    written = ["writev temporary", "fdatasync temporary", "rename temporary", "fsync day"]
    assert tracer.calls == ["mkdir c", "fsync store", "mkdir day", "fsync c", *written]
    assert executor.calls == 1
    tracer.calls.clear()
    asyncio.run(store.put("c/day/o2", [b"x"]))
    assert tracer.calls == written
    assert executor.calls == 2


@pytest.mark.parametrize("call", ["writev temporary", "fdatasync temporary", "rename temporary"])
@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EIO, errno.EDQUOT])
def test_a_put_that_fails_leaves_nothing(store: LocalStore, tracer: Tracer, root: Path, call: str, code: int) -> None:
    tracer.failing[call] = code
    with pytest.raises(StorageError) as caught:
        asyncio.run(store.put("c/o", [b"x"]))
    assert str(root / "c/o") in str(caught.value)
    assert os.strerror(code) in str(caught.value)
    assert files_below(root) == []
    tracer.failing.clear()
    asyncio.run(store.put("c/o", [b"x"]))
    assert files_below(root) == ["c/o"]


def test_a_put_that_fails_leaves_the_object_that_was_there(store: LocalStore, tracer: Tracer) -> None:
    asyncio.run(store.put("c/o", [b"old"]))
    tracer.failing["rename temporary"] = errno.EIO
    with pytest.raises(StorageError):
        asyncio.run(store.put("c/o", [b"new"]))
    assert asyncio.run(store.get_all("c/o")) == b"old"


@pytest.mark.parametrize("call", ["fsync store", "fsync c"])
def test_a_folder_that_could_not_be_synced_fails_the_put(store: LocalStore, tracer: Tracer, call: str) -> None:
    tracer.failing[call] = errno.EIO
    with pytest.raises(StorageError):
        asyncio.run(store.put("c/o", [b"x"]))
    tracer.failing.clear()
    tracer.calls.clear()
    asyncio.run(store.put("c/o", [b"x"]))
    assert "fsync c" in tracer.calls


def test_a_folder_is_not_trusted_until_its_parent_was_synced(store: LocalStore, tracer: Tracer) -> None:
    tracer.failing["fsync store"] = errno.EIO
    with pytest.raises(StorageError):
        asyncio.run(store.put("c/o", [b"x"]))
    tracer.failing.clear()
    tracer.calls.clear()
    asyncio.run(store.put("c/o", [b"x"]))
    assert tracer.calls[:2] == ["mkdir c", "fsync store"]


def test_a_crash_in_the_middle_of_a_put_shows_no_object(
    store: LocalStore, root: Path, executor: InlineExecutor, tracer: Tracer
) -> None:
    tracer.failing = {"rename temporary": errno.EIO, "unlink temporary": errno.EIO}
    with pytest.raises(StorageError):
        asyncio.run(store.put("c/o", [b"x"]))
    (leftover,) = files_below(root)
    assert asyncio.run(keys_of(store)) == []
    assert asyncio.run(store.folders("")) == []
    with pytest.raises(ObjectNotFound):
        asyncio.run(store.size("c/o"))
    tracer.failing.clear()
    LocalStore(root, executor).close()
    assert files_below(root) == [leftover]  # young: another process may be writing it
    an_hour_ago = time.time() - 3600
    os.utime(root / leftover, (an_hour_ago, an_hour_ago))
    LocalStore(root, executor).close()
    assert files_below(root) == []


def test_opening_leaves_old_objects_alone(store: LocalStore, root: Path, executor: InlineExecutor) -> None:
    asyncio.run(store.put("c/o", [b"x"]))
    os.utime(root / "c/o", (1, 1))
    LocalStore(root, executor).close()
    assert files_below(root) == ["c/o"]


def test_short_writes_are_gone_on_with(store: LocalStore, monkeypatch: pytest.MonkeyPatch) -> None:
    class Trickle(Tracer):
        def __getattr__(self, name: str) -> Any:
            return self.trickle if name == "writev" else getattr(os, name)

        def trickle(self, descriptor: int, buffers: list[bytes]) -> int:
            assert len(buffers) <= os.sysconf("SC_IOV_MAX")
            return os.write(descriptor, b"".join(buffers)[:7])

    monkeypatch.setattr(local, "os", Trickle())
    body = [b"abc", b"", bytearray(b"defghijkl"), memoryview(b"m"), b"nopqrstuvwxyz" * 3] * 300
    asyncio.run(store.put("o", body))
    assert asyncio.run(store.get_all("o")) == b"".join(body)


def test_a_vanished_root_is_no_missing_object(store: LocalStore, root: Path) -> None:
    asyncio.run(store.put("c/o", [b"x"]))
    root.rename(root.with_name("elsewhere"))
    asks: list[Callable[[], Awaitable[object]]] = [
        lambda: store.get("c/o", 0, 1),
        lambda: store.get_all("c/o"),
        lambda: store.size("c/o"),
        lambda: store.folders(""),
        lambda: keys_of(store),
        lambda: store.put("d/o", [b"x"]),
    ]
    for ask in asks:
        with pytest.raises(StorageError) as caught:
            asyncio.run(ask())
        assert not isinstance(caught.value, ObjectNotFound)
        assert str(root) in str(caught.value)
    assert list(asyncio.run(store.delete(["c/o"]))) == ["c/o"]
    assert not root.exists()


def test_a_folder_removed_under_the_store_is_made_again(store: LocalStore, root: Path) -> None:
    asyncio.run(store.put("c/day/o", [b"x"]))
    asyncio.run(store.delete(["c/day/o"]))
    (root / "c/day").rmdir()
    (root / "c").rmdir()
    asyncio.run(store.put("c/day/o", [b"y"]))
    assert asyncio.run(store.get_all("c/day/o")) == b"y"


def test_one_key_that_cannot_be_deleted_does_not_keep_the_others(store: LocalStore, tracer: Tracer) -> None:
    for key in ("a", "b", "c"):
        asyncio.run(store.put(key, [b""]))
    tracer.failing["unlink b"] = errno.EACCES
    failed = asyncio.run(store.delete(["a", "b", "c"]))
    assert list(failed) == ["b"]
    assert os.strerror(errno.EACCES) in str(failed["b"])
    assert asyncio.run(keys_of(store)) == ["b"]


def test_a_root_that_is_a_file_is_a_clear_error(tmp_path: Path, executor: InlineExecutor) -> None:
    (tmp_path / "file").write_bytes(b"")
    for root in (tmp_path / "file", tmp_path / "file" / "below"):
        with pytest.raises(StorageError) as caught:
            LocalStore(root, executor)
        assert str(root) in str(caught.value)


def test_open_folders_are_bounded_and_closed(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local, "_MAX_OPEN_FOLDERS", 3)
    executor = ThreadExecutor("store", threads=4)
    store = LocalStore(root, executor)

    async def work() -> None:
        await asyncio.gather(*(store.put(f"{i % 20}/{i}", [b"x"]) for i in range(200)))

    asyncio.run(work())
    assert len(open_below(root)) <= 3
    assert len(files_below(root)) == 200
    store.close()
    executor.close()
    assert open_below(root) == []


def test_two_stores_may_share_a_folder(root: Path, executor: InlineExecutor) -> None:
    one, two = LocalStore(root, executor), LocalStore(root, executor)
    asyncio.run(one.put("c/1", [b"x"]))
    asyncio.run(two.put("c/2", [b"y"]))
    assert asyncio.run(keys_of(one)) == asyncio.run(keys_of(two)) == ["c/1", "c/2"]
    one.close()
    two.close()
