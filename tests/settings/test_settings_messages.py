"""What a user reads who typed a setting wrong."""

from pathlib import Path

import pytest

from inkless.core.errors import SettingError
from inkless.settings import load

WHOLE = "expected a whole number from"

WRONG_VALUES = [
    ("node.id=abc", f"node.id=abc (--set): {WHOLE} 0 to 2147483647"),
    ("node.id=-1", f"node.id=-1 (--set): {WHOLE} 0 to 2147483647"),
    ("node.id=", f"node.id= (--set): {WHOLE} 0 to 2147483647"),
    ("broker.id=x", f"broker.id=x (--set): {WHOLE} 0 to 2147483647"),
    ("num.partitions=1_0", f"num.partitions=1_0 (--set): {WHOLE} 1 to 2147483647"),
    ("num.partitions=٣", f"num.partitions=٣ (--set): {WHOLE} 1 to 2147483647"),
    ("message.max.bytes=1MB", f"message.max.bytes=1MB (--set): {WHOLE} 0 to 2147483647"),
    (
        "connections.max.idle.ms=99999999999999999999",
        f"connections.max.idle.ms=99999999999999999999 (--set): {WHOLE} 1 to 9223372036854775807",
    ),
    (
        "inkless.commit.result.retention.ms=1000",
        f"inkless.commit.result.retention.ms=1000 (--set): {WHOLE} 900000 to 9223372036854775807",
    ),
    ("auto.create.topics.enable=yes", "auto.create.topics.enable=yes (--set): expected true or false"),
    ("inkless.produce.flush=fast", "inkless.produce.flush=fast (--set): expected adaptive or interval"),
    (
        "inkless.log.level=TRACE",
        "inkless.log.level=TRACE (--set): expected one of DEBUG, INFO, WARNING, ERROR",
    ),
    ("inkless.data.dir=", "inkless.data.dir= (--set): expected the path of a folder"),
    (
        "inkless.data.dir=~no-such-user/x",
        "inkless.data.dir=~no-such-user/x (--set): expected the path of a folder "
        "(this user has no home folder for '~')",
    ),
    (
        "inkless.object.key.prefix=/a",
        "inkless.object.key.prefix=/a (--set): expected letters, digits and !_.*'()-/ "
        "without a leading slash, an empty part or '..'",
    ),
    (
        "inkless.object.key.prefix=a/../b",
        "inkless.object.key.prefix=a/../b (--set): expected letters, digits and !_.*'()-/ "
        "without a leading slash, an empty part or '..'",
    ),
    ("inkless.storage=/srv", "inkless.storage=/srv (--set): expected a URL: file:///path or memory:"),
    (
        "inkless.storage=s3://bucket",
        "inkless.storage=s3://bucket (--set): expected file:///path or memory:; s3: is not supported",
    ),
    (
        "inkless.storage=file://srv/objects",
        "inkless.storage=file://srv/objects (--set): expected file:///path or memory:, "
        "with three slashes before an absolute path",
    ),
    (
        "inkless.storage=file:///",
        "inkless.storage=file:/// (--set): expected file:///path or memory:, with a path",
    ),
    (
        "inkless.storage=file:///a?b",
        "inkless.storage=file:///a?b (--set): expected file:///path or memory:, "
        "with '?' and '#' in a path written as %3F and %23",
    ),
    (
        "inkless.storage=memory://x",
        "inkless.storage=memory://x (--set): expected just memory: with nothing behind it",
    ),
    (
        "inkless.control.plane=postgresql://db/x",
        "inkless.control.plane=postgresql://db/x (--set): expected sqlite:///path; postgresql: is not supported",
    ),
    (
        "listeners=127.0.0.1:9092",
        "listeners=127.0.0.1:9092 (--set): expected NAME://host:port, such as PLAINTEXT://127.0.0.1:9092, "
        "but '127.0.0.1:9092' is not of that form",
    ),
    (
        "listeners=PLAINTEXT://h",
        "listeners=PLAINTEXT://h (--set): expected NAME://host:port, such as PLAINTEXT://127.0.0.1:9092, "
        "but 'PLAINTEXT://h' is not of that form",
    ),
    (
        "listeners=",
        "listeners= (--set): expected at least one listener, such as PLAINTEXT://127.0.0.1:9092",
    ),
    (
        "listeners=PLAINTEXT://h:70000",
        "listeners=PLAINTEXT://h:70000 (--set): expected a port from 0 to 65535, but 70000 is too large",
    ),
    (
        "listeners=A://h:1,A://h:2",
        "listeners=A://h:1,A://h:2 (--set): expected each listener under its own name, but A is there twice",
    ),
    (
        "listeners=A://h:1,B://h:1",
        "listeners=A://h:1,B://h:1 (--set): expected each listener at its own address, but port 1 is there twice",
    ),
    (
        "advertised.listeners=PLAINTEXT://0.0.0.0:9092",
        "advertised.listeners=PLAINTEXT://0.0.0.0:9092 (--set): "
        "expected an address that clients can reach; 0.0.0.0 is none",
    ),
    (
        "listener.security.protocol.map=A",
        "listener.security.protocol.map=A (--set): expected NAME:PROTOCOL with one of "
        "PLAINTEXT, SSL, SASL_PLAINTEXT, SASL_SSL, but 'A' is not of that form",
    ),
    (
        "listener.security.protocol.map=A:SSL,A:PLAINTEXT",
        "listener.security.protocol.map=A:SSL,A:PLAINTEXT (--set): expected one protocol per listener, but A has two",
    ),
]

WRONG_TOGETHER = [
    (
        ["listeners=SSL://h:1"],
        "listeners (--set): SSL://h:1 needs SSL, which is not yet supported; use PLAINTEXT",
    ),
    (
        ["listeners=A://h:1", "listener.security.protocol.map=A:SASL_SSL"],
        "listeners (--set): A://h:1 needs SASL_SSL, which is not yet supported; use PLAINTEXT",
    ),
    (
        ["listeners=A://h:1"],
        "listeners (--set): A://h:1 has no security protocol; set listener.security.protocol.map=A:PLAINTEXT",
    ),
    (
        ["advertised.listeners=OUT://h:1"],
        "advertised.listeners (--set): OUT://h:1 is not in listeners, which has PLAINTEXT",
    ),
    (
        ["controller.listener.names=PLAINTEXT"],
        "controller.listener.names (--set): expected at least one listener that is not a controller's",
    ),
    (["node.id"], "--set needs KEY=VALUE, such as node.id=2; got 'node.id'"),
    (["=2"], "--set needs KEY=VALUE, such as node.id=2; got '=2'"),
    (["nod.id=2"], "unknown setting nod.id (--set); did you mean node.id?"),
    (["zzz=2"], "unknown setting zzz (--set)"),
    (
        ["inkless.storage.backend.class=X"],
        "inkless.storage.backend.class (--set): set inkless.storage to a URL, such as file:///path, instead",
    ),
    (
        ["inkless.control.plane.connection.string=jdbc:x"],
        "inkless.control.plane.connection.string (--set): "
        "set inkless.control.plane to a URL, such as sqlite:///path, instead",
    ),
]


@pytest.mark.parametrize(("override", "message"), WRONG_VALUES)
def test_wrong_value(override: str, message: str) -> None:
    with pytest.raises(SettingError) as caught:
        load(None, {}, [override])
    assert str(caught.value) == message


@pytest.mark.parametrize(("overrides", "message"), WRONG_TOGETHER)
def test_wrong_together(overrides: list[str], message: str) -> None:
    with pytest.raises(SettingError) as caught:
        load(None, {}, overrides)
    assert str(caught.value) == message


def test_a_wrong_value_names_the_line_of_its_file(tmp_path: Path) -> None:
    path = tmp_path / "server.properties"
    path.write_text("# head\nnode.id = one\n")
    with pytest.raises(SettingError) as caught:
        load(path, {}, [])
    assert str(caught.value) == f"node.id=one ({path}:2): {WHOLE} 0 to 2147483647"


def test_a_wrong_value_names_its_variable() -> None:
    with pytest.raises(SettingError) as caught:
        load(None, {"INKLESS_NODE_ID": "one"}, [])
    assert str(caught.value) == (f"node.id=one (environment variable INKLESS_NODE_ID): {WHOLE} 0 to 2147483647")


def test_a_refused_key_is_refused_from_the_environment_too() -> None:
    with pytest.raises(SettingError) as caught:
        load(None, {"INKLESS_STORAGE_S3_REGION": "x"}, [])
    assert str(caught.value) == (
        "inkless.storage.s3.region (environment variable INKLESS_STORAGE_S3_REGION): "
        "set inkless.storage to a URL, such as file:///path, instead"
    )


def test_unknown_keys_are_warnings_that_name_the_nearest(tmp_path: Path) -> None:
    path = tmp_path / "c"
    path.write_text("Num.Partition=3\nsomething.else.entirely=1\n")
    environment = {"INKLESS_NODEID": "2", "INKLESS_LOG_DIRS": "/x", "KAFKA_NODE_ID": "3"}
    settings = load(path, environment, ["log.retention.hours=1"])
    assert settings.node_id == 1
    assert settings.warnings == (
        f"unknown setting Num.Partition ({path}:1); did you mean num.partitions?",
        f"unknown setting something.else.entirely ({path}:2)",
        "log.dirs (environment variable INKLESS_LOG_DIRS) is ignored: a broker keeps no log on its disk",
        "unknown setting INKLESS_NODEID (environment); did you mean INKLESS_NODE_ID?",
        "log.retention.hours (--set) is ignored: not supported yet",
    )


def test_a_batch_larger_than_a_request_is_a_warning() -> None:
    settings = load(None, {}, ["message.max.bytes=200000000"])
    assert settings.warnings == (
        "message.max.bytes (--set): a batch of 200000000 bytes can't arrive "
        "while socket.request.max.bytes is 104857600",
    )


class TestFile:
    def test_missing(self, tmp_path: Path) -> None:
        path = tmp_path / "none.properties"
        with pytest.raises(SettingError) as caught:
            load(path, {}, [])
        assert str(caught.value) == f"can't read the configuration file {path}: No such file or directory"

    def test_a_folder(self, tmp_path: Path) -> None:
        with pytest.raises(SettingError) as caught:
            load(tmp_path, {}, [])
        assert str(caught.value) == f"can't read the configuration file {tmp_path}: Is a directory"

    def test_not_text(self, tmp_path: Path) -> None:
        path = tmp_path / "c"
        path.write_bytes(b"a=\xff")
        with pytest.raises(SettingError) as caught:
            load(path, {}, [])
        assert str(caught.value) == f"{path} is not UTF-8 text (byte 2)"

    def test_a_broken_escape(self, tmp_path: Path) -> None:
        path = tmp_path / "c"
        path.write_text("\nnode.id=\\u00")
        with pytest.raises(SettingError) as caught:
            load(path, {}, [])
        assert str(caught.value) == f"{path}:2: \\u is not followed by four hexadecimal digits"

    def test_a_byte_order_mark_is_no_part_of_the_first_key(self, tmp_path: Path) -> None:
        path = tmp_path / "c"
        path.write_text("\ufeffnode.id=4")
        assert load(path, {}, []).node_id == 4
