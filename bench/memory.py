"""Free memory of a virtual machine that hands it back to its host (free page reporting).

There the first touch of a free page costs a fault in the host, counted as the broker's CPU time: writing into new
page cache runs at a tenth of its speed, for any broker. So free memory is filled with clean page cache first (by
reading a sparse file, which is left behind for the next run); new pages are then recycled ones, as on a machine that
owns its memory.
"""

import os
import random
import time
from pathlib import Path

from bench.kafka_jars import CACHE
from bench.usage import MB, MIB

REPORTING = Path("/sys/module/page_reporting")
FILLER = CACHE.parent / "filler"
FILLER_BYTES = 4 * 1024 * 1024 * MIB  # sparse; a place chosen at random is not in the page cache yet
LEAVE_FREE_MB = 400  # about where the kernel begins to recycle pages
CHURN_BYTES = 600 * MIB  # read beyond that, so that the pages that stay free are recycled ones too
STEP_BYTES = 8 * MIB
PROBE_BYTES = 256 * MIB


def is_handed_back() -> bool:
    return REPORTING.exists()


def free_mb() -> float:
    for line in Path("/proc/meminfo").read_text().splitlines():
        if line.startswith("MemFree:"):
            return int(line.split()[1]) * 1024 / MB
    raise AssertionError("no MemFree in /proc/meminfo")


def settle() -> None:
    """Before a window in which a broker writes."""
    if is_handed_back():
        fill()


def fill() -> float:
    """Fill free memory with page cache; the MB that were free before."""
    before = free_mb()
    if before > LEAVE_FREE_MB:
        FILLER.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(FILLER, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            os.ftruncate(descriptor, FILLER_BYTES)
            _read_until_full(descriptor)
        finally:
            os.close(descriptor)
    return before


def _read_until_full(descriptor: int) -> None:
    total = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    scratch = bytearray(STEP_BYTES)
    first = random.randrange((FILLER_BYTES - 2 * total) // MIB) * MIB
    position, churned = first, 0
    while churned < CHURN_BYTES and position < first + total:
        read = os.preadv(descriptor, [scratch], position)
        position += read
        if churned or free_mb() <= LEAVE_FREE_MB:
            churned += read


def page_cache_mb_per_cpu_s(folder: Path) -> float:
    """How fast a plain write goes into new page cache: the bound of every broker that writes files."""
    path = folder / "page-cache-probe"
    body = memoryview(bytes(MIB))
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    try:
        started = time.process_time()
        for _ in range(PROBE_BYTES // MIB):
            os.write(descriptor, body)
        taken_s = time.process_time() - started
    finally:
        os.close(descriptor)
        path.unlink()
    return PROBE_BYTES / MB / taken_s
