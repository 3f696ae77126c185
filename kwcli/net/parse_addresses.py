"""`host:port,…` as people write it in, addresses out; and back. Addresses in brokers' answers are checked here, too."""

from __future__ import annotations

import re
from typing import Final

from decoders.limits import HOST_MAX
from kwcli.net.config.client_config import Address

PORT: Final = 9092
PORT_MAX: Final = 65535
# Characters that are shown of a host that is too long.
_SHOWN_MAX: Final = 60
_LISTENER: Final = r"([A-Za-z][A-Za-z0-9_]*)://"  # compiled where it is needed, as most addresses have none


class AddressError(ValueError):
    """The text names no host and port; the message says why, without a user and password in it."""


def parse_addresses(text: str, port: int = PORT) -> tuple[Address, ...]:
    """The addresses of a comma-separated list; without a port they have `port`."""
    found = tuple(parse_address(word, port) for word in text.split(",") if word.strip())
    if not found:
        raise AddressError("there is no host:port in it")
    return found


def parse_address(text: str, port: int | None = PORT) -> Address:
    """The address `host:port`, `[::1]:9092` or `host`; a name (`SSL://host:9093`) and a slash are taken off."""
    word = re.sub(_LISTENER, "", text.strip(), count=1) if "://" in text else text.strip()
    word = word.removesuffix("/")
    if word.startswith("["):
        host, closed, rest = word[1:].partition("]")
        if not closed or (rest and not rest.startswith(":")):
            raise AddressError(f"{_strip_user_info(text)!r} is no address: write [IPv6]:port")
        number = rest[1:] if rest else None
    elif word.count(":") > 1:
        host, number = word, None
    else:
        host, colon, after = word.partition(":")
        number = after if colon else None
    if not host or any(character.isspace() or character in "/@" for character in host):
        raise AddressError(f"{_strip_user_info(text)!r} is no address: write host:port")
    if number is None:
        if port is None:
            raise AddressError(f"{_strip_user_info(text)!r} has no port: write host:port")
        return host, port
    if not (number.isascii() and number.isdecimal() and 0 < int(number[:6]) < 65536):
        raise AddressError(f"{_strip_user_info(text)!r} has no port between 1 and 65535")
    return host, int(number)


def _strip_user_info(text: str) -> str:
    """The text as an error may show it: `user:password@host`, which is no address, has `{redacted 13}@host`."""
    before, at, host = text.strip().rpartition("@")
    if not at:
        return host
    from decoders.wire.redact_text import redact_whole_text

    listener, slashes, user = before.rpartition("://")
    return f"{listener}{slashes}{redact_whole_text(user)}@{host}"


def format_address(where: Address) -> str:
    """`host:port`, with brackets around IPv6; a host that is too long is cut."""
    host, port = where
    if len(host) > HOST_MAX:
        host = f"{host[:_SHOWN_MAX]}…"
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def find_address_problem(where: Address) -> str | None:
    """Why an address that an answer names cannot be connected to; None where it is worth a try."""
    host, port = where
    if not 0 < port <= PORT_MAX:
        return f"a port is between 1 and {PORT_MAX}"
    if not host:
        return "it names no host"
    if len(host) > HOST_MAX:
        return f"its host has {len(host):,} characters, and none has more than {HOST_MAX}"
    if not host.isprintable() or " " in host:
        return "it cannot be a host name"
    if not host.isascii():
        try:
            host.encode("idna")
        except UnicodeError:
            return "it cannot be a host name"
    return None
