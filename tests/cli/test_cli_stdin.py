"""Lines off a pipe and off a file."""

import asyncio
import os
from pathlib import Path

import pytest

from inkless.cli import stdin
from inkless.cli.payload import InputError


async def lines_of(descriptor: int) -> list[bytes]:
    return [line async for line in stdin.read_lines(descriptor)]


@pytest.mark.parametrize(
    ("data", "lines"),
    [
        (b"", []),
        (b"\n", [b""]),
        (b"a\nb\n", [b"a", b"b"]),
        (b"a\n\nb", [b"a", b"", b"b"]),
        (b"a\r\n\xff\n", [b"a\r", b"\xff"]),
        (b"x" * 1_000_000 + b"\ny", [b"x" * 1_000_000, b"y"]),
    ],
)
def test_lines_of_a_file(tmp_path: Path, data: bytes, lines: list[bytes]) -> None:
    path = tmp_path / "lines"
    path.write_bytes(data)
    with path.open("rb") as file:
        assert asyncio.run(lines_of(file.fileno())) == lines


def test_a_line_is_there_as_soon_as_it_ends() -> None:
    async def body() -> None:
        reading, writing = os.pipe()
        try:
            lines = stdin.read_lines(reading)
            os.write(writing, b"one\ntw")
            assert await anext(lines) == b"one"
            waiting = asyncio.create_task(anext(lines))
            await asyncio.sleep(0.01)
            assert not waiting.done()
            os.write(writing, b"o\n")
            assert await waiting == b"two"
            await lines.aclose()
        finally:
            os.close(reading)
            os.close(writing)

    asyncio.run(body())


def test_a_line_without_end_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stdin, "MAX_LINE_BYTES", 1000)
    path = tmp_path / "lines"
    path.write_bytes(b"fine\n" + bytes(5000))
    with path.open("rb") as file, pytest.raises(InputError, match="longer than 1000 bytes"):
        asyncio.run(lines_of(file.fileno()))
