"""An unknown property in; what of its name may be shown, whether it was meant to protect, and what to write, out."""

from __future__ import annotations

import re
from functools import cache
from typing import Final

from decoders.wire.redact_text import redact_whole_text
from kwcli.net.config.client_properties import (
    BY_NAME,
    PROPERTIES,
    SHORTEST,
    SHORTEST_UNKNOWN,
    is_known_property,
    list_known_property_names,
)

# What settings of TLS and of logins are about: a name with one of these words in it is one.
_WORDS: Final = frozenset({
    *("tls", "mtls", "ssl", "sasl", "security", "secure", "insecure", "verify", "auth", "authentication", "mechanism"),
    *("oauth", "oauth2", "oauthbearer", "oidc", "scram", "kerberos", "krb5", "gssapi", "keytab", "jaas", "iam", "aws"),
    *("user", "username", "pass", "passwd", "password", "passphrase", "token", "secret", "credentials"),
    *("ca", "cafile", "cacert", "cert", "certs", "certfile", "certificate", "certificates", "keyfile"),
    *("truststore", "keystore"),
})  # fmt: skip
# Meanings of properties that protect nothing.
_OPEN: Final = frozenset({"servers", "controllers", "client id", "connect timeout", "timeout", "output"})
# Words of other clients' settings that no property of Kafka's has.
_COMMON: Final = frozenset({"spring", "kafka", "kcat", "enabled", "skip", "use", "plain", "hostname", "setting"})
# What a property's name looks like.
_NAME: Final = r"[A-Za-z][\w-]*(?:\.[\w-]+)+|[A-Za-z][A-Za-z_-]{1,23}"
_NAME_MOST: Final = 100
# A misspelt word has one wrong letter in so many.
_LETTERS_A_MISTAKE: Final = 7
WORD: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z0-9]+")

# Words of other clients, letters only, that turn TLS on and off.
_SWITCHES: Final = frozenset({
    *("tls", "ssl", "mtls", "usetls", "usessl", "enabletls", "enablessl", "tlsenable", "sslenable", "tlsenabled"),
    *("sslenabled", "securitytls", "securityssl", "secure"),
})  # fmt: skip
# The property to write in kw, and the words of other clients for it.
_WRITTEN: Final[tuple[tuple[str, str], ...]] = (
    (
        "ssl.ca.location=FILE",
        "ca cafile cacert cacertpath sslca sslcafile sslcacert tlsca tlscafile tlscacert tlscacertpath "
        "tlscacerts sslcalocation tlscalocation truststore tlstruststore rootca ssltruststorefile",
    ),
    (
        "ssl.certificate.location=FILE",
        "cert certfile certificate clientcert sslcert sslcertfile tlscert tlscertfile tlsclientcert "
        "tlsclientcertpath clientfile tlscertificate sslcertlocation keystore",
    ),
    (
        "ssl.key.location=FILE",
        "keyfile clientkey clientkeyfile sslkey sslkeyfile tlskey tlskeyfile tlsclientkey tlsclientkeypath "
        "tlscertkey certkey",
    ),
    (
        "enable.ssl.certificate.verification=false",
        "insecure tlsinsecure sslinsecure insecureskipverify tlsinsecureskipverify skipverify tlsskipverify "
        "verify sslverify tlsverify sslcertificateverification enablesslverification",
    ),
    (
        "ssl.endpoint.identification.algorithm=none",
        "sslcheckhostname checkhostname tlscheckhostname verifyhostname endpointidentificationalgorithm",
    ),
    (
        "sasl.username=NAME",
        "user username sasluser saslplainusername saslplainuser login",
    ),
    (
        "sasl.password=…",
        "pass passwd password saslpass saslplainpassword saslsecret",
    ),
    (
        "sasl.mechanism=PLAIN",
        "sasl saslmethod saslmech mechanism mechanisms auth saslenabled",
    ),
    (
        "security.protocol=SASL_SSL",
        "security protocol tlsprotocol saslprotocol",
    ),
    (
        "sasl.oauthbearer.token=…",
        "token bearertoken oauthtoken",
    ),
    (
        "sasl.aws.region=REGION",
        "awsregion region saslawsregion",
    ),
    (
        "bootstrap.servers=HOST:PORT",
        "bootstrap broker brokers brokerlist brokerslist servers server seedbrokers hosts",
    ),
)
_MEANT: Final = {word: written for written, words in _WRITTEN for word in words.split()}
_NO: Final = frozenset({"", "0", "f", "false", "n", "no", "off"})


def is_property_of_other_client(name: str) -> bool:
    """Whether another client has a setting of this name: then it is no password in the place of a name."""
    folded = _fold_spelling(name)
    return folded in _SWITCHES or folded in _MEANT


def is_property_about_security(name: str, value: str) -> bool:
    """Whether leaving the property out may leave the connection open, or make its login fail for no visible reason."""
    if any(word.lower() in _WORDS for word in WORD.findall(name)) or _fold_spelling(name) in _SWITCHES:
        return True
    near = _find_similar_property(name)
    if near is not None and near in BY_NAME:
        return BY_NAME[near].meaning not in _OPEN
    meant = _MEANT.get(_fold_spelling(name), "").partition("=")[0]
    return bool(meant) and BY_NAME[meant].meaning not in _OPEN and value != ""


def propose_property(name: str, value: str, *, option: bool = False) -> str:
    """What to write instead of an unknown property; never empty for one about security.

    `: write security.protocol=SSL`, ` (did you mean "sasl.password"?)`, or where to look. `option`: the property was
    given by -X, and the proposal is to be typed there.
    """
    folded, how = _fold_spelling(name), "-X " * option
    if folded in _SWITCHES:
        if value.strip().lower() in _NO:
            return f": write {how}security.protocol=PLAINTEXT"
        return f": write {how}security.protocol=SSL, or SASL_SSL where you log in"
    if folded in _MEANT:
        return f": write {how}{_MEANT[folded]}"
    near = _find_similar_property(name)
    if near is not None:
        return f' (did you mean "{near}"?)'
    return ": kw -X list shows all there are" if is_property_about_security(name, value) else ""


def redact_unless_property_name(name: str, value: str = "") -> str:
    """The name of a property; a text that cannot be one, as a password on a line of its own, is hidden."""
    if is_known_property(name) or not name:
        return name
    first = name.split()[0] if name.split() else ""
    if first != name and is_known_property(first):
        return f"{first} {redact_whole_text(name[len(first) :].strip())}"
    if len(name) <= _NAME_MOST and re.fullmatch(_NAME, name) and (value or _is_near_property(name)):
        return _redact_unknown_words(name)
    return redact_whole_text(name)


def _redact_unknown_words(name: str) -> str:
    """A name that is not known, with the words that no property has hidden: `sasl.password-{redacted 7}`."""
    if is_property_of_other_client(name):
        return name
    found = re.findall(WORD, name)
    if not any(map(is_property_word, found)):
        return name if len(name) < SHORTEST_UNKNOWN and found == [name] else redact_whole_text(name)

    def redact_word(match: re.Match[str]) -> str:
        word = match[0]
        return word if len(word) < SHORTEST or is_property_word(word) else redact_whole_text(word)

    return re.sub(WORD, redact_word, name)


def _is_near_property(name: str) -> bool:
    from decoders.wire.suggest_similar_words import nearest_words

    return bool(nearest_words(name, list_known_property_names()))


def is_property_word(word: str) -> bool:
    """Whether a word stands in names of properties, of Kafka's or of other clients, or is one that is misspelt.

    Any other word in an unknown name may be a part of a password.
    """
    from decoders.wire.suggest_similar_words import edit_distance

    folded = word.lower()
    words = _property_words()
    if folded in words or folded in _MEANT or folded in _SWITCHES:
        return True
    most = len(folded) // _LETTERS_A_MISTAKE
    near = (each for each in words if abs(len(each) - len(folded)) <= most)
    return folded.isalpha() and any(edit_distance(folded, each) <= most for each in near)


@cache
def _property_words() -> frozenset[str]:
    return (
        _WORDS
        | _COMMON
        | {word for name in list_known_property_names() for word in re.findall(r"[a-z0-9]+", name.lower())}
    )


def _find_similar_property(name: str) -> str | None:
    """The known property with a similar spelling: letters swapped or missing, other separators, a prefix."""
    from decoders.wire.suggest_similar_words import nearest_words

    for row in PROPERTIES:
        for spelling in row.names:
            if name.endswith(f".{spelling}") or _fold_spelling(name) == _fold_spelling(spelling):
                return spelling
    return next(iter(nearest_words(name, list_known_property_names())), None)


def _fold_spelling(name: str) -> str:
    return "".join(letter for letter in name.lower() if letter.isalnum())
