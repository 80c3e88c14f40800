"""`inkless objects dump`: sound objects, and damaged ones in every part."""

import json
from pathlib import Path
from typing import Any

import pytest

from inkless.cli.main import main
from inkless.core.ids import TopicId, id_to_text
from inkless.records.compression import Compression
from inkless.records.record import Record, encode_batch
from inkless.storage.object_format import HEAD, IndexEntry, encode_tail

ONE, OTHER = TopicId(b"0123456789abcdef"), TopicId(b"1123456789abcdef")


def made_object() -> bytes:
    """Two batches of one partition, and one of another topic's."""
    first = encode_batch([Record(n, 1_700_000_000_000 + n, b"k", b"v%d" % n) for n in range(3)], producer_id=9)
    second = encode_batch([Record(0, 5, None, b"\xff", (("h", b"1"),))], codec=Compression.ZSTD)
    third = encode_batch([Record(0, 6, None, None)], append_time=7)
    start = len(HEAD)
    entries = [
        IndexEntry(ONE, 0, start, len(first) + len(second), 2, 4),
        IndexEntry(OTHER, 7, start + len(first) + len(second), len(third), 1, 1),
    ]
    batches = first + second + third
    return HEAD + batches + encode_tail(entries, start + len(batches))


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "object.ink"
    path.write_bytes(made_object())
    return path


def dumped(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, Any]:
    code = main(["objects", "dump", *arguments, "--output", "json"])
    return code, json.loads(capsys.readouterr().out)


def test_a_sound_object(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, dump = dumped(capsys, str(file))
    assert code == 0
    assert (dump["bytes"], dump["format"], dump["problems"], dump["gaps"]) == (file.stat().st_size, 1, [], [])
    assert [(entry["topic_id"], entry["partition"], entry["records"]) for entry in dump["index"]] == [
        (id_to_text(ONE), 0, 4),
        (id_to_text(OTHER), 7, 1),
    ]
    first, second, third = dump["batches"]
    assert (first["position"], first["record_count"], first["last_offset_delta"]) == (16, 3, 2)
    assert (first["producer_id"], first["codec"], first["crc_ok"]) == (9, "none", True)
    assert (first["base_timestamp"], first["max_timestamp"]) == (1_700_000_000_000, 1_700_000_000_002)
    assert (second["codec"], second["position"]) == ("zstd", 16 + first["size"])
    assert (third["topic_id"], third["partition"], third["log_append_time"]) == (id_to_text(OTHER), 7, True)
    assert "records" not in first


def test_records(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _, dump = dumped(capsys, str(file), "--records")
    assert [record["value"] for batch in dump["batches"] for record in batch["records"]] == [
        "v0",
        "v1",
        "v2",
        {"base64": "/w=="},
        None,
    ]


def test_text(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["objects", "dump", str(file), "--records"]) == 0
    out = capsys.readouterr().out
    lines = out.splitlines()
    assert lines[0] == f"{file}: {file.stat().st_size:,} bytes, format 1"
    assert lines[1] == "2 partitions, 3 batches, 5 records"
    assert "2023-11-14T22:13:20.001Z\tNO_HEADERS\tk\tv1" in out
    assert "wrong" not in out


def test_a_flipped_bit_in_a_batch(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    damaged = bytearray(file.read_bytes())
    damaged[100] ^= 1
    file.write_bytes(damaged)
    code, dump = dumped(capsys, str(file), "--records")
    assert code == 1
    assert dump["problems"] == ["the checksum of the batch at 16 is wrong"]
    assert [batch["crc_ok"] for batch in dump["batches"]] == [False, True, True]
    assert main(["objects", "dump", str(file)]) == 1
    assert "WRONG" in capsys.readouterr().out


def test_a_broken_length_loses_only_its_own_batch(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    damaged = bytearray(file.read_bytes())
    damaged[16 + 8] = 0x7F
    file.write_bytes(damaged)
    code, dump = dumped(capsys, str(file))
    assert code == 1
    assert [(batch["topic_id"], batch["record_count"]) for batch in dump["batches"]] == [
        (id_to_text(ONE), 1),
        (id_to_text(OTHER), 1),
    ]
    assert dump["gaps"] == [[16, dump["batches"][0]["position"]]]


@pytest.mark.parametrize("cut", [1, 32, 100])
def test_an_object_that_is_cut_off_is_salvaged(file: Path, capsys: pytest.CaptureFixture[str], cut: int) -> None:
    file.write_bytes(file.read_bytes()[:-cut])
    code, dump = dumped(capsys, str(file))
    assert code == 1
    assert dump["index"] is None
    assert "no footer" in dump["problems"][0]
    assert [(batch["topic_id"], batch["record_count"]) for batch in dump["batches"]] == [
        (None, 3),
        (None, 1),
        (None, 1),
    ]


def test_a_wrong_head_leaves_the_index_readable(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file.write_bytes(b"X" + file.read_bytes()[1:])
    code, dump = dumped(capsys, str(file))
    assert code == 1
    assert dump["problems"] == ["the head is not that of an object of this format"]
    assert len(dump["index"]) == 2
    assert len(dump["batches"]) == 3


def test_an_index_that_counts_wrong(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    batch = encode_batch([Record(0, 1, None, b"v")])
    file.write_bytes(HEAD + batch + encode_tail([IndexEntry(ONE, 0, 16, len(batch), 1, 5)], 16 + len(batch)))
    code, dump = dumped(capsys, str(file))
    assert code == 1
    assert "the index says 1 batches of 5 records, there are 1 of 1" in dump["problems"][0]


@pytest.mark.parametrize("data", [b"", b"x", b"hello world, this is no object at all", bytes(200)])
def test_what_is_no_object(file: Path, data: bytes, capsys: pytest.CaptureFixture[str]) -> None:
    file.write_bytes(data)
    code, dump = dumped(capsys, str(file))
    assert code == 1
    assert dump["batches"] == []
    assert main(["objects", "dump", str(file)]) == 1
    assert "wrong: " in capsys.readouterr().out


def test_a_file_that_is_not_there(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["objects", "dump", str(tmp_path / "none")]) == 1
    assert capsys.readouterr().err == f"inkless: can't read {tmp_path}/none: No such file or directory\n"
