"""Topic and cluster ids: 16 bytes inside, Kafka's 22-character base64 text outside."""

import base64
from typing import NewType

TopicId = NewType("TopicId", bytes)

ZERO_ID = TopicId(bytes(16))


def new_topic_id(random_bytes: bytes) -> TopicId:
    """A version-4 UUID from 16 random bytes whose text never starts with a dash."""
    assert len(random_bytes) == 16
    raw = bytearray(random_bytes)
    raw[0] &= 0x7F  # a text id that starts with '-' would look like a command-line flag
    raw[6] = raw[6] & 0x0F | 0x40
    raw[8] = raw[8] & 0x3F | 0x80
    return TopicId(bytes(raw))


def id_to_text(raw: bytes) -> str:
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode("ascii")


def id_from_text(text: str) -> TopicId:
    raw = base64.urlsafe_b64decode(text + "==")
    if len(raw) != 16:
        raise ValueError(f"not a 22-character id: {text!r}")
    return TopicId(raw)
