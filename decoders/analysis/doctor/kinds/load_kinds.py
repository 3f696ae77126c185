"""Findings about limits, load, and published advisories. A literal table."""

from __future__ import annotations

from typing import Final

from decoders.analysis.doctor.kinds.finding_kind import ERROR, NOTE, WARNING, FindingKind

__all__ = ["LOAD_KINDS"]

LOAD_KINDS: Final[dict[str, FindingKind]] = {
    # Limits and load.
    "throttled": FindingKind(
        WARNING,
        "{broker} throttles {client}{waits}{shared}",
        "{why}",
        "{remedy}",
    ),
    "metadata-storm": FindingKind(
        WARNING,
        "{client} asks for metadata {rate} times a second",
        "{why}",
        "{remedy}",
    ),
    # What published advisories are about (protocol_facts/advisories.py): it may happen, or somebody tries.
    "header-tags": FindingKind(
        ERROR,
        "{client} declares {tags} tagged fields in the header of {api} to {broker}",
        "no request header has a tagged field: likely an attack on the memory of the broker (CVE-2026-111115), or a"
        " test with random bytes",
        "find the program at this address and stop it; run a broker that bounds them: kw help advisories",
    ),
    "array-beyond-frame": FindingKind(
        WARNING,
        "{client} declares {elements} elements of {path} in {api} to {broker}, in a request of {size}",
        "a broker without a bound allocates memory for them (CVE-2026-111108): likely an attack, a test with random"
        " bytes, or a client with a fault",
        "find the program and stop it; run a broker that bounds them: kw help advisories",
    ),
    "telemetry-unpacked": FindingKind(
        ERROR,
        "metrics that {client} pushes to {broker}, {size}, unpack to more than {most}",
        "no client has so many metrics: likely an attack on the memory of the broker (CVE-2026-111073)",
        "find the program and stop it; run a broker that bounds them: kw help advisories",
    ),
    "replica-claimed": FindingKind(
        WARNING,
        "{client} fetches from {broker} as replica {node_id}",
        "only brokers fetch as replicas, and its client id is none of theirs: likely a tool that copies logs, or an"
        " attempt to read what consumers may not see yet, and to move high watermarks (CVE-2018-1288)",
        "find the program; allow CLUSTER_ACTION to brokers alone",
    ),
    "jndi-login-module": FindingKind(
        ERROR,
        "{client} sets JndiLoginModule in configs of {broker}: {names}",
        "the module loads objects from the address in the config: an attempt to run foreign code (CVE-2025-27819)",
        "find the program and its user, take ALTER_CONFIGS from it, and look at what brokers below 3.4 have loaded",
    ),
    "ldap-login-module": FindingKind(
        ERROR,
        "{client} sets LdapLoginModule in configs of {broker}: {names}",
        "the module loads objects from the address in the config: an attempt to run foreign code (CVE-2025-27818)",
        "find the program and its user, take ALTER_CONFIGS from it, and look at what brokers below 3.9.1 have loaded",
    ),
    "snapshot-fetch-empty": FindingKind(
        WARNING,
        "{client} sends {broker} a FetchSnapshot without partitions",
        "a controller with a defect ends on it (CVE-2026-83525); no broker sends one",
        "find the program; allow CLUSTER_ACTION to brokers alone",
    ),
    "scram-iterations": FindingKind(
        ERROR,
        "{broker} asks {client} for {iterations} iterations of SCRAM",
        "brokers of Kafka ask for 16,384 at most: likely no broker, and an attempt to keep the client busy"
        " (CVE-2026-10143)",
        "find out what answers at this address, and have clients verify certificates; upgrade kafka-python to 2.3.2",
    ),
    "scram-in-clear": FindingKind(
        WARNING,
        "SASL/{mechanism} logins cross to {broker} without TLS",
        "brokers up to 3.8.0 do not compare the nonce (CVE-2024-56128), so that a login can be replayed; this one"
        " {release}",
        "make the listener SASL_SSL and have clients use it; upgrade the broker",
    ),
    "batch-misrouted": FindingKind(
        ERROR,
        "{batches} of {client} for {meant} went to {elsewhere}{also}",
        "{proof}: likely records of one topic in the other (CVE-2026-35554), or a proxy that changes topics",
        "look at the records: kw trace --misrouted; upgrade a Java client to 3.9.2, 4.0.2, 4.1.2 or 4.2.0",
    ),
    "batch-expired": FindingKind(
        WARNING,
        "{batches} of {client} for {topic} turned {age} old while a request with {them} was under way",
        "with delivery.timeout.ms as by default, the producer gives such a batch up; those of Java from 2.8.0 to 4.1.1"
        " may then send other records in its place (CVE-2026-35554), likely without an error",
        "upgrade the client to 3.9.2, 4.0.2, 4.1.2 or 4.2.0; find out why the broker answers so late",
    ),
    **dict.fromkeys(("quota-exceeded", "answered-with-error"), FindingKind(WARNING, "{subject}: {error}{by}{pace}")),
    **dict.fromkeys(("already-there", "switched-off"), FindingKind(NOTE, "{subject}: {error}{by}")),
    "telemetry-refused": FindingKind(NOTE, "{subject}: {error}{by}"),
}
