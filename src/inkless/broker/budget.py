"""The bounds on request bytes in memory, over all connections; whoever must wait is not dropped.

Frames are charged for what has arrived, in steps, so that a client that announces much and sends little takes nothing
from others. Small frames have a share of their own.
"""

from collections import deque
from collections.abc import Callable

SMALL_SHARE = 4


class Budget:
    def __init__(self, limit: int) -> None:
        self._small_limit = limit // SMALL_SHARE
        self._large_limit = limit - self._small_limit
        self._small = 0
        self._large = 0
        self._line: deque[Claim] = deque()
        self._over: Claim | None = None

    @property
    def used(self) -> int:
        return self._small + self._large

    @property
    def is_full(self) -> bool:
        """Whether small frames must wait."""
        return self._small >= self._small_limit

    @property
    def has_line(self) -> bool:
        return bool(self._line)

    def add_small(self, size: int) -> None:
        self._small += size

    def remove_small(self, size: int) -> None:
        self._small -= size

    def _may_have(self, claim: "Claim", size: int) -> bool:
        """Above the limit one frame at a time may still grow, else frames read by half would wait for each other."""
        if self._large + size <= self._large_limit or self._large == 0 or claim is self._over:
            return True
        if self._over is None and claim.held:
            self._over = claim
            return True
        return False

    def _grant_line(self) -> None:
        while self._line and self._may_have(self._line[0], self._line[0].wanted):
            claim = self._line.popleft()
            claim.take(claim.wanted)
            claim.granted()


class Claim:
    """One large frame's part of the budget, from its first step to its answer."""

    __slots__ = ("_budget", "granted", "held", "wanted")

    def __init__(self, budget: Budget, granted: Callable[[], None]) -> None:
        self._budget = budget
        self.granted = granted
        self.held = 0
        self.wanted = 0

    def ask(self, size: int) -> bool:
        """True where the bytes are granted at once; else `granted` is called when they are."""
        budget = self._budget
        if budget._may_have(self, size) and (self.held or not budget._line):
            self.take(size)
            return True
        self.wanted = size
        budget._line.append(self)
        return False

    def take(self, size: int) -> None:
        """Count bytes without asking, because they are in memory already."""
        self.held += size
        self._budget._large += size
        self.wanted = 0

    def release(self) -> None:
        """Give everything back, and leave the line."""
        budget = self._budget
        if self.wanted:
            budget._line.remove(self)
            self.wanted = 0
        budget._large -= self.held
        self.held = 0
        if budget._over is self:
            budget._over = None
        budget._grant_line()
