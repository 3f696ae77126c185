"""JSON lines: many rows that settle at once are written in pieces, and are the same lines."""

from __future__ import annotations

import orjson

from decoders.exchanges.pairer import Pairer
from decoders.tcp.reassembly import Reassembly
from kwcli.output.json import LINES_MAX, Ndjson
from kwcli.output.settings import Settings
from tests.exchanges.talks import request
from tests.messages.json_lines import to_json_bytes
from tests.tcp.conversations import numbered

SYN = 2
COUNT = 5 * LINES_MAX + 7


def test_rows_that_settle_at_one_time_are_written_in_pieces() -> None:
    """A list of all lines would hold the bytes that orjson allocates beyond each: 8 kB a line (Linux, orjson 3.13)."""
    asked = b"".join(request(12, 0, number, "app", {"group_id": "g"}) for number in range(COUNT))
    stage, pairer = Reassembly(), Pairer()
    pairer.feed(stage.feed(numbered([("client", 99, None, SYN, b""), ("client", 100, None, 0, asked)])))
    rows = pairer.feed(stage.finish()) + pairer.finish()
    assert len(rows) == COUNT
    written: list[bytes] = []
    Ndjson(Settings(), written.append).write(rows)
    assert max(piece.count(b"\n") for piece in written) <= LINES_MAX
    assert b"".join(written) == b"".join(map(to_json_bytes, rows))
    assert [orjson.loads(line)["correlation_id"] for line in b"".join(written).splitlines()] == list(range(COUNT))
