"""Where a broker's time goes in one scenario: `python -m bench.profile SCENARIO [--py-spy PATH | --perf]`.

py-spy shows Python functions, perf the kernel and C code; neither is a dependency of the project. For py-spy:
`python3 -m venv /tmp/py-spy && /tmp/py-spy/bin/pip install py-spy`, then `--py-spy /tmp/py-spy/bin/py-spy`. It
samples the thread that holds the GIL, without stopping the broker; system calls that release it show in perf alone.
"""

import argparse
import shutil
import signal
import subprocess
import tempfile
from collections import Counter
from pathlib import Path

from bench import memory, scenarios
from bench.brokers import end_with_brokers, start_inkless

TOP = 40
SAMPLES_PER_SECOND = 500


def summarize(text: str) -> str:
    """Shares of samples by function: as the innermost frame, and anywhere on the stack; then by thread."""
    own: Counter[str] = Counter()
    under: Counter[str] = Counter()
    threads: Counter[str] = Counter()
    for line in text.splitlines():
        stack, _, count = line.rpartition(" ")
        thread, *frames = stack.split(";")
        threads[thread] += int(count)
        if frames:
            own[frames[-1]] += int(count)
        for frame in set(frames):
            under[frame] += int(count)
    total = max(1, threads.total())
    lines = [f"{total} samples"]
    for title, counts in (("own share", own), ("with what it calls", under), ("threads", threads)):
        lines += ["", title]
        lines += [f"{100 * samples / total:6.1f} %  {name}" for name, samples in counts.most_common(TOP)]
    return "\n".join(lines)


def py_spy_command(py_spy: str, pid: int, samples: Path) -> list[str]:
    command = [py_spy, "record", "--pid", str(pid), "--rate", str(SAMPLES_PER_SECOND), "--duration", "900"]
    return [
        *command,
        "--threads",
        "--gil",
        "--nonblocking",
        "--function",
        "--format",
        "raw",
        "--output",
        str(samples),
    ]


def perf_command(pid: int, samples: Path) -> list[str]:
    return ["perf", "record", "-F", str(2 * SAMPLES_PER_SECOND), "-g", "-p", str(pid), "-o", str(samples)]


def perf_report(samples: Path) -> str:
    parts = []
    for sort, children in (("dso", False), ("sym", False), ("sym", True)):
        command = ["perf", "report", "-i", str(samples), "--stdio", "-g", "none", "--sort", sort]
        command.append("--children" if children else "--no-children")
        shown = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        lines = [line.rstrip() for line in shown.splitlines() if line.strip() and not line.startswith("#")]
        parts.append(f"{sort}, {'with what it calls' if children else 'own share'}\n" + "\n".join(lines[:TOP]))
    return "\n\n".join(parts)


def record(options: argparse.Namespace, folder: Path) -> tuple[scenarios.Figures, str]:
    """The scenario's figures (slowed by the profiler) and the summary."""
    samples = folder / "samples"
    broker = start_inkless(folder)
    try:
        command = (
            perf_command(broker.pid, samples) if options.perf else py_spy_command(options.py_spy, broker.pid, samples)
        )
        profiler = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            lengths = scenarios.FULL if options.full else scenarios.QUICK
            figures = scenarios.SCENARIOS[options.scenario](broker, lengths)
        finally:
            profiler.send_signal(signal.SIGINT)
            profiler.wait(60)
    finally:
        broker.stop()
    if options.raw is not None:
        shutil.copy(samples, options.raw)
    return figures, perf_report(samples) if options.perf else summarize(samples.read_text())


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.profile")
    parser.add_argument("scenario", choices=list(scenarios.SCENARIOS))
    parser.add_argument("--py-spy", default=shutil.which("py-spy") or "py-spy", metavar="PATH")
    parser.add_argument("--perf", action="store_true", help="perf instead of py-spy")
    parser.add_argument("--full", action="store_true", help="windows as long as in a full run")
    parser.add_argument("--raw", type=Path, metavar="FILE", help="keep the samples there, for a flame graph")
    options = parser.parse_args()
    end_with_brokers()
    folder = Path(tempfile.mkdtemp(prefix="inkless-profile-"))
    memory.settle()
    try:
        figures, summary = record(options, folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    for name, value in figures.items():
        print(f"{name:44} {value:12.2f}")
    print(summary)


if __name__ == "__main__":
    main()
