"""Exchanges in, all folds of a report out, fed in one pass: what `kw report` counts, as one literal table."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Self

import orjson

from decoders.analysis.client_compatibility import Audit
from decoders.analysis.doctor.doctor import Doctor
from decoders.analysis.exchange_facts import throttle_ns
from decoders.analysis.groups.group_rows import Groups
from decoders.analysis.portraits.client_and_broker_portraits import Brokers, Clients
from decoders.analysis.portraits.topic_portraits import TopicPortraits
from decoders.analysis.security_audit import Security
from decoders.analysis.sequence_diagram_steps import Ladders
from decoders.analysis.slowest_exchanges import Slowest
from decoders.analysis.statistics import Statistics
from decoders.analysis.statistics_over_time import OverTime
from decoders.analysis.sum_amounts_by_key import Tally, make_sum_joins
from decoders.analysis.transactions.transactions_fold import Transactions
from decoders.errors import LimitExceeded
from decoders.exchanges.exchange import Skipped
from decoders.messages.build_body_json import Options
from decoders.messages.connection_end_rows import ENDS_OF_CONNECTIONS
from decoders.messages.exchange_json import to_json_dict
from decoders.schema.body_json_form import row_json
from decoders.wire.state_serialization import pack, state_fields, unpack
from kwcli.report.build_report import NS, TABLES, FoldResults

if TYPE_CHECKING:
    from decoders.analysis.fold_interface import Row
    from decoders.exchanges.exchange import Exchange, Settled
    from decoders.messages.decode_record_values import RecordValueReader
    from decoders.schema.api_declaration import Side

__all__ = ["FOLDS", "ReportFolds"]

SLOWEST: Final = 20
# The largest body that is kept, as JSON; the lists and texts of a larger one are cut to fewer and fewer elements.
BODY_MAX: Final = 24_000
_CUTS: Final = ((100, 4000), (20, 1000), (5, 200), (2, 60))
_SIDES: Final = ("request", "response")

# Folds by name; folds that need arguments are made in ReportFolds. Portraits have latencies by client, topic, broker.
FOLDS: Final[dict[str, Callable[[], Any]]] = {
    "over time": partial(OverTime, ("api",)),
    "findings": Doctor,
    "audit": Audit,
    "portraits clients": Clients,
    "portraits groups": Groups,
    "portraits transactions": Transactions,
    "portraits brokers": Brokers,
    "security": Security,
    "ladders": Ladders,
}
# Folds that learn from exchanges which the filters leave out → whether only from those in the time asked for.
_LEARNING: Final = {
    "audit": False,
    "portraits brokers": False,
    "portraits groups": True,
    "portraits topics": True,
    "portraits transactions": True,
}
# Folds that are fed few exchanges: those with errors, those that were throttled.
_ERRORS: Final = partial(Statistics, ("api", "error"), "errors")
_THROTTLED: Final = {f"throttle {name}": partial(Statistics, (name,), "throttle") for name in ("client", "api")}


class ReportFolds:
    """All folds of a report. A fold that has too many groups is given up, and `full` says why.

    `options` say how bodies of the slowest exchanges are shown.
    """

    asks_history = True  # for libraries of clients

    def __init__(self, options: Options, values: RecordValueReader | None = None) -> None:
        """`values` decodes keys and values of all records, for the schemas of topics and findings about them."""
        self.found: dict[str, Any] = {name: make() for name, make in FOLDS.items()}
        self.found["portraits topics"] = TopicPortraits(self.found["portraits groups"].offsets)
        if values is not None:
            self.found["findings"] = Doctor(values=values)
            self.found["portraits topics"].set_value_reader(values)
        self.found["slowest"] = Slowest(SLOWEST, bodies=partial(dump_bodies_of_exchange, options=options))
        self._rare: dict[str, Any] = {"errors": _ERRORS(), **{name: make() for name, make in _THROTTLED.items()}}
        self.skipped = Tally(("reason", "direction"), make_sum_joins("count", "size"))
        self.full: dict[str, str] = {}

    def needs(self, key: int, side: Side) -> frozenset[str]:
        """The paths that any of the folds reads."""
        return frozenset().union(*(fold.needs(key, side) for fold in self._get_all_folds().values()))

    def _get_all_folds(self) -> dict[str, Any]:
        return self.found | self._rare

    def add(self, exchange: Exchange) -> None:
        """Count an exchange in all folds."""
        self.add_all([exchange])

    def add_all(self, exchanges: Sequence[Exchange]) -> None:
        """Count exchanges, fold by fold: a fifth less time than exchange by exchange (tests.bench.stats)."""
        for name, fold in self.found.items():
            self._feed_fold(name, fold, exchanges)
        throttled = [exchange for exchange in exchanges if throttle_ns(exchange)]
        failed = [exchange for exchange in exchanges if exchange._error_codes and exchange.unexpected]
        for name, fold in self._rare.items():
            self._feed_fold(name, fold, failed if name == "errors" else throttled)
        if self.full:
            self._drop_full_folds()

    def _feed_fold(self, name: str, fold: Any, exchanges: Sequence[Exchange]) -> None:
        add = fold.add
        try:
            for exchange in exchanges:
                add(exchange)
        except LimitExceeded as problem:
            self.full[name] = problem.text

    def _drop_full_folds(self) -> None:
        """Remove the folds that were given up."""
        if not self.full.keys().isdisjoint(self._get_all_folds()):
            self.found = {name: fold for name, fold in self.found.items() if name not in self.full}
            self._rare = {name: fold for name, fold in self._rare.items() if name not in self.full}

    def skip(self, run: Skipped) -> None:
        """Count a run of bytes that is no exchange; not how connections ended, which NDJSON may have as well."""
        if run.reason in ENDS_OF_CONNECTIONS:
            return
        self.skipped.join_amounts((run.reason, run.direction), (1, run.size))
        if "security" in self.found:
            self.found["security"].observe_tls_connection(run)

    def learn(self, rows: Sequence[Settled], within: Callable[[Exchange], bool]) -> None:
        """Let folds learn from all exchanges, also those the filters left out; `within`: in the time asked for."""
        exchanges = [row for row in rows if not isinstance(row, Skipped)]
        in_time = list(filter(within, exchanges))
        for name, some in _LEARNING.items():
            if name in self.found:
                learn = self.found[name].learn
                for exchange in in_time if some else exchanges:
                    learn(exchange)

    def merge(self, other: Self) -> None:
        """Add the counts of other folds."""
        self.skipped.merge(other.skipped)
        self.full |= other.full
        self._drop_full_folds()
        theirs = other._get_all_folds()
        for name, fold in self._get_all_folds().items():
            try:
                fold.merge(theirs[name])
            except LimitExceeded as problem:
                self.full[name] = problem.text
        self._drop_full_folds()

    def export(self) -> bytes:
        """The state, for `resume`."""
        return pack(
            [self.skipped.export(), self.full, {name: fold.export() for name, fold in self._get_all_folds().items()}]
        )

    def resume(self, state: bytes) -> None:
        """Go on where `export` was called. Raises DecodeError."""
        skipped, self.full, states = state_fields(unpack(state), bytes, dict, dict)
        self.skipped.resume(skipped)
        self._drop_full_folds()
        for name, fold in self._get_all_folds().items():
            fold.resume(states[name])

    def rows(self) -> list[Row]:
        """Nothing: `build_report` makes the report of `results()`."""
        return []

    def add_folds_to_result(self, result: FoldResults) -> FoldResults:
        """Another result, of the same exchanges, with the folds added that only exist here, and `slowest` from here."""
        mine = {name: fold for name, fold in self.found.items() if name not in ("over time", *result.found)}
        return result._replace(
            found=result.found | mine | {"slowest": self.found["slowest"]}, full=result.full | self.full
        )

    def results(self) -> FoldResults:
        """The results of all folds, for `build_report`."""
        found, rows = {**self._get_all_folds(), "skipped": self.skipped}, dict.fromkeys(TABLES)
        over: OverTime | None = found.pop("over time", None)
        if over is not None:
            found["time"], found["time api"] = over.regroup_by_slice(), over.statistics
            found["all"], found["latency api"] = over.regroup_by_dimensions(()), over.regroup_by_dimensions(("api",))
            counts = found["all"].rows()
            rows["exchanges"] = counts[0]["count"] if counts else 0
        return FoldResults(
            found, self.full, rows | {"skipped": len(self.skipped.rows())}, over.bucket_ns if over else NS, tables=False
        )


def dump_bodies_of_exchange(exchange: Exchange, options: Options) -> bytes:
    """The bodies of an exchange as JSON, {"request", "response"}, and in "cut" the sides that were shortened."""
    record = to_json_dict(exchange, options)
    bodies = {side: record.get(side) for side in _SIDES}
    if exchange.record is not None and not options.records:
        bodies = {side: _drop_records(body) for side, body in bodies.items()}
    made: dict[str, Any] = {}
    cut = []
    for side, body in bodies.items():
        text, small = _dump_json(body), body
        for elements, characters in _CUTS:
            if len(text) <= BODY_MAX:
                break
            small = _cut_lists_and_texts(body, elements, characters)
            text = _dump_json(small)
        if small is not body:
            cut.append(side)
        made[side] = small if len(text) <= BODY_MAX else None
    return _dump_json(made | {"cut": cut})


def _drop_records(value: Any) -> Any:
    """A JSON value without the records of batches, which an exchange record that was read may have."""
    if isinstance(value, dict):
        batch = "record_count" in value
        return {name: _drop_records(each) for name, each in value.items() if not (batch and name == "records")}
    return [_drop_records(each) for each in value] if isinstance(value, list) else value


def _dump_json(value: Any) -> bytes:
    return orjson.dumps(_replace_unsafe_integers(row_json(value)), option=orjson.OPT_NON_STR_KEYS)


def _replace_unsafe_integers(value: Any) -> Any:
    """A JSON value with integers that any reader of JSON takes."""
    if isinstance(value, dict):
        return {name: _replace_unsafe_integers(each) for name, each in value.items()}
    if isinstance(value, list):
        return [_replace_unsafe_integers(each) for each in value]
    return value if not isinstance(value, int) or abs(value) < 1 << 63 else str(value)


def _cut_lists_and_texts(value: Any, elements: int, characters: int) -> Any:
    """A JSON value with shorter lists and texts; the end of each says how much was left out."""
    if isinstance(value, str) and len(value) > characters:
        return f"{value[:characters]}… and {len(value) - characters:,} more characters"
    if isinstance(value, dict):
        return {name: _cut_lists_and_texts(each, elements, characters) for name, each in value.items()}
    if isinstance(value, list):
        kept = [_cut_lists_and_texts(each, elements, characters) for each in value[:elements]]
        return kept + ([f"… and {len(value) - elements:,} more"] if len(value) > elements else [])
    return value
