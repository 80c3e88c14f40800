"""Transaction markers: round trip, and another client's reader as an oracle."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kafka.record.default_records import DefaultRecordBatch as KafkaPythonBatch

from inkless.core.errors import ErrorKind
from inkless.records.batch import BatchError, check_produced, read_header
from inkless.records.control import Marker, MarkerKind, decode_marker, encode_marker
from inkless.records.record import Record, encode_batch

markers = st.builds(
    Marker,
    kind=st.sampled_from(MarkerKind),
    producer_id=st.integers(0, 2**63 - 1),
    producer_epoch=st.integers(0, 2**15 - 1),
    coordinator_epoch=st.integers(-1, 2**31 - 1),
    timestamp=st.integers(0, 2**62),
)


@given(markers)
def test_a_marker_comes_back(marker: Marker) -> None:
    batch = memoryview(encode_marker(marker))
    assert decode_marker(batch) == marker
    header = read_header(batch)
    assert header.is_control
    assert header.is_transactional
    assert header.base_sequence == -1
    assert header.last_offset_delta == 0


@pytest.mark.parametrize("kind", list(MarkerKind))
def test_another_client_reads_it(kind: MarkerKind) -> None:
    theirs = KafkaPythonBatch(encode_marker(Marker(kind, 7, 1, 3, 1_000)))
    assert theirs.is_control_batch
    (record,) = theirs
    assert (record.abort, record.commit) == (kind is MarkerKind.ABORT, kind is MarkerKind.COMMIT)


def test_a_client_may_not_send_one() -> None:
    with pytest.raises(BatchError) as caught:
        check_produced(memoryview(encode_marker(Marker(MarkerKind.COMMIT, 7, 1, 3, 1_000))), 1_000)
    assert caught.value.kind is ErrorKind.INVALID_RECORD


@pytest.mark.parametrize(
    "records",
    [
        [],
        [Record(0, 0)],
        [Record(0, 0, b"\0\0\0", b"\0\0\0\0\0\0")],
        [Record(0, 0, b"\0\0\0\1", b"\0\0\0\0\0")],
        [Record(0, 0, b"\0\0\0\2", b"\0\0\0\0\0\0")],
        [Record(0, 0, b"\0\0\0\1", b"\0\0\0\0\0\0")] * 1 + [Record(1, 0, b"\0\0\0\1", b"\0\0\0\0\0\0")],
    ],
)
def test_what_is_no_marker(records: list[Record]) -> None:
    batch = encode_batch(records, last_offset_delta=max(0, len(records) - 1), is_control=True)
    with pytest.raises(BatchError):
        decode_marker(memoryview(batch))


def test_a_batch_of_records_is_no_marker() -> None:
    with pytest.raises(BatchError):
        decode_marker(memoryview(encode_batch([Record(0, 0, b"\0\0\0\1", b"\0\0\0\0\0\0")])))
