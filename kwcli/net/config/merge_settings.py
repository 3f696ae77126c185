"""Properties from several places in, one value for each setting out: the highest place wins, setting by setting.

Names of one setting count as one: `ssl.ca.pem` of a higher place replaces `ssl.truststore.location` of a lower one.
A Java login configuration is taken apart here, so that a user name of a higher place replaces the one inside it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Final

from decoders.named_tuple import NamedTuple
from decoders.wire.redact_text import redact_whole_text
from kwcli.net.config import client_properties
from kwcli.run_environment import Exit, Failure

if TYPE_CHECKING:
    from kwcli.net.config.client_properties import Pair


class SettingSource(NamedTuple):
    """The properties of one place; `origin` is the place as people are told, `-F client.properties`.

    `lines` are the numbers of the pairs' lines where the place is a file; `file` is its name if `origin` lacks it.
    """

    origin: str
    pairs: Sequence[Pair]
    lines: Sequence[int] = ()
    file: str = ""

    def format_place_of_pair(self, index: int) -> str:
        """Where a pair stands: `-F client.properties:3`, `active profile prod, /home/me/…/prod.properties:3`."""
        if not self.lines:
            return self.origin
        return f"{self.origin}{f', {self.file}' if self.file else ''}:{self.lines[index]}"


class SettingValue(NamedTuple):
    """The value of one setting: text and form, the name it was given under, its source, and its exact place there."""

    text: str
    form: client_properties.Form
    name: str
    origin: str
    place: str = ""

    @property
    def where(self) -> str:
        """The place of the value, with its line where it has one."""
        return self.place or self.origin

    @property
    def name_and_place(self) -> str:
        """The setting and its place in words: `sasl.mechanism (-F client.properties:3)`."""
        return f"{self.name} ({self.where})" if self.origin != self.name else self.name


class ChosenSettings:
    """The values by meaning (as in `client_properties.PROPERTIES`), and messages about the other properties.

    `faults` are about unknown properties that may have been meant to protect the connection.
    """

    __slots__ = ("faults", "remarks", "values", "warnings")

    def __init__(self) -> None:
        self.values: dict[str, SettingValue] = {}
        self.faults: list[str] = []
        self.warnings: list[str] = []
        self.remarks: list[str] = []

    def read_text(self, meaning: str) -> str | None:
        """The text of a setting; None where it has none or an empty one."""
        value = self.values.get(meaning)
        return (value.text or None) if value else None

    def read_flag(self, meaning: str, default: bool) -> bool:
        """A setting that is true or false. Raises Failure (usage) for other words."""
        value = self.values.get(meaning)
        if value is None or not value.text:
            return default
        word = value.text.lower()
        if word not in _FLAGS:
            raise Failure(f"{value.name_and_place} is {value.text!r}: write true or false", Exit.USAGE)
        return _FLAGS[word]

    def read_seconds(self, meaning: str, default: float) -> float:
        """A setting in milliseconds, as seconds. Raises Failure (usage) for other texts."""
        value = self.values.get(meaning)
        if value is None or not value.text:
            return default
        if not (value.text.isascii() and value.text.isdecimal() and int(value.text) > 0):
            raise Failure(f"{value.name_and_place} is {value.text!r}: write a number of milliseconds", Exit.USAGE)
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
    "awsProfileName": "aws profile",
    "awsRoleArn": "aws role",
    "awsRoleSessionName": "aws session",
    "awsStsRegion": "aws region",
}
# Prefixes of options that carry a name of their own, and Java's options for what kw does anyway or never does.
_PREFIXES: Final = ("extension_", "unsecuredLogin")
_IDLE: Final = frozenset(
    {
        "useKeyTab",
        "storeKey",
        "useTicketCache",
        "renewTGT",
        "doNotPrompt",
        "debug",
        "refreshKrb5Config",
        "isInitiator",
        "awsDebugCreds",
        "awsMaxRetries",
        "awsMaxBackOffTimeMs",
    }
)


def merge_setting_sources(sources: Iterable[SettingSource]) -> ChosenSettings:
    """The settings of all sources, which are given with the highest first."""
    chosen = ChosenSettings()
    for source in sources:
        own: dict[str, SettingValue] = {}
        for index, (name, text) in enumerate(source.pairs):
            row = client_properties.BY_NAME.get(name)
            if row is None:
                _report_unused_property(chosen, name, text, source.format_place_of_pair(index))
            else:
                own[row.meaning] = SettingValue(text, row.form, name, source.origin, source.format_place_of_pair(index))
        login = own.pop("login", None)
        if login is not None and login.text:
            for meaning, value in _read_jaas_login(login, chosen).items():
                own.setdefault(meaning, value)
        for meaning, value in own.items():
            chosen.values.setdefault(meaning, value)
    return chosen


def _report_unused_property(chosen: ChosenSettings, name: str, text: str, place: str) -> None:
    if name in client_properties.UNSUPPORTED:
        reason = client_properties.explain_unused_property(name, text)
        if reason is not None:
            chosen.warnings.append(f"{name} ({place}) is not followed: {reason}")
        return
    from kwcli.net.config.unknown_properties import (
        is_property_about_security,
        propose_property,
        redact_unless_property_name,
    )

    called = redact_unless_property_name(name, text)
    if client_properties.is_irrelevant_property(name):
        chosen.remarks.append(f"{called} ({place}) has no meaning for kw")
    else:
        meant = propose_property(name, text, option=place == "-X") if called != redact_whole_text(name) else ""
        line = f"unknown property {called or 'without a name'} ({place}){meant}"
        (chosen.faults if is_property_about_security(name, text) else chosen.warnings).append(line)


def _read_jaas_login(value: SettingValue, chosen: ChosenSettings) -> dict[str, SettingValue]:
    from kwcli.net.config import jaas_logins

    try:
        module, options = jaas_logins.parse_jaas(value.text)
    except jaas_logins.JaasError as error:
        raise Failure(f"{value.name_and_place} cannot be read: {error}", Exit.USAGE) from None
    found = {"login module": value._replace(text=module)}
    for name, text in options.items():
        inner = value._replace(text=text, form="text", name=f"{name} in {value.name}")
        if name in _LOGIN:
            form: client_properties.Form = "path" if name in ("ssl.truststore.location", "keyTab") else "text"
            found[_LOGIN[name]] = inner._replace(form=form)
        elif name.startswith(_PREFIXES):
            found[f"oauth option {name}"] = inner
        elif name in _IDLE:
            chosen.remarks.append(f"{inner.name_and_place} has no meaning for kw")
        else:
            from kwcli.net.config.unknown_properties import redact_unless_property_name

            # A part of a password, behind a stray quotation mark.
            title = f"{redact_unless_property_name(name, text)} in {value.name}"
            chosen.warnings.append(f"{inner._replace(name=title).name_and_place} is not followed")
    return found
