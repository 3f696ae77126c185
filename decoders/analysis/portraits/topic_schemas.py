"""Exchanges in; the schemas and forms of the keys and values of each topic, with shares of its records, out."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final, Self

from decoders.filters.decoded_value_fields import decode_keys_and_values
from decoders.limits import GROUPS_MAX, NAMES_OF_PORTRAIT_MAX
from decoders.wire.state_serialization import state_fields

if TYPE_CHECKING:
    from decoders.analysis.fold_interface import Row
    from decoders.exchanges.exchange import Exchange
    from decoders.messages.decode_record_values import RecordValueReader

__all__ = ["TopicSchemas"]

# Whether it is of keys, the format, the id, the name of the type.
_Schema = tuple[bool, str | None, int | str | None, str | None]
_KINDS: Final = (bool, str | None, int | str | None, str | None)


class TopicSchemas:
    """How many keys and values of each topic, in records written and read, have which schema. Nulls do not count."""

    def __init__(self) -> None:
        self._found: dict[str, Counter[_Schema]] = {}

    def add(self, exchange: Exchange, reader: RecordValueReader) -> None:
        """Count the keys and values of an exchange."""
        for topic, is_key, data, decoded in decode_keys_and_values(exchange, reader):
            if topic is None or data is None:
                continue
            its = self._found.get(topic)
            if its is None:
                if len(self._found) >= GROUPS_MAX:
                    continue
                its = self._found[topic] = Counter()
            schema: _Schema = (
                (is_key, None, None, None)
                if decoded is None
                else (is_key, decoded.format, decoded.schema_id, decoded.name)
            )
            if schema in its or len(its) < NAMES_OF_PORTRAIT_MAX:
                its[schema] += 1

    def drop_topic(self, topic: str) -> None:
        """Give up what is known of a topic."""
        self._found.pop(topic, None)

    def rows_of(self, topic: str | None) -> list[Row]:
        """The schemas of a topic, those of values first, then by the number of records; `share` is of its part."""
        its = self._found.get(topic or "", Counter[_Schema]())
        totals = [sum(count for schema, count in its.items() if schema[0] is part) for part in (False, True)]
        order = sorted(its.items(), key=lambda item: (item[0][0], -item[1], [str(part) for part in item[0]]))
        return [
            {
                "part": "key" if is_key else "value",
                "format": form,
                "schema_id": schema_id,
                "name": name,
                "records": count,
                "share": count / totals[is_key],
            }
            for (is_key, form, schema_id, name), count in order
        ]

    def merge(self, other: Self) -> None:
        """Add the counts of `other`."""
        for topic, its in other._found.items():
            self._found.setdefault(topic, Counter()).update(its)

    def state(self) -> list[object]:
        """The state as built-in values, for `make_resumed`."""
        return [[topic, [[*schema, count] for schema, count in its.items()]] for topic, its in self._found.items()]

    @classmethod
    def make_resumed(cls, state: list[object]) -> Self:
        """The schemas of topics from their `state`. Raises DecodeError."""
        made = cls()
        for item in state:
            topic, schemas = state_fields(item, str, list)
            its = made._found[topic] = Counter()
            for each in schemas:
                *schema, count = state_fields(each, *_KINDS, int)
                its[schema[0], schema[1], schema[2], schema[3]] = count
        return made
