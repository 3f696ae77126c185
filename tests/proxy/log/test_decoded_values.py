"""The log of a proxy or mock decodes keys and values, with schemas of files and of `_schemas` that it sees itself."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from decoders import Record
from decoders.capture.read_capture import CaptureReader
from decoders.tcp.reassembly import Reassembly
from kwcli.proxy.log.log_protocol import LogPlan
from tests.cli.worlds import world
from tests.proxy.log.played import NDJSON, logged
from tests.reading.captures_with_values import ORDER, HandMadeCapture, prefixed, schemas_record


def decoded(folder: Path, plan: LogPlan) -> list[Any]:
    """What the log shows of the values of a topic, whose schema comes before them."""
    capture = HandMadeCapture().fetch("_schemas", schemas_record(17))
    capture.produce("orders", Record(0, 5, None, prefixed(17)), Record(1, 5, None, prefixed(18)))
    reader, reassembly = CaptureReader(), Reassembly()
    chunks = reassembly.feed(reader.feed(capture.data()) + reader.finish(), 0) + reassembly.finish()
    out, _ = logged(folder, plan, chunks)
    (row,) = (json.loads(line) for line in out.splitlines() if b"Produce" in line)
    (batch_json,) = row["request"]["topic_data"][0]["partition_data"][0]["records"]
    return [record.get("value_decoded", {}).get("value") for record in batch_json["records"]]


def test_the_log_decodes_values(tmp_path: Path) -> None:
    (tmp_path / "s").mkdir()
    (tmp_path / "s" / "order.avsc").write_text(json.dumps(ORDER))
    (tmp_path / "s" / "ids.json").write_text('{"18": "order.avsc"}')
    plan = LogPlan(NDJSON._replace(records=True))
    order = {"id": 41, "customer": "Ann"}
    assert decoded(tmp_path, plan) == [None, None]
    assert decoded(tmp_path, plan._replace(decodes=True)) == [order, None]
    assert decoded(tmp_path, plan._replace(decodes=True, schemas=[str(tmp_path / "s")])) == [order, order]


def test_options_make_a_plan_that_another_process_reads() -> None:
    from kwcli.options import ContentOptions, FilterOptions, OutputOptions
    from kwcli.proxy.log.log_options import LogOptions

    options = LogOptions(
        OutputOptions("ndjson", "never"),
        ContentOptions(records=True),
        FilterOptions(),
        no_log=False,
        write=None,
        rotate_size=None,
        rotate_interval=None,
        overflow="drop",
        events=False,
    )
    plan = options.make_plan(world())
    assert plan is not None
    assert LogPlan.from_json(plan.to_json()).decodes
    raw = options._replace(content=ContentOptions(records=True, raw_values=True)).make_plan(world())
    assert raw is not None
    assert not raw.decodes
