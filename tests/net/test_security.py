"""Every listener and every mechanism of real brokers, in both spellings; and every wrong setting."""

from __future__ import annotations

import json
import time
from base64 import urlsafe_b64encode
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from kwcli.net.sasl.mechanism import PlainMechanism
from kwcli.net.session import sasl_authentication
from kwcli.playground.tls_certificates import write_tls_certificates
from kwcli.run_environment import Exit
from tests.broker.cluster import Cluster
from tests.broker.fixture import needs_brokers
from tests.broker.options import Options
from tests.cli.worlds import Outcome, kw
from tests.net.certificates import KEY, STORE, make_stores
from tests.net.endpoint import endpoint

pytestmark = [needs_brokers, pytest.mark.broker, pytest.mark.long]

SECURITY = "org.apache.kafka.common.security"
SECRETS = ("alice-secret", "hunter2", STORE, KEY)
SCRAM_LIFETIME_S = 1.0


class Scene(NamedTuple):
    """A broker with every listener, and a folder with its authority, a client and strangers, in every kind of store."""

    cluster: Cluster
    folder: Path

    def port(self, listener: str) -> int:
        return self.cluster.nodes[0].ports[listener]

    def call(
        self, listener: str, protocol: str, properties: dict[str, str], *words: str, host: str = "localhost"
    ) -> Outcome:
        """`kw call DescribeCluster` to a listener; `host` is its name in the settings, dialled at 127.0.0.1."""
        address = f"{host}:{self.port(listener)}"
        told = [word for name, text in properties.items() for word in ("-X", f"{name}={text.format(f=self.folder)}")]
        where = ["-b", address]
        if host not in ("localhost", "127.0.0.1"):
            where += ["--dial-map", f"{address}=127.0.0.1:{self.port(listener)}"]
        done = kw("call", "DescribeCluster", *where, "-X", f"security.protocol={protocol}", *told, *words)
        assert not any(secret in done.out + done.err for secret in SECRETS)
        return done


@pytest.fixture(scope="module", params=["4.3.1", "3.9.1"])
def scene(request: pytest.FixtureRequest) -> Iterator[Scene]:
    options = Options(
        version=request.param,
        listeners=("PLAINTEXT", "SSL", "MTLS", "SASL_PLAINTEXT", "SASL_SSL"),
        class_archive=True,
        properties={
            "listener.name.sasl_ssl.scram-sha-512.connections.max.reauth.ms": str(int(SCRAM_LIFETIME_S * 1000)),
            "connection.failed.authentication.delay.ms": "10",
        },
    )
    with Cluster(options) as cluster:
        folder = cluster.folder / "tls"
        make_stores(folder, certificates=False)
        write_tls_certificates(folder / "other")
        yield Scene(cluster, folder)


def plain(user: str = "alice", password: str = "alice-secret", mechanism: str = "PLAIN") -> dict[str, str]:
    return {"sasl.mechanisms": mechanism, "sasl.username": user, "sasl.password": password}


def java(module: str, options: str, mechanism: str | None = None) -> dict[str, str]:
    told = {"sasl.jaas.config": f"{SECURITY}.{module} required {options};"}
    return {**told, "sasl.mechanism": mechanism} if mechanism else told


WHO = 'username="alice" password="alice-secret"'
CA = {"ssl.ca.location": "{f}/ca.pem"}
JAVA_CA = {"ssl.truststore.location": "{f}/trust.jks", "ssl.truststore.password": STORE}
LOGINS = {
    "plain": plain(),
    "plain-java": java("plain.PlainLoginModule", WHO),
    "scram-256": plain(mechanism="SCRAM-SHA-256"),
    "scram-512": plain(mechanism="SCRAM-SHA-512"),
    "scram-256-java": java("scram.ScramLoginModule", WHO, "SCRAM-SHA-256"),
    "scram-512-java": java("scram.ScramLoginModule", WHO, "SCRAM-SHA-512"),
    "oauth": {"sasl.mechanism": "OAUTHBEARER", "sasl.oauthbearer.config": "principal=alice"},
    "oauth-java": java("oauthbearer.OAuthBearerLoginModule", 'unsecuredLoginStringClaim_sub="alice"'),
}
CLIENTS = {
    "pem": {"ssl.keystore.location": "{f}/client.pem"},
    "pem-parts": {
        "ssl.certificate.location": "{f}/client.crt",
        "ssl.key.location": "{f}/locked.key",
        "ssl.key.password": KEY,
    },
    "pkcs12": {"ssl.keystore.location": "{f}/client.p12", "ssl.keystore.password": STORE},
    "jks": {"ssl.keystore.location": "{f}/client.jks", "ssl.keystore.password": STORE, "ssl.key.password": KEY},
}


def ok(done: Outcome) -> Any:
    assert (done.code, done.err) == (Exit.DONE, "")
    answer = json.loads(done.out)
    assert answer["response"]["error_code"] == 0
    return answer


def test_a_plain_listener(scene: Scene) -> None:
    ok(scene.call("PLAINTEXT", "PLAINTEXT", {}))


@pytest.mark.parametrize("trust", [CA, JAVA_CA], ids=["pem", "jks"])
@pytest.mark.parametrize("host", ["localhost", "127.0.0.1"])
def test_tls(scene: Scene, trust: dict[str, str], host: str) -> None:
    ok(scene.call("SSL", "SSL", trust, host=host))


@pytest.mark.parametrize("client", CLIENTS)
def test_tls_both_ways(scene: Scene, client: str) -> None:
    ok(scene.call("MTLS", "SSL", {**CA, **CLIENTS[client]}))


@pytest.mark.parametrize("login", LOGINS)
@pytest.mark.parametrize("listener", ["SASL_PLAINTEXT", "SASL_SSL"])
@pytest.mark.parametrize("handshake", [0, 1])
def test_sasl(scene: Scene, listener: str, login: str, handshake: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """With SaslHandshake 0 the tokens are not framed, as for brokers before 1.0."""
    if handshake == 0:
        monkeypatch.setattr(sasl_authentication, "_choose_authenticate_version", lambda _versions: None)
    ok(scene.call(listener, listener, {**LOGINS[login], **(CA if listener == "SASL_SSL" else {})}))


def test_a_login_is_renewed(scene: Scene) -> None:
    pause = f"{SCRAM_LIFETIME_S * 1.1:.1f}s"
    settings = {**LOGINS["scram-512"], **CA}
    done = scene.call("SASL_SSL", "SASL_SSL", settings, "--repeat", "2", "--interval", pause, "-o", "ndjson")
    assert (done.code, [json.loads(line)["status"] for line in done.out.splitlines()]) == (Exit.DONE, ["complete"] * 2)


def test_a_delegation_token(scene: Scene) -> None:
    where = ["-b", f"localhost:{scene.port('SASL_PLAINTEXT')}", "-X", "security.protocol=SASL_PLAINTEXT"]
    login = [word for name, text in plain().items() for word in ("-X", f"{name}={text}")]
    made = ok(kw("call", "CreateDelegationToken", *where, *login, "--example", "--reveal-secrets", "-o", "ndjson"))
    token = made["response"]
    options = f'username="{token["token_id"]}" password="{token["hmac"]["base64"]}" tokenauth="true"'
    deadline = time.monotonic() + 30
    settings = java("scram.ScramLoginModule", options, "SCRAM-SHA-256")
    while (done := scene.call("SASL_PLAINTEXT", "SASL_PLAINTEXT", settings)).code and time.monotonic() < deadline:
        time.sleep(0.1)  # until the broker knows of it
    ok(done)


def unsigned(**claims: object) -> str:
    parts = ({"alg": "none"}, claims)
    return "".join(urlsafe_b64encode(json.dumps(part).encode()).decode().rstrip("=") + "." for part in parts)


def test_a_token_from_an_endpoint(scene: Scene) -> None:
    now = time.time()
    token = unsigned(sub="alice", iat=now, exp=now + 600)
    with endpoint((200, {"access_token": token, "expires_in": 600}), scene.folder / "broker.pem") as (url, asked):
        options = 'clientId="me" clientSecret="hunter2" scope="kafka" ssl.truststore.location="{f}/ca.pem"'
        settings = java("oauthbearer.OAuthBearerLoginModule", options, "OAUTHBEARER")
        ok(scene.call("SASL_PLAINTEXT", "SASL_PLAINTEXT", {**settings, "sasl.oauthbearer.token.endpoint.url": url}))
    assert asked == [("/token?x=1", "me:hunter2", "grant_type=client_credentials&scope=kafka")]


# Listener, protocol, settings, the beginning of the line or each that it may have, exit code.
WRONG: dict[str, tuple[str, str, dict[str, str], str | tuple[str, ...], Exit]] = {
    "no authority": (
        "SSL",
        "SSL",
        {},
        "has a certificate that this system's authorities did not sign (",
        Exit.UNREACHABLE,
    ),
    "another authority": (
        "SSL",
        "SSL",
        {"ssl.ca.location": "{f}/other/ca.pem"},
        "has a certificate that {f}/other/ca.pem did not sign (",
        Exit.UNREACHABLE,
    ),
    "no client certificate": (
        "MTLS",
        "SSL",
        CA,
        "wants a client certificate; give it by -X ssl.certificate.location=FILE",
        Exit.UNREACHABLE,
    ),
    "no client certificate, TLS 1.2": (
        "MTLS",
        "SSL",
        {**CA, "ssl.enabled.protocols": "TLSv1.2"},
        # Java's alert is one about certificates, or since late 2026 (17.0.21) handshake_failure (RFC 5246, 7.4.6).
        (
            "wants a client certificate; give it by -X ssl.certificate.location=FILE",
            "refuses the TLS handshake; does it want a client certificate (-X ssl.certificate.location=FILE",
        ),
        Exit.UNREACHABLE,
    ),
    "a stranger's certificate": (
        "MTLS",
        "SSL",
        {**CA, "ssl.keystore.location": "{f}/other/client.pem"},
        "does not take the client certificate of {f}/other/client.pem; does the broker trust its authority?",
        Exit.UNREACHABLE,
    ),
    "wrong password of a store": (
        "MTLS",
        "SSL",
        {**CA, "ssl.keystore.location": "{f}/client.p12", "ssl.keystore.password": "hunter2"},
        "key store {f}/client.p12: the password is wrong, or the store is damaged; give it by -X ssl.keystore.password",
        Exit.USAGE,
    ),
    "TLS to a plain listener": (
        "PLAINTEXT",
        "SSL",
        CA,
        "speaks Kafka without TLS; try -X security.protocol=PLAINTEXT",
        Exit.UNREACHABLE,
    ),
    "plain to a TLS listener": ("SSL", "PLAINTEXT", {}, "speaks TLS; try -X security.protocol=SSL", Exit.UNREACHABLE),
    "a token that is none": (
        "SASL_PLAINTEXT",
        "SASL_PLAINTEXT",
        {"sasl.oauthbearer.token": "abc"},
        "refused the OAUTHBEARER credentials: the server refuses the token: invalid_token; check the token: its issuer",
        Exit.REFUSED,
    ),
    "a token that has expired": (
        "SASL_PLAINTEXT",
        "SASL_PLAINTEXT",
        {"sasl.oauthbearer.token": unsigned(sub="alice", iat=1.0, exp=1234.0)},
        "refused the OAUTHBEARER credentials: the server refuses the token: invalid_token (the token was good until "
        "1970-01-01T00:20:34Z); check the token: ",
        Exit.REFUSED,
    ),
}
for _name in ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"):
    for _what, _login in (("bad password", plain(password="hunter2")), ("unknown user", plain(user="nobody"))):
        _line = f"refused the {_name} credentials: Authentication failed"
        _told = {**_login, "sasl.mechanisms": _name}
        WRONG[f"{_what}, {_name}"] = ("SASL_PLAINTEXT", "SASL_PLAINTEXT", _told, _line, Exit.REFUSED)
        WRONG[f"{_what}, {_name}, TLS"] = ("SASL_SSL", "SASL_SSL", {**_told, **CA}, _line, Exit.REFUSED)


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_setting_has_its_own_line(scene: Scene, name: str) -> None:
    listener, protocol, settings, told, code = WRONG[name]
    done = scene.call(listener, protocol, settings)
    where = "" if code is Exit.USAGE else f"localhost:{scene.port(listener)} "
    lines = (told,) if isinstance(told, str) else told
    assert done.err.startswith(tuple(f"kw: {where}{line.format(f=scene.folder)}" for line in lines))
    assert done.err.count("\n") == 1
    assert (done.code, done.out) == (code, "")


@pytest.mark.parametrize("host", ["kafka.example", "127.0.0.2"])
def test_a_broker_under_another_name(scene: Scene, host: str) -> None:
    done = scene.call("SSL", "SSL", CA, host=host)
    line = (
        f"has a certificate for another name than {host} (it is for localhost, 127.0.0.1, 0:0:0:0:0:0:0:1); use one of"
    )
    assert line in done.err
    assert done.err.count("\n") == 1
    assert done.code == Exit.UNREACHABLE
    done = scene.call("SSL", "SSL", {**CA, "ssl.endpoint.identification.algorithm": ""}, host=host)
    assert "ssl.endpoint.identification.algorithm (-X) is empty, so brokers' host names are not checked" in done.err
    ok(done._replace(err=""))
    ok(scene.call("SSL", "SSL", {"enable.ssl.certificate.verification": "false"}, host=host))


class Stranger(PlainMechanism):
    """A mechanism that no broker has, under a name that kw knows."""

    name = "GSSAPI"


@pytest.mark.parametrize("handshake", [0, 1])
def test_a_mechanism_that_the_broker_does_not_take(
    scene: Scene, handshake: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kwcli.net.sasl.kerberos.Gssapi", lambda _sasl, _host: Stranger("u", "p"))
    if handshake == 0:
        monkeypatch.setattr(sasl_authentication, "_choose_authenticate_version", lambda _versions: None)
    done = scene.call("SASL_PLAINTEXT", "SASL_PLAINTEXT", {"sasl.mechanism": "GSSAPI"})
    assert done.code == Exit.REFUSED
    head, told, remedy = done.err.strip().replace("; ", ": ").split(": ")[1:]
    assert head.endswith("does not take SASL mechanism GSSAPI")
    offered = told.removeprefix("it takes ").split(", ")
    assert sorted(offered) == ["OAUTHBEARER", "PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"]
    assert remedy == f"try -X sasl.mechanism={offered[0]}"


@pytest.mark.parametrize("login", ["plain", "scram-256", "oauth"])
def test_refused_after_handshake_0(scene: Scene, login: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """An old broker closes the connection instead of answering."""
    monkeypatch.setattr(sasl_authentication, "_choose_authenticate_version", lambda _versions: None)
    wrong = {"sasl.oauthbearer.token": "abc"} if login == "oauth" else {**LOGINS[login], "sasl.password": "hunter2"}
    done = scene.call("SASL_PLAINTEXT", "SASL_PLAINTEXT", wrong)
    assert done.code == Exit.REFUSED
    assert "refused the " in done.err
    assert done.err.count("\n") == 1
