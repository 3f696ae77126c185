"""Texts that no reader expects, in every text field of every message, through every output and back."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator
from functools import cache
from itertools import chain
from pathlib import Path
from typing import Any, Final

import jsonschema  # type: ignore[import-untyped]  # it ships no types
import pytest

from decoders.exchanges.exchange import ConnectionInfo, Exchange
from decoders.exchanges.topic_and_node_names import Topics
from decoders.messages.exchange_from_json import FromRecords
from decoders.messages.exchange_json import to_json_dict
from decoders.schema.body_json_form import decode_text_of_cell, json_text
from kwcli.options import ANSWER_FORMATS, FORMATS
from kwcli.proxy.log.log_protocol import LogPlan
from kwcli.run_environment import Exit
from kwcli.stats.render_statistics import FORMATS as STATS_FORMATS
from tests.captures.shipped import capture_bytes
from tests.cli.worlds import Outcome, in_format, kw
from tests.messages.wire_texts import TEXTS, as_str, captured, followed, plain, single
from tests.proxy.log.played import NDJSON, logged, records
from tests.proxy.log.test_restarts import chunks_in

SCHEMAS: Final = Path(__file__).resolve().parents[2] / "decoders" / "messages"
ANSWERS: Final = {
    ("clients",): "portraits",
    ("groups",): "portraits",
    ("transactions",): "portraits",
    ("topics",): "portraits",
    ("brokers",): "portraits",
    ("audit",): "audit",
    ("audit", "--target", "4.3"): "audit",
    ("doctor",): "doctor",
    ("stats", "--by", "client_id,topic", "--slowest", "3"): "statistics",
    ("stats", "--by", "group,user,mechanism"): "statistics",
    ("stats", "--by", "software,library,address"): "statistics",
}
# Facts that kw learns from earlier exchanges: the pipeline, whose parts may be read in any order, does not.
HISTORY: Final = ("node", "group", "transaction", "library", "file")


@cache
def validator(name: str) -> Any:
    return jsonschema.Draft202012Validator(json.loads((SCHEMAS / f"{name}.schema.json").read_bytes()))


def written(folder: Path, text: bytes, *, every_version: bool = False) -> str:
    """A capture of all talks with this text."""
    path = folder / "texts.pcap"
    path.write_bytes(captured(chain([plain()], single(text, every_version=every_version, code=3), followed(text))))
    return str(path)


def shown(*words: str) -> Outcome:
    """`kw WORDS…`, which ends as it should, and prints text that is UTF-8 without a lone surrogate."""
    outcome = kw(*words)
    assert outcome.code in (Exit.DONE, Exit.FINDINGS), (words, outcome.err)
    assert "defect" not in outcome.err
    assert outcome.out
    assert "\\udc" not in outcome.out.replace("\\\\u", "")  # as `backslashreplace` writes what is no text
    return outcome


def lines(outcome: Outcome) -> Iterator[Any]:
    return map(json.loads, outcome.out.split("\n")[:-1])


def places_of(value: Any, text: object, path: str = "") -> Iterator[str]:
    """The paths at which a value stands in another one."""
    if value == text:
        yield path
    elif isinstance(value, dict):
        for name, each in value.items():
            yield from places_of(each, text, f"{path}.{name}")
    elif isinstance(value, list):
        for each in value:
            yield from places_of(each, text, f"{path}[]")


@pytest.mark.long
@pytest.mark.one_in(5)
@pytest.mark.parametrize("name", TEXTS)
def test_records_fit_their_schema_and_are_read_again(name: str, tmp_path: Path) -> None:
    text = TEXTS[name]
    capture = written(tmp_path, text)
    told = shown("sniff", capture, "-o", "ndjson", "--records", "--names", "-q")
    found: set[str] = set()
    sessions: set[str] = set()
    for record in lines(told):
        validator("record").validate(record)
        assert (record["kind"], record["status"]) == ("exchange", "complete")
        found.update(places_of(record, json_text(as_str(text))))
        sessions.update(record.get("fetch_session", {}).get("partitions", {}))
    beside = {
        *(".client_id", ".client_software.name", ".client_software.version", ".group.id", ".group.member"),
        *(".node.cluster", ".transaction.id", ".mechanism", ".topic_names.AAAAAAAAAAAAAAAAAAAABw"),
    }
    assert beside - found == set()
    assert as_str(text) in map(decode_text_of_cell, sessions)
    file = tmp_path / "texts.ndjson"
    file.write_text(told.out)
    assert kw("sniff", str(file), "-o", "ndjson", "--records", "--names", "-q").out == told.out


@pytest.mark.long
@pytest.mark.one_in(3)
@pytest.mark.parametrize("name", TEXTS)
def test_every_version_of_every_api(name: str, tmp_path: Path) -> None:
    capture = written(tmp_path, TEXTS[name], every_version=True)
    told = shown("sniff", capture, "-o", "ndjson", "--records", "-q")
    for record in lines(told):
        validator("record").validate(record)
    file = tmp_path / "texts.ndjson"
    file.write_text(told.out)
    assert kw("sniff", str(file), "-o", "ndjson", "--records", "-q").out == told.out
    for output in FORMATS:
        shown("sniff", capture, *in_format(output), "-v")


@pytest.mark.long
@pytest.mark.one_in(27)
@pytest.mark.parametrize("name", TEXTS)
@pytest.mark.parametrize("output", FORMATS)
def test_every_format_shows_it(output: str, name: str, tmp_path: Path) -> None:
    shown("sniff", written(tmp_path, TEXTS[name]), *in_format(output))


@pytest.mark.long
@pytest.mark.one_in(10)
@pytest.mark.parametrize("name", TEXTS)
def test_a_cell_of_csv_stands_for_one_text(name: str, tmp_path: Path) -> None:
    capture = written(tmp_path, TEXTS[name])
    rows = list(csv.DictReader(io.StringIO(shown("sniff", capture, "-o", "csv").out, newline="")))
    assert {decode_text_of_cell(row["client_id"]) for row in rows} == {"app", "orders", as_str(TEXTS[name])}
    clients = list(csv.DictReader(io.StringIO(shown("clients", capture, "-o", "csv").out, newline="")))
    assert as_str(TEXTS[name]) in {decode_text_of_cell(row["client_id"]) for row in clients}


@pytest.mark.long
@pytest.mark.one_in(33)
@pytest.mark.parametrize("name", TEXTS)
@pytest.mark.parametrize("words", ANSWERS, ids=" ".join)
def test_answers_fit_their_schema(words: tuple[str, ...], name: str, tmp_path: Path) -> None:
    capture = written(tmp_path, TEXTS[name])
    told = list(lines(shown(words[0], capture, *words[1:], "-o", "ndjson")))
    assert told
    for row in told:
        validator(ANSWERS[words]).validate(row)


@pytest.mark.long
@pytest.mark.one_in(4)
@pytest.mark.parametrize("name", TEXTS)
@pytest.mark.parametrize("words", ANSWERS, ids=" ".join)
def test_answers_in_every_format(words: tuple[str, ...], name: str, tmp_path: Path) -> None:
    capture = written(tmp_path, TEXTS[name])
    for output in STATS_FORMATS if words[0] == "stats" else ANSWER_FORMATS:
        if output != "csv" or "--slowest" not in words:  # which has a table of its own
            shown(words[0], capture, *words[1:], "-o", output)


@pytest.mark.long
@pytest.mark.one_in(10)
@pytest.mark.parametrize("name", TEXTS)
def test_reports(name: str, tmp_path: Path) -> None:
    capture = written(tmp_path, TEXTS[name])
    validator("report").validate(json.loads(shown("report", capture, "-o", "json").out))
    for output in ("ndjson", "text", "md"):
        shown("report", capture, "-o", output)
    page = tmp_path / "page.html"
    assert kw("report", capture, "--html", str(page)).code == Exit.DONE
    assert "\\udc" not in page.read_text(encoding="utf-8")


@pytest.mark.one_in(10)
@pytest.mark.parametrize("name", TEXTS)
def test_tables_keep_it(name: str, tmp_path: Path) -> None:
    capture, tables = written(tmp_path, TEXTS[name]), str(tmp_path / "tables")
    assert kw("pipeline", "run", capture, "--out", tables, "--engine", "local", "--bodies").code == Exit.DONE

    def rows(place: str) -> list[dict[str, Any]]:
        told = [{key: each for key, each in row.items() if key not in HISTORY} for row in lines(shown("sniff", place))]
        for row in told:
            row.get("fetch_session", {}).pop("partitions", None)
        return sorted(told, key=lambda row: (row["time"], row["connection"], row["correlation_id"]))

    assert rows(tables) == rows(capture)
    (found,) = lines(shown("sql", tables, "select list(distinct client_id) as its from exchanges", "-o", "ndjson"))
    assert as_str(TEXTS[name]) in map(decode_text_of_cell, found["its"])
    for words in (("topics",), ("doctor",), ("stats", "--by", "client_id,topic")):
        shown(words[0], tables, *words[1:], "-o", "ndjson")


@pytest.mark.long
@pytest.mark.parametrize("names", [("cut",), pytest.param(tuple(TEXTS), marks=pytest.mark.long)], ids=len)
def test_the_log_of_the_proxy(names: tuple[str, ...], tmp_path: Path) -> None:
    texts = [TEXTS[name] for name in names]
    data = captured(chain([plain()], *map(followed, texts), *(single(text) for text in texts)))
    out, err = logged(tmp_path, LogPlan(NDJSON, events=True, report=True, report_records=True), chunks_in(data))
    assert "defect" not in err
    (tmp_path / "all.pcap").write_bytes(data)
    told = [json.loads(line) for line in out.split(b"\n")[:-1]]
    for row in told:
        if row["kind"] != "exchange" or row["time"].endswith("9000Z"):
            validator("record").validate(row)
    users = [row["user"] for row in told if row["kind"] == "connection" and row["what"] == "login"]
    assert [text for text in texts if json_text(as_str(text.replace(b"\0", b""))) not in users] == []
    exchanges = b"".join(json.dumps(row).encode() + b"\n" for row in told if row["kind"] == "exchange")
    sniffed = kw("sniff", str(tmp_path / "all.pcap"), "-o", "ndjson", "-q").out.encode()
    assert records(exchanges) == records(sniffed)


@pytest.mark.parametrize("name", TEXTS)
def test_names_of_tls(name: str) -> None:
    """The server name and the subject of the certificate are the client's words."""
    text = as_str(TEXTS[name])
    info = ConnectionInfo(1, "10.0.0.1:40000", "10.0.0.2:9092", 0, Topics())
    info.tls = {"version": "1.3", "cipher": "TLS_AES_128_GCM_SHA256", "sni": text, "client_subject": text}
    info.has_keys = True
    exchange = _metadata(info)
    record = to_json_dict(exchange)
    validator("record").validate(record)
    assert record["tls"]["sni"] == record["tls"]["client_subject"] == record["user"] == json_text(text)
    again = FromRecords().read(json.loads(json.dumps(record)))
    assert isinstance(again, Exchange)
    assert again.connection_info.tls == info.tls
    assert again.user == text


def _metadata(info: ConnectionInfo) -> Exchange:
    """An exchange of such a connection."""
    from decoders import read_exchanges

    (exchange, *_) = read_exchanges(captured([plain()]))
    assert isinstance(exchange, Exchange)
    exchange.connection_info = info
    return exchange


def test_groups_and_patterns_of_names_that_are_no_text(tmp_path: Path) -> None:
    """A capture in which names became others of the same length, its NDJSON, and patterns of its names."""
    data = capture_bytes("tour.pcapng")
    for name, other in ((b"orders", b"ord\xff\xc3("), (b"billing", b"bil\xc0\xafng")):
        data = data.replace(name, other)
    capture, rows = tmp_path / "odd.pcapng", tmp_path / "odd.ndjson"
    capture.write_bytes(data)
    rows.write_text(shown("sniff", str(capture), "--records", "-o", "ndjson").out)
    answer = shown("groups", str(capture), "-o", "json").out
    assert '{"base64":"b3Jk/8Mo"}' in answer
    assert shown("groups", str(rows), "-o", "json").out == answer
    exact = shown("sniff", str(capture), "-f", "topic == 'ord\udcff\udcc3('").out.count("\n")
    assert exact > 10
    for words in (("--topic", "ord\udcff*"), ("-f", "topic like 'ord\udcff\udcc3?'")):
        assert shown("sniff", str(capture), *words).out.count("\n") == exact


def test_a_type_of_groups_may_be_any_text(tmp_path: Path) -> None:
    capture = tmp_path / "odd.pcapng"
    capture.write_bytes(capture_bytes("share-groups.pcapng").replace(b"\x06share", b"\x06sh\xffre"))
    for row in json.loads(shown("groups", str(capture), "-o", "json").out):
        validator("portraits").validate(row)
