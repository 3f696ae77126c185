"""An exchange in, the facts of its line out: functions for the APIs that need more than a row of text."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import TYPE_CHECKING, Any, Final

from decoders.apis import NAMES, api, section
from decoders.errors import UnknownApi
from decoders.protocol_facts.api_keys import describe_unknown_api_key
from decoders.records.summarize_records import summarize_records_of_view, summarize_sole_batch
from decoders.wire.format_and_escape_text import escape_text, format_size
from kwcli.output.facts.compile_line_facts import (
    WORDS,
    ApiFacts,
    FactLimits,
    Facts,
    Names,
    View,
    compile_api_facts,
    format_topic_of_element,
    shorten_id,
    word_or_number,
)
from kwcli.output.short_texts import count_of, format_number_ranges, format_period, join_first_and_count_others

if TYPE_CHECKING:
    from decoders.exchanges.exchange import Exchange
    from decoders.schema.api_declaration import Field, Side
    from kwcli.output.facts.compile_line_facts import Facts

NO_VIEW: Final[View] = {}


def list_no_facts(_exchange: Exchange, _request: View, _response: View, _limits: FactLimits) -> list[str]:
    """The facts of an unknown API: none."""
    return []


@cache
def find_api_facts(key: int | None) -> ApiFacts | None:
    """The row of an API, compiled when it is first needed; None for a number that no API has."""
    if key is None:
        return TOKEN
    if key in FUNCTIONS:
        return FUNCTIONS[key]
    line = section(key, "line")
    return None if line is None else compile_api_facts(line)


# Produce and Fetch: lines that come most often, so that nothing in them is looked up twice.


NOTHING: Final = ("0 rec", "", "")
UNCOMPRESSED: Final = ("none",)
ACKS: Final = WORDS["acks"]
# Ready-made texts of the record counts that most batches have.
COUNTS: Final = tuple(f"{count} rec" for count in range(1000))


def _get_only_partition(elements: list[dict[str, Any]], inner: str) -> dict[str, Any] | None:
    """The only partition of the only topic, the usual case; None where there are more."""
    if len(elements) == 1:
        parts: list[dict[str, Any]] | None = elements[0].get(inner)
        if parts and len(parts) == 1:
            return parts[0]
    return None


def format_topics_with_partitions(
    elements: list[dict[str, Any]], inner: str, index: str, names: Names, limits: FactLimits
) -> str:
    """`orders[0,3,5] payments[1]` for elements that have a topic and a list of partitions."""
    topics: dict[str, list[int]] = {}
    for element in elements:
        held = topics.setdefault(format_topic_of_element(element, names, limits), [])
        held += [part[index] for part in element.get(inner) or () if index in part]
    return join_first_and_count_others(
        [f"{topic}[{format_number_ranges(held)}]" for topic, held in topics.items()], limits.items
    )


def _format_sole_batch(raw: bytes | None, span: Any) -> tuple[str, str, str]:
    """Records, bytes and codecs of one records field; `0 rec` alone where there are none."""
    alone = summarize_sole_batch(raw, *span) if span.__class__ is tuple and raw is not None else None
    if alone is not None:
        count, codec = alone
        size = span[1]
        named = "" if codec == "none" else codec
    else:
        found = summarize_records_of_view(span, raw)
        if found is None:
            return NOTHING
        count, size = found.records, found.size
        named = ",".join(codec for codec in found.codecs if codec != "none")
    return COUNTS[count] if count < 1000 else f"{count} rec", f"{size}B" if size < 1000 else format_size(size), named


def _format_records_content(raw: bytes | None, elements: list[dict[str, Any]], inner: str) -> tuple[str, str, str]:
    """Records, bytes and codecs of the batches in these partitions; `0 rec` alone where there are none."""
    records = size = 0
    codecs: tuple[str, ...] = ()
    for element in elements:
        for part in element.get(inner) or ():
            found = summarize_records_of_view(part.get("records"), raw)
            if found is not None:
                records += found.records
                size += found.size
                if found.codecs != UNCOMPRESSED:
                    codecs += found.codecs
    if not size:
        return NOTHING
    named = ",".join(dict.fromkeys(codec for codec in codecs if codec != "none")) if codecs else ""
    return f"{records} rec", f"{size}B" if size < 1000 else format_size(size), named


def _format_empty_fetch(exchange: Exchange) -> str:
    """The text for no visible record: `? rec` for exchanges of a broker's log, which tells no counts."""
    return "? rec" if exchange.record is not None and "server" in exchange.record else NOTHING[0]


def list_produce_facts(exchange: Exchange, request: View, response: View, limits: FactLimits) -> list[str]:
    """`orders[3]`, `412 rec`, `38.1kB`, `zstd`, `acks=all`, `at 1042`."""
    topics = request.get("topic_data")
    if not topics:
        return []
    # The view of a side that cannot be decoded ends in the middle: any key may be missing.
    part = _get_only_partition(topics, "partition_data")
    if part is not None:
        name = topics[0].get("name") or format_topic_of_element(topics[0], exchange.topic_name, limits)
        facts = [f"{name}[{part.get('index', '')}]"]
        count, size, codec = _format_sole_batch(exchange.request_raw, part.get("records"))
    else:
        facts = [format_topics_with_partitions(topics, "partition_data", "index", exchange.topic_name, limits)]
        count, size, codec = _format_records_content(exchange.request_raw, topics, "partition_data")
    facts.append(count if size else _format_empty_fetch(exchange))
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
        answer = _get_only_partition(answers, "partition_responses")
        if answer is not None and answer.get("base_offset", -1) >= 0:
            facts.append(f"at {answer['base_offset']}")
        if response.get("throttle_time_ms"):
            facts += _list_throttle_facts(response)
    return facts


def _list_throttle_facts(response: View) -> list[str]:
    ms = response.get("throttle_time_ms")
    return [f"throttled {format_period(ms)}"] if ms else []


def list_fetch_facts(exchange: Exchange, request: View, response: View, limits: FactLimits) -> list[str]:
    """`orders[0]`, `from 1042`, `→ 0 rec`, `(waited 500ms)`."""
    asked = request.get("topics")
    given = response.get("responses")
    facts = _list_fetched_partition_facts(exchange, asked, given, limits)
    if response:
        one = _get_only_partition(given, "partitions") if given else None
        if one is not None:
            count, size, codec = _format_sole_batch(exchange.response_raw, one.get("records"))
        else:
            count, size, codec = _format_records_content(exchange.response_raw, given or [], "partitions")
        facts.append(f"→ {count if size else _format_empty_fetch(exchange)}")
        if size:
            facts.append(size)
            if codec:
                facts.append(codec)
        elif _has_waited_for_data(exchange, request):
            facts.append(f"(waited {format_period(request['max_wait_ms'])})")
    replica = request.get("replica_id", -1)
    if replica is None or replica < 0:
        state = request.get("replica_state")
        replica = state.get("replica_id", -1) if state else -1
    if replica >= 0:
        facts.append(f"replica {replica}")
    if (asked or given) and request.get("session_epoch"):
        facts += _list_fetch_session_facts(exchange)
    if response.get("throttle_time_ms"):
        facts += _list_throttle_facts(response)
    return facts


def _list_fetched_partition_facts(exchange: Exchange, asked: Any, given: Any, limits: FactLimits) -> list[str]:
    """The partitions that a fetch is about, and the offset where there is a single one."""
    if not asked:
        if given:
            return [format_topics_with_partitions(given, "partitions", "partition_index", exchange.topic_name, limits)]
        return _list_fetch_session_facts(exchange)
    part = _get_only_partition(asked, "partitions")
    if part is None:
        return [format_topics_with_partitions(asked, "partitions", "partition", exchange.topic_name, limits)]
    name = asked[0].get("topic") or format_topic_of_element(asked[0], exchange.topic_name, limits)
    facts = [f"{name}[{part.get('partition', '')}]"]
    if "fetch_offset" in part:
        facts.append(f"from {part['fetch_offset']}")
    return facts


def _has_waited_for_data(exchange: Exchange, request: View) -> bool:
    """Whether the answer came only when the wait time that the client allows was over."""
    most, took = request.get("max_wait_ms"), exchange.latency_ms
    return most is not None and most > 1 and took is not None and took >= 0.9 * most


def _list_fetch_session_facts(exchange: Exchange) -> list[str]:
    session = exchange.fetch_session
    return [f"session {session['id']}/{session['epoch']}"] if session and session["id"] else []


def list_share_fetch_facts(exchange: Exchange, request: View, response: View, limits: FactLimits) -> list[str]:
    """`group g`, `orders[0]`, `→ 12 rec`."""
    names = exchange.topic_name
    facts = [f"group {request.get('group_id')}"] if request.get("group_id") else []
    asked = request.get("topics") or []
    given = response.get("responses") or []
    if asked or given:
        facts.append(format_topics_with_partitions(asked or given, "partitions", "partition_index", names, limits))
    if response:
        count, size, codec = _format_records_content(exchange.response_raw, given, "partitions")
        facts.append(f"→ {count if size else _format_empty_fetch(exchange)}")
        facts += [text for text in (size, codec) if text]
    if request.get("share_session_epoch") is not None:
        facts.append(f"session epoch {request['share_session_epoch']}")
    return facts


# All other APIs.


def _list_sasl_token_facts(exchange: Exchange, _request: View, _response: View, _limits: FactLimits) -> list[str]:
    said = exchange.extra.get("sasl") if exchange.extra else None
    who = [text for text in (exchange.user, exchange.mechanism) if text]
    if said or len(who) > 1:
        return [" ".join(who), *_list_facts_of_sasl_step(said or {})]
    sizes = exchange.request_size, exchange.response_size
    return [" → ".join("–" if size is None else format_size(size) for size in sizes)]


def _list_facts_of_sasl_step(said: View) -> list[str]:
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


def _list_facts_of_list_offsets(exchange: Exchange, request: View, response: View, limits: FactLimits) -> list[str]:
    asked = request.get("topics") or []
    facts = (
        [format_topics_with_partitions(asked, "partitions", "partition_index", exchange.topic_name, limits)]
        if asked
        else []
    )
    stamps = dict.fromkeys(part.get("timestamp", 0) for topic in asked for part in topic.get("partitions") or ())
    said = [WORDS["timestamp"].get(stamp) or f"at {stamp}" for stamp in stamps]
    if said:
        facts.append(join_first_and_count_others(said, limits.items))
    offsets: list[str] = []
    for topic in response.get("topics") or ():
        for part in topic.get("partitions") or ():
            old = part.get("old_style_offsets")
            offsets.append(",".join(map(str, old)) if old else str(part.get("offset", -1)))
    if offsets:
        facts.append(f"→ {join_first_and_count_others(offsets, limits.items)}")
    return facts


def _list_metadata_facts(exchange: Exchange, request: View, response: View, limits: FactLimits) -> list[str]:
    names = exchange.topic_name
    asked = request.get("topics")
    if asked:
        facts = [
            join_first_and_count_others(
                [format_topic_of_element(topic, names, limits) for topic in asked], limits.items
            )
        ]
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


def _list_find_coordinator_facts(_exchange: Exchange, request: View, response: View, limits: FactLimits) -> list[str]:
    kind = word_or_number("coordinator", request.get("key_type") or 0)
    keys = request.get("coordinator_keys") or ([request["key"]] if request.get("key") is not None else [])
    facts = [f"{kind} {join_first_and_count_others(keys, limits.items)}"] if keys else []
    found = response.get("coordinators") or ([response] if "node_id" in response else [])
    nodes = dict.fromkeys(
        f"node {one['node_id']} {one.get('host')}:{one.get('port')}" for one in found if one.get("node_id", -1) >= 0
    )
    if nodes:
        facts.append(f"→ {join_first_and_count_others(list(nodes), limits.items)}")
    return facts


def _list_create_topics_facts(_exchange: Exchange, request: View, _response: View, limits: FactLimits) -> list[str]:
    topics = request.get("topics") or []
    sizes = [_format_partitions_by_replicas(topic) for topic in topics]
    names = [topic.get("name", "?") for topic in topics]
    if len(set(sizes)) == 1:
        facts = [join_first_and_count_others(names, limits.items), sizes[0]]
    else:
        facts = [
            join_first_and_count_others(
                [f"{name} {size}" for name, size in zip(names, sizes, strict=True)], limits.items
            )
        ]
    configs = dict.fromkeys(config.get("name", "?") for topic in topics for config in topic.get("configs") or ())
    if configs:
        facts.append(f"set {join_first_and_count_others(list(configs), limits.items)}")
    return [*facts, "validate only"] if request.get("validate_only") else facts


def _format_partitions_by_replicas(topic: View) -> str:
    """Partitions × replicas of a topic to be created."""
    partitions, factor = topic.get("num_partitions", -1), topic.get("replication_factor", -1)
    return f"{'default' if partitions < 0 else partitions}×{'default' if factor < 0 else factor}"


def _list_reassignment_facts(exchange: Exchange, request: View, _response: View, limits: FactLimits) -> list[str]:
    return _list_new_replicas_facts(exchange, request, limits, ("replicas",))


def _list_alter_partition_facts(exchange: Exchange, request: View, _response: View, limits: FactLimits) -> list[str]:
    facts = _list_new_replicas_facts(exchange, request, limits, ("new_isr", "new_isr_with_epochs"))
    return [*facts, f"broker {request['broker_id']}"] if "broker_id" in request else facts


def _list_new_replicas_facts(
    exchange: Exchange, request: View, limits: FactLimits, fields: tuple[str, ...]
) -> list[str]:
    """`orders[1]→1,2,3` for each partition that gets other replicas."""
    found: list[str] = []
    for topic in request.get("topics") or ():
        name = format_topic_of_element(topic, exchange.topic_name, limits)
        for part in topic.get("partitions") or ():
            nodes = next((part[field] for field in fields if part.get(field) is not None), None)
            numbers = [node["broker_id"] if isinstance(node, dict) else node for node in nodes or ()]
            target = ",".join(map(str, numbers)) if nodes is not None else "as before"
            found.append(f"{name}[{part.get('partition_index', '')}]→{target}")
    most = len(found) if limits.items is None else limits.items
    return found[:most] + ([f"+{len(found) - most}"] if len(found) > most else [])


def _list_api_versions_facts(exchange: Exchange, request: View, response: View, _limits: FactLimits) -> list[str]:
    facts = []
    if request.get("client_software_name"):
        facts.append(f"{request['client_software_name']} {request.get('client_software_version')}")
    elif exchange.client_software:
        facts.append(f"{exchange.client_software['name']} {exchange.client_software['version']}")
    if response.get("api_keys"):
        facts.append(f"→ {count_of(len(response['api_keys']), 'API')}")
    return facts


def _list_sasl_authenticate_facts(exchange: Exchange, request: View, response: View, limits: FactLimits) -> list[str]:
    facts = _list_sasl_token_facts(exchange, request, response, limits)
    if response.get("session_lifetime_ms"):
        facts.append(f"session {format_period(response['session_lifetime_ms'])}")
    if response.get("error_message"):
        from decoders.messages.build_body_json import make_concealer_of_exchange

        conceal = make_concealer_of_exchange(exchange)
        facts.append(conceal(response["error_message"]) if conceal is not None else response["error_message"])
    return facts


def _list_envelope_facts(exchange: Exchange, request: View, _response: View, limits: FactLimits) -> list[str]:
    span = request.get("request_data")
    if type(span) is not tuple or span[1] < 10 or exchange.request_raw is None:
        return []
    head = exchange.request_raw[span[0] : span[0] + 4]
    key, version = int.from_bytes(head[:2], "big"), int.from_bytes(head[2:], "big")
    name = api(key).name if key in NAMES else f"UNKNOWN({key})"
    return [f"forwards {shorten_id(name, limits)} {version}"]


def _make_api_facts(facts: Facts, request: str, response: str) -> ApiFacts:
    return ApiFacts(frozenset(request.split()), frozenset(response.split()), facts)


# A raw SASL token, which belongs to no API.
TOKEN: Final = _make_api_facts(_list_sasl_token_facts, "", "")
# API key → the paths read of its request and of its response, and the function that makes its facts.
FUNCTIONS: Final[dict[int, ApiFacts]] = {
    0: _make_api_facts(
        list_produce_facts,
        "transactional_id acks topic_data[].name topic_data[].topic_id topic_data[].partition_data[].index"
        " topic_data[].partition_data[].records:span",
        "responses[].partition_responses[].base_offset throttle_time_ms",
    ),
    1: _make_api_facts(
        list_fetch_facts,
        "replica_id replica_state.replica_id max_wait_ms session_id session_epoch topics[].topic topics[].topic_id"
        " topics[].partitions[].partition topics[].partitions[].fetch_offset",
        "throttle_time_ms session_id responses[].topic responses[].topic_id responses[].partitions[].partition_index"
        " responses[].partitions[].records:span",
    ),
    2: _make_api_facts(
        _list_facts_of_list_offsets,
        "topics[].name topics[].partitions[].partition_index topics[].partitions[].timestamp",
        "topics[].partitions[].offset topics[].partitions[].old_style_offsets",
    ),
    3: _make_api_facts(
        _list_metadata_facts,
        "topics[].name topics[].topic_id",
        "brokers[].node_id brokers[].host brokers[].port controller_id topics[].name",
    ),
    10: _make_api_facts(
        _list_find_coordinator_facts,
        "key key_type coordinator_keys",
        "node_id host port coordinators[].node_id coordinators[].host coordinators[].port",
    ),
    18: _make_api_facts(_list_api_versions_facts, "client_software_name client_software_version", "api_keys[].api_key"),
    19: _make_api_facts(
        _list_create_topics_facts,
        "topics[].name topics[].num_partitions topics[].replication_factor topics[].configs[].name validate_only",
        "",
    ),
    36: _make_api_facts(_list_sasl_authenticate_facts, "", "error_message session_lifetime_ms"),
    45: _make_api_facts(
        _list_reassignment_facts,
        "topics[].name topics[].partitions[].partition_index topics[].partitions[].replicas",
        "",
    ),
    56: _make_api_facts(
        _list_alter_partition_facts,
        "broker_id topics[].topic_name topics[].topic_id topics[].partitions[].partition_index"
        " topics[].partitions[].new_isr topics[].partitions[].new_isr_with_epochs[].broker_id",
        "",
    ),
    58: _make_api_facts(_list_envelope_facts, "request_data:span", ""),
    78: _make_api_facts(
        list_share_fetch_facts,
        "group_id share_session_epoch topics[].topic_id topics[].partitions[].partition_index",
        "responses[].topic_id responses[].partitions[].partition_index responses[].partitions[].records:span",
    ),
}


@cache
def facts_paths(key: int, side: Side) -> frozenset[str]:
    """The paths that the facts of an API read of one side."""
    row = find_api_facts(key)
    if row is None:
        return frozenset()
    declared = api(key).message(side)
    paths = row.request if side == "request" else row.response
    # A row lists every field that may hold a topic; the message has some of them.
    return frozenset(path for path in paths if _is_declared_path(declared.fields, path.partition(":")[0]))


def _is_declared_path(fields: Iterable[Field], path: str) -> bool:
    head, _, rest = path.partition(".")
    name = head.removesuffix("[]")
    return any(field.name == name and (not rest or _is_declared_path(field.fields, rest)) for field in fields)


ENDINGS: Final[dict[str | None, str]] = {
    "fin": "unanswered at close",
    "rst": "unanswered at reset",
    "idle": "unanswered when the connection was given up",
    "capture_end": "unanswered at the end of the capture",
    None: "unanswered",
}


# Reasons for which an answer that came is not seen.
_UNSEEN: Final = {
    "one_direction": "its answer is not in the capture",
    "lost": "its answer is in bytes that the capture lost",
}


def format_exchange_trouble(exchange: Exchange) -> str:
    """What went wrong, in words; empty when nothing did."""
    words: list[str] = []
    if exchange.extra is not None and "fault" in exchange.extra:
        words.append(f"⚡ {exchange.extra['fault']['action']}")
    if exchange.extra is not None and "refused" in exchange.extra:
        words.append(f"⚡ refused by {exchange.extra['refused']['by']}")
    if exchange._error_codes:
        words += dict.fromkeys(error.name for error in exchange.errors)
    status = exchange.status
    if status == "unanswered":
        words.append(_UNSEEN.get(exchange.reason or "") or ENDINGS.get(exchange.closed, "unanswered"))
    elif status == "orphan_response":
        guessed = exchange.extra is not None and "guessed" in exchange.extra
        unseen = "no request waits for it" if exchange.reason == "unasked" else "its request is not in the capture"
        words.append("guessed" if guessed else unseen)
    failures = exchange.failures
    cut = [side for side, failure in failures.items() if failure.reason == "snaplen"]
    if cut and status != "orphan_response":
        words.append(f"{'' if len(cut) == 2 else f'{cut[0]} '}cut by the snaplen")
    odd = [side for side, failure in failures.items() if failure.reason == UnknownApi.reason]
    if odd and status != "orphan_response":
        words.append(describe_unknown_api_key(exchange.api_key))
    for side, failure in failures.items():
        if status != "orphan_response" and side not in cut and side not in odd:
            place = f" at {failure.path}" if failure.path else ""
            words.append(f"{side} undecoded: {failure.reason}{place}")
    if exchange.extra is not None and "remarks" in exchange.extra:
        remark, *others = exchange.extra["remarks"]
        place = f" at {remark['path']}" if remark["path"] else ""
        words.append(f"remark: {remark['id']}{place}{f' and {len(others)} more' if others else ''}")
    return escape_text(" ".join(words))


def list_facts_of_decoded_sides(exchange: Exchange, facts_of: Facts, limits: FactLimits) -> list[str]:
    """The facts of a line, as far as they are sure: nothing is counted in a side that cannot be decoded.

    If the request cannot be decoded, they are the topics and groups that it names before that point.
    """
    failures = exchange.failures
    request = exchange.view("request") or NO_VIEW
    if "request" not in failures:
        response = NO_VIEW if "response" in failures else exchange.view("response") or NO_VIEW
        return facts_of(exchange, request, response, limits)
    from decoders.filters.filter_field_table import (
        entity_names,  # loads the filter language, which most captures do without
    )

    topics = list(dict.fromkeys(entity_names(exchange, "request", "topicName")))
    groups = list(dict.fromkeys(entity_names(exchange, "request", "groupId")))
    return [
        *([join_first_and_count_others(topics, limits.items)] if topics else []),
        *(f"group {name}" for name in groups if name),
    ]


def format_line_facts(exchange: Exchange) -> str:
    """The text of an exchange's line after the API, with nothing cut."""
    row = find_api_facts(exchange.api_key)
    facts = list_facts_of_decoded_sides(exchange, row.facts if row else list_no_facts, FactLimits())
    trouble = format_exchange_trouble(exchange)
    return " ".join(
        [
            *map(escape_text, facts[:1]),
            *([trouble] if trouble else []),
            *map(escape_text, facts[1:]),
        ]
    )
