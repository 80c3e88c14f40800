"""The `inkless` command: what it consists of, and how errors become exit codes.

A command's module is imported when that command runs, so that `inkless serve` pays for nothing else.
"""

import difflib
import importlib
import sys
from collections.abc import Sequence

import click

from inkless import __version__
from inkless.core.errors import InklessError, SettingError

FAILED = 1
MISUSED = 2
INTERRUPTED = 130

# Name, module and attribute, and what `inkless --help` says about it.
COMMANDS = {
    "serve": ("inkless.cli.serve", "serve", "Run a broker."),
    "topics": ("inkless.cli.topics", "topics", "Create, list, describe and delete topics."),
    "produce": ("inkless.cli.produce", "produce", "Write lines of standard input to a topic."),
    "consume": ("inkless.cli.consume", "consume", "Print the records of a topic."),
    "objects": ("inkless.cli.objects", "objects", "Look into objects."),
}


class LazyGroup(click.Group):
    """The commands of the table above."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            near = difflib.get_close_matches(cmd_name, COMMANDS, n=1)
            hint = f" Did you mean {near[0]}?" if near else ""
            raise click.UsageError(f"There is no command {cmd_name!r}.{hint}", ctx)
        module, attribute, _ = COMMANDS[cmd_name]
        command: click.Command = getattr(importlib.import_module(module), attribute)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, help_line) for name, (_, _, help_line) in COMMANDS.items()])


@click.group(
    cls=LazyGroup,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="""\b
Start a broker, write to it and read back:
  inkless serve
  echo hello | inkless produce greetings
  inkless consume greetings --from-beginning --max-messages 1

\b
Exit codes:
  0    done
  1    it failed
  2    wrong usage, or wrong settings
  130  interrupted before it was done (serve, produce and consume end with 0)""",
)
@click.version_option(__version__, "-V", "--version", prog_name="inkless", message="%(prog)s %(version)s")
def cli() -> None:
    """Inkless: a Kafka-compatible broker whose only disk is object storage."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; the exit code."""
    try:
        result = cli.main(args=arguments, prog_name="inkless", standalone_mode=False)
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except click.Abort:
        return INTERRUPTED
    except SettingError as error:
        return _complain(error, MISUSED)
    except InklessError as error:
        return _complain(error, FAILED)
    return result if isinstance(result, int) else 0


def _complain(error: InklessError, code: int) -> int:
    print(f"inkless: {error}", file=sys.stderr)
    return code
