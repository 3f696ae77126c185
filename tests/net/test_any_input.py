"""For any bytes of a server or a file, errors are told in one line; and files that kw writes can be read again."""

from __future__ import annotations

from contextlib import suppress

from hypothesis import example, given, settings
from hypothesis import strategies as st

from kwcli.net.config import client_properties, jaas_logins
from kwcli.net.parse_addresses import AddressError, format_address, parse_address, parse_addresses
from kwcli.net.sasl import SaslRefused
from kwcli.net.sasl.oauthbearer import OAuthBearer
from kwcli.net.sasl.scram import Scram
from kwcli.net.session import oauth_tokens
from kwcli.net.tls import key_stores, read_pem_and_jks

FIELDS = st.lists(st.tuples(st.sampled_from("rsivem"), st.text(max_size=30)), max_size=6)
JKS_HEAD = b"\xfe\xed\xfe\xed\0\0\0\x02\0\0\0\x01\0\0\0\x01"


@given(st.lists(st.one_of(st.binary(max_size=80), FIELDS), max_size=3))
@settings(max_examples=200)
def test_scram(challenges: list[bytes | list[tuple[str, str]]]) -> None:
    scram = Scram("SCRAM-SHA-256", "u", "p", nonce="n")
    scram.make_first_token()
    for challenge in challenges:
        data = challenge if isinstance(challenge, bytes) else ",".join(f"{a}={b}" for a, b in challenge).encode()
        with suppress(SaslRefused):
            scram.answer_challenge(data)
        assert not scram.done


@given(st.binary(max_size=80), st.text(st.sampled_from("abc._-~+/"), min_size=1, max_size=40))
@example(b'{"status":{"a":[1]},"scope":5}', "e30.eyJleHAiOjFlOTk5fQ.")
@example(b"{}", "a.eyJleHAiOiJ4In0.")
@example(b"[" * 100_000, "a." + "W1tb" * 50_000)
def test_oauthbearer(challenge: bytes, token: str) -> None:
    bearer = OAuthBearer(token)
    bearer.make_first_token()
    assert bearer.answer_challenge(challenge) == (b"\x01" if challenge else None)
    assert bearer.done == (not challenge)


@given(st.integers(0, 999), st.binary(max_size=60))
@example(200, b'{"access_token":"x","expires_in":"soon"}')
@example(200, b'{"access_token":"x","expires_in":1e999}')
@example(200, b'{"access_token":"x","expires_in":1%b}' % (b"0" * 400))
@example(200, b'{"access_token":"x","expires_in":-1}')
@example(200, b'{"access_token":"x","expires_in":NaN}')
@example(200, b'{"access_token":"x","more":%b' % (b"[" * 200_000))
def test_answers_of_token_endpoints(status: int, content: bytes) -> None:
    with suppress(oauth_tokens.TokenRefused):
        lifetime_s = oauth_tokens.read_token_answer(status, content).lifetime_s
        assert lifetime_s is None or 0 <= lifetime_s <= 365 * 86_400


@given(st.binary(max_size=200), st.one_of(st.none(), st.text(max_size=5)))
@settings(max_examples=200)
def test_stores(content: bytes, password: str | None) -> None:
    for start in (JKS_HEAD, JKS_HEAD[:8], b""):
        with suppress(read_pem_and_jks.StoreError):
            read_pem_and_jks.read_jks(start + content, password, password)
    with suppress(read_pem_and_jks.StoreError):
        key_stores.read_pkcs12(b"\x30" + content, password)


@given(st.text(max_size=200))
def test_texts(text: str) -> None:
    with suppress(jaas_logins.JaasError):
        jaas_logins.parse_jaas(text)
    client_properties.parse_properties_with_lines(text)
    list(read_pem_and_jks.find_pem_blocks(text))
    list(read_pem_and_jks.find_pem_blocks(f"-----BEGIN X-----{text}-----END X-----"))
    with suppress(AddressError):
        assert parse_addresses(",".join(format_address(each) for each in parse_addresses(text))) == parse_addresses(
            text
        )
    with suppress(AddressError):
        parse_address(text, None)


@given(st.lists(st.tuples(st.text(min_size=1, max_size=10), st.text(max_size=20)), max_size=5))
def test_properties_that_are_written_are_read(pairs: list[tuple[str, str]]) -> None:
    assert (
        client_properties.parse_properties_with_lines(client_properties.format_properties(pairs), java=True)[0] == pairs
    )
