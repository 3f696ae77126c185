"""Tokens: from a good or bad endpoint on loopback, from a file, and unsigned."""

from __future__ import annotations

import base64
import json
import socket
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from kwcli.net.command_deadline import Deadline
from kwcli.net.config.client_config import KeyStoreFile, OAuthSettings, SaslSettings
from kwcli.net.session.oauth_tokens import Credentials
from kwcli.playground.tls_certificates import write_tls_certificates
from kwcli.run_environment import Exit, Failure
from tests.net.endpoint import endpoint
from tests.net.responder import unheard_address


def oauth(url: str, **more: Any) -> OAuthSettings:
    return OAuthSettings(endpoint=url, client_id="me", client_secret="hunter2", **more)


def token(settings: OAuthSettings, seconds: float = 60.0) -> str | None:
    sasl = SaslSettings("OAUTHBEARER", oauth=settings)
    credentials = Credentials(sasl, now_s=lambda: 1000.0, monotonic=time.monotonic)
    return credentials.get_token(Deadline(seconds, time.monotonic))


def failure(settings: OAuthSettings, seconds: float = 60.0) -> Failure:
    with pytest.raises(Failure) as caught:
        token(settings, seconds)
    assert "hunter2" not in caught.value.text
    assert "\n" not in caught.value.text
    return caught.value


def test_client_credentials() -> None:
    with endpoint() as (url, asked):
        assert token(oauth(url, scope="kafka read")) == "abc.def"
    assert asked == [("/token?x=1", "me:hunter2", "grant_type=client_credentials&scope=kafka+read")]


def test_client_credentials_url_encoded() -> None:
    with endpoint() as (url, asked):
        token(OAuthSettings(endpoint=url, client_id="a b", client_secret="c:d", url_encoded=True))
    assert asked[0][1] == "a+b:c%3Ad"


def test_https_by_its_own_authority(tmp_path: Path) -> None:
    write_tls_certificates(tmp_path)
    with endpoint(certificate=tmp_path / "broker.pem") as (url, _):
        assert token(oauth(url, authorities=KeyStoreFile(str(tmp_path / "ca.pem")))) == "abc.def"
    with endpoint(certificate=tmp_path / "broker.pem") as (url, _):
        refused = failure(oauth(url))
    assert refused.code == Exit.UNREACHABLE
    assert "has a certificate that this system's authorities did not sign" in refused.text
    assert refused.text.endswith("; name its authority's certificate by -X https.ca.location=FILE")
    with endpoint(certificate=tmp_path / "broker.pem") as (url, _):
        named = failure(
            oauth(url.replace("localhost", "127.1"), authorities=KeyStoreFile(str(tmp_path / "ca.pem")))
        ).text
    assert named.endswith(
        "a certificate for another name than 127.1; check the host in sasl.oauthbearer.token.endpoint.url"
    )
    with endpoint() as (url, _):
        assert failure(oauth(url.replace("http:", "https:"))).text.endswith("; is it http:// rather than https://?")


@pytest.mark.parametrize(
    ("answer", "line"),
    [
        (
            (401, {"error": "invalid_client", "error_description": "who?"}),
            "refuses the client: invalid_client, who? (HTTP 401); check sasl.oauthbearer.client.id, …client.secret and",
        ),
        ((400, {"error": "invalid_scope"}), "refuses the client: invalid_scope (HTTP 400); "),
        ((200, {"token": "x"}), "answered 200 without an access_token; "),
        ((200, {"access_token": 5}), "answered 200 without an access_token; "),
        ((404, b"<html>no such page</html>"), "answered 404 with no JSON object: <html>no such page</html>; "),
        ((200, b"[]"), "answered 200 with no JSON object: []; "),
        ((302, b""), "answered 302 with no JSON object; "),
        ((500, b"\xff" * 5000), "answered 500 with no JSON object: "),
    ],
)
def test_an_endpoint_that_gives_no_token(answer: tuple[int, Any], line: str) -> None:
    with endpoint(answer) as (url, _):
        refused = failure(oauth(url))
        where = url.split("/")[2]
    assert refused.text.startswith(f"token endpoint {where} {line}")
    assert refused.code == Exit.REFUSED
    assert len(refused.text) < 500


def test_a_token_is_asked_for_again_when_it_is_old() -> None:
    now = 0.0
    with endpoint() as (url, asked):
        sasl = SaslSettings("OAUTHBEARER", oauth=oauth(url))
        credentials = Credentials(sasl, now_s=lambda: 0.0, monotonic=lambda: now)
        for seconds, times in ((0.0, 1), (79.0, 1), (80.0, 2), (81.0, 2)):
            now = seconds
            assert credentials.get_token(Deadline(60.0, time.monotonic)) == "abc.def"
            assert len(asked) == times


@pytest.mark.parametrize("drip", [False, True])
def test_a_silent_endpoint_is_given_up_in_time(drip: bool) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        ended = threading.Event()

        def serve() -> None:
            link, _ = listener.accept()
            with link:
                while not ended.wait(0.05):
                    if drip:
                        try:
                            link.sendall(b"H" if drip else b"")
                        except OSError:
                            return

        thread = threading.Thread(target=serve)
        thread.start()
        begun = time.monotonic()
        refused = failure(oauth(f"http://127.0.0.1:{listener.getsockname()[1]}/"), 0.3)
        ended.set()
        thread.join()
    assert time.monotonic() - begun < 10
    assert refused.code == Exit.TIMEOUT
    assert "did not answer within 0.3 s" in refused.text


def test_an_endpoint_that_is_not_there() -> None:
    with unheard_address() as (_, port):
        refused = failure(oauth(f"http://127.0.0.1:{port}/"))
    assert (refused.text, refused.code) == (
        f"token endpoint 127.0.0.1:{port} cannot be reached: Connection refused",
        Exit.UNREACHABLE,
    )


def test_what_is_no_endpoint() -> None:
    assert failure(oauth("ftp://x/")).code == Exit.USAGE
    assert failure(oauth("file:///no/such/file")).text == (
        "the token's file /no/such/file cannot be read: No such file or directory"
    )


def test_a_token_in_a_file_and_one_as_it_is(tmp_path: Path) -> None:
    file = tmp_path / "my token"
    file.write_text("from.file\n")
    assert token(oauth(file.as_uri())) == "from.file"
    assert token(OAuthSettings(token="as.is")) == "as.is"


def test_an_unsigned_token() -> None:
    made = token(OAuthSettings(claims={"sub": "alice", "n": 3.0}, lifetime_s=60))
    assert made is not None
    head, claims, signature = made.split(".")
    assert signature == ""
    assert json.loads(base64.urlsafe_b64decode(head + "==")) == {"alg": "none"}
    assert json.loads(base64.urlsafe_b64decode(claims + "==")) == {
        "iat": 1000.0,
        "exp": 1060.0,
        "sub": "alice",
        "n": 3.0,
    }


def test_mechanisms_without_a_token() -> None:
    sasl = SaslSettings("PLAIN", "u", "p")
    assert Credentials(sasl, now_s=time.time, monotonic=time.monotonic).get_token(Deadline(1, time.monotonic)) is None
