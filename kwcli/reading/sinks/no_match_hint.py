"""Exchanges that a filter leaves out in; if nothing matches, a line out that says which values there were."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Final

from decoders.apis import NAMES, api
from decoders.filters.number_comparison_words import NamedNumber
from decoders.protocol_facts.errors.error_codes import error_name
from decoders.wire.format_and_escape_text import escape_text, format_latency, format_rfc3339, format_size
from kwcli.output.short_texts import count_of

if TYPE_CHECKING:
    from decoders.exchanges.exchange import Settled
    from decoders.filters import Filter
    from decoders.filters.parse_expression import Atom

__all__ = ["NoMatchHint"]

# Different values that are kept of a condition, and that a sentence lists.
VALUES_MAX: Final = 1000
LISTED_MAX: Final = 8


def _format_api(key: int) -> str:
    return api(key).name if key in NAMES else str(key)


def _format_body_value(value: Any) -> str | None:
    """A body value as text: a number with its words, the size of a secret; None for a struct or list."""
    if isinstance(value, dict):
        return f"{{redacted {value['redacted']}}}" if "redacted" in value else None
    if isinstance(value, NamedNumber):
        return " ".join([str(int(value)), ",".join(sorted(value.words))]).rstrip()
    return None if isinstance(value, list) else str(value)


# Kind of a field → how one of its values is written: values to list, then those of which only the ends are shown.
_LISTED: Final[dict[str, Callable[[Any], str]]] = {
    "text": str,
    "address": lambda address: str(address).rpartition(":")[0],
    "any": str,
    "api": _format_api,
    "error": error_name,
}
_RANGED: Final[dict[str, Callable[[Any], str]]] = {
    "number": str,
    "version": str,
    "duration": format_latency,
    "size": format_size,
    "time": format_rfc3339,
}
# Names of fields in sentences, where they differ.
_SAID: Final = {"client_id": "client id", "api": "API", "error": "error code", "txn": "transactional id"}


class NoMatchHint:
    """Examines exchanges until one matches; `line` says why none did. `wrong` is the filter of --errors."""

    def __init__(self, selection: Filter, wrong: Filter) -> None:
        self._selection = selection
        self._parts = [(part, part.list_atoms(), Counter[Any]()) for part in selection.split_at_and()]
        self._matched = [False] * len(self._parts)
        self._wrong = [atom.name for atom in wrong.list_atoms()]
        self._looked = 0

    def collect_values_of_unmatched_rows(self, rows: Iterable[Settled]) -> None:
        """Collect the values of exchanges that did not match."""
        can_be = self._selection.may_pass_api
        for row in rows:
            if row.kind != "exchange":
                continue
            self._looked += 1
            for number, (part, atoms, values) in enumerate(self._parts):
                if self._matched[number]:
                    continue
                if part.matches(row):
                    self._matched[number] = True
                elif _has_listable_field(atoms) and (atoms[0].kind == "api" or can_be(row.api_key)):
                    found = atoms[0].values(row)
                    if atoms[0].kind == "any":
                        found = [text for value in found if (text := _format_body_value(value)) is not None]
                    if len(values) < VALUES_MAX or all(value in values for value in found):
                        values.update(found)

    def hint_line(self) -> str | None:
        """A sentence that says why nothing matched, and which values there are."""
        if not self._looked:
            return None
        for (_, atoms, values), matched in zip(self._parts, self._matched, strict=True):
            if matched:
                continue
            names = [atom.name for atom in atoms]
            if names == self._wrong:
                return "nothing went wrong: no error code, nothing undecoded, no unanswered request"
            if len(set(names)) != 1:
                return "nothing matches the filter"
            if not _has_listable_field(atoms):
                return f"no {names[0]} matches"
            return _format_possible_values(names[0], atoms[0].kind, values)
        if len(self._parts) == 1:
            return None
        return "nothing matches all conditions of the filter, though each condition alone has matches"


def _has_listable_field(atoms: list[Atom]) -> bool:
    """Whether a condition is about one field whose values may be listed: not what records hold."""
    return len({atom.name for atom in atoms}) == 1 and (atoms[0].kind in _LISTED or atoms[0].kind in _RANGED)


def _format_possible_values(name: str, kind: str, values: Counter[Any]) -> str:
    """`no topic matches; there are orders, payments, metrics`."""
    said = name if "." in name else _SAID.get(name, name.replace("_", " "))
    if not values:
        return f"no {said} matches: no exchange has any"
    if kind in _RANGED:
        least, greatest = _RANGED[kind](min(values)), _RANGED[kind](max(values))
        there = f"there is {least}" if least == greatest else f"they go from {least} to {greatest}"
    else:
        texts = Counter[str]()
        for value, count in values.items():
            texts[escape_text(_LISTED[kind](value)) or '""'] += count
        listed = [text for text, _ in texts.most_common(LISTED_MAX)]
        rest = len(texts) - len(listed)
        more = f" and {count_of(rest, 'other')}" if rest else ""
        there = f"there {'is' if len(texts) == 1 else 'are'} {', '.join(listed)}{more}"
    return f"no {said} matches; {there}"
