"""Properties from several places in, one value for each setting out: the highest place wins, setting by setting.

Two names of one setting never meet: `ssl.ca.pem` of a higher place replaces `ssl.truststore.location` of a lower one.
A Java login configuration is taken apart here, so that a user name of a higher place replaces the one inside it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

from kwcli.env import Exit, Failure
from kwcli.net.config import properties

if TYPE_CHECKING:
    from kwcli.net.config.properties import Pair


class SettingSource(NamedTuple):
    """One place and what it says; `origin` as people are told, `-F client.properties`."""

    origin: str
    pairs: Sequence[Pair]


class Value(NamedTuple):
    """What one setting has been given, under which name and where."""

    text: str
    form: properties.Form
    name: str
    origin: str

    @property
    def said(self) -> str:
        """`sasl.mechanism (-F client.properties)`."""
        return f"{self.name} ({self.origin})" if self.origin != self.name else self.name


class ChosenSettings:
    """The values by meaning (as in `properties.PROPERTIES`), and what there is to say about the rest."""

    __slots__ = ("remarks", "values", "warnings")

    def __init__(self) -> None:
        self.values: dict[str, Value] = {}
        self.warnings: list[str] = []
        self.remarks: list[str] = []

    def text(self, meaning: str) -> str | None:
        """The value, None where there is none or an empty one."""
        value = self.values.get(meaning)
        return (value.text or None) if value else None

    def flag(self, meaning: str, default: bool) -> bool:
        """true or false."""
        value = self.values.get(meaning)
        if value is None or not value.text:
            return default
        word = value.text.lower()
        if word not in _FLAGS:
            raise Failure(f"{value.said} is {value.text!r}: write true or false", Exit.USAGE)
        return _FLAGS[word]

    def seconds(self, meaning: str, default: float) -> float:
        """A number of milliseconds, as seconds."""
        value = self.values.get(meaning)
        if value is None or not value.text:
            return default
        if not (value.text.isascii() and value.text.isdecimal() and int(value.text) > 0):
            raise Failure(f"{value.said} is {value.text!r}: write a number of milliseconds", Exit.USAGE)
        return int(value.text) / 1000


_FLAGS: Final = {"true": True, "t": True, "1": True, "yes": True, "false": False, "f": False, "0": False, "no": False}
# Options of Java's login modules → meaning.
_LOGIN: Final = {
    "username": "username",
    "password": "password",
    "tokenauth": "token auth",
    "clientId": "oauth client",
    "clientSecret": "oauth secret",
    "scope": "oauth scope",
    "ssl.truststore.location": "oauth authorities",
    "ssl.truststore.password": "oauth authorities password",
    "principal": "principal",
    "keyTab": "keytab",
    "serviceName": "service",
    "unsecuredLoginLifetimeSeconds": "oauth lifetime",
}
# How options that carry a name of their own begin, and Java's options that ask for what kw does anyway or never does.
_PREFIXES: Final = ("extension_", "unsecuredLogin")
_IDLE: Final = frozenset(
    {"useKeyTab", "storeKey", "useTicketCache", "renewTGT", "doNotPrompt", "debug", "refreshKrb5Config", "isInitiator"}
)


def choose(sources: Iterable[SettingSource]) -> ChosenSettings:
    """`sources` are the highest first."""
    chosen = ChosenSettings()
    for source in sources:
        own: dict[str, Value] = {}
        for name, text in source.pairs:
            row = properties.BY_NAME.get(name)
            if row is None:
                _unmeant(chosen, name, text, source.origin)
            else:
                own[row.meaning] = Value(text, row.form, name, source.origin)
        login = own.pop("login", None)
        if login is not None and login.text:
            for meaning, value in _login(login, chosen).items():
                own.setdefault(meaning, value)
        for meaning, value in own.items():
            chosen.values.setdefault(meaning, value)
    return chosen


def _unmeant(chosen: ChosenSettings, name: str, text: str, origin: str) -> None:
    if name in properties.UNSUPPORTED:
        chosen.warnings.append(f"{name} ({origin}) is not followed: {properties.UNSUPPORTED[name]}")
    elif properties.irrelevant(name):
        from kwcli.net.config.properties import shown_name

        chosen.remarks.append(f"{shown_name(name, text)} ({origin}) has no meaning for kw")
    else:
        from kwcli.net.config.properties import shown_name
        from kwcli.spelling import did_you_mean

        called = shown_name(name, text) or "without a name"
        meant = did_you_mean(name, properties.known_names()) if called == name else ""
        chosen.warnings.append(f"unknown property {called} ({origin}){meant}")


def _login(value: Value, chosen: ChosenSettings) -> dict[str, Value]:
    from kwcli.net.config import jaas

    try:
        module, options = jaas.parse(value.text)
    except jaas.JaasError as error:
        raise Failure(f"{value.said} cannot be read: {error}", Exit.USAGE) from None
    found = {"login module": value._replace(text=module)}
    for name, text in options.items():
        inner = Value(text, "text", f"{name} in {value.name}", value.origin)
        if name in _LOGIN:
            form: properties.Form = "path" if name in ("ssl.truststore.location", "keyTab") else "text"
            found[_LOGIN[name]] = inner._replace(form=form)
        elif name.startswith(_PREFIXES):
            found[f"oauth option {name}"] = inner
        elif name in _IDLE:
            chosen.remarks.append(f"{inner.said} has no meaning for kw")
        else:
            chosen.warnings.append(f"{inner.said} is not followed")
    return found
