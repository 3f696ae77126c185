"""An exchange in, the facts of its line out: functions for the APIs that need more than a row of text."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import TYPE_CHECKING, Any, Final

from decoders.apis import NAMES, api, section
from decoders.records.summary import read_sole_batch, summarize_view
from decoders.wire.readable_text import clean, format_size
from kwcli.output.facts.compile_facts import WORDS, FactRoom, FactRow, Facts, Names, View, short, topic_of, word
from kwcli.output.facts.compile_facts import row as compiled
from kwcli.output.short_texts import count_of, format_period, format_ranges, join_some

if TYPE_CHECKING:
    from decoders.exchanges.exchange import Exchange
    from decoders.schema.model import Field, Side
    from kwcli.output.facts.compile_facts import Facts

NO_VIEW: Final[View] = {}


def no_facts(_exchange: Exchange, _request: View, _response: View, _room: FactRoom) -> list[str]:
    """The facts of an unknown API: none."""
    return []


@cache
def row_of(key: int | None) -> FactRow | None:
    """The row of an API, compiled when it is first needed; None for a number that no API has."""
    if key is None:
        return TOKEN
    if key in FUNCTIONS:
        return FUNCTIONS[key]
    line = section(key, "line")
    return None if line is None else compiled(line)


# Produce and Fetch: lines that come most often, so that nothing in them is looked up twice.


NOTHING: Final = ("0 rec", "", "")
UNCOMPRESSED: Final = ("none",)
ACKS: Final = WORDS["acks"]
# Ready-made texts of the record counts that most batches have.
COUNTS: Final = tuple(f"{count} rec" for count in range(1000))


def _single_partition(elements: list[dict[str, Any]], inner: str) -> dict[str, Any] | None:
    """The only partition of the only topic, the usual case; None where there are more."""
    if len(elements) == 1:
        parts: list[dict[str, Any]] | None = elements[0].get(inner)
        if parts and len(parts) == 1:
            return parts[0]
    return None


def partitions(elements: list[dict[str, Any]], inner: str, index: str, names: Names, room: FactRoom) -> str:
    """`orders[0,3,5] payments[1]` for elements that have a topic and a list of partitions."""
    topics: dict[str, list[int]] = {}
    for element in elements:
        held = topics.setdefault(topic_of(element, names, room), [])
        held += [part[index] for part in element.get(inner) or () if index in part]
    return join_some([f"{topic}[{format_ranges(held)}]" for topic, held in topics.items()], room.items)


def _batch_texts(raw: bytes | None, span: Any) -> tuple[str, str, str]:
    """Records, bytes and codecs of one records field; `0 rec` alone where there are none."""
    alone = read_sole_batch(raw, *span) if span.__class__ is tuple and raw is not None else None
    if alone is not None:
        count, codec = alone
        size = span[1]
        named = "" if codec == "none" else codec
    else:
        found = summarize_view(span, raw)
        if found is None:
            return NOTHING
        count, size = found.records, found.size
        named = ",".join(codec for codec in found.codecs if codec != "none")
    return COUNTS[count] if count < 1000 else f"{count} rec", f"{size}B" if size < 1000 else format_size(size), named


def _content_texts(raw: bytes | None, elements: list[dict[str, Any]], inner: str) -> tuple[str, str, str]:
    """Records, bytes and codecs of the batches in these partitions; `0 rec` alone where there are none."""
    records = size = 0
    codecs: tuple[str, ...] = ()
    for element in elements:
        for part in element.get(inner) or ():
            found = summarize_view(part.get("records"), raw)
            if found is not None:
                records += found.records
                size += found.size
                if found.codecs != UNCOMPRESSED:
                    codecs += found.codecs
    if not size:
        return NOTHING
    named = ",".join(dict.fromkeys(codec for codec in codecs if codec != "none")) if codecs else ""
    return f"{records} rec", f"{size}B" if size < 1000 else format_size(size), named


def _no_records_text(exchange: Exchange) -> str:
    """The text for no visible record: `? rec` for exchanges of a broker's log, which tells no counts."""
    return "? rec" if exchange.record is not None and "server" in exchange.record else NOTHING[0]


def produce(exchange: Exchange, request: View, response: View, room: FactRoom) -> list[str]:
    """`orders[3]`, `412 rec`, `38.1kB`, `zstd`, `acks=all`, `at 1042`."""
    topics = request.get("topic_data")
    if not topics:
        return []
    # The view of a side that cannot be decoded ends in the middle: any key may be missing.
    part = _single_partition(topics, "partition_data")
    if part is not None:
        name = topics[0].get("name") or topic_of(topics[0], exchange.topic_name, room)
        facts = [f"{name}[{part.get('index', '')}]"]
        count, size, codec = _batch_texts(exchange.request_raw, part.get("records"))
    else:
        facts = [partitions(topics, "partition_data", "index", exchange.topic_name, room)]
        count, size, codec = _content_texts(exchange.request_raw, topics, "partition_data")
    facts.append(count if size else _no_records_text(exchange))
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
        answer = _single_partition(answers, "partition_responses")
        if answer is not None and answer.get("base_offset", -1) >= 0:
            facts.append(f"at {answer['base_offset']}")
        if response.get("throttle_time_ms"):
            facts += _throttle_facts(response)
    return facts


def _throttle_facts(response: View) -> list[str]:
    ms = response.get("throttle_time_ms")
    return [f"throttled {format_period(ms)}"] if ms else []


def fetch(exchange: Exchange, request: View, response: View, room: FactRoom) -> list[str]:
    """`orders[0]`, `from 1042`, `→ 0 rec`, `(waited 500ms)`."""
    asked = request.get("topics")
    given = response.get("responses")
    facts = _fetched_partition_facts(exchange, asked, given, room)
    if response:
        one = _single_partition(given, "partitions") if given else None
        if one is not None:
            count, size, codec = _batch_texts(exchange.response_raw, one.get("records"))
        else:
            count, size, codec = _content_texts(exchange.response_raw, given or [], "partitions")
        facts.append(f"→ {count if size else _no_records_text(exchange)}")
        if size:
            facts.append(size)
            if codec:
                facts.append(codec)
        elif _has_waited(exchange, request):
            facts.append(f"(waited {format_period(request['max_wait_ms'])})")
    replica = request.get("replica_id", -1)
    if replica is None or replica < 0:
        state = request.get("replica_state")
        replica = state.get("replica_id", -1) if state else -1
    if replica >= 0:
        facts.append(f"replica {replica}")
    if (asked or given) and request.get("session_epoch"):
        facts += _session_facts(exchange)
    if response.get("throttle_time_ms"):
        facts += _throttle_facts(response)
    return facts


def _fetched_partition_facts(exchange: Exchange, asked: Any, given: Any, room: FactRoom) -> list[str]:
    """The partitions that a fetch is about, and the offset where there is a single one."""
    if not asked:
        if given:
            return [partitions(given, "partitions", "partition_index", exchange.topic_name, room)]
        return _session_facts(exchange)
    part = _single_partition(asked, "partitions")
    if part is None:
        return [partitions(asked, "partitions", "partition", exchange.topic_name, room)]
    name = asked[0].get("topic") or topic_of(asked[0], exchange.topic_name, room)
    facts = [f"{name}[{part.get('partition', '')}]"]
    if "fetch_offset" in part:
        facts.append(f"from {part['fetch_offset']}")
    return facts


def _has_waited(exchange: Exchange, request: View) -> bool:
    """Whether the answer came only when the wait time that the client allows was over."""
    most, took = request.get("max_wait_ms"), exchange.latency_ms
    return most is not None and most > 1 and took is not None and took >= 0.9 * most


def _session_facts(exchange: Exchange) -> list[str]:
    session = exchange.fetch_session
    return [f"session {session['id']}/{session['epoch']}"] if session and session["id"] else []


def share_fetch(exchange: Exchange, request: View, response: View, room: FactRoom) -> list[str]:
    """`group g`, `orders[0]`, `→ 12 rec`."""
    names = exchange.topic_name
    facts = [f"group {request.get('group_id')}"] if request.get("group_id") else []
    asked = request.get("topics") or []
    given = response.get("responses") or []
    if asked or given:
        facts.append(partitions(asked or given, "partitions", "partition_index", names, room))
    if response:
        count, size, codec = _content_texts(exchange.response_raw, given, "partitions")
        facts.append(f"→ {count if size else _no_records_text(exchange)}")
        facts += [text for text in (size, codec) if text]
    if request.get("share_session_epoch") is not None:
        facts.append(f"session epoch {request['share_session_epoch']}")
    return facts


# All other APIs.


def _token(exchange: Exchange, _request: View, _response: View, _room: FactRoom) -> list[str]:
    said = exchange.extra.get("sasl") if exchange.extra else None
    who = [text for text in (exchange.user, exchange.mechanism) if text]
    if said or len(who) > 1:
        return [" ".join(who), *_step(said or {})]
    sizes = exchange.request_size, exchange.response_size
    return [" → ".join("–" if size is None else format_size(size) for size in sizes)]


def _step(said: View) -> list[str]:
    """The facts of one step of a login, besides mechanism and user."""
    facts = [text.format(**said) for key, text in _SASL.items() if key in said]
    return [*facts, " → ".join(said[key] for key in ("step", "answer") if key in said)]


# Keys of `sasl` in the record → their text in a line.
_SASL: Final = {
    "acting_as": "acting as {acting_as}",
    "token_id": "by delegation token",
    "service": "for {service}",
    "realm": "in {realm}",
    "expires": "until {expires}",
    "refusal": "refused: {refusal}",
}


def _list_offsets(exchange: Exchange, request: View, response: View, room: FactRoom) -> list[str]:
    asked = request.get("topics") or []
    facts = [partitions(asked, "partitions", "partition_index", exchange.topic_name, room)] if asked else []
    stamps = dict.fromkeys(part.get("timestamp", 0) for topic in asked for part in topic.get("partitions") or ())
    said = [WORDS["timestamp"].get(stamp) or f"at {stamp}" for stamp in stamps]
    if said:
        facts.append(join_some(said, room.items))
    offsets: list[str] = []
    for topic in response.get("topics") or ():
        for part in topic.get("partitions") or ():
            old = part.get("old_style_offsets")
            offsets.append(",".join(map(str, old)) if old else str(part.get("offset", -1)))
    if offsets:
        facts.append(f"→ {join_some(offsets, room.items)}")
    return facts


def _metadata(exchange: Exchange, request: View, response: View, room: FactRoom) -> list[str]:
    names = exchange.topic_name
    asked = request.get("topics")
    if asked:
        facts = [join_some([topic_of(topic, names, room) for topic in asked], room.items)]
    elif request:
        facts = ["all topics" if asked is None or exchange.api_version == 0 else "brokers only"]
    else:
        facts = []
    if response:
        brokers, topics = response.get("brokers") or (), response.get("topics") or ()
        counts = [count_of(len(brokers), "broker")]
        if topics and (not asked or len(asked) != len(topics)):
            counts.append(count_of(len(topics), "topic"))
        facts.append("→ " + ", ".join(counts))
        if response.get("controller_id", -1) >= 0:
            facts.append(f"controller {response['controller_id']}")
    return facts


def _find_coordinator(_exchange: Exchange, request: View, response: View, room: FactRoom) -> list[str]:
    kind = word("coordinator", request.get("key_type") or 0)
    keys = request.get("coordinator_keys") or ([request["key"]] if request.get("key") is not None else [])
    facts = [f"{kind} {join_some(keys, room.items)}"] if keys else []
    found = response.get("coordinators") or ([response] if "node_id" in response else [])
    nodes = dict.fromkeys(
        f"node {one['node_id']} {one.get('host')}:{one.get('port')}" for one in found if one.get("node_id", -1) >= 0
    )
    if nodes:
        facts.append(f"→ {join_some(list(nodes), room.items)}")
    return facts


def _create_topics(_exchange: Exchange, request: View, _response: View, room: FactRoom) -> list[str]:
    topics = request.get("topics") or []
    sizes = [_format_topic_size(topic) for topic in topics]
    names = [topic.get("name", "?") for topic in topics]
    if len(set(sizes)) == 1:
        facts = [join_some(names, room.items), sizes[0]]
    else:
        facts = [join_some([f"{name} {size}" for name, size in zip(names, sizes, strict=True)], room.items)]
    configs = dict.fromkeys(config.get("name", "?") for topic in topics for config in topic.get("configs") or ())
    if configs:
        facts.append(f"set {join_some(list(configs), room.items)}")
    return [*facts, "validate only"] if request.get("validate_only") else facts


def _format_topic_size(topic: View) -> str:
    """Partitions × replicas of a topic to be created."""
    partitions, factor = topic.get("num_partitions", -1), topic.get("replication_factor", -1)
    return f"{'default' if partitions < 0 else partitions}×{'default' if factor < 0 else factor}"


def _reassignment_facts(exchange: Exchange, request: View, _response: View, room: FactRoom) -> list[str]:
    return _placement_facts(exchange, request, room, ("replicas",))


def _alter_partition(exchange: Exchange, request: View, _response: View, room: FactRoom) -> list[str]:
    facts = _placement_facts(exchange, request, room, ("new_isr", "new_isr_with_epochs"))
    return [*facts, f"broker {request['broker_id']}"] if "broker_id" in request else facts


def _placement_facts(exchange: Exchange, request: View, room: FactRoom, fields: tuple[str, ...]) -> list[str]:
    """`orders[1]→1,2,3` for each partition that gets other replicas."""
    found: list[str] = []
    for topic in request.get("topics") or ():
        name = topic_of(topic, exchange.topic_name, room)
        for part in topic.get("partitions") or ():
            nodes = next((part[field] for field in fields if part.get(field) is not None), None)
            numbers = [node["broker_id"] if isinstance(node, dict) else node for node in nodes or ()]
            target = ",".join(map(str, numbers)) if nodes is not None else "as before"
            found.append(f"{name}[{part.get('partition_index', '')}]→{target}")
    most = len(found) if room.items is None else room.items
    return found[:most] + ([f"+{len(found) - most}"] if len(found) > most else [])


def _api_versions(exchange: Exchange, request: View, response: View, _room: FactRoom) -> list[str]:
    facts = []
    if request.get("client_software_name"):
        facts.append(f"{request['client_software_name']} {request.get('client_software_version')}")
    elif exchange.client_software:
        facts.append(f"{exchange.client_software['name']} {exchange.client_software['version']}")
    if response.get("api_keys"):
        facts.append(f"→ {count_of(len(response['api_keys']), 'API')}")
    return facts


def _sasl_authenticate(exchange: Exchange, request: View, response: View, room: FactRoom) -> list[str]:
    facts = _token(exchange, request, response, room)
    if response.get("session_lifetime_ms"):
        facts.append(f"session {format_period(response['session_lifetime_ms'])}")
    if response.get("error_message"):
        from decoders.messages.body_json import conceal_of

        conceal = conceal_of(exchange)
        facts.append(conceal(response["error_message"]) if conceal is not None else response["error_message"])
    return facts


def _envelope(exchange: Exchange, request: View, _response: View, room: FactRoom) -> list[str]:
    span = request.get("request_data")
    if type(span) is not tuple or span[1] < 10 or exchange.request_raw is None:
        return []
    head = exchange.request_raw[span[0] : span[0] + 4]
    key, version = int.from_bytes(head[:2], "big"), int.from_bytes(head[2:], "big")
    name = api(key).name if key in NAMES else f"UNKNOWN({key})"
    return [f"forwards {short(name, room)} {version}"]


def _hand(facts: Facts, request: str, response: str) -> FactRow:
    return FactRow(frozenset(request.split()), frozenset(response.split()), facts)


# A raw SASL token, which belongs to no API.
TOKEN: Final = _hand(_token, "", "")
# API key → the paths read of its request and of its response, and the function that makes its facts.
FUNCTIONS: Final[dict[int, FactRow]] = {
    0: _hand(
        produce,
        "transactional_id acks topic_data[].name topic_data[].topic_id topic_data[].partition_data[].index"
        " topic_data[].partition_data[].records:span",
        "responses[].partition_responses[].base_offset throttle_time_ms",
    ),
    1: _hand(
        fetch,
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
    45: _hand(
        _reassignment_facts, "topics[].name topics[].partitions[].partition_index topics[].partitions[].replicas", ""
    ),
    56: _hand(
        _alter_partition,
        "broker_id topics[].topic_name topics[].topic_id topics[].partitions[].partition_index"
        " topics[].partitions[].new_isr topics[].partitions[].new_isr_with_epochs[].broker_id",
        "",
    ),
    58: _hand(_envelope, "request_data:span", ""),
    78: _hand(
        share_fetch,
        "group_id share_session_epoch topics[].topic_id topics[].partitions[].partition_index",
        "responses[].topic_id responses[].partitions[].partition_index responses[].partitions[].records:span",
    ),
}


@cache
def needs(key: int, side: Side) -> frozenset[str]:
    """The paths that the facts of an API read of one side."""
    row = row_of(key)
    if row is None:
        return frozenset()
    declared = api(key).message(side)
    paths = row.request if side == "request" else row.response
    # A row lists every field that may hold a topic; the message has some of them.
    return frozenset(path for path in paths if _is_declared(declared.fields, path.partition(":")[0]))


def _is_declared(fields: Iterable[Field], path: str) -> bool:
    head, _, rest = path.partition(".")
    name = head.removesuffix("[]")
    return any(field.name == name and (not rest or _is_declared(field.fields, rest)) for field in fields)


ENDINGS: Final[dict[str | None, str]] = {
    "fin": "unanswered at close",
    "rst": "unanswered at reset",
    "idle": "unanswered when the connection was given up",
    "capture_end": "unanswered at the end of the capture",
    None: "unanswered",
}


def trouble_of(exchange: Exchange) -> str:
    """What went wrong, in words; empty when nothing did."""
    words: list[str] = []
    if exchange.extra is not None and "fault" in exchange.extra:
        words.append(f"⚡ {exchange.extra['fault']['action']}")
    if exchange.extra is not None and "refused" in exchange.extra:
        words.append(f"⚡ refused by {exchange.extra['refused']['by']}")
    if exchange.error_codes:
        words += dict.fromkeys(error.name for error in exchange.errors)
    status = exchange.status
    if status == "unanswered":
        unseen = exchange.reason == "one_direction"
        words.append("its answer is not in the capture" if unseen else ENDINGS.get(exchange.closed, "unanswered"))
    elif status == "orphan_response":
        guessed = exchange.extra is not None and "guessed" in exchange.extra
        words.append("guessed" if guessed else "its request is not in the capture")
    failures = exchange.failures
    cut = [side for side, failure in failures.items() if failure.reason == "snaplen"]
    if cut and status != "orphan_response":
        words.append(f"{'' if len(cut) == 2 else f'{cut[0]} '}cut by the snaplen")
    for side, failure in failures.items():
        if status != "orphan_response" and side not in cut:
            place = f" at {failure.path}" if failure.path else ""
            words.append(f"{side} undecoded: {failure.reason}{place}")
    return clean(" ".join(words))


def facts_in(exchange: Exchange, facts_of: Facts, room: FactRoom) -> list[str]:
    """The facts of a line, as far as they are sure: nothing is counted in a side that cannot be decoded.

    If the request cannot be decoded, they are the topics and groups that it names before that point.
    """
    failures = exchange.failures
    request = exchange.view("request") or NO_VIEW
    if "request" not in failures:
        response = NO_VIEW if "response" in failures else exchange.view("response") or NO_VIEW
        return facts_of(exchange, request, response, room)
    from decoders.filters.fields import entity_names  # loads the filter language, which most captures do without

    topics = list(dict.fromkeys(entity_names(exchange, "request", "topicName")))
    groups = list(dict.fromkeys(entity_names(exchange, "request", "groupId")))
    return [*([join_some(topics, room.items)] if topics else []), *(f"group {name}" for name in groups if name)]


def summary(exchange: Exchange) -> str:
    """The text of an exchange's line after the API, with nothing cut."""
    row = row_of(exchange.api_key)
    facts = facts_in(exchange, row.facts if row else no_facts, FactRoom())
    trouble = trouble_of(exchange)
    return " ".join([*map(clean, facts[:1]), *([trouble] if trouble else []), *map(clean, facts[1:])])
