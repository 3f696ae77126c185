"""A Produce, Fetch or ShareFetch exchange in, the facts of its line out: partitions, records, bytes, codecs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from decoders.records.summary import sole, summarize
from kwcli.render.facts import Names, Shape, View, topic_of
from kwcli.render.units import amount, listed, period, ranges
from kwcli.render.words import WORDS

if TYPE_CHECKING:
    from decoders.exchanges.exchange import Exchange

NOTHING: Final = ("0 rec", "", "")
UNCOMPRESSED: Final = ("none",)
ACKS: Final = WORDS["acks"]
# Ready-made: what most batches hold.
COUNTS: Final = tuple(f"{count} rec" for count in range(1000))


def _single(elements: list[dict[str, Any]], inner: str) -> dict[str, Any] | None:
    """The only partition of the only topic, the usual case; None where there are more."""
    if len(elements) == 1:
        parts: list[dict[str, Any]] | None = elements[0].get(inner)
        if parts and len(parts) == 1:
            return parts[0]
    return None


def partitions(elements: list[dict[str, Any]], inner: str, index: str, names: Names, shape: Shape) -> str:
    """`orders[0,3,5] payments[1]` of elements that have a topic and a list of partitions."""
    topics: dict[str, list[int]] = {}
    for element in elements:
        held = topics.setdefault(topic_of(element, names, shape), [])
        held += [part[index] for part in element.get(inner) or () if index in part]
    return listed([f"{topic}[{ranges(held)}]" for topic, held in topics.items()], shape.items)


def _batches(raw: bytes | None, span: Any) -> tuple[str, str, str]:
    """Records, bytes and codecs of one records field; `0 rec` alone where there are none."""
    if not span or raw is None or span.__class__ is not tuple:
        return NOTHING
    at, size = span
    if not size:
        return NOTHING
    alone = sole(raw, at, size)
    if alone is not None:
        count, codec = alone
        named = "" if codec == "none" else codec
    else:
        found = summarize(raw, at, size)
        count = found.records
        named = ",".join(codec for codec in found.codecs if codec != "none")
    return COUNTS[count] if count < 1000 else f"{count} rec", f"{size}B" if size < 1000 else amount(size), named


def _contents(raw: bytes | None, elements: list[dict[str, Any]], inner: str) -> tuple[str, str, str]:
    """Records, bytes and codecs of the batches in these partitions; `0 rec` alone where there are none."""
    records = size = 0
    codecs: tuple[str, ...] = ()
    for element in elements:
        for part in element.get(inner) or ():
            span = part.get("records")
            if span and span.__class__ is tuple and raw is not None:
                found = summarize(raw, span[0], span[1])
                records += found.records
                size += span[1]
                if found.codecs != UNCOMPRESSED:
                    codecs += found.codecs
    if not size:
        return NOTHING
    named = ",".join(dict.fromkeys(codec for codec in codecs if codec != "none")) if codecs else ""
    return f"{records} rec", f"{size}B" if size < 1000 else amount(size), named


def produce(exchange: Exchange, request: View, response: View, shape: Shape) -> list[str]:
    """`orders[3]`, `412 rec`, `38.1kB`, `zstd`, `acks=all`, `at 1042`."""
    topics = request.get("topic_data")
    if not topics:
        return []
    # When a side cannot be decoded its view ends in the middle: any key may be missing.
    part = _single(topics, "partition_data")
    if part is not None:
        name = topics[0].get("name") or topic_of(topics[0], exchange.topic_name, shape)
        facts = [f"{name}[{part.get('index', '')}]"]
        count, size, codec = _batches(exchange.request_raw, part.get("records"))
    else:
        facts = [partitions(topics, "partition_data", "index", exchange.topic_name, shape)]
        count, size, codec = _contents(exchange.request_raw, topics, "partition_data")
    facts.append(count)
    if size:
        facts.append(size)
        if codec:
            facts.append(codec)
    acks = request.get("acks")
    if acks is not None:
        facts.append(ACKS.get(acks) or f"acks={acks}")
    if request.get("transactional_id"):
        facts.append(f"txn {request['transactional_id']}")
    answers = response.get("responses")
    if answers:
        answer = _single(answers, "partition_responses")
        if answer is not None and answer.get("base_offset", -1) >= 0:
            facts.append(f"at {answer['base_offset']}")
        if response.get("throttle_time_ms"):
            facts += _throttle(response)
    return facts


def _throttle(response: View) -> list[str]:
    ms = response.get("throttle_time_ms")
    return [f"throttled {period(ms)}"] if ms else []


def fetch(exchange: Exchange, request: View, response: View, shape: Shape) -> list[str]:
    """`orders[0]`, `from 1042`, `→ 0 rec`, `(waited 500ms)`."""
    asked = request.get("topics")
    given = response.get("responses")
    facts = _asked(exchange, asked, given, shape)
    if response:
        one = _single(given, "partitions") if given else None
        if one is not None:
            count, size, codec = _batches(exchange.response_raw, one.get("records"))
        else:
            count, size, codec = _contents(exchange.response_raw, given or [], "partitions")
        facts.append(f"→ {count}")
        if size:
            facts.append(size)
            if codec:
                facts.append(codec)
        elif _waited(exchange, request):
            facts.append(f"(waited {period(request['max_wait_ms'])})")
    replica = request.get("replica_id", -1)
    if replica is None or replica < 0:
        state = request.get("replica_state")
        replica = state.get("replica_id", -1) if state else -1
    if replica >= 0:
        facts.append(f"replica {replica}")
    if (asked or given) and request.get("session_epoch"):
        facts += _session(exchange)
    if response.get("throttle_time_ms"):
        facts += _throttle(response)
    return facts


def _asked(exchange: Exchange, asked: Any, given: Any, shape: Shape) -> list[str]:
    """Which partitions a fetch is about, and from which offset where there is one."""
    if not asked:
        if given:
            return [partitions(given, "partitions", "partition_index", exchange.topic_name, shape)]
        return _session(exchange)
    part = _single(asked, "partitions")
    if part is None:
        return [partitions(asked, "partitions", "partition", exchange.topic_name, shape)]
    name = asked[0].get("topic") or topic_of(asked[0], exchange.topic_name, shape)
    facts = [f"{name}[{part.get('partition', '')}]"]
    if "fetch_offset" in part:
        facts.append(f"from {part['fetch_offset']}")
    return facts


def _waited(exchange: Exchange, request: View) -> bool:
    """Whether the answer came when the time that the client would wait was over."""
    most, took = request.get("max_wait_ms"), exchange.latency_ms
    return most is not None and most > 1 and took is not None and took >= 0.9 * most


def _session(exchange: Exchange) -> list[str]:
    session = exchange.fetch_session
    return [f"session {session['id']}/{session['epoch']}"] if session and session["id"] else []


def share_fetch(exchange: Exchange, request: View, response: View, shape: Shape) -> list[str]:
    """`group g`, `orders[0]`, `→ 12 rec`."""
    names = exchange.topic_name
    facts = [f"group {request.get('group_id')}"] if request.get("group_id") else []
    asked = request.get("topics") or []
    given = response.get("responses") or []
    if asked or given:
        facts.append(partitions(asked or given, "partitions", "partition_index", names, shape))
    if response:
        count, size, codec = _contents(exchange.response_raw, given, "partitions")
        facts.append(f"→ {count}")
        facts += [text for text in (size, codec) if text]
    if request.get("share_session_epoch") is not None:
        facts.append(f"session epoch {request['share_session_epoch']}")
    return facts
