"""No form is claimed for keys and values that do not have it: healthy captures, and by hand what each of them holds."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from typing import Any, Final

import pytest

from tests.captures.shipped import CLEAN, FOLDER
from tests.cli.worlds import kw

# The orders of a shop, which programs of `tests/broker/clients` write as JSON. All other values are texts, numbers,
# bytes without a form, and Kafka's own structures.
_JSON: Final = frozenset(
    [
        *("first-steps.pcapng", "old-clients.pcap.gz", "sasl-framed.pcapng", "sasl-gssapi.pcap.gz", "sasl-raw.pcap"),
        *("share-groups.pcapng", "telemetry.pcapng", "three-nodes.pcapng.zst", "tour.pcapng"),
        *("zookeeper-cluster.pcap.gz", "incidents/client-of-2016.pcap.zst"),
    ]
)
_HEALTHY: Final = CLEAN + sorted(
    f"{folder}/{file.name}" for folder in ("faults", "incidents") for file in (FOLDER / folder).glob("*.pcap*")
)


def records_in(value: Any) -> Iterator[dict[str, Any]]:
    """The records in the JSON form of an exchange."""
    if isinstance(value, dict):
        if "offset" in value and "headers" in value:
            yield value
        else:
            for each in value.values():
                yield from records_in(each)
    elif isinstance(value, list):
        for each in value:
            yield from records_in(each)


@pytest.mark.one_in(25)
@pytest.mark.parametrize("name", _HEALTHY)
def test_no_wrong_form_is_claimed(name: str) -> None:
    found: Counter[str] = Counter()
    for line in kw("sniff", str(FOLDER / name), "--records", "-o", "ndjson").out.splitlines():
        for record in records_in(json.loads(line)):
            for field in ("key", "value"):
                said = record.get(f"{field}_decoded")
                if said is not None:
                    found[said["format"]] += 1
                    assert field == "value"
                    assert said["value"].keys() >= {"order", "amount", "note"}
                    assert not {"guessed", "error", "missing_schema"} & said.keys()
    assert set(found) == ({"json"} if name in _JSON else set())


def test_there_are_enough_healthy_captures() -> None:
    assert len(_HEALTHY) >= 45
    assert set(_HEALTHY) >= _JSON
