"""A secret is planted in every field that is declared secret, of every API and version: no output of kw has it.

The capture has an exchange for each such field, requests inside an Envelope, and records of the metadata log. Every
secret is different, so that a leaked one tells its field.
"""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from decoders import encode_embedded
from decoders.apis import KEYS, api
from decoders.embedded import STRUCTURES, parse_structure_declaration
from decoders.exchanges.body_reader import SIDES
from decoders.protocol_facts.api_keys import FETCH, FETCH_SNAPSHOT, SASL_AUTHENTICATE, SASL_HANDSHAKE
from decoders.schema.api_declaration import Field, Plan, PlanField, Side, resolve
from kwcli.commands import decode
from kwcli.options import FRAME_FORMATS as FORMATS
from kwcli.options import WITHOUT_BODIES
from kwcli.proxy.log.capture_file import LINK_RAW, SyntheticTcp
from kwcli.proxy.log.log_protocol import CLIENT, SERVER
from tests.capture.pcap_writer import PcapWriter
from tests.cli.worlds import Outcome, in_format, kw
from tests.exchanges.talks import framed, plan, request, response
from tests.records.making import batch, record
from tests.sampling import sampled

ENVELOPE = 58
MARK = re.compile(r"Zq9x\d{5}xHunter")
TEXT = "text"


class Maker:
    """Values of messages with every field filled: a number, a text, one element of each array."""

    def __init__(self) -> None:
        self.count = 0
        self.planted: dict[str, str] = {}  # secret → where it was planted
        self._where = ""

    def value(self, of: Plan, where: str, said: str = "") -> dict[str, Any]:
        """A value of a message; its error messages are `said`."""
        self._where = where
        return self._struct(of, said, "")

    def secret(self, where: str) -> str:
        self.count += 1
        made = f"Zq9x{self.count:05}xHunter"
        self.planted[made] = where
        return made

    def _struct(self, of: Plan, said: str, above: str) -> dict[str, Any]:
        return {field.name: self._field(field, said, above + field.name) for field in (*of.fields, *of.tagged)}

    def _field(self, field: PlanField, said: str, path: str) -> Any:
        inner: Any
        if field.plan is not None:
            inner = self._struct(field.plan, said, path + ".")
        elif field.secret:
            made = self.secret(f"{self._where} {path}")
            inner = made.encode() if field.kind == "bytes" else made
        elif field.kind == "records":
            return None
        else:
            inner = _plain(field, said)
        return [inner] if field.array else inner


def _plain(field: PlanField, said: str) -> Any:
    from uuid import UUID

    if field.name in ("error_message", "format_error_code"):
        return said or None
    if field.name.endswith("error_code"):
        return 40
    kinds = {"string": TEXT, "bytes": b"bytes", "bool": True, "float64": 1.5, "uuid": UUID(int=7)}
    return kinds.get(field.kind, 2)


def secret_fields(of: Plan) -> Iterator[str]:
    for field in (*of.fields, *of.tagged):
        if field.plan is not None:
            yield from secret_fields(field.plan)
        elif field.secret:
            yield field.name


def secret_paths(fields: Sequence[Field], above: str = "") -> Iterator[str]:
    for field in fields:
        if field.fields:
            yield from secret_paths(field.fields, f"{above}{field.name}.")
        elif field.secret:
            yield above + field.name


class Talk(NamedTuple):
    """One connection's frames: whether the client sent it, and its bytes."""

    turns: list[tuple[bool, bytes]]


def every_talk(maker: Maker) -> Iterator[Talk]:
    """An exchange for every version of every API with a secret, twice: the second answer cannot be decoded."""
    for key in KEYS:
        for version in range(api(key).versions.low, api(key).versions.high + 1):
            if not any(any(secret_fields(plan(key, version, side))) for side in SIDES):
                continue
            before: list[tuple[bool, bytes]] = []
            if key == ENVELOPE:
                continue  # Envelopes are made with other requests inside
            if key == SASL_AUTHENTICATE:
                before = handshake(1, "PLAIN")
            name = f"{api(key).name} {version}"
            begun = maker.count
            asked = maker.value(plan(key, version, "request"), f"{name} request")
            known = " ".join(list(maker.planted)[begun:])
            answered = maker.value(plan(key, version, "response"), f"{name} response", known)
            sent, got = request(key, version, 7, "app", asked), response(key, version, 7, answered)
            yield Talk([*before, (True, sent), (False, got)])
            yield Talk([*before, (True, sent), (False, framed(got[4:] + b"\xff" * 9))])
            yield Talk([*before, (True, framed(sent[4:] + b"\xff" * 3)), (False, got)])
            yield enveloped(sent, got)


def handshake(version: int, mechanism: str) -> list[tuple[bool, bytes]]:
    return [
        (True, request(SASL_HANDSHAKE, version, 1, "app", {"mechanism": mechanism})),
        (False, response(SASL_HANDSHAKE, version, 1, {"error_code": 0, "mechanisms": [mechanism]})),
    ]


def enveloped(sent: bytes, got: bytes) -> Talk:
    outer = {"request_data": sent[4:], "request_principal": None, "client_host_address": b"\x0a\x01\x01\x07"}
    inner = {"response_data": got[4:], "error_code": 0}
    return Talk([(True, request(ENVELOPE, 0, 8, "app", outer)), (False, response(ENVELOPE, 0, 8, inner))])


def logins(maker: Maker) -> Iterator[Talk]:
    """Tokens of each mechanism, as bare frames and inside SaslAuthenticate."""
    for mechanism, tokens in (
        ("PLAIN", ["\0alice\0{0}"]),
        ("OAUTHBEARER", ["n,,\x01auth=Bearer {0}\x01\x01"]),
        ("SCRAM-SHA-256", ["n,,n=alice,r={0}", "c=biws,r={0},p={0}"]),
        ("SCRAM-SHA-512", ["n,,n=alice,r={0},tokenauth=true", "c=biws,r={0},p={0}"]),
        ("GSSAPI", ["`\x82{0}"]),
        ("AWS_MSK_IAM", ['{{"version":"2020_10_22","x-amz-signature":"{0}"}}']),
    ):
        raw, framing = handshake(0, mechanism), handshake(1, mechanism)
        for number, token in enumerate(tokens):
            mine, theirs = (maker.secret(f"{mechanism} {side}") for side in SIDES)
            sent, got = token.format(mine).encode("latin-1"), f"r={mine}{theirs},s={theirs},i=4096".encode()
            raw += [(True, framed(sent)), (False, framed(got))]
            asked = {"auth_bytes": sent}
            told = "no" if mechanism == "GSSAPI" else f"no {mine}"  # no broker takes those bytes for text
            answer = {"error_code": 58, "error_message": told, "auth_bytes": got, "session_lifetime_ms": 0}
            framing += [(True, request(SASL_AUTHENTICATE, 2, 20 + number, "app", asked))]
            framing += [(False, response(SASL_AUTHENTICATE, 2, 20 + number, answer))]
        yield Talk(raw)
        yield Talk(framing)


def structures(maker: Maker) -> Iterator[Talk]:
    """Records of the metadata log that hold secrets, fetched by a broker."""
    values = []
    for name in STRUCTURES:
        message = parse_structure_declaration(name)
        for version in range(message.versions.low, message.versions.high + 1):
            layout = resolve(message, version)
            if any(secret_fields(layout)):
                values.append(encode_embedded(name, version, maker.value(layout, f"{name} {version}")))
    assert values
    records = batch(*(record(at, value=value) for at, value in enumerate(values)))
    partition = {"partition_index": 0, "records": records}
    answer = {"responses": [{"topic": "__cluster_metadata", "partitions": [partition]}]}
    asked = {"topics": [{"topic": "__cluster_metadata", "partitions": [{"partition": 0}]}]}
    yield Talk([(True, whole(FETCH, 12, "request", asked)), (False, whole(FETCH, 12, "response", answer))])
    piece = {"name": "__cluster_metadata", "partitions": [{"index": 0, "unaligned_records": records}]}
    snapshot = {"name": "__cluster_metadata", "partitions": [{"partition": 0}]}
    yield Talk(
        [
            (True, whole(FETCH_SNAPSHOT, 0, "request", {"topics": [snapshot]})),
            (False, whole(FETCH_SNAPSHOT, 0, "response", {"topics": [piece]})),
        ]
    )


def whole(key: int, version: int, side: Side, value: dict[str, Any]) -> bytes:
    """A frame with this value; all other fields have their defaults."""
    from decoders import encode_request, encode_response

    if side == "request":
        return framed(encode_request(key, version, value, correlation_id=9, client_id="app"))
    return framed(encode_response(key, version, value, correlation_id=9))


@cache
def planted() -> tuple[bytes, dict[str, str], list[Talk]]:
    """The capture, its secrets with their places, and the frames of its connections."""
    maker = Maker()
    talks = [*every_talk(maker), *logins(maker), *structures(maker)]
    pcap = PcapWriter(LINK_RAW)
    packets: list[bytes] = []
    for number, talk in enumerate(talks):
        ends = SyntheticTcp(f"10.9.{number >> 8}.{number & 255}:40000", "10.1.2.3:9092", time_ns=10**18)
        packets += ends.opening_packets()
        for mine, frame in talk.turns:
            packets += [packet for packet, _ in ends.data_packets(CLIENT if mine else SERVER, frame)]
        packets += ends.closing_packets(reset=False)
    made = pcap.make_file_header() + b"".join(
        pcap.make_packet_block(10**18 + at * 1000, data) for at, data in enumerate(packets)
    )
    return made, maker.planted, talks


@pytest.fixture(scope="module")
def capture(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("planted") / "planted.pcap"
    path.write_bytes(planted()[0])
    return str(path)


def leaked(data: str | bytes) -> list[str]:
    """The places of secrets that are in an output: in clear, as hex with or without blanks, as base64."""
    text = data.decode("latin-1") if isinstance(data, bytes) else data
    _, secrets, _ = planted()
    found = set(MARK.findall(text))
    digits = re.sub(r"[\s|]", "", text.lower())
    found |= {bytes.fromhex(each).decode() for each in re.findall("5a713978(?:3[0-9]){5}7848756e746572", digits)}
    if any(core in text.encode("latin-1", "replace") for core in map(_core, range(3))):
        for secret in secrets:
            if any(_base64(secret, pad) in text for pad in range(3)):
                found.add(secret)
    return sorted(f"{secrets.get(secret, '?')} ({secret})" for secret in found)


def _base64(secret: str, pad: int) -> str:
    """The base64 text of a secret that is the same in every context, for `pad` bytes modulo 3 before it."""
    first = (3 - pad) % 3
    kept = secret.encode()[first:]
    return b64encode(kept[: len(kept) // 3 * 3]).decode()


def _core(pad: int) -> bytes:
    return _base64("Zq9x000", pad)[:4].encode()


def shown(*words: str) -> Outcome:
    outcome = kw(*words)
    assert outcome.out or outcome.err
    assert "Traceback" not in outcome.err
    assert "defect" not in outcome.err
    assert leaked(outcome.out) == []
    assert leaked(outcome.err) == []
    return outcome


def test_there_is_a_secret_in_every_field_that_is_declared_secret(capture: str) -> None:
    data, secrets, talks = planted()
    assert len(talks) > 50
    assert leaked(data) == sorted(f"{where} ({secret})" for secret, where in secrets.items())
    assert len(leaked(b64encode(data))) > 0.9 * len(secrets)
    assert leaked(data.hex(" ")) == leaked(data)
    revealed = kw("sniff", capture, "-o", "ndjson", "--records", "--reveal-secrets").out
    assert len(leaked(revealed)) > 0.9 * len(secrets)


@pytest.mark.one_in(3)
@pytest.mark.parametrize("output", FORMATS)
def test_no_output_format_has_one(capture: str, output: str) -> None:
    for more in ((), ("-vv", "--records")):
        outcome = shown("sniff", capture, *in_format(output), *more)
        hides = "redacted" in outcome.out or "**" in outcome.out
        assert hides or output == "text" or output in WITHOUT_BODIES, f"-o {output} shows no hidden field: {more}"


# Words that name a field: in a filter that matches nothing, a column, a dimension of `kw stats`.
PATHS = sorted(
    {f"{side}.{path}" for key in KEYS for side in SIDES for path in secret_paths(api(key).message(side).fields)}
)


@pytest.mark.one_in(2)
@pytest.mark.parametrize("path", sampled(PATHS, 4))
def test_what_is_asked_for_by_name_is_hidden(capture: str, path: str) -> None:
    assert "{redacted " in shown("sniff", capture, "-f", f"{path} == nobody").err
    shown("sniff", capture, "-f", f"{path} ~ nobody or {path} like no")
    outcome = shown("sniff", capture, "-o", "fields", "-e", f"api,{path}", "-q")
    assert "redacted" in outcome.out
    shown("sniff", capture, "-o", "csv", "--columns", f"api,{path}", "-q")
    shown("sniff", capture, "--columns", f"api,{path}", "-q")


@pytest.mark.one_in(4)
@pytest.mark.parametrize(
    "words",
    [
        ("sniff", "--errors", "-v"),
        ("sniff", "--errors", "all", "-o", "ndjson"),
        ("sniff", "--strict"),
        ("sniff", "-f", "key", "--records", "-o", "ndjson"),
        ("sniff", "-f", "value ~ Zq9x and not value == a", "-v", "--records"),
        ("stats",),
        ("stats", "--by", "user,api"),
        ("stats", "--by", "error,topic", "-o", "json"),
        ("stats", "-o", "csv"),
        ("clients",),
        ("clients", "-o", "ndjson"),
        ("topics",),
        ("topics", "-o", "ndjson"),
        ("brokers",),
        ("brokers", "-o", "json"),
        ("audit", "--target", "4.3"),
        ("audit", "--target", "4.3", "-o", "ndjson"),
        ("sql", "select *, request_body, response_body from exchanges", "-o", "ndjson"),
    ],
    ids=" ".join,
)
def test_no_answer_has_one(capture: str, words: tuple[str, ...]) -> None:
    shown(words[0], capture, *words[1:])


@pytest.mark.long
def test_no_table_or_report_has_one(capture: str, tmp_path: Path) -> None:
    import pyarrow.parquet as pq

    tables = tmp_path / "tables"
    shown("pipeline", "run", capture, "--out", str(tables), "--bodies")
    files = sorted(tables.rglob("*.parquet"))
    assert files
    for file in files:
        assert leaked(str(pq.read_table(file).to_pylist())) == []
    page = tmp_path / "report.html"
    shown("pipeline", "report", str(tables), "--html", str(page))
    assert leaked(page.read_bytes()) == []
    shown("pipeline", "report", str(tables), "-o", "json")


@pytest.mark.long
@pytest.mark.one_in(3)
@pytest.mark.parametrize("output", FORMATS)
def test_no_message_that_is_decoded_alone_has_one(output: str) -> None:
    if output not in decode.FORMATS:
        return
    for talk in planted()[2]:
        for mine, frame in talk.turns:
            if mine:
                shown("decode", "--request", frame.hex(), "-o", output, "-v")
