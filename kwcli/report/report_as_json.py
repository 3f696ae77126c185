"""A report in, JSON out: one object, or one object a line."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

import orjson

from decoders.schema.body_json_form import row_json
from kwcli.report.build_report import PORTRAYED, Report, find_rows_at_path

if TYPE_CHECKING:
    from kwcli.output.output_settings import Settings

# The paths of all lists in a report.
LISTS: Final = (
    ("over_time",),
    *(("latency", name) for name in ("api", "client", "topic", "broker")),
    ("errors",),
    ("slowest",),
    ("old_versions", "old"),
    ("talkers", "client"),
    ("talkers", "topic"),
    ("batches",),
    ("throttling", "client"),
    ("throttling", "api"),
    ("connections", "client"),
    ("connections", "not_kafka"),
    ("skipped",),
    ("findings",),
    ("audit", "clients"),
    *((name,) for name in PORTRAYED),
    ("security",),
    ("ladders",),
    ("left_out",),
)


def format_json(report: Report, _settings: Settings) -> str:
    """The report as one JSON object."""
    return orjson.dumps(row_json(report), option=orjson.OPT_INDENT_2).decode() + "\n"


def format_ndjson(report: Report, _settings: Settings) -> str:
    """The report without its lists, then every row of every list with the `section` that it is from."""
    return "".join(orjson.dumps(row_json(row)).decode() + "\n" for row in build_ndjson_objects(report))


def build_ndjson_objects(report: Report) -> Iterator[dict[str, Any]]:
    """The objects of a report's NDJSON, one for each line."""
    partial = {} if report["partial"] is None else {"partial": report["partial"]}
    same = {"kind": report["kind"], "schema": report["schema"]} | partial
    span = {name: report[name] for name in ("first", "last", "span_s", "bucket_s")}
    yield same | {"section": "summary", "tables": report["tables"], **span, **report["summary"]}
    for name in ("old_versions", "connections", "audit"):
        if report[name] is not None:
            alone = {key: value for key, value in report[name].items() if not isinstance(value, list)}
            yield same | {"section": name, **alone}
    for path in LISTS:
        for row in find_rows_at_path(report, path) or ():
            yield same | {"section": ".".join(path), **row}
