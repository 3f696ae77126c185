"""`kw decode` as people use it: what is shown and guessed, and the failures with their exit codes."""

from __future__ import annotations

import json
from base64 import b64encode
from pathlib import Path
from struct import pack
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from decoders.exchanges.exchange import Exchange
from decoders.messages.build_body_json import Options, read_body_json
from kwcli.output.short_texts import cell_width
from tests.captures.reading import exchanges
from tests.captures.shipped import CLEAN, FOLDER, capture_bytes
from tests.cli.worlds import Outcome, kw, world
from tests.exchanges.talks import framed, request, response
from tests.sampling import sampled

METADATA = request(3, 12, 7, "app", {"topics": [{"name": "orders"}]})
ANSWER = response(3, 12, 7, {"brokers": [{"node_id": 1, "host": "kafka1", "port": 9092}], "cluster_id": "c" * 22})
SECRET = request(36, 1, 7, "app", {"auth_bytes": b"\0alice\0my-word"})


def decode(*words: str, stdin: bytes = b"", **surroundings: Any) -> Outcome:
    return kw("decode", *words, env=world(stdin, **surroundings))


def records(outcome: Outcome) -> list[dict[str, Any]]:
    return [json.loads(line) for line in outcome.out.splitlines()]


def test_the_record_is_what_scripts_rely_on() -> None:
    done = decode(METADATA.hex())
    assert (done.code, done.err) == (0, "")
    assert records(done) == [
        {
            "kind": "message",
            "side": "request",
            "size": len(METADATA) - 4,
            "api_key": 3,
            "api": "Metadata",
            "api_version": 12,
            "correlation_id": 7,
            "client_id": "app",
            "header": {"request_api_key": 3, "request_api_version": 12, "correlation_id": 7, "client_id": "app"},
            "body": {
                "topics": [{"topic_id": "AAAAAAAAAAAAAAAAAAAAAA", "name": "orders"}],
                "allow_auto_topic_creation": True,
                "include_topic_authorized_operations": False,
            },
        }
    ]
    assert json.loads(decode(METADATA.hex(), "-o", "json").out) == records(done)


@pytest.mark.long
@pytest.mark.one_in(2)
@pytest.mark.parametrize("name", sampled(CLEAN, 3))
def test_real_messages_decode_as_their_exchanges_do(name: str, tmp_path: Path) -> None:
    """One exchange of each kind: by its own header, or with API and version given; with and without the size field."""
    shown = ("--records", "--raw-values")
    seen = set()
    frames: list[tuple[bytes, Any]] = []
    bare: list[tuple[Exchange, bytes, Any]] = []
    for exchange in exchanges(capture_bytes(name)):
        kind = (exchange.api_key, exchange.api_version)
        if exchange.outcome != "complete" or kind in seen or not exchange.request_raw or not exchange.response_raw:
            continue
        seen.add(kind)
        body, failure, *_ = read_body_json(exchange, "request", Options(records=True))
        assert failure is None
        frames.append((exchange.request_raw, body))
        if len(bare) < 12:
            bare.append(
                (exchange, exchange.response_raw, read_body_json(exchange, "response", Options(records=True))[0])
            )
    file = tmp_path / "frames.bin"
    file.write_bytes(b"".join(frame for frame, _ in frames))
    done = decode(str(file), *shown)
    assert [record["body"] for record in records(done)] == [body for _, body in frames]
    lines = b"\n".join(frame[4:].hex().encode() for frame, _ in frames)
    assert [record["body"] for record in records(decode(*shown, stdin=lines))] == [body for _, body in frames]
    for exchange, raw, body in bare:
        said = ("--api", str(exchange.api_key), "--version", str(exchange.api_version), "--response", *shown)
        for data in (raw, raw[4:]):
            (record,) = records(decode(b64encode(data).decode(), "--from", "base64", *said))
            assert (record["side"], record["body"]) == ("response", body)


def test_a_bare_body_decodes_when_its_api_and_version_are_said() -> None:
    body = METADATA[18:]
    (record,) = records(decode(body.hex(), "--api", "metadata", "--version", "12"))
    assert (record["side"], record["header"], record["size"]) == ("request", None, None)
    assert record["body"]["topics"][0]["name"] == "orders"
    shown = decode(body.hex(), "--api", "metadata", "--version", "12", "-o", "hex").out
    assert "0000  02" in shown
    assert "correlation_id" not in shown


def test_what_kw_encode_prints_comes_back() -> None:
    for words in (["Metadata", "12", "topics[].name=orders"], ["ApiVersions", "3", "--response", "error_code=35"]):
        body = kw("encode", *words).out
        frame = kw("encode", *words, "--frame").out
        for text in (body, frame):
            (record,) = records(decode("--api", words[0], "--version", words[1], stdin=text.encode()))
            assert record["side"] == ("response" if "--response" in words else "request")
            again = kw(
                "encode", *words[:2], *words[2:3] * ("--response" in words), env=world(json.dumps(record).encode())
            )
            assert (again.code, again.out) == (0, body)


def test_a_response_is_guessed_and_the_candidates_are_listed() -> None:
    (record,) = records(decode(ANSWER.hex()))
    assert (record["api"], record["api_version"], record["side"]) == ("Metadata", 12, "response")
    assert record["candidates"][0] == {"rank": 1, "api_key": 3, "api": "Metadata", "versions": [11, 12]}
    beat = decode(response(12, 2, 7, {"error_code": 27}).hex(), "-o", "text", columns=80)
    assert beat.out.startswith("← Heartbeat 1-3 response · 14 B · correlation id 7\n  read the same by: LeaveGroup 1-2")
    assert "REBALANCE_IN_PROGRESS" in beat.out
    (record,) = records(decode(response(12, 2, 7, {}).hex(), "--api", "EndTxn"))
    assert {each["api"] for each in record["candidates"]} == {"EndTxn"}


def test_one_bad_message_does_not_hide_the_others() -> None:
    done = decode(stdin=b"\n".join([METADATA.hex().encode(), METADATA[:-9].hex().encode(), SECRET.hex().encode()]))
    assert done.code == 1
    good, bad, last = records(done)
    assert "undecoded" not in good
    assert bad["undecoded"]["reason"] == "truncated"
    assert bad["undecoded"]["path"] == "topics[0].name"
    assert last["api"] == "SaslAuthenticate"
    assert done.err == (
        "kw: standard input, line 2: Metadata 12 request: truncated at byte 36 in topics[0].name: "
        "string of 6 bytes, 1 are left; the size field says 42 bytes, 33 are there\n"
    )


def test_the_part_before_a_failure_is_shown() -> None:
    broken = framed(METADATA[4:-3] + b"\1")
    for form, shown in (("text", "orders"), ("hex", "orders"), ("ndjson", '"name":"orders"')):
        done = decode(broken.hex(), "-o", form)
        assert done.code == 1
        assert shown in done.out
        assert done.err == (
            "kw: Metadata 12 request: truncated at byte 44 in include_topic_authorized_operations: "
            "bool needs 1 byte, 0 are left\n"
        )


def test_secrets_are_hidden_unless_asked_for() -> None:
    for form in ("text", "json", "ndjson", "hex"):
        for data in (SECRET, SECRET[:-3]):
            hidden = decode(data.hex(), "-o", form)
            told = hidden.out + hidden.err
            assert "my-word" not in told
            assert b"my-w".hex() not in told.replace(" ", "")
            assert b64encode(b"\0alice\0my-w").decode()[:12] not in told
        shown = decode(SECRET.hex(), "-o", form, "--reveal-secrets").out
        assert "my-word" in shown or b64encode(b"\0alice\0my-word").decode() in shown or "6d 79 2d" in shown


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        ([], 1, "standard input: empty: there is no message in it"),
        (["hello"], 2, "'hello' is neither hex nor base64, and no file"),
        (["00 0"], 2, "an odd number of hex digits (3)"),
        (["@/nowhere"], 1, "/nowhere: no such file or directory"),
        (["--version", "3", "00"], 2, "--version needs --api; see kw decode --help"),
        (["--api", "Metdata", "00"], 2, '(did you mean "Metadata"?)'),
        (["1603010200010001fc0303"], 1, "no Kafka message: TLS: ClientHello, TLS 1.2; set security.protocol"),
        (["ffffffffffffffff"], 1, "8 bytes that are no message kw knows"),
        ([str(FOLDER / "tour.pcapng")], 1, "a capture, not a message: give it to kw sniff"),
    ],
)
def test_what_goes_wrong_is_one_line(words: list[str], code: int, said: str) -> None:
    done = decode(*words)
    assert (done.code, done.out) == (code, "")
    assert said in done.err
    assert done.err.count("\n") == 1


EXPLAINED = [
    (["Invalid receive (size = 369295617 larger than 104857600)"], "TLS", "a handshake, TLS 1.0 record"),
    (["1195725856"], "HTTP/1", "a GET request"),
    (["-720899"], "Telnet", "its control bytes"),
    (["--", "-720899"], "Telnet", "its control bytes"),
    (["Received", "-720899", "when", "expecting", "4"], "Telnet", "its control bytes"),
    (["0x47455420"], "HTTP/1", "a GET request"),
    (["1,195,725,856"], "HTTP/1", "a GET request"),
    (
        ["999999999"],
        "lost framing",
        "the bytes 3b 9a c9 ff are no possible size, and no known protocol begins with them",
    ),
    (["-0x10"], "lost framing", "the bytes ff ff ff f0 are no possible size, and no known protocol begins with them"),
    (["5000"], "Kafka", "a size of 5,000 bytes, which is possible for a message"),
    (["1603010200010001fc0303"], "TLS", "ClientHello, TLS 1.2"),
    ([METADATA.hex()], "Kafka request", "Metadata 12, correlation id 7"),
    ([ANSWER.hex()], "Kafka response", "Metadata 11-12"),
    ([ANSWER[4:].hex()], "Kafka response", "Metadata 11-12, without its size field"),
    (["GET /metrics HTTP/1.1"], "HTTP/1", "GET /metrics"),
]


@pytest.mark.parametrize(("words", "what", "detail"), EXPLAINED)
def test_strange_bytes_and_numbers_are_explained(words: list[str], what: str, detail: str) -> None:
    done = decode("--explain", *words)
    first = records(done)[0]
    assert (done.code, first["kind"], first["what"], first["detail"]) == (0, "explanation", what, detail)
    assert decode("--explain", "-o", "text", *words).out.startswith(f"{what}: {detail}\n")


def test_of_a_log_the_lines_that_say_something_are_explained() -> None:
    log = b"[1] INFO started\n[2] WARN Invalid receive (size = 1195725856 larger than 104857600)\n[3] INFO 3 brokers\n"
    done = decode("--explain", stdin=log)
    assert (done.code, done.err) == (0, "")
    assert [record["detail"] for record in records(done)] == ["a GET request"]
    done = decode("--explain", stdin=b"[1] INFO started\n[2] INFO all is well\n")
    assert (done.code, done.out) == (1, "")
    assert done.err.startswith("kw: nothing recognised: give bytes, the number")


def test_a_line_that_is_no_message_does_not_hide_the_others() -> None:
    for first in (METADATA.hex(), METADATA[4:].hex()):
        done = decode(stdin="\n".join([first, "what is this?", METADATA.hex()]).encode())
        assert done.code == 1
        assert [record["api"] for record in records(done)] == ["Metadata", "Metadata"]
        assert done.err == "kw: standard input, line 2: 'what is this?' is neither hex nor base64, and no file\n"


@pytest.mark.parametrize("given", ["foo bar", "12345678901234", "offset 1234567890 is out of range", "Bytes 5 and 6"])
def test_text_that_says_nothing_is_a_failure(given: str) -> None:
    for done in (decode("--explain", given), decode("--explain", stdin=given.encode())):
        assert (done.code, done.out) == (1, "")
        assert "kw: nothing recognised" in done.err or "no protocol or file that kw knows begins so" in done.err


def test_one_line_of_a_log_on_standard_input() -> None:
    done = decode("--explain", stdin=b"Invalid receive (size = 1195725856 larger than 104857600)\n")
    assert (done.code, [record["detail"] for record in records(done)]) == (0, ["a GET request"])
    assert [record["what"] for record in records(decode("--explain", stdin=b"-720899\n"))] == ["Telnet"]


def test_of_a_whole_log_only_what_complains_is_lost_framing() -> None:
    log = b"segment of size 1999999999 rolled\nInvalid receive (size = 1999999999 larger than 104857600)\n"
    assert [record["what"] for record in records(decode("--explain", stdin=log))] == ["lost framing"]


NEGATIVE = pack(">iiih", 10, -7, 0, 27)


def test_a_response_with_a_negative_correlation_id_is_doubtful() -> None:
    done = decode(NEGATIVE.hex(), "-o", "text")
    assert done.code == 0
    assert done.out.splitlines()[1] == "  doubtful: its correlation id -7 is negative, and clients count from 0"
    assert records(decode(NEGATIVE.hex()))[0]["doubtful"].startswith("its correlation id -7 is negative")
    for words in (["--api", "Heartbeat", "--version", "1"], ["--response"]):
        assert "doubtful" in records(decode(NEGATIVE.hex(), *words))[0]
    assert "doubtful" not in records(decode(ANSWER.hex()))[0]
    found = records(decode("--explain", NEGATIVE.hex()))
    assert "doubtful: its correlation id -7" in found[-1]["detail"]


@pytest.mark.parametrize("given", ["-720899", "1195725856", "Invalid receive (size = 1195725856)"])
def test_a_number_without_explain_is_told_where_it_belongs(given: str) -> None:
    done = decode(given)
    assert (done.code != 0, done.out) == (True, "")
    assert "as a number: " in done.err
    assert "(--explain says more)" in done.err


def test_what_nobody_knows_is_said_to_be_unknown() -> None:
    done = decode("--explain", "ffff")
    assert (done.code, done.out) == (1, "")
    assert done.err == "kw: these bytes: no protocol or file that kw knows begins so\n"


@pytest.mark.long
@pytest.mark.one_in(3)
@pytest.mark.parametrize("columns", [60, 80, 200])
@pytest.mark.parametrize("form", ["text", "hex"])
def test_nothing_is_wider_than_the_terminal(form: str, columns: int) -> None:
    for exchange in exchanges(capture_bytes("tour.pcapng"))[:60]:
        for data in (exchange.request_raw, exchange.response_raw):
            if data is not None and len(data) < 4000:
                shown = decode(data.hex(), "-o", form, columns=columns, terminal=True, variables={"NO_COLOR": "1"})
                assert max(map(cell_width, shown.out.splitlines())) <= columns
                assert "\x1b" not in shown.out


HEADS = st.sampled_from([METADATA[:17], ANSWER[:9], SECRET[:20]])
WHOLE = st.sampled_from([METADATA, ANSWER, SECRET])


def _changed(data: bytes, at: int, byte: int) -> bytes:
    return data[:at] + bytes([byte]) + data[at + 1 :]


NOISE = st.one_of(
    st.binary(max_size=60),
    st.builds(bytes.__add__, HEADS, st.binary(max_size=40)),
    st.builds(_changed, WHOLE, st.integers(0, 45), st.integers(0, 255)),
)


@pytest.mark.long
@settings(max_examples=80)
@given(NOISE, st.sampled_from(["text", "json", "ndjson", "hex"]), st.booleans(), st.booleans())
def test_whatever_comes_there_is_no_defect(data: bytes, form: str, explain: bool, said: bool) -> None:
    words = ["-o", form] if form != "hex" or not explain else []
    words += ["--explain"] if explain else ["--api", "3", "--version", "12"] if said else []
    for done in (
        decode(*words, "--from", "raw", stdin=data),
        decode(*words, stdin=data.hex().encode()),
        decode(*words, stdin=data),
    ):
        assert done.code in (0, 1)
        assert "defect" not in done.err
        assert "Traceback" not in done.err
