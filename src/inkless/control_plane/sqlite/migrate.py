"""Forward migrations of the SQLite file; its number stands in `PRAGMA user_version`."""

import sqlite3

from inkless.control_plane.sqlite.connection import Cursor
from inkless.control_plane.sqlite.statements import migrations
from inkless.core.errors import SettingError


def migrate(cursor: Cursor) -> int:
    """Bring the schema up to the newest number, inside the caller's transaction; the number that it had."""
    found = int(cursor.execute("PRAGMA user_version").fetchone()[0])
    newest = migrations()[-1][0]
    if found > newest:
        raise SettingError(
            f"the control plane's schema has number {found}, this release knows up to {newest}: use a newer release"
        )
    for number, script in migrations():
        if number > found:
            for statement in _statements(script):
                cursor.execute(statement)
            cursor.execute(f"PRAGMA user_version = {number}")
    return found


def _statements(script: str) -> list[str]:
    """Split a script where SQLite itself sees complete statements."""
    statements = []
    pending = ""
    for line in script.splitlines(keepends=True):
        pending += line
        if sqlite3.complete_statement(pending):
            statements.append(pending)
            pending = ""
    assert not pending.strip(), f"unfinished statement: {pending}"
    return statements
