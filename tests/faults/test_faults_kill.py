"""kill -9 during load: what was acknowledged is there after the restart, once, in order, without gaps."""

import os
import random
import time
from pathlib import Path

import pytest
from broker_process import BrokerProcess
from checker import History, check, read_log
from producer_load import IDEMPOTENT, PLAIN, Load, create_topic, running, wait_for_all

ROUNDS = int(os.environ.get("INKLESS_ROUNDS", "1"))
PARTITIONS = 3
PRODUCERS = 3
LAST_KILL_S = 1.2


@pytest.mark.slow
@pytest.mark.timeout(120 + 60 * ROUNDS)
def test_what_was_acknowledged_survives_kill_9(tmp_path: Path) -> None:
    seed = int(os.environ.get("FAULTS_SEED", random.randrange(2**32)))
    print(f"FAULTS_SEED={seed}, {ROUNDS} rounds")
    chance = random.Random(seed)
    broker = BrokerProcess(tmp_path)
    try:
        create_topic(broker.address, "once", PARTITIONS)
        create_topic(broker.address, "plain", PARTITIONS)
        once, plain = History(), History()
        for number in range(ROUNDS):
            loads = [Load(f"r{number}-{n}", broker.address, "once", PARTITIONS) for n in range(PRODUCERS)]
            loads.append(Load(f"r{number}-plain", broker.address, "plain", PARTITIONS, PLAIN))
            broker = kill_during_load(broker, tmp_path, loads, chance)
            once = History.joined([once, *[load.history for load in loads[:-1]]])
            plain = History.joined([plain, loads[-1].history])
            check(once, read_log(broker.address, "once", PARTITIONS))
            check(plain, read_log(broker.address, "plain", PARTITIONS), once=False)
            print(
                f"round {number}: ready again after {broker.ready_s:.2f} s; so far acknowledged and found: "
                f"{len(once.acknowledged)} idempotent, {len(plain.acknowledged)} plain"
            )
    finally:
        broker.kill()


def kill_during_load(
    broker: BrokerProcess, data_dir: Path, loads: list[Load], chance: random.Random
) -> BrokerProcess:
    """Kill at a random moment of the load and start again on the same folder and port; the new broker."""
    with running(loads):
        wait_for_all(loads, 1)
        time.sleep(chance.random() * LAST_KILL_S)
        broker.kill()
        broker = BrokerProcess(data_dir, broker.port)
        wait_for_all(loads, 50)
    return broker


@pytest.mark.slow
def test_a_broker_killed_while_it_starts_starts_again(tmp_path: Path) -> None:
    """Migrations, registration and the store's folder: cut anywhere, the next start finds its way."""
    seed = random.randrange(2**32)
    print(f"seed {seed}")
    chance = random.Random(seed)
    port = None
    for _ in range(3):
        broker = BrokerProcess(tmp_path, port, wait=False)
        port = broker.port
        time.sleep(0.15 + chance.random() * 0.35)
        broker.kill()
    with BrokerProcess(tmp_path, port) as broker:
        create_topic(broker.address, "t", 1)
        load = Load("after", broker.address, "t", 1, IDEMPOTENT, limit=100)
        load.join()
        check(load.history, read_log(broker.address, "t", 1))
