"""Incidents of names: two processes with one name, a changed password, members that do not fit or poll too slowly."""

from __future__ import annotations

import time
from contextlib import suppress
from typing import Any, Final

from confluent_kafka import Consumer, KafkaException, Producer

from tests.analysis.faults.actors import rd
from tests.analysis.incidents.incident import Incident, IncidentActor
from tests.waiting import until

__all__ = ["IDENTITY_INCIDENTS"]

_TURNS: Final = 6
_NAMES: Final = ("ledger-a", "ledger-b")


def _transactional_id_in_turns(actor: IncidentActor) -> None:
    """Two producers with one transactional.id: each starts again when the other has fenced it."""
    before: Producer | None = None
    for turn in range(_TURNS):
        its = actor.producer(**{"client.id": _NAMES[turn % 2], "transactional.id": "ledger"})
        its.init_transactions(20)
        its.begin_transaction()
        its.produce(actor.topic, b"x")
        its.flush(10)
        if before is not None:
            with suppress(KafkaException):
                before.commit_transaction(10)
        before = its


def _instance_id_in_turns(actor: IncidentActor) -> None:
    """Two consumers with one group.instance.id: each starts again when the other has fenced it."""
    actor.write(20)
    before: Consumer | None = None
    for turn in range(_TURNS):
        settings = {"client.id": _NAMES[turn % 2], "group.instance.id": "reader-0", "heartbeat.interval.ms": 500}
        its = actor.consumer(**settings)
        its.subscribe([actor.topic])
        until(lambda its=its: its.poll(0.1) or its.assignment())  # type: ignore[misc]
        if before is not None:
            with suppress(KafkaException):
                for _ in range(15):
                    before.poll(0.1)
            before.close()
        before = its
    if before is not None:
        before.close()


def _assignor_not_shared(actor: IncidentActor) -> None:
    """A member of a new release offers an assignor alone that the other members do not have."""
    actor.write(20)
    old = actor.consumer(**{"client.id": "old", "partition.assignment.strategy": "range"})
    old.subscribe([actor.topic])
    until(lambda: old.poll(0.1))
    new = actor.consumer(**{"client.id": "new", "partition.assignment.strategy": "cooperative-sticky"})
    new.subscribe([actor.topic])
    end = time.monotonic() + 12
    while time.monotonic() < end:
        for member in (old, new):
            with suppress(KafkaException):
                member.poll(0.1)
    new.close()
    old.close()


def _password_changed(actor: IncidentActor) -> None:
    """The password of a user is changed, and its program goes on with the old one."""
    asking = rd.AdminClient({"bootstrap.servers": actor.place, "client.id": "vault"})

    def set_password(password: str) -> None:
        how = rd.ScramCredentialInfo(rd.ScramMechanism.SCRAM_SHA_256, 4096)
        change = rd.UserScramCredentialUpsertion("reports", how, password.encode())
        asking.alter_user_scram_credentials([change])["reports"].result(20)
        time.sleep(1)  # until the broker has applied it

    login: dict[str, Any] = {"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "SCRAM-SHA-256"}
    login |= {"sasl.username": "reports", "sasl.password": "old", "client.id": "nightly"}
    login["bootstrap.servers"] = actor.cluster.bootstrap("SASL_PLAINTEXT")
    set_password("old")
    actor.try_to_write(1, login)
    set_password("new")
    actor.try_to_write(1, login)


def _poll_too_slow(actor: IncidentActor) -> None:
    """A consumer whose program takes longer for each record than max.poll.interval.ms."""
    actor.write(20)
    settings = {"session.timeout.ms": 3000, "heartbeat.interval.ms": 500, "max.poll.interval.ms": 3000}
    reader = actor.consumer(**settings | {"enable.auto.commit": False, "client.id": "slow"})
    reader.subscribe([actor.topic])
    for _ in range(3):
        until(lambda: _poll_for_record(reader))
        time.sleep(5)
        with suppress(KafkaException):
            reader.commit(asynchronous=False)
    reader.close()


def _poll_for_record(reader: Consumer) -> bool:
    """Whether a poll gives a record, not an error such as that of the poll before, which came too late."""
    with suppress(KafkaException):
        record = reader.poll(0.1)
        return record is not None and record.error() is None
    return False


IDENTITY_INCIDENTS: Final = (
    Incident("transactional-id-in-turns", "name-shared", "transactional.id ledger", _transactional_id_in_turns),
    Incident("instance-id-in-turns", "name-shared", "group.instance.id", _instance_id_in_turns),
    Incident("assignor-not-shared", "protocol-refused", "it offers cooperative-sticky", _assignor_not_shared),
    Incident("password-changed", "login-failed", "changed the credentials of", _password_changed),
    Incident("poll-too-slow", "poll-stopped", "and came back", _poll_too_slow),
)
