"""What the command line asks of the proxy, as one value."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from kwcli.net.core.config import ClientConfig
from kwcli.proxy.core.budget import BUDGET

if TYPE_CHECKING:
    from kwcli.proxy.tls.inbound import Inbound

PORT_BASE: Final = 19092
LOOPBACK: Final = "127.0.0.1"
# So long answers are waited for when the proxy is to end.
DRAIN_S: Final = 10.0


class Listening(NamedTuple):
    """Where clients find the proxy, and Prometheus its numbers; without `advertise` clients are told `bind`."""

    port_base: int = PORT_BASE
    bind: str = LOOPBACK
    advertise: str | None = None
    metrics: int | None = None


class ProxySettings(NamedTuple):
    """`bind` is where to listen, `advertise` the host that clients are told; `config` the way to the cluster."""

    config: ClientConfig
    port_base: int = PORT_BASE
    bind: str = LOOPBACK
    advertise: str = LOOPBACK
    budget: int = BUDGET
    drain_s: float = DRAIN_S
    verbose: int = 0
    quiet: bool = False  # say nothing at the end
    metrics: int | None = None  # the port for Prometheus on loopback
    tls: Inbound | None = None  # what listeners speak TLS by
