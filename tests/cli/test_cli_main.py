"""The command as a whole: help, version, exit codes, and what it imports."""

import subprocess
import sys

import pytest

from inkless import __version__
from inkless.cli.main import COMMANDS, main

Output = pytest.CaptureFixture[str]


def test_version(capsys: Output) -> None:
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"inkless {__version__}\n"


@pytest.mark.parametrize(
    "command",
    [
        (),
        *((name,) for name in COMMANDS),
        *(("topics", name) for name in ("create", "list", "describe", "delete")),
        ("objects", "dump"),
    ],
)
def test_every_command_has_help(capsys: Output, command: tuple[str, ...]) -> None:
    assert main([*command, "--help"]) == 0
    out = capsys.readouterr().out
    assert out.startswith(f"Usage: inkless {' '.join(command)}".rstrip())
    if len(command) < 2:
        assert "Exit codes:" in out if not command else "Examples:" in out


def test_client_settings_are_in_the_help(capsys: Output) -> None:
    main(["produce", "--help"])
    out = capsys.readouterr().out
    assert "linger.ms  (default: 5)" in out
    assert "acks  (default: all)" in out


def test_the_table_of_commands_says_what_the_commands_say(capsys: Output) -> None:
    main(["--help"])
    overview = capsys.readouterr().out
    for name, (_, _, line) in COMMANDS.items():
        assert line in overview
        main([name, "--help"])
        assert line.rstrip(".") in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["serv"], "There is no command 'serv'. Did you mean serve?"),
        (["zzz"], "There is no command 'zzz'."),
        (["serve", "--sett", "a=b"], "--sett"),
        (["topics", "create"], "Missing argument 'NAME'"),
        (["topics", "create", "t", "--partitions", "0"], "0 is not in the range"),
    ],
)
def test_wrong_usage_is_exit_code_2(capsys: Output, arguments: list[str], message: str) -> None:
    assert main(arguments) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert message in err


def test_help_and_version_are_light() -> None:
    """What they don't need is not imported: `inkless serve` starts the same way."""
    for argument in ("--help", "--version"):
        code = "import sys; from inkless.cli.main import main; main(); print(*sys.modules, file=sys.stderr)"
        done = subprocess.run([sys.executable, "-c", code, argument], capture_output=True, text=True, check=True)
        loaded = set(done.stderr.split())
        assert {"asyncio", "uvloop", "inkless.compose", "inkless.wire.api", "inkless.settings"} & loaded == set()
