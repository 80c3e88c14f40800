"""The SQLite file: one connection that writes, one that reads, each on a thread of its own.

WAL with full sync: a commit has reached the disk when it returns. The log is copied back into the file beside the
writers, never inside their commits.
"""

import logging
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from inkless.core.errors import CommitOutcomeUnknown, ControlPlaneError, SettingError
from inkless.core.tasks import Executor
from inkless.storage.folders import make_durable_folder

T = TypeVar("T")
Cursor = sqlite3.Cursor
log = logging.getLogger(__name__)

BUSY_TIMEOUT_S = 5.0
CACHE_KIB = 16 * 1024
CHECKPOINT_BYTES = 8 * 1024 * 1024
WAL_LIMIT_BYTES = 64 * 1024 * 1024


def _connect(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(
        path, timeout=BUSY_TIMEOUT_S, isolation_level=None, check_same_thread=False, cached_statements=256
    )
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute("PRAGMA wal_autocheckpoint = 0")
    connection.execute(f"PRAGMA cache_size = -{CACHE_KIB}")
    return connection


class SqliteFile:
    """Runs functions over a cursor, inside a transaction, off the event loop."""

    def __init__(self, path: Path, writer: Executor, reader: Executor) -> None:
        self.path = path
        self._wal = path.with_name(path.name + "-wal")
        self._writer = writer
        self._reader = reader
        try:
            make_durable_folder(str(path.parent))
            self._write_connection = _connect(path)
            self._read_connection = _connect(path)
        except (sqlite3.Error, OSError) as error:
            raise SettingError(f"can't open the control plane's file {path}: {error}") from error

    async def write(self, work: Callable[[Cursor], T]) -> T:
        """Run `work` in one transaction; it is on disk when this returns."""
        return await self._writer.run(self._write, work)

    async def read(self, work: Callable[[Cursor], T]) -> T:
        """Run `work` on one consistent snapshot, beside the writer."""
        return await self._reader.run(self._read, work)

    async def data_version(self) -> int:
        """A number that changes when another process, or another connection, has committed."""
        return await self._writer.run(self._data_version)

    def _write(self, work: Callable[[Cursor], T]) -> T:
        try:
            cursor = self._write_connection.cursor()
            cursor.execute("BEGIN IMMEDIATE")
        except sqlite3.Error as error:
            raise ControlPlaneError(f"{self.path}: {error}") from error
        try:
            answer = work(cursor)
        except sqlite3.Error as error:
            self._roll_back(cursor)
            raise ControlPlaneError(f"{self.path}: {error}") from error
        except BaseException:
            self._roll_back(cursor)
            raise
        try:
            cursor.execute("COMMIT")
        except sqlite3.Error as error:
            self._roll_back(cursor)
            raise CommitOutcomeUnknown(f"{self.path}: commit: {error}") from error
        return answer

    def _roll_back(self, cursor: Cursor) -> None:
        try:
            if self._write_connection.in_transaction:
                cursor.execute("ROLLBACK")
        except sqlite3.Error as error:
            log.warning("%s: rollback: %s", self.path, error)

    def _read(self, work: Callable[[Cursor], T]) -> T:
        try:
            cursor = self._read_connection.cursor()
            cursor.execute("BEGIN")
            try:
                return work(cursor)
            finally:
                cursor.execute("ROLLBACK")
        except sqlite3.Error as error:
            raise ControlPlaneError(f"{self.path}: {error}") from error

    def _data_version(self) -> int:
        try:
            row = self._write_connection.execute("PRAGMA data_version").fetchone()
        except sqlite3.Error as error:
            raise ControlPlaneError(f"{self.path}: {error}") from error
        return int(row[0])

    async def checkpoint(self) -> None:
        """Copy the log back into the file when it has grown; writers go on meanwhile."""
        await self._reader.run(self._checkpoint)

    def _checkpoint(self) -> None:
        try:
            size = self._wal.stat().st_size
        except FileNotFoundError:
            return
        if size < CHECKPOINT_BYTES:
            return
        mode = "PASSIVE" if size < WAL_LIMIT_BYTES else "TRUNCATE"
        try:
            self._read_connection.execute(f"PRAGMA wal_checkpoint({mode})").fetchall()
        except sqlite3.Error as error:
            raise ControlPlaneError(f"{self.path}: checkpoint: {error}") from error

    def close(self) -> None:
        self._writer.close()
        self._reader.close()
        for connection in (self._read_connection, self._write_connection):
            connection.close()


def one(cursor: Cursor, sql: str, arguments: Any = ()) -> Any:
    """The first row, or None."""
    return cursor.execute(sql, arguments).fetchone()
