"""Kafka Streams inside this process (JPype): a topology that copies one topic to another."""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Callable
from typing import Any

import jpype  # type: ignore[import-untyped]  # it has no types

from tests.broker.clients import steps
from tests.broker.jars import download_jars

_BYTES = "org.apache.kafka.common.serialization.Serdes$ByteArraySerde"


def copy(
    bootstrap: str,
    properties: dict[str, str],
    *,
    source: str,
    target: str,
    id: str,
    protocol: str,
    seconds: float,
) -> str:
    """Run the topology for some seconds; gives the state that it was in."""
    builder = jpype.JClass("org.apache.kafka.streams.StreamsBuilder")()
    builder.stream(source).to(target)
    with tempfile.TemporaryDirectory(prefix="kw-streams-") as scratch:
        settings = {
            "application.id": id,
            "bootstrap.servers": bootstrap,
            "group.protocol": protocol,
            "default.key.serde": _BYTES,
            "default.value.serde": _BYTES,
            "state.dir": scratch,
            "commit.interval.ms": "1000",
            "auto.offset.reset": "earliest",
            **properties,
        }
        values = jpype.JClass("java.util.Properties")()
        for key, value in settings.items():
            values.put(key, value)
        app = jpype.JClass("org.apache.kafka.streams.KafkaStreams")(builder.build(), values)
        app.start()
        time.sleep(seconds)
        state = str(app.state())
        app.close()
    return state


FUNCTIONS: dict[str, Callable[..., Any]] = {"copy": copy}

if __name__ == "__main__":
    version = sys.argv[3]
    jars = download_jars(f"streams-{version}", (f"org.apache.kafka:kafka-streams:{version}",))
    jpype.startJVM("-Xmx256m", "-XX:+UseSerialGC", classpath=[str(jar) for jar in jars])
    sys.exit(steps.main(FUNCTIONS, sys.argv[1:]))
