"""The checker finds what it is there to find."""

import pytest
from checker import History, PartitionLog, Record, check

A = [Record("a", 0, number) for number in range(3)]


def history(*acknowledged: tuple[Record, int]) -> History:
    return History({("a", 0): 3}, dict(acknowledged))


def log(*records: tuple[int, Record], high_watermark: int = 3) -> dict[int, PartitionLog]:
    return {0: PartitionLog(high_watermark, records)}


def test_a_good_log_passes():
    check(history((A[0], 0), (A[2], 2)), log((0, A[0]), (1, A[1]), (2, A[2])))


def test_an_unacknowledged_record_may_be_there_or_not():
    check(history((A[0], 0)), log((0, A[0]), high_watermark=1))
    check(history((A[0], 0)), log((0, A[0]), (1, A[1]), high_watermark=2))


@pytest.mark.parametrize(
    ("found", "problem"),
    [
        (log((0, A[0]), (1, A[1])), "offset 2 is missing"),
        (log((0, A[0]), (2, A[1]), (3, A[2])), "offset 1 is missing"),
        (log((0, A[0]), (1, A[1]), (1, A[2])), "offset 2 is missing"),
        (log((0, A[0]), (1, A[1]), (2, Record("a", 0, 3))), "was never sent"),
        (log((0, A[0]), (1, A[1]), (2, Record("b", 0, 0))), "was never sent"),
        (log((0, A[0]), (1, A[1]), (2, Record("a", 1, 2))), "was never sent"),
        (log((0, A[0]), (1, A[1]), high_watermark=2), "acknowledged at offset 2; there lies None"),
        (log((0, A[0]), (1, A[2]), (2, A[1])), "acknowledged at offset 2"),
        (log((0, A[0]), (1, A[1]), (2, A[2]), (3, A[0]), high_watermark=4), "lies at offsets 0 and 3"),
        (log((0, A[1]), (1, A[0]), (2, A[2])), "lies behind number 1"),
    ],
)
def test_each_problem_is_named(found, problem):
    with pytest.raises(AssertionError, match=problem):
        check(history((A[2], 2)), found)


def test_plain_producers_may_repeat_and_reorder_but_not_lose():
    repeated = log((0, A[1]), (1, A[0]), (2, A[1]))
    check(history((A[0], 1)), repeated, once=False)
    with pytest.raises(AssertionError, match="acknowledged at offset 2"):
        check(history((A[0], 2)), repeated, once=False)
