"""sasl-raw.pcap: SaslHandshake v0 and bare tokens, Java 0.10.2 and 0.11, PLAIN and SCRAM, wrong passwords."""

from __future__ import annotations

from captures.make.stage import record
from tests.broker.options import Options
from tests.broker.plays import authenticate_raw

if __name__ == "__main__":
    options = Options(version="3.9.1", first_port=9092, listeners=("PLAINTEXT", "SASL_PLAINTEXT"))
    record("sasl-raw.pcap", options, authenticate_raw, listeners=["SASL_PLAINTEXT"], from_start=False)
