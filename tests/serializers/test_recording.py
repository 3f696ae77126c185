"""Each scene is played again where its programs are, and its values are what was sent."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.broker.fixture import needs_brokers
from tests.serializers.test_recorded_values import RECORDINGS, assert_values_are_what_was_sent, capture_of, shown

_PACKAGES = ("fastavro", "httpx2", "grpc_tools", "authlib", "jpype")
_LACKING = [name for name in _PACKAGES if find_spec(name) is None]

pytestmark = [
    pytest.mark.full,
    needs_brokers,
    pytest.mark.skipif(bool(_LACKING), reason=f"needs {_LACKING}: confluent-kafka[avro,json,protobuf], grpcio-tools"),
]


@pytest.mark.parametrize("name", RECORDINGS)
def test_scenes_are_recorded_and_decoded(name: str, tmp_path: Path) -> None:
    from tests.serializers.record_scenes import record_scene
    from tests.serializers.scenes import SCENES

    assert set(RECORDINGS) == set(SCENES)
    record_scene(SCENES[name], tmp_path / f"{name}.pcapng.zst")
    assert_values_are_what_was_sent(name, shown(capture_of(name, tmp_path)), {"capture"}, folder=tmp_path)
