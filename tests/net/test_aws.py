"""AWS_MSK_IAM: from properties to a token signed by AWS' own library, without any network."""

from __future__ import annotations

import base64
import importlib
import json
import socket
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from decoders.limits import HTTP_ANSWER_MAX
from kwcli.net.command_deadline import Deadline
from kwcli.net.config.build_config import build_client_config
from kwcli.net.config.client_config import AwsSettings, ConnectionOptions, SaslSettings
from kwcli.net.session.oauth_tokens import Credentials
from kwcli.pip_extras import pip_command_for_extra
from kwcli.run_environment import Exit, Failure
from tests.cli.worlds import kw, world
from tests.net import hostile_http as servers
from tests.net.hostile_http import HostileServer, hostile

SIGNER = "aws_msk_iam_sasl_signer.MSKAuthTokenProvider"
HOST = "b-1.demo.abc123.c2.kafka.eu-central-1.amazonaws.com:9098"
JAVA = "software.amazon.msk.auth.iam"
OAUTH = "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule"
SASL = ("security.protocol", "SASL_SSL")
IAM = ("sasl.mechanism", "AWS_MSK_IAM")


def sasl_of(*pairs: tuple[str, str], servers: str = HOST, **variables: str) -> SaslSettings | None:
    return build_client_config(
        world(variables=variables), ConnectionOptions(servers=servers, properties=[SASL, *pairs])
    ).sasl


@pytest.mark.parametrize(
    ("pairs", "aws"),
    [
        ([IAM], AwsSettings("eu-central-1")),
        ([("sasl.mechanism", "aws_msk_iam")], AwsSettings("eu-central-1")),
        ([IAM, ("sasl.aws.region", "us-east-1")], AwsSettings("us-east-1")),
        ([IAM, ("sasl.aws.profile", "ops")], AwsSettings("eu-central-1", profile="ops")),
        (
            [IAM, ("sasl.aws.role.arn", "arn:aws:iam::1:role/r"), ("sasl.aws.role.session.name", "kw")],
            AwsSettings("eu-central-1", role="arn:aws:iam::1:role/r", session="kw"),
        ),
        ([IAM, ("sasl.jaas.config", f"{JAVA}.IAMLoginModule required;")], AwsSettings("eu-central-1")),
        ([("sasl.jaas.config", f"{JAVA}.IAMLoginModule required;")], AwsSettings("eu-central-1")),
        (
            [
                IAM,
                ("sasl.jaas.config", f'{JAVA}.IAMLoginModule required awsProfileName="ops" awsDebugCreds=true;'),
                ("sasl.client.callback.handler.class", f"{JAVA}.IAMClientCallbackHandler"),
            ],
            AwsSettings("eu-central-1", profile="ops"),
        ),
        (
            [
                ("sasl.mechanism", "OAUTHBEARER"),
                ("sasl.jaas.config", f'{OAUTH} required awsStsRegion="us-west-2";'),
                ("sasl.login.callback.handler.class", f"{JAVA}.IAMOAuthBearerLoginCallbackHandler"),
            ],
            AwsSettings("us-west-2"),
        ),
    ],
)
def test_what_asks_for_it(pairs: list[tuple[str, str]], aws: AwsSettings) -> None:
    assert sasl_of(*pairs) == SaslSettings("OAUTHBEARER", aws=aws)
    config = build_client_config(world(), ConnectionOptions(servers=HOST, properties=[SASL, *pairs]))
    assert config.warnings == ()


@pytest.mark.parametrize(
    ("servers", "region"),
    [
        ("boot-x.c1.kafka-serverless.us-east-2.amazonaws.com:9098", "us-east-2"),
        ("b-1.x.kafka.cn-north-1.amazonaws.com.cn:9098", "cn-north-1"),
        ("proxy.example:9098", "ap-south-1"),
    ],
)
def test_the_region(servers: str, region: str) -> None:
    assert sasl_of(IAM, servers=servers, AWS_REGION="ap-south-1") == SaslSettings(
        "OAUTHBEARER", aws=AwsSettings(region)
    )
    assert sasl_of(IAM, servers="a:1", AWS_DEFAULT_REGION="sa-east-1") == SaslSettings(
        "OAUTHBEARER", aws=AwsSettings("sa-east-1")
    )


def test_what_is_missing_or_too_much() -> None:
    with pytest.raises(Failure) as caught:
        sasl_of(IAM, servers="proxy.example:9098")
    assert caught.value.code == Exit.USAGE
    assert caught.value.text == ("AWS_MSK_IAM needs the cluster's region: -X sasl.aws.region=eu-west-1, or AWS_REGION")
    with pytest.raises(Failure) as caught:
        sasl_of(IAM, ("sasl.aws.profile", "a"), ("sasl.aws.role.arn", "b"))
    assert caught.value.text.startswith("sasl.aws.profile (-X) and sasl.aws.role.arn (-X): give one of them")


def provider(calls: list[tuple[object, ...]], lifetime_s: float = 900) -> ModuleType:
    """A stand-in for AWS' library that records its calls."""
    module = ModuleType(SIGNER)
    for name in ("generate_auth_token", "generate_auth_token_from_profile", "generate_auth_token_from_role_arn"):

        def sign(*asked: object, name: str = name) -> tuple[str, int]:
            calls.append((name, *asked))
            return f"token{len(calls)}", int((1000 + lifetime_s) * 1000)

        setattr(module, name, sign)
    return module


def credentials(aws: AwsSettings, clock: list[float]) -> Credentials:
    return Credentials(SaslSettings("OAUTHBEARER", aws=aws), now_s=lambda: 1000.0, monotonic=lambda: clock[0])


@pytest.mark.parametrize(
    ("aws", "call"),
    [
        (AwsSettings("r"), ("generate_auth_token", "r")),
        (AwsSettings("r", profile="p"), ("generate_auth_token_from_profile", "r", "p")),
        (AwsSettings("r", role="arn"), ("generate_auth_token_from_role_arn", "r", "arn")),
        (AwsSettings("r", role="arn", session="s"), ("generate_auth_token_from_role_arn", "r", "arn", "s")),
    ],
)
def test_the_library_is_asked(monkeypatch: pytest.MonkeyPatch, aws: AwsSettings, call: tuple[object, ...]) -> None:
    calls: list[tuple[object, ...]] = []
    monkeypatch.setitem(sys.modules, SIGNER, provider(calls))
    clock = [0.0]
    made = credentials(aws, clock)
    deadline = Deadline(60.0, time.monotonic)
    assert [made.get_token(deadline), made.get_token(deadline)] == ["token1", "token1"]
    clock[0] = 721.0  # four fifths of the token's 900 s
    assert made.get_token(deadline) == "token2"
    assert calls == [call, call]


def test_without_the_library_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, SIGNER, None)
    done = kw("call", "Metadata", "-b", "127.0.0.1:1", *words(SASL, IAM, ("sasl.aws.region", "r")))
    assert done.code == Exit.USAGE
    assert done.err.startswith("kw: AWS_MSK_IAM needs the Python package aws-msk-iam-sasl-signer-python (")
    assert done.err.endswith(f"): {pip_command_for_extra('msk')}\n")


def words(*pairs: tuple[str, str]) -> list[str]:
    return [word for name, value in pairs for word in ("-X", f"{name}={value}")]


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (AttributeError("'NoneType' has no attribute 'access_key'"), "AWS_MSK_IAM found no AWS credentials: set "),
        (RuntimeError("The profile (x)\n could not be found"), "AWS gives no credentials: The profile (x) could not"),
    ],
)
def test_what_the_library_raises(monkeypatch: pytest.MonkeyPatch, error: Exception, text: str) -> None:
    def fail(_region: str) -> tuple[str, int]:
        raise error

    module = provider([])
    monkeypatch.setattr(module, "generate_auth_token", fail)
    monkeypatch.setitem(sys.modules, SIGNER, module)
    with pytest.raises(Failure) as caught:
        credentials(AwsSettings("r"), [0.0]).get_token(Deadline(60.0, time.monotonic))
    assert caught.value.code == Exit.REFUSED
    assert caught.value.text.startswith(text)


def test_a_real_token_is_signed_here(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    pytest.importorskip("aws_msk_iam_sasl_signer", reason=pip_command_for_extra("msk"))
    for name in ("AWS_PROFILE", "AWS_SESSION_TOKEN", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.delenv(name, raising=False)
    for name in ("AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE"):
        monkeypatch.setenv(name, str(tmp_path / name))
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    deadline = Deadline(60.0, time.monotonic)

    def query(aws: AwsSettings) -> dict[str, list[str]]:
        made = Credentials(SaslSettings("OAUTHBEARER", aws=aws), now_s=time.time, monotonic=time.monotonic)
        token = made.get_token(deadline)
        assert token is not None
        assert made.get_token(deadline) == token
        url = urlsplit(base64.urlsafe_b64decode(token + "=" * (-len(token) % 4)).decode())
        assert url.hostname == f"kafka.{aws.region}.amazonaws.com"
        return parse_qs(url.query)

    with pytest.raises(Failure) as caught:
        query(AwsSettings("eu-west-1"))
    assert caught.value.text.startswith("AWS_MSK_IAM found no AWS credentials: ")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIDEXAMPLE")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    told = query(AwsSettings("eu-west-1"))
    assert told["Action"] == ["kafka-cluster:Connect"]
    assert told["X-Amz-Expires"] == ["900"]
    assert told["X-Amz-Credential"][0].startswith("AKIDEXAMPLE/")
    assert told["X-Amz-Credential"][0].endswith("/eu-west-1/kafka-cluster/aws4_request")
    (tmp_path / "AWS_SHARED_CREDENTIALS_FILE").write_text(
        "[ops]\naws_access_key_id = AKIDOPS\naws_secret_access_key = x\n"
    )
    assert query(AwsSettings("us-east-1", profile="ops"))["X-Amz-Credential"][0].startswith("AKIDOPS/")
    with pytest.raises(Failure) as caught:
        query(AwsSettings("us-east-1", profile="none"))
    assert caught.value.text.startswith("AWS gives no credentials: The config profile (none) could not be found")


@pytest.mark.parametrize(
    ("behave", "text"),
    [
        (servers.endless_body, "the answer is longer than 1.0MB"),
        (servers.endless_chunks, "the answer is longer than 1.0MB"),
        (servers.dripping_body, "the answer did not end within 0.2 s"),
    ],
)
def test_credentials_from_a_service_that_answers_without_end(
    behave: Callable[[HostileServer, socket.socket], None], text: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    pytest.importorskip("aws_msk_iam_sasl_signer", reason=pip_command_for_extra("msk"))
    metadata: Any = importlib.import_module("botocore.utils").ContainerMetadataFetcher
    monkeypatch.setattr(metadata, "SLEEP_TIME", 0)
    if behave is servers.dripping_body:
        monkeypatch.setattr("kwcli.net.session.oauth_tokens.HTTP_ANSWER_S", 0.2)
    for name in ("AWS_PROFILE", "AWS_SESSION_TOKEN", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.delenv(name, raising=False)
    for name in ("AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE"):
        monkeypatch.setenv(name, str(tmp_path / name))
    with hostile(behave) as server:
        monkeypatch.setenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", server.url)
        made = Credentials(
            SaslSettings("OAUTHBEARER", aws=AwsSettings("eu-west-1")), now_s=time.time, monotonic=time.monotonic
        )
        with pytest.raises(Failure) as caught:
            made.get_token(Deadline(30.0, time.monotonic))
    assert caught.value.text.startswith("AWS gives no credentials: ")
    assert text in caught.value.text
    assert server.sent <= metadata.RETRY_ATTEMPTS * (HTTP_ANSWER_MAX + (16 << 20))


def test_credentials_from_a_service(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    pytest.importorskip("aws_msk_iam_sasl_signer", reason=pip_command_for_extra("msk"))
    for name in ("AWS_PROFILE", "AWS_SESSION_TOKEN", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.delenv(name, raising=False)
    for name in ("AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE"):
        monkeypatch.setenv(name, str(tmp_path / name))
    rows = {
        "AccessKeyId": "AKIDROLE",
        "SecretAccessKey": "s",
        "Token": "t",
        "Expiration": "2099-01-01T00:00:00Z",
    }
    body = json.dumps(rows).encode()

    def behave(server: HostileServer, link: socket.socket) -> None:
        server.send(
            link, b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n0\r\n\r\n" % (len(body), body)
        )

    with hostile(behave) as server:
        monkeypatch.setenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", server.url)
        made = Credentials(
            SaslSettings("OAUTHBEARER", aws=AwsSettings("eu-west-1")), now_s=time.time, monotonic=time.monotonic
        )
        token = made.get_token(Deadline(30.0, time.monotonic))
    assert token is not None
    assert "AKIDROLE" in base64.urlsafe_b64decode(token + "=" * (-len(token) % 4)).decode()
