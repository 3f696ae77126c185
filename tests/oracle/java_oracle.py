"""A Kafka release in, the answers of its own classes out, and the parts that must equal the library's answers."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import threading
from base64 import b64decode
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any, Final
from uuid import UUID

from decoders.apis import api
from decoders.protocol_facts.kafka_releases import api_versions_of_release
from decoders.schema.api_declaration import Plan, PlanField, Side, resolve
from tests.broker.jars import client_jars

ROOT: Final = Path(__file__).resolve().parents[2]
SIDES: Final[tuple[Side, Side]] = ("request", "response")
Case = tuple[int, int, Side]


class Java:
    """One JVM with the classes of one release; `ask` it as often as needed, `close` it in the end."""

    def __init__(self, release: str, jars: Callable[[str], list[Path]] = client_jars) -> None:
        """Start the JVM; `jars` gives the jars of a release, for structures that the client's jars do not have."""
        self.release = release
        command = [sys.executable, "-m", "tests.oracle.java_process", *map(str, jars(release))]
        self._errors = tempfile.TemporaryFile("w+")  # noqa: SIM115  # closed by close()
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._errors, text=True, cwd=ROOT
        )

    def ask(self, questions: Sequence[Sequence[object]]) -> list[Any]:
        """The answers to the questions, in order."""
        to, back = self._process.stdin, self._process.stdout
        assert to is not None
        assert back is not None

        def put() -> None:
            with suppress(BrokenPipeError):  # missing answers are then reported
                to.writelines(json.dumps(question) + "\n" for question in questions)
                to.flush()

        writer = threading.Thread(target=put)
        writer.start()
        answers = []
        for _ in questions:
            line = back.readline()
            if not line:
                break
            answers.append(json.loads(line))
        writer.join()
        if len(answers) != len(questions):
            self._errors.seek(0)
            raise RuntimeError(f"{len(questions)} questions, {len(answers)} answers: {self._errors.read()[-3000:]}")
        return answers

    def close(self) -> None:
        """End the process."""
        self._process.communicate()
        self._errors.close()


def cases(release: str) -> Iterator[Case]:
    """Every (API key, version, side) that the release has."""
    for key, versions in api_versions_of_release(minor(release)).items():
        for version in range(versions.low, versions.high + 1):
            for side in SIDES:
                yield key, version, side


def minor(release: str) -> str:
    return release.rpartition(".")[0]


def plan_of(release: str, case: Case) -> Plan:
    """The library's plan of a message in a release: the early layout if the release had one."""
    key, version, side = case
    found = api(key)
    stable = found.request if side == "request" else found.response
    return resolve(found.early.get((side, version, minor(release)), stable), version)


def expected_layout(plan: Plan) -> list[list[Any]]:
    """The plan in the form of java_process.layout()."""
    return [_row(field) for field in (*plan.fields, *plan.tagged)]


_WORDS: Final = {"bool": "BOOLEAN"}


def _row(field: PlanField) -> list[Any]:
    array = ("COMPACT_ARRAY of " if field.compact else "ARRAY of ") if field.array else ""
    children = expected_layout(field.plan) if field.plan is not None else []
    word = _WORDS.get(field.kind, field.kind.upper())
    if field.kind in ("string", "bytes", "records"):
        null = field.nullable and not field.array
        word = ("COMPACT_" if field.compact else "") + ("NULLABLE_" if null else "") + word
    return [field.name, array + word, field.nullable, field.tag, children]


def differences(plan: Plan, value: dict[str, Any], node: Any, names: dict[str, tuple[str, ...]]) -> list[str]:
    """The places where Kafka's JSON of a message differs from the value; `names` are older names by current one."""
    return list(_struct(plan, value, node, names, ""))


@cache
def _repeats(name: str) -> str:
    return name.replace("_", "").lower()


def _struct(
    plan: Plan, value: dict[str, Any], node: Any, names: dict[str, tuple[str, ...]], path: str
) -> Iterator[str]:
    if not isinstance(node, dict):
        yield f"{path}: Kafka has {node!r:.60}"
        return
    left = {_repeats(name): inner for name, inner in node.items()}
    for field in (*plan.fields, *plan.tagged):
        place = f"{path}.{field.name}"
        spelt = [_repeats(name) for name in (field.name, *names.get(field.name, ()))]
        if field.kind == "records" and value.get(field.name) is not None:
            spelt = [name + "sizeinbytes" for name in spelt]
        found = next((name for name in spelt if name in left), None)
        if field.name not in value:
            if found is not None:
                yield f"{place}: Kafka has {left[found]!r:.60}, we have nothing"
        elif found is None:
            yield f"{place}: Kafka has nothing, we have {value[field.name]!r:.60}"
        else:
            yield from _field(field, value[field.name], left[found], names, place)
        left.pop(found or "", None)
    for name in left:
        yield f"{path}.{name}: only Kafka has it"


def _field(field: PlanField, value: Any, node: Any, names: dict[str, tuple[str, ...]], path: str) -> Iterator[str]:
    if value is None or node is None:
        if value is not node:
            yield f"{path}: we have {value!r:.60}, Kafka {node!r:.60}"
    elif not field.array:
        yield from _one(field, value, node, names, path)
    elif len(value) != len(node):
        yield f"{path}: we have {len(value)} elements, Kafka {len(node)}"
    else:
        for number, (mine, its) in enumerate(zip(value, node, strict=True)):
            yield from _one(field, mine, its, names, f"{path}[{number}]")


def _one(field: PlanField, value: Any, node: Any, names: dict[str, tuple[str, ...]], path: str) -> Iterator[str]:
    if field.plan is not None:
        yield from _struct(field.plan, value, node, names, path)
        return
    if field.kind == "records":
        same = len(value) == node
    elif field.kind == "bytes":
        same = value == b64decode(node)
    elif field.kind == "uuid":
        same = value == UUID(bytes=b64decode(node + "==", b"-_"))
    elif field.kind == "float64":
        same = value == float(node)
    else:
        same = value == node and type(value) is type(node)
    if not same:
        yield f"{path}: we have {value!r:.60}, Kafka {node!r:.60}"
