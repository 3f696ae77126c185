"""A client through `kw proxy --as-kafka`, and the requests that it sent."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from decoders.protocol_facts.guess_release_from_offered_versions import stable_versions_of_release
from decoders.schema.api_declaration import Versions
from tests.broker.clients.session import LongSession, Step
from tests.proxy.hidden import ROOT, ProxyProcess, port_base

ASKING: Final = 18  # ApiVersions


def rows(*words: str) -> list[dict[str, Any]]:
    """The rows that `kw WORDS…` prints, whatever its exit code."""
    done = subprocess.run(
        [sys.executable, "-m", "kwcli.main", *words, "-o", "ndjson", "-q"],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        check=False,
    )
    return [json.loads(line) for line in done.stdout.splitlines()]


def offered(bootstrap: str) -> dict[int, Versions]:
    """The versions in the ApiVersions answer of a broker, or of a proxy in front of it."""
    (row,) = rows("call", "ApiVersions", "-b", bootstrap)
    return {each["api_key"]: Versions(each["min_version"], each["max_version"]) for each in row["response"]["api_keys"]}


def used(capture: Path) -> dict[int, set[int]]:
    """The versions of requests in a capture, by API key."""
    found: dict[int, set[int]] = defaultdict(set)
    for row in rows("sniff", str(capture)):
        if row["kind"] == "exchange":
            found[row["api_key"]].add(row["api_version"])
    return dict(found)


def work(client: LongSession, bootstrap: str, topic: str) -> None:
    """Let a client create a topic, write to it, and read it in a group."""
    steps: list[Step] = [
        ("create", {"topics": {topic: 2}}),
        ("produce", {"topic": topic, "count": 20}),
        ("consume", {"topics": [topic], "group": topic, "count": 20}),
    ]
    assert len(client.work(bootstrap, steps)[-1]["result"]) == 20


@contextmanager
def lasting(client: str) -> Iterator[LongSession]:
    """A client process that is started once for several plays."""
    session = LongSession(client)
    try:
        yield session
    finally:
        session.end()


def work_as(release: str, client: LongSession, bootstrap: str, folder: Path) -> tuple[dict[int, set[int]], str]:
    """Let a client work through a proxy as this release; gives the versions it used and the proxy's messages."""
    capture = folder / "kept.pcapng"
    with ProxyProcess(["-b", bootstrap, "--as-kafka", release, "-w", str(capture)], port_base(1)) as proxy:
        work(client, proxy.bootstrap, f"{client.client}-{release}")
    assert f"clients are served as by Kafka {release}" in proxy.said
    assert "could not work" not in proxy.said
    found = used(capture)
    assert len(found) > 5
    assert strange(found, stable_versions_of_release(release)) <= {ASKING}  # ApiVersions is answered, in version 0
    assert [row["verdict"] for row in rows("audit", str(capture), "--target", release)].count("breaks") == 0
    return found, proxy.said


def strange(found: Mapping[int, set[int]], served: Mapping[int, Versions]) -> set[int]:
    """The APIs that were requested in versions that are not served."""
    return {key for key, versions in found.items() if any(key not in served or v not in served[key] for v in versions)}
