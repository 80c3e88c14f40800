"""Topics: made, found, grown and deleted. A deleted name is free at once; everything is keyed by the id."""

import json
from collections.abc import Sequence

from inkless.control_plane.sqlite.connection import Cursor, one
from inkless.control_plane.sqlite.statements import sql
from inkless.control_plane.values import NewTopic, Refusal, Topic, TopicSnapshot
from inkless.core.errors import ErrorKind
from inkless.core.ids import TopicId


def version(cursor: Cursor) -> int:
    return int(one(cursor, sql("meta_get"), ("topics_version",))[0])


def snapshot(cursor: Cursor) -> TopicSnapshot:
    rows = cursor.execute(sql("topic_list")).fetchall()
    return TopicSnapshot(version(cursor), tuple(_topic(row) for row in rows))


def find(cursor: Cursor, names: Sequence[str], ids: Sequence[TopicId]) -> list[Topic | None]:
    rows = [one(cursor, sql("topic_by_name"), (name,)) for name in names]
    rows += [one(cursor, sql("topic_by_id"), (topic_id,)) for topic_id in ids]
    return [None if row is None else _topic(row) for row in rows]


def create(cursor: Cursor, fresh: Sequence[tuple[TopicId, NewTopic]], now_ms: int) -> list[Topic | Refusal]:
    answers: list[Topic | Refusal] = []
    for topic_id, new in fresh:
        if one(cursor, sql("topic_by_name"), (new.name,)):
            answers.append(Refusal(ErrorKind.TOPIC_EXISTS, f"Topic '{new.name}' already exists."))
            continue
        configs = dict(new.configs)
        row = (topic_id, new.name, new.partitions, json.dumps(configs), now_ms)
        cursor.execute(sql("topic_insert"), row)
        cursor.executemany(sql("partition_insert"), [(topic_id, index) for index in range(new.partitions)])
        answers.append(Topic(topic_id, new.name, new.partitions, configs))
    _bump_if_any(cursor, answers)
    return answers


def delete(cursor: Cursor, ids: Sequence[TopicId], now_ms: int) -> list[Topic | Refusal]:
    answers: list[Topic | Refusal] = []
    for topic_id in ids:
        row = one(cursor, sql("topic_by_id"), (topic_id,))
        if row is None:
            answers.append(Refusal(ErrorKind.UNKNOWN_TOPIC_ID))
            continue
        cursor.execute(sql("topic_delete"), (now_ms, topic_id))
        answers.append(_topic(row))
    _bump_if_any(cursor, answers)
    return answers


def grow(cursor: Cursor, growth: Sequence[tuple[TopicId, int]]) -> list[Topic | Refusal]:
    answers: list[Topic | Refusal] = []
    for topic_id, total in growth:
        row = one(cursor, sql("topic_by_id"), (topic_id,))
        if row is None:
            answers.append(Refusal(ErrorKind.UNKNOWN_TOPIC_OR_PARTITION))
            continue
        topic = _topic(row)
        if total <= topic.partitions:
            answers.append(Refusal(ErrorKind.INVALID_PARTITIONS, _no_growth(topic, total)))
            continue
        cursor.execute(sql("topic_grow"), (total, topic_id))
        new = range(topic.partitions, total)
        cursor.executemany(sql("partition_insert"), [(topic_id, index) for index in new])
        answers.append(Topic(topic.id, topic.name, total, topic.configs))
    _bump_if_any(cursor, answers)
    return answers


def _no_growth(topic: Topic, total: int) -> str:
    if total == topic.partitions:
        return f"Topic already has {total} partition(s)."
    return f"The topic {topic.name} currently has {topic.partitions} partition(s); {total} would not be an increase."


def _bump_if_any(cursor: Cursor, answers: Sequence[Topic | Refusal]) -> None:
    if any(isinstance(answer, Topic) for answer in answers):
        cursor.execute(sql("topics_version_bump"))


def _topic(row: tuple[bytes, str, int, str]) -> Topic:
    topic_id, name, partitions, configs = row
    return Topic(TopicId(topic_id), name, partitions, json.loads(configs))
