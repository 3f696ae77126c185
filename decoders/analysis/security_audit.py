"""Exchanges and TLS connections in, what they say of a cluster's security out: the fold of `kw audit --security`.

Bytes without TLS can be read by anybody on the way, as the capture itself proves: so passwords, tokens and secrets that
crossed without TLS are errors, whoever recorded them. Secrets themselves are neither kept nor shown, only where and how
often they crossed. Findings about listeners that only loopback addresses have used are notes.

A listener has anonymous clients only if connections were seen from their first request on and none of them ever logged
in: of other connections, the login may only be missing from the capture.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from ipaddress import ip_address
from typing import TYPE_CHECKING, Any, Final, Self

from decoders.analysis.doctor.diagnosis_input import escape_for_sentence
from decoders.analysis.doctor.finding_kinds import SEVERITIES, FindingKind, Severity
from decoders.analysis.doctor.observations import Observation, Observations, sort_names_by_count
from decoders.analysis.exchange_facts import view_or_empty
from decoders.analysis.read_dimension_values import client_of, host_of
from decoders.exchanges.exchange import Skipped
from decoders.exchanges.topic_arrays import structs_at
from decoders.protocol_facts.api_keys import API_VERSIONS, SASL_AUTHENTICATE, SASL_HANDSHAKE
from decoders.protocol_facts.enum_words import ENUMS
from decoders.protocol_facts.public_configs import is_public_config

if TYPE_CHECKING:
    from decoders.analysis.fold_interface import Row
    from decoders.exchanges.exchange import Exchange
    from decoders.schema.api_declaration import Side

__all__ = ["SECURITY_FINDINGS", "Security"]

_NS: Final = 1_000_000_000
# From this number of refused logins of one user from one address on it is an error, if no login succeeded.
FAILURES_MANY: Final = 10
# A certificate that ends within so many days is a warning: time to make a new one.
EXPIRES_SOON_DAYS: Final = 30
_LISTED: Final = 20
_UNSUPPORTED_MECHANISM: Final = 33
_ALLOW: Final = 3

SECURITY_FINDINGS: Final[dict[str, FindingKind]] = {
    "password-in-clear": FindingKind(
        "error",
        "passwords of SASL/{mechanism} cross to {broker} without TLS",
        "anyone on the network between client and broker can read user names and passwords, and log in with them",
        "make the listener SASL_SSL, have clients use it, and change the passwords that were sent",
    ),
    "token-in-clear": FindingKind(
        "error",
        "bearer tokens of SASL/{mechanism} cross to {broker} without TLS",
        "anyone on the network can read a token and use it until it expires",
        "make the listener SASL_SSL and have clients use it",
    ),
    "token-unsigned": FindingKind(
        "error",
        "{broker} takes bearer tokens that nobody signed",
        "whoever reaches the listener can write a token for any user and log in with it: Kafka's validator of unsecured"
        " tokens is for development",
        "set sasl.oauthbearer.jwks.endpoint.url and a validator that checks signatures",
    ),
    "scram-in-clear": FindingKind(
        "warning",
        "SASL/{mechanism} logins cross to {broker} without TLS",
        "the password itself is not sent, but an eavesdropper can guess it offline from the exchange (RFC 5802, 9)",
        "make the listener SASL_SSL and have clients use it; use long random passwords",
    ),
    "login-in-clear": FindingKind(
        "note",
        "SASL/{mechanism} logins cross to {broker} without TLS",
        "the login itself is safe; all later traffic can be read and changed on the way",
        "make the listener SASL_SSL where others share the network",
    ),
    "secret-in-clear": FindingKind(
        "error",
        "{secret} crossed to or from {broker} without TLS ({api})",
        "anyone on the network between client and broker can have read them",
        "change these secrets; from now on send them only to a listener with TLS",
    ),
    "config-in-clear": FindingKind(
        "warning",
        "values of configs that may be secret crossed to or from {broker} without TLS ({api})",
        "Kafka does not list these configs as public: {configs}",
        "change those that are secrets; from now on send them only to a listener with TLS",
    ),
    "plaintext": FindingKind(
        "warning",
        "the listener {broker} speaks plaintext",
        "requests and records can be read and changed on the way",
        "give clients a listener with SSL or SASL_SSL, and close this one",
    ),
    "anonymous": FindingKind(
        "warning",
        "clients use {broker} without logging in",
        "the broker cannot tell them apart: all of them are User:ANONYMOUS and have the same rights",
        "require SASL or client certificates on this listener, or deny User:ANONYMOUS",
    ),
    "login-failed": FindingKind(
        "warning",
        "logins of {user} from {address} with {mechanism} were refused",
        "a wrong or old password, a user that does not exist, or somebody who guesses passwords",
        "find out which program runs there; compare its password with the broker's",
    ),
    "mechanism-refused": FindingKind(
        "warning",
        "{address} asked {broker} for SASL/{mechanism}, which the broker does not accept",
        "the client cannot log in",
        "set sasl.mechanism of the client to one that the listener has in sasl.enabled.mechanisms",
    ),
    "tls-old": FindingKind(
        "error",
        "{broker} was used with TLS {version}",
        "versions before 1.2 are broken and withdrawn (RFC 8996)",
        "set ssl.enabled.protocols to TLSv1.2,TLSv1.3 and update these clients",
    ),
    "cipher-weak": FindingKind(
        "warning",
        "{broker} was used with the cipher {cipher}",
        "it has no forward secrecy, or no authenticated encryption: recorded traffic may be read later (RFC 9325)",
        "set ssl.cipher.suites to suites with ECDHE and GCM or ChaCha20",
    ),
    "tls": FindingKind(
        "note",
        "{broker} was used with TLS {version} {cipher}",
        "nothing is wrong with them",
    ),
    "certificate-expired": FindingKind(
        "error",
        "the {whose} {subject} at {broker} has expired on {expires}",
        "clients that check it cannot connect; clients that connect do not check it",
        "install a new certificate, and have clients check it",
    ),
    "certificate-expires": FindingKind(
        "warning",
        "the {whose} {subject} at {broker} expires on {expires}",
        "from then on clients that check it cannot connect",
        "install a new certificate before then",
    ),
    "certificate": FindingKind(
        "note",
        "{broker} has the {whose} {subject} by {issuer} until {expires}",
        "nothing is wrong with it",
    ),
    "acl-open": FindingKind(
        "warning",
        "{by} let everybody in: {acls}",
        "clients may do this without logging in",
        "allow it only to the principals that need it",
    ),
    "acl-changed": FindingKind(
        "note", "{by} has {how} access rules", "they are: {acls}", "check that this change was intended"
    ),
    "users-changed": FindingKind(
        "note", "{by} has changed SCRAM users", "they are: {users}", "check that this change was intended"
    ),
    "delegation-token": FindingKind(
        "note",
        "{by} has {how} delegation tokens",
        "the holder of a token acts as its owner: {owners}",
        "check that they were issued on purpose",
    ),
    "left-out": FindingKind(
        "note",
        "the traffic has more clients, users or listeners than kw keeps track of",
        "findings about the ones that appeared last may be missing",
        "look at a part of the traffic: --client-id, --since",
    ),
}

# Mechanism → what crosses where there is no TLS; others are `login-in-clear`.
_CROSSING: Final = {
    "PLAIN": "password-in-clear",
    "OAUTHBEARER": "token-in-clear",
    "SCRAM-SHA-256": "scram-in-clear",
    "SCRAM-SHA-512": "scram-in-clear",
}


def _is_redacted_secret(value: Any) -> bool:
    """Whether a value of a body is a redacted secret that is not empty."""
    return isinstance(value, dict) and bool(value.get("redacted"))


def _users_with_salted_passwords(exchange: Exchange) -> Iterator[str]:
    for each in structs_at(exchange.view("request"), "upsertions"):
        if _is_redacted_secret(each.get("salted_password")):
            yield str(each.get("name"))


def _make_token_id_reader(side: Side) -> Callable[[Exchange], Iterator[str]]:
    def read_token_ids(exchange: Exchange) -> Iterator[str]:
        body = view_or_empty(exchange, side)
        for each in (body, *structs_at(body, "tokens")):
            if _is_redacted_secret(each.get("hmac")):
                yield str(each.get("token_id") or "")

    return read_token_ids


def _names_of_secret_configs(exchange: Exchange) -> Iterator[str]:
    for each in structs_at(exchange.view("request"), "resources"):
        for config in structs_at(each, "configs"):
            name = str(config.get("name"))
            if config.get("value") and not is_public_config(name):
                yield name


_CONFIGS: Final = ("name", "value")
_HMAC: Final = "HMACs of delegation tokens"
# Answers to DescribeConfigs are not in the table: brokers leave secret values out of them.
# API key → what secrets it carries, the function that names them, and the paths it reads.
_SECRETS: Final[dict[int, tuple[str, Callable[[Exchange], Iterator[str]], Side, tuple[str, ...]]]] = {
    51: ("salted passwords of SCRAM users", _users_with_salted_passwords, "request", ("upsertions",)),
    38: (_HMAC, _make_token_id_reader("response"), "response", ("hmac", "token_id")),
    39: (_HMAC, _make_token_id_reader("request"), "request", ("hmac",)),
    40: (_HMAC, _make_token_id_reader("request"), "request", ("hmac",)),
    41: (_HMAC, _make_token_id_reader("response"), "response", ("tokens",)),
    33: ("", _names_of_secret_configs, "request", tuple(f"resources[].configs[].{name}" for name in _CONFIGS)),
    44: ("", _names_of_secret_configs, "request", tuple(f"resources[].configs[].{name}" for name in _CONFIGS)),
}
_MORE: Final[dict[tuple[int, Side], tuple[str, ...]]] = {
    (SASL_HANDSHAKE, "request"): ("mechanism",),
    (SASL_HANDSHAKE, "response"): ("error_code",),
    (SASL_AUTHENTICATE, "response"): ("error_code",),
    (30, "request"): ("creations",),
    (30, "response"): ("results",),
    (31, "response"): ("filter_results",),
    (51, "request"): ("upsertions", "deletions"),
    (51, "response"): ("results",),
    **{(key, "response"): ("error_code",) for key in (39, 40)},
    (38, "response"): ("error_code", "principal_type", "principal_name", "hmac", "token_id"),
    (41, "response"): ("error_code", "tokens"),
}
_TOKEN_DONE: Final = {38: "made", 39: "renewed", 40: "expired", 41: "listed"}


class Security:
    """What was observed of listeners, logins, secrets and rights."""

    def __init__(self) -> None:
        self._seen = Observations()

    def needs(self, api_key: int, side: Side) -> frozenset[str]:
        """The paths read of logins, of APIs that carry secrets, and of APIs that change rights."""
        secret = _SECRETS.get(api_key)
        mine = secret[3] if secret is not None and secret[2] == side else ()
        return frozenset((*mine, *_MORE.get((api_key, side), ())))

    def add(self, exchange: Exchange) -> None:
        """Observe an exchange."""
        if exchange.envelope is not None:
            return  # a broker forwards it for its client
        exchange._read_sides()
        info, key = exchange.connection_info, exchange.api_key
        clear, host, user = info.tls is None, host_of(info.client), exchange.user
        listener = self._seen.get_or_make("listener", info.broker, int(clear))
        listener.count_exchange(exchange)
        listener.count_name("clients", client_of(exchange.client_id, info.client))
        listener.count_name("hosts", host)
        if user is not None:
            listener.count_name("users", user)
        if info.tls is not None:
            its = self._seen.get_or_make("tls", info.broker, info.tls["version"], info.tls["cipher"])
            its.count_exchange(exchange)
            its.count_name("clients", host)
        if exchange.is_sasl_token or key in (SASL_HANDSHAKE, SASL_AUTHENTICATE):
            listener.add_to_sum("logins", 1)
            self._observe_login(exchange, clear=clear)
        elif key == API_VERSIONS:
            listener.add_to_sum("begun", user is None)
        elif key is not None:
            if user is None:
                listener.add_to_sum("nameless", 1)
            else:
                self._seen.get_or_make("in", user, host).count_exchange(exchange)
            self._observe_administration(exchange, key, clear=clear)

    def _observe_login(self, exchange: Exchange, *, clear: bool) -> None:
        info, key = exchange.connection_info, exchange.api_key
        host, mechanism, user = host_of(info.client), exchange.mechanism or "", exchange.user
        error = view_or_empty(exchange, "response").get("error_code", 0)
        if key == SASL_HANDSHAKE:
            if error == _UNSUPPORTED_MECHANISM:
                asked = str(view_or_empty(exchange, "request").get("mechanism") or "")
                self._count_client(self._seen.get_or_make("mechanism", info.broker, host, asked), exchange)
            return
        if clear and mechanism:
            its = self._count_client(self._seen.get_or_make("crossed", info.broker, mechanism), exchange)
            if user is not None:
                its.count_name("users", user)
        said = (exchange.extra or {}).get("sasl", {})
        if said.get("algorithm") == "none" and said.get("answer") == "accepted" and not error:
            its = self._count_client(self._seen.get_or_make("unsigned", info.broker), exchange)
            if user is not None:
                its.count_name("users", user)
        refused = bool(said.get("refusal"))
        silent = exchange.is_sasl_token and exchange.response_size is None and exchange.closed in ("fin", "rst")
        if error or refused or silent:
            self._count_client(self._seen.get_or_make("refused", user, host, mechanism), exchange).count_name(
                "brokers", info.broker
            )

    @staticmethod
    def _count_client(its: Observation, exchange: Exchange) -> Observation:
        its.count_exchange(exchange)
        its.count_name("clients", client_of(exchange.client_id, exchange.connection_info.client))
        return its

    def _observe_administration(self, exchange: Exchange, api_key: int, *, clear: bool) -> None:
        """Observe secrets that an exchange carries, and rights that it changes."""
        broker = exchange.connection_info.broker
        by = exchange.user or client_of(exchange.client_id, exchange.connection_info.client)
        if clear and api_key in _SECRETS:
            what, names, *_ = _SECRETS[api_key]
            found = list(names(exchange))
            if found:
                its = self._count_client(
                    self._seen.get_or_make("secret", broker, what, exchange._api_reader.name), exchange
                )
                for name in found:
                    its.count_name("names", name)
        if api_key in (30, 31):
            self._observe_access_rules(exchange, api_key, by)
        elif api_key == 51:
            refused = {
                each.get("user") for each in structs_at(exchange.view("response"), "results") if each.get("error_code")
            }
            changes = (
                each for side in ("upsertions", "deletions") for each in structs_at(exchange.view("request"), side)
            )
            self._observe_change_of_rights(
                "users",
                exchange,
                by,
                "",
                [str(each.get("name")) for each in changes if each.get("name") not in refused],
            )
        elif api_key in _TOKEN_DONE and not view_or_empty(exchange, "response").get("error_code"):
            answer = view_or_empty(exchange, "response")
            rows = list(structs_at(answer, "tokens")) if api_key == 41 else [answer]
            owners = [
                f"{each.get('principal_type')}:{each['principal_name']}" for each in rows if each.get("principal_name")
            ]
            if api_key != 41 or owners:
                self._observe_change_of_rights("token", exchange, by, _TOKEN_DONE[api_key], owners or [""])

    def _observe_access_rules(self, exchange: Exchange, api_key: int, by: str) -> None:
        if api_key == 30:
            results = [each.get("error_code") for each in structs_at(exchange.view("response"), "results")]
            rows = [
                each
                for at, each in enumerate(structs_at(exchange.view("request"), "creations"))
                if at < len(results) and not results[at]
            ]
        else:
            filters = structs_at(exchange.view("response"), "filter_results")
            rows = [each for row in filters for each in structs_at(row, "matching_acls") if not each.get("error_code")]
        self._observe_change_of_rights(
            "acl", exchange, by, "added" if api_key == 30 else "taken away", list(map(_describe_access_rule, rows))
        )
        if api_key == 30:
            wide = [
                _describe_access_rule(each)
                for each in rows
                if each.get("principal") in _ANYBODY and each.get("permission_type") == _ALLOW
            ]
            self._observe_change_of_rights("open", exchange, by, "", wide)

    def _observe_change_of_rights(self, kind: str, exchange: Exchange, by: str, change: str, names: list[str]) -> None:
        if names:
            its = self._count_client(self._seen.get_or_make(kind, by, change), exchange)
            for name in filter(None, names):
                its.count_name("names", name)

    def observe_tls_connection(self, skipped: Skipped) -> None:
        """Observe a TLS connection that was not decrypted; `skipped.detail` has what its handshake says."""
        found = _TLS.match(skipped.detail)
        if skipped.reason != "tls" or found is None:
            return
        info, time_ns = skipped.connection_info, skipped.time_ns
        its = self._seen.get_or_make("tls", info.broker, found["version"], found["cipher"])
        _count_observation_at(its, time_ns)
        its.count_name("clients", host_of(info.client))
        from decoders.tls.tls_facts import read_certificates_of_line  # few captures need it

        for whose, facts in read_certificates_of_line(skipped.detail):
            names = facts.subject, facts.issuer, facts.expires[: len("2026-01-31")]
            _count_observation_at(self._seen.get_or_make("certificate", info.broker, whose, *names), time_ns)

    def merge(self, other: Self) -> None:
        """Add what `other` has seen; `other` stays unchanged."""
        self._seen.merge(other._seen)

    def export(self) -> bytes:
        """The state, for `resume`."""
        return self._seen.export()

    def resume(self, state: bytes) -> None:
        """Restore the state that `export` gave. Raises DecodeError."""
        self._seen.resume(state)

    def rows(self) -> list[Row]:
        """A row for each finding, worst first."""
        rows = [
            row
            for look in (
                _make_rows_of_logins_in_clear,
                _make_rows_of_listeners,
                _make_rows_of_refused_logins,
                _make_rows_of_encryption,
                _make_rows_of_changes,
            )
            for row in look(self._seen)
        ]
        if self._seen.left_out:
            rows.append(_make_finding_row("left-out", Observation(), {}))
        return sorted(rows, key=lambda row: (SEVERITIES.index(row["severity"]), -row["count"], row["id"], row["title"]))


_ANYBODY: Final = frozenset({"User:*", "User:ANONYMOUS"})
_TLS: Final = re.compile(r"(?:TLS |SSL )(?P<version>\d[\d.]*), (?P<cipher>\w+)")
# Key exchange without forward secrecy; ciphers without authentication, or broken ones.
_WEAK: Final = re.compile(r"TLS_RSA_|_CBC|RC4|3DES|_DES|NULL|EXPORT|anon|_MD5")


def _count_observation_at(its: Observation, time_ns: int) -> None:
    its.first = min(its.first, time_ns) if its.count else time_ns
    its.last = max(its.last, time_ns)
    its.count += 1


def _describe_access_rule(each: Mapping[str, Any]) -> str:
    """An ACL as text: `User:alice allow read on topic orders`."""
    words = [
        ENUMS[name].get(each.get(field, -1), str(each.get(field)))
        for name, field in (
            ("permission", "permission_type"),
            ("operation", "operation"),
            ("acl_resource", "resource_type"),
        )
    ]
    return f"{each.get('principal')} {words[0]} {words[1]} on {words[2]} {each.get('resource_name')}"


def _make_finding_row(kind: str, seen: Observation, values: Mapping[str, Any], severity: Severity | None = None) -> Row:
    """The row of a finding: `values` other than None fill its texts, and are keys of the row."""
    row = SECURITY_FINDINGS[kind]
    known = {name: value for name, value in values.items() if value is not None}
    words = defaultdict(str, {name: escape_for_sentence(value) for name, value in known.items()})
    clients = sort_names_by_count(seen.names.get("clients", {}))[:_LISTED]
    return {
        "id": kind,
        "severity": severity or row.severity,
        "title": row.title.format_map(words),
        **seen.count_and_times(),
        **known,
        **({"clients": clients} if clients else {}),
        "evidence": seen.evidence_rows(),
        "meaning": row.meaning.format_map(words),
        "remedy": row.remedy,
    }


def _names_by_count(seen: Observation, facet: str) -> list[str]:
    return sort_names_by_count(seen.names.get(facet, {}))[:_LISTED]


def _make_rows_of_logins_in_clear(seen: Observations) -> Iterator[Row]:
    """Rows for logins and secrets that crossed without TLS."""
    for (broker, mechanism), its in seen.items_of_kind("crossed"):
        values = {"broker": broker, "mechanism": mechanism, "users": _names_by_count(its, "users") or None}
        yield _make_finding_row(_CROSSING.get(mechanism, "login-in-clear"), its, values)
    for (broker,), its in seen.items_of_kind("unsigned"):
        yield _make_finding_row(
            "token-unsigned", its, {"broker": broker, "users": _names_by_count(its, "users") or None}
        )
    for (broker, what, name), its in seen.items_of_kind("secret"):
        if what:
            yield _make_finding_row("secret-in-clear", its, {"broker": broker, "secret": what, "api": name})
        else:
            yield _make_finding_row(
                "config-in-clear", its, {"broker": broker, "api": name, "configs": _names_by_count(its, "names")}
            )


def _make_rows_of_listeners(seen: Observations) -> Iterator[Row]:
    for (broker, clear), its in seen.items_of_kind("listener"):
        local = all(map(_is_loopback, its.names.get("hosts", {})))
        if clear:
            values = {"broker": broker, "users": _names_by_count(its, "users") or None}
            yield _make_finding_row("plaintext", its, values, "note" if local else None)
        sums = its.sums
        if sums.get("begun") and sums.get("nameless") and not sums.get("logins") and not its.names.get("users"):
            yield _make_finding_row("anonymous", its, {"broker": broker}, "note" if local else None)


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def _make_rows_of_refused_logins(seen: Observations) -> Iterator[Row]:
    for (user, host, mechanism), its in seen.items_of_kind("refused"):
        taken = user is not None and seen.get_observation("in", user, host) is not None
        many = its.count >= FAILURES_MANY and not taken
        values = {
            "user": user or "an unknown user",
            "address": host,
            "mechanism": mechanism or "an unknown mechanism",
        }
        yield _make_finding_row(
            "login-failed", its, {**values, "brokers": _names_by_count(its, "brokers")}, "error" if many else None
        )
    for (broker, host, mechanism), its in seen.items_of_kind("mechanism"):
        yield _make_finding_row("mechanism-refused", its, {"broker": broker, "address": host, "mechanism": mechanism})


def _make_rows_of_encryption(seen: Observations) -> Iterator[Row]:
    for (broker, version, cipher), its in seen.items_of_kind("tls"):
        values = {"broker": broker, "version": version, "cipher": cipher}
        old = version not in ("1.2", "1.3")
        yield _make_finding_row("tls-old" if old else "cipher-weak" if _WEAK.search(cipher) else "tls", its, values)
    for (broker, whose, subject, issuer, expires), its in seen.items_of_kind("certificate"):
        values = {"broker": broker, "whose": whose, "subject": subject, "issuer": issuer, "expires": expires}
        left = datetime.fromisoformat(expires).replace(tzinfo=UTC).timestamp() - its.last / _NS
        soon = "certificate-expires" if left < EXPIRES_SOON_DAYS * 86_400 else "certificate"
        yield _make_finding_row("certificate-expired" if left < 0 else soon, its, values)


def _make_rows_of_changes(seen: Observations) -> Iterator[Row]:
    """Rows for changes of rights, users and tokens."""
    for (by, _), its in seen.items_of_kind("open"):
        yield _make_finding_row("acl-open", its, {"by": by, "acls": _names_by_count(its, "names")})
    for (by, how), its in seen.items_of_kind("acl"):
        yield _make_finding_row("acl-changed", its, {"by": by, "how": how, "acls": _names_by_count(its, "names")})
    for (by, _), its in seen.items_of_kind("users"):
        yield _make_finding_row("users-changed", its, {"by": by, "users": _names_by_count(its, "names")})
    for (by, how), its in seen.items_of_kind("token"):
        owners = _names_by_count(its, "names")
        yield _make_finding_row("delegation-token", its, {"by": by, "how": how, "owners": owners or None})
