"""Neither metrics nor spans have keys, values and schemas; neither they nor errors have credentials of a registry."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from decoders import Record
from kwcli.run_environment import Environment
from tests.cli.worlds import kw, world
from tests.net.test_schema_registry import registry
from tests.reading.captures_with_values import HandMadeCapture, prefixed
from tests.serializers.test_recorded_values import RECORDINGS, capture_of, written
from tests.telemetry.test_exchange_metrics import counted, told
from tests.telemetry.test_otlp import Collector, collector

__all__ = ["collector"]

USER, PASSWORD, TOKEN = "kim-of-shop", "s3cr3t-w0rd", "t0ken-0f-kim"


def texts(value: Any) -> Iterator[str]:
    """The texts in a JSON value, without the names of members, which may be words of every protocol."""
    if isinstance(value, dict | list):
        for each in value.values() if isinstance(value, dict) else value:
            yield from texts(each)
    elif isinstance(value, str) and len(value) > 3 and any(map(str.isalpha, value)):
        yield value


def leaked(name: str, text: str) -> set[str]:
    """What a text says of the values and schemas of a recording."""
    rows = written(name)
    said = {
        each
        for row in rows["records"]
        for field in ("key", "value")
        for each in texts(row[field] and row[field]["value"])
    }
    schemas = {form for row in rows["schemas"] for form in (row["schema"], json.dumps(row["schema"])[1:-1])}
    return {each for each in said | schemas if each in text}


def some(names: list[str]) -> list[object]:
    return [*names[:1], *(pytest.param(each, marks=pytest.mark.long) for each in names[1:])]


@pytest.mark.parametrize("name", some([name for name in RECORDINGS if "json" not in name]))
def test_spans_and_metrics_have_no_values(name: str, collector: Collector) -> None:
    run = kw("sniff", capture_of(name), "--records", "-v", "-o", "ndjson", "--otlp", collector.url)
    assert leaked(name, run.out)
    assert collector.spans()
    assert collector.metrics
    for request in (*collector.traces, *collector.metrics):
        assert leaked(name, str(request)) == set()
    assert leaked(name, str(told(counted(f"values/{name}.pcapng.zst")))) == set()


@pytest.mark.parametrize(
    "properties",
    [
        [f"schema.registry.url=http://{USER}:{PASSWORD}@PLACE"],
        ["schema.registry.url=http://PLACE", f"basic.auth.user.info={USER}:{PASSWORD}"],
        ["schema.registry.url=http://PLACE", f"bearer.auth.token={TOKEN}"],
    ],
    ids=["address", "basic", "bearer"],
)
@pytest.mark.parametrize("status", [401, 404, 500])
def test_credentials_of_a_registry_are_nowhere(
    properties: list[str], status: int, collector: Collector, tmp_path: Path
) -> None:
    capture = HandMadeCapture().produce("orders", Record(0, 5, None, prefixed(17)), Record(1, 5, None, prefixed(99)))
    name = capture.write(tmp_path / "a.pcap")
    with registry({}, status=status) as double:
        place = double.url.removeprefix("http://")
        words = [word for each in properties for word in ("-X", each.replace("PLACE", place))]
        for form in ("text", "ndjson", "csv"):
            run = kw("sniff", name, "--records" if form != "csv" else "-v", "-o", form, "--otlp", collector.url, *words,
                     *(["--columns", "value_decoded"] if form == "csv" else []), env=_home(tmp_path))  # fmt: skip
            said = run.out + run.err + "".join(map(str, (*collector.traces, *collector.metrics)))
            assert not [each for each in (USER, PASSWORD, TOKEN) if each in said]
            assert "schema" in run.err
    assert all(header for _, header in double.asked)
    assert len(double.asked) >= 3


def _home(folder: Path) -> Environment:
    return world(variables={"XDG_CACHE_HOME": str(folder), "HOME": str(folder)})
