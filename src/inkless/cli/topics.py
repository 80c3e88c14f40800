"""`inkless topics`: create, list, describe and delete."""

import json
import sys
from collections.abc import Mapping, Sequence

import click

from inkless.cli.main import FAILED
from inkless.cli.parameters import bootstrap_option, output_option, pairs
from inkless.cli.session import connected, run
from inkless.cli.table import format_table
from inkless.client import admin
from inkless.client.admin import TopicDescription
from inkless.client.errors import BrokerError, ClientError
from inkless.client.options import AdminOptions
from inkless.core.ids import ZERO_ID, id_to_text

_OPTIONS = AdminOptions()


@click.group(
    epilog="""\b
Examples:
  inkless topics create orders --partitions 6 --config retention.ms=86400000
  inkless topics list
  inkless topics describe orders --output json
  inkless topics delete orders"""
)
def topics() -> None:
    """Create, list, describe and delete topics."""


@topics.command
@click.argument("name")
@click.option("--partitions", type=click.IntRange(1), help="How many; the broker's num.partitions if left out.")
@click.option(
    "--config", "configs", metavar="KEY=VALUE", multiple=True, help="A topic config; several times if needed."
)
@click.option("--if-not-exists", is_flag=True, help="Leave a topic that is there as it is, without an error.")
@bootstrap_option
@output_option
def create(
    name: str, partitions: int | None, configs: tuple[str, ...], if_not_exists: bool, bootstrap: str, output: str
) -> int:
    """Create a topic."""
    return run(_create(name, partitions, dict(pairs("--config", configs)), if_not_exists, bootstrap, output))


async def _create(
    name: str, partitions: int | None, configs: dict[str, str], if_not_exists: bool, bootstrap: str, output: str
) -> int:
    async with connected(bootstrap, _OPTIONS) as cluster:
        try:
            made = await admin.create_topic(cluster, name, partitions or admin.BROKER_DEFAULT, configs)
        except BrokerError as error:
            if not (if_not_exists and error.name == "TOPIC_ALREADY_EXISTS"):
                raise
            answer = {"name": name, "created": False}
            print(json.dumps(answer) if output == "json" else f"{name} is there already")
            return 0
    if output == "json":
        print(json.dumps({"name": name, "id": _id(made.topic_id), "partitions": made.partitions, "created": True}))
    else:
        many = "" if made.partitions == 1 else "s"
        print(f"created {name}" + (f" with {made.partitions} partition{many}" if made.partitions > 0 else ""))
    return 0


@topics.command("list")
@bootstrap_option
@output_option
def list_(bootstrap: str, output: str) -> int:
    """List the topics, one name a line."""
    return run(_list(bootstrap, output))


async def _list(bootstrap: str, output: str) -> int:
    async with connected(bootstrap, _OPTIONS) as cluster:
        found = await admin.list_topics(cluster)
    if output == "json":
        print(json.dumps([_summary(topic) for topic in found]))
    else:
        for topic in found:
            print(topic.name)
    return 0


@topics.command
@click.argument("names", nargs=-1, metavar="[NAME]...")
@bootstrap_option
@output_option
def describe(names: tuple[str, ...], bootstrap: str, output: str) -> int:
    """Describe topics: all of them, or those named."""
    return run(_describe(names, bootstrap, output))


async def _describe(names: Sequence[str], bootstrap: str, output: str) -> int:
    async with connected(bootstrap, _OPTIONS) as cluster:
        if names:
            found = await admin.describe_topics(cluster, names)
        else:
            found = {topic.name: topic for topic in await admin.list_topics(cluster)}
    described = [topic for topic in found.values() if isinstance(topic, TopicDescription)]
    failures = {name: error for name, error in found.items() if isinstance(error, ClientError)}
    if output == "json":
        answer = [_details(topic) for topic in described]
        print(json.dumps(answer + [{"name": name, "error": str(error)} for name, error in failures.items()]))
    else:
        print("\n\n".join("\n".join(_lines(topic)) for topic in described), end="\n" if described else "")
    return _report(failures)


@topics.command
@click.argument("names", nargs=-1, required=True, metavar="NAME...")
@bootstrap_option
@output_option
def delete(names: tuple[str, ...], bootstrap: str, output: str) -> int:
    """Delete topics with all their records."""
    return run(_delete(names, bootstrap, output))


async def _delete(names: Sequence[str], bootstrap: str, output: str) -> int:
    failures: dict[str, ClientError] = {}
    async with connected(bootstrap, _OPTIONS) as cluster:
        for name in dict.fromkeys(names):
            try:
                await admin.delete_topic(cluster, name)
            except BrokerError as error:
                failures[name] = error
            else:
                if output == "text":
                    print(f"deleted {name}")
    if output == "json":
        print(json.dumps([_deletion(name, failures.get(name)) for name in dict.fromkeys(names)]))
    return _report(failures)


def _deletion(name: str, error: ClientError | None) -> dict[str, object]:
    if error is None:
        return {"name": name, "deleted": True}
    return {"name": name, "deleted": False, "error": str(error)}


def _report(failures: Mapping[str, ClientError]) -> int:
    for error in failures.values():
        print(f"inkless: {error}", file=sys.stderr)
    return FAILED if failures else 0


def _summary(topic: TopicDescription) -> dict[str, object]:
    return {
        "name": topic.name,
        "id": _id(topic.topic_id),
        "partitions": len(topic.partitions),
        "internal": topic.is_internal,
    }


def _details(topic: TopicDescription) -> dict[str, object]:
    partitions = [
        {"partition": each.partition, "leader": each.leader, "replicas": each.replicas, "isr": each.isr}
        for each in topic.partitions
    ]
    return _summary(topic) | {"partitions": partitions}


def _lines(topic: TopicDescription) -> list[str]:
    rows = [
        (each.partition, each.leader, ",".join(map(str, each.replicas)), ",".join(map(str, each.isr)))
        for each in topic.partitions
    ]
    table = format_table(("partition", "leader", "replicas", "isr"), rows)
    internal = ", internal" if topic.is_internal else ""
    many = "" if len(rows) == 1 else "s"
    head = f"{topic.name} (id {_id(topic.topic_id) or 'unknown'}{internal}): {len(rows)} partition{many}"
    return [head, *(f"  {line}" for line in table)]


def _id(topic_id: bytes) -> str | None:
    return None if topic_id == ZERO_ID else id_to_text(topic_id)
