"""Varints, tagged fields and runs of integers: what the compiled codecs call where a straight line won't do."""

from collections.abc import Callable
from struct import Struct

from inkless.wire.errors import WireError

# Kafka's varints hold 32 bits, in at most five bytes.
_LAST_SHIFT = 28
_LAST_BITS = 0x0F

# Replica lists are short: their formats are made once.
SHORT_RUN = 17


def encode_uvarint(value: int) -> bytes:
    if value < 0x80:
        return ONE_BYTE[value]
    if value < 0x4000:
        return bytes((value & 0x7F | 0x80, value >> 7))
    encoded = bytearray()
    while value > 0x7F:
        encoded.append(value & 0x7F | 0x80)
        value >>= 7
    encoded.append(value)
    return bytes(encoded)


ONE_BYTE = tuple(bytes((value,)) for value in range(0x80))


def decode_uvarint(view: memoryview, position: int) -> tuple[int, int]:
    """The value and the position behind it; IndexError if the view ends first."""
    first = view[position]
    if first < 0x80:
        return first, position + 1
    return decode_uvarint_rest(view, position + 1, first)


def decode_uvarint_rest(view: memoryview, position: int, first: int) -> tuple[int, int]:
    """Go on behind a first byte that announced more of them."""
    value = first & 0x7F
    for shift in range(7, _LAST_SHIFT + 1, 7):
        byte = view[position]
        position += 1
        if byte < 0x80:
            if shift == _LAST_SHIFT and byte > _LAST_BITS:
                break
            return value | byte << shift, position
        value |= (byte & 0x7F) << shift
    raise WireError("a varint of more than 32 bits")


def decode_tag_count(view: memoryview, position: int, first: int) -> tuple[int, int]:
    """How many tagged fields follow, given the count's first byte; each takes two bytes at least."""
    count, position = (first, position) if first < 0x80 else decode_uvarint_rest(view, position, first)
    if 2 * count > len(view) - position:
        raise WireError("more tagged fields than the frame can hold")
    return count, position


def decode_tag(view: memoryview, position: int) -> tuple[int, int, int]:
    """A tagged field's number, where its value starts and where it ends."""
    tag, position = decode_uvarint(view, position)
    size, position = decode_uvarint(view, position)
    if size > len(view) - position:
        raise WireError("a tagged field longer than the frame")
    return tag, position, position + size


def skip_tags(view: memoryview, position: int, first: int) -> int:
    """Step over a section of which no field is known."""
    count, position = decode_tag_count(view, position, first)
    for _ in range(count):
        _, _, position = decode_tag(view, position)
    return position


def int32_run(count: int) -> Struct:
    return _INT32_RUNS[count] if count < SHORT_RUN else Struct(f">{count}i")


def decode_int32s(view: memoryview, position: int, count: int) -> list[int]:
    return list(int32_run(count).unpack_from(view, position))


def encode_int32s(values: list[int], compact: bool) -> bytes:
    """A whole array, of any length."""
    count = len(values)
    prefix = encode_uvarint(count + 1) if compact else count.to_bytes(4, "big")
    return prefix + int32_run(count).pack(*values)


def _short_packers(prefix: str) -> tuple[Callable[..., bytes], ...]:
    return tuple(Struct(f">{prefix}{count}i").pack for count in range(SHORT_RUN))


_INT32_RUNS = tuple(Struct(f">{count}i") for count in range(SHORT_RUN))
# Packers of a length prefix and that many integers, for arrays shorter than SHORT_RUN.
PACK_INT32S = _short_packers("i")
PACK_COMPACT_INT32S = _short_packers("B")
