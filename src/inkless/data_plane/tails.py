"""The tail of each partition in memory: its bounds, and the coordinates of what was committed last.

A tail is contiguous: it covers [start, high watermark). What lies before it is asked of the plane. An answer that
bounds a client's search never comes from here (rule 7); the reader confirms those with the plane.
"""

from bisect import bisect_right
from collections import OrderedDict, deque
from collections.abc import Iterable
from itertools import islice

from inkless.control_plane.values import Coordinate, Located, PartitionState, TopicPartition

COORDINATES_PER_TAIL = 256
PARTITIONS = 20_000


class Tail:
    __slots__ = ("coordinates", "fetched_ms", "high_watermark", "log_start", "swaps")

    def __init__(self, high_watermark: int, log_start: int) -> None:
        self.high_watermark = high_watermark
        self.log_start = log_start
        self.swaps = 0
        self.coordinates: deque[Coordinate] = deque(maxlen=COORDINATES_PER_TAIL)
        self.fetched_ms = 0

    @property
    def start(self) -> int:
        """The first offset whose coordinate is held."""
        return self.coordinates[0].base_offset if self.coordinates else self.high_watermark

    def append(self, coordinate: Coordinate) -> None:
        """Add what was committed; after a gap (another broker's commits) the tail starts anew."""
        if coordinate.last_offset < self.high_watermark:
            return
        if coordinate.base_offset != self.high_watermark:
            self.coordinates.clear()
        self.coordinates.append(coordinate)
        self.high_watermark = coordinate.last_offset + 1

    def find(self, offset: int, max_bytes: int) -> list[Coordinate] | None:
        """Coordinates from an offset on, up to a byte budget; None where the tail does not reach back so far."""
        if offset < self.start or offset > self.high_watermark:
            return None
        coordinates = self.coordinates
        first = bisect_right(coordinates, offset, key=lambda held: held.base_offset) - 1 if coordinates else 0
        found: list[Coordinate] = []
        if offset == self.high_watermark:
            return found
        for coordinate in islice(coordinates, first, None):
            found.append(coordinate)
            max_bytes -= coordinate.size
            if max_bytes <= 0:
                break
        return found

    def drop_before(self, append_time_ms: int) -> None:
        while self.coordinates and self.coordinates[0].append_time_ms < append_time_ms:
            self.coordinates.popleft()


class Tails:
    """All tails of this broker, bounded; the one that is known longest goes first.

    `keep_ms` is half the grace period: an object that these coordinates name may die no sooner (rule 3).
    """

    def __init__(self, keep_ms: int) -> None:
        self._keep_ms = keep_ms
        self._tails: OrderedDict[TopicPartition, Tail] = OrderedDict()
        self._under_locate: dict[TopicPartition, list[Coordinate]] = {}

    def fetched(self, name: TopicPartition, now_ms: int) -> Tail | None:
        """The tail of a partition that a client asks for now."""
        tail = self._tails.get(name)
        if tail is not None:
            tail.fetched_ms = now_ms
            if tail.coordinates and tail.coordinates[0].append_time_ms < now_ms - self._keep_ms:
                tail.drop_before(now_ms - self._keep_ms)
        return tail

    def held(self, name: TopicPartition) -> Tail | None:
        return self._tails.get(name)

    def committed(self, name: TopicPartition, coordinate: Coordinate) -> None:
        """This broker committed; only partitions that someone fetches are followed."""
        tail = self._tails.get(name)
        if tail is not None:
            tail.append(coordinate)
        elif (missed := self._under_locate.get(name)) is not None:
            missed.append(coordinate)

    def locating(self, names: Iterable[TopicPartition]) -> None:
        """The plane is being asked: what is committed before its answer is here must not be missed."""
        for name in names:
            if name not in self._tails:
                self._under_locate.setdefault(name, [])

    def learn(self, name: TopicPartition, located: Located, now_ms: int) -> bool:
        """Take in what the plane answered, unless memory knows better by now; whether a known tail grew by it."""
        missed = self._under_locate.pop(name, ())
        tail = self._tails.get(name)
        if tail is None:
            tail = self._tails[name] = Tail(located.high_watermark, located.log_start)
            tail.fetched_ms = now_ms
            if len(self._tails) > PARTITIONS:
                self._tails.popitem(last=False)
            fresh = [c for c in located.coordinates if c.append_time_ms >= now_ms - self._keep_ms]
            if fresh and fresh[-1].last_offset + 1 == located.high_watermark:
                tail.coordinates.extend(fresh)
            for coordinate in missed:
                tail.append(coordinate)
            return False
        before = tail.high_watermark
        tail.log_start = max(tail.log_start, located.log_start)
        for coordinate in located.coordinates:
            if coordinate.base_offset == tail.high_watermark:
                tail.append(coordinate)
        if located.high_watermark > tail.high_watermark:
            tail.coordinates.clear()
            tail.high_watermark = located.high_watermark
        return tail.high_watermark > before

    def note(self, name: TopicPartition, state: PartitionState) -> bool:
        """Take in the feed's word; whether there are records that this tail has no coordinates for."""
        tail = self._tails.get(name)
        if tail is None:
            return False
        tail.log_start = max(tail.log_start, state.log_start)
        if state.swaps != tail.swaps:
            tail.swaps = state.swaps
            tail.coordinates.clear()
        return state.high_watermark > tail.high_watermark

    def end_of(self, name: TopicPartition) -> int:
        return self._tails[name].high_watermark

    def forget(self, name: TopicPartition) -> None:
        self._tails.pop(name, None)
        self._under_locate.pop(name, None)

    def followed(self, now_ms: int, within_ms: int) -> list[TopicPartition]:
        """Partitions fetched within the last while; the others are dropped."""
        old = [name for name, tail in self._tails.items() if tail.fetched_ms < now_ms - within_ms]
        for name in old:
            del self._tails[name]
        return list(self._tails)

    def __len__(self) -> int:
        return len(self._tails)
