"""The bound on request bytes that are being read or worked on, over all connections.

Who wants to read a large frame asks first and waits in line; nobody is dropped.
"""

from collections import deque
from collections.abc import Callable


class Budget:
    """Grants bytes in order of asking. One frame larger than the whole budget is granted when nothing else is out."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._line: deque[tuple[int, Callable[[], None]]] = deque()
        self.used = 0

    def take(self, size: int, granted: Callable[[], None]) -> bool:
        """True where the bytes are granted at once; else `granted` is called when they are."""
        if not self._line and self._fits(size):
            self.used += size
            return True
        self._line.append((size, granted))
        return False

    def force(self, size: int) -> None:
        """Count bytes that are in memory already."""
        self.used += size

    def give_back(self, size: int) -> None:
        self.used -= size
        while self._line and self._fits(self._line[0][0]):
            size, granted = self._line.popleft()
            self.used += size
            granted()

    def withdraw(self, granted: Callable[[], None]) -> None:
        """Leave the line without having been granted."""
        self._line = deque((size, who) for size, who in self._line if who != granted)
        self.give_back(0)

    @property
    def is_full(self) -> bool:
        return self.used >= self._limit

    def _fits(self, size: int) -> bool:
        return self.used + size <= self._limit or self.used == 0
