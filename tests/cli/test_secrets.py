"""A secret is planted in every place that takes one, and in wrong places: no message of kw repeats it."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

import decoders
from decoders.limits import BODY_WHOLE_MAX, SECRETS_MAX
from decoders.messages.build_body_json import ECHOING
from kwcli.commands import decode
from kwcli.main import kw as program
from kwcli.options import FRAME_FORMATS as FORMATS
from kwcli.proxy.log.capture_file import LINK_RAW, SyntheticTcp
from kwcli.proxy.log.log_protocol import CLIENT, SERVER
from kwcli.proxy.log.redact_streams import Redactor, SharedKnowledge
from kwcli.run_environment import Exit
from tests.capture.pcap_writer import PcapWriter
from tests.cli.worlds import Outcome, in_format, kw, world
from tests.fuzz.program import run_measured
from tests.net.endpoint import endpoint
from tests.net.playbook import offers
from tests.net.responder import Responder, each_request, framed
from tests.proxy.hidden import port_base

SECRET = "Hunter2_Zx9"
NOBODY = ("-b", "127.0.0.1:1", "--connect-timeout", "1s")
PEM = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj"
JAAS = "org.apache.kafka.common.security.plain.PlainLoginModule required"


def free_of(outcome: Outcome, *secrets: str) -> Outcome:
    """The outcome, which must have some output, and none of these secrets in it."""
    said = outcome.out + outcome.err
    assert said
    for secret in secrets or (SECRET,):
        assert secret not in said
        assert base64.b64encode(secret.encode()).decode().rstrip("=") not in said
    return outcome


def kw_at(home: Path, *words: str, debug: bool = False, **variables: str) -> Outcome:
    env = world(variables={"XDG_CONFIG_HOME": str(home), "XDG_STATE_HOME": str(home), **variables})
    env.debug = debug
    return kw(*words, env=env)


# -- properties --------------------------------------------------------------------------------------------------------

LINES = {
    "misspelt": f"sasl.pasword={SECRET}",
    "no name": f"={SECRET}",
    "no such name": f"foo={SECRET}",
    "of a family": f"producer.sasl.password={SECRET}",
    "of another program": f"schema.registry.basic.auth.user.info=me:{SECRET}",
    "user of an address": f"schema.registry.url=https://me:{SECRET}@registry:8081",
    "user of a server": f"client.id=SASL_SSL://me:{SECRET}@kafka:9093",
    "user of an endpoint": f"sasl.oauthbearer.token.endpoint.url=https://me:{SECRET}@idp/token",
    "query of an endpoint": f"sasl.oauthbearer.token.endpoint.url=https://idp/token?api_key={SECRET}",
    "address that is none": f"sasl.oauthbearer.token.endpoint.url=https://me:{SECRET}",
    "option of a login": f'sasl.jaas.config={JAAS} username="me" pasword="{SECRET}";',
    "login without an end": f'sasl.jaas.config={JAAS} username="me" password="{SECRET}"',
    "login that is only it": f"sasl.jaas.config={SECRET}",
    "a blank in it": f"sasl.jaas.config={JAAS} password=x {SECRET};",
    "a command": f"sasl.kerberos.kinit.cmd=echo {SECRET} | kinit",
    "a store": f"ssl.truststore.password={SECRET}",
    "a key": f"ssl.key.password={SECRET}",
}


@pytest.mark.parametrize("line", LINES.values(), ids=LINES.keys())
def test_a_profile(tmp_path: Path, line: str) -> None:
    file = tmp_path / "kw" / "profiles" / "prod.properties"
    file.parent.mkdir(parents=True)
    file.write_text(f"{line}\nbootstrap.servers=127.0.0.1:1\n")
    for output in ("text", "ndjson", "json"):
        shown = free_of(kw_at(tmp_path, "profile", "show", "prod", "-o", output))
        assert "redacted" in shown.out
        assert SECRET in kw_at(tmp_path, "profile", "show", "prod", "-o", output, "--reveal-secrets").out
    free_of(kw_at(tmp_path, "profile", "list"))
    free_of(kw_at(tmp_path, "call", "Metadata", "--profile", "prod", "-vv", "--connect-timeout", "1s", debug=True))


@pytest.mark.parametrize("line", [*LINES.values(), SECRET, f"sasl.password {SECRET}", f"sasl.password:{SECRET}"])
def test_a_file_and_an_option(tmp_path: Path, line: str) -> None:
    for number, head in enumerate(("", "bootstrap.servers=127.0.0.1:1\nmetadata.broker.list=127.0.0.1:1\n")):
        file = tmp_path / f"{number}.conf"
        file.write_text(f"{head}{line}\n")
        free_of(kw_at(tmp_path, "call", "Metadata", *NOBODY, "-F", str(file), "-vv", debug=True))
        free_of(kw_at(tmp_path, "profile", "import", f"p{number}", str(file), "-v"))
    free_of(kw_at(tmp_path, "call", "Metadata", *NOBODY, "-X", line, "-vv", debug=True))


def test_a_key_in_lines(tmp_path: Path) -> None:
    file = tmp_path / "kcat.conf"
    file.write_text(f"metadata.broker.list=127.0.0.1:1\nssl.key.pem=-----BEGIN PRIVATE KEY-----\n{PEM}\n{PEM[:33]}\n")
    free_of(kw_at(tmp_path, "call", "Metadata", *NOBODY, "-F", str(file), "-vv"), PEM, PEM[:33])
    free_of(kw_at(tmp_path, "profile", "import", "p", str(file), "-v"), PEM, PEM[:33])
    free_of(kw_at(tmp_path, "profile", "show", "p"), PEM, PEM[:33])


@pytest.mark.parametrize("name", ["KW_SASL_PASSWORD", "KW_SASL_PASWORD", "KW_SASL_JAAS_CONFIG", "KW_SSL_KEY_PEM"])
@pytest.mark.parametrize("protocol", ["SASL_PLAINTEXT", "SASL_SSL"])
def test_a_variable(tmp_path: Path, name: str, protocol: str) -> None:
    words = ("call", "Metadata", *NOBODY, "-vv", "-X", f"security.protocol={protocol}", "-X", "sasl.mechanism=PLAIN")
    free_of(kw_at(tmp_path, *words, debug=True, **{name: SECRET}))


def test_what_kw_knows_it_shows(tmp_path: Path) -> None:
    file = tmp_path / "kw" / "profiles" / "prod.properties"
    file.parent.mkdir(parents=True)
    text = (
        "bootstrap.servers=SASL_SSL://a:1,SASL_SSL://b:2\nclient.id=me\nacks=all\nconsumer.max.poll.records=5\n"
        "sasl.oauthbearer.token.endpoint.url=https://idp:8443/realms/x/token\ntopic.acks=all\n"
    )
    file.write_text(text)
    assert kw_at(tmp_path, "profile", "show", "prod", "-o", "text").out == text


@pytest.mark.parametrize(
    "url",
    [
        f"https://me:{SECRET}@127.0.0.1:1/token",
        f"http://me:{SECRET}@127.0.0.1:1/token?x={SECRET}",
        f"https://127.0.0.1:{SECRET}/",
        f"https://me:{SECRET}",
        f"https://[me:{SECRET}@::1/",
        f"me:{SECRET}@idp/token",
        f"ftp://me:{SECRET}@idp/token",
        f"https://me:{SECRET}/x@127.0.0.1:1/",
        SECRET,
    ],
)
def test_the_address_of_a_token_endpoint(tmp_path: Path, url: str) -> None:
    words = [
        f"sasl.oauthbearer.{name}" for name in (f"token.endpoint.url={url}", "client.id=me", "client.secret=abcdefgh")
    ]
    words += ["sasl.mechanism=OAUTHBEARER", "security.protocol=SASL_PLAINTEXT"]
    options = [word for name in words for word in ("-X", name)]
    with Broker() as broker:
        outcome = kw_at(
            tmp_path, "call", "Metadata", "-b", where(broker), *options, "-vv", "--timeout", "2s", debug=True
        )
    assert outcome.code in (Exit.USAGE, Exit.UNREACHABLE, Exit.TIMEOUT)
    assert "defect" not in free_of(outcome).err


def test_an_endpoint_that_repeats_what_it_was_sent(tmp_path: Path) -> None:
    basic = base64.b64encode(f"me:{SECRET}".encode()).decode()
    for answer in (
        (401, {"error": "no", "error_description": f"{SECRET} {basic}"}),
        (500, f"{SECRET} {basic}".encode()),
    ):
        with endpoint(answer) as (url, _), Broker() as broker:
            names = [f"token.endpoint.url={url}", "client.id=me", f"client.secret={SECRET}"]
            words = [f"sasl.oauthbearer.{name}" for name in names]
            words += ["sasl.mechanism=OAUTHBEARER", "security.protocol=SASL_PLAINTEXT"]
            options = [word for name in words for word in ("-X", name)]
            outcome = kw_at(tmp_path, "call", "Metadata", "-b", where(broker), *options)
        assert outcome.code == Exit.REFUSED
        free_of(outcome, SECRET, basic)


# -- what brokers repeat -----------------------------------------------------------------------------------------------


class Broker(Responder):
    """A broker that refuses every login, and repeats all that it was sent."""

    def __init__(self) -> None:
        super().__init__(each_request(self._answer))

    def _answer(self, request: bytes) -> bytes:
        key, version = int.from_bytes(request[:2], "big"), int.from_bytes(request[2:4], "big")
        number = int.from_bytes(request[4:8], "big")
        value: dict[str, Any] = offers({3: (0, 9), 17: (0, 1), 18: (0, 3), 36: (0, 2), 44: (0, 1)})
        if key == 17:
            value = {"mechanisms": ["PLAIN", "SCRAM-SHA-256", "OAUTHBEARER"]}
        elif key == 3:
            host, port = self.address
            value = {"brokers": [{"node_id": 1, "host": host, "port": port}], "controller_id": 1}
        elif key == 36:
            token = decoders.decode_request(request).body["auth_bytes"].decode().split("\0")[-1]
            token = token.removeprefix("n,,\x01auth=Bearer ").strip("\x01")
            value = {"error_code": 58, "error_message": f"not {token}, but <{token}>"}
        elif key == 44:
            body = decoders.decode_request(request).body
            value = {"responses": [refused(each) for each in body["resources"]]}
        return framed(decoders.encode_response(key, version, value, correlation_id=number))


def where(broker: Responder) -> str:
    host, port = broker.address
    return f"{host}:{port}"


def refused(resource: Mapping[str, Any]) -> dict[str, Any]:
    value = resource["configs"][0]["value"]
    text = f"Invalid value {value} for configuration x: '{value}' is not a number"
    return {
        "error_code": 40,
        "error_message": text,
        "resource_type": resource["resource_type"],
        "resource_name": resource["resource_name"],
    }


LOGIN = ("-X", "sasl.mechanism=PLAIN", "-X", "security.protocol=SASL_PLAINTEXT", "-X", "sasl.username=alice")


def test_a_broker_that_repeats_a_password(tmp_path: Path) -> None:
    with Broker() as broker:
        login = (*LOGIN, "-X", f"sasl.password={SECRET}", "-b", where(broker))
        for more in ((), ("-vv",)):
            outcome = free_of(kw_at(tmp_path, "call", "Metadata", *login, *more))
            assert outcome.code == Exit.REFUSED
            assert "not {redacted 11}, but <{redacted 11}>" in outcome.err
        for output in ("text", "ndjson", "json"):
            words = ("proxy", "--check", "--port-base", str(port_base(4)), *login, "-o", output)
            assert "not {redacted 11}" in free_of(kw_at(tmp_path, *words)).out


def test_a_broker_that_repeats_a_token_of_an_endpoint(tmp_path: Path) -> None:
    with endpoint((200, {"access_token": SECRET, "expires_in": 100})) as (url, _), Broker() as broker:
        names = [f"token.endpoint.url={url}", "client.id=me", "client.secret=abcdefgh"]
        words = [f"sasl.oauthbearer.{name}" for name in names]
        words += ["sasl.mechanism=OAUTHBEARER", "security.protocol=SASL_PLAINTEXT"]
        options = [word for name in words for word in ("-X", name)]
        outcome = free_of(kw_at(tmp_path, "call", "Metadata", "-b", where(broker), *options, "-vv"))
    assert outcome.code == Exit.REFUSED
    assert "not {redacted 11}, but <{redacted 11}>" in outcome.err


def test_a_traceback(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_words: object, **_options: object) -> None:
        raise RuntimeError(f"could not use {SECRET}")

    monkeypatch.setattr("kwcli.net.cluster_client.ClusterClient.__enter__", fail)
    login = (*LOGIN, "-X", f"sasl.password={SECRET}", *NOBODY)
    for debug in (False, True):
        outcome = free_of(kw_at(tmp_path, "call", "Metadata", *login, debug=debug))
        assert "could not use {redacted 11}" in outcome.err
    assert program.name == "kw"


def test_a_password_that_is_a_name_is_no_secret_of_texts(tmp_path: Path) -> None:
    """A password equal to the user name is not redacted in texts: its absence would tell that they are equal."""
    with Broker() as broker:
        outcome = kw_at(tmp_path, "call", "Metadata", *LOGIN, "-X", "sasl.password=alice", "-b", where(broker))
    assert "not alice, but <alice>" in outcome.err


SETTING = {"name": "my.own", "value": SECRET}
CONFIG: dict[str, Any] = {"resource_type": 2, "resource_name": "orders", "configs": [SETTING]}
TALKS: dict[str, tuple[int, int, dict[str, Any], dict[str, Any]]] = {
    "config": (44, 1, {"resources": [CONFIG]}, {"responses": [refused(CONFIG)]}),
    "with a line end": (
        44,
        1,
        {"resources": [CONFIG]},
        {"responses": [{**refused(CONFIG), "error_message": f"no\x00{SECRET}"}]},
    ),
    "old config": (33, 1, {"resources": [CONFIG]}, {"responses": [refused(CONFIG)]}),
    "login in a config": (
        44,
        1,
        {"resources": [{**CONFIG, "configs": [{"name": "x.jaas", "value": f'{JAAS} password="{SECRET}";'}]}]},
        {"responses": [refused(CONFIG)]},
    ),
    "topic": (
        19,
        5,
        {"topics": [{"name": "t", "configs": [{"name": "my.own", "value": SECRET}]}]},
        {"topics": [{"name": "t", "error_code": 40, "error_message": f"Unknown topic config: {SECRET}"}]},
    ),
    "described": (
        32,
        4,
        {"resources": [{"resource_type": 2, "resource_name": "t"}]},
        {"results": [{**refused(CONFIG), "configs": [{"name": "my.own", "value": SECRET}]}]},
    ),
    "plain": (
        36,
        2,
        {"auth_bytes": f"\0alice\0{SECRET}".encode()},
        {"error_code": 58, "error_message": f"alice is not {SECRET}"},
    ),
    "bearer": (
        36,
        2,
        {"auth_bytes": f"n,,\x01auth=Bearer {SECRET}\x01\x01".encode()},
        {"error_code": 58, "error_message": f"bad token {SECRET}"},
    ),
    "scram": (
        51,
        0,
        {"upsertions": [{"name": "u", "mechanism": 1, "salt": SECRET.encode(), "salted_password": b"12345678"}]},
        {"results": [{"user": "u", "error_code": 1, "error_message": f"{base64.b64encode(SECRET.encode()).decode()}"}]},
    ),
}


def config_of(number: int, value: str, name: str = "my.own") -> dict[str, Any]:
    return {"resource_type": 2, "resource_name": f"t{number}", "configs": [{"name": name, "value": value}]}


# So many public values that a body is decoded as it is written.
FILLING = [config_of(n, "x" * 60, "retention.ms") for n in range(15_000)]
ANSWERED = [{"error_code": 0, "resource_type": 2, "resource_name": "t" * 60} for _ in range(20_000)]
MANY = [config_of(n, f"{SECRET}_{n}") for n in range(SECRETS_MAX + 1)]
# Bodies of more than 1 MiB: of the request, of the answer, of both; long messages; one array in another.
LARGE: dict[str, tuple[int, int, dict[str, Any], dict[str, Any]]] = {
    "large request": (44, 1, {"resources": [*FILLING, CONFIG]}, {"responses": [refused(CONFIG)]}),
    "large answer": (44, 1, {"resources": [CONFIG]}, {"responses": [*ANSWERED, refused(CONFIG)]}),
    "both": (44, 1, {"resources": [*FILLING, CONFIG]}, {"responses": [*ANSWERED, refused(CONFIG)]}),
    "long message": (
        44,
        1,
        {"resources": [CONFIG]},
        {"responses": [{**refused(CONFIG), "error_message": "x" * 2_000_000 + SECRET}]},
    ),
    "no text": (
        44,
        1,
        {"resources": [CONFIG]},
        {"responses": [*ANSWERED, {**refused(CONFIG), "error_message": "\x00" * 300_000 + SECRET}]},
    ),
    "long secret": (
        44,
        1,
        {"resources": [config_of(1, f"{SECRET} {'y' * 1_500_000}")]},
        {"responses": [{**refused(CONFIG), "error_message": f"no {SECRET}"}]},
    ),
    "many configs of one": (
        44,
        1,
        {"resources": [{**CONFIG, "configs": [SETTING] * 60_000}]},
        {"responses": [refused(CONFIG)]},
    ),
    "many described of one": (
        32,
        4,
        {"resources": [{"resource_type": 2, "resource_name": "t"}]},
        {"results": [{**refused(CONFIG), "configs": [SETTING] * 45_000}]},
    ),
}


def frames(name: str) -> tuple[bytes, bytes]:
    key, version, request, response = (TALKS | LARGE)[name]
    asked = decoders.encode_request(key, version, request, correlation_id=7, client_id="app")
    return framed(asked), framed(decoders.encode_response(key, version, response, correlation_id=7))


def captured(name: str, path: Path, *, whole: bool = True) -> str:
    asked, answer = frames(name)
    if not whole:
        answer = framed(answer[4:] + b"\xff" * 9)  # cannot be decoded to its end
    return saved(asked, answer, path)


def saved(asked: bytes, answer: bytes, path: Path) -> str:
    pcap = PcapWriter(LINK_RAW)
    talk = SyntheticTcp("10.9.8.7:40000", "10.1.2.3:9092", time_ns=10**18)
    packets = list(talk.opening_packets())
    packets += [packet for packet, _ in talk.data_packets(CLIENT, asked)]
    packets += [packet for packet, _ in talk.data_packets(SERVER, answer)]
    packets += talk.closing_packets(reset=False)
    path.write_bytes(
        pcap.make_file_header() + b"".join(pcap.make_packet_block(10**18 + at, data) for at, data in enumerate(packets))
    )
    return str(path)


def hexed(text: str) -> str:
    return " ".join(f"{byte:02x}" for byte in text.encode())


@pytest.mark.one_in(3)
@pytest.mark.parametrize("name", TALKS)
def test_an_exchange(tmp_path: Path, name: str) -> None:
    file = captured(name, tmp_path / "x.pcap")
    wrong = captured(name, tmp_path / "y.pcap", whole=False)
    for output in FORMATS:
        for more in ((), ("-vv",)):
            for path in (file, wrong):
                words = ("sniff", path, "--port", "9092", *in_format(output), *more)
                shown = free_of(kw(*words))
                assert hexed(SECRET)[:17] not in shown.out
                assert SECRET.encode().hex() not in shown.out
    record = json.loads(kw("sniff", file, "--port", "9092", "-o", "ndjson", "-q").out)
    assert "redacted" in json.dumps(record["response"])
    clear = kw("sniff", file, "--port", "9092", "-o", "ndjson", "-q", "--reveal-secrets").out
    assert "{redacted" not in clear


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=pytest.mark.long if name == "large answer" else pytest.mark.full) for name in LARGE],
)
def test_a_large_exchange(tmp_path: Path, name: str) -> None:
    assert max(map(len, frames(name))) > BODY_WHOLE_MAX
    file = captured(name, tmp_path / "x.pcap")
    for output in FORMATS:
        shown = kw("sniff", file, "--port", "9092", "-o", output, "-vv").out
        assert SECRET not in shown
        assert hexed(SECRET)[:17] not in shown
    record = json.loads(kw("sniff", file, "--port", "9092", "-o", "ndjson", "-q").out)
    assert "redacted" in json.dumps(record["response"])
    assert "messages_hidden" not in record
    assert "redacted" not in kw("sniff", file, "--port", "9092", "-o", "ndjson", "-q", "--reveal-secrets").out


@pytest.mark.long
@pytest.mark.one_in(2)
@pytest.mark.parametrize("count", [SECRETS_MAX, SECRETS_MAX + 1])
def test_messages_of_too_many_secrets_are_hidden_whole(tmp_path: Path, count: int) -> None:
    asked = decoders.encode_request(44, 1, {"resources": MANY[:count]}, correlation_id=7, client_id="app")
    messages = [f"Invalid value {MANY[n]['configs'][0]['value']} for x" for n in range(2)]
    answered = [{**refused(CONFIG), "error_message": message} for message in messages]
    answer = decoders.encode_response(44, 1, {"responses": answered}, correlation_id=7)
    file = saved(framed(asked), framed(answer), tmp_path / "x.pcap")
    for output in FORMATS:
        shown = kw("sniff", file, "--port", "9092", "-o", output, "-vv").out
        assert SECRET not in shown
        assert hexed(SECRET)[:17] not in shown
    record = json.loads(kw("sniff", file, "--port", "9092", "-o", "ndjson", "-q").out)
    told = [each["error_message"] for each in record["response"]["responses"]]
    if count > SECRETS_MAX:
        assert record["messages_hidden"] is True
        assert told == [f"{{redacted {len(message)}}}" for message in messages]
    else:
        assert "messages_hidden" not in record
        assert told == ["Invalid value {redacted 13} for x"] * 2
    clear = json.loads(kw("sniff", file, "--port", "9092", "-o", "ndjson", "-q", "--reveal-secrets").out)
    assert "messages_hidden" not in clear
    assert [each["error_message"] for each in clear["response"]["responses"]] == messages


@pytest.mark.long
def test_secrets_of_a_large_request_are_not_held(tmp_path: Path) -> None:
    """Memory stays bounded in every format, also in hex, which needs the secrets to hide them."""
    resources = [config_of(n, f"{SECRET}_{n}_{'z' * 20}") for n in range(200_000)]
    asked = decoders.encode_request(44, 1, {"resources": resources}, correlation_id=7, client_id="app")
    answer = decoders.encode_response(44, 1, {"responses": [refused(resources[0])]}, correlation_id=7)
    file = saved(framed(asked), framed(answer), tmp_path / "x.pcap")
    del resources, asked
    for output in ("hex", "ndjson", "text"):
        done = run_measured(["sniff", file, "--port", "9092", "-o", output])
        assert done.code == 0
        assert done.peak_mb < 130


@pytest.mark.long
def test_a_file_of_the_proxy_with_more_fields_than_are_named() -> None:
    resources = [config_of(n, f"s{n:05}") for n in range(7_000)]
    asked = framed(decoders.encode_request(44, 0, {"resources": resources}, correlation_id=7))
    last = resources[-1]
    answer = framed(decoders.encode_response(44, 0, {"responses": [refused(last)]}, correlation_id=7))
    redactor = Redactor(SharedKnowledge())
    pieces = redactor.feed(CLIENT, 1, asked) + redactor.feed(SERVER, 2, answer) + redactor.finish()
    kept = b"".join(bytes(piece.shown) for piece in pieces)
    assert last["configs"][0]["value"].encode() not in kept


def test_what_is_no_secret_stays() -> None:
    key, version, *_ = TALKS["config"]
    public = {**CONFIG, "configs": [{"name": "retention.ms", "value": "tomorrow"}]}
    asked = decoders.encode_request(key, version, {"resources": [public]}, correlation_id=7)
    answer = decoders.encode_response(key, version, {"responses": [refused(public)]}, correlation_id=7)
    shown = kw("decode", "--request", framed(asked).hex(), "-o", "ndjson").out
    assert "tomorrow" in shown
    shown = kw("decode", "--api", "44", "--version", "1", "--response", framed(answer).hex(), "-o", "ndjson").out
    assert "Invalid value tomorrow for" in shown


def test_a_message_with_a_hole_is_not_encoded(tmp_path: Path) -> None:
    words = ("sniff", captured("config", tmp_path / "x.pcap"), "-o", "ndjson", "-q")
    record = json.loads(kw(*words).out)["response"]
    encoded = kw("encode", "IncrementalAlterConfigs", "1", "--response", env=world(json.dumps(record).encode()))
    assert (encoded.code != 0, "--reveal-secrets" in encoded.err) == (True, True)
    clear = json.dumps(json.loads(kw(*words, "--reveal-secrets").out)["response"])
    assert kw("encode", "IncrementalAlterConfigs", "1", "--response", env=world(clear.encode())).code == 0


@pytest.mark.parametrize("name", ["described"])
def test_a_message_alone(name: str) -> None:
    key, version, _, _ = TALKS[name]
    for output in decode.FORMATS:
        words = ("decode", "--api", str(key), "--version", str(version), "--response", frames(name)[1].hex())
        outcome = kw(*words, "-o", output)
        assert outcome.code == 0
        assert hexed(SECRET)[:17] not in free_of(outcome).out
        if output != "fields":  # which has no body
            assert SECRET in kw(*words, "-o", output, "--reveal-secrets").out


@pytest.mark.parametrize("output", FORMATS)
def test_a_call(tmp_path: Path, output: str) -> None:
    words = ["resources[0].resource_type=2", "resources[0].resource_name=t", "resources[0].configs[0].name=my.own"]
    words.append(f"resources[0].configs[0].value={SECRET}")
    with Broker() as broker:
        outcome = kw_at(
            tmp_path, "call", "IncrementalAlterConfigs", *words, "-b", where(broker), *in_format(output), "-vv"
        )
    assert hexed(SECRET)[:17] not in free_of(outcome).out
    assert "Invalid value" in outcome.out or output not in ("text", "ndjson", "json")


@pytest.mark.parametrize("name", TALKS)
def test_a_file_of_the_proxy(name: str) -> None:
    veil = Redactor(SharedKnowledge())
    asked, answer = frames(name)
    pieces = veil.feed(CLIENT, 1, asked) + veil.feed(SERVER, 2, answer) + veil.finish()
    kept = b"".join(bytes(piece.shown) for piece in pieces)
    assert len(kept) == len(asked + answer)
    assert SECRET.encode() not in kept
    assert base64.b64encode(SECRET.encode()) not in kept
    key, version, _, response = TALKS[name]
    other = Redactor(SharedKnowledge())
    unseen = framed(decoders.encode_response(key, version, response, correlation_id=7))
    pieces = other.feed(CLIENT, 1, asked[: len(asked) - 3]) + other.feed(SERVER, 2, unseen) + other.finish()
    assert SECRET.encode() not in b"".join(bytes(piece.shown) for piece in pieces)


def test_every_api_that_can_repeat_a_secret_is_known() -> None:
    def fields(found: Any) -> list[Any]:
        return [each for field in found for each in (field, *fields(field.fields))]

    expected = set()
    for key in range(200):
        try:
            api = decoders.api(key)
        except decoders.UnknownApi:
            continue
        answer = fields(api.response.fields)
        secret = any(field.secret for field in [*fields(api.request.fields), *answer])
        if secret and any(field.name == "error_message" for field in answer):
            expected.add(key)
    assert expected == ECHOING
