"""The options that several commands share."""

from collections.abc import Callable
from typing import Any, TypeVar

import click

F = TypeVar("F", bound=Callable[..., Any])

BOOTSTRAP_VARIABLE = "INKLESS_BOOTSTRAP_SERVER"

_DEFAULT_SERVER = "127.0.0.1:9092"


def bootstrap_option(command: F) -> F:
    return click.option(
        "--bootstrap-server",
        "-b",
        "bootstrap",
        metavar="HOST:PORT[,...]",
        envvar=BOOTSTRAP_VARIABLE,
        default=_DEFAULT_SERVER,
        show_default=True,
        help=f"The brokers to connect to first; also by {BOOTSTRAP_VARIABLE}.",
    )(command)


def output_option(command: F) -> F:
    return click.option(
        "--output",
        "-o",
        type=click.Choice(["text", "json"]),
        default="text",
        show_default=True,
        help="For people, or for programs.",
    )(command)


def property_option(command: F) -> F:
    return click.option(
        "--property",
        "properties",
        metavar="KEY=VALUE",
        multiple=True,
        help="A setting of the client, listed below; may be given several times.",
    )(command)


def pairs(what: str, texts: tuple[str, ...]) -> list[tuple[str, str]]:
    """`K=V` texts taken apart; what the user typed wrong is a usage error."""
    found = []
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not name:
            raise click.UsageError(f"{what} needs NAME=VALUE, got {text!r}.")
        found.append((name, value))
    return found
