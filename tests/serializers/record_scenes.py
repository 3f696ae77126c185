"""A scene in; a capture of it, and a file of the values that it wrote with the schemas of its registry, out."""

from __future__ import annotations

import json
import tempfile
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

from captures.make.pcapfile import ship
from kwcli.playground.free_ports import find_free_ports
from tests.broker.cluster import Cluster
from tests.broker.options import Options
from tests.broker.recorder import Recorder
from tests.serializers.apicurio_registry import apicurio_registry
from tests.serializers.registry_double import CCOMPAT, RegistryDouble, registry_double
from tests.serializers.scene import Row, Scene, Stage

__all__ = ["record_scene"]


def record_scene(scene: Scene, target: Path) -> None:
    """Play a scene on a fresh broker with a fresh registry; write `target` and, beside it, what it wrote (.json)."""
    with tempfile.TemporaryDirectory(prefix="kw-scene-") as scratch, Cluster(Options(class_archive=True)) as cluster:
        raw = Path(scratch) / "raw.pcap"
        ports = {port for node in cluster.nodes for name, port in node.ports.items() if name == "PLAINTEXT"}
        with ExitStack() as at_end, _registry(scene, at_end) as (stage, double):
            stage = stage._replace(bootstrap=cluster.bootstrap())
            if scene.http:
                ports.add(int(stage.registry.split(":")[2].split("/")[0]))
            play = scene.play(stage) if scene.http else scene.play(stage, double)
            next(play)
            with Recorder(raw, ports):
                records = _end_of(play)
            rows = double.rows if double is not None else [*_read_rows(stage.registry), *_read_versions(stage.apicurio)]
        ship(raw, target, ports=ports)
    name = target.name.partition(".")[0]
    (target.parent / f"{name}.json").write_text(_format_written(scene.schema_comes, records, rows))


def _format_written(schema_comes: str, records: list[Row], schemas: list[Row]) -> str:
    """JSON with a line for each record and each schema."""
    lists = (
        f'"{name}":[\n' + ",\n".join(json.dumps(row, ensure_ascii=False) for row in rows) + "\n]"
        for name, rows in (("records", records), ("schemas", schemas))
    )
    return f'{{"schema_comes":"{schema_comes}",\n' + ",\n".join(lists) + "}\n"


def _end_of(play: Any) -> list[Row]:
    try:
        next(play)
    except StopIteration as end:
        return list(end.value)
    raise RuntimeError("a play has one part that is recorded")


@contextmanager
def _registry(scene: Scene, at_end: ExitStack) -> Iterator[tuple[Stage, RegistryDouble | None]]:
    if scene.registry == "double":
        with registry_double(port=find_free_ports(1)[0]) as double:
            yield Stage("", double.url, at_end), double
    else:
        with apicurio_registry() as url:
            yield Stage("", url + CCOMPAT, at_end, url), None


def _read_versions(registry: str) -> Iterator[Row]:
    """All schemas of Apicurio's registry by their global ids, which its Confluent API does not tell."""
    place = f"{registry}/apis/registry/v3"
    with urllib.request.urlopen(f"{place}/search/versions?limit=100", timeout=10) as answer:
        found = json.loads(answer.read())["versions"]
    for version in found:
        number = version["globalId"]
        with urllib.request.urlopen(f"{place}/ids/globalIds/{number}", timeout=10) as answer:
            text = answer.read().decode()
        with urllib.request.urlopen(f"{place}/ids/globalIds/{number}/references", timeout=10) as answer:
            references = json.loads(answer.read())
        yield {
            "global_id": number,
            "subject": version["artifactId"],
            "version": int(version["version"]),
            "schemaType": version["artifactType"],
            "schema": text,
            "references": [
                {"name": row["name"], "subject": row["artifactId"], "version": int(row["version"])}
                for row in references
            ],
        }


def _read_rows(registry: str) -> Iterator[Row]:
    """All schemas of a registry, by its API: their ids, subjects, versions, texts and references."""

    def ask(path: str) -> Any:
        with urllib.request.urlopen(registry + path, timeout=10) as answer:
            return json.loads(answer.read())

    for subject in ask("/subjects"):
        place = f"/subjects/{quote(subject, safe='')}/versions"
        for version in ask(place):
            yield ask(f"{place}/{version}")
