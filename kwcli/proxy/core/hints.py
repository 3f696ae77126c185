"""The SASL mechanism that a client asks for in, what it should know where mechanisms and proxies do not go together."""

from __future__ import annotations

from typing import Final

_WAYS: Final = (
    "through a proxy that works only where clients dial brokers by their own names: --advertise the broker's host (and "
    "have clients resolve it to the proxy), or let the proxy log in by -X security.protocol=SASL_… and clients without"
)
_HINTS: Final = {
    "GSSAPI": f"GSSAPI asks for a ticket for kafka/HOST with the host that the client dialled; {_WAYS}",
    "AWS_MSK_IAM": f"AWS_MSK_IAM signs the host that the client dialled; {_WAYS}",
}


def about_mechanism(name: str) -> str | None:
    """What to say once, if there is something."""
    return _HINTS.get(name)
