"""A request inside an Envelope is a separate exchange, after the Envelope's."""

from __future__ import annotations

import json
from random import Random
from typing import Any

import pytest

from decoders import encode_embedded, encode_request
from decoders.analysis.client_compatibility import Audit, AuditTarget
from decoders.analysis.doctor.doctor import Doctor
from decoders.analysis.doctor.thresholds import Thresholds
from decoders.analysis.portraits.client_and_broker_portraits import Clients
from decoders.analysis.statistics import Statistics
from decoders.exchanges.exchange import Exchange
from decoders.messages.exchange_from_json import FromRecords
from decoders.messages.exchange_json import to_json_dict
from decoders.protocol_facts.api_keys import CREATE_TOPICS, ENVELOPE
from tests.exchanges.talks import Turns, request, response, run, segments

SCRAM = 51
PRINCIPAL = encode_embedded("DefaultPrincipalData", 0, {"type": "User", "name": "alice"})


def bare(frame: bytes) -> bytes:
    """A frame without its size field, as it is inside an Envelope."""
    return frame[4:]


def talk(inner: bytes, answer: bytes | None, error: int = 0) -> Turns:
    asked = {"request_data": inner, "request_principal": PRINCIPAL, "client_host_address": b"\x7f\0\0\1"}
    return [
        (True, request(ENVELOPE, 0, 7, "1", asked)),
        (False, response(ENVELOPE, 0, 7, {"response_data": answer, "error_code": error})),
    ]


def settled(turns: Turns) -> list[Exchange]:
    return [each for each in run(segments(turns, Random(1)), ports={9092}) if isinstance(each, Exchange)]


CREATE = bare(request(CREATE_TOPICS, 7, 3, "app", {"topics": [{"name": "orders", "num_partitions": 2}]}))
CREATED = bare(response(CREATE_TOPICS, 7, 3, {"topics": [{"name": "orders", "error_code": 36}]}))


def test_the_inside_is_an_exchange_of_its_own() -> None:
    outer, inner = settled(talk(CREATE, CREATED))
    assert (outer.api, outer.envelope) == ("Envelope", None)
    assert (inner.api, inner.api_version, inner.correlation_id, inner.client_id) == ("CreateTopics", 7, 3, "app")
    assert inner.envelope == {"correlation_id": 7}
    assert (outer.user, inner.user, inner.mechanism) == (None, "alice", None)
    assert (inner.status, [error.name for error in inner.errors]) == ("complete", ["TOPIC_ALREADY_EXISTS"])
    assert inner.request["topics"][0]["name"] == "orders"
    record = to_json_dict(inner)
    assert record["envelope"] == {"correlation_id": 7}
    assert (record["request_size"], record["response_size"]) == (len(CREATE), len(CREATED))
    shared = ("time", "latency_ms", "duration_ms", "client", "broker", "connection", "packets")
    assert [record[name] for name in shared] == [to_json_dict(outer)[name] for name in shared]
    again: Any = FromRecords().read(record)
    assert (again.envelope, to_json_dict(again)) == (inner.envelope, record)
    principal = to_json_dict(outer)["request"]["request_principal"]
    assert (principal["$type"], principal["name"]) == ("DefaultPrincipalData", "alice")


def test_bytes_and_latency_are_summed_once() -> None:
    both = settled(talk(CREATE, CREATED))
    fold = Statistics(("api",), "latency")
    for each in both:
        fold.add(each)
    rows = {row["api"]: row for row in fold.rows()}
    assert {api: row["count"] for api, row in rows.items()} == {"Envelope": 1, "CreateTopics": 1}
    assert rows["CreateTopics"]["errors"] == 1
    assert (rows["CreateTopics"]["request_bytes"], rows["CreateTopics"]["response_bytes"]) == (0, 0)
    assert rows["CreateTopics"]["p50"] is None
    assert rows["Envelope"]["request_bytes"] == both[0].request_size
    assert rows["Envelope"]["p50"] is not None


def test_what_a_broker_forwards_is_no_version_that_the_client_speaks() -> None:
    """A broker creates a topic for a client that asked for metadata: the version is the broker's, the client old."""
    fold = Audit()
    for each in settled(talk(CREATE, CREATED)):
        fold.add(each)
    assert [row["client_id"] for row in fold.rows(AuditTarget.of_release("2.1"))] == ["1"]


@pytest.mark.parametrize(("client_id", "name"), [("app", "app"), ("", "alice")])
def test_what_a_broker_forwards_counts_for_the_client_or_principal(client_id: str, name: str) -> None:
    asked = bare(request(CREATE_TOPICS, 7, 3, client_id, {"topics": [{"name": "orders", "num_partitions": 2}]}))
    clients, doctor = Clients(), Doctor(Thresholds({"errors.few": 0}))
    for each in settled(talk(asked, CREATED)):
        clients.add(each)
        doctor.add(each)
    rows = {row["client_id"]: row for row in clients.rows()}
    assert rows.keys() == {"1", client_id}
    broker, client = rows["1"], rows[client_id]
    assert ([*broker["apis"]], len(broker["addresses"])) == (["Envelope"], 1)
    shown = [client[key] for key in ("addresses", "apis", "users", "errors")]
    assert shown == [[], {}, ["alice"], 1]
    (row,) = doctor.rows()
    assert (row["id"], row["clients"]) == ("already-there", [name])


def test_an_envelope_that_was_refused() -> None:
    outer, inner = settled(talk(CREATE, None, 97))
    assert outer.status == "complete"
    assert (inner.status, inner.reason, inner.response) == ("unanswered", "envelope", None)


def test_an_envelope_that_was_not_answered() -> None:
    outer, inner = settled(talk(CREATE, CREATED)[:1])
    assert (outer.status, inner.status, inner.closed) == ("unanswered", "unanswered", outer.closed)


@pytest.mark.parametrize(
    "inside",
    [
        b"",
        b"\0\x13\0\7",
        b"**************",
        bare(request(ENVELOPE, 0, 1, "x", {"request_data": CREATE, "client_host_address": b""})),
        bare(request(17, 0, 1, "x", {"mechanism": "PLAIN"})),
    ],
)
def test_what_is_no_request_of_a_client_stays_inside(inside: bytes) -> None:
    (outer,) = settled(talk(inside, CREATED))
    assert outer.api == "Envelope"


def test_secrets_inside_are_hidden() -> None:
    body = {"upsertions": [{"name": "bob", "salt": b"SALTSALT", "salted_password": b"HUNTER22"}]}
    inner = encode_request(SCRAM, 0, body, correlation_id=4, client_id="app")
    answer = bare(response(SCRAM, 0, 4, {"results": []}))
    text = json.dumps([to_json_dict(each) for each in settled(talk(inner, answer))])
    assert '"bob"' in text
    assert "SALTSALT" not in text
    assert "HUNTER22" not in text
