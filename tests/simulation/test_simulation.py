"""Two brokers on simulated time with seeded faults; a failing seed is in the test's name."""

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from rules import check
from world import run_world

FIRST_SEED = int(os.environ.get("INKLESS_SEED", "1"))
SEEDS = int(os.environ.get("INKLESS_SEEDS", "50"))
FAST_FOLDER = Path("/dev/shm")


@pytest.fixture
def folder() -> Iterator[Path]:
    """Syncs cost nothing in memory, and the simulation has no use for them."""
    with tempfile.TemporaryDirectory(dir=FAST_FOLDER if FAST_FOLDER.is_dir() else None) as name:
        yield Path(name)


@pytest.mark.parametrize("seed", range(FIRST_SEED, FIRST_SEED + SEEDS))
def test_no_rule_is_broken(seed: int, folder: Path) -> None:
    world, history = run_world(seed, folder / "plane.db", batches=30, check=check)
    print(f"seed {seed}: fault rate {world.fault_rate}, {history.crashes} crashes, {history.errors}")


def test_the_same_seed_is_the_same_run(folder: Path) -> None:
    first, one = run_world(7, folder / "one.db", batches=10, check=check)
    second, two = run_world(7, folder / "two.db", batches=10, check=check)
    assert (one.acked, one.read, one.errors) == (two.acked, two.read, two.errors)
    assert first.loop.now_s == second.loop.now_s
