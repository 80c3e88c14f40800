"""Writes the decode function of one message in one version.

Fixed-width fields that follow each other are unpacked in one call, together with the length or count behind them.
Objects are made without their constructor and filled slot by slot. Every length and count is held against the frame
before anything is made from it.
"""

import struct
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

from inkless.wire import primitives
from inkless.wire.errors import WireError
from inkless.wire.shape import FIXED, ZERO_UUID, Field, shape_of
from inkless.wire.source import Source, minimum_size, present

_NAMESPACE = {
    "new": object.__new__,
    "WireError": WireError,
    "Malformed": (struct.error, IndexError, UnicodeDecodeError),
    "ZERO_UUID": ZERO_UUID,
    "decode_int32s": primitives.decode_int32s,
    "decode_uvarint_rest": primitives.decode_uvarint_rest,
    "decode_tag_count": primitives.decode_tag_count,
    "decode_tag": primitives.decode_tag,
    "skip_tags": primitives.skip_tags,
}


def compile_decoder(cls: type, version: int) -> Callable[[memoryview, int], tuple[Any, int]]:
    return _DecodeSource(cls, version).compile_message()


class _DecodeSource:
    def __init__(self, cls: type, version: int) -> None:
        shape = shape_of(cls)
        assert shape.flexible_from is not None, f"{shape.name} is no whole message"
        self._cls = cls
        self._version = version
        self._flexible = version >= shape.flexible_from
        self._title = f"{shape.name} v{version}"
        self._source = Source(_NAMESPACE)
        # Targets of the fixed-width values read next, not yet unpacked.
        self._run: list[tuple[str, str]] = []

    def compile_message(self) -> Callable[[memoryview, int], tuple[Any, int]]:
        source = self._source
        with source.block("def decode(view, position):"):
            source.line("end = len(view)")
            with source.block("try:"):
                made = self._object(self._cls, self._title)
                self._flush()
            with source.block("except Malformed as error:"):
                source.line(f"raise WireError(f'{self._title}: {{error}}') from error")
            source.line(f"return {made}, position")
        return source.compile("decode", f"decode {self._title}")

    def _object(self, cls: type, path: str) -> str:
        """Make an object and read its fields; the run is left open behind it unless it ends in tagged fields."""
        made = self._source.fresh("object")
        self._source.line(f"{made} = new({self._source.bind('Class', cls)})")
        shape = shape_of(cls)
        plain, tagged = present(shape, self._version)
        for name, field in shape.fields.items():
            if name in plain:
                self._value(field, f"{made}.{name}", f"{path}.{name}")
            else:
                self._source.line(f"{made}.{name} = {self._literal(field)}")
        if self._flexible:
            self._tag_section(made, tagged, path)
        return made

    def _literal(self, field: Field) -> str:
        return "ZERO_UUID" if field.kind == "uuid" else repr(field.default)

    def _value(self, field: Field, target: str, path: str) -> None:
        nullable = self._version in field.nullable
        if field.kind in FIXED:
            self._run.append((FIXED[field.kind], target))
        elif field.kind == "array":
            self._array(field, target, nullable, path)
        elif field.kind == "struct":
            self._struct(field, target, nullable, path)
        else:
            self._sliced(field.kind, target, nullable, path)

    def _flush(self) -> None:
        """Unpack what has gathered."""
        source, run = self._source, self._run
        self._run = []
        if not run:
            return
        if len(run) == 1 and run[0][0] == "B":
            source.line(f"{run[0][1]} = view[position]")
            source.line("position += 1")
            return
        packed = struct.Struct(">" + "".join(letter for letter, _ in run))
        unpack = source.bind("unpack", packed.unpack_from)
        source.line(f"{', '.join(target for _, target in run)}, = {unpack}(view, position)")
        source.line(f"position += {packed.size}")

    def _length(self, letter: str) -> str:
        """Read a length or count into a fresh name: -1 for null, as the older encoding has it."""
        name = self._source.fresh("length")
        if not self._flexible:
            self._run.append((letter, name))
            self._flush()
            return name
        self._run.append(("B", name))
        self._flush()
        with self._source.block(f"if {name} > 0x7F:"):
            self._source.line("byte = view[position]")
            with self._source.block("if byte < 0x80:"):
                self._source.line(f"{name} = {name} & 0x7F | byte << 7")
                self._source.line("position += 1")
            with self._source.block("else:"):
                self._source.line(f"{name}, position = decode_uvarint_rest(view, position, {name})")
        self._source.line(f"{name} -= 1")
        return name

    def _sliced(self, kind: str, target: str, nullable: bool, path: str) -> None:
        source = self._source
        length = self._length("h" if kind == "string" else "i")
        read = {"string": 'str(view[position:stop], "utf-8")', "binary": "bytes(view[position:stop])"}
        if nullable:
            with source.block(f"if {length} == -1:"):
                source.line(f"{target} = None")
        with source.block("else:") if nullable else nullcontext():
            source.line(f"stop = position + {length}")
            with source.block("if stop < position or stop > end:"):
                source.line(f"raise WireError('{path}: a length outside the frame')")
            source.line(f"{target} = {read.get(kind, 'view[position:stop]')}")
            source.line("position = stop")

    def _array(self, field: Field, target: str, nullable: bool, path: str) -> None:
        source = self._source
        assert field.element is not None
        count = self._length("i")
        if nullable:
            with source.block(f"if {count} == -1:"):
                source.line(f"{target} = None")
        with source.block("else:") if nullable else nullcontext():
            size = max(1, minimum_size(field.element, self._version, self._flexible))
            with source.block(f"if {count} < 0 or {count} * {size} > end - position:"):
                source.line(f"raise WireError('{path}: a count outside the frame')")
            if field.element == "int32":
                source.line(f"{target} = decode_int32s(view, position, {count})")
                source.line(f"position += 4 * {count}")
            else:
                self._elements(field.element, count, target, path)

    def _elements(self, element: str | type, count: str, target: str, path: str) -> None:
        source = self._source
        items = source.fresh("items")
        source.line(f"{target} = {items} = []")
        with source.block(f"for _ in range({count}):"):
            if isinstance(element, type):
                made = self._object(element, path)
                self._flush()
            elif element in FIXED:
                made = source.fresh("item")
                self._run.append((FIXED[element], made))
                self._flush()
            else:
                made = source.fresh("item")
                self._sliced(element, made, False, path)
            source.line(f"{items}.append({made})")

    def _struct(self, field: Field, target: str, nullable: bool, path: str) -> None:
        """A struct of its own, after a byte that says whether it is there where it can be null."""
        assert isinstance(field.element, type)
        source = self._source
        if not nullable:
            made = self._object(field.element, path)
            self._flush()
            source.line(f"{target} = {made}")
            return
        presence = source.fresh("presence")
        self._run.append(("b", presence))
        self._flush()
        with source.block(f"if {presence} < 0:"):
            source.line(f"{target} = None")
        with source.block("else:"):
            made = self._object(field.element, path)
            self._flush()
            source.line(f"{target} = {made}")

    def _tag_section(self, made: str, tagged: dict[str, Field], path: str) -> None:
        """Unknown tags are skipped; of a tag sent twice the last one holds, and their order is not checked."""
        source = self._source
        tags = source.fresh("tags")
        self._run.append(("B", tags))
        self._flush()
        if not tagged:
            with source.block(f"if {tags}:"):
                source.line(f"position = skip_tags(view, position, {tags})")
            return
        tag, stop = source.fresh("tag"), source.fresh("stop")
        with source.block(f"if {tags}:"):
            source.line(f"{tags}, position = decode_tag_count(view, position, {tags})")
            with source.block(f"for _ in range({tags}):"):
                source.line(f"{tag}, position, {stop} = decode_tag(view, position)")
                for index, (name, field) in enumerate(tagged.items()):
                    with source.block(f"{'elif' if index else 'if'} {tag} == {field.tag}:"):
                        self._value(field, f"{made}.{name}", f"{path}.{name}")
                        self._flush()
                        with source.block(f"if position != {stop}:"):
                            source.line(f"raise WireError('{path}.{name}: another size than its tag says')")
                with source.block("else:"):
                    source.line(f"position = {stop}")
