"""Advisories about Kafka and its clients, and whose version numbers stand for which of Kafka's: literal tables.

A row holds what its source says and nothing else. Where only a part of a source could be read, or where a release that
is called fixed was seen with the defect, releases are `doubtful`, with the reason: they never are more than `maybe`.

Sources, by address: the list of the project (kafka.apache.org), the record (cve.org), GitHub's review (GHSA),
Ubuntu's and SUSE's records. Left out: advisories about log4j 1.x, which no traffic shows; CVE-2026-41115, which
corrects documentation; CVE-2021-44228 and CVE-2021-45046, which the project lists as not affecting Kafka.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final, Literal

from decoders.named_tuple import NamedTuple

__all__ = [
    "ADVISORIES",
    "JAVA",
    "KAFKA_PYTHON",
    "SIGNS",
    "Advisory",
    "Numbers",
    "ReleaseRange",
    "Sign",
    "Where",
    "classify_overlap",
    "find_kafka_releases_of_client",
    "format_affected_releases",
    "make_release_range_of_lines",
    "parse_release_numbers",
]

# What a capture shows of a defect: that it may happen, that somebody tries, that it has happened.
Sign = Literal["trigger", "attempt", "damage"]
SIGNS: Final[tuple[Sign, ...]] = ("trigger", "attempt", "damage")
# Who has the defect: a client, a broker (or controller), a worker of Kafka Connect, a program of Kafka Streams.
Where = Literal["client", "broker", "connect", "streams"]
# The first and the last release that is affected.
Span = tuple[str, str]
# The numbers of a release, as they compare.
Numbers = tuple[int, ...]

JAVA: Final = "apache-kafka-java"
KAFKA_PYTHON: Final = "kafka-python"
_LIST: Final = "https://kafka.apache.org/cve-list#"
_RECORD: Final = "https://www.cve.org/CVERecord?id="
# The end of a span that goes on.
_OPEN: Final = "9999"
_CUT_OFF: Final = "the end of the record's list of versions could not be read"


class Advisory(NamedTuple):
    """One advisory.

    `affected`: releases that the source names; `doubtful`: spans of others, and why they are no more than `maybe`.
    `signs`: id of a finding → what it shows of this defect. `unseen`: what it takes besides the version and no capture
    shows. `mechanism`: the SASL mechanism without which nothing can happen.
    """

    id: str
    published: str
    where: tuple[Where, ...]
    affected: tuple[Span, ...]
    fixed: tuple[str, ...]
    effect: str
    address: str
    library: str = JAVA
    doubtful: tuple[tuple[str, str, str], ...] = ()
    signs: Mapping[str, Sign] = {}
    unseen: str = ""
    mechanism: str = ""


_CLIENT: Final[tuple[Where, ...]] = ("client",)
_BROKER: Final[tuple[Where, ...]] = ("broker",)

# The newest first.
ADVISORIES: Final[tuple[Advisory, ...]] = (
    Advisory(
        "CVE-2026-111115",
        "2026-10-28",
        _BROKER,
        (("2.4.0", "4.1.2"), ("4.2.0", "4.2.1"), ("4.3.0", "4.3.1")),
        ("4.2.2", "4.3.2", "4.4.0"),
        "a request header that declares millions of tagged fields fills the heap of a broker, before any login",
        "https://www.suse.com/security/cve/CVE-2026-111115.html",
        signs={"header-tags": "attempt"},
    ),
    Advisory(
        "CVE-2026-111108",
        "2026-10-28",
        _BROKER,
        (("3.3.0", "4.1.2"), ("4.2.0", "4.2.1")),
        (),
        "lengths of arrays in requests allocate memory out of proportion: the heap of a broker is exhausted",
        f"{_RECORD}CVE-2026-111108",
        doubtful=(("4.3.0", "4.3.1", _CUT_OFF),),
        signs={"array-beyond-frame": "attempt"},
    ),
    Advisory(
        "CVE-2026-111073",
        "2026-10-28",
        _BROKER,
        (),
        ("4.2.2", "4.3.1", "4.4.0"),
        "a small compressed payload of PushTelemetry unpacks in a broker without bound",
        "https://ubuntu.com/security/CVE-2026-111073",
        doubtful=(
            ("3.7.0", "4.2.1", "the record names fixed releases alone; PushTelemetry exists since 3.7"),
            ("4.3.0", "4.3.0", "the record names fixed releases alone"),
        ),
        signs={"telemetry-unpacked": "attempt"},
    ),
    Advisory(
        "CVE-2026-110985",
        "2026-10-28",
        _BROKER,
        (),
        (),
        "with OAUTHBEARER and no JWKS URL configured, a broker does not check the signatures of tokens",
        f"{_RECORD}CVE-2026-110985",
        doubtful=(("4.1.0", _OPEN, _CUT_OFF),),
        unseen="a listener without a JWKS URL",
        mechanism="OAUTHBEARER",
    ),
    Advisory(
        "CVE-2026-111496",
        "2026-10-28",
        ("streams",),
        (),
        (),
        "the time of a punctuation of Kafka Streams overflows: a thread hangs for ever",
        f"{_RECORD}CVE-2026-111496",
        doubtful=(
            ("1.1.0", "4.1.2", _CUT_OFF),
            ("4.2.0", "4.2.1", _CUT_OFF),
            ("4.3.0", "4.3.1", _CUT_OFF),
        ),
    ),
    Advisory(
        "CVE-2026-83525",
        "2026-10-28",
        _BROKER,
        (("2.8.0", "4.2.1"), ("4.3.0", "4.3.1")),
        ("4.2.2", "4.3.2", "4.4.0"),
        "a FetchSnapshot without topics or partitions ends a controller",
        "https://www.suse.com/security/cve/CVE-2026-83525.html",
        signs={"snapshot-fetch-empty": "attempt"},
        unseen="the right CLUSTER_ACTION",
    ),
    Advisory(
        "CVE-2026-10142",
        "2026-06-10",
        _CLIENT,
        (("0", "2.3.1"),),
        ("2.3.2",),
        "the length of a frame from a broker is not bounded: memory runs out, or the connection hangs",
        "https://github.com/advisories/GHSA-m3px-q5gj-j9x7",
        library=KAFKA_PYTHON,
    ),
    Advisory(
        "CVE-2026-10143",
        "2026-06-10",
        _CLIENT,
        (("0", "2.3.1"),),
        ("2.3.2",),
        "the iteration count of SCRAM that a broker asks for is not bounded: the client's event loop stands",
        "https://github.com/advisories/GHSA-2jcm-hq8r-84wx",
        library=KAFKA_PYTHON,
        signs={"scram-iterations": "attempt"},
        mechanism="SCRAM",
    ),
    Advisory(
        "CVE-2026-33558",
        "2026-04-20",
        ("client", "broker"),
        (("0.11.0.0", "3.9.1"), ("4.0.0", "4.0.0")),
        ("3.9.2", "4.0.1"),
        "at level DEBUG, NetworkClient logs whole requests and answers, with the secrets in them",
        f"{_RECORD}CVE-2026-33558",
        doubtful=(
            ("4.0.1", "4.0.1", "the record calls 4.0.1 fixed, but it was seen to log config values and token HMACs"),
        ),
        unseen="a log at level DEBUG",
    ),
    Advisory(
        "CVE-2026-33557",
        "2026-04-20",
        _BROKER,
        (("4.1.0", "4.1.1"),),
        ("4.1.2", "4.2.0"),
        "the default validator of JWTs in a broker accepts any token",
        f"{_RECORD}CVE-2026-33557",
        mechanism="OAUTHBEARER",
    ),
    Advisory(
        "CVE-2026-35554",
        "2026-04-07",
        _CLIENT,
        (("2.8.0", "3.9.1"), ("4.0.0", "4.0.1"), ("4.1.0", "4.1.1")),
        ("3.9.2", "4.0.2", "4.1.2", "4.2.0"),
        "the buffer of a batch that expires while its request is under way is used again: records can reach another"
        " topic, without an error",
        f"{_RECORD}CVE-2026-35554",
        signs={"batch-expired": "trigger", "batch-misrouted": "damage"},
    ),
    Advisory(
        "CVE-2025-27819",
        "2025-06-09",
        _BROKER,
        (("2.0.0", "3.3.2"),),
        ("3.4.0",),
        "AlterConfigs with JndiLoginModule has a broker run foreign code",
        f"{_LIST}CVE-2025-27819",
        signs={"jndi-login-module": "attempt"},
        unseen="the right ALTER_CONFIGS",
    ),
    Advisory(
        "CVE-2025-27818",
        "2025-06-09",
        ("broker", "connect"),
        (("2.3.0", "3.9.0"),),
        ("3.9.1", "4.0.0"),
        "a configuration with LdapLoginModule has a broker or a worker of Kafka Connect run foreign code",
        f"{_LIST}CVE-2025-27818",
        signs={"ldap-login-module": "attempt"},
        unseen="the right ALTER_CONFIGS, or access to Connect's REST interface",
    ),
    Advisory(
        "CVE-2025-27817",
        "2025-06-09",
        _CLIENT,
        (("3.1.0", "3.9.0"),),
        ("3.9.1", "4.0.0"),
        "URLs of OAUTHBEARER in a client's configuration read files and reach other hosts",
        f"{_LIST}CVE-2025-27817",
        unseen="a configuration that others may set",
        mechanism="OAUTHBEARER",
    ),
    Advisory(
        "CVE-2024-56128",
        "2024-12-18",
        _BROKER,
        (("0.10.2.0", "3.7.1"), ("3.8.0", "3.8.0")),
        ("3.7.2", "3.8.1", "3.9.0"),
        "a broker does not compare the nonce of SCRAM: where the login is in the clear, it can be replayed",
        f"{_LIST}CVE-2024-56128",
        signs={"scram-in-clear": "trigger"},
    ),
    Advisory(
        "CVE-2024-31141",
        "2024-11-18",
        _CLIENT,
        (("2.3.0", "3.7.0"),),
        ("3.7.1", "3.8.0"),
        "config providers read files and environment for whoever may set the client's configuration",
        f"{_LIST}CVE-2024-31141",
        unseen="a configuration that others may set",
    ),
    Advisory(
        "CVE-2024-27309",
        "2024-04-12",
        _BROKER,
        (("3.5.0", "3.6.1"),),
        ("3.6.2",),
        "some ACLs are not enforced while a cluster migrates from ZooKeeper to KRaft",
        f"{_LIST}CVE-2024-27309",
        unseen="a migration",
    ),
    Advisory(
        "CVE-2023-34455",
        "2023-07-05",
        _BROKER,
        (("0.8.0", "3.5.0"),),
        ("3.5.1",),
        "a forged chunk of snappy takes all memory of a broker",
        f"{_LIST}CVE-2023-34455",
    ),
    Advisory(
        "CVE-2023-25194",
        "2023-02-08",
        ("connect",),
        (("2.3.0", "3.3.2"),),
        ("3.4.0",),
        "a connector with JndiLoginModule has a worker of Kafka Connect run foreign code",
        f"{_LIST}CVE-2023-25194",
        unseen="access to Connect's REST interface",
    ),
    Advisory(
        "CVE-2022-34917",
        "2022-09-19",
        _BROKER,
        (("2.8.0", "2.8.1"), ("3.0.0", "3.0.1"), ("3.1.0", "3.1.1"), ("3.2.0", "3.2.1")),
        ("2.8.2", "3.0.2", "3.1.2", "3.2.3"),
        "a broker allocates memory for clients that have not logged in, as much as they ask for",
        f"{_LIST}CVE-2022-34917",
    ),
    Advisory(
        "CVE-2021-38153",
        "2021-09-21",
        ("client", "connect"),
        (("2.0.0", "2.6.2"), ("2.7.0", "2.7.1"), ("2.8.0", "2.8.0")),
        ("2.6.3", "2.7.2", "2.8.1", "3.0.0"),
        "passwords are compared in a time that depends on them",
        f"{_LIST}CVE-2021-38153",
    ),
    Advisory(
        "CVE-2019-12399",
        "2020-01-13",
        ("connect",),
        (("2.0.0", "2.2.1"), ("2.3.0", "2.3.0")),
        ("2.2.2", "2.3.1"),
        "the REST interface of Kafka Connect shows secrets of config providers",
        f"{_LIST}CVE-2019-12399",
        unseen="access to Connect's REST interface",
    ),
    Advisory(
        "CVE-2018-17196",
        "2019-07-10",
        _BROKER,
        (("0.11.0.0", "2.1.0"),),
        ("2.1.1",),
        "a forged Produce passes the ACLs for transactions and idempotence",
        f"{_LIST}CVE-2018-17196",
    ),
    Advisory(
        "CVE-2018-1288",
        "2018-07-26",
        _BROKER,
        (("0.9.0.0", "0.9.0.1"), ("0.10.0.0", "0.10.2.1"), ("0.11.0.0", "0.11.0.2"), ("1.0.0", "1.0.0")),
        ("0.10.2.2", "0.11.0.3", "1.0.1", "1.1.0"),
        "a client's Fetch that poses as a replica's has a broker lose data",
        f"{_LIST}CVE-2018-1288",
        signs={"replica-claimed": "attempt"},
    ),
    Advisory(
        "CVE-2017-12610",
        "2018-07-26",
        _BROKER,
        (("0.10.0.0", "0.10.2.1"), ("0.11.0.0", "0.11.0.1")),
        ("0.10.2.2", "0.11.0.2", "1.0.0"),
        "with PLAIN and SCRAM, a user who has logged in can pose as another one",
        f"{_LIST}CVE-2017-12610",
    ),
)


class ReleaseRange(NamedTuple):
    """The releases of Kafka that a version stands for, from one to another; `vendor`: who built it, empty for Kafka."""

    first: Numbers
    last: Numbers
    vendor: str = ""


# Releases of Confluent Platform → those of Kafka that they are made of.
_CONFLUENT: Final[Mapping[str, str]] = {
    "5.4": "2.4",
    "5.5": "2.5",
    "6.0": "2.6",
    "6.1": "2.7",
    "6.2": "2.8",
    **{f"7.{minor}": f"3.{minor}" for minor in range(10)},
    "8.0": "4.0",
    "8.1": "4.1",
}
# Forms of versions → the vendor, and its table of releases; None: the version begins with the number of Kafka's.
_VENDORS: Final[tuple[tuple[str, str, Mapping[str, str] | None], ...]] = (
    (r"(\d+\.\d+)\.\d+-(?:\d+-)?c(?:cs|e)(?:-\d+)?", "Confluent", _CONFLUENT),
    (r"(\d+(?:\.\d+){2})\.redhat-\d+", "Red Hat", None),
    (r"(\d+(?:\.\d+){2})-amzn-\d+", "Amazon", None),
    (r"(\d+(?:\.\d+){2})(?:\.\d+){4}-\d+", "Cloudera", None),
)
_OWN: Final = r"\d+(?:\.\d+){2,3}"
# No release has a number like this one: the last of a line of releases.
_LAST: Final = 9999


def find_kafka_releases_of_client(version: str) -> ReleaseRange | None:
    """The releases of Kafka that a Java client of this version is made of; None where no table has it.

    `3.9.1` is one release, `7.5.1-ccs` all of 3.5.
    """
    if re.fullmatch(_OWN, version):
        return ReleaseRange(parse_release_numbers(version), parse_release_numbers(version))
    for form, vendor, table in _VENDORS:
        found = re.fullmatch(form, version)
        if found is None:
            continue
        if table is None:
            return ReleaseRange(parse_release_numbers(found[1]), parse_release_numbers(found[1]), vendor)
        line = table.get(found[1])
        return None if line is None else make_release_range_of_lines(line, line, vendor)
    return None


def make_release_range_of_lines(first: str, last: str, vendor: str = "") -> ReleaseRange:
    """All releases of one line to those of another: `3.5`, `3.6` → from 3.5.0 to the last 3.6."""
    return ReleaseRange((*parse_release_numbers(first), 0), (*parse_release_numbers(last), _LAST), vendor)


def parse_release_numbers(release: str) -> Numbers:
    """The numbers of a release, as they compare: `3.9.1` → (3, 9, 1)."""
    return tuple(int(part) for part in re.findall(r"\d+", release)[:4])


def classify_overlap(release: ReleaseRange, first: str, last: str) -> Literal["all", "some", "none"]:
    """How many of the releases lie from `first` to `last`."""
    low, high = parse_release_numbers(first), parse_release_numbers(last)
    if release.last < low or release.first > high:
        return "none"
    return "all" if low <= release.first and release.last <= high else "some"


def format_affected_releases(advisory: Advisory) -> str:
    """The releases that are affected: `2.8.0–3.9.1, 4.0.0–4.0.1`."""
    spans = [*advisory.affected, *((first, last) for first, last, _ in advisory.doubtful)]
    return ", ".join(_format_span(*span) for span in sorted(spans, key=lambda span: parse_release_numbers(span[0])))


def _format_span(first: str, last: str) -> str:
    if first == "0":
        return f"up to {last}"
    if last == _OPEN:
        return f"from {first} on"
    return first if first == last else f"{first}–{last}"
