"""An exchange in, the facts of its line out: functions for the APIs that need more than a row of text."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import TYPE_CHECKING, Final

from decoders.apis import NAMES, api
from decoders.filters.fields import names
from decoders.wire.units import format_size
from kwcli.output.fact_rows import ROWS, fetch, partitions, produce, share_fetch
from kwcli.output.facts import WORDS, FactRoom, FactRow, Facts, View, short, topic_of, word
from kwcli.output.facts import row as compiled
from kwcli.output.units import count_of, format_period, join_some
from kwcli.terminal import clean

if TYPE_CHECKING:
    from decoders.exchanges.exchange import Exchange
    from decoders.schema.model import Field, Side
    from kwcli.output.facts import Facts

NO_VIEW: Final[View] = {}


def no_facts(_exchange: Exchange, _request: View, _response: View, _shape: FactRoom) -> list[str]:
    """The facts of an unknown API: none."""
    return []


@cache
def row_of(key: int | None) -> FactRow | None:
    """The row of an API, compiled when it is first needed; None for a number that no API has."""
    if key is None:
        return TOKEN
    if key in FUNCTIONS:
        return FUNCTIONS[key]
    return compiled(ROWS[key]) if key in ROWS else None


def _token(exchange: Exchange, _request: View, _response: View, _shape: FactRoom) -> list[str]:
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


def _list_offsets(exchange: Exchange, request: View, response: View, shape: FactRoom) -> list[str]:
    asked = request.get("topics") or []
    facts = [partitions(asked, "partitions", "partition_index", exchange.topic_name, shape)] if asked else []
    stamps = dict.fromkeys(part.get("timestamp", 0) for topic in asked for part in topic.get("partitions") or ())
    said = [WORDS["timestamp"].get(stamp) or f"at {stamp}" for stamp in stamps]
    if said:
        facts.append(join_some(said, shape.items))
    offsets: list[str] = []
    for topic in response.get("topics") or ():
        for part in topic.get("partitions") or ():
            old = part.get("old_style_offsets")
            offsets.append(",".join(map(str, old)) if old else str(part.get("offset", -1)))
    if offsets:
        facts.append(f"→ {join_some(offsets, shape.items)}")
    return facts


def _metadata(exchange: Exchange, request: View, response: View, shape: FactRoom) -> list[str]:
    names = exchange.topic_name
    asked = request.get("topics")
    if asked:
        facts = [join_some([topic_of(topic, names, shape) for topic in asked], shape.items)]
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


def _find_coordinator(_exchange: Exchange, request: View, response: View, shape: FactRoom) -> list[str]:
    kind = word("coordinator", request.get("key_type") or 0)
    keys = request.get("coordinator_keys") or ([request["key"]] if request.get("key") is not None else [])
    facts = [f"{kind} {join_some(keys, shape.items)}"] if keys else []
    found = response.get("coordinators") or ([response] if "node_id" in response else [])
    nodes = dict.fromkeys(
        f"node {one['node_id']} {one.get('host')}:{one.get('port')}" for one in found if one.get("node_id", -1) >= 0
    )
    if nodes:
        facts.append(f"→ {join_some(list(nodes), shape.items)}")
    return facts


def _create_topics(_exchange: Exchange, request: View, _response: View, shape: FactRoom) -> list[str]:
    topics = request.get("topics") or []
    sizes = [_size_of(topic) for topic in topics]
    names = [topic.get("name", "?") for topic in topics]
    if len(set(sizes)) == 1:
        facts = [join_some(names, shape.items), sizes[0]]
    else:
        facts = [join_some([f"{name} {size}" for name, size in zip(names, sizes, strict=True)], shape.items)]
    configs = dict.fromkeys(config.get("name", "?") for topic in topics for config in topic.get("configs") or ())
    if configs:
        facts.append(f"set {join_some(list(configs), shape.items)}")
    return [*facts, "validate only"] if request.get("validate_only") else facts


def _size_of(topic: View) -> str:
    """Partitions × replicas of a topic to be created."""
    partitions, factor = topic.get("num_partitions", -1), topic.get("replication_factor", -1)
    return f"{'default' if partitions < 0 else partitions}×{'default' if factor < 0 else factor}"


def _reassigned(exchange: Exchange, request: View, _response: View, shape: FactRoom) -> list[str]:
    return _placed(exchange, request, shape, ("replicas",))


def _alter_partition(exchange: Exchange, request: View, _response: View, shape: FactRoom) -> list[str]:
    facts = _placed(exchange, request, shape, ("new_isr", "new_isr_with_epochs"))
    return [*facts, f"broker {request['broker_id']}"] if "broker_id" in request else facts


def _placed(exchange: Exchange, request: View, shape: FactRoom, fields: tuple[str, ...]) -> list[str]:
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


def _api_versions(exchange: Exchange, request: View, response: View, _shape: FactRoom) -> list[str]:
    facts = []
    if request.get("client_software_name"):
        facts.append(f"{request['client_software_name']} {request.get('client_software_version')}")
    elif exchange.client_software:
        facts.append(f"{exchange.client_software['name']} {exchange.client_software['version']}")
    if response.get("api_keys"):
        facts.append(f"→ {count_of(len(response['api_keys']), 'API')}")
    return facts


def _sasl_authenticate(exchange: Exchange, request: View, response: View, shape: FactRoom) -> list[str]:
    facts = _token(exchange, request, response, shape)
    if response.get("session_lifetime_ms"):
        facts.append(f"session {format_period(response['session_lifetime_ms'])}")
    if response.get("error_message"):
        from decoders.messages.bodies import conceal_of

        conceal = conceal_of(exchange)
        facts.append(conceal(response["error_message"]) if conceal is not None else response["error_message"])
    return facts


def _envelope(exchange: Exchange, request: View, _response: View, shape: FactRoom) -> list[str]:
    span = request.get("request_data")
    if type(span) is not tuple or span[1] < 10 or exchange.request_raw is None:
        return []
    head = exchange.request_raw[span[0] : span[0] + 4]
    key, version = int.from_bytes(head[:2], "big"), int.from_bytes(head[2:], "big")
    name = api(key).name if key in NAMES else f"UNKNOWN({key})"
    return [f"forwards {short(name, shape)} {version}"]


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
    45: _hand(_reassigned, "topics[].name topics[].partitions[].partition_index topics[].partitions[].replicas", ""),
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


def facts_in(exchange: Exchange, facts_of: Facts, shape: FactRoom) -> list[str]:
    """The facts of a line, as far as they are sure: nothing is counted in a side that cannot be decoded.

    If the request cannot be decoded, they are the topics and groups that it names before that point.
    """
    failures = exchange.failures
    request = exchange.view("request") or NO_VIEW
    if "request" not in failures:
        response = NO_VIEW if "response" in failures else exchange.view("response") or NO_VIEW
        return facts_of(exchange, request, response, shape)
    topics = list(dict.fromkeys(names(exchange, "request", "topicName")))
    groups = list(dict.fromkeys(names(exchange, "request", "groupId")))
    return [*([join_some(topics, shape.items)] if topics else []), *(f"group {name}" for name in groups if name)]


def summary(exchange: Exchange) -> str:
    """The text of an exchange's line after the API, with nothing cut."""
    row = row_of(exchange.api_key)
    facts = facts_in(exchange, row.facts if row else no_facts, FactRoom())
    trouble = trouble_of(exchange)
    return " ".join([*map(clean, facts[:1]), *([trouble] if trouble else []), *map(clean, facts[1:])])
