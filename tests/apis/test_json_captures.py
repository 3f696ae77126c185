"""Every body of the captures that ship: its JSON form with all records and secrets, encoded again."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import orjson
import pytest

import decoders
from decoders import EncodeError, Exchange
from decoders.messages.build_body_json import Options, hooks_of_side, make_hook_table
from decoders.messages.exchange_json import to_json_dict
from decoders.messages.whole_messages import encode_json
from decoders.schema.api_declaration import Side
from decoders.schema.lazy_decoder import get_json_decoder
from tests.captures.shipped import CLEAN, capture_bytes
from tests.sampling import sampled

ALL = Options(records=True, reveal_secrets=True)
NO_RECORDS = Options(reveal_secrets=True)
HIDDEN = Options(records=True)
SIDES: tuple[Side, Side] = ("request", "response")


class Body:
    """One side of an exchange: its bytes, and its JSON form in the exchange record."""

    def __init__(self, exchange: Exchange, side: Side, record: dict[str, Any]) -> None:
        assert exchange.api_key is not None
        assert exchange.api_version is not None
        self.exchange = exchange
        self.side = side
        self.key = exchange.api_key
        self.layout: str | None = record.get("layout", {}).get(side)
        self.version = exchange.api_version
        if self.key == 18 and side == "response" and record["errors"]:
            self.version = 0  # a broker answers so if it does not know the version
        raw = exchange.request_raw if side == "request" else exchange.response_raw
        assert raw is not None
        self.data = raw[exchange._api_reader.find_body_offset(side, raw) :]
        self.value = orjson.loads(orjson.dumps(record[side]))
        self.place = f"{record['api']} {self.version} {side} {record['packets'][side]}"

    def encoded(self, value: Any) -> bytes:
        return encode_json(self.key, self.version, self.side, value, layout=self.layout)

    def decoded(self, data: bytes) -> Any:
        """The JSON form of other bytes of this message."""
        layouts = self.exchange._api_reader.list_layouts(self.side)
        plan = next(each.plan for each in layouts if each.early_layout is None and each.plan.version == self.version)
        value, after = get_json_decoder(plan, hooks_of_side(self.key, self.side), True)(
            data, 0, len(data), make_hook_table(ALL)
        )
        assert after == len(data)
        return value

    def shown(self, options: Options) -> Any:
        return to_json_dict(self.exchange, options)[self.side]


def bodies(name: str) -> Iterator[Body]:
    """The bodies of a capture that were decoded completely."""
    for exchange in decoders.read_exchanges(capture_bytes(name)):
        if not isinstance(exchange, Exchange) or exchange.api_key is None:
            continue
        record = to_json_dict(exchange, ALL)
        for side in SIDES:
            if record[side] is not None and side not in record.get("undecoded", {}):
                yield Body(exchange, side, record)


def batches(value: Any) -> Iterator[dict[str, Any]]:
    """All batches in a body."""
    if isinstance(value, list):
        for each in value:
            yield from batches(each)
    elif isinstance(value, dict):
        if "record_count" in value:
            yield value
        for each in value.values():
            yield from batches(each)


def without_sizes(value: Any) -> Any:
    """The body without the sizes of batches, which compressing again may change."""
    for batch in batches(value):
        batch["size"] = None
    return value


@pytest.mark.parametrize("name", sampled(CLEAN, 3))
def test_what_a_record_shows_can_be_sent_again(name: str) -> None:
    found: Counter[str] = Counter()
    for body in bodies(name):
        cut = [batch for batch in batches(body.value) if batch["truncated"]]
        if cut:
            with pytest.raises(EncodeError, match="a batch that was cut off cannot be encoded"):
                body.encoded(body.value)
            found["cut"] += 1
            continue
        again = body.encoded(body.value)
        found[body.side] += 1
        if again == body.data:
            continue
        # Compressed bytes may differ, and stamped records have lost their own times; other values must be equal.
        assert any(batch["codec"] != "none" or batch["timestamp_type"] == "log_append" for batch in batches(body.value))
        assert without_sizes(body.decoded(again)) == without_sizes(body.value), body.place
        found["compressed again"] += 1
    assert found["request"] >= 20
    assert found["response"] >= 20
    assert found["compressed again"] + found["cut"] < found["request"] / 5


@pytest.mark.long
def test_what_a_record_leaves_out_is_named() -> None:
    options: Counter[str] = Counter()
    for name in CLEAN:
        for body in bodies(name):
            if any(batch["truncated"] for batch in batches(body.value)):
                continue
            for left_out, option in ((NO_RECORDS, "--records"), (HIDDEN, "--reveal-secrets")):
                shown = body.shown(left_out)
                if shown == body.value:
                    continue
                with pytest.raises(EncodeError, match=option) as caught:
                    body.encoded(shown)
                assert caught.value.path, body.place
                options[option] += 1
    assert options["--records"] > 50
    assert options["--reveal-secrets"] > 20
