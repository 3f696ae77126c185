"""The kinds of findings: how bad each is, its title, what it means and what to do. A literal table.

`{…}` in a title are values of the finding. A finding about an error code that has no meaning or remedy here takes it
from the tables of error codes. `went_on` is the severity where the same client later succeeded with the same thing.
"""

from __future__ import annotations

from typing import Final

from decoders.analysis.doctor.kinds.cause_kinds import CAUSE_KINDS
from decoders.analysis.doctor.kinds.client_kinds import CLIENT_KINDS
from decoders.analysis.doctor.kinds.cluster_kinds import CLUSTER_KINDS
from decoders.analysis.doctor.kinds.connection_kinds import CONNECTION_KINDS
from decoders.analysis.doctor.kinds.finding_kind import SEVERITIES, FindingKind, Severity
from decoders.analysis.doctor.kinds.load_kinds import LOAD_KINDS
from decoders.analysis.doctor.kinds.producer_kinds import PRODUCER_KINDS
from decoders.analysis.doctor.kinds.reading_kinds import READING_KINDS
from decoders.analysis.doctor.kinds.refusal_kinds import REFUSAL_KINDS
from decoders.analysis.doctor.kinds.topology_kinds import TOPOLOGY_KINDS

__all__ = [
    "CODES",
    "FINDINGS",
    "OTHER",
    "SEVERITIES",
    "STORAGE_ERRORS",
    "TOO_FEW_REPLICAS",
    "FindingKind",
    "Severity",
]

FINDINGS: Final[dict[str, FindingKind]] = {
    **CONNECTION_KINDS,
    **CLUSTER_KINDS,
    **REFUSAL_KINDS,
    **CAUSE_KINDS,
    **PRODUCER_KINDS,
    **CLIENT_KINDS,
    **LOAD_KINDS,
    **TOPOLOGY_KINDS,
    **READING_KINDS,
}

STORAGE_ERRORS: Final = (-1, 56)  # UNKNOWN_SERVER_ERROR, KAFKA_STORAGE_ERROR: the broker itself has failed
TOO_FEW_REPLICAS: Final = (19, 20)  # NOT_ENOUGH_REPLICAS, NOT_ENOUGH_REPLICAS_AFTER_APPEND
# Error code → the finding; all other codes give OTHER.
CODES: Final[dict[int, str]] = {
    **dict.fromkeys((3, 100), "topic-unknown"),
    **dict.fromkeys((29, 30, 31, 53, 65), "access-denied"),
    **dict.fromkeys((33, 34, 58), "login-failed"),
    35: "version-refused",
    **dict.fromkeys((2, 87), "records-refused"),
    **dict.fromkeys((10, 18), "too-large"),
    5: "leader-missing",
    **dict.fromkeys((6, 9, 74, 75), "leader-moved"),
    **dict.fromkeys(TOO_FEW_REPLICAS, "replicas-missing"),
    1: "offset-out-of-range",
    7: "timed-out",
    **dict.fromkeys((14, 15, 16), "coordinator-moved"),
    23: "protocol-refused",
    **dict.fromkeys((22, 25, 82, 110, 113), "member-fenced"),
    **dict.fromkeys((45, 46, 59), "sequence-broken"),
    **dict.fromkeys((47, 90), "producer-fenced"),
    89: "quota-exceeded",
    118: "telemetry-refused",
    **dict.fromkeys((11, 41, 77), "controller-moved"),
    36: "already-there",
    **dict.fromkeys((54, 61), "switched-off"),
    **dict.fromkeys(STORAGE_ERRORS, "broker-failed"),
    32: "timestamp-refused",
}
OTHER: Final = "answered-with-error"
