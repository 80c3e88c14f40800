"""Names and configs of topics: what Kafka allows, and what is not supported yet."""

import pytest

from inkless.broker import topic_configs
from inkless.broker.errors import CODES
from inkless.broker.names import collision_key, problem_with
from inkless.core.errors import ErrorKind


@pytest.mark.parametrize("name", ["a", "a.b_c-9", "x" * 249, "..."])
def test_good_names(name: str) -> None:
    assert problem_with(name) is None


@pytest.mark.parametrize("name", ["", ".", "..", "a b", "a/b", "ä", "x" * 250, "a\n", "a,b"])
def test_bad_names(name: str) -> None:
    assert problem_with(name) is not None


def test_names_that_collide() -> None:
    assert collision_key("a.b_c") == collision_key("a_b.c") != collision_key("a-b-c")


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("max.message.bytes", "12", None),
        ("retention.ms", "-1", None),
        ("cleanup.policy", "delete", None),
        ("max.mesage.bytes", "12", "did you mean max.message.bytes"),
        ("retention.ms", "soon", "whole number"),
        ("retention.ms", "-2", "not between"),
        ("cleanup.policy", "compact", "not supported yet"),
        ("cleanup.policy", "shred", "one of delete"),
        ("min.cleanable.dirty.ratio", "1.5", "not between"),
    ],
)
def test_configs(name: str, value: str, words: str | None) -> None:
    problem = topic_configs.problem_with({name: value})
    assert problem is None if words is None else problem is not None and words in problem


def test_every_kind_of_error_has_a_code() -> None:
    assert set(CODES) == set(ErrorKind)
