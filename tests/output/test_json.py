"""JSON lines: many rows that settle at once are written in pieces, large ones between them; they are the same lines."""

from __future__ import annotations

import orjson

from decoders.exchanges.chunks_to_exchanges import Pairer
from decoders.exchanges.exchange import Settled
from decoders.limits import BODY_WHOLE_MAX
from decoders.tcp.reassembly import Reassembly
from kwcli.output.json import LINES_MAX, Ndjson
from kwcli.output.output_settings import Settings
from tests.exchanges.talks import request
from tests.messages.json_lines import to_json_bytes
from tests.tcp.conversations import numbered

SYN = 2
COUNT = 5 * LINES_MAX + 7


def settle(*frames: bytes) -> list[Settled]:
    """The rows of a client that sends these requests, and gets no answer."""
    stage, pairer = Reassembly(), Pairer()
    asked = b"".join(frames)
    pairer.feed(stage.feed(numbered([("client", 99, None, SYN, b""), ("client", 100, None, 0, asked)])))
    return pairer.feed(stage.finish()) + pairer.finish()


def test_rows_that_settle_at_one_time_are_written_in_pieces() -> None:
    """A list of all lines would hold the bytes that orjson allocates beyond each: 8 kB a line (Linux, orjson 3.13)."""
    rows = settle(*(request(12, 0, number, "app", {"group_id": "g"}) for number in range(COUNT)))
    assert len(rows) == COUNT
    written: list[bytes] = []
    Ndjson(Settings(), written.append).write(rows)
    assert max(piece.count(b"\n") for piece in written) <= LINES_MAX
    assert b"".join(written) == b"".join(map(to_json_bytes, rows))
    assert [orjson.loads(line)["correlation_id"] for line in b"".join(written).splitlines()] == list(range(COUNT))


def test_a_row_that_is_read_as_it_is_written_keeps_its_place() -> None:
    names = [{"name": f"topic-{number:010}"} for number in range(BODY_WHOLE_MAX // 16)]
    small = [request(3, 0, number, "app", {"topics": []}) for number in range(4)]
    large = request(3, 0, 4, "app", {"topics": names})
    written: list[bytes] = []
    renderer = Ndjson(Settings(), written.append)
    renderer.write(settle(*small[:3], large, small[3]))
    assert len(written) > 4
    lines = [orjson.loads(line) for line in b"".join(written).splitlines()]
    assert [line["correlation_id"] for line in lines] == [0, 1, 2, 4, 3]
    assert lines[3]["request"]["topics"] == names
    assert (renderer.errors, renderer.expected, renderer.undecoded, renderer.remarks) == (0, 0, 0, 0)
