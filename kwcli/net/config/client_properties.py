"""Files of client properties (Java's or librdkafka's) in, names and values out, and which values are secret."""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Iterable, Iterator
from typing import Final, Literal

from decoders.named_tuple import NamedTuple
from decoders.wire.redact_text import list_secret_and_its_parts, redact_whole_text

Form = Literal["text", "path", "pem", "milliseconds", "flag"]


class Property(NamedTuple):
    """One setting: its names (some programs know several), the form of its value, whether it is secret, what it does.

    `values` are the allowed values, where that is a closed set; `default` holds where none is given.
    """

    meaning: str
    librdkafka: tuple[str, ...]
    java: tuple[str, ...]
    form: Form
    secret: bool
    text: str
    values: tuple[str, ...]
    default: str

    @property
    def name(self) -> str:
        """The spelling that kw itself proposes."""
        return (self.librdkafka or self.java)[0]

    @property
    def names(self) -> tuple[str, ...]:
        """All spellings, the proposed one first."""
        return tuple(dict.fromkeys((*self.librdkafka, *self.java)))


def _make_property(
    meaning: str,
    librdkafka: str,
    java: str,
    text: str,
    form: Form = "text",
    *,
    secret: bool = False,
    values: str = "",
    default: str = "",
) -> Property:
    known = "true false" if form == "flag" else values
    return Property(
        meaning,
        tuple(librdkafka.split()),
        tuple(java.split()),
        form,
        secret,
        text,
        tuple(known.split()),
        default,
    )


# meaning, librdkafka spelling, Java spelling, what it does, form of the value
PROPERTIES: Final[tuple[Property, ...]] = (
    _make_property(
        "servers",
        "bootstrap.servers metadata.broker.list",
        "bootstrap.servers",
        "brokers to ask first: host:port,…",
        default="localhost:9092",
    ),
    _make_property(
        "controllers", "", "bootstrap.controllers", "controllers to ask first, instead of brokers: host:port,…"
    ),
    _make_property("client id", "client.id", "client.id", "the client id that requests carry", default="kw"),
    _make_property(
        "protocol",
        "security.protocol",
        "security.protocol",
        "whether to speak TLS (SSL), to log in (SASL), or both",
        values="PLAINTEXT SSL SASL_PLAINTEXT SASL_SSL",
        default="PLAINTEXT",
    ),
    _make_property(
        "connect timeout",
        "socket.connection.setup.timeout.ms",
        "socket.connection.setup.timeout.ms",
        "time for one connection, in ms",
        "milliseconds",
        default="5000",
    ),
    _make_property(
        "timeout", "", "default.api.timeout.ms", "time for the whole command, in ms", "milliseconds", default="10000"
    ),
    _make_property(
        "output",
        "kw.output",
        "kw.output",
        "in a profile: the format that holds without -o and $KW_OUTPUT",
        values="text table ndjson json csv yaml fields",
        default="text",
    ),
    _make_property(
        "version request",
        "api.version.request",
        "",
        "whether brokers are asked for their versions; without it they have those of broker.version.fallback",
        "flag",
        default="true",
    ),
    _make_property(
        "version fallback",
        "broker.version.fallback",
        "",
        "release of brokers that do not know ApiVersions, or are not asked",
        default="0.9.0",
    ),
    # TLS
    _make_property(
        "authorities",
        "ssl.ca.location",
        "ssl.truststore.location",
        "file of the authorities that sign brokers' certificates (PEM, PKCS12, JKS)",
        "path",
        default="the system's",
    ),
    _make_property(
        "authorities", "ssl.ca.pem", "ssl.truststore.certificates", "the authorities themselves, as PEM", "pem"
    ),
    _make_property(
        "authorities password", "", "ssl.truststore.password", "password of ssl.truststore.location", secret=True
    ),
    _make_property(
        "certificate",
        "ssl.certificate.location ssl.keystore.location",
        "ssl.keystore.location",
        "file of the client's certificate (PEM, PKCS12, JKS), which may hold its key",
        "path",
    ),
    _make_property(
        "certificate",
        "ssl.certificate.pem",
        "ssl.keystore.certificate.chain",
        "the client's certificate itself, as PEM",
        "pem",
    ),
    _make_property(
        "certificate password",
        "ssl.keystore.password",
        "ssl.keystore.password",
        "password of ssl.keystore.location",
        secret=True,
    ),
    _make_property("key", "ssl.key.location", "", "file of the client's private key (PEM)", "path"),
    _make_property(
        "key", "ssl.key.pem", "ssl.keystore.key", "the client's private key itself, as PEM", "pem", secret=True
    ),
    _make_property(
        "key password", "ssl.key.password", "ssl.key.password", "password of the client's private key", secret=True
    ),
    _make_property(
        "verify",
        "enable.ssl.certificate.verification",
        "",
        "whether to check brokers' certificates at all",
        "flag",
        default="true",
    ),
    _make_property(
        "host name check",
        "ssl.endpoint.identification.algorithm",
        "ssl.endpoint.identification.algorithm",
        "whether the certificate must name the broker's host; empty means none",
        values="https none",
        default="https",
    ),
    _make_property("ciphers", "ssl.cipher.suites", "ssl.cipher.suites", "cipher suites of TLS 1.2, by OpenSSL's names"),
    _make_property(
        "tls versions", "", "ssl.enabled.protocols", "versions of TLS, with commas between", values="TLSv1.2 TLSv1.3"
    ),
    # SASL
    _make_property(
        "mechanism",
        "sasl.mechanism sasl.mechanisms",
        "sasl.mechanism",
        "how to log in",
        values="PLAIN SCRAM-SHA-256 SCRAM-SHA-512 OAUTHBEARER GSSAPI AWS_MSK_IAM",
    ),
    _make_property("username", "sasl.username", "", "user of PLAIN and SCRAM"),
    _make_property("password", "sasl.password", "", "password of PLAIN and SCRAM", secret=True),
    _make_property(
        "login", "", "sasl.jaas.config", "Java's login module with its options, which say all of this", secret=True
    ),
    _make_property(
        "service",
        "sasl.kerberos.service.name",
        "sasl.kerberos.service.name",
        "GSSAPI: first part of the broker's principal",
        default="kafka",
    ),
    _make_property("principal", "sasl.kerberos.principal", "", "GSSAPI: the client's principal"),
    _make_property("keytab", "sasl.kerberos.keytab", "", "GSSAPI: file of keys; else the ticket cache is used", "path"),
    _make_property(
        "oauth method",
        "sasl.oauthbearer.method",
        "",
        "OAUTHBEARER: where tokens come from",
        values="default oidc",
    ),
    _make_property(
        "oauth grant",
        "sasl.oauthbearer.grant.type",
        "",
        "OAUTHBEARER: the grant that the endpoint is asked for",
        values="client_credentials",
    ),
    # kw's own: nobody else takes a token as it is
    _make_property("oauth token", "sasl.oauthbearer.token", "", "OAUTHBEARER: the token itself", secret=True),
    _make_property(
        "oauth endpoint",
        "sasl.oauthbearer.token.endpoint.url",
        "sasl.oauthbearer.token.endpoint.url",
        "OAUTHBEARER: where tokens are asked for, https://… or file:///…",
    ),
    _make_property(
        "oauth client",
        "sasl.oauthbearer.client.id sasl.oauthbearer.client.credentials.client.id",
        "sasl.oauthbearer.client.credentials.client.id",
        "OAUTHBEARER: who asks the endpoint",
    ),
    _make_property(
        "oauth secret",
        "sasl.oauthbearer.client.secret sasl.oauthbearer.client.credentials.client.secret",
        "sasl.oauthbearer.client.credentials.client.secret",
        "OAUTHBEARER: the secret of who asks",
        secret=True,
    ),
    _make_property(
        "oauth scope", "sasl.oauthbearer.scope", "sasl.oauthbearer.scope", "OAUTHBEARER: the scope to ask for"
    ),
    _make_property(
        "oauth extensions", "sasl.oauthbearer.extensions", "", "OAUTHBEARER: what goes with the token: name=text,…"
    ),
    _make_property(
        "oauth claims", "sasl.oauthbearer.config", "", "OAUTHBEARER: claims of an unsigned token: principal=… scope=…"
    ),
    _make_property(
        "oauth unsecured",
        "enable.sasl.oauthbearer.unsecure.jwt",
        "",
        "OAUTHBEARER: librdkafka's switch for unsigned tokens; kw needs none",
        "flag",
    ),
    _make_property(
        "oauth encoding",
        "",
        "sasl.oauthbearer.header.urlencode",
        "OAUTHBEARER: whether id and secret are URL-encoded for the endpoint",
        "flag",
        default="false",
    ),
    _make_property(
        "oauth authorities", "https.ca.location", "", "file of the authorities of the token endpoint (PEM)", "path"
    ),
    _make_property(
        "oauth authorities", "https.ca.pem", "", "the authorities of the token endpoint themselves, as PEM", "pem"
    ),
    # kw's own: the words of the login module and of AWS' tools, as properties
    _make_property(
        "aws region", "sasl.aws.region", "", "AWS_MSK_IAM: the cluster's region; else its host names and AWS_REGION"
    ),
    _make_property(
        "aws profile", "sasl.aws.profile", "", "AWS_MSK_IAM: a profile of AWS' own files; else the usual credentials"
    ),
    _make_property(
        "login handler",
        "",
        "sasl.login.callback.handler.class",
        "Java's class that gets tokens; kw does the work of AWS' own",
    ),
    # The schema registry, by the names of Confluent's serializers
    _make_property(
        "registry",
        "schema.registry.url",
        "schema.registry.url",
        "the schema registry that is asked where keys and values are decoded: http://HOST:PORT,…",
    ),
    _make_property(
        "registry user",
        "basic.auth.user.info schema.registry.basic.auth.user.info",
        "basic.auth.user.info schema.registry.basic.auth.user.info",
        "user and password for the schema registry: user:password",
        secret=True,
    ),
    _make_property(
        "registry credentials",
        "basic.auth.credentials.source schema.registry.basic.auth.credentials.source",
        "basic.auth.credentials.source schema.registry.basic.auth.credentials.source",
        "where user and password for the schema registry are; SASL_INHERIT: those of brokers",
        values="USER_INFO URL SASL_INHERIT",
    ),
    _make_property(
        "registry token",
        "bearer.auth.token schema.registry.bearer.auth.token",
        "bearer.auth.token schema.registry.bearer.auth.token",
        "token for the schema registry",
        secret=True,
    ),
    _make_property("aws role", "sasl.aws.role.arn", "", "AWS_MSK_IAM: the role to assume"),
    _make_property("aws session", "sasl.aws.role.session.name", "", "AWS_MSK_IAM: the name of that role's session"),
)

# Properties that would change a connection and that kw cannot follow → the reason, given as a warning.
UNSUPPORTED: Final[dict[str, str]] = {
    "ssl.crl.location": "kw does not read revocation lists",
    "ssl.engine.id": "kw does not load OpenSSL engines",
    "ssl.engine.location": "kw does not load OpenSSL engines",
    "ssl.engine.factory.class": "kw runs no Java classes",
    "ssl.providers": "kw uses OpenSSL's default provider",
    "ssl.ca.certificate.stores": "kw uses the system's default authorities; name others by ssl.ca.location",
    "sasl.client.callback.handler.class": "kw runs no Java classes",
    "sasl.login.class": "kw runs no Java classes",
    "sasl.oauthbearer.jwt.retriever.class": "kw asks the token endpoint for client credentials, or takes a token",
    "sasl.oauthbearer.metadata.authentication.type": "kw does not ask a cloud's metadata service for tokens",
    "sasl.oauthbearer.assertion.algorithm": "kw makes no JWT assertions",
    "sasl.oauthbearer.assertion.file": "kw makes no JWT assertions",
    "sasl.oauthbearer.assertion.jwt.template.file": "kw makes no JWT assertions",
    "sasl.oauthbearer.assertion.private.key.file": "kw makes no JWT assertions",
    "sasl.oauthbearer.assertion.private.key.passphrase": "kw makes no JWT assertions",
    "sasl.oauthbearer.assertion.private.key.pem": "kw makes no JWT assertions",
    "sasl.oauthbearer.assertion.template.file": "kw makes no JWT assertions",
    "config.providers": "kw does not look up ${…} in values",
}
# Java's classes whose work kw does itself.
_OWN_CLASSES: Final = ("software.amazon.msk.auth.iam.",)

# Known, and of no meaning to a connection made by kw.
_IRRELEVANT: Final = """
acks allow.auto.create.topics api.version.fallback.ms api.version.request.timeout.ms
auto.commit.enable auto.commit.interval.ms auto.include.jmx.reporter auto.offset.reset background_event_cb
batch.num.messages batch.size block.on.buffer.full bootstrap.resolve.timeout.ms broker.address.family
broker.address.ttl buffer.memory buffer.memory.allocation.strategy builtin.features check.crcs
client.dns.lookup client.rack closesocket_cb compression.codec compression.gzip.level compression.level
compression.lz4.level compression.type compression.zstd.level connect_cb connections.max.idle.ms
consume.callback.max.messages consume_cb coordinator.query.interval.ms debug default_topic_conf
delivery.report.only.error delivery.timeout.ms dr_cb dr_msg_cb enable.auto.commit enable.auto.offset.store
enable.gapless.guarantee enable.idempotence enable.metrics.push enable.partition.eof enable.random.seed enabled_events
error_cb exclude.internal.topics fetch.error.backoff.ms fetch.max.bytes fetch.max.wait.ms fetch.message.max.bytes
fetch.min.bytes fetch.queue.backoff.ms fetch.wait.max.ms group.id group.instance.id group.protocol group.protocol.type
group.remote.assignor heartbeat.interval.ms interceptor.classes interceptors internal.auto.downgrade.txn.commit
internal.leave.group.on.close internal.termination.signal internal.throw.on.fetch.stable.offset.unsupported
isolation.level key.deserializer key.serializer linger.ms log.connection.close log.queue log.thread.name log_cb
log_level max.block.ms max.in.flight max.in.flight.requests.per.connection max.partition.fetch.bytes
max.poll.interval.ms max.poll.records max.request.size message.copy.max.bytes message.max.bytes
message.send.max.retries message.timeout.ms metadata.cluster.check.enable metadata.fetch.timeout.ms
metadata.max.age.ms metadata.max.idle.ms metadata.recovery.rebootstrap.trigger.ms metadata.recovery.strategy
metric.reporters metrics.num.samples metrics.recording.level metrics.sample.window.ms msg_order_cmp
oauthbearer_token_refresh_cb offset.store.method offset.store.path offset.store.sync.interval.ms offset_commit_cb
opaque open_cb partition.assignment.strategy partitioner partitioner.adaptive.partitioning.enable
partitioner.availability.timeout.ms partitioner.class partitioner.ignore.keys partitioner.rack.aware partitioner_cb
plugin.library.paths produce.offset.report queue.buffering.backpressure.threshold queue.buffering.max.kbytes
queue.buffering.max.messages queue.buffering.max.ms queued.max.messages.kbytes queued.min.messages queuing.strategy
rebalance_cb receive.buffer.bytes receive.message.max.bytes reconnect.backoff.jitter.ms reconnect.backoff.max.ms
reconnect.backoff.ms request.required.acks request.timeout.ms resolve_cb retries retry.backoff.max.ms retry.backoff.ms
sasl.kerberos.kinit.cmd sasl.kerberos.min.time.before.relogin sasl.kerberos.ticket.renew.jitter
sasl.kerberos.ticket.renew.window.factor sasl.login.connect.timeout.ms
sasl.login.read.timeout.ms sasl.login.refresh.buffer.seconds sasl.login.refresh.min.period.seconds
sasl.login.refresh.window.factor sasl.login.refresh.window.jitter sasl.login.retry.backoff.max.ms
sasl.login.retry.backoff.ms sasl.oauthbearer.allow.unverified.audience sasl.oauthbearer.allow.unverified.issuer
sasl.oauthbearer.assertion.claim.aud sasl.oauthbearer.assertion.claim.exp.seconds sasl.oauthbearer.assertion.claim.iss
sasl.oauthbearer.assertion.claim.jti.include sasl.oauthbearer.assertion.claim.nbf.seconds
sasl.oauthbearer.assertion.claim.sub sasl.oauthbearer.clock.skew.seconds sasl.oauthbearer.expected.audience
sasl.oauthbearer.expected.issuer sasl.oauthbearer.jwks.endpoint.refresh.ms
sasl.oauthbearer.jwks.endpoint.retry.backoff.max.ms sasl.oauthbearer.jwks.endpoint.retry.backoff.ms
sasl.oauthbearer.jwks.endpoint.url sasl.oauthbearer.jwt.validator.class sasl.oauthbearer.scope.claim.name
sasl.oauthbearer.sub.claim.name security.providers send.buffer.bytes session.timeout.ms share.acknowledgement.mode
share.acquire.mode socket.blocking.max.ms socket.connection.setup.timeout.max.ms socket.keepalive.enable
socket.max.fails socket.nagle.disable socket.receive.buffer.bytes socket.send.buffer.bytes socket.timeout.ms socket_cb
ssl.certificate.verify_cb ssl.curves.list ssl.keymanager.algorithm ssl.keystore.type ssl.protocol ssl.provider
ssl.secure.random.implementation ssl.sigalgs.list ssl.trustmanager.algorithm ssl.truststore.type ssl_ca
ssl_certificate ssl_engine_callback_data ssl_key statistics.interval.ms stats_cb sticky.partitioning.linger.ms
throttle_cb timeout.ms topic.blacklist topic.metadata.propagation.max.ms topic.metadata.refresh.fast.cnt
topic.metadata.refresh.fast.interval.ms topic.metadata.refresh.interval.ms topic.metadata.refresh.sparse
transaction.timeout.ms transaction.two.phase.commit.enable transactional.id value.deserializer value.serializer
zookeeper.connect
authorizer.class.name connections.max.reauth.ms listener.security.protocol.map principal.builder.class
sasl.enabled.mechanisms sasl.kerberos.principal.to.local.rules sasl.mechanism.controller.protocol
sasl.mechanism.inter.broker.protocol sasl.server.callback.handler.class sasl.server.max.receive.size
security.inter.broker.protocol ssl.allow.dn.changes ssl.allow.san.changes ssl.client.auth
ssl.principal.mapping.rules super.users
"""
IRRELEVANT: Final = frozenset(_IRRELEVANT.split())
# Whole families that other programs read from the same files.
IRRELEVANT_FAMILIES: Final = (
    *("topic.", "schema.registry.", "basic.auth.", "confluent.", "producer.", "consumer.", "admin.", "listener.name."),
    *("listeners.https.", "rest.", "zookeeper."),
)

BY_NAME: Final[dict[str, Property]] = {name: row for row in PROPERTIES for name in row.names}
# Names that only one of the two families reads: they tell in which spelling a file is written.
ONLY_JAVA: Final = frozenset(name for row in PROPERTIES for name in row.java if name not in row.librdkafka)
ONLY_LIBRDKAFKA: Final = frozenset(name for row in PROPERTIES for name in row.librdkafka if name not in row.java)


def list_known_property_names() -> list[str]:
    """Every property name that kw has heard of, those that kw follows first."""
    return [*BY_NAME, *UNSUPPORTED, *sorted(IRRELEVANT)]


def explain_unused_property(name: str, value: str) -> str | None:
    """Why kw does not do what a property asks for; None where it does, or where the property asks for nothing."""
    return None if value.startswith(_OWN_CLASSES) else UNSUPPORTED.get(name)


def is_irrelevant_property(name: str) -> bool:
    """Whether the property belongs to another program and does not matter for a connection."""
    return name in IRRELEVANT or name.startswith(IRRELEVANT_FAMILIES)


def is_known_property(name: str) -> bool:
    """Whether kw knows the property itself; to be in a family of other programs is not enough."""
    return name in BY_NAME or name in UNSUPPORTED or name in IRRELEVANT or name in _HARMLESS


def is_secret_property(name: str) -> bool:
    """Whether the value of this property must not be shown: known to be a secret, or not known at all."""
    row = BY_NAME.get(name)
    if row is not None:
        return row.secret
    for family in _PREFIXES:
        if name.startswith(family):
            return is_secret_property(name.removeprefix(family))
    return not is_known_property(name) or any(word in name for word in _TELLING)


# Properties of other programs that are no secrets.
_HARMLESS: Final = frozenset({"schema.registry.group.id"})
# Prefixes of properties that have the same meaning for a part of a program.
_PREFIXES: Final = ("producer.", "consumer.", "admin.", "topic.")
# Words in names of secret properties without meaning for kw. A command may have a password in it.
_TELLING: Final = ("password", "passphrase", "is_secret_property", "private.key", "kinit.cmd")

# Files of properties


Pair = tuple[str, str]

_ESCAPES: Final = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}
# Patterns are strings: few runs need them, and `re` compiles each when it is first used, then keeps it.
_ESCAPE: Final = r"(?s)\\(u[0-9a-fA-F]{4}|.)"
_KEY: Final = r"(?s)((?:[^\\=: \t\f]|\\.)*)[ \t\f]*(?:[=:][ \t\f]*)?(.*)"
_BLANK: Final = " \t\f"


def decode_config_text(data: bytes) -> str:
    """The text of a file: UTF-8, else Latin-1, as Java reads such files."""
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return data.decode("latin-1")


def is_java_properties_text(text: str) -> bool:
    """Whether a text is of Java's kind: its names are Java's, or do not tell.

    The kinds differ in one thing that matters: for Java a backslash escapes and joins lines, for librdkafka it is a
    character like any other.
    """
    names = {name for _, (name, _) in _parse_plain_lines(text)}
    return bool(names & ONLY_JAVA) or not names & ONLY_LIBRDKAFKA


def parse_properties_with_lines(text: str, *, java: bool | None = None) -> tuple[list[Pair], list[int]]:
    """The pairs of a file and, for each, the line on which it begins, from 1. `java` None: of either kind."""
    rows = [
        *(
            _parse_java_lines(text)
            if (is_java_properties_text(text) if java is None else java)
            else _parse_plain_lines(text)
        )
    ]
    return [pair for _, pair in rows], [number for number, _ in rows]


def _parse_plain_lines(text: str) -> Iterator[tuple[int, Pair]]:
    """The pairs of librdkafka's kind (kcat.conf, librdkafka.config): `name=value` lines, `#` comments, no escapes."""
    for number, line in enumerate(text.splitlines(), 1):
        line = line.strip()
        if line and not line.startswith("#"):
            name, _, value = line.partition("=")
            yield number, (name.strip(), value.strip())


def _parse_java_lines(text: str) -> Iterator[tuple[int, Pair]]:
    r"""Java's kind: `name=value`, `name: value` or `name value`, `#` and `!` comments, lines joined by a last `\`."""
    for number, line in _join_continued_lines(text):
        match = re.fullmatch(_KEY, line)
        if match is not None:
            yield number, (_unescape_java_text(match[1]), _unescape_java_text(match[2]))


def _join_continued_lines(text: str) -> Iterator[tuple[int, str]]:
    joined: list[str] = []
    first = 0
    for number, natural in enumerate(re.split(r"\r\n|\n|\r", text), 1):
        line = natural.lstrip(_BLANK)
        if not joined:
            if not line or line[0] in "#!":
                continue
            first = number
        escaping = (len(line) - len(line.rstrip("\\"))) % 2 == 1
        joined.append(line[:-1] if escaping else line)
        if not escaping:
            yield first, "".join(joined)
            joined = []
    if any(joined):
        yield first, "".join(joined)


def _unescape_java_text(text: str) -> str:
    return re.sub(_ESCAPE, _unescape_character, text)


def _unescape_character(match: re.Match[str]) -> str:
    word = match[1]
    return chr(int(word[1:], 16)) if len(word) == 5 else _ESCAPES.get(word, word)


def format_properties(pairs: Iterable[Pair]) -> str:
    """The text of a file of Java's kind with these pairs."""
    return "".join(f"{_escape_java_text(name, ' =:#!')}={_escape_java_text(value, '')}\n" for name, value in pairs)


def _escape_java_text(text: str, special: str) -> str:
    parts = []
    for character in text:
        if character in "\\" or character in special:
            parts.append("\\" + character)
        elif character in "\t\n\r\f":
            parts.append("\\" + {code: word for word, code in _ESCAPES.items()}[character])
        else:
            parts.append(character)
    written = "".join(parts)
    return "\\" + written if written.startswith(" ") else written


# What may be shown of properties


# Options of Java's login modules that are no secrets.
PUBLIC_OPTIONS: Final = frozenset(
    {"username", "clientId", "scope", "tokenauth", "principal", "keyTab", "serviceName", "ssl.truststore.location"}
)
_PLACE: Final = (
    r"(?s)(?P<scheme>[A-Za-z][A-Za-z0-9+.-]*://)(?:(?P<user>.*)@)?"
    r"(?P<host>\[[0-9A-Fa-f:.]+\]|[\w.-]+)(?P<port>:\d{1,5})?(?P<path>/[\w./~%+-]*)?(?P<rest>.*)"
)
_CLIENT: Final = frozenset(name for name, row in BY_NAME.items() if row.meaning == "oauth client")
_CLIENT_SECRET: Final = frozenset(name for name, row in BY_NAME.items() if row.meaning == "oauth secret")
# The user of each URL in a list; such URLs have no query.
_USER: Final = r"(?<=://)[^/\s,]*@"
# Shorter values are numbers or words as any, and hardly passwords; the second limit is for unknown properties.
SHORTEST: Final = 4
SHORTEST_UNKNOWN: Final = 6


def is_hidden_value(name: str, value: str) -> bool:
    """Whether a value may be shown only on demand: an unknown name may be a password that was put in its place."""
    return bool(value) and (is_secret_property(name) or "PRIVATE KEY" in value)


def redact_url(text: str) -> str:
    """A URL without its user and its query; a text that is no URL is hidden."""
    match = re.fullmatch(_PLACE, text)
    if match is None:
        return redact_whole_text(text)
    user = f"{redact_whole_text(match['user'])}@" if match["user"] is not None else ""
    rest = f"?{redact_whole_text(match['rest'].lstrip('?'))}" if match["rest"] else ""
    return f"{match['scheme']}{user}{match['host']}{match['port'] or ''}{match['path'] or ''}{rest}"


def redact_urls_in_value(name: str, value: str) -> str:
    """A value that may be shown, with the users and queries of URLs in it hidden."""
    if name.endswith(".url"):
        return ",".join(redact_url(word) if "://" in word else word for word in value.split(","))
    return re.sub(_USER, lambda match: f"{redact_whole_text(match[0][:-1])}@", value)


def find_secret_texts(pairs: Iterable[Pair]) -> Iterator[str]:
    """The secret texts of these properties, which no output may repeat."""
    pairs = list(pairs)
    clients = {value for name, value in pairs if name in _CLIENT}
    for name, value in pairs:
        if name in _CLIENT_SECRET:  # id and secret as HTTP carries them
            yield from (b64encode(f"{client}:{value}".encode()).decode() for client in clients)
        if name == "sasl.jaas.config":
            yield from _find_secrets_of_login(value)
        elif is_hidden_value(name, value):
            least = SHORTEST if is_known_property(name) else SHORTEST_UNKNOWN
            yield from (part for part in list_secret_and_its_parts(value) if len(part) >= least)
        else:
            yield from _find_secrets_of_urls(name, value)


def find_public_texts(pairs: Iterable[Pair]) -> Iterator[str]:
    """The texts of these properties that are shown as they are."""
    for name, value in pairs:
        if name == "sasl.jaas.config":
            yield from (text for word, text in _parse_login_options(value).items() if word in PUBLIC_OPTIONS)
        elif value and not is_hidden_value(name, value) and not any(_find_secrets_of_urls(name, value)):
            yield value


def _find_secrets_of_login(value: str) -> Iterator[str]:
    options = _parse_login_options(value)
    if not options:
        yield from (part for part in list_secret_and_its_parts(value) if len(part) >= SHORTEST)
    yield from (text for word, text in options.items() if word not in PUBLIC_OPTIONS and len(text) >= SHORTEST)


def _parse_login_options(value: str) -> dict[str, str]:
    from kwcli.net.config import jaas_logins

    try:
        return jaas_logins.parse_jaas(value).options
    except jaas_logins.JaasError:
        return {}


def _find_secrets_of_urls(name: str, value: str) -> Iterator[str]:
    """User and query of the URLs in a value, and the parts of both."""
    match = re.fullmatch(_PLACE, value) if name.endswith(".url") else None
    texts = [match["user"], match["rest"]] if match else [found[:-1] for found in re.findall(_USER, value)]
    for text in texts:
        for part in [text, *re.split(r"[:?&=#]", text)] if text else []:
            if len(part) >= SHORTEST:
                yield part
