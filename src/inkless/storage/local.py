"""Objects as files below one folder, safe against a crash of the machine at any moment.

A put writes a temporary file beside its place, syncs it, renames it and syncs the folder, all in one call of the
executor. Several processes may share the folder.
"""

import errno
import os
import stat
import threading
import time
from collections import OrderedDict
from collections.abc import AsyncGenerator, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from inkless.core.errors import ObjectNotFound, StorageError
from inkless.core.tasks import Executor
from inkless.storage.folders import make_durable_folder, sync_folder
from inkless.storage.port import Buffer, StoredObject, check_key, check_prefix

_TEMPORARY_START = ".put-"  # a key's parts never start with a dot
_LEFTOVER_AGE_S = 60.0
_MAX_OPEN_FOLDERS = 64
_MAX_BUFFERS_PER_WRITE = os.sysconf("SC_IOV_MAX") if os.sysconf("SC_IOV_MAX") > 0 else 1024
_FOLDER_MODE = 0o777
_FILE_MODE = 0o666


class LocalStore:
    def __init__(self, root: Path, executor: Executor, writing: Executor | None = None) -> None:
        """Opens the folder, creating it where it is missing, and removes what crashed puts left there."""
        self._root = os.path.abspath(root)
        self._executor = executor
        self._writing = writing or executor  # puts that wait for no reader's gets
        self._folders = _OpenFolders(self._root)
        with _reported("open", self._root):
            make_durable_folder(self._root)
            _check_access(self._root)
            _remove_leftovers(self._root, older_than=time.time() - _LEFTOVER_AGE_S)

    async def put(self, key: str, body: Sequence[Buffer]) -> None:
        check_key(key)
        await self._writing.run(self._put, key, body)

    async def get(self, key: str, start: int, end: int) -> Buffer:
        assert 0 <= start < end
        check_key(key)
        return await self._executor.run(self._get, key, start, end)

    async def get_all(self, key: str) -> Buffer:
        check_key(key)
        return await self._executor.run(self._get, key, 0, None)

    async def size(self, key: str) -> int:
        check_key(key)
        return await self._executor.run(self._size, key)

    async def delete(self, keys: Sequence[str]) -> Mapping[str, StorageError]:
        for key in keys:
            check_key(key)
        return await self._executor.run(self._delete, keys)

    async def folders(self, prefix: str) -> Sequence[str]:
        check_prefix(prefix)
        assert prefix == "" or prefix.endswith("/")
        return await self._executor.run(self._folders_below, prefix)

    async def list(self, prefix: str, start_after: str = "") -> AsyncGenerator[StoredObject, None]:
        """One folder at a time: that much is held in memory, and that long a thread."""
        check_prefix(prefix)
        wanted = _Wanted(prefix, start_after)
        pending = [_Entry("", is_folder=True)]
        while pending:
            entry = pending.pop()
            if entry.is_folder:
                pending += reversed(await self._executor.run(self._scan, entry.key, wanted))
            else:
                yield StoredObject(entry.key, entry.size, entry.modified_ms)

    def close(self) -> None:
        self._folders.close()

    def _put(self, key: str, body: Sequence[Buffer]) -> None:
        folder, _, name = key.rpartition("/")
        with _reported("put", self._path(key)):
            try:
                _write_durably(self._folders.open(folder), name, body)
            except FileNotFoundError:
                # Somebody removed the folder under its open descriptor: once more from its path.
                self._check_root()
                self._folders.forget(folder)
                _write_durably(self._folders.open(folder), name, body)

    def _get(self, key: str, start: int, end: int | None) -> bytes:
        with self._existing("get", key) as path:
            descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
            try:
                size = _object_size(os.fstat(descriptor))
                if end is None:
                    end = size
                data = _read_exactly(descriptor, start, end) if end <= size else None
            finally:
                os.close(descriptor)
        if data is None:
            raise StorageError(f"bytes {start} to {end} of {path}, which has {size}")
        return data

    def _size(self, key: str) -> int:
        with self._existing("size", key) as path:
            return _object_size(os.stat(path))

    def _delete(self, keys: Sequence[str]) -> dict[str, StorageError]:
        """Not synced: an object that is back after a crash is an orphan, and the sweep finds those."""
        failed = {}
        for key in keys:
            try:
                with self._existing("delete", key) as path:
                    os.unlink(path)
            except ObjectNotFound:
                pass
            except StorageError as error:
                failed[key] = error
        return failed

    def _folders_below(self, prefix: str) -> Sequence[str]:
        """A folder without an object in it is none: other stores don't know empty folders."""
        everything = _Wanted("", "")
        entries = self._scan(prefix, everything)
        return [
            entry.key[len(prefix) : -1] for entry in entries if entry.is_folder and self._holds_objects(entry.key)
        ]

    def _holds_objects(self, folder: str) -> bool:
        entries = self._scan(folder, _Wanted("", ""))
        return any(not entry.is_folder or self._holds_objects(entry.key) for entry in entries)

    def _scan(self, folder: str, wanted: "_Wanted") -> Sequence["_Entry"]:
        """The wanted entries of one folder (its key ends with '/'), in the order of their keys."""
        path = self._path(folder)
        entries: list[_Entry] = []
        with _reported("list", path):
            try:
                with os.scandir(path) as scan:
                    visible = (found for found in scan if not found.name.startswith("."))
                    entries += [entry for found in visible if (entry := _wanted_entry(folder, found, wanted))]
            except (FileNotFoundError, NotADirectoryError):
                self._check_root()
        entries.sort(key=lambda entry: entry.key)
        return entries

    @contextmanager
    def _existing(self, operation: str, key: str) -> Iterator[str]:
        """Tell a missing object from everything else that may be wrong, a vanished root above all."""
        path = self._path(key)
        with _reported(operation, path):
            try:
                yield path
            except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
                self._check_root()
                raise ObjectNotFound(f"no object {path}") from None

    def _check_root(self) -> None:
        if not os.path.isdir(self._root):
            raise StorageError(f"the folder {self._root} has vanished")

    def _path(self, key: str) -> str:
        return os.path.join(self._root, key)


@dataclass(frozen=True, slots=True)
class _Entry:
    """A file or folder of a listing; a folder's key ends with '/', which is also how it sorts among the keys."""

    key: str
    is_folder: bool
    size: int = 0
    modified_ms: int = 0


@dataclass(frozen=True, slots=True)
class _Wanted:
    prefix: str
    start_after: str

    def has(self, key: str) -> bool:
        return key.startswith(self.prefix) and key > self.start_after

    def may_lie_in(self, folder: str) -> bool:
        if not (folder.startswith(self.prefix) or self.prefix.startswith(folder)):
            return False
        return folder > self.start_after or self.start_after.startswith(folder)


def _wanted_entry(folder: str, found: "os.DirEntry[str]", wanted: _Wanted) -> _Entry | None:
    key = folder + found.name
    if found.is_dir():
        return _Entry(key + "/", is_folder=True) if wanted.may_lie_in(key + "/") else None
    if not wanted.has(key):
        return None
    try:
        status = found.stat()
    except FileNotFoundError:
        return None  # deleted since
    return _Entry(key, is_folder=False, size=status.st_size, modified_ms=status.st_mtime_ns // 1_000_000)


class _Folder:
    """An open folder; it closes when the last user lets go of it, so none is closed under a running put."""

    __slots__ = ("descriptor",)

    def __init__(self, path: str) -> None:
        self.descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)

    def __del__(self) -> None:
        if hasattr(self, "descriptor"):
            os.close(self.descriptor)


class _OpenFolders:
    """The folders written to lately, kept open, because each put syncs one."""

    def __init__(self, root: str) -> None:
        self._root = root
        self._lock = threading.Lock()
        self._open: OrderedDict[str, _Folder] = OrderedDict()

    def open(self, folder: str) -> _Folder:
        with self._lock:
            if (known := self._open.get(folder)) is not None:
                self._open.move_to_end(folder)
                return known
        opened = _Folder(self._make(folder))
        with self._lock:
            self._open[folder] = opened
            while len(self._open) > _MAX_OPEN_FOLDERS:
                self._open.popitem(last=False)
        return opened

    def forget(self, folder: str) -> None:
        with self._lock:
            self._open.pop(folder, None)

    def close(self) -> None:
        with self._lock:
            self._open.clear()

    def _make(self, folder: str) -> str:
        """Create the folder below the root, which must exist, and sync each parent.

        A parent is synced even where the folder was there: another process may have made it and not synced it yet.
        """
        path = self._root
        for name in folder.split("/") if folder else ():
            parent, path = path, os.path.join(path, name)
            with suppress(FileExistsError):
                os.mkdir(path, _FOLDER_MODE)
            sync_folder(parent)
        return path


def _write_durably(folder: _Folder, name: str, body: Sequence[Buffer]) -> None:
    """Holds on to the folder, not to its bare descriptor, which would be closed as soon as others forget it."""
    temporary = f"{_TEMPORARY_START}{os.getpid()}-{os.urandom(8).hex()}"
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
    descriptor = os.open(temporary, flags, _FILE_MODE, dir_fd=folder.descriptor)
    try:
        try:
            _write_all(descriptor, body)
            os.fdatasync(descriptor)
        finally:
            os.close(descriptor)
        os.rename(temporary, name, src_dir_fd=folder.descriptor, dst_dir_fd=folder.descriptor)
    except BaseException:
        with suppress(OSError):
            os.unlink(temporary, dir_fd=folder.descriptor)
        raise
    os.fsync(folder.descriptor)


def _write_all(descriptor: int, body: Sequence[Buffer]) -> None:
    buffers = [buffer for buffer in body if len(buffer)]
    for first in range(0, len(buffers), _MAX_BUFFERS_PER_WRITE):
        chunk = buffers[first : first + _MAX_BUFFERS_PER_WRITE]
        missing = sum(map(len, chunk))
        while missing:
            written = os.writev(descriptor, chunk)
            missing -= written
            if missing:
                chunk = _rest(chunk, written)


def _rest(buffers: Sequence[Buffer], written: int) -> list[Buffer]:
    for index, buffer in enumerate(buffers):
        if written < len(buffer):
            return [memoryview(buffer)[written:], *buffers[index + 1 :]]
        written -= len(buffer)
    return []


def _read_exactly(descriptor: int, start: int, end: int) -> bytes | None:
    """The bytes straight into their buffer; the system cuts reads at 2 GiB, hence the loop. None if cut short."""
    data = os.pread(descriptor, end - start, start)
    while len(data) < end - start:
        more = os.pread(descriptor, end - start - len(data), start + len(data))
        if not more:
            return None
        data += more
    return data


def _object_size(status: os.stat_result) -> int:
    if not stat.S_ISREG(status.st_mode):
        raise IsADirectoryError
    return status.st_size


def _check_access(root: str) -> None:
    if not os.path.isdir(root):
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR))
    if not os.access(root, os.R_OK | os.W_OK | os.X_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))


def _remove_leftovers(root: str, older_than: float) -> None:
    """Younger temporary files may belong to another process that is writing them now."""
    for folder, _, names in os.walk(root):
        for name in names:
            if name.startswith(_TEMPORARY_START):
                path = os.path.join(folder, name)
                with suppress(FileNotFoundError):
                    if os.stat(path).st_mtime < older_than:
                        os.unlink(path)


@contextmanager
def _reported(operation: str, path: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise StorageError(f"{operation} {path}: {error.strerror or error}") from error
