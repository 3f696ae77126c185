"""Options of a test cluster beyond a playground's: ZooKeeper, Kerberos, telemetry."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from kwcli.playground import broker_properties
from kwcli.playground.broker_properties import LISTENERS, PASSWORDS, Listener

__all__ = ["LISTENERS", "PASSWORDS", "Listener", "Options"]

Mode = Literal["kraft", "zookeeper"]


@dataclass(frozen=True, slots=True)
class Options(broker_properties.ClusterOptions):
    """`kerberos` starts a realm and lets SASL listeners take GSSAPI (clients must know the host as localhost)."""

    mode: Mode = "kraft"
    telemetry: bool = False
    kerberos: bool = False
