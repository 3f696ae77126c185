"""What a program sees of an Exchange: one line, the record, the topics and groups in it; without secrets."""

from __future__ import annotations

import json
import pydoc
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any, Final

import pytest

import decoders
from decoders import Exchange, Record, notebook_html, read_exchanges
from decoders.exchanges.exchange_attribute_table import KEYS
from decoders.messages.exchange_from_json import FromRecords
from tests.cli.worlds import kw

CAPTURES: Final = Path(__file__).resolve().parents[1] / "captures"
# Keys of what exchanges mean by those before them, which only kw remembers.
OF_EARLIER_EXCHANGES: Final = {"group", "transaction", "library", "node"}


def exchanges(name: str) -> list[Exchange]:
    """The exchanges of a capture that ships."""
    return list(read_exchanges((CAPTURES / name).read_bytes()))


def ndjson_records(name: str, *words: str) -> list[dict[str, Any]]:
    """The records that `kw sniff -o ndjson` prints of a capture that ships, but for what it remembers."""
    lines = kw("sniff", str(CAPTURES / name), "-o", "ndjson", *words).out.splitlines()
    found = [record for record in map(json.loads, lines) if record["kind"] == "exchange"]
    for record in found:
        for key in OF_EARLIER_EXCHANGES & record.keys():
            del record[key]
        if "fetch_session" in record:
            record["fetch_session"].pop("partitions", None)
    return found


@pytest.mark.parametrize("name", ["tour.pcapng", "sasl-framed.pcapng"])
def test_to_dict_is_the_record_of_ndjson(name: str) -> None:
    found = exchanges(name)
    assert found
    assert [exchange.to_dict() for exchange in found] == ndjson_records(name)


def test_to_dict_has_the_records_when_they_are_asked_for() -> None:
    found = [exchange.to_dict(records=True) for exchange in exchanges("tour.pcapng")]
    assert found == ndjson_records("tour.pcapng", "--records", "--raw-values")
    assert any('"value":' in json.dumps(record) for record in found)


def test_secrets_are_redacted_everywhere_but_in_the_bodies() -> None:
    tokens = [exchange for exchange in exchanges("sasl-framed.pcapng") if exchange.api == "SaslAuthenticate"]
    secrets = [exchange.request["auth_bytes"] for exchange in tokens]
    assert any(secrets)
    for exchange, secret in zip(tokens, secrets, strict=True):
        record = exchange.to_dict()
        assert record["request"]["auth_bytes"] == {"redacted": len(secret)}
        assert secret.decode() not in repr(exchange)


def test_an_exchange_is_shown_in_one_line() -> None:
    found = exchanges("tour.pcapng")
    first = found[0]
    assert repr(first) == (
        f"<Exchange {first.time} ApiVersions 3 {first.client} → {first.broker} complete>"  # no colours, no client id
    )
    failed = next(exchange for exchange in found if exchange.api == "CreateTopics" and exchange.errors)
    assert repr(failed).endswith(" complete topics[0].error_code: TOPIC_ALREADY_EXISTS>")
    unanswered = next(exchange for exchange in found if exchange.status == "unanswered")
    assert repr(unanswered).endswith(" unanswered>")
    assert all("\n" not in repr(exchange) for exchange in found)


def test_an_exchange_without_attributes_has_a_repr() -> None:
    assert "Exchange object" in repr(Exchange())


def test_topics_and_groups_are_those_of_both_sides_each_once() -> None:
    found = exchanges("tour.pcapng")
    created = [exchange.topics for exchange in found if exchange.api == "CreateTopics"]
    assert created == [["orders"], ["payments", "metrics"], ["orders"]]
    joined = [exchange for exchange in found if exchange.api == "JoinGroup"]
    assert {name for exchange in joined for name in exchange.groups} == {"billing", "audit", "report"}
    assert all(exchange.topics == [] for exchange in joined)
    fetches = [exchange.topics for exchange in found if exchange.api == "Fetch" and exchange.api_version == 18]
    assert ["payments"] in fetches  # by its id


def test_topics_and_groups_of_records_read_back() -> None:
    found = exchanges("tour.pcapng")
    again = [FromRecords().read(exchange.to_dict()) for exchange in found]
    assert [row.kind for row in again] == ["exchange"] * len(found)
    for before, after in zip(found, again, strict=True):
        assert isinstance(after, Exchange)
        assert (after.groups, after.to_dict(), repr(after)) == (before.groups, before.to_dict(), repr(before))
        assert set(after.topics) == set(before.topics)


def test_topics_of_a_token_and_of_a_damaged_body_are_empty_or_those_before_the_damage() -> None:
    found = [exchange for exchange in exchanges("tour.pcapng") if exchange.api == "Produce" and exchange.request_raw]
    whole = found[0]
    assert whole.topics == ["orders"]
    exchange = next(each for each in exchanges("tour.pcapng") if each.api == "Produce" and each.request_raw)
    assert exchange.request_raw is not None
    exchange.request_raw = exchange.request_raw[:60]
    assert exchange.topics in ([], ["orders"])


def test_the_library_has_the_version_of_the_program() -> None:
    said = json.loads(kw("version", "-o", "json").out)
    assert decoders.__version__ == said["kw"]


LIBRARY_PAGE: Final = Path(__file__).resolve().parents[1] / "kwcli" / "help" / "library.md"


def test_what_an_exchange_shows_is_on_the_page() -> None:
    shown = {name for name in dir(Exchange) if not name.startswith("_")}
    table = "".join(line.split(" | ")[0] for line in LIBRARY_PAGE.read_text().splitlines() if line.startswith("| `"))
    named = {*re.findall(r"\.(\w+)", table)} | {*KEYS}
    assert shown - named == set()
    helped = pydoc.plain(pydoc.render_doc(Exchange))
    assert not re.search(r"^ \|  (_(?!_|repr_html_)\w+)", helped, re.MULTILINE)
    for word in ("looked", "known", "revealed", "note", "forget", "spec", "api_reader", "failed"):
        assert not hasattr(Exchange, word)


class Tags(HTMLParser):
    """The text of HTML whose tags are all closed."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.text = ""
        self.feed(html)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, _attributes: Any) -> None:
        self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


@pytest.mark.parametrize("name", ["tour.pcapng", "sasl-framed.pcapng", "sasl-raw.pcap", "telemetry.pcapng"])
def test_an_exchange_has_html_for_notebooks(name: str) -> None:
    found = exchanges(name)
    assert found
    for exchange in found:
        text, record = Tags(exchange._repr_html_()).text, exchange.to_dict()
        assert text.startswith("SASL token" if exchange.is_sasl_token else f"{exchange.api} {exchange.api_version} · ")
        assert f"{exchange.broker} · {exchange.status}" in text
        for error in record["errors"]:
            assert f"{error['path']}: {error['name']}" in text
        for side in ("request", "response"):
            body = json.dumps(record[side], indent=2, ensure_ascii=False)
            if body.isprintable() and len(body) < 20_000:
                assert record[side] is None or body in text
            elif record[side] is not None:
                assert side in text


def test_html_has_no_secret_and_no_tag_of_the_traffic() -> None:
    (login, *_) = [each for each in exchanges("sasl-framed.pcapng") if each.api == "SaslAuthenticate"]
    assert login.request["auth_bytes"].decode() not in login._repr_html_()
    assert '"redacted": 19' in Tags(login._repr_html_()).text
    login.client_id = "<script>alert(1)</script>\x1b[31m\u202e"
    html = login._repr_html_()
    assert "<script>" not in html
    assert html.isprintable() or html.replace("\n", "").isprintable()


def test_html_of_a_large_body_is_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(notebook_html, "_BODY_MAX", 500)
    large = max(exchanges("tour.pcapng"), key=lambda exchange: exchange.response_size or 0)
    text = json.dumps(large.to_dict()["response"], indent=2, ensure_ascii=False)
    assert len(text) > 500
    assert f"… ({len(text) - 500:,} more characters: to_dict() has all)" in Tags(large._repr_html_()).text


RECORDS: Final = {
    "text": (
        Record(7, 1700000000000, b"key", "wärm".encode(), (("trace", b"1"), ("none", None))),
        "offset7timestamp1700000000000 (2023-11-14T22:13:20.000000Z)keykeyvaluewärmheader trace1header nonenull",
    ),
    "bytes": (Record(0, None, None, b"\xff\0"), 'offset0timestamp–keynullvalue{"base64":"/wA="}'),
    "long": (
        Record(0, None, None, b"x" * 1001),
        f"offset0timestamp–keynullvalue{'x' * 1000} … (1,001 bytes)",
    ),
    "tags": (Record(0, None, b"<b>", b"\x1b"), 'offset0timestamp–key<b>value{"base64":"Gw=="}'),
    "control": (
        Record(3, None, None, None, (), {"type": "commit", "version": 0, "value": {}}),
        "offset3timestamp–keynullvaluenullcontrol record{'type': 'commit', 'version': 0, 'value': {}}",
    ),
}


@pytest.mark.parametrize("name", RECORDS)
def test_a_record_has_html_for_notebooks(name: str) -> None:
    record, text = RECORDS[name]
    assert Tags(record._repr_html_()).text == text


def test_tls_and_what_is_not_decoded_are_attributes() -> None:
    found = exchanges("tour.pcapng")
    assert {exchange.tls for exchange in found} == {None}
    assert all(exchange.undecoded == {} for exchange in found)
    broken = next(each for each in found if each.api == "Produce" and each.request_raw)
    assert broken.request_raw is not None
    broken = next(each for each in exchanges("tour.pcapng") if each.api == "Produce" and each.request_raw)
    broken.request_raw = (broken.request_raw or b"")[:60]
    assert broken.undecoded == broken.to_dict()["undecoded"]
    assert broken.undecoded["request"]["reason"] == "truncated"
