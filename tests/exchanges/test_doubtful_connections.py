"""Connections that ended undecided, before another one showed that their server is a broker."""

from __future__ import annotations

from random import Random
from typing import Any, cast

import pytest

from decoders.exchanges import chunks_to_exchanges
from decoders.exchanges.exchange import Exchange, Skipped
from decoders.exchanges.segments_to_exchanges import Engine
from decoders.tcp.stream_chunks import Segment
from tests.exchanges.prefixes import kafka
from tests.exchanges.talks import Turns, request, run, segments
from tests.splits.cut_captures import cut, rows, shown, stitched, whole

METADATA = request(3, 1, 3, "mygo", {"topics": [{"name": "orders"}]})
UNKNOWN = bytes.fromhex("0000000e 0001 0063 00000004 0004 6d79676f")
LITTLE_ENDIAN = bytes.fromhex("1e000000 0300 0100 05000000 0004 6d79676f")
TOO_SMALL = (len(METADATA) - 10).to_bytes(4, "big") + METADATA[4:]
HTTP = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"
TLS = bytes.fromhex("16030100c8010000c40303") + bytes(200)


def one_after_another(*talks: Turns, ports: tuple[int, ...]) -> list[Segment]:
    """Talks on connections of their own, to one broker, each begun after the end of the one before."""
    every: list[Segment] = []
    for turns, port in zip(talks, ports, strict=True):
        for key, _, _, *more in segments(turns, Random(1), port=port):
            every.append(cast(Segment, (key, len(every), len(every), *more)))
    return every


def told(every: list[Segment]) -> list[tuple[Any, ...]]:
    """API key, version and status of exchanges, reason and detail of skipped runs, of all but the good connection."""
    return [
        (row.api_key, row.api_version, row.status) if isinstance(row, Exchange) else (row.reason, row.detail)
        for row in run(every)
        if isinstance(row, Exchange | Skipped) and not row.connection_info.client.endswith(":50003")
    ]


REFUSED: list[tuple[str, bytes, list[tuple[Any, ...]]]] = [
    ("no size", request(18, 0, 1, "c", {})[4:], [("garbage", "ApiVersions 0 without its size field")]),
    ("unknown version", UNKNOWN, [(1, 99, "unanswered")]),
    (
        "little endian",
        LITTLE_ENDIAN,
        [("garbage", "the size 30 is written little-endian, and so is the header")],
    ),
    (
        "a size that is too small",
        TOO_SMALL,
        [
            ("garbage", "the rest of the request before it, whose size field says 20 instead of 26"),
            (3, 1, "unanswered"),
        ],
    ),
]


@pytest.mark.parametrize(("data", "expected"), [row[1:] for row in REFUSED], ids=[row[0] for row in REFUSED])
def test_a_refused_request_before_the_broker_is_known(data: bytes, expected: list[tuple[Any, ...]]) -> None:
    every = one_after_another([(True, data)], kafka(), ports=(50000, 50003))
    assert told(every) == expected
    assert [row[0] for row in told(every[: len(every) // 3])] == ["not_kafka"]  # nothing shows that it is a broker


@pytest.mark.parametrize("data", [HTTP, TLS], ids=["HTTP", "TLS"])
def test_other_protocols_stay_what_they_are(data: bytes) -> None:
    for ports in ((50000, 50003), (50003, 50000)):
        talks: list[Turns] = [[(True, data)], kafka()]
        every = one_after_another(*(talks if ports[0] == 50000 else talks[::-1]), ports=ports)
        assert [row[0] for row in told(every)] in (["not_kafka"], ["tls"])


@pytest.mark.plain  # limits are compiled in
def test_only_so_many_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    every = one_after_another([(True, UNKNOWN)], [(True, UNKNOWN)], kafka(), ports=(50000, 50001, 50003))
    assert told(every) == [(1, 99, "unanswered")] * 2
    monkeypatch.setattr(chunks_to_exchanges, "DOUBTFUL_MAX", 3000)
    assert sorted(str(row[0]) for row in told(every)) == ["1", "not_kafka"]


def test_any_cut_gives_the_same_rows() -> None:
    refused: list[Turns] = [[(True, data)] for data in (UNKNOWN, LITTLE_ENDIAN, TOO_SMALL)]
    # One of two good connections is whole in a split, so that the others learn of the broker.
    every = one_after_another(*refused, kafka(), kafka(), ports=(50000, 50001, 50002, 50003, 50004))
    expected = whole(every)
    assert not any("not_kafka" in row[-1] for row in expected)
    for place in range(1, len(every)):
        first, second = Engine(connections=True), Engine(connections=True)
        found = rows(first.feed(every[:place]))
        second.resume(first.export())
        found += rows(second.feed(every[place:]) + second.finish())
        assert sorted(map(shown, found)) == expected
        assert stitched(cut(every, [place])) == expected
