"""Which header a message has: of flexible versions the newer one, but for two exceptions."""

from __future__ import annotations

import pytest

from decoders.protocol_facts.header_versions import request_header_version, response_header_version


@pytest.mark.parametrize(
    ("key", "version", "of_request", "of_response"),
    [
        (7, 0, 0, 0),
        (7, 1, 1, 0),
        (7, 2, 1, 0),
        (7, 3, 2, 1),
        (18, 0, 1, 0),
        (18, 2, 1, 0),
        (18, 3, 2, 0),
        (18, 4, 2, 0),
        (3, 8, 1, 0),
        (3, 9, 2, 1),
        (17, 1, 1, 0),
        (32000, 0, 1, 0),
        (-1, 0, 1, 0),
    ],
)
def test_versions_of_headers(key: int, version: int, of_request: int, of_response: int) -> None:
    assert (request_header_version(key, version), response_header_version(key, version)) == (of_request, of_response)
