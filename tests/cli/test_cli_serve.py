"""`inkless serve` as a process: one ready line, clear refusals, a clean end."""

import os
import re
import signal
import socket
from pathlib import Path

import pytest
from processes import run, running

READY = re.compile(rb"ready: PLAINTEXT://127\.0\.0\.1:(?P<port>\d+) \(node (?P<node>\d+), cluster [\w-]{22}\)\n")
FREE_PORT = ("--set", "listeners=PLAINTEXT://127.0.0.1:0")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_it_says_when_it_is_ready_and_ends_cleanly(tmp_path: Path, number: signal.Signals) -> None:
    with running("serve", *FREE_PORT, cwd=tmp_path) as server:
        assert server.stdout is not None
        ready = READY.fullmatch(server.stdout.readline())
        assert ready is not None
        with socket.create_connection(("127.0.0.1", int(ready["port"])), timeout=5):
            server.send_signal(number)
            out, err = server.communicate(timeout=20)
    assert server.returncode == 0
    assert out == b""
    assert b"Traceback" not in err
    assert (tmp_path / "inkless-data").is_dir()


def test_settings_come_from_the_file_the_environment_and_set(tmp_path: Path) -> None:
    config = tmp_path / "server.properties"
    config.write_text("node.id=3\nlisteners=PLAINTEXT://127.0.0.1:0\nnum.partitons=4\nnum.partitions=5\n")
    folder = {"INKLESS_DATA_DIR": str(tmp_path / "data"), "INKLESS_BOOTSTRAP_SERVER": "127.0.0.1:1"}
    with running("serve", "--config", str(config), "--set", "node.id=4", cwd=tmp_path, **folder) as server:
        assert server.stdout is not None
        ready = READY.fullmatch(server.stdout.readline())
        assert ready is not None
        assert ready["node"] == b"4"
        listed = run("topics", "create", "t", "--bootstrap-server", f"127.0.0.1:{int(ready['port'])}")
        assert listed.stdout == b"created t with 5 partitions\n"
        server.terminate()
        _, err = server.communicate(timeout=20)
    assert server.returncode == 0
    (warning,) = [line for line in err.splitlines() if b"inkless.cli.serve" in line]
    stamp = rb"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3} WARNING inkless\.cli\.serve: "
    assert re.match(stamp + rb"unknown setting num\.partitons \(.*; did you mean num\.partitions\?", warning)
    assert (tmp_path / "data").is_dir()
    assert not (tmp_path / "inkless-data").exists()


def test_the_log_level_is_a_setting(tmp_path: Path) -> None:
    with running("serve", *FREE_PORT, "--set", "inkless.log.level=error", cwd=tmp_path) as server:
        assert server.stdout is not None
        assert READY.fullmatch(server.stdout.readline())
        server.terminate()
        assert server.communicate(timeout=20)[1] == b""


def test_what_was_typed_wrong_is_one_line_and_exit_code_2(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        mistakes = {
            ("--set", "node.idd=1"): "did you mean node.id?",
            ("--set", "node.id=x"): "node.id=x (--set): expected a whole number",
            ("--set", "node.id"): "--set needs KEY=VALUE",
            ("--config", "missing.properties"): "can't read the configuration file missing.properties",
            ("--set", f"listeners=PLAINTEXT://127.0.0.1:{port}"): "Address already in use",
        }
        for arguments, message in mistakes.items():
            refused = run("serve", *arguments, cwd=tmp_path)
            assert (refused.returncode, refused.stdout) == (2, b""), arguments
            *logged, complaint = refused.stderr.decode().splitlines()
            assert complaint.startswith("inkless: ")
            assert message in complaint
            assert not any("Traceback" in line or "ERROR" in line for line in logged)


def test_a_second_broker_under_the_same_id_is_refused(tmp_path: Path) -> None:
    with running("serve", *FREE_PORT, cwd=tmp_path) as server:
        assert server.stdout is not None
        ready = READY.fullmatch(server.stdout.readline())
        assert ready is not None
        refused = run("serve", *FREE_PORT, cwd=tmp_path)
        assert refused.returncode == 2
        assert f"at 127.0.0.1:{int(ready['port'])}" in refused.stderr.decode()
        os.kill(server.pid, 0)
        server.terminate()
        server.communicate(timeout=20)
    assert server.returncode == 0
