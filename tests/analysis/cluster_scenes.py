"""Scenes of answers that a client does not take, of partitions and nodes that come anew: for test_doctor.py."""

from __future__ import annotations

from typing import Any, Final

from decoders.protocol_facts.api_keys import FETCH, HEARTBEAT
from tests.analysis.scenes import Scene

_BEAT: Final = {"group_id": "billing"}


def broken_off(times: int, *, offset: int = 80, moves: int = 0, size: int = 9000, alone: bool = False) -> Scene:
    """Fetches of one offset (each time `moves` later) on new connections, in whose answers the client closes.

    `alone`: the broker answers nobody else.
    """
    scene = Scene().ask(0, (HEARTBEAT, 3), _BEAT, {}, client="other")
    part = {"partition_index": 0, "error_code": 0, "high_watermark": 900, "records": bytes(size)}
    for number in range(times):
        asked: dict[str, Any] = {"max_wait_ms": 500, "min_bytes": 1, "max_bytes": 999_000}
        at = {"partition": 0, "fetch_offset": offset + moves * number, "partition_max_bytes": 1 << 20}
        asked["topics"] = [{"topic": "photos", "partitions": [at]}]
        answer = {"responses": [{"topic": "photos", "partitions": [part]}]}
        scene.ask(1 + number, (FETCH, 11), asked, answer, client="albums", line=number, refused_at=2000)
    return scene if alone else scene.ask(3.5, (HEARTBEAT, 3), _BEAT, {}, client="other")


CLUSTER_SCENES: Final[list[tuple[str, Scene, str, str]]] = [
    (
        *("answer-too-large", broken_off(5), "error"),
        "albums closes the connection inside of each answer to its Fetch of photos-0 from offset 80 (9.1kB, 5 times)",
    ),
]
CLUSTER_NEAR: Final[list[tuple[str, Scene]]] = [
    ("answer-too-large", broken_off(2)),  # programs end in the middle of an answer
    ("answer-too-large", broken_off(5, moves=1)),
    ("answer-too-large", broken_off(5, alone=True)),  # the broker may have ended
]
