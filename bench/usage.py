"""What a process costs: CPU time and memory as the kernel counts them, and the figures that are made of them."""

import os
import time
from collections.abc import Sequence
from pathlib import Path

import psutil

MB = 1_000_000
MIB = 1024 * 1024
_CPU_CLOCK_OF_PROCESS = 2  # as clock_getcpuclockid(3) makes it of a pid: utime + stime of all threads, in ns


def cpu_seconds(pid: int) -> float:
    """User and system time of a process and its children, dead threads included."""
    process = psutil.Process(pid)
    ended = process.cpu_times()
    live = [pid, *[child.pid for child in process.children(recursive=True)]]
    return sum([_cpu_clock(each) for each in live]) + ended.children_user + ended.children_system


def _cpu_clock(pid: int) -> float:
    return time.clock_gettime((~pid << 3) | _CPU_CLOCK_OF_PROCESS)


def rss_mb(pid: int) -> float:
    return psutil.Process(pid).memory_info().rss / MB


def peak_rss_mb(pid: int) -> float:
    """The largest RSS since the start, or since `forget_peak`."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) * 1024 / MB
    raise AssertionError("no VmHWM in /proc")


def forget_peak(pid: int) -> None:
    Path(f"/proc/{pid}/clear_refs").write_text("5")


def percentile(values: Sequence[float], share: float) -> float:
    """The smallest value that is not below `share` of all."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))]


def fdatasync_ms(folder: Path, rounds: int = 200, size: int = 10_000) -> list[float]:
    """Milliseconds of each fdatasync after an append, on the filesystem of this folder."""
    path = folder / "fdatasync-probe"
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    taken = []
    try:
        for _ in range(rounds):
            os.write(descriptor, os.urandom(size))
            started = time.perf_counter()
            os.fdatasync(descriptor)
            taken.append((time.perf_counter() - started) * 1000)
    finally:
        os.close(descriptor)
        path.unlink()
    return taken
