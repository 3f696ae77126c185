"""`kw doctor --values`: findings about keys and values with schemas, and what comes near and is none."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from decoders import Record
from kwcli.run_environment import Exit
from tests.analysis.test_doctor import SCHEMA
from tests.captures.shipped import CLEAN, FOLDER
from tests.cli.worlds import kw, world
from tests.net.test_schema_registry import home, registry
from tests.reading.captures_with_values import (
    ANN,
    ORDER,
    HandMadeCapture,
    http_answer,
    http_get,
    prefixed,
    schemas_record,
)
from tests.reading.test_value_schemas import SlowPipe

PAYMENT = {**ORDER, "name": "Payment"}
# A later version of an order.
LATER = {**ORDER, "fields": [*ORDER["fields"], {"name": "note", "type": "string", "default": ""}]}
KINDS = {"values-undecodable", "schema-unregistered", "value-misrouted", "schemas-mixed", "values-unframed"}


def written(*values: bytes | None, topic: str = "orders") -> HandMadeCapture:
    """Orders by schema 17, 18 is a later version of it, 19 a payment; then these values."""
    made = HandMadeCapture().fetch(
        "_schemas", schemas_record(17), schemas_record(18, LATER), schemas_record(19, PAYMENT, "payments")
    )
    made.produce("orders", *(Record(number, 5, b"k", prefixed(17)) for number in range(3)))
    made.produce(topic, *(Record(number, 5, b"k", value) for number, value in enumerate(values)))
    return made


def registered(*schemas: Record, topic: str = "orders") -> HandMadeCapture:
    """Schemas of a registry, then an order by schema 17 and two payments by 19 in a topic."""
    made = HandMadeCapture().fetch("_schemas", schemas_record(17), *schemas)
    values = [prefixed(17), prefixed(19), prefixed(19)]
    return made.produce(topic, *(Record(number, 5, b"k", value) for number, value in enumerate(values)))


def told_after_the_values() -> HandMadeCapture:
    """The subjects come last: the values are read with schemas that were asked for by their ids."""
    made = HandMadeCapture()
    for number, schema in ((17, ORDER), (19, PAYMENT)):
        made.http((http_get(f"/schemas/ids/{number}"), http_answer({"schema": json.dumps(schema)})))
    made.add_packets_of(HandMadeCapture().produce("orders", Record(0, 5, None, prefixed(19))))
    return made.fetch("_schemas", schemas_record(17), schemas_record(19, PAYMENT, "payments-value"))


def asked(schema_id: int, body: Any, status: int = 404) -> HandMadeCapture:
    """A value with an id, after a registry was asked for it in vain."""
    made = HandMadeCapture().http((http_get(f"/schemas/ids/{schema_id}"), http_answer(body, status=status)))
    made.produce("other", Record(0, 5, b"k", prefixed(77)))
    return made


def found(capture: HandMadeCapture, folder: Path, *words: str) -> list[tuple[str, str, str]]:
    """Severity, id and title of the findings about values."""
    name = capture.write(folder / "a.pcap")
    rows = [json.loads(line) for line in kw("doctor", name, *(words or ("--values",)), "-o", "ndjson").out.splitlines()]
    for row in rows:
        SCHEMA.validate(row)
    return [(row["severity"], row["id"], row["title"]) for row in rows if row["id"] in KINDS]


NOT_FOUND = {"error_code": 40403, "message": "Schema not found"}
FOUND: list[tuple[Callable[[], HandMadeCapture], str, str, str]] = [
    (
        lambda: written(prefixed(17, ANN[:-1]), prefixed(17, ANN + b"!")),
        "error",
        "values-undecodable",
        "2 values of orders do not decode with schema 17 (written by app): ",
    ),
    (
        lambda: asked(77, NOT_FOUND),
        "error",
        "schema-unregistered",
        "1 value of other name schema 77, which the registry does not know (written by app)",
    ),
    (
        lambda: written(prefixed(77)),
        "note",
        "schema-unregistered",
        "1 value of orders name schema 77, which was not seen, likely not registered (written by app)",
    ),
    (
        lambda: registered(schemas_record(19, PAYMENT, "payments-value")),
        "warning",
        "value-misrouted",
        "likely misrouted to orders: 2 values with schema 19, which is registered for payments alone (written by app)",
    ),
    (
        told_after_the_values,
        "warning",
        "value-misrouted",
        "likely misrouted to orders: 1 value with schema 19, which is registered for payments alone (written by app)",
    ),
    (
        lambda: registered(schemas_record(19, PAYMENT, "shop.Payment")),  # subjects by the names of types
        "note",
        "schemas-mixed",
        "topic orders has values of 2 types",
    ),
    (
        lambda: registered(schemas_record(19, PAYMENT, "payments-value"), schemas_record(19, PAYMENT, "orders-value")),
        "note",
        "schemas-mixed",
        "topic orders has values of 2 types",
    ),
    (
        lambda: registered(schemas_record(19, PAYMENT, ":.other:payments-value")),  # ids of another context
        "note",
        "schemas-mixed",
        "topic orders has values of 2 types",
    ),
    (
        lambda: registered(schemas_record(19, PAYMENT, "payments-value"), topic="all"),  # a topic without a subject
        "note",
        "schemas-mixed",
        "topic all has values of 2 types",
    ),
    (
        lambda: written(prefixed(19)),
        "note",
        "schemas-mixed",
        "topic orders has values of 2 types: shop.Order (written by app), shop.Payment (written by app)",
    ),
    (
        lambda: written(b'{"id":41}', b"plain"),
        "warning",
        "values-unframed",
        "2 values of orders name no schema (written by app), while others do (written by app)",
    ),
]
NEAR: dict[str, Callable[[], HandMadeCapture]] = {
    "values that decode": lambda: written(prefixed(17), prefixed(17)),
    "a null": lambda: written(None),
    "a later version": lambda: written(prefixed(18, ANN + b"\0")),
    "plain values of another topic": lambda: written(b"plain", b"{}", topic="logs"),
    "another type in another topic": lambda: written(prefixed(19), topic="payments"),
    "an id of a topic without schemas": lambda: written(prefixed(77), topic="logs"),
    "a registry that has it": lambda: asked(77, {"schema": json.dumps(ORDER)}, 200),
    "another id that is not found": lambda: asked(78, NOT_FOUND),
    "a proxy that finds no page": lambda: asked(77, {"message": "not found"}),
    "plain keys": lambda: written(prefixed(17)),
}


@pytest.mark.parametrize(("capture", "severity", "kind", "title"), FOUND, ids=[f"{row[2]}-{row[1]}" for row in FOUND])
def test_values_that_are_wrong_are_found(
    capture: Callable[[], HandMadeCapture], severity: str, kind: str, title: str, tmp_path: Path
) -> None:
    ((told, identity, text),) = found(capture(), tmp_path)
    assert (told, identity) == (severity, kind)
    assert text.startswith(title)
    assert "Ann" not in text
    assert found(capture(), tmp_path, "-v") == []  # records are decoded on request alone


@pytest.mark.parametrize("near", NEAR)
def test_values_that_come_near_are_not_found(near: str, tmp_path: Path) -> None:
    assert found(NEAR[near](), tmp_path) == []


OTHERS = [pytest.param(each, marks=pytest.mark.long) for each in CLEAN if each != "tour.pcapng"]


@pytest.mark.parametrize("name", ["tour.pcapng", *OTHERS])
def test_captures_without_registries_have_no_such_finding(name: str) -> None:
    rows = [json.loads(line) for line in kw("doctor", str(FOLDER / name), "--values", "-o", "ndjson").out.splitlines()]
    assert not {row["id"] for row in rows} & KINDS


def test_values_are_of_traffic() -> None:
    outcome = kw("doctor", "-b", "127.0.0.1:1", "--values")
    assert outcome.code == Exit.USAGE
    assert "leave them out with -b" in outcome.err


def test_an_id_whose_schema_comes_later_is_registered() -> None:
    capture = HandMadeCapture().produce("orders", Record(0, 5, None, prefixed(17)))
    capture.add_packets_of(written(prefixed(17)))
    env = world()
    env.stdin = SlowPipe(capture.data())
    outcome = kw("doctor", "-", "--values", "-o", "ndjson", env=env)
    assert "1 value with a schema that was not seen (id 17)" in outcome.err
    assert not {json.loads(line)["id"] for line in outcome.out.splitlines()} & KINDS


def test_a_registry_that_is_named_has_the_schemas(tmp_path: Path) -> None:
    """`-X schema.registry.url=URL` names a registry, where captures are examined."""
    made = HandMadeCapture().produce("orders", Record(0, 5, b"k", prefixed(17, b"\x52\x7eAnn")))
    assert found(made, tmp_path) == []
    with registry() as double:
        words = ("doctor", str(tmp_path / "a.pcap"), "--values", "-X", f"schema.registry.url={double.url}")
        outcome = kw(*words, "-o", "ndjson", env=home(tmp_path))
        rows = [json.loads(line) for line in outcome.out.splitlines()]
    assert KINDS & {row["id"] for row in rows if row["kind"] == "finding"} == {"values-undecodable"}
