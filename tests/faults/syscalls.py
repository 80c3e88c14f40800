"""What a process asked of the system, from the output of strace: calls, and the lines they began and ended at."""

import re
import shutil
import subprocess
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

SYNCS = ("fsync", "fdatasync")
RENAMES = ("rename", "renameat", "renameat2")
RECEIVES = ("read", "readv", "recvfrom", "recvmsg")
SENDS = ("write", "writev", "sendto", "sendmsg")
FOLDERS = ("mkdir", "mkdirat")
FILE_WRITES = ("pwrite64", "pwritev", "pwritev2")
TRACED = (*SYNCS, *RENAMES, *RECEIVES, *SENDS, *FOLDERS, *FILE_WRITES)

_LINE = re.compile(r"(\d+) +(.*)")
_BEGIN = re.compile(r"(\w+)\((.*)")
_RESUMED = re.compile(r"<\.\.\. (\w+) resumed>(.*)")
_UNFINISHED = "<unfinished ...>"
_RESULT = re.compile(r"\)\s+= (-?\d+)")
_FIRST_PATH = re.compile(r"\d+<(TCP[^\]]*\]|[^<>]*)")
_QUOTED = re.compile(r'"([^"]*)"')


def tracer(output: Path) -> Sequence[str]:
    """What to put before a command. The tracer is no parent of it (-D), so signals and waiting work as without."""
    return ("strace", "-D", "-f", "-yy", "-s", "256", "-e", f"trace={','.join(TRACED)}", "-o", str(output))


def why_not(folder: Path) -> str | None:
    """Why processes can't be traced here; None where they can."""
    if shutil.which("strace") is None:
        return "strace is not installed"
    tried = subprocess.run([*tracer(folder / "try"), "true"], capture_output=True, text=True, check=False, timeout=20)
    if tried.returncode or "ptrace" in tried.stderr:
        return f"strace is not allowed here: {tried.stderr.strip()}"
    return None


@dataclass(frozen=True, slots=True)
class Call:
    name: str
    arguments: str
    began: int
    ended: int
    result: int

    @property
    def path(self) -> str:
        """Of the first descriptor: a file's path, or both ends of a connection."""
        found = _FIRST_PATH.search(self.arguments)
        return found.group(1) if found else ""

    @property
    def quoted(self) -> list[str]:
        return _QUOTED.findall(self.arguments)


def read_trace(output: Path) -> list[Call]:
    """All calls that succeeded, in the order in which they ended."""
    return [call for call in _calls(output.read_text().splitlines()) if call.result >= 0]


def _calls(lines: Iterable[str]) -> Iterator[Call]:
    begun: dict[str, tuple[int, str]] = {}
    for number, line in enumerate(lines):
        matched = _LINE.match(line)
        assert matched, line
        thread, rest = matched.groups()
        began = number
        if resumed := _RESUMED.match(rest):
            began, start = begun.pop(thread)
            rest = start + resumed.group(2)
        elif rest.endswith(_UNFINISHED):
            begun[thread] = (number, rest.removesuffix(_UNFINISHED))
            continue
        call, result = _BEGIN.match(rest), _RESULT.search(rest)
        if call and result:
            yield Call(call.group(1), call.group(2), began, number, int(result.group(1)))
