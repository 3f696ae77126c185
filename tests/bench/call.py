"""`python -m tests.bench.call`: ApiVersions by kw, by kafka-python's command line and by Kafka's own, whole process.

Runs are interleaved, so that a busy machine is busy for all of them, and the best of each counts: noise only ever adds.
Prints each ratio beside its minimum; needs Java 17 and Maven.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

from tests.bench.process import Cost, run
from tests.broker.cluster import Cluster
from tests.broker.jars import download_jars
from tests.broker.options import PASSWORDS, Options

RELEASE = "4.3.1"
TOOLS = (f"org.apache.kafka:kafka-tools:{RELEASE}", "org.slf4j:slf4j-nop:1.7.36")
PYTHON = sys.executable
# The most milliseconds of a run of kw, or that share of kafka-python's time where it is more (a slow machine); and how
# many times slower the others are at least.
MOST_MS = {"kw": (120, 0.5), "kw, TLS and SCRAM": (200, 0.7)}
LEAST = {"kafka-python": 1.4, "Java": 5.0}


def commands(cluster: Cluster) -> Mapping[str, list[str]]:
    """The commands that are compared, by name."""
    plain, secured = cluster.bootstrap(), cluster.bootstrap("SASL_SSL")
    call = [PYTHON, "-m", "kwcli.main", "call", "ApiVersions", "-o", "ndjson", "-b"]
    properties = {
        "security.protocol": "SASL_SSL",
        "ssl.ca.location": str(cluster.folder / "tls" / "ca.pem"),
        "sasl.mechanism": "SCRAM-SHA-512",
        "sasl.username": "alice",
        "sasl.password": PASSWORDS["alice"],
    }
    jars = ":".join(map(str, download_jars(f"tools-{RELEASE}", TOOLS)))
    java = ["java", "-cp", jars, "org.apache.kafka.tools.BrokerApiVersionsCommand", "--bootstrap-server", plain]
    return {
        "kw": [*call, plain],
        "kw, text": [*call, plain, "-o", "text"],
        "kw, TLS and SCRAM": [*call, secured, *(w for pair in properties.items() for w in ("-X", "=".join(pair)))],
        "kafka-python": [PYTHON, "-m", "kafka.admin", "-b", plain, "cluster", "api-versions"],
        "Java": java,
    }


def measure(cluster: Cluster, runs: int, env: dict[str, str]) -> dict[str, list[Cost]]:
    """Run every command in turn, `runs` times, after one run that is not counted."""
    costs: dict[str, list[Cost]] = {}
    for number in range(-1, runs):
        for name, command in commands(cluster).items():
            cost = run(command, env=env)
            if cost.exit_code:
                raise SystemExit(f"{name} ended with {cost.exit_code}: {' '.join(command)}")
            if number >= 0:
                costs.setdefault(name, []).append(cost)
    return costs


def judge(costs: Mapping[str, list[Cost]]) -> bool:
    """Print all figures; returns whether every limit is kept."""
    best = {name: min(cost.wall_s for cost in each) for name, each in costs.items()}
    good = True
    for name, each in costs.items():
        middle, cpu = statistics.median(cost.wall_s for cost in each), min(cost.cpu_s for cost in each)
        line = f"{name:18} best {best[name] * 1000:6.0f} ms, median {middle * 1000:6.0f} ms, CPU {cpu * 1000:6.0f} ms"
        if name in MOST_MS:
            wanted, share = MOST_MS[name]
            most = max(wanted, share * best["kafka-python"] * 1000)
            line += f"   (at most {most:.0f} ms)"
            good = good and best[name] * 1000 <= most
        if name in LEAST:
            ratio = best[name] / best["kw"]
            line += f"   {ratio:.1f}x kw (at least {LEAST[name]:g}x)"
            good = good and ratio >= LEAST[name]
        print(line)
    return good


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=10)
    options = parser.parse_args()
    # All Python programs may write compiled modules, wherever the system allows it.
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    listeners = Options(version=RELEASE, listeners=("PLAINTEXT", "SASL_SSL"), class_archive=True)
    with tempfile.TemporaryDirectory(prefix="kw-bench-") as folder, Cluster(listeners) as cluster:
        good = judge(measure(cluster, options.runs, {"PYTHONPYCACHEPREFIX": str(Path(folder) / "compiled")}))
    print("all as it must be" if good else "not all as it must be")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
