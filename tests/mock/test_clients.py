"""Real clients at a mock of the tour: clients of the recording get its records, and new work succeeds."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.broker.clients.session import run
from tests.mock.running import mocked

pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def place() -> Iterator[str]:
    with mocked() as mock:
        yield mock.bootstrap


@pytest.mark.parametrize("client", ["librdkafka", "aiokafka", "python", "java-4.4.0", "java-2.1.1", "go"])
def test_clients_get_the_recorded_orders(place: str, client: str) -> None:
    read = {"topics": ["orders"], "group": f"g-{client}", "count": 420, "polls": 90}
    (answer,) = run(client, place, [("consume", read)])
    found = [(row["partition"], row["offset"]) for row in answer["result"]]
    assert sorted(found) == [(part, at) for part, end in enumerate((171, 124, 125)) for at in range(end)]
