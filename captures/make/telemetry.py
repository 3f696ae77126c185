"""telemetry.pcapng: two consumers, of librdkafka and of Java, pushing their metrics (KIP-714), in zstd."""

from __future__ import annotations

from captures.make.stage import record
from tests.broker.options import Options
from tests.broker.plays_more import telemetry

if __name__ == "__main__":
    options = Options(first_port=9092, telemetry=True)
    record("telemetry.pcapng", options, telemetry, listeners=("PLAINTEXT",), from_start=False)
