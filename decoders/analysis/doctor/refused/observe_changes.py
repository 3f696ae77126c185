"""Requests that change a cluster in, observations of what was changed out: configs, rights, quotas, partitions.

These APIs are rare, and their bodies are read whole.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

from decoders.exchanges.topic_arrays import structs_at
from decoders.limits import NAMES_OBSERVED_MAX
from decoders.protocol_facts.api_keys import (
    ALTER_CONFIGS,
    CREATE_TOPICS,
    DELETE_GROUPS,
    DELETE_RECORDS,
    INCREMENTAL_ALTER_CONFIGS,
    OFFSET_DELETE,
)
from decoders.protocol_facts.public_configs import is_public_config

if TYPE_CHECKING:
    from decoders.analysis.doctor.observations import Observations
    from decoders.exchanges.exchange import Exchange

__all__ = ["CHANGING", "ENTITY_SEPARATOR", "observe_changes"]

# The kind and the name of what is changed, the kind of the change, and words for it.
_Change = tuple[str, str, str, str]

_RESOURCES: Final = {2: "topic", 4: "broker", 32: "group"}
_PROTECTED: Final = {2: "topic", 3: "group", 4: "cluster", 5: "transactional_id"}
_PREFIXED: Final = 4
_DENY: Final = 2
_OPERATIONS: Final = {
    2: "ALL",
    3: "READ",
    4: "WRITE",
    5: "CREATE",
    6: "DELETE",
    7: "ALTER",
    8: "DESCRIBE",
    9: "CLUSTER_ACTION",
    10: "DESCRIBE_CONFIGS",
    11: "ALTER_CONFIGS",
    12: "IDEMPOTENT_WRITE",
    13: "CREATE_TOKENS",
}
# What IncrementalAlterConfigs does with a value.
_CONFIG_WORDS: Final = {
    0: "set {name}={value}",
    1: "removed {name}",
    2: "added {value} to {name}",
    3: "took {value} from {name}",
}
# The most settings, topics or partitions of one change that are named, and the most characters of its words.
_NAMED_MOST: Final = 3
_WORDS_MOST: Final = 200
# Between the types, and between the names, of the entities that a quota is for all together.
ENTITY_SEPARATOR: Final = "\0"


def _names_without_error(answer: dict[str, Any], array: str, name: str) -> set[str]:
    return {str(each.get(name)) for each in structs_at(answer, array) if not each.get("error_code")}


def _join_first_words(words: list[str]) -> str:
    """The first words with commas between them, and how many more there are."""
    more = len(words) - _NAMED_MOST
    return ", ".join(words[:_NAMED_MOST]) + (f" and {more} more" if more > 0 else "")


def _list_partitions(body: dict[str, Any], array: str) -> Iterator[tuple[str, dict[str, Any]]]:
    for topic in structs_at(body, array):
        for part in structs_at(topic, "partitions"):
            yield str(topic.get("name")), part


def _partitions_with_error(answer: dict[str, Any], array: str) -> set[tuple[str, Any]]:
    return {
        (topic, part.get("partition_index"))
        for topic, part in _list_partitions(answer, array)
        if part.get("error_code")
    }


def _describe_setting(config: dict[str, Any]) -> str:
    name = str(config.get("name"))
    if not is_public_config(name):
        return f"changed {name}"
    return _CONFIG_WORDS.get(config.get("config_operation", 0), "changed {name}").format(
        name=name, value=config.get("value")
    )


def _list_config_changes(request: dict[str, Any], answer: dict[str, Any]) -> Iterator[_Change]:
    changed = _names_without_error(answer, "responses", "resource_name")
    for resource in structs_at(request, "resources"):
        kind, name = _RESOURCES.get(resource.get("resource_type", 0)), str(resource.get("resource_name"))
        if kind is None or name not in changed:
            continue
        words = [_describe_setting(each) for each in structs_at(resource, "configs")]
        if words:
            yield kind, name, "config", _join_first_words(words)


def _list_new_topics(request: dict[str, Any], answer: dict[str, Any]) -> Iterator[_Change]:
    made = _names_without_error(answer, "topics", "name")
    for topic in structs_at(request, "topics"):
        settings = [
            f"{each['name']}={each.get('value')}"
            for each in structs_at(topic, "configs")
            if is_public_config(str(each.get("name")))
        ]
        if topic.get("name") in made and settings:
            yield "topic", topic["name"], "config", f"created it with {_join_first_words(settings)}"


def _list_new_partitions(request: dict[str, Any], answer: dict[str, Any]) -> Iterator[_Change]:
    made = _names_without_error(answer, "results", "name")
    for topic in structs_at(request, "topics"):
        if topic.get("name") in made:
            yield "topic", topic["name"], "partitions", f"raised its partitions to {topic.get('count')}"


def _list_partition_moves(request: dict[str, Any], answer: dict[str, Any]) -> Iterator[_Change]:
    if answer.get("error_code"):
        return
    refused = _partitions_with_error(answer, "responses")
    moves: dict[str, list[str]] = {}
    for topic, part in _list_partitions(request, "topics"):
        nodes, number = part.get("replicas"), part.get("partition_index")
        to = "cancelled the move" if nodes is None else f"moved the replicas to {', '.join(map(str, nodes))}"
        if (topic, number) not in refused:
            moves.setdefault(topic, []).append(f"{to} (partition {number})")
    for topic, words in moves.items():
        yield "topic", topic, "replicas", _join_first_words(words)


def _list_deleted_records(request: dict[str, Any], answer: dict[str, Any]) -> Iterator[_Change]:  # noqa: ARG001  # as all lists have it
    deleted: dict[str, list[str]] = {}
    for topic, part in _list_partitions(answer, "topics"):
        if not part.get("error_code"):
            words = f"{part.get('low_watermark')} of partition {part.get('partition_index')}"
            deleted.setdefault(topic, []).append(words)
    for topic, words_of_topic in deleted.items():
        yield "topic", topic, "records", f"deleted records before {_join_first_words(words_of_topic)}"


def _list_acl_changes(acls: Iterable[dict[str, Any]], does: str, pattern: str) -> Iterator[_Change]:
    for each in acls:
        kind, name = _PROTECTED.get(each.get("resource_type", 0)), str(each.get("resource_name"))
        if kind is None:
            continue
        ending = "*" if each.get(pattern) == _PREFIXED else ""
        on = f" on {name}{ending}" if ending or name == "*" else ""
        what = "the denial" if each.get("permission_type") == _DENY else "the right"
        operation = _OPERATIONS.get(each.get("operation", 0), "some operation")
        yield kind, name + ending, "right", f"{does} {what} {operation}{on} of {each.get('principal')}"


def _list_new_acls(request: dict[str, Any], answer: dict[str, Any]) -> Iterator[_Change]:
    made = [not result.get("error_code") for result in structs_at(answer, "results")]
    asked = list(structs_at(request, "creations"))
    yield from _list_acl_changes(
        (each for each, sound in zip(asked, made, strict=False) if sound), "set", "resource_pattern_type"
    )


def _list_removed_acls(request: dict[str, Any], answer: dict[str, Any]) -> Iterator[_Change]:  # noqa: ARG001  # as all lists have it
    for result in structs_at(answer, "filter_results"):
        yield from _list_acl_changes(structs_at(result, "matching_acls"), "removed", "pattern_type")


def _list_quota_changes(request: dict[str, Any], answer: dict[str, Any]) -> Iterator[_Change]:
    if any(each.get("error_code") for each in structs_at(answer, "entries")):
        return
    for entry in structs_at(request, "entries"):
        words = [
            f"removed {op.get('key')}" if op.get("remove") else f"set {op.get('key')}={op.get('value', 0):g}"
            for op in structs_at(entry, "ops")
        ]
        entities = [*structs_at(entry, "entity")]
        kinds = [str(entity.get("entity_type")) for entity in entities]
        names = [str(entity.get("entity_name") or "") for entity in entities]
        yield ENTITY_SEPARATOR.join(kinds), ENTITY_SEPARATOR.join(names), "quota", _join_first_words(words)


def _list_deleted_groups(request: dict[str, Any], answer: dict[str, Any]) -> Iterator[_Change]:  # noqa: ARG001  # as all lists have it
    for name in _names_without_error(answer, "results", "group_id"):
        yield "group", name, "offsets", "deleted it"


def _list_deleted_offsets(request: dict[str, Any], answer: dict[str, Any]) -> Iterator[_Change]:
    if not answer.get("error_code"):
        refused = _partitions_with_error(answer, "topics")
        topics = dict.fromkeys(
            topic
            for topic, part in _list_partitions(request, "topics")
            if (topic, part.get("partition_index")) not in refused
        )
        if topics:
            yield (
                "group",
                str(request.get("group_id")),
                "offsets",
                f"deleted its offsets of {_join_first_words([*topics])}",
            )


_LISTS: Final[dict[int, Callable[[dict[str, Any], dict[str, Any]], Iterator[_Change]]]] = {
    ALTER_CONFIGS: _list_config_changes,
    INCREMENTAL_ALTER_CONFIGS: _list_config_changes,
    CREATE_TOPICS: _list_new_topics,
    37: _list_new_partitions,
    45: _list_partition_moves,
    DELETE_RECORDS: _list_deleted_records,
    30: _list_new_acls,
    31: _list_removed_acls,
    49: _list_quota_changes,
    DELETE_GROUPS: _list_deleted_groups,
    OFFSET_DELETE: _list_deleted_offsets,
}
# The APIs whose exchanges change a cluster.
CHANGING: Final = tuple(_LISTS)


def observe_changes(seen: Observations, exchange: Exchange, client: str) -> None:
    """Observe what an exchange has changed: kind and name of the subject, kind of the change, words, client."""
    request, answer = exchange.values("request"), exchange.values("response")
    if not isinstance(request, dict) or not isinstance(answer, dict) or request.get("validate_only"):
        return
    for kind, name, how, words in islice(_LISTS[exchange.api_key or 0](request, answer), NAMES_OBSERVED_MAX):
        short = words if len(words) <= _WORDS_MOST else f"{words[:_WORDS_MOST]}..."
        seen.get_or_make("changed", kind, name, how, short, client).count_exchange(exchange)
