"""Places where a frame may begin: both searches find the same."""

from __future__ import annotations

from random import Random

import pytest

from decoders.frames import find_next_frame
from decoders.frames.find_next_frame import find_request_places, find_response_places
from tests.exchanges.talks import request, response

NUMBERS = {1, -7, 2**31 - 1}


@pytest.mark.parametrize("seed", range(10))
def test_few_and_many_correlation_ids_find_the_same(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = Random(seed)
    parts = [response(12, 0, rng.choice([*NUMBERS, 5]), {}) + rng.randbytes(rng.randrange(9)) for _ in range(30)]
    data = b"".join(parts) + bytes(12)
    few = find_response_places(data, 1, NUMBERS)
    monkeypatch.setattr(find_next_frame, "FEW", 0)
    assert find_response_places(data, 1, NUMBERS) == few
    assert len(few) > 10
    assert find_response_places(data, 1, set()) == []


@pytest.mark.parametrize("client_id", ["app", "", None])
def test_requests_are_found_with_and_without_their_client_id(client_id: str | None) -> None:
    frame = request(12, 0, 3, client_id, {"group_id": "g"})
    data = b"the tail of another" + frame + b"and the head of"
    place = len(b"the tail of another")
    assert place in find_request_places(data, 1, None)
    if client_id:
        assert find_request_places(data, 1, client_id.encode()) == [place]
