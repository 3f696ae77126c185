"""Findings about errors and waits whose cause several exchanges show together. A literal table."""

from __future__ import annotations

from typing import Final

from decoders.analysis.doctor.kinds.finding_kind import ERROR, WARNING, FindingKind

__all__ = ["CAUSE_KINDS"]

CAUSE_KINDS: Final[dict[str, FindingKind]] = {
    "producer-forgotten": FindingKind(
        ERROR,
        "{client}{of} was idle for {idle}, and {holder} has forgotten its producer id: {api} is refused with"
        " {error}{then}",
        "brokers drop ids that are not used for {setting}: a program that pauses for longer is refused at its next"
        " write, and its producer does not go on by itself",
        "raise {setting} above the longest pause; or have the program close its producer and make a new one, after such"
        " a pause and after this error",
        went_on=WARNING,
    ),
    "other-node-answers": FindingKind(
        ERROR,
        "{address} is the address of node {node_id}, and another node answers there{to}: {error} ({api}){places} each"
        " time{proof}",
        "clients do as the metadata say and reach the wrong node: a port forward, load balancer, NAT or DNS entry leads"
        " elsewhere, or two brokers have each other's address in advertised.listeners",
        "correct what leads {address} to another node than {node_id}; to look for metadata again does not help, as they"
        " have named this address all the time",
        went_on=WARNING,
    ),
}
