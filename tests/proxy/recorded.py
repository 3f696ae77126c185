"""A proxy's log and capture, compared: both have the same exchanges, and every address in them is a listener's."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from tests.proxy.hidden import ROOT
from tests.proxy.log.played import records

__all__ = ["node_endpoints", "problems"]

Listeners = Mapping[int, tuple[str, int]]
_SHOWN: Final = 3
# Answers with the text of `advertised.listeners`, which no client connects to.
_CONFIGS: Final = "DescribeConfigs"


def problems(out: Path, capture: Path, said: str, listeners: Listeners) -> tuple[str, list[str]]:
    """A summary and the problems, from the log (NDJSON), the capture and the last lines of a proxy."""
    rows = records(out.read_bytes())
    found = _differences(rows, records(_sniffed(capture)))
    exchanges = sum(row["kind"] == "exchange" for row in rows)
    if f"{exchanges:,} exchanges, " not in said or "left out" in said:
        found.append(f"{exchanges} exchanges were logged, but the proxy said {said.splitlines()[-1:]}")
    named = (row for row in rows if row.get("api") != _CONFIGS and ".invalid" in json.dumps(row))
    found += [f"a broker's own name in {row['api']}: {row['response']}" for row in named][:_SHOWN]
    told, wrong = node_endpoints(rows, listeners)
    counted = ", ".join(f"{count} of {api}" for api, count in sorted(told.items())) or "none"
    return f"{exchanges} exchanges logged and kept; NodeEndpoints: {counted}", found + wrong


def node_endpoints(rows: list[dict[str, Any]], listeners: Listeners) -> tuple[Counter[str], list[str]]:
    """The number of responses with endpoints of nodes by API, and the endpoints that are no listener's."""
    told: Counter[str] = Counter()
    wrong = []
    for row in rows:
        response = row.get("response")
        endpoints = response.get("node_endpoints") if isinstance(response, dict) else None
        if endpoints:
            told[row["api"]] += 1
            for each in endpoints:
                if listeners.get(each["node_id"]) != (each["host"], each["port"]):
                    wrong.append(f"{row['api']} tells of {each}")
    return told, wrong[:_SHOWN]


def _sniffed(capture: Path) -> bytes:
    command = [sys.executable, "-m", "kwcli.main", "sniff", str(capture), "-o", "ndjson", "-q"]
    return subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE).stdout


def _differences(logged: list[dict[str, Any]], kept: list[dict[str, Any]]) -> list[str]:
    """Rows that only one of the two has."""
    one, other = (Counter(json.dumps(row, sort_keys=True) for row in rows) for rows in (logged, kept))
    found = []
    for name, more in (("log", one - other), ("capture", other - one)):
        if more:
            found.append(f"{more.total()} rows are only in the {name}: {next(iter(more))[:600]}")
    return found
