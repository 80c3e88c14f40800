"""The properties format, against vectors whose results follow java.util.Properties, and by property."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inkless.settings.properties import parse_properties

VECTORS = [
    ("", []),
    ("\n \t\f\n", []),
    ("# a=b\n! c=d\n  # e=f", []),
    ("a=b", [("a", "b")]),
    ("a:b", [("a", "b")]),
    ("a b", [("a", "b")]),
    ("  a \t = \t b  ", [("a", "b")]),
    ("a = = b", [("a", "= b")]),
    ("a : = b", [("a", "= b")]),
    ("a", [("a", "")]),
    ("a=", [("a", "")]),
    ("=b", [("", "b")]),
    ("a=b # no comment", [("a", "b # no comment")]),
    ("url=http://h:1/?x=y", [("url", "http://h:1/?x=y")]),
    ("a=1\r\nb=2\rc=3", [("a", "1"), ("b", "2"), ("c", "3")]),
    ("a=1,\\\n   2,\\\n\t3\nb=4", [("a", "1,2,3"), ("b", "4")]),
    ("a=1\\\n# not a comment", [("a", "1# not a comment")]),
    ("# a comment does not go on \\\na=1", [("a", "1")]),
    ("a=1\\\n\nb=2", [("a", "1"), ("b", "2")]),
    ("\\\n\na=1", [("a", "1")]),
    ("a=x\\\\\nb=y", [("a", "x\\"), ("b", "y")]),
    ("a=x\\\\\\\ny", [("a", "x\\y")]),
    ("a=x\\", [("a", "x")]),
    ("k\\=\\:\\ k=v", [("k=: k", "v")]),
    ("a=x\\ty\\nz\\q", [("a", "x\ty\nzq")]),
    ("a=\\u00e9\\u4E2d", [("a", "é中")]),
    ("\\u0061=1", [("a", "1")]),
    ("a=\\ud83d\\ude00", [("a", "😀")]),
    ("a=é😀", [("a", "é😀")]),
    ("a=one\u2028two\x0bthree", [("a", "one\u2028two\x0bthree")]),
    ("a=1\na=2", [("a", "1"), ("a", "2")]),
]


@pytest.mark.parametrize(("text", "expected"), VECTORS)
def test_vectors(text: str, expected: list[tuple[str, str]]) -> None:
    assert [(found.key, found.value) for found in parse_properties(text)] == expected


def test_line_numbers_are_where_a_property_starts() -> None:
    found = parse_properties("# head\n\na=1\\\n  2\n\nb=3\n")
    assert [(one.line, one.key) for one in found] == [(3, "a"), (6, "b")]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a=1\nb=\\u12g4", "2: \\u is not followed by four hexadecimal digits"),
        ("a=\\u12", "1: \\u is not followed by four hexadecimal digits"),
        ("a=\\ud83d", "1: half of a surrogate pair in a \\uXXXX escape"),
    ],
)
def test_broken_escapes_name_their_line(text: str, message: str) -> None:
    with pytest.raises(ValueError) as caught:
        parse_properties(text)
    assert str(caught.value) == message


def escape(text: str, separators: str) -> str:
    """As java.util.Properties.store writes it, with every odd character as \\uXXXX."""
    out = ""
    for character in text:
        if character in separators + "\\#!":
            out += "\\" + character
        elif " " < character < "\x7f":
            out += character
        else:
            units = character.encode("utf-16-be")
            out += "".join(f"\\u{units[i]:02x}{units[i + 1]:02X}" for i in range(0, len(units), 2))
    return out


characters = st.characters(exclude_categories=["Cs"])
words = st.text(characters, max_size=20)


@given(
    st.lists(st.tuples(words, words)),
    st.sampled_from(["=", ":", " ", " = ", "\t:\f"]),
    st.sampled_from(["\n", "\r", "\r\n", "\n# comment \\\n", "\n\n"]),
)
def test_what_was_escaped_comes_back(pairs: list[tuple[str, str]], separator: str, end: str) -> None:
    pairs = [(key, value.strip()) for key, value in pairs if key]
    text = end.join(escape(key, "=: ") + separator + escape(value, "=: ") for key, value in pairs)
    assert [(found.key, found.value) for found in parse_properties(text)] == pairs


@given(st.text(st.one_of(st.sampled_from("\\\n\r\t =:#!ua0"), characters)))
def test_any_text_parses_or_names_a_line(text: str) -> None:
    try:
        found = parse_properties(text)
    except ValueError as error:
        line, _, _ = str(error).partition(":")
        lines = [int(line)]
    else:
        lines = [one.line for one in found]
    assert lines == sorted(set(lines))
