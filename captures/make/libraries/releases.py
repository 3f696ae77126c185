"""Family and release of a client in, the command that runs it out; clients are fetched and built on first use."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from tests.broker.jars import find_jar_cache_folder

__all__ = ["FAMILIES", "HELD_OUT", "MINORS", "NAMES", "prepare"]

# The table is made of these releases; held-out ones are what it is tried on.
FAMILIES: Final[Mapping[str, tuple[str, ...]]] = {
    "java": (
        *("0.8.2.2", "0.9.0.1", "0.10.0.1", "0.10.1.1", "0.10.2.2", "0.11.0.3", "1.0.2", "1.1.1", "2.0.1", "2.1.1"),
        *("2.2.2", "2.3.1", "2.4.1", "2.5.1", "2.6.3", "2.7.2", "2.8.2", "3.0.2", "3.1.2", "3.2.3", "3.3.2", "3.4.1"),
        *("3.5.2", "3.6.2", "3.7.2", "3.8.1", "3.9.2", "4.0.2", "4.1.2", "4.2.1", "4.3.1", "4.4.0"),
    ),
    "librdkafka": (
        *("1.4.2", "1.5.0", "1.6.1", "1.7.0", "1.8.2", "1.9.2", "2.0.2", "2.1.1", "2.3.0", "2.5.3", "2.6.2", "2.8.2"),
        *("2.11.1", "2.12.2", "2.14.0"),
    ),
    "kafka-python": ("1.4.7", "2.0.2", "2.0.6", "2.1.5", "2.2.15", "2.3.0"),
    "aiokafka": ("0.8.1", "0.9.0", "0.10.0", "0.11.0", "0.12.0", "0.13.0"),
    "kafkajs": ("1.12.0", "1.15.0", "1.16.0", "2.0.2", "2.1.0", "2.2.4"),
    "@platformatic/kafka": ("1.11.0", "1.20.0", "1.35.0", "2.4.0", "2.12.1"),
    "franz-go": ("1.6.14", "1.11.7", "1.13.6", "1.15.4", "1.18.1", "1.20.7", "1.22.2"),
    "sarama": ("1.29.1", "1.33.0", "1.38.1", "1.41.3", "1.42.2", "1.43.3", "1.45.2", "1.46.3"),
    "kafka-go": ("0.4.35", "0.4.47", "0.4.49"),
}
# The names of libraries in the record.
NAMES: Final[Mapping[str, str]] = {**{family: family for family in FAMILIES}, "java": "apache-kafka-java"}
# Minor releases, including ones that were not recorded. The version of a library that is missing here is a setting.
MINORS: Final[Mapping[str, tuple[str, ...]]] = {
    "java": (
        *("0.8", "0.9.0", "0.10.0", "0.10.1", "0.10.2", "0.11.0", "1.0", "1.1", "2.0", "2.1", "2.2", "2.3", "2.4"),
        *("2.5", "2.6", "2.7", "2.8", "3.0", "3.1", "3.2", "3.3", "3.4", "3.5", "3.6", "3.7", "3.8", "3.9", "4.0"),
        *("4.1", "4.2", "4.3", "4.4"),
    ),
    "kafka-python": ("1.4", "2.0", "2.1", "2.2", "2.3"),
    "aiokafka": ("0.8", "0.9", "0.10", "0.11", "0.12", "0.13"),
    "kafkajs": ("1.12", "1.13", "1.14", "1.15", "1.16", "2.0", "2.1", "2.2"),
    "kafka-go": ("0.4",),
}
HELD_OUT: Final = frozenset(
    {
        *(
            "java 0.10.1.1",
            "java 1.1.1",
            "java 2.2.2",
            "java 2.6.3",
            "java 3.1.2",
            "java 3.4.1",
            "java 3.8.1",
            "java 4.2.1",
        ),
        *("librdkafka 1.6.1", "librdkafka 2.1.1", "librdkafka 2.6.2", "kafka-python 2.0.6", "kafka-python 2.2.15"),
        *("aiokafka 0.9.0", "aiokafka 0.12.0", "kafkajs 1.16.0", "kafkajs 2.1.0", "@platformatic/kafka 1.35.0"),
        *("franz-go 1.13.6", "franz-go 1.20.7", "sarama 1.33.0", "sarama 1.42.2", "sarama 1.46.3", "kafka-go 0.4.47"),
    }
)
_HERE: Final = Path(__file__).resolve().parent
_GO: Final = {
    "franz-go": ("franz", "github.com/twmb/franz-go"),
    "sarama": ("sarama", "github.com/IBM/sarama"),
    "kafka-go": ("segmentio", "github.com/segmentio/kafka-go"),
}
_NODE: Final = {"kafkajs": "kafkajs.mjs", "@platformatic/kafka": "platformatic.mjs"}
_PYTHON: Final = {"kafka-python": "kafka_python_client.py", "aiokafka": "aiokafka_client.py"}


def prepare(family: str, release: str) -> tuple[list[str], dict[str, str]]:
    """The command of a client, to which bootstrap server, topic and group are added, and its environment."""
    place = find_jar_cache_folder() / f"{family.replace('/', '-')}-{release}"
    place.mkdir(parents=True, exist_ok=True)
    if family in _GO:
        return [_built(family, release, place)], {}
    if family in _NODE:
        if not (place / "node_modules").exists():
            (place / "package.json").write_text(json.dumps({"private": True, "type": "module"}))
            subprocess.run(["npm", "install", "-s", f"{family}@{release}"], cwd=place, check=True, capture_output=True)
        return ["node", str(_HERE / _NODE[family]), str(place)], {}
    if not (place / "done").exists():
        command = [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--target", str(place)]
        subprocess.run([*command, f"{family}=={release}"], check=True, capture_output=True)
        (place / "done").touch()
    return [sys.executable, str(_HERE / _PYTHON[family])], {"PYTHONPATH": str(place)}


def _built(family: str, release: str, place: Path) -> str:
    folder, module = _GO[family]
    if family == "sarama" and tuple(map(int, release.split(".")[:2])) < (1, 40):
        module = "github.com/Shopify/sarama"  # its earlier module path
    program = place / "program"
    if not program.exists():
        source = (_HERE / folder / "main.go").read_text()
        (place / "main.go").write_text(source.replace(_GO[family][1], module))
        (place / "go.mod").write_text("module client\n\ngo 1.21\n")
        for words in (["get", f"{module}@v{release}"], ["mod", "tidy"], ["build", "-o", str(program), "."]):
            subprocess.run(["go", *words], cwd=place, check=True, capture_output=True)
    return str(program)
