"""What a cluster should be, as one value: release, size, listeners, users, ports, logs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Literal

__all__ = ["LISTENERS", "PASSWORDS", "Listener", "Options"]

Listener = Literal["INTERNAL", "PLAINTEXT", "SSL", "MTLS", "SASL_PLAINTEXT", "SASL_SSL"]

# Listener name → Kafka's security protocol.
LISTENERS: Final[Mapping[str, str]] = {
    "INTERNAL": "PLAINTEXT",
    "PLAINTEXT": "PLAINTEXT",
    "SSL": "SSL",
    "MTLS": "SSL",
    "SASL_PLAINTEXT": "SASL_PLAINTEXT",
    "SASL_SSL": "SASL_SSL",
}
# Users that every SASL listener knows, under PLAIN and both SCRAMs.
PASSWORDS: Final[Mapping[str, str]] = {"admin": "admin-secret", "alice": "alice-secret", "bob": "bob-secret"}


@dataclass(frozen=True, slots=True)
class Options:
    """Everything that decides how a cluster starts.

    The first listener is the one that brokers use among themselves. `first_port` gives that port and the free ones that
    follow to the listeners, one listener after the other; without it any free ports do. `properties` are added to (and
    win over) every node's server.properties. `roles` "combined" makes each node broker and controller; "separate" adds
    as many controller-only nodes (numbered from 101). `jars` is a folder with a broker's jars; without it Maven fetches
    those of `version`.
    """

    version: str = "4.3.1"
    nodes: int = 1
    quorum: Literal["static", "dynamic"] = "static"
    roles: Literal["combined", "separate"] = "combined"
    listeners: tuple[Listener, ...] = ("PLAINTEXT",)
    host: str = "127.0.0.1"
    first_port: int | None = None
    request_log: bool = False
    class_archive: bool = False
    authorizer: bool = False
    heap: str = "384m"
    jars: Path | None = None
    properties: Mapping[str, str] = field(default_factory=dict)
    start_timeout_s: float = 60.0
