"""Transactions at a mocked broker: commit, abort, read committed, fencing, time-outs, offsets."""

from __future__ import annotations

from typing import Any

from tests.mock.stage import TOPIC, Client, Stage, batch, codes, only_partition, values, wanted, written

OF_T = {"transactional_id": "t", "group_id": "g"}


def begin(client: Client, version: int = 4) -> dict[str, Any]:
    """Start the producer `t`; gives its id and epoch."""
    answer = client.ask("InitProducerId", {"transactional_id": "t", "transaction_timeout_ms": 5000}, version)
    assert answer["error_code"] == 0
    return {"producer_id": answer["producer_id"], "producer_epoch": answer["producer_epoch"]}


def add(client: Client, who: dict[str, Any]) -> int:
    """Add partition 0 to the transaction; gives the error code."""
    said = {f"v3_and_below_{name}": value for name, value in {"transactional_id": "t", **who}.items()}
    topics = [{"name": TOPIC, "partitions": [0]}]
    answer = client.ask("AddPartitionsToTxn", {**said, "v3_and_below_topics": topics}, 3)
    code: int = answer["results_by_topic_v3_and_below"][0]["results_by_partition"][0]["partition_error_code"]
    return code


def write(client: Client, who: dict[str, Any], *data: bytes, sequence: int = 0, version: int = 9) -> int:
    """Write a transactional batch; gives the error code."""
    records = batch(*data, transactional=True, base_sequence=sequence, **who)
    code: int = only_partition(client.ask("Produce", written(records, transactional_id="t"), version))["error_code"]
    return code


def end(client: Client, who: dict[str, Any], *, commit: bool, version: int = 3) -> Any:
    """End the transaction."""
    return client.ask("EndTxn", {"transactional_id": "t", "committed": commit, **who}, version)


def read(client: Client, *, committed: bool) -> tuple[list[bytes | None], list[int]]:
    """The values that a Fetch reads, and the first offsets of aborted transactions in its answer."""
    row = only_partition(client.ask("Fetch", wanted(0, isolation_level=int(committed)), 12))
    return values(row["records"]), [each["first_offset"] for each in row["aborted_transactions"] or ()]


def test_what_is_not_committed_is_not_read_committed() -> None:
    client = Stage().client()
    who = begin(client)
    assert add(client, who) == 0
    assert write(client, who, b"a") == 0
    assert read(client, committed=True) == ([], [])
    assert read(client, committed=False) == ([b"a"], [])
    assert end(client, who, commit=True)["error_code"] == 0
    assert read(client, committed=True) == ([b"a"], [])
    assert add(client, who) == 0
    assert write(client, who, b"b", sequence=1) == 0
    assert end(client, who, commit=False)["error_code"] == 0
    assert read(client, committed=True) == ([b"a", b"b"], [2])  # the client leaves out what is told to be aborted
    assert end(client, who, commit=True)["error_code"] == 48


def test_a_write_outside_of_a_transaction_is_refused() -> None:
    client = Stage().client()
    who = begin(client)
    assert write(client, who, b"a") == 48
    assert write(client, {**who, "producer_id": 1}, b"a") == 49
    # A newer client's write adds the partition itself, and EndTxn gives it a new epoch.
    assert write(client, who, b"a", version=12) == 0
    answer = end(client, who, commit=True, version=5)
    assert answer["producer_epoch"] == who["producer_epoch"] + 1
    assert end(client, who, commit=True, version=5)["error_code"] == 0  # the same request again
    assert read(client, committed=True) == ([b"a"], [])


def test_the_older_producer_is_fenced() -> None:
    client = Stage().client()
    old = begin(client)
    assert add(client, old) == 0
    assert write(client, old, b"a") == 0
    new = begin(client)
    assert new == {"producer_id": old["producer_id"], "producer_epoch": old["producer_epoch"] + 1}
    assert read(client, committed=True) == ([b"a"], [0])
    assert add(client, old) == 90
    assert write(client, old, b"b", sequence=1) == 47
    assert end(client, old, commit=True)["error_code"] == 90
    assert end(client, old, commit=True, version=1)["error_code"] == 47
    assert add(client, new) == 0


def test_a_transaction_that_takes_too_long_is_aborted() -> None:
    stage = Stage()
    client = stage.client()
    who = begin(client)
    assert add(client, who) == 0
    assert write(client, who, b"a") == 0
    stage.advance_time(4999)
    assert read(client, committed=True) == ([], [])
    stage.advance_time(1)
    assert read(client, committed=True) == ([b"a"], [0])
    assert end(client, who, commit=True)["error_code"] == 90


def test_offsets_are_committed_with_their_transaction() -> None:
    client = Stage().client()
    who = begin(client)
    rows = [{"name": TOPIC, "partitions": [{"partition_index": 0, "committed_offset": 7, "committed_metadata": ""}]}]

    def offset(*, stable: bool = False) -> tuple[int, int]:
        topics = [{"name": TOPIC, "partition_indexes": [0]}]
        row = only_partition(
            client.ask("OffsetFetch", {"group_id": "g", "topics": topics, "require_stable": stable}, 7)
        )
        return row["committed_offset"], row["error_code"]

    commit = {**OF_T, **who, "topics": rows, "member_id": "", "generation_id_or_member_epoch": -1}
    assert codes([only_partition(client.ask("TxnOffsetCommit", commit, 3))]) == [48]
    assert client.ask("AddOffsetsToTxn", {**OF_T, **who}, 3)["error_code"] == 0
    assert codes([only_partition(client.ask("TxnOffsetCommit", commit, 3))]) == [0]
    assert offset() == (-1, 0)
    assert offset(stable=True) == (-1, 88)
    assert end(client, who, commit=True)["error_code"] == 0
    assert offset(stable=True) == (7, 0)
