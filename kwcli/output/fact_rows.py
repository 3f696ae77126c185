"""The facts of each API for its line: a literal table, in the notation of `facts.py`, most important fact first."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from decoders.records.summary import sole, summarize_view
from decoders.wire.units import format_size
from kwcli.output.facts import WORDS, FactRoom, Names, View, topic_of
from kwcli.output.units import format_period, format_ranges, join_some

if TYPE_CHECKING:
    from decoders.exchanges.exchange import Exchange

NOTHING: Final = ("0 rec", "", "")
UNCOMPRESSED: Final = ("none",)
ACKS: Final = WORDS["acks"]
# Ready-made texts of the record counts that most batches have.
COUNTS: Final = tuple(f"{count} rec" for count in range(1000))


def _single(elements: list[dict[str, Any]], inner: str) -> dict[str, Any] | None:
    """The only partition of the only topic, the usual case; None where there are more."""
    if len(elements) == 1:
        parts: list[dict[str, Any]] | None = elements[0].get(inner)
        if parts and len(parts) == 1:
            return parts[0]
    return None


def partitions(elements: list[dict[str, Any]], inner: str, index: str, names: Names, shape: FactRoom) -> str:
    """`orders[0,3,5] payments[1]` for elements that have a topic and a list of partitions."""
    topics: dict[str, list[int]] = {}
    for element in elements:
        held = topics.setdefault(topic_of(element, names, shape), [])
        held += [part[index] for part in element.get(inner) or () if index in part]
    return join_some([f"{topic}[{format_ranges(held)}]" for topic, held in topics.items()], shape.items)


def _batches(raw: bytes | None, span: Any) -> tuple[str, str, str]:
    """Records, bytes and codecs of one records field; `0 rec` alone where there are none."""
    alone = sole(raw, *span) if span.__class__ is tuple and raw is not None else None
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


def _contents(raw: bytes | None, elements: list[dict[str, Any]], inner: str) -> tuple[str, str, str]:
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


def _none(exchange: Exchange) -> str:
    """The text for no visible record: `? rec` for exchanges of a broker's log, which tells no counts."""
    return "? rec" if exchange.record is not None and "server" in exchange.record else NOTHING[0]


def produce(exchange: Exchange, request: View, response: View, shape: FactRoom) -> list[str]:
    """`orders[3]`, `412 rec`, `38.1kB`, `zstd`, `acks=all`, `at 1042`."""
    topics = request.get("topic_data")
    if not topics:
        return []
    # The view of a side that cannot be decoded ends in the middle: any key may be missing.
    part = _single(topics, "partition_data")
    if part is not None:
        name = topics[0].get("name") or topic_of(topics[0], exchange.topic_name, shape)
        facts = [f"{name}[{part.get('index', '')}]"]
        count, size, codec = _batches(exchange.request_raw, part.get("records"))
    else:
        facts = [partitions(topics, "partition_data", "index", exchange.topic_name, shape)]
        count, size, codec = _contents(exchange.request_raw, topics, "partition_data")
    facts.append(count if size else _none(exchange))
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
    return [f"throttled {format_period(ms)}"] if ms else []


def fetch(exchange: Exchange, request: View, response: View, shape: FactRoom) -> list[str]:
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
        facts.append(f"→ {count if size else _none(exchange)}")
        if size:
            facts.append(size)
            if codec:
                facts.append(codec)
        elif _waited(exchange, request):
            facts.append(f"(waited {format_period(request['max_wait_ms'])})")
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


def _asked(exchange: Exchange, asked: Any, given: Any, shape: FactRoom) -> list[str]:
    """The partitions that a fetch is about, and the offset where there is a single one."""
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
    """Whether the answer came only when the wait time that the client allows was over."""
    most, took = request.get("max_wait_ms"), exchange.latency_ms
    return most is not None and most > 1 and took is not None and took >= 0.9 * most


def _session(exchange: Exchange) -> list[str]:
    session = exchange.fetch_session
    return [f"session {session['id']}/{session['epoch']}"] if session and session["id"] else []


def share_fetch(exchange: Exchange, request: View, response: View, shape: FactRoom) -> list[str]:
    """`group g`, `orders[0]`, `→ 12 rec`."""
    names = exchange.topic_name
    facts = [f"group {request.get('group_id')}"] if request.get("group_id") else []
    asked = request.get("topics") or []
    given = response.get("responses") or []
    if asked or given:
        facts.append(partitions(asked or given, "partitions", "partition_index", names, shape))
    if response:
        count, size, codec = _contents(exchange.response_raw, given, "partitions")
        facts.append(f"→ {count if size else _none(exchange)}")
        facts += [text for text in (size, codec) if text]
    if request.get("share_session_epoch") is not None:
        facts.append(f"session epoch {request['share_session_epoch']}")
    return facts


# APIs that need more than the notation says are functions in `fact_functions.py`.


_TXN: Final = "pid >producer_id:known  epoch >producer_epoch:known"
_GROUP_MEMBER: Final = "gen >generation_id:known  >member_id:member  >group_instance_id"

ROWS: Final[dict[int, str]] = {
    # LeaderAndIsr, StopReplica, UpdateMetadata, ControlledShutdown
    4: (
        ">topic_states[]/partition_states[].partition_index:parts|>ungrouped_partition_states[]/partition_index:parts"
        "  controller >controller_id  epoch >controller_epoch"
    ),
    5: (
        ">topic_states[]/partition_states[].partition_index:parts|>topics[]/partition_indexes:parts"
        "|>ungrouped_partitions[]/partition_index:parts  >delete_partitions:flag:delete  controller >controller_id"
    ),
    6: (
        ">topic_states[]/partition_states[].partition_index:parts|>ungrouped_partition_states[]/partition_index:parts"
        "  >live_brokers[].id:count:broker  controller >controller_id  epoch >controller_epoch"
    ),
    7: "broker >broker_id  → <remaining_partitions[].partition_index:count:partition left",
    # Groups
    8: (
        "group >group_id  >topics[]/partitions[].partition_index@committed_offset:parts"
        "  gen >generation_id_or_member_epoch:known  >member_id:member"
    ),
    9: (
        "group >group_id|>groups[].group_id"
        "  <groups[].topics[]/partitions[].partition_index@committed_offset:parts"
        "|<topics[]/partitions[].partition_index@committed_offset:parts"
        "|>groups[].topics[]/partition_indexes:parts|>topics[]/partition_indexes:parts"
        "  >require_stable:flag:stable"
    ),
    11: (
        "group >group_id  → gen <generation_id:known  with <members[].member_id:count:member"
        "  <protocol_name|>protocols[].name  <member_id:member|>member_id:member  >group_instance_id  >reason"
    ),
    12: f"group >group_id  {_GROUP_MEMBER}",
    13: (
        "group >group_id  >members[].member_id:member|>member_id:member  >members[].group_instance_id"
        "  >members[].reason"
    ),
    14: "group >group_id  assigns to >assignments[].member_id:count:member  >protocol_name|<protocol_name  "
    + _GROUP_MEMBER,
    15: "group >groups  <groups[].group_state  <groups[].members[].member_id:count:member  <groups[].protocol_data",
    16: "→ <groups[].group_id:count:group  <groups[].group_id  in state >states_filter  of type >types_filter",
    42: "group >groups_names",
    47: "group >group_id  >topics[]/partitions[].partition_index:parts",
    68: (
        "group >group_id  → epoch <member_epoch  <assignment.topic_partitions[]/partitions:parts"
        "  subscribes >subscribed_topic_names  >subscribed_topic_regex  >server_assignor"
        "  >member_epoch:said:epoch  <member_id:member|>member_id:member  >instance_id"
    ),
    69: "group >group_ids  <groups[].group_state  <groups[].members[].member_id:count:member  <groups[].assignor_name",
    76: (
        "group >group_id  → epoch <member_epoch  <assignment.topic_partitions[]/partitions:parts"
        "  subscribes >subscribed_topic_names  >member_epoch:said:epoch  <member_id:member|>member_id:member"
    ),
    77: "group >group_ids  <groups[].group_state  <groups[].members[].member_id:count:member  <groups[].assignor_name",
    88: (
        "group >group_id  → epoch <member_epoch  <active_tasks[].subtopology_id:count:active_task"
        "  <status[].status_detail  >member_epoch:said:epoch  <member_id:member|>member_id:member  >instance_id"
    ),
    89: "group >group_ids  <groups[].group_state  <groups[].members[].member_id:count:member",
    93: "group >group_id  topology epoch >topology_epoch  >member_id:member",
    # Connections and security
    17: ">mechanism  brokers offer <mechanisms",
    38: (
        "token <token_id  for >owner_principal_type >owner_principal_name  → <principal_type:any <principal_name"
        "  max >max_lifetime_ms:period"
    ),
    39: "for >renew_period_ms:period",
    40: "in >expiry_time_period_ms:period",
    41: "→ <tokens[].token_id:count:token  of >owners[].principal_name  <tokens[].token_id",
    50: "→ <results[].user:count:user  <results[].user  asked >users[].name",
    51: "set >upsertions[].name >upsertions[].mechanism:word:scram  delete >deletions[].name",
    # Topics and partitions
    20: ">topics[]:topics|>topic_names|<responses[]:topics",
    21: ">topics[]/partitions[].partition_index@offset:parts",
    23: ">topics[]/partitions[].partition:parts  → end <topics[].partitions[].end_offset",
    37: ">topics[].name  to >topics[].count partitions  >validate_only:flag:validate_only",
    43: ">election_type:word:election  >topic_partitions[]/partitions:parts",
    46: ">topics[]/partition_indexes:parts  → <topics[]/partitions[].partition_index:parts",
    75: (
        "<topics[]:topics|>topics[]:topics"
        "  → <topics[].partitions[].partition_index:count:partition  more from <next_cursor.topic_name"
    ),
    # Transactions and producers
    22: (
        ">transactional_id  → pid <producer_id:known  epoch <producer_epoch:known"
        "  was >producer_id:known  timeout >transaction_timeout_ms:period"
    ),
    24: (
        ">v3_and_below_transactional_id|>transactions[].transactional_id"
        "  >v3_and_below_topics[]/partitions:parts|>transactions[].topics[]/partitions:parts"
        "  pid >v3_and_below_producer_id:known|>transactions[].producer_id"
    ),
    25: f">transactional_id  group >group_id  {_TXN}",
    26: f">transactional_id  >committed:word:outcome  {_TXN}",
    27: (
        ">markers[].transaction_result:word:outcome  >markers[].topics[]/partition_indexes:parts"
        "  pid >markers[].producer_id"
    ),
    28: (f">transactional_id  group >group_id  >topics[]/partitions[].partition_index@committed_offset:parts  {_TXN}"),
    61: ">topics[]/partition_indexes:parts  → <topics[].partitions[].active_producers[].producer_id:count:producer",
    65: ">transactional_ids  → <transaction_states[].transaction_state  pid <transaction_states[].producer_id",
    66: (
        "→ <transaction_states[].transactional_id:count:transaction  <transaction_states[].transactional_id"
        "  in state >state_filters  matching >transactional_id_pattern"
    ),
    67: "broker >broker_id  → pids from <producer_id_start +<producer_id_len",
    # Configuration, quotas, log directories
    29: (
        ">resource_type_filter:word:acl >resource_name_filter:any:*  of >principal_filter:any:anyone"
        "  → <resources[].acls[].principal:count:entry"
    ),
    30: (
        ">creations[].resource_type:word:acl >creations[].resource_name  >creations[].permission_type:word:permission"
        " >creations[].operation:word:operation  to >creations[].principal"
    ),
    31: (
        ">filters[].resource_type_filter:word:acl  >filters[].resource_name_filter  of >filters[].principal_filter"
        "  → <filter_results[].matching_acls[].principal:count:entry"
    ),
    32: (
        ">resources[].resource_type:word:config >resources[].resource_name  → <results[].configs[].name:count:entry"
        "  asked >resources[].configuration_keys"
    ),
    33: (
        ">resources[].resource_type:word:config >resources[].resource_name  set >resources[].configs[].name"
        "  >validate_only:flag:validate_only"
    ),
    44: (
        ">resources[].resource_type:word:config >resources[].resource_name  change >resources[].configs[].name"
        "  >validate_only:flag:validate_only"
    ),
    34: ">dirs[].topics[]/partitions:parts  to >dirs[].path",
    35: "<results[].log_dir  → <results[].topics[].partitions[].partition_size:size  >topics[]/partitions:parts",
    48: "→ <entries[].values[].key:count:quota  of >components[].entity_type",
    49: ">entries[].entity[].entity_type  >entries[].entity[].entity_name  >entries[].ops[].key",
    74: "→ <config_resources[].resource_name:count:resource  <config_resources[].resource_name",
    # Quorum and controllers
    52: (
        "candidate >topics[].partitions[].replica_id  epoch >topics[].partitions[].replica_epoch"
        "  → <topics[].partitions[].vote_granted:word:vote  leader <topics[].partitions[].leader_id"
    ),
    53: "leader >topics[].partitions[].leader_id  epoch >topics[].partitions[].leader_epoch",
    54: "leader >topics[].partitions[].leader_id  epoch >topics[].partitions[].leader_epoch",
    55: (
        "→ leader <topics[].partitions[].leader_id  epoch <topics[].partitions[].leader_epoch"
        "  hw <topics[].partitions[].high_watermark  <topics[].partitions[].current_voters[].replica_id:count:voter"
        "  <topics[].partitions[].observers[].replica_id:count:observer"
    ),
    57: ">feature_updates[].feature  to level >feature_updates[].max_version_level  >validate_only:flag:validate_only",
    59: (
        ">topics[]/partitions[].partition:parts  from byte >topics[].partitions[].position"
        "  of <topics[].partitions[].size:size"
    ),
    60: (
        "→ <brokers[].broker_id:count:broker  cluster <cluster_id  controller <controller_id:known"
        "  >endpoint_type:word:endpoint"
    ),
    62: "broker >broker_id  → epoch <broker_epoch:known  >listeners[].name  rack >rack",
    63: (
        "broker >broker_id  >want_fence:flag:wants_to_be_fenced  >want_shut_down:flag:wants_to_shut_down"
        "  <is_fenced:flag:is_fenced  <should_shut_down:flag:may_shut_down  at offset >current_metadata_offset"
    ),
    64: "broker >broker_id",
    70: "controller >controller_id  >listeners[].name",
    80: "voter >voter_id  directory >voter_directory_id  >listeners[].name",
    81: "voter >voter_id  directory >voter_directory_id",
    82: "voter >voter_id  directory >voter_directory_id  leader <current_leader.leader_id",
    94: "controller >controller_id",
    # Telemetry
    71: (
        "subscription <subscription_id  every <push_interval_ms:period  <requested_metrics:masks"
        "  client <client_instance_id|>client_instance_id"
    ),
    72: (
        "subscription >subscription_id  >compression_type:word:codec"
        "  >terminating:flag:last  client >client_instance_id"
    ),
    73: "broker >broker_id  >directories[].topics[]/partitions[].partition_index:parts  to >directories[].id",
    # Share groups
    79: (
        "group >group_id  >topics[]/partitions[].partition_index:parts"
        "  session epoch >share_session_epoch  >member_id:member"
    ),
    83: "group >group_id  >topics[]/partitions[].partition:parts  from >topics[].partitions[].start_offset",
    84: "group >group_id  >topics[]/partitions[].partition:parts  → from <results[].partitions[].start_offset",
    85: "group >group_id  >topics[]/partitions[].partition:parts  from >topics[].partitions[].start_offset",
    86: "group >group_id  >topics[]/partitions[].partition:parts",
    87: "group >group_id  >topics[]/partitions[].partition:parts  → from <results[].partitions[].start_offset",
    90: (
        "group >groups[].group_id  <groups[].topics[]/partitions[].partition_index@start_offset:parts"
        "|>groups[].topics[]/partitions:parts"
    ),
    91: "group >group_id  >topics[]/partitions[].partition_index@start_offset:parts",
    92: "group >group_id  >topics[]:topics",
}
