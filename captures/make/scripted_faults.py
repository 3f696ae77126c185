"""faults/<finding>.pcap.zst: scripted conversations, one capture a finding."""

from __future__ import annotations

import sys
from typing import Final

from captures.make.stage import FOLDER
from decoders.records.codecs import deflate
from tests.analysis.scenes import Scene
from tests.analysis.test_doctor import SCENES
from tests.tls.wrapping import pcapng_of

# The findings of which a capture is written: that of their first row in SCENES.
WRITTEN: Final = (
    *(
        "answer-odd",
        "answers-misplaced",
        "lz4-refused",
        "login-expired",
        "login-missing",
        "not-kafka",
        "plaintext-to-tls",
        "request-closed",
    ),
    *("commit-lost", "timestamp-refused"),
    *("request-odd", "tls-to-plaintext", "versions-closed"),
    *("broker-back", "broker-gone", "busiest-client", "fetch-loop", "fetch-sessions-unused", "poll-stopped"),
)


def make(finding: str, scene: Scene) -> None:
    """Write the capture of one finding."""
    data = pcapng_of(scene.segments())
    (FOLDER / "faults" / f"{finding}.pcap.zst").write_bytes(deflate("zstd", data))


if __name__ == "__main__":
    scenes = {finding: scene for finding, scene, _, _ in reversed(SCENES)}
    for name in sys.argv[1:] or WRITTEN:
        make(name, scenes[name])
