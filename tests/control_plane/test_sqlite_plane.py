"""What is the SQLite plane's own: its file, its migrations, its bounded waits, and commits that fail half-way."""

import asyncio
import sqlite3
from pathlib import Path

import pytest
from plane_fixtures import Case, HandClock

from inkless.control_plane.sqlite import connection
from inkless.control_plane.sqlite.plane import SqlitePlane
from inkless.control_plane.sqlite.statements import migrations, sql
from inkless.core.errors import CommitOutcomeUnknown, ControlPlaneError, SettingError
from inkless.core.tasks import ThreadExecutor


async def open_plane(path: Path) -> SqlitePlane:
    return await SqlitePlane.open(path, HandClock(), ThreadExecutor("w", 1), ThreadExecutor("r", 1))


def test_the_file_is_synced_in_full(tmp_path: Path) -> None:
    async def main() -> None:
        plane = await open_plane(tmp_path / "plane.db")
        rows = await plane._file.read(
            lambda cursor: [
                cursor.execute(f"PRAGMA {name}").fetchone()[0] for name in ("journal_mode", "synchronous")
            ]
        )
        assert rows == ["wal", 2]
        await plane.close()

    asyncio.run(main())


def test_a_newer_schema_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "plane.db"
    with sqlite3.connect(path) as made:
        made.execute("PRAGMA user_version = 999")
    made.close()
    with pytest.raises(SettingError, match="999"):
        asyncio.run(open_plane(path))


def test_a_file_that_is_no_database_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "plane.db"
    path.write_bytes(b"something else" * 1000)
    with pytest.raises((SettingError, ControlPlaneError), match=r"plane\.db"):
        asyncio.run(open_plane(path))


def test_a_locked_file_is_waited_for_within_bounds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "BUSY_TIMEOUT_S", 0.1)
    path = tmp_path / "plane.db"

    async def main() -> None:
        plane = await open_plane(path)
        case = await Case.start(plane, HandClock(), lambda: open_plane(path))
        blocker = sqlite3.connect(path, isolation_level=None)
        blocker.execute("BEGIN IMMEDIATE")
        with pytest.raises(ControlPlaneError, match="locked"):
            await case.commit(case.batch(0))
        blocker.execute("ROLLBACK")
        blocker.close()
        assert (await case.commit(case.batch(0)))[0].base_offset == 0
        await plane.close()

    asyncio.run(main())


def test_a_commit_that_fails_at_the_end_has_an_unknown_outcome(tmp_path: Path) -> None:
    class Failing:
        """A cursor whose COMMIT raises, as a full disk makes it."""

        def __init__(self, inner: sqlite3.Cursor) -> None:
            self._inner = inner

        def execute(self, text: str, *arguments: object) -> object:
            if text == "COMMIT":
                raise sqlite3.OperationalError("disk I/O error")
            return self._inner.execute(text, *arguments)

        def __getattr__(self, name: str) -> object:
            return getattr(self._inner, name)

    class Connection:
        def __init__(self, inner: sqlite3.Connection) -> None:
            self._inner = inner
            self.fail = False

        def cursor(self) -> object:
            return Failing(self._inner.cursor()) if self.fail else self._inner.cursor()

        def __getattr__(self, name: str) -> object:
            return getattr(self._inner, name)

    async def main() -> None:
        plane = await open_plane(tmp_path / "plane.db")
        case = await Case.start(plane, HandClock(), lambda: open_plane(tmp_path / "plane.db"))
        wrapped = Connection(plane._file._write_connection)
        plane._file._write_connection = wrapped  # type: ignore[assignment]
        wrapped.fail = True
        with pytest.raises(CommitOutcomeUnknown):
            await case.commit(case.batch(0), key="k")
        wrapped.fail = False
        assert await plane.condemn("k") is None
        assert (await case.commit(case.batch(0)))[0].base_offset == 0
        await plane.close()

    asyncio.run(main())


def test_the_log_is_copied_back_and_stays_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "CHECKPOINT_BYTES", 100_000)

    async def main() -> None:
        plane = await open_plane(tmp_path / "plane.db")
        case = await Case.start(plane, HandClock(), lambda: open_plane(tmp_path / "plane.db"))
        wal = tmp_path / "plane.db-wal"
        sizes = []
        for _ in range(200):
            await case.commit(*[case.batch(at) for at in range(4)])
            await plane.tidy()
            sizes.append(wal.stat().st_size)
        assert max(sizes) < 400_000
        await plane.close()

    asyncio.run(main())


def test_every_statement_is_one_and_used_by_name() -> None:
    assert [number for number, _ in migrations()] == list(range(1, len(migrations()) + 1))
    folder = Path(connection.__file__).parent.parent / "sql" / "sqlite"
    source = "".join(path.read_text() for path in (folder.parent.parent / "sqlite").glob("*.py"))
    for path in folder.glob("*.sql"):
        assert sqlite3.complete_statement(sql(path.stem) + ";")
        assert f'"{path.stem}"' in source, f"{path.name} is not used"
