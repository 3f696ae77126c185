"""The traffic of a registry inside TLS teaches its schemas where the keys are known, and nothing where they are not."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.serializers.test_recorded_values import assert_values_are_what_was_sent, capture_of, shown
from tests.tls.wrapping import pcapng_of, segments_of, wrap


@pytest.mark.parametrize(
    "name",
    ["confluent-json", *(pytest.param(name, marks=pytest.mark.long) for name in ("confluent-avro", "apicurio-3-avro"))],
)
def test_answers_inside_tls_are_read_with_a_key_log(name: str, tmp_path: Path) -> None:
    wrapped = wrap(segments_of(Path(capture_of(name))))
    keys, capture = tmp_path / "a.keys", tmp_path / "a.pcapng"
    keys.write_bytes(wrapped.key_log)
    capture.write_bytes(pcapng_of(wrapped.segments))
    assert_values_are_what_was_sent(name, shown(str(capture), "--keylog", str(keys)), {"capture"})
    capture.write_bytes(pcapng_of(wrapped.segments, [wrapped.key_log]))
    assert_values_are_what_was_sent(name, shown(str(capture)), {"capture"})
    capture.write_bytes(pcapng_of(wrapped.segments))
    assert shown(str(capture)) == {}
