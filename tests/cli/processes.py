"""The `inkless` command as a process of its own."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

INKLESS = [sys.executable, "-c", "import sys; from inkless.cli.main import main; sys.exit(main())"]


def environment(**variables: str) -> dict[str, str]:
    """This process's, without settings that happen to be in it."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("INKLESS_")}
    return {**kept, "PYTHONWARNINGS": "error", **variables}


def run(
    *arguments: str, stdin: bytes = b"", cwd: Path | None = None, **variables: str
) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [*INKLESS, *arguments],
        input=stdin,
        capture_output=True,
        env=environment(**variables),
        cwd=cwd,
        timeout=60,
        check=False,
    )


@contextmanager
def running(*arguments: str, cwd: Path | None = None, **variables: str) -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen(
        [*INKLESS, *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(**variables),
        cwd=cwd,
    ) as process:
        try:
            yield process
        finally:
            process.kill()
