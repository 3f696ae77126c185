"""Odd values at any place of the lines that kw reads: NDJSON of kw, and a broker's request log.

A line that does not fit is told with its number and passed over, and the lines around it are shown. No value ends a
command as a defect, and no text that it shows is more than text for a terminal.
"""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from itertools import islice
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any, Final

from decoders.analysis.dimension_and_metric_table import METRICS
from decoders.filters.filter_field_table import FIELDS
from decoders.messages.parse_request_log import RequestLogLines
from decoders.messages.read_ndjson import RecordLines
from decoders.mocking.cluster_from_recording import RecordedCluster, RedactedRecording
from decoders.mocking.handler_table import make_brokers
from kwcli.run_environment import Exit
from kwcli.stats import BY
from tests.cli.worlds import Outcome, kw
from tests.fuzz.names import commands as is_command
from tests.fuzz.program import CODES, ROOT, check_end

CAPTURES: Final = ROOT / "captures"
SCHEMA: Final[dict[str, Any]] = json.loads((ROOT / "decoders" / "messages" / "record.schema.json").read_bytes())
HOSTILE: Final = "\0\x1b[31mred\x1b]0;title\x07\x9b2J\u202e</script>"
# A value that no place takes, and others that some do.
ODD: Final[tuple[Any, ...]] = (
    None,
    True,
    -1,
    0,
    1.5,
    1e308,
    2**31,
    2**63 - 1,
    2**63,
    2**70,
    "",
    HOSTILE,
    "x" * 5_000,
    "0001-01-21T17:34:43.293343Z",
    "9999-12-31T23:59:59.999999Z",
    "2026-13-41T25:61:61.000000Z",
    "[:::::]:9092",
    "999.999.999.999:99999",
    [],
    [None],
    {},
    {"base64": "!"},
    {"base64": "/w=="},
    {"base64": HOSTILE, "error": 7},
    {"base64": HOSTILE},
    {"$type": HOSTILE, "$version": HOSTILE, HOSTILE: {"$type": HOSTILE}},
    {"redacted": 2**40},
    {"$type": "ConsumerProtocolSubscription", "$version": 0, "topics": 7},
    {"name": HOSTILE, HOSTILE: [[HOSTILE]]},
    json.loads("[" * 400 + "]" * 400),
)
# What stands where text in a log is no JSON.
NO_JSON: Final = ("NaN", "-Infinity", "1e999", '"\\ud800"')
# Captures whose exchanges differ, and how many lines of each are used.
SOURCES: Final = ("tour.pcapng", "first-steps.pcapng", "three-nodes.pcapng.zst", "share-groups.pcapng", "sasl-raw.pcap")

Path_ = tuple[Any, ...]


@cache
def recorded() -> tuple[str, ...]:
    """Lines of NDJSON, records and skipped runs included, whose exchanges differ in API or kind."""
    found: dict[Any, str] = {}
    for name in SOURCES:
        for line in kw("sniff", str(CAPTURES / name), "--records", "-o", "ndjson", "-q").out.splitlines():
            row = json.loads(line)
            kind = row["kind"], row.get("api"), row.get("api_version"), row.get("status"), row.get("reason")
            found[kind] = line
    return tuple(found.values())


@cache
def logged() -> tuple[str, ...]:
    """Lines of a request log, one of each API."""
    found: dict[Any, str] = {}
    with gzip.open(CAPTURES / "first-steps.requests.log.gz", "rt") as file:
        for line in file:
            name = re.search(r'"requestApiKey":(\d+)', line)
            if name is not None:
                found.setdefault(name[1], line.rstrip("\n"))
    return tuple(found.values())


def split_log(line: str) -> tuple[str, dict[str, Any]]:
    """The head of a line of a request log, and what it says."""
    at = line.index("{")
    return line[:at], json.loads(line[at : line.rindex("}") + 1])


def places(value: Any, path: Path_ = ()) -> Iterator[Path_]:
    """The paths of all values inside a value."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in items:
        yield (*path, key)
        yield from places(inner, (*path, key))


def put(value: Any, path: Path_, odd: Any) -> str:
    """The JSON of a value with another value at a path."""
    whole = json.loads(json.dumps(value))
    owner = whole
    for step in path[:-1]:
        owner = owner[step]
    owner[path[-1]] = odd
    return json.dumps(whole)


def example(schema: Mapping[str, Any]) -> Any:
    """A value that fits a schema of the record, with every property."""
    if "$ref" in schema:
        return example(SCHEMA["$defs"][schema["$ref"].rpartition("/")[2]])
    for word in ("const", "enum", "anyOf"):
        if word in schema:
            first = schema[word] if word == "const" else schema[word][0]
            return example(first) if word == "anyOf" else first
    kind = schema.get("type", "string")
    kind = kind if isinstance(kind, str) else kind[0]
    if kind == "object":
        made = {name: example(each) for name, each in schema.get("properties", {}).items()}
        for each in schema.get("patternProperties", {}).values():
            made["request"] = example(each)
        others = schema.get("additionalProperties")
        return made | ({"AAAAAAAAAAAAAAAAAAAAAQ": example(others)} if isinstance(others, Mapping) else {})
    if kind == "array":
        return [example(schema.get("items", {}))] * max(schema.get("minItems", 1), 1)
    if kind == "string":
        pattern = schema.get("pattern", "")
        return TEXTS.get(pattern[:4], "eA==" if "contentEncoding" in schema else "text")
    return {"boolean": True, "null": None}.get(kind, max(schema.get("minimum", 1), 1))


# Texts of the patterns in the schema, by how these begin.
TEXTS: Final = {"^(19": "2026-11-21T03:04:05.123456Z", "^((\\": "127.0.0.1:9092", "^\\d{": "4.1"}
# Keys that say that something is wrong with an exchange; each is in a record of its own.
_APART: Final = ("undecoded", "guessed", "comparison")


def whole_records() -> Iterator[dict[str, Any]]:
    """Records that together have every key of the schema."""
    rows = [json.loads(line) for line in recorded()]
    complete = next(row for row in rows if row.get("api") == "Fetch" and row["status"] == "complete")
    properties = SCHEMA["$defs"]["exchange"]["properties"]
    further = {name: example(each) for name, each in properties.items() if name not in complete and name not in _APART}
    yield {**complete, "errors": example(properties["errors"]), **further}
    yield {**complete, "status": "undecoded", "reason": "malformed", "undecoded": example(properties["undecoded"])}
    yield {**complete, "status": "orphan_response", "request": None, "guessed": True}
    yield {**complete, "comparison": example(properties["comparison"])}
    yield example(SCHEMA["$defs"]["skipped"])


def odd_records(part: int = 0, parts: int = 1) -> Iterator[str]:
    """Every key of the schema with every odd value, a line each; of these every `parts`-th, from `part` on."""
    chosen = ((record, path, odd) for record in whole_records() for path in _keys(record) for odd in ODD)
    yield from (put(record, path, odd) for record, path, odd in islice(chosen, part, None, parts))


def _keys(record: Mapping[str, Any]) -> Iterator[Path_]:
    """The places of a record, but those inside of its bodies."""
    return places({name: {} if name in ("request", "response") else each for name, each in record.items()})


def odd_log_lines(part: int = 0, parts: int = 1) -> Iterator[str]:
    """Every key of a request log's line beside the bodies, with every odd value; every `parts`-th of these lines."""
    head, said = split_log(logged()[0])
    chosen = ((path, odd) for path in _keys(said) for odd in ODD)
    yield from (head + put(said, path, odd) for path, odd in islice(chosen, part, None, parts))


def odd_bodies(lines: Sequence[str], part: int = 0, parts: int = 1) -> Iterator[str]:
    """Lines with odd values at every place of their bodies; every `parts`-th of these lines."""
    chosen = (
        (head, said, path, odd)
        for head, said in map(split_log, lines)
        for path in places({side: said[side] for side in ("request", "response") if side in said})
        for odd in ODD
    )
    yield from (head + put(said, path, odd) for head, said, path, odd in islice(chosen, part, None, parts))


def dimension_words() -> Iterator[list[str]]:
    """`kw stats` by each dimension, and of each metric."""
    yield from (["stats", "--by", by, "-o", "text"] for by in BY)
    yield from (["stats", "--metric", metric, "--slowest", "5", "-v", "-o", "text"] for metric in METRICS)


# Commands that read both kinds of lines: each word list goes before the name of the file.
SNIFFS: Final[tuple[list[str], ...]] = (
    *(["sniff", "-o", name] for name in ("text", "table", "ndjson", "json", "csv", "yaml")),
    ["sniff", "-o", "text", "-v", "--records"],
    ["sniff", "-o", "text", "-vv", "--names", "--reveal-secrets"],
    ["sniff", "-o", "yaml", "--names"],
    ["sniff", "-o", "fields", "-e", "time,api,summary,request,response,client_software.name,library.name,group.id"],
    ["sniff", "-o", "csv", "--columns", "api,library.name,server.local_ms,errors,tls,fault,sasl.expires"],
    ["sniff", "-o", "text", "--sort", "latency", "-v"],
    ["sniff", "-o", "text", "--errors", "all"],
)
_ASKED: Final = {
    **dict.fromkeys(("number", "size", "duration", "version"), "> 20"),
    **dict.fromkeys(("text", "address", "record_content", "error", "api"), "~ a"),
    "time": "> 17:34",
}
FILTERS: Final[tuple[list[str], ...]] = tuple(
    ["sniff", "-o", "csv", "-f", f"not {name} {_ASKED.get(row.kind, '')}"] for name, row in FIELDS.items()
)
ANSWERS: Final[tuple[list[str], ...]] = (
    *dimension_words(),
    ["stats", "--by", "client,topic,partition,error", "-o", "ndjson"],
    ["stats", "--bucket", "1s", "-o", "csv"],
    *(
        [name, "-o", form]
        for name in ("clients", "groups", "topics", "brokers", "doctor")
        for form in ("text", "ndjson")
    ),
    ["audit", "--target", "4.0", "-o", "text"],
    ["audit", "--target", "4.0", "-o", "json"],
    ["audit", "--clients", "4.0", "-o", "text"],
    ["audit", "--security", "-v", "-o", "text"],
    *(["report", "--records", "-o", form] for form in ("text", "md", "json", "ndjson")),
    ["report", "--html"],
    ["replay", "--dry-run", "-v", "--changes", "data", "-b", "127.0.0.1:1", "-o", "text"],
    ["replay", "--dry-run", "-v", "-b", "127.0.0.1:1", "-o", "ndjson"],
    ["sql", "-o", "text"],
    ["sql", "-o", "ndjson"],
    ["pipeline", "run", "--engine", "local", "--bodies"],
    ["mock"],
)
COMMANDS: Final = (*SNIFFS, *FILTERS, *ANSWERS)


def run_on(words: Sequence[str], path: Path, folder: Path) -> Outcome:
    """Run a command on a file."""
    if words[0] == "mock":
        return mock_recording(path)
    if words[0] == "sql":
        return kw("sql", "select * from exchanges", str(path), *words[1:])
    if words[0] == "pipeline":
        return kw(*words, str(path), "--out", str(folder / f"tables-{path.name}"))
    if words == ["report", "--html"]:
        page = folder / f"{path.name}.html"
        outcome = kw("report", str(path), "--html", str(page))
        return outcome._replace(out=page.read_text()) if page.exists() else outcome
    return kw(words[0], str(path), *words[1:])


def mock_recording(path: Path) -> Outcome:
    """The cluster of a recording, as `kw mock` makes it."""
    lines = RequestLogLines() if path.suffix == ".log" else RecordLines()
    recording = RecordedCluster()
    for row in [*lines.feed(path.read_bytes()), *lines.finish()]:
        if row.kind == "exchange":
            try:
                recording.add(row)
            except RedactedRecording:
                continue  # it ends the command in one line
    nodes = recording.list_nodes()
    if nodes:
        make_brokers(recording.build_cluster(nodes))
    return Outcome(Exit.DONE, "", "")


def check_run(words: Sequence[str], outcome: Outcome) -> None:
    """Assert that a command ended as it must for any line, and that all it shows is text."""
    shown = f"kw {' '.join(words)}: {outcome.err[-2000:]}"
    check_end(outcome.code, shown)
    assert outcome.code in CODES - {Exit.USAGE}, shown
    if not {"json", "ndjson", "csv", "fields", "yaml"}.intersection(words):  # data are as they are
        text = outcome.out.replace("\r\n", "\n")
        bad = next((at for at, character in enumerate(text) if is_command(character)), None)
        assert bad is None, f"{text[max(bad - 60, 0) : bad + 60]!r}: {shown}" if bad is not None else ""


def try_lines(lines: Sequence[str], commands: Sequence[Sequence[str]], *, log: bool) -> int:
    """Run commands on lines between two good ones; gives how many were run."""
    good = logged()[0] if log else next(line for line in recorded() if '"status":"complete"' in line)
    with TemporaryDirectory() as name:
        folder = Path(name)
        path = folder / ("requests.log" if log else "rows.ndjson")
        path.write_text("".join(f"{line}\n" for line in (good, *lines, good)))
        for words in commands:
            if words[0] == "pipeline" and not log:
                continue  # the pipeline reads captures and request logs
            check_run(words, run_on(words, path, folder))
        rows = [json.loads(line) for line in kw("sniff", str(path), "-o", "ndjson").out.splitlines()]
        assert len(rows) >= 2
        assert rows[0] == {**rows[-1], "connection": rows[0]["connection"]}
    return len(commands)


def try_log(rng: Random) -> int:
    """Put odd values at random places of lines of a request log, and run some commands on them."""
    return try_lines([damaged(rng, line) for line in rng.choices(logged(), k=6)], rng.choices(COMMANDS, k=3), log=True)


def try_ndjson(rng: Random) -> int:
    """Put odd values at random places of lines of NDJSON, and run some commands on them."""
    lines = [damaged(rng, line) for line in rng.choices(recorded(), k=6)]
    return try_lines(lines, rng.choices(COMMANDS, k=3), log=False)


def damaged(rng: Random, line: str) -> str:
    """A line with odd values at one to three random places, keys removed and added."""
    head, said = split_log(line)
    for _ in range(rng.choice([1, 1, 1, 2, 3])):
        path = rng.choice(list(places(said)) or [("more",)])
        said = json.loads(rng.choice([put, without, with_more])(said, path, rng.choice(ODD)))
    text = json.dumps(said)
    if rng.random() < 0.05:
        text = re.sub(r"\d+", lambda match: rng.choice(NO_JSON) if rng.random() < 0.05 else match[0], text)
    return head + text


def without(value: Any, path: Path_, _odd: Any) -> str:
    """A value without what stands at a path."""
    whole = json.loads(json.dumps(value))
    owner = whole
    for step in path[:-1]:
        owner = owner[step]
    del owner[path[-1]]
    return json.dumps(whole)


def with_more(value: Any, path: Path_, odd: Any) -> str:
    """A value with another element or key beside a path."""
    whole = json.loads(json.dumps(value))
    owner = whole
    for step in path[:-1]:
        owner = owner[step]
    if isinstance(owner, list):
        owner.append(odd)
    else:
        owner[f"more{HOSTILE}"] = odd
    return json.dumps(whole)
