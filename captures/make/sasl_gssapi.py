"""sasl-gssapi.pcap.gz: Kerberos: a bare token opens the connection (0.9), behind a handshake (0.10), framed (2.8)."""

from __future__ import annotations

from functools import partial

from captures.make.stage import record
from tests.broker.options import Options
from tests.broker.plays_more import kerberos

if __name__ == "__main__":
    options = Options(version="3.9.1", first_port=9092, listeners=("PLAINTEXT", "SASL_PLAINTEXT"), kerberos=True)
    clients = ("java-0.9.0.1", "java-0.10.2.2", "java-2.8.2")
    play = partial(kerberos, clients=clients)
    record("sasl-gssapi.pcap.gz", options, play, listeners=["SASL_PLAINTEXT"], from_start=False)
