"""The sequence rules against a plain model: a producer's records are taken once, in order, whatever is sent."""

from hypothesis import given
from hypothesis import strategies as st

from inkless.control_plane.sequences import (
    MAX_SEQUENCE,
    Accept,
    Duplicate,
    KnownBatch,
    ProducerState,
    accept,
    check,
    last_sequence,
)


@given(st.integers(0, MAX_SEQUENCE), st.integers(1, 1000))
def test_last_sequence_wraps(base: int, records: int) -> None:
    numbers = base
    for _ in range(records - 1):
        numbers = 0 if numbers == MAX_SEQUENCE else numbers + 1
    assert last_sequence(base, records) == numbers


@given(
    st.sampled_from([0, 5, MAX_SEQUENCE - 3, MAX_SEQUENCE]),
    st.lists(st.tuples(st.integers(0, 12), st.integers(0, 2)), max_size=60),
)
def test_any_order_of_sends_writes_each_batch_once_and_in_order(start: int, sends: list[tuple[int, int]]) -> None:
    """Batch n of an epoch has three records; the model is the list of batches that are in the log."""
    state: ProducerState | None = None
    log: list[tuple[int, int]] = []
    for number, epoch in sends:
        first = start if epoch == 0 else 0
        base = (first + 3 * number) & MAX_SEQUENCE
        verdict = check(state, epoch, base, 3, any_first=epoch == 0 and number == 0)
        newest = max((past_epoch for _, past_epoch in log), default=-1)
        mine = [past for past, past_epoch in log if past_epoch == epoch]
        expected = len(mine)
        if epoch < newest:
            assert not isinstance(verdict, Accept | Duplicate)
        elif number == expected:
            assert isinstance(verdict, Accept)
            known = KnownBatch(base, last_sequence(base, 3), len(log), 0)
            state = accept(state, epoch, known)
            log.append((number, epoch))
        elif number in mine[-5:]:
            assert isinstance(verdict, Duplicate)
            assert log[verdict.original.base_offset] == (number, epoch)
        else:
            assert not isinstance(verdict, Accept | Duplicate)
    assert state is None or len(state.known) <= 5
