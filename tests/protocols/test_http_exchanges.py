"""HTTP/1.1 of a capture: requests with their answers, however the bytes are cut, and nothing but exchanges of junk."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from decoders.limits import HTTP_CAPTURED_MAX
from decoders.protocols.read_http_exchanges import HttpConversation, HttpExchange
from tests.reading.captures_with_values import http_answer, http_get, http_post

ASKED = [http_get("/schemas/ids/7"), http_post("/subjects/a-value/versions", {"schema": "1"}), http_get("/subjects")]
HOWS = ("length", "chunked", "gzip")


def exchanges(turns: list[tuple[bool, bytes]], step: int) -> list[tuple[str, str, bytes | None, bytes | None]]:
    """What a conversation gives whose turns come in pieces of `step` bytes."""
    talk = HttpConversation()
    found: list[HttpExchange] = []
    for client, data in turns:
        for at in range(0, len(data), step):
            piece = data[at : at + step]
            found += talk.feed_client(piece) if client else talk.feed_server(piece, 9)
    found += talk.feed_server(b"", 9)
    return [(each.method, each.target, each.sent, each.received) for each in found]


@pytest.mark.parametrize("step", [1, 7, 10_000])
@pytest.mark.parametrize("last", [*HOWS, "close"])
def test_a_kept_connection_gives_all_of_its_exchanges(step: int, last: str) -> None:
    answers = [http_answer({"n": number}, how=how) for number, how in enumerate((*HOWS[:2], last))]
    one_by_one = [turn for pair in zip(ASKED, answers, strict=True) for turn in ((True, pair[0]), (False, pair[1]))]
    expected = [
        ("GET", "/schemas/ids/7", b"", b'{"n": 0}'),
        ("POST", "/subjects/a-value/versions", b'{"schema": "1"}', b'{"n": 1}'),
        ("GET", "/subjects", b"", b'{"n": 2}'),
    ]
    assert exchanges(one_by_one, step) == expected
    assert exchanges([(True, b"".join(ASKED)), (False, b"".join(answers))], step) == expected
    late = [(False, answers[0]), (True, ASKED[0]), *one_by_one[2:]]  # captured out of order
    assert exchanges(late, step) == expected


def test_a_body_beyond_the_limit_is_left_out() -> None:
    large = http_answer({"a": "x" * (HTTP_CAPTURED_MAX + 1)}, how="gzip")
    turns = [(True, ASKED[0]), (False, large), (True, ASKED[2]), (False, http_answer({}))]
    assert exchanges(turns, 10_000) == [
        ("GET", "/schemas/ids/7", b"", None),
        ("GET", "/subjects", b"", b"{}"),
    ]


PIECES = st.one_of(
    st.binary(max_size=40),
    st.sampled_from([*ASKED, http_answer({"a": 1}), http_answer({}, how="chunked"), b"HTTP/1.1 100 Continue\r\n\r\n"]),
    st.sampled_from([b"HTTP/1.1 101 Switch\r\nUpgrade: x\r\n\r\n", b"CONNECT a:1 HTTP/1.1\r\nHost: a\r\n\r\n"]),
)


@given(st.lists(st.tuples(st.booleans(), PIECES.filter(bool)), max_size=8))
def test_nothing_follows_from_junk(turns: list[tuple[bool, bytes]]) -> None:
    assert isinstance(exchanges(turns, 50), list)
