"""Texts of known kinds in, their pseudonyms out; keeps what was replaced, for the table of names and the search."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from decoders.embedded import TOPICS
from decoders.protocol_facts.public_configs import PUBLIC_CONFIGS
from decoders.scrubbing.field_kinds import Kind
from decoders.scrubbing.pseudonyms import Pseudonyms

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["FILLER", "KEPT", "NameReplacer"]

# The byte that overwritten texts and bytes consist of.
FILLER: Final = b"x"
# The kinds of names that may be kept.
KEPT: Final = ("topics", "groups", "clients", "users", "transactions", "hosts", "members")
# Names that mean the same in every cluster.
_SPECIAL: Final = frozenset(
    {*TOPICS, "kafka-cluster", "*", "ANONYMOUS", "User:ANONYMOUS", "User:*", "User:", "<default>"}
)
# Words of Kafka and of its best known clients, in fields that may also hold words of users.
_WORDS: Final = frozenset(
    [
        "consumer",
        "connect",
        "share",
        "streams",
        "classic",
        "Classic",
        "Consumer",
        "Share",
        "Streams",
        "range",
        "roundrobin",
        "sticky",
        "cooperative-sticky",
        "uniform",
        "simple",
        "compatible",
        "sessioned",
        "eager",
        "stream",
        "homogeneous",
        "Preparing",
        "Rebalance",
        "PreparingRebalance",
        "CompletingRebalance",
        "AwaitingSync",
        "Stable",
        "Dead",
        "Empty",
        "Assigning",
        "Reconciling",
        "NotReady",
        "Unknown",
        "Ongoing",
        "PrepareCommit",
        "PrepareAbort",
        "CompleteCommit",
        "CompleteAbort",
        "PrepareEpochFence",
        "Initializing",
        "stable",
        "dead",
        "empty",
        "assigning",
        "reconciling",
        "preparing_rebalance",
        "completing_rebalance",
        "not_ready",
        "PLAIN",
        "SCRAM-SHA-256",
        "SCRAM-SHA-512",
        "GSSAPI",
        "OAUTHBEARER",
        "AWS_MSK_IAM",
        "ANONYMOUS",
        "EXTERNAL",
        "User",
        "Group",
        "RegexUser",
        "user",
        "client-id",
        "ip",
        "PLAINTEXT",
        "SSL",
        "SASL_PLAINTEXT",
        "SASL_SSL",
        "CONTROLLER",
        "BROKER",
        "INTERNAL",
        "CLIENT",
        "REPLICATION",
        "INTER_BROKER",
        "metadata.version",
        "kraft.version",
        "group.version",
        "transaction.version",
        "share.version",
        "streams.version",
        "eligible.leader.replicas.version",
        "producer_byte_rate",
        "consumer_byte_rate",
        "request_percentage",
        "controller_mutation_rate",
        "connection_creation_rate",
        "apache-kafka-java",
        "librdkafka",
        "confluent-kafka-python",
        "confluent-kafka-go",
        "confluent-kafka-dotnet",
        "confluent-kafka-javascript",
        "kafka-python",
        "kgo",
        "franz-go",
        "sarama",
        "kafkajs",
        "node-rdkafka",
        "aiokafka",
        "kafka-go",
        "rust-rdkafka",
        "rdkafka-ruby",
        "apache-kafka-clients",
        "@platformatic/kafka",
        "php-rdkafka",
        "segmentio/kafka-go",
        "org.apache.kafka",
        "org.apache.kafka.",
        "org.apache.kafka.producer.",
        "org.apache.kafka.consumer.",
        "ssl.keystore.password",
        "ssl.key.password",
        "ssl.truststore.password",
        "ssl.keystore.key",
        "ssl.keystore.certificate.chain",
        "ssl.truststore.certificates",
        "ssl.keystore.location",
        "ssl.keystore.type",
        "ssl.keymanager.algorithm",
        "sasl.jaas.config",
        "password.encoder.secret",
        "password.encoder.old.secret",
        "delegation.token.secret.key",
        "delegation.token.master.key",
        "delegation.token.max.lifetime.ms",
        "delegation.token.expiry.time.ms",
        "delegation.token.expiry.check.interval.ms",
        "sasl.oauthbearer.token.endpoint.url",
        "sasl.oauthbearer.jwks.endpoint.url",
        "max.connections.per.ip.overrides",
    ]
)
# Words that versions contain beside numbers. Other words, and the hashes of commits, are replaced.
_VERSION_WORDS: Final = frozenset(
    ["alpha", "beta", "rc", "pre", "dev", "final", "snapshot", "release", "rdkafka", "kafka", "ccs", "ce", "redhat"]
)
_VERSION_PARTS: Final = re.compile(r"(?=[0-9]*[a-f])[0-9a-f]{7,40}(?![0-9A-Za-z])|[^\W\d_]{2,}")
_PRINCIPAL: Final = re.compile(r"(User:|Group:)")
# Parts of a certificate's subject (RFC 4514).
_SUBJECT: Final = re.compile(r"(?:^|(?<=,))\s*(?:CN|OU|O|L|ST|C|DC|UID|EMAILADDRESS|SERIALNUMBER)=")
_MEMBER: Final = re.compile(r"(.+)(-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})", re.DOTALL)
_URL: Final = re.compile(r"(?P<scheme>[a-z]{2,8}://)?(?P<host>.*?)(?P<port>:\d{1,5}/?)?", re.DOTALL)
# The names that every host has for itself (RFC 6761 has the one with names above it).
_OWN_HOST: Final = re.compile(
    r"(?P<above>(?:.*\.)?)(?P<name>(?:localhost(?:[46]?|\.localdomain|4\.localdomain4|6\.localdomain6)"
    r"|ip6-localhost|ip6-loopback)\.?)",
    re.DOTALL | re.IGNORECASE,
)
# The bytes of an overwritten secret: data of these bytes alone is no secret.
_OVERWRITTEN: Final = FILLER + b"=.,\1"
# Secrets remembered for the search: how many, how long at least (shorter ones occur by chance), how much of each.
_SECRETS_MAX: Final = 10**5
_SECRET_MIN: Final = 8
_SECRET_PART: Final = 64
# Values of records remembered for the search: how many, and how long at least.
_SAMPLES_MAX: Final = 2000
_SAMPLE_MIN: Final = 16


class NameReplacer:
    """Replaces names. `keep`: kinds of names that stay. `replaced`: {(kind, name): pseudonym}; `kept`: texts that stay.

    `uuids`: {uuid: pseudonym}. `secrets` are values that were overwritten, cut to the part that is searched for.
    """

    def __init__(self, pseudonyms: Pseudonyms, keep: Iterable[str] = ()) -> None:
        self.pseudonyms = pseudonyms
        self.keep = frozenset(keep)
        self.replaced: dict[tuple[Kind, str], str] = {}
        self.kept: set[str] = set()
        self.uuids: dict[bytes, bytes] = {}
        self.secrets: set[bytes] = set()
        self._samples: set[bytes] = set()

    def replace_bytes(self, kind: Kind, data: bytes) -> bytes:
        """The replacement for the bytes of a text of this kind, with the same length."""
        text = data.decode("utf-8", "surrogateescape")
        return self.replace_text(kind, text).encode("utf-8", "surrogateescape")

    def replace_text(self, kind: Kind, text: str) -> str:
        """The replacement for a text of this kind: its pseudonym, or the text itself if it stays."""
        if not text:
            return text
        known = self.replaced.get((kind, text))
        if known is not None:
            return known
        if self._text_stays(kind, text):
            self.kept.add(text)
            return text
        made = _MAKERS.get(kind, NameReplacer._replace_name)(self, text)
        if made == text and kind == "hosts":  # localhost
            self.kept.add(text)
            return text
        self.replaced[kind, text] = made
        return made

    def replace_uuid(self, packed: bytes) -> bytes:
        """The replacement for a uuid, 16 bytes: in a message of the wrong layout it may be a part of a text."""
        made = self.uuids.get(packed)
        if made is None:
            made = self.uuids[packed] = self.pseudonyms.uuid_pseudonym(packed)
        return made

    def overwrite_secret(self, data: bytes) -> bytes:
        """Filler for a secret, with the same length; the secret is remembered for the search."""
        if len(data) >= _SECRET_MIN and len(self.secrets) < _SECRETS_MAX and data.translate(None, _OVERWRITTEN):
            self.secrets.add(data[:_SECRET_PART])
        return FILLER * len(data)

    def remember_record_value(self, data: bytes) -> None:
        """Remember the value of a record for the search; only some values are kept."""
        if len(self._samples) < _SAMPLES_MAX and len(data) >= _SAMPLE_MIN:
            self._samples.add(data[:_SECRET_PART])

    @property
    def overwritten_values(self) -> set[bytes]:
        """The overwritten secrets and record values to search for."""
        return self.secrets | self._samples

    def is_kept_text(self, kinds: Iterable[Kind], text: str) -> bool:
        """Whether one of these kinds stays, and a text that may be of several kinds was kept before."""
        return text in self.kept and any(kind in self.keep for kind in kinds)

    def _text_stays(self, kind: Kind, text: str) -> bool:
        if kind in self.keep or text in _SPECIAL:
            return True
        if kind == "word":
            return text in _WORDS
        if kind == "config":
            return text in _WORDS or text in PUBLIC_CONFIGS
        return kind == "number" and text.isascii() and text.isdecimal()

    def _replace_name(self, text: str) -> str:
        return self.pseudonyms.text(text)

    def _replace_user(self, text: str) -> str:
        """The pseudonym of a principal, which may contain the subject of a certificate."""
        found = _PRINCIPAL.match(text)
        at = found.end() if found is not None else 0
        made = text[:at]
        for word in _SUBJECT.finditer(text, at):
            made += self._replace_name(text[at : word.start()]) + word[0]
            at = word.end()
        return made + self._replace_name(text[at:])

    def _replace_member_id(self, text: str) -> str:
        """The pseudonym of a member id: mostly the client id or the group instance id, and a random part."""
        found = _MEMBER.fullmatch(text)
        if found is None or "clients" not in self.keep:
            return self._replace_name(text)
        return found[1] + self._replace_name(found[2])

    def _replace_software_version(self, text: str) -> str:
        """The replacement for the version of a program: numbers and known words stay."""

        def replace_word(found: re.Match[str]) -> str:
            return found[0] if found[0].lower() in _VERSION_WORDS else self._replace_name(found[0])

        made = _VERSION_PARTS.sub(replace_word, text)
        self.kept.add(made)
        return made

    def _replace_host(self, text: str) -> str:
        """The pseudonym of a host, an address or a URL: scheme and port stay, and the names of the own host."""
        found = _URL.fullmatch(text)
        assert found is not None  # any text is a host
        if found["port"] and ":" in found["host"] and not found["host"].endswith("]"):
            return self._replace_name(text)  # the port is the last group of an IPv6 address
        own = _OWN_HOST.fullmatch(found["host"])
        made = self._replace_name(found["host"]) if own is None else self._replace_name(own["above"]) + own["name"]
        return (found["scheme"] or "") + made + (found["port"] or "")


_MAKERS: Final[dict[Kind, Callable[[NameReplacer, str], str]]] = {
    "users": NameReplacer._replace_user,
    "members": NameReplacer._replace_member_id,
    "hosts": NameReplacer._replace_host,
    "version": NameReplacer._replace_software_version,
}
