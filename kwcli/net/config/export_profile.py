"""A profile in, its properties in the notation of another client out: Java's, librdkafka's, or shell variables."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final

from decoders.named_tuple import NamedTuple
from kwcli.net.config.client_properties import (
    BY_NAME,
    PROPERTIES,
    Pair,
    Property,
    format_properties,
    is_hidden_value,
    is_java_properties_text,
)
from kwcli.net.config.merge_settings import ChosenSettings, SettingSource, SettingValue, merge_setting_sources

KINDS: Final = ("kw", "java", "librdkafka", "env")
_MODULES: Final = "org.apache.kafka.common.security"
_STORES: Final = (".jks", ".p12", ".pfx", ".pkcs12", ".keystore", ".truststore")
# Options of a Java login module ← meanings.
_USER: Final = (("username", "username"), ("password", "password"))
_LOGINS: Final[dict[str, tuple[str, tuple[tuple[str, str], ...]]]] = {
    "PLAIN": (f"{_MODULES}.plain.PlainLoginModule", _USER),
    "SCRAM-SHA-256": (f"{_MODULES}.scram.ScramLoginModule", (*_USER, ("tokenauth", "token auth"))),
    "SCRAM-SHA-512": (f"{_MODULES}.scram.ScramLoginModule", (*_USER, ("tokenauth", "token auth"))),
    "OAUTHBEARER": (
        f"{_MODULES}.oauthbearer.OAuthBearerLoginModule",
        (("clientId", "oauth client"), ("clientSecret", "oauth secret"), ("scope", "oauth scope")),
    ),
    "GSSAPI": ("com.sun.security.auth.module.Krb5LoginModule", (("principal", "principal"), ("keyTab", "keytab"))),
    "AWS_MSK_IAM": (
        "software.amazon.msk.auth.iam.IAMLoginModule",
        (
            ("awsProfileName", "aws profile"),
            ("awsRoleArn", "aws role"),
            ("awsRoleSessionName", "aws session"),
            ("awsStsRegion", "aws region"),
        ),
    ),
}
_HANDLERS: Final = {
    "OAUTHBEARER": (
        "sasl.login.callback.handler.class",
        f"{_MODULES}.oauthbearer.OAuthBearerLoginCallbackHandler",
    ),
    "AWS_MSK_IAM": ("sasl.client.callback.handler.class", "software.amazon.msk.auth.iam.IAMClientCallbackHandler"),
}
# Meanings that only kw has as properties.
_OWN: Final = frozenset({"output", "oauth token", "aws region", "aws profile", "aws role", "aws session"})
# Meanings that options of a login module carry.
_IN_LOGIN: Final = frozenset(meaning for _, options in _LOGINS.values() for _, meaning in options)


class ExportedProfile(NamedTuple):
    """The text of a file, and notes on properties that it cannot hold; `left_out` counts the secrets left out."""

    text: str
    notes: list[str]
    left_out: int


def export_profile(name: str, pairs: Sequence[Pair], kind: str, *, reveal: bool) -> ExportedProfile:
    """The profile's properties, as one of KINDS. A secret is a comment unless it is to be revealed."""
    notes: list[str] = []
    chosen = merge_setting_sources([SettingSource(name, pairs)])
    if kind in ("java", "librdkafka"):
        shown = [*_translate_for_client(chosen, kind, notes), *(pair for pair in pairs if pair[0] not in BY_NAME)]
    else:
        shown = [*pairs]
    lines, left_out = [f"# profile {name} of kw\n"], 0
    # Programs that read the file, kw among them, tell its notation by the names in it.
    plain = kind == "librdkafka" or (
        kind == "kw" and not is_java_properties_text("".join(f"{key}=\n" for key, _ in shown))
    )
    line = _LINES["librdkafka" if plain else kind]
    for key, value in shown:
        if plain and "\n" in value:
            notes.append(f"{key}: it has several lines, which a file of librdkafka cannot hold; name a file")
            continue
        if is_hidden_value(key, value) and not reveal:
            left_out += 1
            lines.append(f"# {line(key, '').rstrip()}{{redacted {len(value.encode())}}}\n")
        else:
            lines.append(line(key, value))
    return ExportedProfile("".join(lines), notes, left_out)


def _translate_for_client(chosen: ChosenSettings, kind: str, notes: list[str]) -> Iterator[Pair]:
    """The settings under the names that the client knows, in the table's order."""
    java = kind == "java"
    mechanism = (chosen.read_text("mechanism") or "").upper()
    for meaning in dict.fromkeys(row.meaning for row in PROPERTIES):
        value = chosen.values.get(meaning)
        if value is None or meaning == "login handler":
            continue
        if java and meaning in _IN_LOGIN and mechanism in _LOGINS:
            continue
        name = _find_name_for_client(value, meaning, java=java)
        if name is None:
            notes.append(f"{value.name}: {_explain_unexported_setting(meaning, java=java)}")
            continue
        yield name, value.text
        if java and value.form == "path" and not value.text.lower().endswith(_STORES):
            yield name.replace(".location", ".type"), "PEM"
    if java and mechanism in _LOGINS:
        yield "sasl.jaas.config", _format_jaas_login(chosen, mechanism)
        if mechanism in _HANDLERS:
            yield _HANDLERS[mechanism]
    elif mechanism == "AWS_MSK_IAM":
        notes.append("sasl.mechanism: librdkafka has no AWS_MSK_IAM; programs give it a token for OAUTHBEARER")


def _find_name_for_client(value: SettingValue, meaning: str, *, java: bool) -> str | None:
    """The client's name for a setting: the one it has already, where the client knows that."""

    def names(row: Property) -> tuple[str, ...]:
        return row.java if java else row.librdkafka

    if meaning in _OWN:
        return None
    rows = [row for row in PROPERTIES if row.meaning == meaning and names(row)]
    if any(value.name in names(row) for row in rows):
        return value.name
    return next((names(row)[0] for row in rows if row.form == value.form), None)


def _explain_unexported_setting(meaning: str, *, java: bool) -> str:
    if java and meaning == "key":
        return "Java reads certificate and key from one file: put both into ssl.keystore.location"
    if java and meaning == "verify":
        return "Java always checks certificates: name their authority by ssl.truststore.location"
    return f"{'Java' if java else 'librdkafka'} has no such property"


def _format_jaas_login(chosen: ChosenSettings, mechanism: str) -> str:
    module, options = _LOGINS[mechanism]
    words = [f'{word}="{_escape_quotes(text)}"' for word, meaning in options if (text := chosen.read_text(meaning))]
    if mechanism == "GSSAPI":
        words.insert(0, "useKeyTab=true" if chosen.read_text("keytab") else "useTicketCache=true")
    return f"{' '.join([module, 'required', *words])};"


def _escape_quotes(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"')


def _format_java_line(name: str, value: str) -> str:
    return format_properties([(name, value)])


def _format_plain_line(name: str, value: str) -> str:
    return f"{name}={value}\n"


def _format_variable_line(name: str, value: str) -> str:
    return f"export KW_{name.upper().replace('.', '_')}={shlex.quote(value) if value else ''}\n"


_LINES: Final[dict[str, Callable[[str, str], str]]] = {
    "kw": _format_java_line,
    "java": _format_java_line,
    "librdkafka": _format_plain_line,
    "env": _format_variable_line,
}


def format_note_lines(exported: ExportedProfile) -> Iterable[str]:
    """The lines to print about an export: its notes, and how many secrets are left out."""
    yield from exported.notes
    if exported.left_out:
        what = f"{exported.left_out} secrets are" if exported.left_out > 1 else "1 secret is"
        yield f"{what} left out: --reveal-secrets writes {'them' if exported.left_out > 1 else 'it'}"
