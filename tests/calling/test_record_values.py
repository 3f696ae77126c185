"""Records printed from a fetch: from the offset asked for on, without control records, the end told once."""

from __future__ import annotations

from typing import Any

import pytest

from kwcli.calling.records.print_records import RecordValueWriter


def batch(first: int, *values: Any, control: bool = False, **more: Any) -> dict[str, Any]:
    records = [
        {"offset": first + at, "timestamp": 0, "key": None, "value": value, "headers": []}
        for at, value in enumerate(values)
    ]
    fields = {"base_offset": first, "last_offset": first + len(values) - 1, "control": control, "truncated": False}
    return {**fields, "records": records, **more}


def exchange(asked: int, end: int, *batches: dict[str, Any], code: int = 0, start: int = 0) -> dict[str, Any]:
    answer = {"partition_index": 0, "error_code": code, "high_watermark": end, "log_start_offset": start}
    place = {"topic_id": "id", "partitions": [{"partition": 0, "fetch_offset": asked}]}
    return {
        "topic_names": {"id": "orders"},
        "request": {"topics": [place]},
        "response": {"responses": [{"topic_id": "id", "partitions": [{**answer, "records": list(batches)}]}]},
    }


def shown(
    *exchanges: dict[str, Any], form: str = "text", separator: bytes | None = None, follow: bool = False
) -> tuple[bytes, list[str], dict[int, int]]:
    """The output, the lines on standard error, and the offsets at which the fetch goes on."""
    out: list[bytes] = []
    values = RecordValueWriter(out.append, form, separator, follow=follow)
    said = [line.text for each in exchanges for line in values.write_records(each)]
    further = values.take_further_offsets()
    said += [line.text for line in values.finish_values()]
    return b"".join(out), said, further


def test_records_before_the_offset_and_markers_are_left_out() -> None:
    asked = exchange(2, 6, batch(0, "a", "b", "c", "d"), batch(4, "marker", control=True), batch(5, "e"))
    assert shown(asked) == (b"c\nd\ne\n", [], {})


def test_a_marker_at_the_end_is_no_record() -> None:
    asked = exchange(4, 5, batch(4, "marker", control=True))
    assert shown(asked) == (b"", ["no record from that offset on in orders[0]"], {})


@pytest.mark.parametrize("follow", [False, True])
def test_where_it_goes_on(follow: bool) -> None:
    printed, said, further = shown(exchange(0, 9, batch(0, "a", "b")), follow=follow)
    assert printed == b"a\nb\n"
    assert said == ([] if follow else ["orders[0]: 2 records, and there are more: offset=2 goes on"])
    assert further == ({0: 2} if follow else {})


def test_what_came_to_the_topic_later_is_not_asked_for() -> None:
    first, then = exchange(0, 3, batch(0, "a", "b")), exchange(2, 9, batch(2, "c", "d"))
    assert shown(first, then, follow=True) == (b"a\nb\nc\nd\n", [], {0: 2})
    values = RecordValueWriter(lambda _: None, "text", None, follow=True)
    for each in (first, then):
        list(values.write_records(each))
        offsets = values.take_further_offsets()
    assert offsets == {}


def test_an_answer_that_brings_nothing_forward_ends_it() -> None:
    asked = exchange(5, 9)
    assert shown(asked, follow=True) == (b"", ["orders[0]: 0 records, and there are more: offset=5 goes on"], {})


def test_values_of_all_kinds() -> None:
    records = batch(0, "text", "", None, {"base64": "/wA="}, {"redacted": 9}, "a\nb")
    printed, _, _ = shown(exchange(0, 6, records))
    assert printed.split(b"\n")[:5] == [b"text", b"", b"", b"\xff\0", "‹9 bytes redacted›".encode()]
    assert shown(exchange(0, 6, records), form="ndjson")[0].splitlines()[:4] == [
        b'"text"',
        b'""',
        b"null",
        b'{"base64":"/wA="}',
    ]
    assert shown(exchange(0, 1, batch(0, "v")), separator=b"\t")[0] == b"\tv\n"
    assert shown(exchange(0, 1, batch(0, "v")), form="json", separator=b":")[0] == b'[\n{"key":null,"value":"v"}\n]\n'
    assert shown(exchange(0, 0), form="json")[0] == b"[]\n"


def test_what_is_wrong_with_a_partition_or_a_batch() -> None:
    assert shown(exchange(99, 9, code=1, start=3))[1] == ["orders[0]: OFFSET_OUT_OF_RANGE (there are 3 to 8)"]
    assert shown(exchange(99, -1, code=1))[1] == ["orders[0]: OFFSET_OUT_OF_RANGE"]
    broken = batch(0, "a", error={"reason": "crc", "text": "the checksum is wrong"})
    assert shown(exchange(0, 1, broken)) == (b"a\n", ["orders[0]: the batch at offset 0: the checksum is wrong"], {})
    cut = batch(0, "a", records_cut=7)
    assert shown(exchange(0, 1, cut))[1] == ["orders[0]: 7 records of the batch at offset 0 left out"]
