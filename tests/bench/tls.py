"""`python -m tests.bench.tls`: decryption alone in MB/s of a core, and kw against tshark with the same key log.

The captures are those of tests/bench/traffic.py, wrapped in TLS by OpenSSL: `big` has records of 16 kB. The figure to
reach is 250 MB/s of ciphertext, and no more CPU than tshark's. Needs tshark on the PATH for the second part.
"""

from __future__ import annotations

import argparse
import shutil
import ssl
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path
from time import process_time

from decoders.tcp.reassembly import Reassembly
from decoders.tcp.stream_chunks import Chunk, Segment
from decoders.tls.decrypt_chunks import Decryption
from tests.bench import traffic
from tests.bench.process import best
from tests.bench.sniff import FIELDS
from tests.tls.conversations import keys_of
from tests.tls.wrapping import Wrapped, pcapng_of, segments_of, wrap

AIM = 250
BATCH = 500
KW = [sys.executable, "-m", "kwcli.main", "sniff", "-o", "text"]
PROTOCOLS: dict[str, tuple[ssl.TLSVersion, str]] = {
    "TLS 1.3 AES-256-GCM": (ssl.TLSVersion.TLSv1_3, ""),
    "TLS 1.2 AES-128-GCM": (ssl.TLSVersion.TLSv1_2, "ECDHE-ECDSA-AES128-GCM-SHA256"),
    "TLS 1.2 ChaCha20": (ssl.TLSVersion.TLSv1_2, "ECDHE-ECDSA-CHACHA20-POLY1305"),
    "TLS 1.2 AES-256-CBC-SHA": (ssl.TLSVersion.TLSv1_2, "ECDHE-ECDSA-AES256-SHA"),
}


def batches(segments: list[Segment]) -> Iterable[list[Chunk]]:
    """The chunks of segments, as an engine gets them."""
    stage = Reassembly()
    for at in range(0, len(segments), BATCH):
        yield stage.feed(segments[at : at + BATCH])


def speed(made: Wrapped, runs: int) -> float:
    """MB of ciphertext a second."""
    size = sum(len(segment[6]) for segment in made.segments)
    least = float("inf")
    for _ in range(runs):
        stage = Decryption(keys_of(made.key_log))
        chunks = list(batches(made.segments))
        begun = process_time()
        for batch in chunks:
            stage.feed(batch)
        least = min(least, process_time() - begun)
    return size / least / 1e6


def compare(path: Path, keys: Path, runs: int) -> None:
    """CPU seconds of both programs on the same capture."""
    ours = best([*KW, "--keylog", str(keys), str(path)], runs=runs)
    ports = ("-d", f"tcp.port=={traffic.PORT},tls", "-d", f"tls.port=={traffic.PORT},kafka")
    words = ("-o", f"tls.keylog_file:{keys}", "-T", "fields", *(word for name in FIELDS for word in ("-e", name)))
    theirs = best(["tshark", *ports, *words, "-r", str(path)], runs=runs)
    print(f"  kw {ours.cpu_s:.2f} s CPU, tshark {theirs.cpu_s:.2f} s CPU: {theirs.cpu_s / ours.cpu_s:.1f}x (aim 1x)")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", type=int, default=20, metavar="MB")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--profile", action="append", choices=("small", "mixed", "big"))
    options = parser.parse_args()
    slow = False
    with tempfile.TemporaryDirectory(prefix="kw-bench-") as folder:
        for profile in options.profile or ["big", "small"]:
            plain = Path(folder) / "plain.pcap"
            traffic.write(profile, plain, options.size << 20)
            segments = segments_of(plain)
            for name, (version, ciphers) in PROTOCOLS.items():
                made = wrap(segments, version=version, ciphers=ciphers)
                found = speed(made, options.runs)
                slow = slow or (profile == "big" and name.endswith("GCM") and found < AIM)
                print(f"{profile} {name}: {found:,.0f} MB/s (aim {AIM})")
                if shutil.which("tshark"):
                    path, keys = Path(folder) / "tls.pcapng", Path(folder) / "keys"
                    path.write_bytes(pcapng_of(made.segments))
                    keys.write_bytes(made.key_log)
                    compare(path, keys, options.runs)
    return int(slow)


if __name__ == "__main__":
    sys.exit(main())
