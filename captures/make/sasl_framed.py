"""sasl-framed.pcapng: PLAIN, SCRAM and OAUTHBEARER in SaslAuthenticate, six families, wrong passwords."""

from __future__ import annotations

from captures.make.stage import record
from tests.broker.options import Options
from tests.broker.plays import authenticate

if __name__ == "__main__":
    listeners = ("PLAINTEXT", "SASL_PLAINTEXT")
    options = Options(first_port=9092, listeners=listeners)
    record("sasl-framed.pcapng", options, authenticate, listeners=listeners[1:], from_start=False)
