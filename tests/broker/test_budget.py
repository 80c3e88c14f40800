"""The budget of large frames: never above its limit but for one, and nobody waits for ever."""

from hypothesis import given
from hypothesis import strategies as st

from inkless.broker.budget import Budget, Claim

LIMIT = 400
LARGE = 300


def test_small_frames_have_their_own_share() -> None:
    budget = Budget(LIMIT)
    hog = Claim(budget, lambda: None)
    hog.take(10_000)
    assert not budget.is_full
    budget.add_small(100)
    assert budget.is_full


@given(st.lists(st.tuples(st.integers(0, 5), st.sampled_from(["grow", "done"])), max_size=80))
def test_frames_that_grow_step_by_step_all_end(steps: list[tuple[int, str]]) -> None:
    budget = Budget(LIMIT)
    granted: list[int] = []
    claims = {number: Claim(budget, lambda number=number: granted.append(number)) for number in range(6)}
    for number, step in steps:
        claim = claims[number]
        if step == "grow" and not claim.wanted:
            claim.ask(90)
        elif step == "done" and claim.held and not claim.wanted:
            claim.release()
        over = max((other.held for other in claims.values()), default=0)
        assert budget.used <= LARGE + over
        assert budget.used == sum(other.held for other in claims.values())
        if budget.has_line:
            assert any(other.held for other in claims.values())
    for _ in range(10):
        for claim in claims.values():
            if not claim.wanted:
                claim.release()
    assert budget.used == 0
    assert not budget.has_line


def test_who_goes_away_leaves_the_line() -> None:
    budget = Budget(LIMIT)
    granted: list[str] = []
    first, second, third = (Claim(budget, lambda name=name: granted.append(name)) for name in "abc")
    assert first.ask(250)
    assert not second.ask(100)
    assert not third.ask(40)
    second.release()
    assert granted == ["c"]
    first.release()
    third.release()
    assert budget.used == 0
