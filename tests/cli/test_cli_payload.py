"""Bytes as text and JSON, and back."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inkless.cli.payload import (
    InputError,
    Message,
    bytes_to_json,
    bytes_to_text,
    headers_to_text,
    message_from_json,
    record_to_json,
)
from inkless.records.record import Record

ANY_BYTES = st.none() | st.binary(max_size=20)
HEADER_NAMES = st.binary(max_size=8).map(lambda name: name.decode("utf-8", "surrogateescape"))
RECORDS = st.builds(
    Record,
    st.just(0),
    st.integers(0, 2**63 - 1),
    ANY_BYTES,
    ANY_BYTES,
    st.lists(st.tuples(HEADER_NAMES, ANY_BYTES), max_size=3).map(tuple),
)


@given(RECORDS)
def test_a_record_survives_json(record: Record) -> None:
    line = json.dumps(record_to_json(record)).encode()
    assert message_from_json(line) == Message(record.value, record.key, record.headers, None, record.timestamp)


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (None, "null"),
        (b"", ""),
        ("zażółć €".encode(), "zażółć €"),
        (b"a\tb\nc", "a\tb\nc"),
        (b"\xff\xfe", r"\xff\xfe"),
        (b"\x1b[2J\r\x00\x7f", r"\x1b[2J\x0d\x00\x7f"),
        ("\x9b2J".encode(), r"\u009b2J"),
        (b'{"a": "\\n"}', '{"a": "\\n"}'),
    ],
)
def test_text_is_safe_for_a_terminal(data: bytes | None, text: str) -> None:
    assert bytes_to_text(data) == text


def test_headers_as_text() -> None:
    assert headers_to_text(()) == "NO_HEADERS"
    assert headers_to_text((("a", b"1"), ("b", None), ("\udcff", b"\xff"))) == r"a:1,b:null,\xff:\xff"


def test_what_is_not_text_is_marked() -> None:
    assert bytes_to_json(b"\xff\x00") == {"base64": "/wA="}
    assert bytes_to_json(b"text") == "text"


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('{"value": "v"}', Message(b"v")),
        ("{}", Message(None)),
        ('{"value": null, "key": ""}', Message(None, b"")),
        ('{"value": {"base64": "/wA="}}', Message(b"\xff\x00")),
        ('{"headers": {"a": "1", "b": null}}', Message(None, headers=(("a", b"1"), ("b", None)))),
        ('{"headers": [{"key": "a", "value": "1"}]}', Message(None, headers=(("a", b"1"),))),
        ('{"partition": 3, "timestamp": 17, "topic": "x", "offset": 5}', Message(None, partition=3, timestamp=17)),
    ],
)
def test_json_lines(line: str, message: Message) -> None:
    assert message_from_json(line.encode()) == message


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        (b"hello", "not JSON"),
        (b"\xff", "not JSON"),
        (b"[]", "expected a JSON object"),
        (b'{"vlaue": 1}', "unknown field 'vlaue'; known are headers, key, partition, timestamp, value"),
        (b'{"value": 1}', 'value: expected text, null or {"base64": "..."}'),
        (b'{"value": {"base64": "?"}}', "value: not base64"),
        (b'{"value": {"base64": "", "more": 1}}', "value: expected text"),
        (b'{"value": "\\ud800"}', "value: half of a surrogate pair is no text"),
        (b'{"headers": {"\\ud800": ""}}', "headers: half of a surrogate pair is no text"),
        (b'{"headers": "a"}', "headers: expected"),
        (b'{"headers": [{"key": null, "value": "1"}]}', "headers: a key is null"),
        (b'{"partition": -1}', "partition: expected a whole number from 0 on"),
        (b'{"partition": true}', "partition: expected a whole number from 0 on"),
        (b'{"timestamp": 1e3}', "timestamp: expected a whole number from 0 on"),
        (b'{"timestamp": 9223372036854775808}', "timestamp: expected a whole number from 0 on"),
    ],
)
def test_wrong_json_lines(line: bytes, complaint: str) -> None:
    with pytest.raises(InputError) as caught:
        message_from_json(line)
    assert str(caught.value).startswith(complaint)
