"""Exchanges that kw found in a capture against the entries of the brokers' request logs: a reusable comparison.

Every entry must be an exchange with the same connection, correlation id, API, version, client id and body values.
`_EXPLAINED` names the reasons for an exchange without an entry; any other difference is a problem.
"""

from __future__ import annotations

import base64
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from decoders import api, decode_request, decode_response
from tests.broker.requestlog import Entry
from tests.oracle.log_values import Differences

__all__ = ["Comparison", "compare"]

Record = Mapping[str, Any]

_API_VERSIONS, _HANDSHAKE, _AUTHENTICATE, _ENVELOPE = 18, 17, 36, 58
_UNSUPPORTED_VERSION: Final = 35


@dataclass(slots=True)
class Comparison:
    """`problems` is empty if log and capture agree; `counts` has the figures, `explained` exchanges never logged."""

    problems: list[str] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)
    explained: Counter[str] = field(default_factory=Counter)
    apis: Counter[tuple[str, int]] = field(default_factory=Counter)

    def summary(self) -> str:
        """The figures as one line."""
        parts = [f"{number} {name}" for name, number in self.counts.items()]
        parts += [f"{number} {name} (not in the log)" for name, number in self.explained.items()]
        return f"{len(self.problems)} problems; {len(self.apis)} (API, version); " + ", ".join(parts)


def compare(
    exchanges: Iterable[Record], entries: Iterable[Entry], *, sasl: Collection[str] = (), foreign: Collection[str] = ()
) -> Comparison:
    """Compare NDJSON records (secrets revealed) with the logs of all nodes.

    `sasl` has the host:port of listeners with SASL, `foreign` that of servers in the capture that are not Kafka.
    """
    result = Comparison()
    by_connection: dict[tuple[str, str], list[Record]] = defaultdict(list)
    for record in exchanges:
        if "envelope" in record:
            continue  # the log has the request inside the Envelope
        if record["kind"] == "exchange":
            by_connection[record["client"], record["broker"]].append(record)
        elif not {record["client"], record["broker"]} & set(foreign):
            result.problems.append(f"skipped {_place(record)} {record['reason']} {record['size']} B")
    logged: dict[tuple[str, str], list[Entry]] = defaultdict(list)
    names: dict[str, set[str]] = defaultdict(set)
    for entry in entries:
        logged[entry.client, entry.broker].append(entry)
        for topic_id, name in _topics(entry.response):
            names[topic_id].add(name)
    for records in by_connection.values():
        for record in records:
            _check_names(result, record, names)
    for key in by_connection.keys() | logged.keys():
        if key[1] in foreign and key not in by_connection:
            result.counts["inside TLS"] += len(logged[key])
            continue
        talk = _Talk(result, by_connection.get(key, []), key[1] in sasl)
        talk.settle(logged.get(key, []))
    return result


class _Talk:
    """The exchanges of one connection (or of several on the same ports, one after the other)."""

    def __init__(self, result: Comparison, records: list[Record], sasl: bool) -> None:
        self.result = result
        self.records = sorted(records, key=lambda record: (record["time"], record["correlation_id"] or 0))
        self.sasl = sasl
        self.free: dict[tuple[Any, ...], list[Record]] = defaultdict(list)
        self.matched: set[int] = set()
        for record in self.records:
            self.free[_identity(record)].append(record)

    def settle(self, entries: list[Entry]) -> None:
        """Match every entry with its exchange, then explain the exchanges that are left."""
        envelopes = [record for record in self.records if record["api_key"] == _ENVELOPE]
        for entry in entries:
            if entry.forwarded:
                self._forwarded(entry, envelopes)
                continue
            waiting = self.free.get((entry.correlation_id, entry.api_key, entry.api_version, entry.client_id))
            if not waiting:
                self.result.problems.append(f"only in the log: {_entry(entry)}")
                continue
            record = waiting.pop(0)
            self.matched.add(id(record))
            self._compare(entry, record)
        for at, record in enumerate(self.records):
            if id(record) not in self.matched:
                self._explain(at, record)

    def _compare(self, entry: Entry, record: Record) -> None:
        result = self.result
        result.counts["exchanges"] += 1
        result.apis[entry.api, entry.api_version] += 1
        self._software(entry, record)
        sides = [("request", entry.request), ("response", entry.response)]
        if _refused_version(entry):
            result.counts["ApiVersions asked too high"] += 1
            del sides[0]
        if entry.response == "":
            # Produce without acks, or the broker closed the connection.
            if record["status"] not in ("no_response_expected", "unanswered"):
                result.problems.append(f"{_place(record)}: is {record['status']}, the log has no response")
            del sides[-1]
        elif record["status"] == "unanswered":
            # The broker had answered, but the client had gone.
            result.counts["answered too late"] += 1
            del sides[-1]
        elif record["status"] != "complete":
            result.problems.append(f"{_place(record)}: {record['status']} {record.get('undecoded')!r:.300}")
            return
        for side, log in sides:
            self._body(entry, side, log, record[side], _place(record))
        if sides and sides[-1][0] == "response":
            self._errors(entry, record)

    def _software(self, entry: Entry, record: Record) -> None:
        """Compare the client's software, which the broker knows from an earlier ApiVersions request."""
        log = entry.line.get("clientInformation", {})
        if log.get("softwareName", "unknown") == "unknown" or entry.api_key == _API_VERSIONS:
            return
        self.result.counts["client software"] += 1
        wanted = {"name": log["softwareName"], "version": log["softwareVersion"]}
        if record.get("client_software") != wanted:
            self.result.problems.append(f"{_place(record)}: {record.get('client_software')}, the log has {wanted}")

    def _body(self, entry: Entry, side: str, log: Any, ours: Any, place: str) -> None:
        declared = api(entry.api_key)
        version = 0 if side == "response" and _refused_version(entry) else entry.api_version
        differences = Differences(version)
        if not isinstance(ours, dict) or not isinstance(log, dict):
            self.result.problems.append(f"{place} {side}: ours is {ours!r:.100}, the log has {log!r:.100}")
            return
        message = declared.request if side == "request" else declared.response
        differences.compare(log, ours, message.fields)
        self.result.counts.update(differences.counts)
        self.result.problems += [f"{place} {side} {text}" for text in differences.found]

    def _errors(self, entry: Entry, record: Record) -> None:
        ours = sorted(error["code"] for error in record["errors"])
        if sorted(_codes(entry.response)) != ours:
            self.result.problems.append(f"{_place(record)}: errors {ours}, in the log {sorted(_codes(entry.response))}")

    def _forwarded(self, entry: Entry, envelopes: list[Record]) -> None:
        """Find the Envelope that holds a logged request: the log has the request inside."""
        for record in envelopes:
            if id(record) in self.matched:
                continue
            inner = decode_request(_bytes(record["request"]["request_data"]))
            if (inner.correlation_id, inner.api_key) == (entry.correlation_id, entry.api_key):
                break
        else:
            self.result.problems.append(f"only in the log: forwarded {_entry(entry)}")
            return
        self.matched.add(id(record))
        self.result.explained["Envelope's own id"] += 1
        self.result.counts["forwarded"] += 1
        place = f"{_place(record)} inside"
        if inner.client_id != entry.client_id or inner.api_version != entry.api_version:
            self.result.problems.append(f"{place}: {inner.client_id} {inner.api_version}, the log has {_entry(entry)}")
        self._body(entry, "request", entry.request, inner.body, place)
        if record["status"] == "complete" and record["response"]["response_data"] is not None:
            data = _bytes(record["response"]["response_data"])
            answer = decode_response(data, entry.api_key, entry.api_version)
            self._body(entry, "response", entry.response, answer.body, place)

    def _explain(self, at: int, record: Record) -> None:
        for name, rule in _EXPLAINED.items():
            if rule(self, at, record):
                self.result.explained[name] += 1
                return
        self.result.problems.append(f"not in the log: {_place(record)} {record['status']} {record.get('closed')}")

    def _in_sasl_phase(self, at: int, record: Record) -> bool:
        if not self.sasl:
            return bool(record["status"] == "token")
        if record["status"] == "token" or record["api_key"] in (_HANDSHAKE, _AUTHENTICATE):
            return True
        number = record["connection"]
        earlier = any(id(each) in self.matched and each["connection"] == number for each in self.records[:at])
        return bool(record["api_key"] == _API_VERSIONS and not earlier)

    def _ends_its_connection(self, at: int, record: Record) -> bool:
        """Whether no answer came from this exchange on: the broker closed (refused, stopped), or the client left."""
        number = record["connection"]
        later = [each for each in self.records[at + 1 :] if each["connection"] == number]
        silent = {"unanswered", "no_response_expected"}
        return record["status"] in silent and all(each["status"] in silent for each in later)


# Name → whether this is the reason for an exchange without an entry.
_EXPLAINED: Final[Mapping[str, Callable[[_Talk, int, Record], bool]]] = {
    "SASL phase": _Talk._in_sasl_phase,
    "refused, or in flight at a stop": _Talk._ends_its_connection,
}


def _topics(log: Any) -> Iterator[tuple[str, str]]:
    """Topic ids in a logged response, each with its topic's name."""
    if isinstance(log, list):
        for each in log:
            yield from _topics(each)
    elif isinstance(log, dict):
        name = log.get("topicName") or log.get("name")
        if isinstance(log.get("topicId"), str) and name:
            yield log["topicId"], name
        yield from _topics(list(log.values()))


def _check_names(result: Comparison, record: Record, names: Mapping[str, Collection[str]]) -> None:
    for topic_id, name in record.get("topic_names", {}).items():
        result.counts["topic names"] += 1
        if topic_id in names and name not in names[topic_id]:
            result.problems.append(f"{_place(record)}: {topic_id} is {name}, in the log {names[topic_id]}")


def _identity(record: Record) -> tuple[Any, ...]:
    return (record["correlation_id"], record["api_key"], record["api_version"], record["client_id"])


def _refused_version(entry: Entry) -> bool:
    response = entry.response
    return entry.api_key == _API_VERSIONS and response != "" and response.get("errorCode") == _UNSUPPORTED_VERSION


def _codes(log: Any) -> list[int]:
    """Every error code other than 0 in a logged response."""
    if isinstance(log, list):
        return [code for each in log for code in _codes(each)]
    if not isinstance(log, dict):
        return []
    found = []
    for name, value in log.items():
        if name.lower().endswith("errorcode") and isinstance(value, int):
            found += [value] if value else []
        else:
            found += _codes(value)
    return found


def _bytes(value: Any) -> bytes:
    if isinstance(value, dict):
        return base64.b64decode(value["base64"])
    return value if isinstance(value, bytes) else str(value).encode()


def _place(record: Record) -> str:
    where = f"{record['client']} → {record['broker']} at {record['time']}"
    if record["kind"] == "exchange":
        where += f" {record['api']} {record['api_version']} #{record['correlation_id']}"
    return where


def _entry(entry: Entry) -> str:
    where = f"{entry.client} → {entry.broker} until {entry.time}"
    return f"{where} {entry.api} {entry.api_version} #{entry.correlation_id} {entry.client_id}"
