"""What a program sees of an Exchange: one line, the record, the topics and groups in it; without secrets."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

import pytest

import decoders
from decoders import Exchange, read_exchanges
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
    assert found == ndjson_records("tour.pcapng", "--records")
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
