"""The planted secrets of test_secret_fields.py on the other ways into kw: records that are read, captures that are cut,
single messages and structures, values to encode, requests to send, files of the proxy, and errors on the way.
"""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from decoders import encode_embedded
from decoders.apis import KEYS, api
from decoders.embedded import STRUCTURES, parse_structure_declaration
from decoders.messages.build_body_json import ECHOING
from decoders.protocol_facts.api_keys import SASL_AUTHENTICATE
from decoders.schema.api_declaration import Side, resolve
from kwcli.commands import decode
from kwcli.options import FRAME_FORMATS as FORMATS
from kwcli.output import FORMATS as RENDERERS
from kwcli.proxy.log.capture_file import LINK_RAW, SyntheticTcp
from kwcli.proxy.log.log_protocol import CLIENT, SERVER
from kwcli.proxy.log.redact_streams import Redactor, SharedKnowledge
from tests.capture.pcap_writer import PcapWriter
from tests.cli.test_secret_fields import Maker, Talk, capture, leaked, planted, secret_fields, shown
from tests.cli.worlds import Outcome, in_format, kw, world
from tests.exchanges.talks import plan, request, response

__all__ = ["capture"]  # a fixture

READABLE = [output for output in FORMATS if output not in ("hex", "raw")]  # a record has no bytes
STRIDE = 23


def given(text: str, *words: str) -> Outcome:
    """`kw WORDS` with this text on its standard input: it prints something, and no secret."""
    outcome = kw(*words, env=world(text.encode()))
    assert outcome.out or outcome.err
    assert "Traceback" not in outcome.err
    assert "defect" not in outcome.err
    assert leaked(outcome.out) == []
    assert leaked(outcome.err) == []
    return outcome


# Records that were written with their secrets.


@pytest.fixture(scope="module")
def revealed(capture: str, tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("revealed") / "revealed.ndjson"
    path.write_text(kw("sniff", capture, "-o", "ndjson", "--records", "--reveal-secrets", "-q").out)
    assert len(leaked(path.read_text())) > 60
    return str(path)


def test_records_are_redacted_when_they_are_read(capture: str, revealed: str) -> None:
    """Records with secrets are shown redacted, as if read from the capture; --reveal-secrets shows the secrets."""
    hidden = shown("sniff", capture, "-o", "ndjson", "--records", "-q").out
    assert shown("sniff", revealed, "-o", "ndjson", "-q").out == hidden
    assert given(hidden, "sniff", "-", "-o", "ndjson", "-q").out == hidden
    asked = kw("sniff", revealed, "-o", "ndjson", "-q", "--reveal-secrets").out
    assert asked == Path(revealed).read_text()


def test_every_secret_is_shown_to_whoever_asks(revealed: str) -> None:
    """--reveal-secrets shows every secret, those of structures and inside Envelopes too."""
    found = "\n".join(leaked(Path(revealed).read_text()))
    secrets = planted()[1]
    assert [where for secret, where in secrets.items() if secret not in found] == []
    assert any(where.startswith("UserScramCredentialRecord") for where in secrets.values())
    assert any(where.startswith("ConfigRecord") for where in secrets.values())


@pytest.mark.parametrize("output", READABLE)
def test_no_format_has_a_secret_of_a_record(revealed: str, output: str) -> None:
    shown("sniff", revealed, *in_format(output), "-vv", "--names")


@pytest.mark.long
@pytest.mark.one_in(3)
@pytest.mark.parametrize(
    "words",
    [
        ("sniff", "-f", "key or value ~ Zq9x", "-o", "ndjson"),
        ("sniff", "-f", "response.results.error_message == nobody"),
        ("sniff", "-f", "request.auth_bytes == nobody"),
        ("sniff", "-o", "fields", "-e", "request.resources.configs.value,request.auth_bytes,response"),
        ("stats",),
        ("stats", "--by", "user,api", "-o", "json"),
        ("clients", "-o", "ndjson"),
        ("topics",),
        ("brokers",),
        ("audit", "--target", "4.3"),
        ("doctor",),
        ("doctor", "-o", "ndjson"),
        ("sql", "select *, request_body, response_body from exchanges", "-o", "ndjson"),
    ],
    ids=" ".join,
)
def test_no_answer_has_one(capture: str, revealed: str, words: tuple[str, ...]) -> None:
    for source in (capture, revealed):
        shown(words[0], source, *words[1:])


def paths_of_messages() -> list[str]:
    """Every field of an answer in which a broker may repeat a refused value."""
    found = set()
    for key in ECHOING:
        waiting = [("response.", api(key).response.fields)]
        while waiting:
            above, fields = waiting.pop()
            for field in fields:
                if field.fields:
                    waiting.append((f"{above}{field.name}.", field.fields))
                elif field.name == "error_message":
                    found.add(above + field.name)
    return sorted(found)


@pytest.mark.long
@pytest.mark.parametrize("path", paths_of_messages())
def test_a_filter_lists_no_message_with_a_secret(capture: str, path: str) -> None:
    listed = shown("sniff", capture, "-f", f"{path} == nobody").err
    assert "{redacted " in listed or "no exchange has any" in listed
    assert "0 of" in shown("sniff", capture, "-f", f"{path} ~ Zq9x").err


# Captures that lack a part.


def captured(size: int | None, *, requests: bool = True) -> bytes:
    """The capture with `size` bytes of each packet, or without requests."""
    pcap = PcapWriter(LINK_RAW)
    made, at = pcap.make_file_header(), 10**18
    for number, talk in enumerate(planted()[2]):
        ends = SyntheticTcp(f"10.9.{number >> 8}.{number & 255}:40000", "10.1.2.3:9092", time_ns=10**18)
        packets = ends.opening_packets()
        for mine, frame in talk.turns:
            sent = [packet for packet, _ in ends.data_packets(CLIENT if mine else SERVER, frame)]
            packets += sent if requests or not mine else []
        for data in (*packets, *ends.closing_packets(reset=False)):
            made += pcap.make_packet_block(at, data[:size], len(data))
            at += 1000
    return made


def seen(path: Path, *more: str) -> None:
    for words in (("-o", "text", "-vv"), ("-o", "ndjson", "--records"), ("-o", "hex"), ("-o", "csv")):
        shown("sniff", str(path), "--port", "9092", *words, *more)
    for field in ("response.error_message", "response.results.error_message", "request.auth_bytes"):
        shown("sniff", str(path), "--port", "9092", "-f", f"{field} == nobody", *more)


@pytest.mark.long
@pytest.mark.one_in(2)
@pytest.mark.parametrize("size", [70, 95, *(pytest.param(size, marks=pytest.mark.full) for size in range(44, 300, 8))])
def test_a_capture_that_was_cut(tmp_path: Path, size: int) -> None:
    """The secret of a request is not in the capture, but the answer may still repeat it."""
    path = tmp_path / "cut.pcap"
    path.write_bytes(captured(size))
    seen(path)


@pytest.mark.long
def test_answers_without_their_requests(tmp_path: Path) -> None:
    path = tmp_path / "answers.pcap"
    path.write_bytes(captured(None, requests=False))
    shown("sniff", str(path), "--port", "9092", "-o", "ndjson")
    for words in (("-o", "hex"), ("-o", "text", "-v"), ("-f", "response.error_message == nobody")):
        shown("sniff", str(path), "--port", "9092", "--guess-requests", *words)
    guessed = kw("sniff", str(path), "--port", "9092", "--guess-requests", "-o", "ndjson", "-q").out
    assert '"guessed":true' in guessed
    assert '"messages_hidden":true' in guessed
    assert leaked(guessed) == []
    again = given(guessed, "sniff", "-", "-o", "ndjson", "-q").out
    assert again == guessed


# Single messages.


class Alone:
    """One message: its frame, and the options that name its type."""

    def __init__(self, frame: bytes, side: Side, key: int, version: int) -> None:
        self.frame = frame
        self.words = ("--api", str(key), "--version", str(version), f"--{side}")


@cache
def alone() -> list[Alone]:
    """Every message with a secret, in every version; no answer repeats a secret."""
    maker = Maker()
    found = []
    for key in KEYS:
        for version in range(api(key).versions.low, api(key).versions.high + 1):
            if any(secret_fields(plan(key, version, "request"))):
                asked = request(key, version, 7, "app", maker.value(plan(key, version, "request"), "alone"))
                found.append(Alone(asked, "request", key, version))
            if any(secret_fields(plan(key, version, "response"))):
                answered = response(key, version, 7, maker.value(plan(key, version, "response"), "alone"))
                found.append(Alone(answered, "response", key, version))
    assert len(found) > 40
    return found


@pytest.mark.parametrize("output", decode.FORMATS)
def test_messages(output: str) -> None:
    for each in alone():
        outcome = given(each.frame.hex(), "decode", *each.words, "-", *in_format(output, "body"), "-v")
        assert "redacted" in outcome.out or "**" in outcome.out


@pytest.mark.one_in(3)
@pytest.mark.parametrize("stride", [STRIDE, pytest.param(1, marks=pytest.mark.full)])
@pytest.mark.parametrize("output", ["text", "ndjson", "hex"])
def test_messages_that_are_cut(output: str, stride: int) -> None:
    for each in alone():
        for size in range(8, len(each.frame), stride):
            given("", "decode", *each.words, each.frame[:size].hex(), "-o", output)


@pytest.mark.one_in(3)
@pytest.mark.parametrize("output", ["text", "ndjson", "hex"])
def test_messages_of_versions_and_apis_that_nobody_knows(output: str) -> None:
    lines = []
    for each in alone():
        if "--request" in each.words:
            head, rest = each.frame[:4], each.frame[8:]
            lines += [
                (head + key + version + rest).hex()
                for key, version in ((each.frame[4:6], b"\0\x63"), (b"\3\7", b"\0\0"))
            ]
    given("\n".join(lines), "decode", "--request", "-", "-o", output)


@pytest.mark.parametrize("output", ["text", "ndjson", "yaml"])
def test_structures(output: str) -> None:
    maker = Maker()
    count = 0
    for name in STRUCTURES:
        message = parse_structure_declaration(name)
        for version in range(message.versions.low, message.versions.high + 1):
            layout = resolve(message, version)
            if any(secret_fields(layout)):
                data = encode_embedded(name, version, maker.value(layout, name))
                whole = given(data.hex(), "decode", "--as", name, "-", "-o", output)
                assert "redacted" in whole.out
                for size in range(1, len(data)):
                    given("", "decode", "--as", name, data[:size].hex(), "-o", output)
                count += 1
    assert count > 1


# Values to encode and to send.


@cache
def bodies() -> list[tuple[str, str, dict[str, Any]]]:
    """API, version and body of every request with a secret, as JSON in clear."""
    found = []
    for each in alone():
        if "--request" in each.words:
            text = kw("decode", *each.words, "--reveal-secrets", "-o", "ndjson", each.frame.hex()).out
            found.append((each.words[1], each.words[3], json.loads(text)["body"]))
    return found


def spoilt(body: Any) -> Iterator[Any]:
    """The body, each time with one of its secrets in an impossible shape."""
    for steps, text in places(body):
        for wrong in ([text], {"base64": text + "!"}, {"x": text}, {text: 1}, text + "\udc80", [{text: text}], 7):
            made = json.loads(json.dumps(body))
            owner = made
            for step in steps[:-1]:
                owner = owner[step]
            owner[steps[-1]] = wrong
            yield made


def places(value: Any, above: tuple[Any, ...] = ()) -> Iterator[tuple[tuple[Any, ...], str]]:
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for step, inner in items:
        yield from places(inner, (*above, step))
    if isinstance(value, str) and "xHunter" in value:
        yield above, value


def test_values_that_cannot_be_encoded() -> None:
    count = 0
    for key, version, body in bodies()[::3]:
        for wrong in spoilt(body):
            outcome = kw("encode", key, version, env=world(json.dumps(wrong).encode()))
            assert leaked(outcome.err) == []
            assert "defect" not in outcome.err
            assert outcome.code == 0 or outcome.out == ""
            count += outcome.code != 0
    assert count > 50


@pytest.mark.parametrize("output", ["text", "ndjson", "yaml", "hex", "fields"])
def test_requests_that_would_be_sent(output: str) -> None:
    for key, version, body in bodies()[::2]:
        if int(key) == SASL_AUTHENTICATE:
            continue  # has its own login
        words = ("call", key, "-", "--api-version", version, "--dry-run", *in_format(output, "request"), "-v")
        given(json.dumps(body), *words)


# Files of the proxy.


def test_files_of_the_proxy() -> None:
    """The proxy's file of a connection, whole or in pieces, has no secret, and every secret keeps its length."""
    for talk in planted()[2]:
        for size in (1 << 20, 11):
            kept = written(talk, size)
            assert leaked(kept) == []
            assert leaked(b64encode(kept)) == []
            assert len(kept) == sum(len(frame) for _, frame in talk.turns)


def written(talk: Talk, size: int) -> bytes:
    redactor = Redactor(SharedKnowledge())
    pieces = []
    for mine, frame in talk.turns:
        for at in range(0, len(frame), size):
            pieces += redactor.feed(CLIENT if mine else SERVER, 1, frame[at : at + size])
    pieces += redactor.finish()
    return b"".join(bytes(piece.shown).ljust(len(piece.data), b"*") for piece in pieces)


# Tracebacks.


@pytest.mark.one_in(3)
@pytest.mark.parametrize("output", FORMATS)
def test_a_defect_on_the_way(capture: str, monkeypatch: pytest.MonkeyPatch, output: str) -> None:
    """--debug shows the traceback of a defect, without the rows at hand."""
    name = RENDERERS[output].renderer
    module = f"kwcli.output.{RENDERERS[output].module}"
    write = getattr(import_module(module), name).write

    def fail(self: object, rows: list[object]) -> None:
        write(self, rows)
        raise RuntimeError("a defect")

    monkeypatch.setattr(f"{module}.{name}.write", fail)
    for debug in ((), ("--debug",)):
        outcome = kw("sniff", capture, *in_format(output), "-vv", *debug)
        assert ("a defect" in outcome.err, "Traceback" in outcome.err) == (True, bool(debug))
        assert leaked(outcome.out) == []
        assert leaked(outcome.err) == []
