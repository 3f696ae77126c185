"""An exchange in; what its decoded keys and values show, as observations, out: schemas, and values that have none."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from decoders.protocol_facts.api_keys import PRODUCE
from decoders.values.schema_subjects import list_subjects

if TYPE_CHECKING:
    from decoders.analysis.doctor.observations import Observations
    from decoders.exchanges.exchange import Exchange
    from decoders.filters.decoded_value_fields import KeyOrValue
    from decoders.messages.decode_record_values import RecordValueReader

__all__ = ["observe_subjects", "observe_values"]

# The kind of an observation, the topic, the schema's id and the name of its type.
_Key = tuple[str, str, str | None, str | None]


def observe_values(seen: Observations, exchange: Exchange, client: str, reader: RecordValueReader) -> None:
    """Observe the keys and values of an exchange, by topic and schema; only writers are remembered by name."""
    from decoders.filters.decoded_value_fields import decode_keys_and_values  # with all formats of values

    counts: Counter[_Key] = Counter()
    errors: dict[_Key, str] = {}
    for each in decode_keys_and_values(exchange, reader):
        key = _observation_key_of_value(each, reader)
        if key is not None:
            counts[key] += 1
            if each.decoded is not None and each.decoded.error is not None:
                errors.setdefault(key, each.decoded.error)
    is_written = exchange.api_key == PRODUCE
    for key, count in counts.items():
        its = seen.get_or_make(*key)
        its.count_exchange(exchange)
        its.add_to_sum("written" if is_written else "read", count)
        if is_written:
            its.count_name("clients", client)
        if key in errors:
            its.count_name("errors", errors[key])


def observe_subjects(seen: Observations, reader: RecordValueReader) -> None:
    """Observe the subjects of the schemas that values were seen with, and those that topics of such values have.

    This is done last: a subject is often told after the values.
    """
    values = [(topic, identity) for (topic, identity, _), _ in seen.items_of_kind("value-schema")]
    for each in list_subjects(reader.store, values):
        seen.get_or_make("schema-subject", *each)


def _observation_key_of_value(each: KeyOrValue, reader: RecordValueReader) -> _Key | None:
    """What a key or value is an observation of; None where it is of nothing: a null, a plain key, a guess."""
    found, topic = each.decoded, each.topic
    if topic is None or each.data is None:
        return None
    if found is None or found.schema_id is None:
        return None if each.is_key else ("value-plain", topic, None, None)
    identity = str(found.schema_id)
    if found.missing_schema:
        is_refused = found.schema_id in reader.store.unregistered
        return "value-unregistered" if is_refused else "value-unknown", topic, identity, None
    if found.error is not None:
        return None if found.guessed else ("value-bad", topic, identity, found.name)
    return None if each.is_key else ("value-schema", topic, identity, found.name or found.format)
