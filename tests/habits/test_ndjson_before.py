"""`-o ndjson` of every shipped capture is as it was in 0.1.0, without the keys that have come since.

`ndjson_before.json` has the first eight digits of the SHA-256 of every line, without those keys. It is written by
`python -m tests.habits.test_ndjson_before`, to be run with the version to compare with.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any, Final

import pytest

from decoders.embedded import encode_embedded_from_json
from decoders.schema.body_json_form import json_bytes
from tests.captures.shipped import CLEAN, FOLDER, NEGATIVE
from tests.cli.worlds import kw

MEASURE: Final = Path(__file__).with_name("ndjson_before.json")
NAMES: Final = [*CLEAN, *NEGATIVE]
# Keys of the record that are only present if they have a value.
SINCE: Final = ("client_software", "user", "mechanism", "sasl", "group", "transaction", "node", "library")


def old_form(line: str) -> str:
    """A line without what has come since: `expected` of an error, the keys of SINCE, the details of TLS.

    The user data of assignors, the principal of an Envelope and the metrics of clients become bytes, as they were.
    """
    row: dict[str, Any] = json.loads(line, object_hook=old_bytes)
    if row.get("reason") == "tls":
        del row["detail"]
    for name in SINCE:
        row.pop(name, None)
    row.get("fetch_session", {}).pop("partitions", None)
    for error in row.get("errors", ()):
        error.pop("expected", None)
    return json.dumps(row)


def old_bytes(value: dict[str, Any]) -> dict[str, Any]:
    """An object with user_data, request_principal and metrics as bytes."""
    for field in ("user_data", "request_principal", "metrics"):
        held = value.get(field)
        if isinstance(held, dict) and "$type" in held:
            value[field] = json_bytes(encode_embedded_from_json(held, ""))
    return value


def digests(name: str) -> list[str]:
    """A digest of each line for a capture, in order; lines of requests inside Envelopes are left out."""
    outcome = kw("sniff", str(FOLDER / name), "-o", "ndjson")
    lines = [line for line in outcome.out.splitlines() if "envelope" not in json.loads(line)]
    return [hashlib.sha256(old_form(line).encode()).hexdigest()[:8] for line in lines]


@pytest.mark.long
@pytest.mark.one_in(3)
@pytest.mark.parametrize("name", NAMES)
def test_every_line_is_as_before(name: str) -> None:
    if name == "telemetry.pcapng":
        pytest.importorskip("opentelemetry.proto", reason="opentelemetry-proto is missing")
    before = json.loads(MEASURE.read_text())[name]
    now = digests(name)
    assert [at for at, (one, other) in enumerate(zip(before, now, strict=True), 1) if one != other] == []


def test_all_captures_are_measured() -> None:
    measured = json.loads(MEASURE.read_text())
    assert sorted(measured) == sorted(NAMES)
    assert sum(map(len, measured.values())) > 1000


if __name__ == "__main__":
    MEASURE.write_text(json.dumps({name: digests(name) for name in NAMES}) + "\n")
