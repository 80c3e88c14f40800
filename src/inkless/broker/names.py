"""Which topic names are legal, as Kafka has it."""

import re

MAX_LENGTH = 249
_LEGAL = re.compile(r"[a-zA-Z0-9._-]+")


def is_valid_topic_name(name: str) -> bool:
    return problem_with(name) is None


def problem_with(name: str) -> str | None:
    """Why a name can't be a topic's, or None."""
    if not name:
        return "Topic name is invalid: the empty string is not allowed."
    if name in (".", ".."):
        return f"Topic name is invalid: '{name}' is not allowed."
    if len(name) > MAX_LENGTH:
        return f"Topic name is invalid: it has {len(name)} characters, at most {MAX_LENGTH} are allowed."
    if not _LEGAL.fullmatch(name):
        return f"Topic name is invalid: '{name}' has characters other than letters, digits, '.', '_' and '-'."
    return None


def collision_key(name: str) -> str:
    """Names alike but for '.' and '_' collide, because Kafka's metric names can't tell them apart."""
    return name.replace(".", "_")
