"""Broker processes that are told to stop, meet under one node id, are frozen, or share one data folder."""

import signal
import statistics
import struct
import time
from pathlib import Path

import pytest
import raw_client
from broker_process import BrokerProcess
from checker import History, Record, check, read_log
from producer_load import Load, create_topic, running, wait_for_all
from raw_client import RawClient, fetch, fetched, produced

PARTITIONS = 3
NOT_LEADER = 6
STOP_S = 5.0
MISUSED = 2


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT], ids=["SIGTERM", "SIGINT"])
def test_a_broker_that_is_told_to_stop_answers_what_it_took_and_ends(tmp_path: Path, number: signal.Signals) -> None:
    with BrokerProcess(tmp_path) as broker:
        create_topic(broker.address, "t", PARTITIONS)
        loads = [Load(f"p{at}", broker.address, "t", PARTITIONS) for at in range(3)]
        with running(loads):
            wait_for_all(loads, 200)
            code, took_s = broker.stop(number)
            print(f"ended with code {code} after {took_s:.2f} s")
            assert code == 0, broker.tail()
            assert took_s < STOP_S
            with BrokerProcess(tmp_path, broker.port) as again:
                wait_for_all(loads, 50)
                for load in loads:
                    load.stop()
                check(History.joined([load.history for load in loads]), read_log(again.address, "t", PARTITIONS))


def test_a_waiting_consumer_does_not_hold_up_the_end(tmp_path: Path) -> None:
    """A fetch that could wait for a minute is answered when the broker stops."""
    with BrokerProcess(tmp_path) as broker, RawClient(broker.port) as waiting, RawClient(broker.port) as idle:
        create_topic(broker.address, "t", 1)
        assert idle.ask(raw_client.api_versions(1))
        waiting.send(raw_client.api_versions(1) + fetch("t", 0, 0, 1000, 2, wait_ms=60_000))
        waiting.answer()
        code, took_s = broker.stop()
        assert (code, fetched(waiting.answer())) == (0, (0, 0, 0))
        assert waiting.is_closed_by_broker()
        assert idle.is_closed_by_broker()
    print(f"ended after {took_s:.2f} s")
    assert took_s < STOP_S


def test_a_second_broker_of_one_node_id_is_refused_by_name(tmp_path: Path) -> None:
    with BrokerProcess(tmp_path, settings={"node.id": 7}) as first:
        second = BrokerProcess(tmp_path, settings={"node.id": 7}, wait=False)
        assert second.ended_with() == MISUSED
        (line,) = second.lines_with("node.id=7")
        print(line)
        assert first.address in line
        assert "Traceback" not in second.tail()
        with RawClient(first.port) as client:
            assert client.ask(raw_client.api_versions(1))[:6] == struct.pack(">ih", 1, 0)


def test_a_port_that_is_taken_is_told(tmp_path: Path) -> None:
    with BrokerProcess(tmp_path / "one") as first:
        second = BrokerProcess(tmp_path / "other", first.port, wait=False)
        assert second.ended_with() == MISUSED
        (line,) = second.lines_with(first.address)
        print(line)
        assert "Traceback" not in second.tail()


def test_after_kill_9_a_restart_takes_over_at_once(tmp_path: Path) -> None:
    """On the same port, and on another: what was registered does not answer, so there is nothing to wait for."""
    first = BrokerProcess(tmp_path)
    first.kill()
    with BrokerProcess(tmp_path, first.port) as second:
        pass
    with BrokerProcess(tmp_path) as third:
        create_topic(third.address, "t", 1)
    print(
        f"ready after {first.ready_s:.2f} s at first, {second.ready_s:.2f} s and {third.ready_s:.2f} s after kill -9"
    )
    assert min(second.ready_s, third.ready_s) < first.ready_s + 1.5  # the better one: other tests may run beside


@pytest.mark.slow
def test_a_frozen_broker_is_replaced_and_can_write_nothing_when_it_wakes(tmp_path: Path) -> None:
    """It answers nobody, so its node id is taken over; its own commits are refused by their epoch, and it ends."""
    with BrokerProcess(tmp_path) as frozen, RawClient(frozen.port) as client:
        create_topic(frozen.address, "t", 1)
        assert produced(client.ask(request(0))) == [(0, 0, 0)]
        frozen.process.send_signal(signal.SIGSTOP)
        try:
            with BrokerProcess(tmp_path) as successor:
                print(f"taken over after {successor.ready_s:.2f} s")
                client.send(request(1))
                frozen.process.send_signal(signal.SIGCONT)
                assert produced(client.answer()) == [(0, NOT_LEADER, -1)]
                assert frozen.ended_with() == 1, frozen.tail()
                with RawClient(successor.port) as other:
                    assert produced(other.ask(request(2))) == [(0, 0, 1)]
                found = read_log(successor.address, "t", 1)[0].records
        finally:
            if frozen.process.poll() is None:
                frozen.process.send_signal(signal.SIGCONT)
    assert found == [(0, Record("raw", 0, 0)), (1, Record("raw", 0, 2))]


def request(number: int) -> bytes:
    return raw_client.produce("t", [(0, raw_client.batch([Record("raw", 0, number).value()]))], number)


def test_what_one_broker_commits_wakes_a_consumer_of_another(tmp_path: Path) -> None:
    """They share the SQLite file and look at it every 100 ms (`inkless.control.plane.poll.interval.ms`)."""
    delays_s: list[float] = []
    with (
        BrokerProcess(tmp_path, settings={"node.id": 1}) as one,
        BrokerProcess(tmp_path, settings={"node.id": 2}) as other,
    ):
        create_topic(one.address, "t", 1)
        with RawClient(one.port) as producer, RawClient(other.port) as consumer:
            for number in range(10):
                consumer.send(raw_client.api_versions(1) + fetch("t", 0, number, 1_000_000, 2, wait_ms=10_000))
                consumer.answer()
                assert produced(producer.ask(request(number))) == [(0, 0, number)]
                committed_s = time.monotonic()
                error, high_watermark, size = fetched(consumer.answer())
                delays_s.append(time.monotonic() - committed_s)
                assert (error, high_watermark) == (0, number + 1)
                assert size > 0
    delays_ms = sorted(delay * 1000 for delay in delays_s)
    print(
        f"read on the other broker after {statistics.median(delays_ms):.0f} ms (p50), {delays_ms[-1]:.0f} ms (most)"
    )
    assert statistics.median(delays_ms) < 300
    assert delays_ms[-1] < 1500


@pytest.mark.slow
def test_two_brokers_write_to_one_partition(tmp_path: Path) -> None:
    with (
        BrokerProcess(tmp_path, settings={"node.id": 1}) as one,
        BrokerProcess(tmp_path, settings={"node.id": 2}) as other,
    ):
        create_topic(one.address, "t", PARTITIONS)
        loads = [
            Load(f"{name}{at}", broker.address, "t", PARTITIONS, limit=1000)
            for name, broker in (("one", one), ("other", other))
            for at in range(2)
        ]
        with running(loads):
            for load in loads:
                load.join()
        history = History.joined([load.history for load in loads])
        for broker in (one, other):
            check(history, read_log(broker.address, "t", PARTITIONS))
        assert len(history.acknowledged) == 4000
        for broker in (one, other):
            assert not broker.lines_with("ERROR"), broker.tail()
