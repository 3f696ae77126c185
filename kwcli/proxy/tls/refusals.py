"""A failed handshake with a client in, one line that says what happened and what to do out."""

from __future__ import annotations

from typing import Final

# Words of OpenSSL's reasons, and what they mean where a client is at the other end.
_MEANINGS: Final = (
    (
        ("UNKNOWN_CA", "BAD_CERTIFICATE", "CERTIFICATE_UNKNOWN"),
        "does not trust the proxy's certificate; {trust}",
    ),
    (
        ("CERTIFICATE_EXPIRED", "CERTIFICATE_REVOKED", "UNSUPPORTED_CERTIFICATE"),
        "does not take the proxy's certificate; is the client's clock right?",
    ),
    (
        ("PEER_DID_NOT_RETURN_A_CERTIFICATE",),
        "shows no certificate, which --tls-client-ca asks for; set ssl.certificate.location and ssl.key.location, "
        "or ssl.keystore.location",
    ),
    (
        ("CERTIFICATE_VERIFY_FAILED",),
        "shows a certificate that --tls-client-ca did not sign{detail}",
    ),
    (("HTTP_REQUEST", "HTTPS_PROXY_REQUEST"), "speaks HTTP to a listener of Kafka over TLS; check its port"),
    (
        ("WRONG_VERSION_NUMBER", "UNEXPECTED_MESSAGE", "PACKET_LENGTH_TOO_LONG", "RECORD_LAYER_FAILURE"),
        "speaks no TLS, and listeners do here (--tls-in); set security.protocol=SSL, or SASL_SSL",
    ),
    (
        ("UNSUPPORTED_PROTOCOL", "PROTOCOL_VERSION", "VERSION_TOO_LOW"),
        "speaks no version of TLS from 1.2 on",
    ),
    (("NO_SHARED_CIPHER",), "has no cipher suite in common with the proxy"),
)


def refusal(error: BaseException, trust: str | None) -> str:
    """What follows the client's address; `trust` is the file by which clients trust the proxy, if it minted."""
    reason = str(getattr(error, "reason", None) or "").upper().replace(" ", "_")
    if isinstance(error, TimeoutError):
        return "did not finish the TLS handshake in time; does it speak TLS?"
    told = f"give it ssl.ca.location={trust} (Java: ssl.truststore.location, ssl.truststore.type=PEM)"
    for words, meaning in _MEANINGS:
        if any(word in reason for word in words):
            detail = getattr(error, "verify_message", "")
            return meaning.format(
                trust=told if trust else "give it the authority's certificate that signed --tls-cert",
                detail=f" ({detail})" if detail else "",
            )
    if reason and "EOF" not in reason:
        return f"failed the TLS handshake: {reason.replace('_', ' ').lower()}"
    untrusting = f"; a client that does not trust the proxy may do so: {told}" if trust else ""
    return f"ended the TLS handshake without a word{untrusting}"
