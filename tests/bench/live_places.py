"""Four places that give 10,000 packets a second together: none is lost, and memory stays bounded.

`python -m tests.bench.live_places [SECONDS]` (60 without a word) starts `kw sniff` with four commands of `--on`.
Each writes a conversation at the speed of a capture. It prints exchanges, CPU time and the most memory.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import time
from struct import pack
from typing import Final

import decoders
from tests.capture.frames import ethernet, ipv4, tcp

PLACES: Final = 4
PACKETS_PER_S: Final = 2_500  # of one place
TICK_S: Final = 0.05
PCAP: Final = pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 1 << 18, 1)
API_VERSIONS: Final = 18
MEMORY_MAX: Final = 256 << 20


def write_place(place: int, seconds: float) -> None:
    """Write the capture of a place as its packets come: requests and answers of one connection."""
    out = sys.stdout.buffer
    out.write(PCAP)
    client, broker = (f"10.0.{place}.1", 40_000), ("10.0.9.9", 9092)
    seq, ack, number = 1_000_000 * (place + 1), 500_000_000 + place, 0
    begun = time.monotonic()
    while number < PACKETS_PER_S * seconds / 2:
        made: list[bytes] = []
        due = min((time.monotonic() - begun), seconds) * PACKETS_PER_S / 2
        while number < due:
            number += 1
            frame = decoders.encode_request(API_VERSIONS, 0, {}, correlation_id=number, client_id="c")
            request, response = pack(">I", len(frame)) + frame, pack(">IihI", 10, number, 0, 0)
            for one, other, numbers, payload in (
                (client, broker, (seq, ack), request),
                (broker, client, (ack, seq + len(request)), response),
            ):
                packet = ethernet(ipv4(one[0], other[0], tcp(one[1], other[1], *numbers, 24, payload)))
                made.append(pack("<IIII", *divmod(time.time_ns(), 10**9), len(packet), len(packet)) + packet)
            seq, ack = seq + len(request), ack + len(response)
        out.write(b"".join(made))
        out.flush()
        time.sleep(TICK_S)


def main(seconds: float) -> int:
    """Run it; 1 where an exchange is missing or memory was not bounded."""
    words = [sys.executable, "-m", "kwcli", "sniff", "-o", "ndjson"]
    for place in range(PLACES):
        words += ["--on", f"b{place}={sys.executable} -m tests.bench.live_places place {place} {seconds}"]
    with subprocess.Popen(words, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        found = sum(b'"status":"complete"' in line for line in process.stdout)
    used = resource.getrusage(resource.RUSAGE_CHILDREN)  # of kw, and of the places that it has waited for
    expected = PLACES * int(PACKETS_PER_S * seconds / 2)
    print(
        f"{found:,} of {expected:,} exchanges, {used.ru_utime + used.ru_stime:.1f} s of CPU, {used.ru_maxrss >> 10} MiB"
    )
    return int(found != expected or used.ru_maxrss << 10 > MEMORY_MAX)


if __name__ == "__main__":
    if sys.argv[1:2] == ["place"]:
        write_place(int(sys.argv[2]), float(sys.argv[3]))
    else:
        sys.exit(main(float(sys.argv[1]) if len(sys.argv) > 1 else 60.0))
