"""Where values come from, which one counts, and what was set explicitly."""

from pathlib import Path

import pytest

from inkless.settings import Flush, Listener, Settings, load
from inkless.settings.model import DECLARED
from inkless.settings.setting import environment_name
from inkless.settings.sources import KEYS_OF_ENVIRONMENT, SETTINGS


@pytest.fixture
def config(tmp_path: Path) -> Path:
    path = tmp_path / "server.properties"
    path.write_text("node.id=2\nbroker.rack=from-file\nnum.partitions = 3\n")
    return path


def test_defaults() -> None:
    settings = load(None, {}, [])
    assert settings == Settings()
    assert settings.node_id == 1
    assert settings.broker_rack is None
    assert settings.listeners == (Listener("PLAINTEXT", "127.0.0.1", 9092),)
    assert settings.message_max_bytes == 1048588
    assert settings.fetch_max_bytes == 57671680
    assert settings.producer_id_expiration_ms == 86400000
    assert settings.explicit == frozenset()
    assert settings.warnings == ()
    assert hash(settings) == hash(Settings())


def test_set_beats_environment_beats_file(config: Path) -> None:
    environment = {"INKLESS_BROKER_RACK": "from-environment", "INKLESS_NUM_PARTITIONS": "4", "PATH": "/bin"}
    settings = load(config, environment, ["num.partitions=5"])
    assert (settings.node_id, settings.broker_rack, settings.num_partitions) == (2, "from-environment", 5)
    assert settings.explicit == {"node.id", "broker.rack", "num.partitions"}
    assert settings.warnings == ()


def test_the_last_set_counts() -> None:
    settings = load(None, {}, ["node.id=1", "node.id=7"])
    assert settings.node_id == 7
    assert settings.warnings == ("node.id is set twice: node.id (--set) replaces node.id (--set)",)


def test_a_key_twice_in_a_file_is_a_warning_with_both_lines(tmp_path: Path) -> None:
    path = tmp_path / "c"
    path.write_text("node.id=1\n\nbroker.id=2\n")
    settings = load(path, {}, [])
    assert settings.node_id == 2
    assert settings.warnings == (f"node.id is set twice: broker.id ({path}:3) replaces node.id ({path}:1)",)


def test_aliases() -> None:
    assert load(None, {"INKLESS_BROKER_ID": "9"}, []).node_id == 9
    assert load(None, {}, ["broker.id=9"]).explicit == {"node.id"}
    assert load(None, {}, ["queued.max.request.bytes=4096"]).request_bytes_in_flight == 4096


def test_environment_names() -> None:
    assert environment_name("node.id") == "INKLESS_NODE_ID"
    assert environment_name("inkless.data.dir") == "INKLESS_DATA_DIR"
    assert len(KEYS_OF_ENVIRONMENT) == len(SETTINGS), "two settings share a variable"


def test_variables_of_the_tests_are_no_settings() -> None:
    assert load(None, {"INKLESS_ROUNDS": "20", "INKLESS_RECORDS": "100000"}, []) == Settings()


def test_an_empty_value_means_not_set_where_the_default_is_computed() -> None:
    settings = load(None, {"INKLESS_STORAGE": "", "INKLESS_BROKER_RACK": " "}, ["inkless.produce.flush="])
    assert settings == Settings()


def test_every_attribute_follows_its_name() -> None:
    for attribute, setting in DECLARED.items():
        expected = setting.name.removeprefix("inkless.").replace(".", "_")
        assert attribute.removesuffix("_given") == expected
        assert setting.default is None or not attribute.endswith("_given")


@pytest.mark.parametrize("setting", DECLARED.values(), ids=lambda setting: setting.name)
def test_every_default_is_a_valid_value(setting) -> None:
    if setting.default is not None:
        assert setting.kind.parse(setting.show(setting.default)) == setting.default


class TestFlush:
    def test_adaptive_unless_the_interval_is_set(self, tmp_path: Path) -> None:
        path = tmp_path / "c"
        path.write_text("inkless.produce.commit.interval.ms=250")
        assert load(None, {}, []).produce_flush is Flush.ADAPTIVE
        assert load(path, {}, []).produce_flush is Flush.INTERVAL
        environment = {"INKLESS_PRODUCE_COMMIT_INTERVAL_MS": "250"}
        assert load(None, environment, []).produce_flush is Flush.INTERVAL
        assert load(None, {}, ["inkless.produce.commit.interval.ms=250"]).produce_flush is Flush.INTERVAL

    def test_what_is_set_holds(self) -> None:
        both = ["inkless.produce.commit.interval.ms=10", "inkless.produce.flush=Adaptive"]
        assert load(None, {}, both).produce_flush is Flush.ADAPTIVE
        assert load(None, {}, ["inkless.produce.flush=interval"]).produce_flush is Flush.INTERVAL


class TestUrls:
    def test_both_lie_in_the_data_folder(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.chdir(tmp_path)
        settings = load(None, {}, [])
        assert settings.control_plane_url == f"sqlite://{tmp_path}/inkless-data/control-plane.db"
        assert settings.storage_url == f"file://{tmp_path}/inkless-data/objects"

    @pytest.mark.parametrize(
        ("given", "expected"),
        [
            ("file:///srv/objects", "file:///srv/objects"),
            ("file:////srv/objects/", "file:///srv/objects"),
            ("FILE:/srv/objects", "file:///srv/objects"),
            ("file:more/../other", "file:///data/other"),
            ("file:///srv/a%20b", "file:///srv/a%20b"),
            ("memory:", "memory:"),
            ("memory://", "memory:"),
        ],
    )
    def test_storage(self, given: str, expected: str) -> None:
        assert load(None, {}, ["inkless.data.dir=/data", f"inkless.storage={given}"]).storage_url == expected

    def test_odd_characters_of_the_data_folder_are_quoted(self) -> None:
        from inkless.settings import url_path

        settings = load(None, {}, ["inkless.data.dir=/a b/#1?é%20"])
        assert url_path(settings.control_plane_url) == Path("/a b/#1?é%20/control-plane.db")
        assert settings.storage_url == "file:///a%20b/%231%3F%C3%A9%2520/objects"

    def test_home_folder(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("HOME", "/home/me")
        assert load(None, {}, ["inkless.data.dir=~/d"]).data_dir == Path("/home/me/d")

    def test_uploads_in_flight(self) -> None:
        assert load(None, {}, []).uploads_in_flight == 1
        assert load(None, {}, ["inkless.storage=memory:"]).uploads_in_flight == 1
        assert Settings(storage_given="s3://bucket/path").uploads_in_flight == 3
        assert load(None, {}, ["inkless.produce.uploads.in.flight=5"]).uploads_in_flight == 5


class TestListeners:
    @pytest.mark.parametrize(
        ("given", "expected"),
        [
            ("PLAINTEXT://:9092", [("PLAINTEXT", "0.0.0.0", 9092)]),
            ("plaintext://localhost:0", [("PLAINTEXT", "localhost", 0)]),
            ("PLAINTEXT://[::1]:9092", [("PLAINTEXT", "::1", 9092)]),
            ("PLAINTEXT://h:1, IN://h:2", [("PLAINTEXT", "h", 1), ("IN", "h", 2)]),
            ("PLAINTEXT://h:0,IN://h:0", [("PLAINTEXT", "h", 0), ("IN", "h", 0)]),
        ],
    )
    def test_forms(self, given: str, expected: list[tuple[str, str, int]]) -> None:
        settings = load(None, {}, [f"listeners={given}", "listener.security.protocol.map=in:plaintext"])
        assert [(one.name, one.host, one.port) for one in settings.listeners] == expected

    def test_text_form(self) -> None:
        assert str(Listener("PLAINTEXT", "::1", 9092)) == "PLAINTEXT://[::1]:9092"
        assert str(Listener("PLAINTEXT", "h", 9092)) == "PLAINTEXT://h:9092"

    @pytest.mark.parametrize(
        ("listeners", "advertised", "expected"),
        [
            ("PLAINTEXT://127.0.0.1:9092", "", "PLAINTEXT://127.0.0.1:9092"),
            ("PLAINTEXT://127.0.0.1:0", "", "PLAINTEXT://127.0.0.1:5555"),
            ("PLAINTEXT://:0", "", "PLAINTEXT://this-host:5555"),
            ("PLAINTEXT://[::]:0", "", "PLAINTEXT://this-host:5555"),
            ("PLAINTEXT://:9092", "PLAINTEXT://example.com:19092", "PLAINTEXT://example.com:19092"),
            ("PLAINTEXT://:0", "PLAINTEXT://example.com:0", "PLAINTEXT://example.com:5555"),
            ("PLAINTEXT://:9092", "PLAINTEXT://:19092", "PLAINTEXT://this-host:19092"),
        ],
    )
    def test_advertised(self, listeners: str, advertised: str, expected: str) -> None:
        settings = load(None, {}, [f"listeners={listeners}", f"advertised.listeners={advertised}"])
        bound = settings.listeners[0]
        bound = Listener(bound.name, bound.host, bound.port or 5555)
        assert str(settings.advertised_listener(bound, "this-host")) == expected

    def test_the_host_has_a_name(self) -> None:
        assert load(None, {}, []).advertised_listener(Listener("PLAINTEXT", "0.0.0.0", 1)).host not in ("", "0.0.0.0")


def test_a_file_written_for_kafka(tmp_path: Path) -> None:
    path = tmp_path / "server.properties"
    path.write_text(
        "process.roles=broker,controller\n"
        "node.id=1\n"
        "controller.quorum.bootstrap.servers=localhost:9093\n"
        "listeners=PLAINTEXT://:9092,CONTROLLER://:9093\n"
        "inter.broker.listener.name=PLAINTEXT\n"
        "advertised.listeners=PLAINTEXT://localhost:9092,CONTROLLER://localhost:9093\n"
        "controller.listener.names=CONTROLLER\n"
        "listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,SSL:SSL,SASL_SSL:SASL_SSL\n"
        "num.network.threads=3\n"
        "socket.request.max.bytes=104857600\n"
        "log.dirs=/tmp/kraft-combined-logs\n"
        "log.diskless.enable=true\n"
    )
    settings = load(path, {}, [])
    assert [str(one) for one in settings.listeners] == ["PLAINTEXT://0.0.0.0:9092"]
    assert [str(one) for one in settings.advertised_listeners_given or ()] == ["PLAINTEXT://localhost:9092"]
    assert settings.warnings == (
        f"process.roles ({path}:1) is ignored: there is no controller here",
        f"controller.quorum.bootstrap.servers ({path}:3) is ignored: there is no controller here",
        f"inter.broker.listener.name ({path}:5) is ignored: not supported yet",
        f"num.network.threads ({path}:9) is ignored: a broker has one event loop",
        f"log.dirs ({path}:11) is ignored: a broker keeps no log on its disk",
        f"log.diskless.enable ({path}:12) is ignored: every topic is diskless",
    )
