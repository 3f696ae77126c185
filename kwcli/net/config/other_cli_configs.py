"""A configuration file of kafkactl, kaf, rpk or kcl in, the clusters that it names out, each as client properties.

Such a file is YAML or TOML and names several clusters, of which one is in use. Its keys tell which tool wrote it. Keys
that say how to reach a cluster become properties; other keys that would change a connection are reported, the rest is
left.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from decoders.named_tuple import NamedTuple
from kwcli.net.config.client_properties import Pair

# Where each tool keeps its file, from the user's home, the usual place first.
PLACES: Final[dict[str, tuple[str, ...]]] = {
    "kafkactl": (".config/kafkactl/config.yml", ".kafkactl/config.yml", "kafkactl.yml"),
    "kaf": (".kaf/config",),
    "rpk": (".config/rpk/rpk.yaml", "Library/Application Support/rpk/rpk.yaml"),
    "kcl": (".config/kcl/config.toml", "Library/Application Support/kcl/config.toml"),
    "kcat": (".config/kcat.conf", ".config/kafkacat.conf"),
}
_MECHANISMS: Final = {
    "plain": "PLAIN",
    "plaintext": "PLAIN",
    "scramsha256": "SCRAM-SHA-256",
    "scramsha512": "SCRAM-SHA-512",
    "oauth": "OAUTHBEARER",
    "oauthbearer": "OAUTHBEARER",
    "awsmskiam": "AWS_MSK_IAM",
    "gssapi": "GSSAPI",
}
_UNITS_MS: Final = {"ms": 1, "s": 1000, "m": 60_000, "h": 3_600_000}
_NUMBER: Final = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h)")
Tree = Mapping[str, Any]


class ForeignCluster(NamedTuple):
    """One cluster of a tool's file: what the tool calls it, whether it is the one in use, and how to reach it.

    `unfollowed` are the keys that would change a connection and that kw cannot follow, with the reason.
    """

    tool: str
    kind: str  # what the tool calls a cluster: a context, a profile
    name: str
    current: bool
    pairs: list[Pair]
    unfollowed: list[str]


def parse_clusters_of_other_cli(text: str) -> list[ForeignCluster]:
    """The clusters of a file of one of these tools; empty where it is none. ValueError where the file is broken."""
    tree = _parse_toml(text) or _parse_yaml(text)
    for tool in _READERS:
        if tree and (found := [*tool(tree)]):
            return found
    return []


def _parse_toml(text: str) -> Tree:
    import tomllib

    try:
        tree = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError):
        return {}
    return tree if tree.keys() & {"seed_brokers", "tls", "sasl", "profiles", "current_profile"} else {}


_YAML: Final = re.compile(r"^(contexts|clusters|profiles|kafka_api|rpk|current-context|current-cluster)[ \t]*:", re.M)


def _parse_yaml(text: str) -> Tree:
    """The tree of a YAML file, in which every scalar is a string: a password of digits stays as it is."""
    if not _YAML.search(text):
        return {}
    import yaml

    try:
        tree = yaml.load(text, yaml.BaseLoader)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        raise ValueError(f"no YAML{f' at line {mark.line + 1}' if mark else ''}") from None
    except RecursionError:
        raise ValueError("too deeply nested") from None
    return tree if isinstance(tree, dict) else {}


class _PropertyCollector:
    """The properties of one cluster, while they are gathered."""

    def __init__(self) -> None:
        self.pairs: list[Pair] = []
        self.unfollowed: list[str] = []

    def add_property(self, name: str, value: object) -> None:
        """Add a property, unless its value is empty."""
        text = _format_text_or_empty(value)
        if text:
            self.pairs.append((name, os.path.expanduser(text) if name.endswith(".location") else text))

    def add_servers(self, value: object) -> None:
        """Add the brokers: a list, or words with blanks or commas between them."""
        words = value if isinstance(value, list) else re.split(r"[\s,]+", _format_text_or_empty(value))
        self.add_property(
            "bootstrap.servers", ",".join(_format_text_or_empty(word) for word in words if _format_text_or_empty(word))
        )

    def add_protocol(self, *, tls: bool, sasl: bool) -> None:
        """Add the security protocol, by whether there are settings of TLS and of SASL."""
        self.add_property("security.protocol", ("SASL_" * sasl + ("SSL" if tls else "PLAINTEXT")))

    def add_mechanism(self, value: object, default: str) -> str:
        """Add the mechanism by the broker's name for it, and give that name."""
        word = _format_text_or_empty(value)
        name = _MECHANISMS.get(re.sub(r"[-_ ]", "", word.lower()), word.upper()) if word else default
        self.add_property("sasl.mechanism", name)
        return name

    def add_skipped_verification(self, value: object) -> None:
        """Add the property that turns the check of certificates off, where this switch is on."""
        if _is_true_word(value):
            self.add_property("enable.ssl.certificate.verification", "false")

    def report_unused_key(self, key: str, reason: str) -> None:
        """Note a key that is not followed, and why."""
        self.unfollowed.append(f"{key} is not followed: {reason}")


def _read_kafkactl_clusters(tree: Tree) -> Iterator[ForeignCluster]:
    contexts = tree.get("contexts")
    if not isinstance(contexts, dict):
        return
    current = _format_text_or_empty(tree.get("current-context")) or "default"
    for name, context in contexts.items():
        if not isinstance(context, dict):
            continue
        made, tls, sasl = _PropertyCollector(), _get_subtree(context, "tls"), _get_subtree(context, "sasl")
        login = _is_true_word(sasl.get("enabled"))
        made.add_servers(context.get("brokers"))
        made.add_protocol(tls=_is_true_word(tls.get("enabled")), sasl=login)
        if _is_true_word(tls.get("enabled")):
            made.add_property("ssl.ca.location", tls.get("ca"))
            made.add_property("ssl.certificate.location", tls.get("cert"))
            made.add_property("ssl.key.location", tls.get("certKey"))
            made.add_skipped_verification(tls.get("insecure"))
        if login:
            provider = _get_subtree(sasl, "tokenprovider") or _get_subtree(sasl, "tokenProvider")
            plugin = _format_text_or_empty(provider.get("plugin"))
            mechanism = made.add_mechanism("AWS_MSK_IAM" if plugin == "aws" else sasl.get("mechanism"), "PLAIN")
            made.add_property("sasl.username", sasl.get("username"))
            made.add_property("sasl.password", sasl.get("password"))
            if mechanism == "OAUTHBEARER":
                made.report_unused_key("sasl.tokenprovider", "give a token, or sasl.oauthbearer.token.endpoint.url")
        made.add_property("client.id", context.get("clientID"))
        made.add_property("default.api.timeout.ms", _parse_milliseconds(context.get("requestTimeout")))
        if _is_true_word(_get_subtree(context, "kubernetes").get("enabled")):
            made.report_unused_key(
                "kubernetes", "kw does not run in the cluster; kubectl port-forward, then --dial-map"
            )
        yield ForeignCluster("kafkactl", "context", str(name), str(name) == current, made.pairs, made.unfollowed)


def _read_kaf_clusters(tree: Tree) -> Iterator[ForeignCluster]:
    clusters = tree.get("clusters")
    if not isinstance(clusters, list):
        return
    current = _format_text_or_empty(tree.get("current-cluster"))
    for cluster in clusters:
        if not isinstance(cluster, dict) or not _format_text_or_empty(cluster.get("name")):
            continue
        made, tls, sasl = _PropertyCollector(), cluster.get("TLS"), _get_subtree(cluster, "SASL")
        made.add_servers(cluster.get("brokers"))
        stated = _format_text_or_empty(cluster.get("security-protocol")).upper()
        login = bool(sasl.get("mechanism") or sasl.get("username") or sasl.get("tokenURL")) or stated.startswith("SASL")
        if stated:
            made.add_property("security.protocol", stated)
        else:
            made.add_protocol(tls=isinstance(tls, dict), sasl=login)
        if isinstance(tls, dict):
            made.add_property("ssl.ca.location", tls.get("cafile"))
            made.add_property("ssl.certificate.location", tls.get("clientfile"))
            made.add_property("ssl.key.location", tls.get("clientkeyfile"))
            made.add_skipped_verification(tls.get("insecure"))
        if login:
            made.add_mechanism(sasl.get("mechanism"), "OAUTHBEARER" if sasl.get("tokenURL") else "PLAIN")
            made.add_property("sasl.username", sasl.get("username"))
            made.add_property("sasl.password", sasl.get("password"))
            made.add_property("sasl.oauthbearer.token", sasl.get("token"))
            made.add_property("sasl.oauthbearer.token.endpoint.url", sasl.get("tokenURL"))
            made.add_property("sasl.oauthbearer.client.id", sasl.get("clientID"))
            made.add_property("sasl.oauthbearer.client.secret", sasl.get("clientSecret"))
            scopes = sasl.get("scopes")
            made.add_property(
                "sasl.oauthbearer.scope",
                " ".join(map(_format_text_or_empty, scopes)) if isinstance(scopes, list) else scopes,
            )
        name = _format_text_or_empty(cluster["name"])
        yield ForeignCluster("kaf", "cluster", name, name == current, made.pairs, made.unfollowed)


def _read_rpk_clusters(tree: Tree) -> Iterator[ForeignCluster]:
    profiles = tree.get("profiles")
    if not isinstance(profiles, list):
        own = _get_subtree(tree, "rpk") or tree  # rpk.yaml before there were profiles, redpanda.yaml, or one profile
        profiles = [{"name": "default", **own}] if _get_subtree(own, "kafka_api") else []
    current = _format_text_or_empty(tree.get("current_profile")) or ("default" if len(profiles) == 1 else "")
    for profile in profiles:
        if not isinstance(profile, dict) or not _format_text_or_empty(profile.get("name")):
            continue
        made, api = _PropertyCollector(), _get_subtree(profile, "kafka_api")
        tls, sasl = api.get("tls"), _get_subtree(api, "sasl")
        made.add_servers(api.get("brokers"))
        login = any(_format_text_or_empty(sasl.get(key)) for key in ("user", "mechanism", "type"))
        made.add_protocol(tls=isinstance(tls, dict), sasl=login)
        if isinstance(tls, dict):
            made.add_property("ssl.ca.location", tls.get("ca_file") or tls.get("truststore_file"))
            made.add_property("ssl.certificate.location", tls.get("cert_file"))
            made.add_property("ssl.key.location", tls.get("key_file"))
            made.add_skipped_verification(tls.get("insecure_skip_verify"))
        if login:
            made.add_mechanism(sasl.get("mechanism") or sasl.get("type"), "SCRAM-SHA-256")
            made.add_property("sasl.username", sasl.get("user"))
            made.add_property("sasl.password", sasl.get("password"))
        name = _format_text_or_empty(profile["name"])
        yield ForeignCluster("rpk", "profile", name, name == current, made.pairs, made.unfollowed)


def _read_kcl_clusters(tree: Tree) -> Iterator[ForeignCluster]:
    profiles = tree.get("profiles")
    named = profiles if isinstance(profiles, dict) else {"default": tree}
    current = _format_text_or_empty(tree.get("current_profile")) or ("default" if len(named) == 1 else "")
    for name, profile in named.items():
        if not isinstance(profile, dict) or not profile.keys() & {"seed_brokers", "tls", "sasl"}:
            continue
        made, tls, sasl = _PropertyCollector(), profile.get("tls"), _get_subtree(profile, "sasl")
        made.add_servers(profile.get("seed_brokers"))
        method = _format_text_or_empty(sasl.get("method"))
        made.add_protocol(tls=isinstance(tls, dict), sasl=bool(method))
        if isinstance(tls, dict):
            made.add_property("ssl.ca.location", tls.get("ca_cert_path"))
            made.add_property("ssl.certificate.location", tls.get("client_cert_path"))
            made.add_property("ssl.key.location", tls.get("client_key_path"))
            made.add_skipped_verification(tls.get("insecure") or tls.get("insecure_skip_verify"))
            if _format_text_or_empty(tls.get("min_version")).removeprefix("v") == "1.3":
                made.add_property("ssl.enabled.protocols", "TLSv1.3")
            if _format_text_or_empty(tls.get("server_name")):
                made.report_unused_key("tls.server_name", "kw always sends the host that it dials; see --dial-map")
            if tls.get("cipher_suites"):
                made.report_unused_key("tls.cipher_suites", "these are Go's names; OpenSSL's go into ssl.cipher.suites")
        if method:
            made.add_mechanism(method, "PLAIN")
            made.add_property("sasl.username", sasl.get("user"))
            made.add_property("sasl.password", sasl.get("pass"))
            if _is_true_word(sasl.get("is_token")):
                made.report_unused_key("sasl.is_token", "a delegation token takes sasl.jaas.config with tokenauth=true")
            if _format_text_or_empty(sasl.get("zid")):
                made.report_unused_key("sasl.zid", "kw cannot log in as another user")
        made.add_property("default.api.timeout.ms", profile.get("timeout_ms"))
        yield ForeignCluster("kcl", "profile", str(name), str(name) == current, made.pairs, made.unfollowed)


_READERS: Final[tuple[Callable[[Tree], Iterator[ForeignCluster]], ...]] = (
    _read_kafkactl_clusters,
    _read_kaf_clusters,
    _read_rpk_clusters,
    _read_kcl_clusters,
)


def _get_subtree(tree: Tree, key: str) -> Tree:
    inner = tree.get(key)
    return inner if isinstance(inner, dict) else {}


def _format_text_or_empty(value: object) -> str:
    """A scalar as text; nothing for null, lists and mappings."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if not isinstance(value, str | int | float):
        return ""
    text = str(value).strip()
    return "" if text in ("null", "~") else text


def _is_true_word(value: object) -> bool:
    return _format_text_or_empty(value).lower() in ("true", "yes", "on", "1")


def _parse_milliseconds(value: object) -> str:
    """A duration in Go's notation, `1m30s`, in ms; empty where it is none."""
    text = _format_text_or_empty(value)
    parts = _NUMBER.findall(text)
    if not parts or "".join(number + unit for number, unit in parts) != text:
        return ""
    return str(round(sum(float(number) * _UNITS_MS[unit] for number, unit in parts)))
