"""An exchange in, the facts of its line out: functions for the APIs that say more than a row of text can."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import TYPE_CHECKING, Any, Final

from decoders.apis import NAMES, api
from decoders.records.summary import summarize
from kwcli.render.fact_rows import ROWS
from kwcli.render.facts import Facts, Names, Row, Shape, View, short, topic_of
from kwcli.render.facts import row as compiled
from kwcli.render.units import amount, counted, listed, period, ranges
from kwcli.render.words import WORDS, word

if TYPE_CHECKING:
    from decoders.exchanges.exchange import Exchange
    from decoders.schema.model import Field, Side

NO_VIEW: Final[View] = {}
NOTHING: Final = ("0 rec", "", "")
UNCOMPRESSED: Final = ("none",)
ACKS: Final = WORDS["acks"]
SESSIONS_SINCE: Final = 7  # KIP-227


def facts_of(exchange: Exchange, shape: Shape) -> list[str]:
    """The facts of one exchange, the most important one first."""
    row = row_of(exchange.api_key)
    if row is None:
        return []
    return row.facts(exchange, exchange.view("request") or NO_VIEW, exchange.view("response") or NO_VIEW, shape)


@cache
def row_of(key: int | None) -> Row | None:
    """The row of an API, compiled when it is first needed; None for a number that no API has."""
    if key is None:
        return TOKEN
    if key in FUNCTIONS:
        return FUNCTIONS[key]
    return compiled(ROWS[key]) if key in ROWS else None


def _token(exchange: Exchange, _request: View, _response: View, _shape: Shape) -> list[str]:
    sizes = exchange.request_size, exchange.response_size
    return [" → ".join("–" if size is None else amount(size) for size in sizes)]


def _partitions(elements: list[dict[str, Any]], inner: str, index: str, names: Names, shape: Shape) -> str:
    """`orders[0,3,5] payments[1]` of elements that have a topic and a list of partitions."""
    if len(elements) == 1:
        element = elements[0]
        parts = element.get(inner)
        if parts and len(parts) == 1:
            return f"{topic_of(element, names, shape)}[{parts[0].get(index, '')}]"
        numbers = [part[index] for part in parts or () if index in part]
        return f"{topic_of(element, names, shape)}[{numbers[0] if len(numbers) == 1 else ranges(numbers)}]"
    topics: dict[str, list[int]] = {}
    for element in elements:
        held = topics.setdefault(topic_of(element, names, shape), [])
        held += [part[index] for part in element.get(inner) or () if index in part]
    return listed([f"{topic}[{ranges(held)}]" for topic, held in topics.items()], shape.items)


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


def _produce(exchange: Exchange, request: View, response: View, shape: Shape) -> list[str]:
    topics = request.get("topic_data") or []
    if not topics:
        return []
    # When a side cannot be decoded its view ends in the middle: any key may be missing.
    facts = [_partitions(topics, "partition_data", "index", exchange.topic_name, shape)]
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
        offset = _only(answers, "partition_responses", "base_offset")
        if offset is not None and offset >= 0:
            facts.append(f"at {offset}")
        if response.get("throttle_time_ms"):
            facts += _throttle(response)
    return facts


def _throttle(response: View) -> list[str]:
    ms = response.get("throttle_time_ms")
    return [f"throttled {period(ms)}"] if ms else []


def _fetch(exchange: Exchange, request: View, response: View, shape: Shape) -> list[str]:
    names = exchange.topic_name
    asked = request.get("topics") or []
    given = response.get("responses") or []
    facts: list[str] = []
    if asked:
        facts.append(_partitions(asked, "partitions", "partition", names, shape))
        start = _only(asked, "partitions", "fetch_offset")
        if start is not None:
            facts.append(f"from {start}")
    elif given:
        facts.append(_partitions(given, "partitions", "partition_index", names, shape))
    else:
        facts += _session(exchange)
    if response:
        count, size, codec = _contents(exchange.response_raw, given, "partitions")
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
    if (asked or given) and (exchange.api_version or 0) >= SESSIONS_SINCE:
        facts += _session(exchange)
    if response.get("throttle_time_ms"):
        facts += _throttle(response)
    return facts


def _only(elements: list[dict[str, Any]], inner: str, name: str) -> Any:
    """A field of the only partition of the only topic; None where there are more."""
    if len(elements) != 1:
        return None
    parts = elements[0].get(inner)
    return parts[0].get(name) if parts and len(parts) == 1 else None


def _waited(exchange: Exchange, request: View) -> bool:
    """Whether the answer came when the time that the client would wait was over."""
    most, took = request.get("max_wait_ms"), exchange.latency_ms
    return most is not None and most > 1 and took is not None and took >= 0.9 * most


def _session(exchange: Exchange) -> list[str]:
    session = exchange.fetch_session
    return [f"session {session['id']}/{session['epoch']}"] if session and session["id"] else []


def _share_fetch(exchange: Exchange, request: View, response: View, shape: Shape) -> list[str]:
    names = exchange.topic_name
    facts = [f"group {request.get('group_id')}"] if request.get("group_id") else []
    asked = request.get("topics") or []
    given = response.get("responses") or []
    if asked or given:
        facts.append(_partitions(asked or given, "partitions", "partition_index", names, shape))
    if response:
        count, size, codec = _contents(exchange.response_raw, given, "partitions")
        facts.append(f"→ {count}")
        facts += [text for text in (size, codec) if text]
    if request.get("share_session_epoch") is not None:
        facts.append(f"session epoch {request['share_session_epoch']}")
    return facts


def _list_offsets(exchange: Exchange, request: View, response: View, shape: Shape) -> list[str]:
    asked = request.get("topics") or []
    facts = [_partitions(asked, "partitions", "partition_index", exchange.topic_name, shape)] if asked else []
    stamps = dict.fromkeys(part.get("timestamp", 0) for topic in asked for part in topic.get("partitions") or ())
    said = [WORDS["timestamp"].get(stamp) or f"at {stamp}" for stamp in stamps]
    if said:
        facts.append(listed(said, shape.items))
    offsets: list[str] = []
    for topic in response.get("topics") or ():
        for part in topic.get("partitions") or ():
            old = part.get("old_style_offsets")
            offsets.append(",".join(map(str, old)) if old else str(part.get("offset", -1)))
    if offsets:
        facts.append(f"→ {listed(offsets, shape.items)}")
    return facts


def _metadata(exchange: Exchange, request: View, response: View, shape: Shape) -> list[str]:
    names = exchange.topic_name
    asked = request.get("topics")
    if asked:
        facts = [listed([topic_of(topic, names, shape) for topic in asked], shape.items)]
    elif request:
        facts = ["all topics" if asked is None or exchange.api_version == 0 else "brokers only"]
    else:
        facts = []
    if response:
        brokers, topics = response.get("brokers") or (), response.get("topics") or ()
        counts = [counted(len(brokers), "broker")]
        if topics and (not asked or len(asked) != len(topics)):
            counts.append(counted(len(topics), "topic"))
        facts.append("→ " + ", ".join(counts))
        if response.get("controller_id", -1) >= 0:
            facts.append(f"controller {response['controller_id']}")
    return facts


def _find_coordinator(_exchange: Exchange, request: View, response: View, shape: Shape) -> list[str]:
    kind = word("coordinator", request.get("key_type") or 0)
    keys = request.get("coordinator_keys") or ([request["key"]] if request.get("key") is not None else [])
    facts = [f"{kind} {listed(keys, shape.items)}"] if keys else []
    found = response.get("coordinators") or ([response] if "node_id" in response else [])
    nodes = dict.fromkeys(
        f"node {one['node_id']} {one.get('host')}:{one.get('port')}" for one in found if one.get("node_id", -1) >= 0
    )
    if nodes:
        facts.append(f"→ {listed(list(nodes), shape.items)}")
    return facts


def _create_topics(_exchange: Exchange, request: View, _response: View, shape: Shape) -> list[str]:
    topics = request.get("topics") or []
    sizes = [_size_of(topic) for topic in topics]
    names = [topic.get("name", "?") for topic in topics]
    if len(set(sizes)) == 1:
        facts = [listed(names, shape.items), sizes[0]]
    else:
        facts = [listed([f"{name} {size}" for name, size in zip(names, sizes, strict=True)], shape.items)]
    configs = dict.fromkeys(config.get("name", "?") for topic in topics for config in topic.get("configs") or ())
    if configs:
        facts.append(f"set {listed(list(configs), shape.items)}")
    return [*facts, "validate only"] if request.get("validate_only") else facts


def _size_of(topic: View) -> str:
    """Partitions × replicas of a topic to be."""
    partitions, factor = topic.get("num_partitions", -1), topic.get("replication_factor", -1)
    return f"{'default' if partitions < 0 else partitions}×{'default' if factor < 0 else factor}"


def _reassigned(exchange: Exchange, request: View, _response: View, shape: Shape) -> list[str]:
    return _placed(exchange, request, shape, ("replicas",))


def _alter_partition(exchange: Exchange, request: View, _response: View, shape: Shape) -> list[str]:
    facts = _placed(exchange, request, shape, ("new_isr", "new_isr_with_epochs"))
    return [*facts, f"broker {request['broker_id']}"] if "broker_id" in request else facts


def _placed(exchange: Exchange, request: View, shape: Shape, fields: tuple[str, ...]) -> list[str]:
    """`orders[1]→1,2,3` for each partition that gets other replicas."""
    found: list[str] = []
    for topic in request.get("topics") or ():
        name = topic_of(topic, exchange.topic_name, shape)
        for part in topic.get("partitions") or ():
            nodes = next((part[field] for field in fields if part.get(field) is not None), None)
            numbers = [node["broker_id"] if isinstance(node, dict) else node for node in nodes or ()]
            target = ",".join(map(str, numbers)) if nodes is not None else "as before"
            found.append(f"{name}[{part.get('partition_index', '')}]→{target}")
    most = len(found) if shape.items is None else shape.items
    return found[:most] + ([f"+{len(found) - most}"] if len(found) > most else [])


def _api_versions(exchange: Exchange, request: View, response: View, _shape: Shape) -> list[str]:
    facts = []
    if request.get("client_software_name"):
        facts.append(f"{request['client_software_name']} {request.get('client_software_version')}")
    elif exchange.client_software:
        facts.append(f"{exchange.client_software['name']} {exchange.client_software['version']}")
    if response.get("api_keys"):
        facts.append(f"→ {counted(len(response['api_keys']), 'API')}")
    return facts


def _sasl_authenticate(exchange: Exchange, request: View, response: View, shape: Shape) -> list[str]:
    facts = _token(exchange, request, response, shape)
    if response.get("session_lifetime_ms"):
        facts.append(f"session {period(response['session_lifetime_ms'])}")
    if response.get("error_message"):
        facts.append(response["error_message"])
    return facts


def _envelope(exchange: Exchange, request: View, _response: View, shape: Shape) -> list[str]:
    span = request.get("request_data")
    if type(span) is not tuple or span[1] < 10 or exchange.request_raw is None:
        return []
    head = exchange.request_raw[span[0] : span[0] + 4]
    key, version = int.from_bytes(head[:2], "big"), int.from_bytes(head[2:], "big")
    name = api(key).name if key in NAMES else f"UNKNOWN({key})"
    return [f"forwards {short(name, shape)} {version}"]


def _hand(facts: Facts, request: str, response: str) -> Row:
    return Row(frozenset(request.split()), frozenset(response.split()), facts)


# A raw SASL token, which belongs to no API.
TOKEN: Final = _hand(_token, "", "")
# API key → what it needs of its request, of its response, and what makes the facts of it.
FUNCTIONS: Final[dict[int, Row]] = {
    0: _hand(
        _produce,
        "transactional_id acks topic_data[].name topic_data[].topic_id topic_data[].partition_data[].index"
        " topic_data[].partition_data[].records:span",
        "responses[].partition_responses[].base_offset throttle_time_ms",
    ),
    1: _hand(
        _fetch,
        "replica_id replica_state.replica_id max_wait_ms session_id session_epoch topics[].topic topics[].topic_id"
        " topics[].partitions[].partition topics[].partitions[].fetch_offset",
        "throttle_time_ms session_id responses[].topic responses[].topic_id responses[].partitions[].partition_index"
        " responses[].partitions[].records:span",
    ),
    2: _hand(
        _list_offsets,
        "topics[].name topics[].partitions[].partition_index topics[].partitions[].timestamp",
        "topics[].partitions[].offset topics[].partitions[].old_style_offsets",
    ),
    3: _hand(
        _metadata,
        "topics[].name topics[].topic_id",
        "brokers[].node_id brokers[].host brokers[].port controller_id topics[].name",
    ),
    10: _hand(
        _find_coordinator,
        "key key_type coordinator_keys",
        "node_id host port coordinators[].node_id coordinators[].host coordinators[].port",
    ),
    18: _hand(_api_versions, "client_software_name client_software_version", "api_keys[].api_key"),
    19: _hand(
        _create_topics,
        "topics[].name topics[].num_partitions topics[].replication_factor topics[].configs[].name validate_only",
        "",
    ),
    36: _hand(_sasl_authenticate, "", "error_message session_lifetime_ms"),
    45: _hand(_reassigned, "topics[].name topics[].partitions[].partition_index topics[].partitions[].replicas", ""),
    56: _hand(
        _alter_partition,
        "broker_id topics[].topic_name topics[].topic_id topics[].partitions[].partition_index"
        " topics[].partitions[].new_isr topics[].partitions[].new_isr_with_epochs[].broker_id",
        "",
    ),
    58: _hand(_envelope, "request_data:span", ""),
    78: _hand(
        _share_fetch,
        "group_id share_session_epoch topics[].topic_id topics[].partitions[].partition_index",
        "responses[].topic_id responses[].partitions[].partition_index responses[].partitions[].records:span",
    ),
}


@cache
def needs(key: int, side: Side) -> frozenset[str]:
    """The paths that the facts of an API read of a side."""
    row = row_of(key)
    if row is None:
        return frozenset()
    declared = api(key).request if side == "request" else api(key).response
    paths = row.request if side == "request" else row.response
    # A row names a topic by whatever field may hold it; the message has some of them.
    return frozenset(path for path in paths if _is_declared(declared.fields, path.partition(":")[0]))


def _is_declared(fields: Iterable[Field], path: str) -> bool:
    head, _, rest = path.partition(".")
    name = head.removesuffix("[]")
    return any(field.name == name and (not rest or _is_declared(field.fields, rest)) for field in fields)
