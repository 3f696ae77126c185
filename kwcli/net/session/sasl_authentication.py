"""A SASL mechanism in, the conversation that authenticates with it out, as a generator like `negotiation.negotiate`.

A broker that has SaslAuthenticate carries tokens in it (KIP-152); older ones take bare tokens after SaslHandshake 0,
and 0.9 takes bare GSSAPI tokens from the first byte on.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping
from typing import Any, Final

from decoders.errors import DecodeError
from decoders.exchanges.body_reader import ApiReader, Needs
from decoders.messages.whole_messages import decode_response, encode_message
from decoders.protocol_facts.api_keys import SASL_AUTHENTICATE, SASL_HANDSHAKE
from decoders.protocol_facts.errors.error_codes import error_name
from decoders.schema.api_declaration import Versions
from decoders.wire.redact_text import list_spellings_of_secrets, make_concealer
from kwcli.net.explain_connection_end import Cause, ConnectionStop, make_broken_protocol_stop
from kwcli.net.sasl.mechanism import Mechanism, SaslRefused
from kwcli.net.session import BareToken, RequestStep, Step, TimedFrame
from kwcli.run_environment import Exit

_AUTHENTICATE_HIGHEST: Final = 2
_UNSUPPORTED_MECHANISM: Final = 33
_ILLEGAL_SASL_STATE: Final = 34
_AUTHENTICATION_FAILED: Final = 58
# More tokens than any mechanism needs; a peer that challenges for ever is given up.
_ROUNDS: Final = 16
_MESSAGE_MAX: Final = 300

_REMEDIES: Final = {
    "PLAIN": "check sasl.username and sasl.password",
    "SCRAM-SHA-256": "check sasl.username and sasl.password",
    "SCRAM-SHA-512": "check sasl.username and sasl.password",
    "OAUTHBEARER": "check the token: its issuer, audience, scope and expiry",
    "GSSAPI": "check the ticket (klist) and sasl.kerberos.service.name",
}


def authenticate(
    mechanism: Mechanism, versions: Mapping[int, Versions], *, tls: bool
) -> Generator[Step, TimedFrame, tuple[int, int]]:
    """Authenticate. Returns the session lifetime in ms (KIP-368), 0 where it has no end, and its begin in ns.

    Raises ConnectionStop.
    """
    framed = _choose_authenticate_version(versions)
    if SASL_HANDSHAKE in versions:
        yield from _request_mechanism(mechanism.name, 0 if framed is None else 1, tls)
    elif mechanism.name != "GSSAPI":
        raise ConnectionStop(Cause.SASL, "is older than 0.10 and takes no SASL but GSSAPI", code=Exit.REFUSED)
    lifetime = at_ns = 0
    try:
        token, last = mechanism.make_first_token(), False
    except SaslRefused as refused:
        raise make_failed_login_stop(mechanism.name, refused) from None
    sent: list[bytes] = []
    for _ in range(_ROUNDS):
        sent.append(token)
        if framed is None:
            frame = yield BareToken(token, respond=not last)
            challenge = b"" if last else frame.data[4:]
        else:
            challenge, lifetime, at_ns = yield from _send_token(mechanism, token, sent, framed)
        if last:
            return lifetime, at_ns
        answer = _answer_challenge(mechanism, challenge, sent)
        if answer is None:
            if mechanism.done:
                return lifetime, at_ns
            break
        # A client that is done may have to send a last token; only a token carried in a request is answered.
        token, last = answer, mechanism.done
    raise make_broken_protocol_stop(f"ended {mechanism.name} without proving who it is", "do not trust it")


def _choose_authenticate_version(versions: Mapping[int, Versions]) -> int | None:
    """The version of SaslAuthenticate to use; None where tokens go bare."""
    offered, handshake = versions.get(SASL_AUTHENTICATE), versions.get(SASL_HANDSHAKE)
    if offered is None or handshake is None or 1 not in handshake:
        return None
    return min(offered.high, _AUTHENTICATE_HIGHEST)


def _answer_challenge(mechanism: Mechanism, challenge: bytes, sent: list[bytes]) -> bytes | None:
    try:
        return mechanism.answer_challenge(challenge)
    except SaslRefused as refused:
        raise make_failed_login_stop(mechanism.name, SaslRefused(_conceal_tokens(sent, refused.text))) from None


def _conceal_tokens(sent: list[bytes], said: str) -> str:
    """A broker's error message, without the parts of the sent tokens that it repeats."""
    conceal = make_concealer(list_spellings_of_secrets(sent))
    return said if conceal is None else conceal(said)


def make_failed_login_stop(name: str, refused: SaslRefused) -> ConnectionStop:
    """The stop for a login that the mechanism itself refuses."""
    return ConnectionStop(Cause.REFUSED, f"could not be logged in to by {name}: {refused.text}", code=Exit.REFUSED)


def _request_mechanism(name: str, version: int, tls: bool) -> Generator[Step, TimedFrame, None]:
    body = encode_message(SASL_HANDSHAKE, version, "request", {"mechanism": name})
    frame = yield RequestStep(SASL_HANDSHAKE, version, body)
    answer = _decode_answer(frame, SASL_HANDSHAKE, version)
    code = answer["error_code"]
    if not code:
        return
    if code == _UNSUPPORTED_MECHANISM:
        raise _make_other_mechanism_stop(name, answer["mechanisms"] or [])
    if code == _ILLEGAL_SASL_STATE:
        remedy = f"try -X security.protocol={'SSL' if tls else 'PLAINTEXT'}"
        raise ConnectionStop(Cause.SASL, "does not authenticate on this listener", remedy=remedy, code=Exit.REFUSED)
    raise ConnectionStop(Cause.SASL, f"answered SaslHandshake with {error_name(code)}", code=Exit.REFUSED)


def _make_other_mechanism_stop(name: str, offered: list[str]) -> ConnectionStop:
    takes = f"it takes {', '.join(offered)}" if offered else "it names no other mechanism"
    remedy = f"try -X sasl.mechanism={offered[0]}" if offered else ""
    return ConnectionStop(Cause.SASL, f"does not take SASL mechanism {name}: {takes}", remedy=remedy, code=Exit.REFUSED)


def _send_token(
    mechanism: Mechanism, token: bytes, sent: list[bytes], version: int
) -> Generator[Step, TimedFrame, tuple[bytes, int, int]]:
    frame = yield RequestStep(
        SASL_AUTHENTICATE, version, encode_message(SASL_AUTHENTICATE, version, "request", {"auth_bytes": token})
    )
    answer = _decode_answer(frame, SASL_AUTHENTICATE, version)
    code, said = answer["error_code"], answer["error_message"] or ""
    if code:
        said = _conceal_tokens(sent, mechanism.reason or said if code == _AUTHENTICATION_FAILED else said)
    if code == _AUTHENTICATION_FAILED:
        raise _make_refused_login_stop(mechanism.name, said)
    if code:
        text = f"answered SaslAuthenticate with {error_name(code)}" + (f": {said[:_MESSAGE_MAX]}" if said else "")
        raise ConnectionStop(Cause.SASL, text, code=Exit.REFUSED)
    return answer["auth_bytes"] or b"", max(0, answer.get("session_lifetime_ms", 0)), frame.last_ns


def _make_refused_login_stop(name: str, said: str) -> ConnectionStop:
    text = f"refused the {name} credentials" + (f": {said[:_MESSAGE_MAX].rstrip('.')}" if said else "")
    return ConnectionStop(Cause.REFUSED, text, remedy=_REMEDIES.get(name, ""), code=Exit.REFUSED)


def make_hung_up_stop(name: str, api_key: int | None) -> ConnectionStop:
    """The stop for a broker that closed instead of answering a request of the login, or a bare token (None)."""
    if api_key == SASL_HANDSHAKE:
        return ConnectionStop(
            Cause.SASL, "closed the connection after SaslHandshake", remedy="the broker's log says why"
        )
    return _make_refused_login_stop(name, "it closed the connection")


def _decode_answer(frame: TimedFrame, api_key: int, version: int) -> dict[str, Any]:
    """The body of an answer; of one that cannot be read to its end the fields before that, where these are an error.

    Null is taken where it is not allowed: Event Hubs refuses logins so.
    """
    try:
        return decode_response(frame.data[4:], api_key, version, strict=False).body
    except DecodeError as error:
        fields, _ = ApiReader(api_key, version, Needs()).decode_fields_before_failure("response", frame.data, None)
        if fields.get("error_code"):
            return {"error_message": None, "mechanisms": [], **fields}
        raise make_broken_protocol_stop(f"sent an answer that cannot be read: {error}", "is it Kafka?") from None
