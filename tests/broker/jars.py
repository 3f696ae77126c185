"""Maven coordinates in, jar files out, for tests only: clients of every release, a telemetry reporter."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Final

from kwcli.playground.download_jars import (
    BROKERS,
    Missing,
    download_jars,
    explain_missing_tools,
    find_broker_jars,
    find_jar_cache_folder,
)

__all__ = [
    "BROKERS",
    "OLD_BROKERS",
    "Missing",
    "client_jars",
    "coordinator_jars",
    "download_jars",
    "explain_missing_tools",
    "find_broker_jars",
    "find_jar_cache_folder",
    "member_jars",
    "old_broker_jars",
    "telemetry_classes",
    "tls_agent",
    "tool_jars",
]

# The SCRAM code of 0.10 and 0.11 uses a class that Java 11 dropped; OAUTHBEARER needs Jackson from 2.x on.
CLIENT_EXTRAS: Final = ("javax.xml.bind:jaxb-api:2.3.1", "com.fasterxml.jackson.core:jackson-databind:2.17.2")

# Brokers of old releases, which need ZooKeeper, with the jars that Java 17 lacks and that they do not name themselves.
OLD_BROKERS: Final = {
    version: (f"org.apache.kafka:kafka_{scala}:{version}", "org.slf4j:slf4j-log4j12:1.7.30", CLIENT_EXTRAS[0])
    for scala, version in (("2.11", "0.10.2.2"), ("2.11", "1.1.1"), ("2.13", "2.8.2"))
}

_AGENT: Final = "name.neykov:extract-tls-secrets:4.0.0"


def old_broker_jars(version: str) -> list[Path]:
    """All jars of a broker in OLD_BROKERS, including ZooKeeper's."""
    return download_jars(f"kafka-{version}", OLD_BROKERS[version])


def client_jars(version: str) -> list[Path]:
    """All jars of the Java client of this release (`kafka-clients`), silent logging."""
    return download_jars(f"clients-{version}", (f"org.apache.kafka:kafka-clients:{version}", *CLIENT_EXTRAS))


def coordinator_jars(version: str) -> list[Path]:
    """The jars with the structures of internal topics and of brokers' files, and the client's."""
    names = (
        *("group-coordinator", "transaction-coordinator", "share-coordinator", "metadata", "storage", "raft"),
        "clients",
    )
    wanted = [f"org.apache.kafka:kafka-{name}:{version}" for name in names]
    return download_jars(f"coordinators-{version}", (*wanted, *CLIENT_EXTRAS))


def member_jars(version: str) -> list[Path]:
    """The jars of members of groups: Streams, Connect, and the client with its assignors."""
    wanted = [f"org.apache.kafka:{name}:{version}" for name in ("kafka-streams", "connect-runtime", "kafka-clients")]
    return download_jars(f"members-{version}", (*wanted, *CLIENT_EXTRAS))


def tool_jars(version: str) -> list[Path]:
    """The jars of Kafka's command-line tools of this release (such as `kafka-consumer-groups`)."""
    return download_jars(f"tools-{version}", (f"org.apache.kafka:kafka-tools:{version}",))


def telemetry_classes(version: str) -> Path:
    """The folder with the compiled metrics reporter that makes a broker of this release offer telemetry."""
    source = Path(__file__).parent / "telemetry" / "Telemetry.java"
    folder = find_jar_cache_folder() / f"telemetry-{version}"
    if not (folder / "Telemetry.class").exists():
        jars = ":".join(map(str, find_broker_jars(version)))
        subprocess.run(["javac", "-cp", jars, "-d", str(folder), str(source)], check=True, capture_output=True)
    return folder


def tls_agent() -> Path:
    """The jar of the agent that writes the keys of a Java program's TLS connections, without its dependencies.

    Raises Missing if Maven cannot fetch it.
    """
    folder = find_jar_cache_folder() / "tls-agent"
    jar = folder / f"{_AGENT.split(':')[1]}-{_AGENT.split(':')[2]}.jar"
    if not jar.exists():
        command = ["mvn", "-q", "-B", "dependency:copy", f"-Dartifact={_AGENT}", f"-DoutputDirectory={folder}"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise Missing(f"Maven could not fetch {_AGENT}: {done.stdout.strip()[-500:]}")
    return jar
