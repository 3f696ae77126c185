"""Properties in, what may be shown of them out: a name that nobody knows may be a password that was put in its place.

What is known to be harmless is shown, all else is `{redacted N}`; of an address its user and query are hidden.
"""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Final

from decoders.wire.text import hole, with_parts
from kwcli.net.config import properties

if TYPE_CHECKING:
    from kwcli.net.config.properties import Pair

# Options of Java's login modules that are no secrets.
PUBLIC_OPTIONS: Final = frozenset(
    {"username", "clientId", "scope", "tokenauth", "principal", "keyTab", "serviceName", "ssl.truststore.location"}
)
_NAME: Final = re.compile(r"[A-Za-z][\w-]*(?:\.[\w-]+)+|[A-Za-z][A-Za-z_-]{1,23}")
_NAME_MOST: Final = 100
_PLACE: Final = re.compile(
    r"(?P<scheme>[A-Za-z][A-Za-z0-9+.-]*://)(?:(?P<user>.*)@)?"
    r"(?P<host>\[[0-9A-Fa-f:.]+\]|[\w.-]+)(?P<port>:\d{1,5})?(?P<path>/[\w./~%+-]*)?(?P<rest>.*)",
    re.DOTALL,
)
_CLIENT: Final = frozenset(name for name, row in properties.BY_NAME.items() if row.meaning == "oauth client")
_CLIENT_SECRET: Final = frozenset(name for name, row in properties.BY_NAME.items() if row.meaning == "oauth secret")
# The user of an address in a list of some, which has no query.
_USER: Final = re.compile(r"(?<=://)[^/\s,]*@")
# A value of an unknown property that is shorter is a number or a word as any; a password hardly is.
_SHORTEST: Final = 4
_SHORTEST_UNKNOWN: Final = 6


def hidden(name: str, value: str) -> bool:
    """Whether a value may be shown only on demand."""
    return bool(value) and (properties.secret(name) or "PRIVATE KEY" in value)


def shown_name(name: str, value: str = "") -> str:
    """The name of a property; what cannot be one, as a password on a line of its own, is hidden."""
    if properties.known(name) or not name:
        return name
    first = name.split()[0] if name.split() else ""
    if first != name and properties.known(first):
        return f"{first} {hole(name[len(first) :].strip())}"
    if len(name) <= _NAME_MOST and _NAME.fullmatch(name) and (value or _is_near(name)):
        return name
    return hole(name)


def _is_near(name: str) -> bool:
    from kwcli.spelling import nearest_words

    return bool(nearest_words(name, properties.known_names()))


def shown_url(text: str) -> str:
    """An address without its user and its query; what is none is hidden."""
    match = _PLACE.fullmatch(text)
    if match is None:
        return hole(text)
    user = f"{hole(match['user'])}@" if match["user"] is not None else ""
    rest = f"?{hole(match['rest'].lstrip('?'))}" if match["rest"] else ""
    return f"{match['scheme']}{user}{match['host']}{match['port'] or ''}{match['path'] or ''}{rest}"


def shown_value(name: str, value: str) -> str:
    """A value that is not `hidden`, without what an address in it holds of a secret."""
    if name.endswith(".url"):
        return ",".join(shown_url(word) if "://" in word else word for word in value.split(","))
    return _USER.sub(lambda match: f"{hole(match[0][:-1])}@", value)


def secrets_of(pairs: Iterable[Pair]) -> Iterator[str]:
    """What must not be told of properties, whoever says it."""
    pairs = list(pairs)
    clients = {value for name, value in pairs if name in _CLIENT}
    for name, value in pairs:
        if name in _CLIENT_SECRET:  # as HTTP carries it
            yield from (b64encode(f"{client}:{value}".encode()).decode() for client in clients)
        if name == "sasl.jaas.config":
            yield from _of_login(value)
        elif hidden(name, value):
            least = _SHORTEST if properties.known(name) else _SHORTEST_UNKNOWN
            yield from (part for part in with_parts(value) if len(part) >= least)
        else:
            yield from _of_address(name, value)


def public_of(pairs: Iterable[Pair]) -> Iterator[str]:
    """What is told of properties as it is."""
    for name, value in pairs:
        if name == "sasl.jaas.config":
            yield from (text for word, text in _options(value).items() if word in PUBLIC_OPTIONS)
        elif value and not hidden(name, value) and not any(_of_address(name, value)):
            yield value


def _of_login(value: str) -> Iterator[str]:
    options = _options(value)
    if not options:
        yield from (part for part in with_parts(value) if len(part) >= _SHORTEST)
    yield from (text for word, text in options.items() if word not in PUBLIC_OPTIONS and len(text) >= _SHORTEST)


def _options(value: str) -> dict[str, str]:
    from kwcli.net.config import jaas

    try:
        return jaas.parse(value).options
    except jaas.JaasError:
        return {}


def _of_address(name: str, value: str) -> Iterator[str]:
    """User and query, and their parts."""
    match = _PLACE.fullmatch(value) if name.endswith(".url") else None
    texts = [match["user"], match["rest"]] if match else [found[:-1] for found in _USER.findall(value)]
    for text in texts:
        for part in [text, *re.split(r"[:?&=#]", text)] if text else []:
            if len(part) >= _SHORTEST:
                yield part
