"""Client processes: `python -m bench.client ROLE SETTINGS` does what it is told by lines of JSON.

A client has processes of its own so that its work is not the broker's, nor slowed by the measuring one.
"""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

REPOSITORY = Path(__file__).parents[1]


class Client:
    """The measuring process's end of one client process."""

    def __init__(self, role: str, **settings: Any) -> None:
        command = [sys.executable, "-m", "bench.client", role, json.dumps(settings)]
        pipe = subprocess.PIPE
        self._process = subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True, cwd=REPOSITORY)
        self.finish()

    def begin(self, command: str, **arguments: Any) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps([command, arguments]) + "\n")
        self._process.stdin.flush()

    def finish(self) -> Any:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError(f"a client process ended with code {self._process.wait()}")
        return json.loads(line)

    def call(self, command: str, **arguments: Any) -> Any:
        self.begin(command, **arguments)
        return self.finish()

    def close(self) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        try:
            self._process.wait(30)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process.stdout.close()

    def __enter__(self) -> "Client":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def main() -> None:
    from bench import librdkafka, raw

    roles = {
        "producer": librdkafka.BulkProducer,
        "paced": librdkafka.PacedProducer,
        "consumer": librdkafka.BulkConsumer,
        "stopwatch": librdkafka.Stopwatch,
        "raw-produce": raw.ProduceLoad,
        "raw-fetch": raw.FetchLoad,
    }
    role = roles[sys.argv[1]](**json.loads(sys.argv[2]))
    answers = sys.stdout
    sys.stdout = sys.stderr
    answers.write("null\n")
    answers.flush()
    for line in sys.stdin:
        command, arguments = json.loads(line)
        answers.write(json.dumps(getattr(role, command)(**arguments)) + "\n")
        answers.flush()
    role.close()


if __name__ == "__main__":
    main()
