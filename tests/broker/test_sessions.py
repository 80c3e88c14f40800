"""Fetch sessions as a value: updates, order, epochs, and room for new ones."""

from itertools import count

from inkless.broker.sessions import MAX_EPOCH, SessionKey, SessionPartition, Sessions


def partition(topic: str, index: int, offset: int = 0) -> SessionPartition:
    return SessionPartition(SessionKey(topic, index), offset, 100, -1)


def sessions(slots: int = 3) -> Sessions:
    numbers = count(0)
    return Sessions(slots, lambda: next(numbers) // 2)


def test_updates_keep_the_order_and_what_was_told() -> None:
    session = sessions().open(False, [partition("a", 0), partition("a", 1), partition("b", 0)], 0)
    assert session is not None
    session.partitions[SessionKey("a", 1)].told_high_watermark = 7
    session.update([partition("a", 1, 5), partition("c", 0)], [SessionKey("a", 0), SessionKey("x", 9)])
    assert list(session.partitions) == [SessionKey("a", 1), SessionKey("b", 0), SessionKey("c", 0)]
    held = session.partitions[SessionKey("a", 1)]
    assert (held.fetch_offset, held.told_high_watermark) == (5, 7)
    session.served(SessionKey("a", 1))
    assert list(session.partitions)[-1] == SessionKey("a", 1)


def test_epochs_wrap_to_one() -> None:
    session = sessions().open(False, [], 0)
    assert session is not None
    assert session.epoch == 1
    session.epoch = MAX_EPOCH
    session.advance()
    assert session.epoch == 1


def test_an_idle_session_makes_room_and_one_in_use_does_not() -> None:
    held = sessions()
    opened = [held.open(True, [], 0) for _ in range(3)]
    ids = [session.id for session in opened if session]
    assert len(set(ids)) == 3
    assert 0 not in ids
    assert held.open(True, [], 10) is None, "one client too many must not cost the others their sessions"
    assert held.find(ids[0], 100) is not None
    assert held.open(True, [], 130) is not None
    assert held.find(ids[1], 130) is None
    assert held.find(ids[0], 130) is not None
    assert len(held) == 3
    assert sessions(0).open(True, [], 0) is None
