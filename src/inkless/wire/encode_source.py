"""Writes the encode function of one message in one version.

Fixed-width fields that follow each other are packed in one call, together with the length behind them and the zero
that ends a struct without tagged fields. Everything gathers in one buffer, except records: those stand in the result
as the caller gave them.
"""

import struct
from collections.abc import Callable
from typing import Any

from inkless.wire import primitives
from inkless.wire.shape import FIXED, ZERO_UUID, Buffer, Field, shape_of
from inkless.wire.source import Source, present

# A zero byte: struct's pad byte, which takes no argument.
_ZERO = ("x", "")

_NAMESPACE = {
    "join": b"".join,
    "ZERO_UUID": ZERO_UUID,
    "ONE_BYTE": primitives.ONE_BYTE,
    "SHORT_RUN": primitives.SHORT_RUN,
    "PACK_INT32S": primitives.PACK_INT32S,
    "PACK_COMPACT_INT32S": primitives.PACK_COMPACT_INT32S,
    "encode_int32s": primitives.encode_int32s,
    "encode_uvarint": primitives.encode_uvarint,
}


def compile_encoder(cls: type, version: int) -> Callable[[Any], list[Buffer]]:
    return _EncodeSource(cls, version).compile_message()


class _EncodeSource:
    def __init__(self, cls: type, version: int) -> None:
        shape = shape_of(cls)
        assert shape.flexible_from is not None, f"{shape.name} is no whole message"
        self._cls = cls
        self._version = version
        self._flexible = version >= shape.flexible_from
        self._title = f"{shape.name} v{version}"
        self._source = Source(_NAMESPACE)
        # Fixed-width values written next, not yet packed, and the name of the function that takes packed bytes.
        self._run: list[tuple[str, str]] = []
        self._write = "write"

    def compile_message(self) -> Callable[[Any], list[Buffer]]:
        source = self._source
        with source.block("def encode(message):"):
            source.line("chunks = []")
            source.line("small = []")
            source.line("write = small.append")
            self._object(self._cls, "message")
            self._flush()
            with source.block("if small or not chunks:"):
                source.line("chunks.append(join(small))")
            source.line("return chunks")
        return source.compile("encode", f"encode {self._title}")

    def _object(self, cls: type, name: str) -> None:
        plain, tagged = present(shape_of(cls), self._version)
        for attribute, field in plain.items():
            self._value(field, f"{name}.{attribute}")
        if not self._flexible:
            return
        if tagged:
            self._tag_section(name, tagged)
        else:
            self._run.append(_ZERO)

    def _value(self, field: Field, expression: str) -> None:
        if field.kind in FIXED:
            self._run.append((FIXED[field.kind], expression))
            return
        value = self._source.fresh("value")
        self._source.line(f"{value} = {expression}")
        if self._version not in field.nullable:
            self._present(field, value)
            return
        run = self._run
        with self._source.block(f"if {value} is None:"):
            self._run = [*run, self._null(field)]
            self._flush()
        with self._source.block("else:"):
            self._run = [*run]
            self._present(field, value)
            self._flush()

    def _null(self, field: Field) -> tuple[str, str]:
        if field.kind == "struct":
            return ("b", "-1")
        if self._flexible:
            return _ZERO
        return ("h", "-1") if field.kind == "string" else ("i", "-1")

    def _present(self, field: Field, value: str) -> None:
        """Write a value that is not null."""
        if field.kind == "array":
            self._array(field, value)
        elif field.kind == "struct":
            assert isinstance(field.element, type)
            if self._version in field.nullable:
                self._run.append(("b", "1"))
            self._object(field.element, value)
        elif field.kind == "records":
            self._records(value)
        else:
            self._sliced(field.kind, value)

    def _flush(self, *more: tuple[str, str]) -> None:
        """Write what has gathered, and more behind it."""
        run, self._run = [*self._run, *more], []
        if not run:
            return
        arguments = ", ".join(expression for _, expression in run if expression)
        packed = struct.Struct(">" + "".join(letter for letter, _ in run))
        if arguments:
            self._source.line(f"{self._write}({self._source.bind('pack', packed.pack)}({arguments}))")
        else:
            self._source.line(f"{self._write}({bytes(packed.size)!r})")

    def _length(self, letter: str, length: str) -> None:
        """Write a length or count: compact lengths are one more than they say, and usually take one or two bytes."""
        source = self._source
        if not self._flexible:
            self._flush((letter, length))
            return
        run = self._run
        with source.block(f"if {length} < 0x7F:"):
            if run:
                self._flush(("B", f"{length} + 1"))
            else:
                source.line(f"{self._write}(ONE_BYTE[{length} + 1])")
        with source.block(f"elif {length} < 0x3FFF:"):
            self._run = run
            self._flush(("B", f"({length} + 1) & 0x7F | 0x80"), ("B", f"({length} + 1) >> 7"))
        with source.block("else:"):
            self._run = run
            self._flush()
            source.line(f"{self._write}(encode_uvarint({length} + 1))")

    def _sliced(self, kind: str, value: str) -> None:
        source = self._source
        if kind == "string":
            source.line(f"{value} = {value}.encode()")
        length = source.fresh("length")
        source.line(f"{length} = len({value})")
        self._length("h" if kind == "string" else "i", length)
        source.line(f"{self._write}({value})")

    def _records(self, value: str) -> None:
        """Close the buffer so far, and let the records stand behind it uncopied."""
        source = self._source
        assert self._write == "write", "records inside a tagged field"
        length = source.fresh("length")
        source.line(f"many = {value}.__class__ is list")
        source.line(f"{length} = sum(map(len, {value})) if many else len({value})")
        self._length("i", length)
        with source.block(f"if {length}:"):
            source.line("chunks.append(join(small))")
            source.line("small.clear()")
            with source.block("if many:"):
                source.line(f"chunks.extend({value})")
            with source.block("else:"):
                source.line(f"chunks.append({value})")

    def _array(self, field: Field, value: str) -> None:
        source, element = self._source, field.element
        assert element is not None
        count = source.fresh("count")
        source.line(f"{count} = len({value})")
        if element == "int32":
            self._flush()
            pack, prefix = ("PACK_COMPACT_INT32S", "+ 1") if self._flexible else ("PACK_INT32S", "")
            with source.block(f"if {count} < SHORT_RUN:"):
                source.line(f"{self._write}({pack}[{count}]({count} {prefix}, *{value}))")
            with source.block("else:"):
                source.line(f"{self._write}(encode_int32s({value}, {self._flexible}))")
            return
        self._length("i", count)
        item = source.fresh("item")
        with source.block(f"for {item} in {value}:"):
            if isinstance(element, type):
                self._object(element, item)
                self._flush()
            elif element in FIXED:
                self._flush((FIXED[element], item))
            else:
                self._sliced(element, item)

    def _tag_section(self, name: str, tagged: dict[str, Field]) -> None:
        """Known tags are sent only where they differ from their default, as Kafka does."""
        source, run = self._source, self._run
        set_by_caller = " or ".join(self._differs(field, f"{name}.{each}") for each, field in tagged.items())
        with source.block(f"if {set_by_caller}:"):
            self._run = [*run]
            self._flush()
            tags = source.fresh("tags")
            source.line(f"{tags} = []")
            for each, field in tagged.items():
                self._tag(field, f"{name}.{each}", tags)
            source.line(f"{self._write}(encode_uvarint(len({tags})))")
            source.line(f"{self._write}(join({tags}))")
        with source.block("else:"):
            self._run = [*run]
            self._flush(_ZERO)

    def _differs(self, field: Field, expression: str) -> str:
        if field.default is None:
            return f"{expression} is not None"
        if field.kind == "array":
            return expression
        return f"{expression} != {'ZERO_UUID' if field.kind == 'uuid' else repr(field.default)}"

    def _tag(self, field: Field, expression: str, tags: str) -> None:
        source, outer = self._source, self._write
        condition = self._differs(field, expression)
        if isinstance(field.element, type) and field.kind == "struct":
            condition += f" and {expression} != {source.bind('default', field.element())}"
        parts, body = source.fresh("parts"), source.fresh("body")
        self._write = source.fresh("write")
        with source.block(f"if {condition}:"):
            source.line(f"{parts} = []")
            source.line(f"{self._write} = {parts}.append")
            if field.kind in FIXED:
                self._run.append((FIXED[field.kind], expression))
            else:
                value = source.fresh("value")
                source.line(f"{value} = {expression}")
                self._present(field, value)
            self._flush()
            source.line(f"{body} = join({parts})")
            assert field.tag is not None
            number = primitives.encode_uvarint(field.tag)
            source.line(f"{tags}.append({number!r} + encode_uvarint(len({body})) + {body})")
        self._write = outer
