"""Real clients at brokers made of the tour: those of the recording get its records, and new work is done whole."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import pytest

from tests.broker.clients.session import run

TOUR: Final = str(Path(__file__).resolve().parents[2] / "captures" / "tour.pcapng")

pytestmark = pytest.mark.long


@contextmanager
def mocked(*words: str) -> Iterator[str]:
    """`kw mock` of the tour; its bootstrap address."""
    command = [sys.executable, "-m", "kwcli.main", "mock", TOUR, "--port", "0", *words]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        said = []
        try:
            for line in process.stderr:
                said.append(line)
                if line.startswith("ready "):
                    yield line.split()[1]
                    break
            else:
                raise AssertionError("".join(said))
        finally:
            process.terminate()
            rest = process.stderr.read()
            code = process.wait(30)
        assert code == 0
        assert "Traceback" not in rest
        assert "defect" not in rest


@pytest.fixture(scope="module")
def place() -> Iterator[str]:
    with mocked() as found:
        yield found


@pytest.mark.parametrize("client", ["librdkafka", "aiokafka", "python", "java-4.4.0", "java-2.1.1", "go"])
def test_clients_get_the_recorded_orders(place: str, client: str) -> None:
    read = {"topics": ["orders"], "group": f"g-{client}", "count": 420, "polls": 90}
    (answer,) = run(client, place, [("consume", read)])
    found = [(row["partition"], row["offset"]) for row in answer["result"]]
    assert sorted(found) == [(part, at) for part, end in enumerate((171, 124, 125)) for at in range(end)]
