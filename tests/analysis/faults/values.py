"""Producers that write values with wrong schemas, with several, or with none, on purpose."""

from __future__ import annotations

from contextlib import suppress
from typing import Final

from confluent_kafka import KafkaException

from tests.analysis.faults.actors import Actor, Fault
from tests.reading.captures_with_values import ANN, ORDER, prefixed, schemas_record

__all__ = ["VALUE_FAULTS"]

_LOOKED: Final = ("--values",)


def _write(actor: Actor, *values: bytes) -> None:
    """Write the schemas of orders (17) and payments (19), as a registry does, then orders, then these values."""
    with suppress(KafkaException):  # another fault of the same broker has made it
        actor.create(name="_schemas")
    producer = actor.producer()
    for schema in (schemas_record(17), schemas_record(19, {**ORDER, "name": "Payment"}, "payments-value")):
        producer.produce("_schemas", schema.value, key=schema.key)
    producer.flush(20)
    for value in (*[prefixed(17)] * 3, *values):
        producer.produce(actor.topic, value)
    producer.flush(20)


def _write_payment(actor: Actor) -> None:
    """Write a payment to a topic that has a subject of its own."""
    with suppress(KafkaException):
        actor.create(name="_schemas")
    producer = actor.producer()
    own = schemas_record(17, subject=f"{actor.topic}-value")
    producer.produce("_schemas", own.value, key=own.key)
    producer.flush(20)
    _write(actor, prefixed(19))


VALUE_FAULTS: Final[tuple[Fault[Actor], ...]] = (
    Fault("values-undecodable", lambda actor: _write(actor, prefixed(17, ANN[:-1])), words=_LOOKED),
    Fault("schema-unregistered", lambda actor: _write(actor, prefixed(77)), words=_LOOKED),
    Fault("value-misrouted", lambda actor: _write_payment(actor), words=_LOOKED),
    Fault("schemas-mixed", lambda actor: _write(actor, prefixed(19)), words=_LOOKED),
    Fault("values-unframed", lambda actor: _write(actor, b'{"id":41}'), words=_LOOKED),
)
