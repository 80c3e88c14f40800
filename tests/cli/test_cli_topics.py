"""`inkless topics` against the real broker."""

import json
from typing import Any

import pytest

from inkless.cli.main import main
from inkless.testing import RunningBroker


@pytest.fixture(autouse=True)
def bootstrap(inkless_broker: RunningBroker, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("INKLESS_BOOTSTRAP_SERVER", inkless_broker.bootstrap_servers)


Output = pytest.CaptureFixture[str]


def topics(capsys: Output, *arguments: str) -> tuple[int, str, str]:
    code = main(["topics", *arguments])
    return code, *capsys.readouterr()


def topics_json(capsys: Output, *arguments: str) -> tuple[int, Any]:
    code, out, _ = topics(capsys, *arguments, "--output", "json")
    return code, json.loads(out)


def test_create_list_describe_delete(capsys: Output) -> None:
    assert topics(capsys, "create", "cli-a", "--partitions", "2") == (0, "created cli-a with 2 partitions\n", "")
    code, out, _ = topics(capsys, "list")
    assert code == 0
    assert "cli-a" in out.splitlines()
    code, out, _ = topics(capsys, "describe", "cli-a")
    assert code == 0
    head, titles, *rows = out.splitlines()
    assert head.startswith("cli-a (id ")
    assert head.endswith("): 2 partitions")
    assert titles.split() == ["partition", "leader", "replicas", "isr"]
    assert [row.split() for row in rows] == [["0", "1", "1", "1"], ["1", "1", "1", "1"]]
    assert topics(capsys, "delete", "cli-a") == (0, "deleted cli-a\n", "")
    assert "cli-a" not in topics(capsys, "list")[1].splitlines()


def test_json(capsys: Output) -> None:
    code, made = topics_json(capsys, "create", "cli-json")
    assert code == 0
    assert made == {"name": "cli-json", "id": made["id"], "partitions": 1, "created": True}
    assert len(made["id"]) == 22
    _, listed = topics_json(capsys, "list")
    assert {"name": "cli-json", "id": made["id"], "partitions": 1, "internal": False} in listed
    _, (described,) = topics_json(capsys, "describe", "cli-json")
    assert described["partitions"] == [{"partition": 0, "leader": 1, "replicas": [1], "isr": [1]}]
    assert topics_json(capsys, "delete", "cli-json") == (0, [{"name": "cli-json", "deleted": True}])


def test_a_topic_that_is_there(capsys: Output) -> None:
    topics(capsys, "create", "cli-twice")
    code, out, err = topics(capsys, "create", "cli-twice")
    assert (code, out) == (1, "")
    assert err.startswith("inkless: TOPIC_ALREADY_EXISTS: topic cli-twice")
    answer = topics(capsys, "create", "cli-twice", "--if-not-exists")
    assert answer == (0, "cli-twice is there already\n", "")
    assert topics_json(capsys, "create", "cli-twice", "--if-not-exists") == (
        0,
        {"name": "cli-twice", "created": False},
    )


def test_topics_that_are_not_there(capsys: Output) -> None:
    topics(capsys, "create", "cli-there")
    code, out, err = topics(capsys, "describe", "cli-there", "cli-not")
    assert code == 1
    assert out.startswith("cli-there (id ")
    assert err == "inkless: UNKNOWN_TOPIC_OR_PARTITION: there is no topic cli-not\n"
    code, out, err = topics(capsys, "delete", "cli-not", "cli-there")
    assert (code, out) == (1, "deleted cli-there\n")
    assert err == "inkless: UNKNOWN_TOPIC_OR_PARTITION: there is no topic cli-not\n"
    code, deleted = topics_json(capsys, "delete", "cli-not")
    assert code == 1
    assert deleted[0]["deleted"] is False


def test_configs(capsys: Output) -> None:
    assert topics(capsys, "create", "cli-config", "--config", "retention.ms=1000")[0] == 0
    code, _, err = topics(capsys, "create", "cli-wrong", "--config", "retention.mss=1")
    assert code == 1
    assert "INVALID_CONFIG: topic cli-wrong" in err
    code, _, err = topics(capsys, "create", "cli-wrong", "--config", "retention.ms")
    assert code == 2
    assert "--config needs NAME=VALUE, got 'retention.ms'." in err


def test_nobody_listens(capsys: Output) -> None:
    code, out, err = topics(capsys, "list", "--bootstrap-server", "127.0.0.1:1")
    assert (code, out) == (1, "")
    assert err == "inkless: can't connect to 127.0.0.1:1: Connection refused\n"
    code, _, err = topics(capsys, "list", "-b", "nonsense:nonsense")
    assert code == 2
    assert "expected host:port" in err
