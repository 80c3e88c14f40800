"""Making topics: the checks that Kafka makes, then the plane, then this broker's catalog."""

from collections.abc import Sequence

from inkless.broker.names import collision_key, problem_with
from inkless.broker.services import Services
from inkless.broker.topic_configs import problem_with as problem_with_configs
from inkless.control_plane.values import NewTopic, Refusal, Topic
from inkless.core.errors import ErrorKind

MAX_PARTITIONS = 100_000


def refusal(services: Services, wish: NewTopic) -> Refusal | None:
    """Why a topic can't be made as wished, as far as memory tells."""
    if (problem := problem_with(wish.name)) is not None:
        return Refusal(ErrorKind.INVALID_TOPIC, problem)
    if services.catalog.by_name(wish.name) is not None:
        return Refusal(ErrorKind.TOPIC_EXISTS, f"Topic '{wish.name}' already exists.")
    collides = services.catalog.colliding(collision_key(wish.name))
    if collides is not None and collides != wish.name:
        return Refusal(ErrorKind.INVALID_TOPIC, f"Topic '{wish.name}' collides with existing topic: {collides}")
    if not 0 < wish.partitions <= MAX_PARTITIONS:
        return Refusal(
            ErrorKind.INVALID_PARTITIONS,
            f"Number of partitions must be from 1 to {MAX_PARTITIONS}, or -1 for the default.",
        )
    if (problem := problem_with_configs(dict(wish.configs))) is not None:
        return Refusal(ErrorKind.INVALID_CONFIG, problem)
    return None


async def create_topics_checked(services: Services, wishes: Sequence[NewTopic]) -> list[Topic | Refusal]:
    """Check and make topics; an answer for each, in order."""
    if any(collision_key(wish.name) != wish.name or "_" in wish.name for wish in wishes):
        await services.catalog.load()  # another process may have made a topic that this name collides with
    answers: list[Topic | Refusal | None] = [refusal(services, wish) for wish in wishes]
    good = [wish for wish, answer in zip(wishes, answers, strict=True) if answer is None]
    made = iter(await services.plane.create_topics(good) if good else [])
    results = [next(made) if answer is None else answer for answer in answers]
    for result in results:
        if isinstance(result, Topic):
            services.catalog.put(result)
    return results
