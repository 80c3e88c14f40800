"""The bounds on request bytes in memory, over all connections; whoever must wait is not dropped.

Small frames are counted once they are there. A large one asks before a byte of it is kept and waits in line, and its
share is apart, so that a client that announces much and sends little holds up no small request.
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
        self._line: deque[tuple[int, Callable[[], None]]] = deque()

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

    def ask_large(self, size: int, granted: Callable[[], None]) -> bool:
        """True where the bytes are granted at once; else `granted` is called when they are."""
        if not self._line and self._fits(size):
            self._large += size
            return True
        self._line.append((size, granted))
        return False

    def add_large(self, size: int) -> None:
        """Count a large frame that was read already, beside small ones."""
        self._large += size

    def return_large(self, size: int) -> None:
        self._large -= size
        self._grant()

    def withdraw(self, granted: Callable[[], None]) -> None:
        """Leave the line without having been granted."""
        self._line = deque((size, who) for size, who in self._line if who != granted)
        self._grant()

    def _grant(self) -> None:
        while self._line and self._fits(self._line[0][0]):
            size, granted = self._line.popleft()
            self._large += size
            granted()

    def _fits(self, size: int) -> bool:
        """One frame larger than the whole share is let in when it is alone."""
        return self._large + size <= self._large_limit or self._large == 0
