"""faults/proxy-head-refused.pcap.zst: a load balancer puts a PROXY head before the stream, the broker closes."""

from __future__ import annotations

from random import Random

from captures.make.stage import FOLDER
from decoders.records.codecs import deflate
from tests.exchanges.prefixes import FOUR, proxy_2
from tests.exchanges.talks import request, segments
from tests.tls.wrapping import pcapng_of


def make() -> None:
    """Write the capture: three connections, each closed by the broker after a head and an ApiVersions request."""
    every = []
    for number in range(3):
        asked = request(18, 3, 1, "app-1", {"client_software_name": "apache-kafka-java"})
        every += segments([(True, proxy_2(1, 0x11, FOUR)), (True, asked)], Random(number), port=50000 + number)
    data = pcapng_of(every)
    (FOLDER / "faults" / "proxy-head-refused.pcap.zst").write_bytes(deflate("zstd", data))


if __name__ == "__main__":
    make()
