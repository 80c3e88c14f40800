"""`inkless serve`: a broker in this process, until it is told to stop."""

import logging
import os
from pathlib import Path
from typing import TYPE_CHECKING

import click

from inkless.cli.parameters import BOOTSTRAP_VARIABLE
from inkless.settings import load

if TYPE_CHECKING:
    from inkless.compose import Broker

log = logging.getLogger(__name__)


@click.command(
    epilog="""\b
Examples:
  inkless serve
  inkless serve --config server.properties
  inkless serve --set listeners=PLAINTEXT://:9092 --set inkless.data.dir=/var/lib/inkless

\b
A setting comes from --set, else from the environment (INKLESS_NODE_ID for node.id), else from
the file, else it has its default; docs/configs.md lists them all. When the broker accepts
connections it prints one line, "ready: ...", on standard output; everything else is logged on
standard error. Ctrl-C and SIGTERM make it answer what it has accepted, and end with exit code 0."""
)
@click.option(
    "--config",
    "config_file",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="A properties file, such as Kafka's server.properties.",
)
@click.option("--set", "overrides", metavar="KEY=VALUE", multiple=True, help="A setting; may be given several times.")
def serve(config_file: Path | None, overrides: tuple[str, ...]) -> int:
    """Run a broker."""
    environment = {name: value for name, value in os.environ.items() if name != BOOTSTRAP_VARIABLE}
    settings = load(config_file, environment, overrides)
    _set_up_logging(settings.log_level)
    for warning in settings.warnings:
        log.warning("%s", warning)
    from inkless import compose  # only now: what was typed wrong is told without waiting for the imports

    return compose.serve(settings, _announce)


def _announce(broker: "Broker") -> None:
    addresses = ", ".join(map(str, broker.listeners))
    print(f"ready: {addresses} (node {broker.node_id}, cluster {broker.cluster_id})", flush=True)


def _set_up_logging(level: str) -> None:
    formatter = logging.Formatter("%(asctime)s %(levelname)-7s %(name)s: %(message)s")
    formatter.default_msec_format = "%s.%03d"
    handler = logging.StreamHandler()
    handler.setFormatter(formatter)
    logging.basicConfig(level=level, handlers=[handler])
