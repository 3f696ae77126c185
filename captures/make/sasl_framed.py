"""sasl-framed.pcapng: PLAIN, SCRAM and OAUTHBEARER in SaslAuthenticate, six families, wrong passwords."""

from __future__ import annotations

from captures.make.stage import record
from tests.broker.options import Options
from tests.broker.plays import authenticate

if __name__ == "__main__":
    options = Options(first_port=9092, listeners=("PLAINTEXT", "SASL_PLAINTEXT"))
    record("sasl-framed.pcapng", options, authenticate, listeners=["SASL_PLAINTEXT"], from_start=False)
