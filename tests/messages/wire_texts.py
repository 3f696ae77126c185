"""A text in, a capture out in which it stands in every text field of every message, and in facts that are followed.

Each exchange has a connection of its own. Further connections log in, commit, open and continue Fetch sessions, and
begin transactions, so that the text also gets into the keys that History and TopicIdSource fill.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Final
from uuid import UUID

from decoders import encode_embedded
from decoders.apis import KEYS, api
from decoders.embedded import parse_structure_declaration
from decoders.embedded.structure_holders import HOLDERS
from decoders.schema.api_declaration import Plan, PlanField, Side, resolve
from kwcli.proxy.log.capture_file import LINK_RAW, SyntheticTcp
from kwcli.proxy.log.log_protocol import CLIENT, SERVER
from tests.capture.pcap_writer import PcapWriter
from tests.exchanges.talks import Turns, plan, request, response
from tests.records.making import batch, record

# Texts from the wire that break readers: no UTF-8 at all, the bytes of lone surrogates (CESU-8), overlong forms, NUL,
# commands for terminals of C0 and C1, line ends that only some readers know, text drawn backwards, markup and formulas,
# and the JSON form of other bytes.
TEXTS: Final[dict[str, bytes]] = {
    "cut": b"order\xff",
    "surrogates": b"\xed\xa0\x80cesu\xed\xb0\x80",
    "overlong": b"\xc0\x80over\xe0\x80\xaf",
    "nul": b"nul\0",
    "esc": b"\x1b[31mesc\x1b]0;t\x07",
    "c1": "c1\x9b2J\x85".encode(),
    "lines": "ls\u2028ps\u2029cr\r\nkw: done".encode(),
    "bidi": "bidi\u202e\u2066\ufeff".encode(),
    "form": b'{"base64":"b3JkZXL/"}',
    "markup": b"</script><b>&'\"=1+1\\, [red]",
}
PLAIN: Final = b"orders"
_FETCH, _PRODUCE, _ENVELOPE, _SASL_HANDSHAKE, _SASL_AUTHENTICATE = 1, 0, 58, 17, 36
_LOGGING_IN: Final = (_SASL_HANDSHAKE, _SASL_AUTHENTICATE)
SIDES: Final[tuple[Side, ...]] = ("request", "response")


def as_str(text: bytes) -> str:
    """The text as decoded values have it."""
    return text.decode("utf-8", "surrogateescape")


def filled(key: int, version: int, side: Side, text: bytes, code: int = 0) -> dict[str, Any]:
    """A body with `text` in every field that holds text or bytes, one element in each array, and these error codes."""
    return _Filling(HOLDERS.get((key, side), {}), text, code).struct(plan(key, version, side), "")


class _Filling:
    def __init__(self, held: dict[str, str], text: bytes, code: int) -> None:
        self.held = held
        self.text = text
        self.code = code

    def struct(self, of: Plan, above: str) -> dict[str, Any]:
        return {field.name: self.field(field, above + field.name) for field in (*of.fields, *of.tagged)}

    def field(self, field: PlanField, path: str) -> Any:
        if field.kind == "records":
            return batch(record(key=self.text, value=self.text, headers=((self.text, self.text),)))
        inner = self.leaf(field, path) if field.plan is None else self.struct(field.plan, f"{path}.")
        if field.array and field.plan is not None:
            inner = self.struct(field.plan, f"{path}[].")
        return [inner] if field.array else inner

    def leaf(self, field: PlanField, path: str) -> Any:
        if field.kind == "string":
            return as_str(self.text)
        if field.kind == "bytes":
            name = self.held.get(path, "")
            return embedded(name, self.text) if name and "(" not in name else self.text
        if field.kind == "uuid":
            return UUID(int=7)
        if field.kind == "bool":
            return True
        return self.code if field.name.endswith("error_code") else 1


def embedded(name: str, text: bytes) -> bytes:
    """The newest version of a structure inside bytes, filled in the same way."""
    message = parse_structure_declaration(name)
    version = message.versions.high
    value = _Filling({}, text, 0).struct(resolve(message, version), "")
    return encode_embedded(name, version, value)


def pair(key: int, version: int, text: bytes, number: int, code: int = 0) -> Turns:
    """One exchange with `text` everywhere, client id included."""
    asked, answered = (filled(key, version, side, text, code) for side in SIDES)
    if key == _PRODUCE:
        asked["acks"] = 1
    return [
        (True, request(key, version, number, as_str(text), asked)),
        (False, response(key, version, number, answered)),
    ]


def newest(key: int) -> int:
    """The newest version of an API."""
    return api(key).versions.high


def single(text: bytes, *, every_version: bool = False, code: int = 0) -> Iterator[Turns]:
    """A connection for each API, or for each of its versions, Envelopes with another request inside."""
    for key in KEYS:
        low = api(key).versions.low if every_version else newest(key)
        for version in range(low, newest(key) + 1):
            if key == _ENVELOPE:
                continue
            before = _handshake(text) if key == _SASL_AUTHENTICATE else []
            turns = pair(key, version, text, 7, code)
            yield [*before, *turns]
            if version == newest(key) and key not in _LOGGING_IN:
                sent, got = turns[0][1], turns[1][1]
                outer = {"request_data": sent[4:], "request_principal": None, "client_host_address": text[:4]}
                inner = {"response_data": got[4:], "error_code": 0}
                yield [
                    (True, request(_ENVELOPE, 0, 8, as_str(text), outer)),
                    (False, response(_ENVELOPE, 0, 8, inner)),
                ]


def followed(text: bytes) -> Iterator[Turns]:
    """Connections whose exchanges say something about later ones: logins, members, transactions, Fetch sessions."""
    name = as_str(text)
    told = [*pair(18, 3, text, 1), *pair(3, newest(3), text, 2)]
    yield [*told, *pair(11, newest(11), text, 3), *pair(12, newest(12), text, 4), *pair(_FETCH, 13, text, 5)]
    yield [*told, *pair(68, newest(68), text, 3), *pair(_FETCH, 11, text, 4), *pair(13, newest(13), text, 5)]
    yield [
        *told,
        *pair(22, newest(22), text, 3),
        *pair(24, 3, text, 4),
        *pair(_PRODUCE, 9, text, 5),
        *pair(26, 4, text, 6),
    ]
    login = {"auth_bytes": b"\0" + text.replace(b"\0", b"") + b"\0secret"}
    granted = {"error_code": 0, "error_message": None, "auth_bytes": b"", "session_lifetime_ms": 0}
    yield [
        *_handshake(b"PLAIN"),
        (True, request(_SASL_AUTHENTICATE, 2, 2, name, login)),
        (False, response(_SASL_AUTHENTICATE, 2, 2, granted)),
        *pair(3, 9, text, 3),
        *pair(3, 9, text, 4),
    ]
    for version in (12, 13):  # by name, by id
        turns = [*pair(3, newest(3), text, 1)]
        for epoch, topics in enumerate([filled(_FETCH, version, "request", text)["topics"], [], []]):
            asked = filled(_FETCH, version, "request", text)
            asked |= {"session_id": 5 if epoch else 0, "session_epoch": epoch, "topics": topics}
            asked["forgotten_topics_data"] = []
            answer = {"throttle_time_ms": 0, "error_code": 0, "session_id": 5, "responses": []}
            turns.append((True, request(_FETCH, version, 10 + epoch, name, asked)))
            turns.append((False, response(_FETCH, version, 10 + epoch, answer)))
        yield turns


def _handshake(mechanism: bytes) -> Turns:
    name = as_str(mechanism)
    return [
        (True, request(_SASL_HANDSHAKE, 1, 1, "app", {"mechanism": name})),
        (False, response(_SASL_HANDSHAKE, 1, 1, {"error_code": 0, "mechanisms": [name]})),
    ]


def plain() -> Turns:
    """A connection that shows which address is a broker's, whatever the next ones say."""
    return [*pair(18, 3, PLAIN, 1), *pair(3, 9, PLAIN, 2)]


def captured(talks: Iterable[Turns]) -> bytes:
    """A capture with a connection for each of `talks`."""
    pcap = PcapWriter(LINK_RAW)
    packets: list[bytes] = []
    for number, turns in enumerate(talks):
        ends = SyntheticTcp(f"10.9.{number >> 8}.{number & 255}:40000", "10.1.2.3:9092", time_ns=10**18)
        packets += ends.opening_packets()
        for mine, frame in turns:
            packets += [packet for packet, _ in ends.data_packets(CLIENT if mine else SERVER, frame)]
        packets += ends.closing_packets(reset=False)
    return pcap.make_file_header() + b"".join(
        pcap.make_packet_block(10**18 + at * 10**6, data) for at, data in enumerate(packets)
    )
