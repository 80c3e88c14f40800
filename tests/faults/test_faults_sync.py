"""Everything is on the disk before the answer: file, folder and SQLite log, each synced, in that order.

kill -9 can't show this, because the system keeps what a process has written. Here the system calls are looked at
(strace), or each step is held up or made to fail inside the process.
"""

import errno
import os
import select
import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import raw_client
import syscalls
from broker_process import BrokerProcess
from checker import Record, read_log
from producer_load import create_topic
from raw_client import RawClient, produced
from syscalls import FILE_WRITES, FOLDERS, RECEIVES, RENAMES, SENDS, SYNCS, Call

from inkless.control_plane.sqlite import connection as plane_connection
from inkless.testing import RunningBroker, broker

RECORDS = 10
KAFKA_STORAGE_ERROR = 56
UPLOAD_ATTEMPTS = 3  # the default of inkless.produce.max.upload.attempts
SILENCE_S = 0.15
STEP_S = 10.0


def request(number: int) -> bytes:
    value = Record("raw", 0, number).value()
    return raw_client.produce("t", [(0, raw_client.batch([value]))], number)


class Traced:
    """A trace of a broker that answered single produce requests, one after the other, on one connection."""

    def __init__(self, calls: list[Call], client: str) -> None:
        self.calls = calls
        mine = [call for call in calls if client in call.path]
        self.requests = [call for call in mine if call.name in RECEIVES and call.result > 0]
        self.answers = [call for call in mine if call.name in SENDS]


@pytest.fixture(scope="module")
def traced(tmp_path_factory: pytest.TempPathFactory) -> Traced:
    folder = tmp_path_factory.mktemp("traced")
    if reason := syscalls.why_not(folder):
        pytest.skip(f"{reason}; the order is tested by holding up each step instead")
    output = folder / "trace"
    with BrokerProcess(folder / "deep" / "data", under=syscalls.tracer(output)) as running:
        create_topic(running.address, "t", 1)
        with RawClient(running.port) as client:
            for number in range(RECORDS):
                assert produced(client.ask(request(number))) == [(0, 0, number)]
            name = client.name
        running.stop()
    return Traced(syscalls.read_trace(output), name)


def test_a_trace_shows_file_folder_and_log_synced_before_each_answer(traced: Traced) -> None:
    assert len(traced.requests) == len(traced.answers) == RECORDS
    for received, answered in zip(traced.requests, traced.answers, strict=True):
        between = [c for c in traced.calls if received.ended < c.began and c.ended < answered.began]
        file_sync = one(between, lambda c: c.name in SYNCS and "/.put-" in c.path)
        folder, _, temporary = file_sync.path.rpartition("/")
        renamed = one(between, lambda c, name=temporary: c.name in RENAMES and name in c.quoted)
        folder_sync = one(between, lambda c, path=folder: c.name in SYNCS and c.path == path)
        log_writes = [c for c in between if c.name in FILE_WRITES and c.path.endswith(".db-wal")]
        log_sync = one(between, lambda c: c.name in SYNCS and c.path.endswith(".db-wal"))
        steps = [received, file_sync, renamed, folder_sync, log_writes[0], log_writes[-1], log_sync, answered]
        for before, after in pairwise(steps):
            assert before is after or before.ended < after.began, f"{before}\nis not before\n{after}"
    print(f"{RECORDS} answers, each behind fdatasync(file), rename, fsync(folder), fdatasync(log)")


def test_a_trace_shows_every_new_folder_synced_into_its_parent_before_the_first_answer(traced: Traced) -> None:
    made = [c for c in traced.calls if c.name in FOLDERS and c.ended < traced.answers[0].began]
    assert any(c.quoted[0].endswith("/objects") for c in made)
    for call in made:
        parent = os.path.dirname(call.quoted[0])
        synced = [c for c in traced.calls if c.name in SYNCS and c.path == parent and c.began > call.ended]
        assert synced, f"{call.quoted[0]} was made, {parent} never synced"
        assert synced[0].ended < traced.answers[0].began


def one(calls: list[Call], wanted: Callable[..., bool]) -> Call:
    found = [call for call in calls if wanted(call)]
    assert len(found) == 1, f"{len(found)} instead of one: {found}"
    return found[0]


class Step:
    """One step on the way to the disk, inside the process: it can be held up, or fail before or after its work."""

    def __init__(self) -> None:
        self.reached = threading.Event()
        self.passed = 0
        self._free = threading.Event()
        self._free.set()
        self._error: Exception | None = None
        self._after = False
        self._failures_left = 0

    def hold(self) -> None:
        self.reached.clear()
        self._free.clear()

    def release(self) -> None:
        self._free.set()

    def fail(self, error: Exception, *, after: bool, times: int) -> None:
        self._error, self._after, self._failures_left = error, after, times

    def pass_through(self, call: Callable[..., Any], *args: Any, **named: Any) -> Any:
        self.reached.set()
        assert self._free.wait(STEP_S)
        fails = self._failures_left > 0
        if fails:
            self._failures_left -= 1
            if not self._after:
                raise self._error
        result = call(*args, **named)
        self.passed += 1
        if fails:
            raise self._error
        return result


STEPS = ("sync of the file", "rename", "sync of the folder", "commit")


@pytest.fixture
def steps(monkeypatch: pytest.MonkeyPatch) -> dict[str, Step]:
    """The steps of a broker that is started afterwards."""
    named = {name: Step() for name in STEPS}

    def wrapped(name: str, call: Callable[..., Any]) -> Callable[..., Any]:
        return lambda *args, **more: named[name].pass_through(call, *args, **more)

    monkeypatch.setattr(os, "fdatasync", wrapped("sync of the file", os.fdatasync))
    monkeypatch.setattr(os, "rename", wrapped("rename", os.rename))
    monkeypatch.setattr(os, "fsync", wrapped("sync of the folder", os.fsync))

    class SteppedCursor(sqlite3.Cursor):
        def execute(self, statement: str, *args: Any) -> sqlite3.Cursor:
            if statement != "COMMIT":
                return super().execute(statement, *args)
            cursor: sqlite3.Cursor = named["commit"].pass_through(super().execute, statement)
            return cursor

    class SteppedConnection(sqlite3.Connection):
        def cursor(self, factory: Any = SteppedCursor) -> Any:
            return super().cursor(factory)

    connect = plane_connection.sqlite3.connect
    monkeypatch.setattr(
        plane_connection.sqlite3, "connect", lambda *args, **more: connect(*args, factory=SteppedConnection, **more)
    )
    return named


@contextmanager
def small_broker(folder: Path) -> Iterator[tuple[RunningBroker, RawClient]]:
    with broker({"inkless.data.dir": folder}) as running:
        create_topic(running.bootstrap_servers, "t", 1)
        with RawClient(running.port) as client:
            assert produced(client.ask(request(0))) == [(0, 0, 0)]
            yield running, client


def test_no_answer_comes_while_a_step_is_held_up(steps: dict[str, Step], tmp_path: Path) -> None:
    with small_broker(tmp_path) as (_, client):
        before = {name: step.passed for name, step in steps.items()}
        for step in steps.values():
            step.hold()
        client.send(request(1))
        for at, name in enumerate(STEPS):
            step = steps[name]
            assert step.reached.wait(STEP_S), f"{name} was never asked for"
            assert not select.select([client], [], [], SILENCE_S)[0], f"answered before the {name}"
            early = [later for later in STEPS[at + 1 :] if steps[later].reached.is_set()]
            assert not early, f"{early} before the {name}"
            step.release()
        assert produced(client.answer()) == [(0, 0, 1)]
        assert all(steps[name].passed > before[name] for name in STEPS)


def test_a_commit_waits_for_the_disk(tmp_path: Path) -> None:
    """A COMMIT returns when the log is synced: that is what `synchronous = FULL` means with a write-ahead log."""
    connection = plane_connection._connect(tmp_path / "plane.db")
    try:
        assert connection.execute("PRAGMA synchronous").fetchone() == (2,)
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    finally:
        connection.close()


@pytest.mark.parametrize("after", [False, True], ids=["before it is done", "after it is done"])
@pytest.mark.parametrize("name", STEPS[:3])
def test_a_step_of_the_store_that_fails_is_never_answered_as_success(
    steps: dict[str, Step], tmp_path: Path, name: str, after: bool
) -> None:
    with small_broker(tmp_path) as (running, client):
        steps[name].fail(OSError(errno.EIO, "Input/output error"), after=after, times=UPLOAD_ATTEMPTS)
        assert produced(client.ask(request(1))) == [(0, KAFKA_STORAGE_ERROR, -1)]
        assert produced(client.ask(request(2))) == [(0, 0, 1)]
        found = read_log(running.bootstrap_servers, "t", 1)[0].records
    assert found == [(0, Record("raw", 0, 0)), (1, Record("raw", 0, 2))]


@pytest.mark.parametrize("after", [False, True], ids=["before it is done", "after it is done"])
def test_a_commit_that_fails_is_settled_and_not_guessed(
    steps: dict[str, Step], tmp_path: Path, after: bool, caplog: pytest.LogCaptureFixture
) -> None:
    """Rule 5: once it had landed, once it had not; either way the record is there once and the answer says where."""
    with small_broker(tmp_path) as (running, client):
        steps["commit"].fail(sqlite3.OperationalError("disk I/O error (injected)"), after=after, times=1)
        assert produced(client.ask(request(1))) == [(0, 0, 1)]
        assert produced(client.ask(request(2))) == [(0, 0, 2)]
        found = read_log(running.bootstrap_servers, "t", 1)[0].records
    assert found == [(number, Record("raw", 0, number)) for number in range(3)]
    assert "outcome of a commit is unknown" in caplog.text
