"""Folds in, the report as one dict out: what `-o json` prints, and what text, Markdown and page are drawn from.

Every section is there, always; it is null where the input has nothing to make it of, and empty where nothing was found.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from decoders.analysis.client_compatibility import AuditTarget
from decoders.analysis.fold_interface import Row
from decoders.exchanges.exchange import count_clients
from decoders.named_tuple import NamedTuple
from decoders.protocol_facts.api_keys import API_VERSIONS
from decoders.protocol_facts.kafka_releases import (
    HISTORY,
    RELEASES,
    api_versions_of_release,
    versions_of_api_by_release,
)
from decoders.wire.format_and_escape_text import format_rfc3339
from decoders.wire.parse_units import parse_time
from kwcli.output.report_partial_input import list_partial_sentences, make_partial_record
from kwcli.reading.run_coverage import PartialRun

# Tables that a report may be made of.
TABLES: Final = ("exchanges", "topic_partitions", "connections", "skipped")
# Dimensions that latencies are given by.
BY: Final = ("api", "client", "topic", "broker")


class FoldResults(NamedTuple):
    """The results of folds: fold by name, why a fold was given up, rows of each table (None: there is no such table).

    `tables`: whether tables were read, not captures. `partial`: what was read of the captures, where that is not all.
    """

    found: dict[str, Any]
    full: dict[str, str]
    rows: dict[str, int | None]
    bucket_ns: int
    tables: bool = True
    partial: PartialRun | None = None


_WHO: Final = ("address", "client_id", "software", "software_version")


def does_release_serve(release: str, key: int, version: int) -> bool:
    """Whether a release serves a version of an API, or never had the API, which is no fault of the client."""
    versions = api_versions_of_release(release).get(key)
    if versions is None:
        return not _is_api_of_older_releases(release, key)
    return version >= versions.low


def find_old_versions(rows: Sequence[Row], release: str) -> list[Row]:
    """A row for each client in the rows of `ClientVersions` that uses versions which a release does not serve any more.

    Each row has `old`, a list of APIs and versions; `since`, the first release whose clients know served versions of
    all of them (null where an API is gone); `asks`, whether the client asks brokers for the versions that they serve.
    """
    clients: dict[tuple[Any, ...], list[Row]] = {}
    asking = {_identify_client(row) for row in rows if row["api_key"] == API_VERSIONS}
    for row in rows:
        clients.setdefault(tuple(row[name] for name in _WHO), []).append(row)
    found = []
    for who, used in clients.items():
        old = [row for row in used if not does_release_serve(release, row["api_key"], row["api_version"])]
        if old:
            found.append(
                dict(zip(_WHO, who, strict=True))
                | _judge_old_versions_of_client(used, old, release, asks=_identify_client(used[0]) in asking)
            )
    return found


def _identify_client(row: Row) -> tuple[Any, ...]:
    """The identity of a client without its software: address and client id."""
    return row["address"], row["client_id"]


def _judge_old_versions_of_client(used: Sequence[Row], old: Sequence[Row], release: str, *, asks: bool) -> Row:
    since = [_find_first_common_release(release, row["api_key"]) for row in old]
    known = [each for each in since if each is not None]
    return {
        "count": sum(row["count"] for row in old),
        "of": sum(row["count"] for row in used),
        "first": min(row["first"] for row in old),
        "last": max(row["last"] for row in old),
        "asks": asks,
        "since": max(known, key=RELEASES.index) if len(known) == len(since) else None,
        "old": [
            {name: row[name] for name in ("api_key", "api", "api_version", "count", "first", "last")}
            | {"serves": _find_range_served(release, row["api_key"])}
            for row in old
        ],
    }


def _find_range_served(release: str, key: int) -> list[int] | None:
    versions = api_versions_of_release(release).get(key)
    return [versions.low, versions.high] if versions else None


def _find_first_common_release(release: str, key: int) -> str | None:
    """The first release that knows a version of an API that `release` serves."""
    versions = api_versions_of_release(release).get(key)
    if not versions:
        return None
    return next(name for name, its in versions_of_api_by_release(key).items() if its.high >= versions.low)


def _is_api_of_older_releases(release: str, key: int) -> bool:
    """Whether releases before this one had the API."""
    if key not in HISTORY:
        return False
    return any(RELEASES.index(name) < RELEASES.index(release) for name in versions_of_api_by_release(key))


# Series over the buckets of time: text draws marks of them, the page draws lines

NS: Final = 10**9


def list_report_sentences(report: Report) -> list[str]:
    """What the report says of the part of the inputs that it was made of; empty where that is all of them."""
    return list_partial_sentences(PartialRun(**report["partial"]) if report["partial"] else None)


def find_bucket_bounds(report: Report) -> tuple[int, int]:
    """The first and the last bucket of time."""
    width = round(report["bucket_s"] * NS)
    first, last = (parse_rfc3339_ns(report[name]) // width for name in ("first", "last"))
    return first, last


def read_values_by_bucket(points: list[Row], key: str, report: Report, scale: int) -> dict[int, int]:
    """Number of a bucket → the value `key` of its point, times `scale`, as an integer."""
    width = round(report["bucket_s"] * NS)
    return {parse_rfc3339_ns(row["time"]) // width: round(row[key] * scale) for row in points if row[key] is not None}


def list_bucket_times(report: Report) -> list[str]:
    """The time at which each bucket begins, as RFC 3339."""
    width = round(report["bucket_s"] * NS)
    first, last = find_bucket_bounds(report)
    return [format_rfc3339(number * width) for number in range(first, last + 1)]


def align_values_to_times(points: list[Row], key: str, starts: list[str]) -> list[Any]:
    """A value for each bucket, None where there is none."""
    known = {row["time"]: row[key] for row in points}
    return [known.get(start) for start in starts]


def parse_rfc3339_ns(time: str) -> int:
    """The time in nanoseconds of which `rfc3339` made a text."""
    if not time.endswith("Z") or time[4:5] != "-":
        return int(time.partition("s")[0]) * NS  # beyond the calendar
    return parse_time(time)


SCHEMA: Final = 1
# Sections that are rows of the commands of the same names.
PORTRAYED: Final = ("clients", "groups", "transactions", "topics", "brokers")
# The most connections with a ladder.
LADDERS: Final = 60
_POINTS: Final = ("time", "count", "rate", "errors", "waited", "p50", "p90", "p99", "max")
_SIDES: Final = ("client", "server")

_OTHERS: Final = "others"

Report = dict[str, Any]
_Portraits = dict[str, list[Row] | None]


def build_report(result: FoldResults, target: str) -> Report:
    """The report; `target` is the release that clients are held against."""
    found = result.found
    has = {name: rows is not None for name, rows in result.rows.items()}
    every = found["all"].rows() if "all" in found else []
    portraits = {name: _get_rows_of_fold(result, f"portraits {name}") for name in PORTRAYED}
    return {
        "kind": "report",
        "schema": SCHEMA,
        "tables": result.rows if result.tables else None,
        "partial": None if result.partial is None else make_partial_record(result.partial),
        **_build_time_span(result),
        "summary": _build_summary(result, every[0] if every else None, portraits),
        "over_time": found["time"].rows() if "time" in found else [],
        "latency": {name: _build_latencies_by(result, name) for name in BY} if has["exchanges"] else None,
        "errors": _build_errors_by_api(result) if has["exchanges"] else None,
        "slowest": found["slowest"].rows() if "slowest" in found else None,
        "old_versions": _build_old_clients(result, target) if has["exchanges"] and "audit" not in found else None,
        "talkers": _build_top_talkers(result),
        "batches": _sort_rows_by_values(_get_rows_of_fold(result, "batches"), "bytes")
        if has["topic_partitions"]
        else None,
        "throttling": _build_throttling(result, portraits) if has["exchanges"] else None,
        "connections": _build_counts_of_connections(result) if has["connections"] else None,
        "skipped": _sort_rows_by_values(_get_rows_of_fold(result, "skipped"), "size") if has["skipped"] else None,
        "findings": _get_rows_of_fold(result, "findings"),
        "audit": _build_client_compatibility(result, target),
        **portraits,
        "security": _get_rows_of_fold(result, "security"),
        "ladders": _select_ladders(result),
        "left_out": [{"what": name, "why": text} for name, text in sorted(result.full.items())],
    }


def _build_client_compatibility(result: FoldResults, target: str) -> Row | None:
    """The verdicts of `kw audit`."""
    fold = result.found.get("audit")
    if fold is None:
        return None
    rows = fold.rows(AuditTarget.of_release(target), is_partial=result.partial is not None)
    return {"target": target, "clients": rows}


def _select_ladders(result: FoldResults) -> list[Row] | None:
    """The ladders of the connections with most failures, then most exchanges; in the order of their beginnings."""
    rows = _get_rows_of_fold(result, "ladders")
    if rows is None:
        return None
    chosen = sorted(rows, key=lambda row: (row["failed"], row["count"]), reverse=True)[:LADDERS]
    return [row for row in rows if row in chosen]


def find_rows_at_path(report: Report, path: Sequence[str]) -> list[Row] | None:
    """A list of the report by the names that lead to it; None where it was not made."""
    value: Any = report
    for name in path:
        value = None if value is None else value[name]
    return value  # type: ignore[no-any-return]  # a list of rows, or None


def format_report_time(time: str, size: int = 19) -> str:
    """A time of the report for people, `2026-11-21 03:04:05`, of which the first `size` characters are given."""
    return time[:size].replace("T", " ")


def _build_time_span(result: FoldResults) -> Row:
    if not result.rows["exchanges"]:
        return {"first": None, "last": None, "span_s": None, "bucket_s": None}
    every = result.found["all"]
    span = every.last_ns - every.first_ns
    return {
        "first": format_rfc3339(every.first_ns),
        "last": format_rfc3339(every.last_ns),
        "span_s": span / NS,
        "bucket_s": result.bucket_ns / NS,
    }


def _build_summary(result: FoldResults, every: Row | None, portraits: _Portraits) -> Row:
    """The counts of the summary; null where the table for a count is not there, or there were too many to count."""

    def count_distinct_values(name: str) -> int | None:
        fold = result.found.get(f"latency {name}")
        return (
            None
            if fold is None
            else _count_groups_of_rows([row for row in fold.rows() if row[name] is not None or _OTHERS in row])
        )

    names = ("count", "rate", "errors", "unanswered", "undecoded", "request_bytes", "response_bytes", "waited")
    empty = 0 if result.rows["exchanges"] is not None else None
    summary = {name: every[name] if every else empty for name in names}
    summary |= {name: every[name] if every else None for name in ("p50", "p90", "p99", "max", "waited_ms")}
    summary |= {f"{name}s": count_distinct_values(name) for name in ("client", "topic", "broker")}
    versions = _get_rows_of_fold(result, "versions")
    summary["clients"] = None if versions is None else _count_clients(versions)
    for name, rows in portraits.items():
        if rows is not None and summary.get(name, 0) is None:
            summary[name] = _count_groups_of_rows(rows)
    throttled = result.found.get("throttle api")
    summary["throttled"] = None if throttled is None else sum(row["values"] for row in throttled.rows())
    connections = _get_rows_of_fold(result, "connections")
    summary["connections"] = result.rows["connections"]
    summary["not_kafka"] = None if connections is None else sum(row["count"] for row in connections if not row["kafka"])
    return summary


def _get_rows_of_fold(result: FoldResults, name: str) -> list[Row] | None:
    """The rows of a fold; None where it was not made or was given up."""
    fold = result.found.get(name)
    return None if fold is None else list(fold.rows())


def _build_others_key(row: Row) -> Row:
    """The key that says that a row is of all groups that have no row of their own; empty for other rows."""
    return {_OTHERS: row[_OTHERS]} if _OTHERS in row else {}


def _count_groups_of_rows(rows: Sequence[Row]) -> int:
    """How many groups the rows are about."""
    return sum(row.get(_OTHERS, 1) for row in rows)


def _sort_rows_by_values(rows: list[Row] | None, *names: str) -> list[Row] | None:
    """The rows by the values of `names`, greatest first, rows without a value last."""
    if rows is None:
        return None
    return sorted(
        rows,
        key=lambda row: (_OTHERS not in row, [(row[name] is not None, row[name] or 0) for name in names]),
        reverse=True,
    )


def _build_latencies_by(result: FoldResults, name: str) -> list[Row] | None:
    """Latencies by the dimension `name`, the slowest first; rows that were counted over time have their points."""
    rows = _get_rows_of_fold(result, f"latency {name}")
    if rows is None:
        return None
    points: dict[Any, list[Row]] = {}
    for row in _get_rows_of_fold(result, f"time {name}") or ():
        if _OTHERS not in row:
            points.setdefault(row[name], []).append({each: row[each] for each in _POINTS})
    timed = [_OTHERS not in row and row[name] in points for row in rows]
    return _sort_rows_by_values(
        [row | ({"over_time": points[row[name]]} if its else {}) for row, its in zip(rows, timed, strict=True)], "p99"
    )


def _build_errors_by_api(result: FoldResults) -> list[Row] | None:
    """Error codes by API: in how many exchanges, how many codes, and the share of the API's exchanges."""
    rows, apis = _get_rows_of_fold(result, "errors"), _get_rows_of_fold(result, "latency api")
    if rows is None:
        return None
    counts = {row["api"]: row["count"] for row in apis or ()}
    found = [
        {
            "api": row["api"],
            "error": row["error"],
            "exchanges": row["errors"],
            "codes": row["sum"],
            "share": row["errors"] / counts[row["api"]] if counts.get(row["api"]) else None,
            **_build_others_key(row),
        }
        for row in rows
        if (row["error"] is not None or _OTHERS in row) and row["errors"]
    ]
    return _sort_rows_by_values(found, "exchanges", "codes")


def _build_old_clients(result: FoldResults, target: str) -> Row | None:
    rows = _get_rows_of_fold(result, "versions")
    if rows is None:
        return None
    old = _sort_rows_by_values(find_old_versions(rows, target), "count")
    return {"target": target, "clients": _count_clients(rows), "old": old}


def _count_clients(versions: list[Row]) -> int:
    """How many clients the rows of `ClientVersions` are about."""
    return count_clients(
        (row["address"], row["client_id"] or "", row["software"], row["software_version"]) for row in versions
    )


def _build_top_talkers(result: FoldResults) -> Row:
    """The top talkers: clients by the bytes of their exchanges, topics by the bytes of their record batches."""
    clients = _get_rows_of_fold(result, "latency client")
    names = ("client", "count", "rate", "request_bytes", "response_bytes")
    shown = (
        None if clients is None else [{name: row[name] for name in names} | _build_others_key(row) for row in clients]
    )
    total = sum((row["request_bytes"] or 0) + (row["response_bytes"] or 0) for row in shown or ())
    for row in shown or ():
        row["bytes"] = (row["request_bytes"] or 0) + (row["response_bytes"] or 0)
        row["share"] = row["bytes"] / total if total else None
    return {"client": _sort_rows_by_values(shown, "bytes"), "topic": _build_rows_of_topics(result)}


def _build_rows_of_topics(result: FoldResults) -> list[Row] | None:
    batches = _get_rows_of_fold(result, "batches")
    if batches is None:
        return None
    topics: dict[Any, Row] = {}
    for row in batches:
        side = "produced" if row["api"] == "Produce" else "fetched"
        its = topics.setdefault(
            row["topic"],
            {"topic": row["topic"]} | {f"{s}_{n}": 0 for s in ("produced", "fetched") for n in ("bytes", "records")},
        )
        for name in ("bytes", "records"):
            its[f"{side}_{name}"] += row[name]
    for its in topics.values():
        its["bytes"] = its["produced_bytes"] + its["fetched_bytes"]
    return _sort_rows_by_values(list(topics.values()), "bytes")


def _build_throttling(result: FoldResults, portraits: _Portraits) -> Row:
    """Throttling by client and by API; other folds give the counts of exchanges where only throttled ones were fed."""
    counts: dict[Any, int] = {}
    for row in portraits["clients"] or ():
        for name in (row["client_id"],) if row["client_id"] else row["addresses"]:
            counts[name] = counts.get(name, 0) + row["count"]
    apis = {row["api"]: row["count"] for row in _get_rows_of_fold(result, "latency api") or ()}
    return {"client": _build_throttling_by(result, "client", counts), "api": _build_throttling_by(result, "api", apis)}


def _build_throttling_by(result: FoldResults, name: str, counts: dict[Any, int]) -> list[Row] | None:
    rows = _get_rows_of_fold(result, f"throttle {name}")
    if rows is None:
        return None
    found = []
    for row in rows:
        if row["values"]:
            count = max(row["count"], counts.get(row[name], 0))
            made = {name: row[name], "count": count, "throttled": row["values"], "share": row["values"] / count}
            found.append(
                made | {f"{each}_ms": row[each] for each in ("sum", "p50", "p99", "max")} | _build_others_key(row)
            )
    return _sort_rows_by_values(found, "sum_ms")


def _build_counts_of_connections(result: FoldResults) -> Row:
    rows = _get_rows_of_fold(result, "connections")
    closed: dict[str, int] = {}
    found: Row = dict.fromkeys(
        ("count", "kafka", "opened", "packets", "bytes", "gaps", "missing", "retransmissions"), 0
    )
    for row in rows or ():
        found["count"] += row["count"]
        found["kafka"] += row["count"] if row["kafka"] else 0
        found["opened"] += row["count"] if row["opened"] else 0
        closed[row["closed"]] = closed.get(row["closed"], 0) + row["count"]
        _add_both_directions_to_row(found, row)
    found["closed"] = dict(sorted(closed.items(), key=lambda item: (-item[1], item[0])))
    clients, foreign = _get_rows_of_fold(result, "clients"), _get_rows_of_fold(result, "foreign")
    found["client"] = _sort_rows_by_values(
        None if clients is None else [_select_client_keys(row) for row in clients if row["kafka"]], "count", "bytes"
    )
    found["not_kafka"] = _sort_rows_by_values(
        None if foreign is None else [_build_row_of_non_kafka(row) for row in foreign if not row["kafka"]], "count"
    )
    return found


def _select_client_keys(row: Row) -> Row:
    made: Row = {"client": row["client"], "count": row["count"], "exchanges": row["exchanges"]}
    made |= dict.fromkeys(("packets", "bytes", "gaps", "missing", "retransmissions"), 0)
    _add_both_directions_to_row(made, row)
    return made


def _build_row_of_non_kafka(row: Row) -> Row:
    """The row of connections that are not Kafka; connections without any bytes have no reason."""
    return {name: row[name] for name in ("broker", "reason", "detail", "count")}


def _add_both_directions_to_row(into: Row, row: Row) -> None:
    """Add the values of both directions in `row` to those in `into`."""
    for name in ("packets", "bytes", "gaps", "missing", "retransmissions"):
        into[name] += sum(row[f"{side}_{name}"] for side in _SIDES)
