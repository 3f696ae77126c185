"""Chunks of all connections in, exchanges out: the one pass that every packet goes through.

The problem. A capture has hundreds of thousands of exchanges, and calling a method for each step of each of them costs
more than the work itself.

The idea. The common case is written in line, in one function without calls; all else is called. The common case is a
frame that lies whole in one chunk, on a connection in step and of an API version without peculiarities
(`ApiVersions.plain`), and a piece of a large body (`python -m tests.bench.exchanges`):

```
chunk ─► half.state is a direction in step? ── no ─► unusual(): events, connections not known to be Kafka
            │ mode
            ├ REQUEST   heads that fit ─► new Exchange into in_flight     what does not fit ┐
            ├ RESPONSE  ids that wait ─► out                              what does not fit ┼─► framing.take
            └ BODY      append to the frame under way                     its last piece    ┘
```

What always holds: the plain way (framing.take and pairing.py) gives the same exchanges for the same chunks; the tests
compare the two by switching this one off. Any chunk may leave the fast path in the middle and go on in the plain one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from struct import Struct
from typing import Any, Final

from decoders.exchanges.context import Context
from decoders.exchanges.exchange import Exchange
from decoders.limits import IN_FLIGHT_MAX
from decoders.streams.chunks import Chunk, Half
from decoders.streams.framing import BODY, REQUEST, RESPONSE, take
from decoders.streams.heads import RESPONSE as RESPONSE_FORM

UnusualHandler = Callable[[Half, int, int, Any], None]
# Size, API key and version together, correlation id, client id length.
REQUEST_FORM: Final = Struct(">iIih")
REQUEST_HEAD: Final = REQUEST_FORM.size
RESPONSE_HEAD: Final = RESPONSE_FORM.size


def advance(context: Context, chunks: Iterable[Chunk], unusual: UnusualHandler) -> None:  # noqa: C901 - one loop, no calls
    """Take chunks; `unusual` is called for events and for halves that have no lane."""
    budget = context.budget
    plain = context.specs.plain.get
    names = context.topics.names
    push = context.out.append
    request_form = REQUEST_FORM.unpack_from
    response_form = RESPONSE_FORM.unpack_from
    data: Any
    lane: Any
    for half, time_ns, packet, data in chunks:
        lane = half.state
        if lane is None or data.__class__ is not bytes:
            unusual(half, time_ns, packet, data)
            continue
        mode = lane.mode
        size = len(data)
        at = 0
        if mode == RESPONSE:
            while size - at >= RESPONSE_HEAD:
                need, correlation_id = response_form(data, at)
                after = at + 4 + need
                table = lane.owner.in_flight
                exchange = table.get(correlation_id)
                if need < 4 or after > size or exchange.__class__ is not Exchange:
                    break
                del table[correlation_id]
                lane.place += need + 4
                exchange.response_ns = exchange.response_end_ns = time_ns
                exchange.response_packet = exchange.response_packet_end = packet
                exchange.response_size = need
                exchange.response_raw = data if after - at == size else data[at:after]
                budget.held -= len(exchange.request_raw)  # type: ignore[arg-type]  # a request in flight has its bytes
                at = after
                if exchange.spec.watched:
                    lane.owner.watch(exchange)
                exchange.known = len(names)
                push(exchange)
                if lane.mode != RESPONSE:
                    break
        elif mode == REQUEST:
            while size - at >= REQUEST_HEAD:
                need, code, correlation_id, length = request_form(data, at)
                after = at + 4 + need
                spec = plain(code)
                if after > size or spec is None or not 0 <= length <= need - 10:
                    break
                owner = lane.owner
                table = owner.in_flight
                if correlation_id in table or len(table) >= IN_FLIGHT_MAX:
                    break
                body = at + length + REQUEST_HEAD
                client_raw = data[at + REQUEST_HEAD : body]
                if client_raw != owner.client_raw:
                    owner.rename(client_raw)
                exchange = Exchange()
                exchange.ends = owner.ends
                exchange.spec = spec
                exchange.api_key = spec.key
                exchange.api_version = spec.version
                exchange.correlation_id = correlation_id
                exchange.client_id = owner.client_id
                exchange.client_software = owner.software
                exchange.outcome = "complete"
                exchange.extra = None
                exchange.looked = False
                exchange.time_ns = exchange.request_end_ns = time_ns
                exchange.request_packet = exchange.request_packet_end = packet
                exchange.request_size = need
                exchange.request_raw = data if after - at == size else data[at:after]
                exchange.place = lane.place
                lane.place += need + 4
                at = after
                if spec.no_acks is not None and (
                    data.startswith(spec.no_acks, body) or not data.startswith(spec.null_id, body)
                ):
                    owner.produce(exchange)
                else:
                    table[correlation_id] = exchange
                    budget.held += need + 4
                    if budget.held > budget.most:
                        context.shed(lane)
        elif mode == BODY and size < lane.left:
            lane.left -= size
            lane.place += size
            lane.last = (time_ns, packet)
            lane.parts.append(data)
            budget.held += size
            if budget.held > budget.most:
                context.shed(lane)
            continue
        if at < size:
            take(lane, time_ns, packet, data[at:] if at else data)
            if budget.held > budget.most:
                context.shed(lane)
