"""The user's words and body and offsets from the cluster in; the version to send and its request out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, Literal, Protocol, TypeVar
from uuid import UUID

from decoders.apis import api
from decoders.errors import DecodeError, without_frames
from decoders.messages.whole_messages import decode_message, encode_message
from decoders.named_tuple import NamedTuple
from decoders.protocol_facts.errors.error_codes import ERRORS, error_name
from decoders.protocol_facts.examples import example
from decoders.protocol_facts.keys import LIST_OFFSETS
from decoders.protocol_facts.releases import UNSTABLE, history, served_of, spoken
from decoders.protocol_facts.version_words import HIGHEST, LOWEST
from decoders.schema.model import NONE, Api, Versions
from kwcli.calling.words.assignments import GivenWords, compose, encode_body
from kwcli.net.metadata_requests import offset_request
from kwcli.run_environment import Exit, Failure
from kwcli.spelling import find_release, parse_version_of

if TYPE_CHECKING:
    from kwcli.calling.words.shorthand import Short
    from kwcli.net.cluster import ClusterClient


class VersionChoice(NamedTuple):
    """The user's choice of version: a number, the highest or lowest, a release to speak like, or none."""

    number: int | None = None
    release: str | None = None
    force: bool = False
    end: Literal["", "highest", "lowest"] = ""  # of the versions that both sides have

    @classmethod
    def of(
        cls, api: Api, word: str | int | None, release: str | None, *, force: bool, raw: bool = False
    ) -> VersionChoice:
        """The user's choice, checked. Raises Failure (usage) for one that kw cannot fulfil, before any connection.

        `word` is a number, or a text for `parse_version`. `raw`: the bytes of the body are given, so kw need not know
        the version.
        """
        if word is not None and release is not None:
            raise Failure("--api-version and --as-kafka exclude each other", Exit.USAGE)
        if str(word).strip().lower() in HIGHEST | LOWEST:
            return cls(None, None, force, "highest" if str(word).strip().lower() in HIGHEST else "lowest")
        number = None if word is None else parse_version_of(api, word)
        if number is not None and number not in api.versions and not raw:
            raise Failure(f"{api.name} has versions {api.versions}, not {number}", Exit.USAGE)
        if release is not None:
            as_spoken(api, release)
        return cls(number, release, force)

    def candidates(self, api: Api) -> Versions:
        """The versions that the user's choice leaves."""
        if self.number is not None:
            return Versions(self.number, self.number)
        return api.versions if self.release is None else as_spoken(api, self.release)

    def narrow(self, versions: Versions) -> Versions:
        """Only the lowest of these versions, where the lowest was asked for; else all of them."""
        return Versions(versions.low, versions.low) if self.end == "lowest" else versions


def as_spoken(api: Api, release: str) -> Versions:
    """The versions of an API that brokers and clients of a release use unless told otherwise."""
    release = find_release(release)
    found = spoken(release).get(api.key, NONE)
    if UNSTABLE.get(release, {}).get(api.key) == found.high:
        found = Versions(found.low, found.high - 1)
    if not found:
        since = next(iter(history(api.key)), "none known")
        raise Failure(f"Kafka {release} has no {api.name} (first in {since})", Exit.USAGE)
    return found & api.versions


def _not_offered(api: Api, advertised: Mapping[int, Versions]) -> str:
    """The error text for an API that a node does not offer; tells if brokers and controllers were mixed up."""
    from kwcli.net.session.session import is_controller

    if is_controller(advertised) and "controller" not in api.listeners:
        return f"is a controller, which has no {api.name}: ask a broker"
    if api.listeners == ("controller",) and not is_controller(advertised):
        return f"does not offer {api.name}, which is for controllers: give one by --bootstrap-controller"
    return f"does not offer {api.name}"


def common(api: Api, advertised: Mapping[int, Versions], choice: VersionChoice, node: str) -> Versions:
    """The versions that may be sent to a broker that advertises these; `node` is its name for people.

    Raises Failure where there is none, or where the broker is known to list a version that it does not serve.
    """
    wanted = choice.candidates(api)
    if choice.force:
        return choice.narrow(wanted)
    offered = advertised.get(api.key, NONE)
    if not offered:
        raise Failure(f"{node} {_not_offered(api, advertised)} (--force sends it anyway)")
    both = wanted & offered
    if not both:
        said = f"version {wanted}" if wanted.low == wanted.high else f"versions {wanted}"
        raise Failure(f"{node} offers {api.name} {offered}, not {said} (--force sends it anyway)")
    served = served_of(advertised)[api.key]
    if not both & served:
        raise Failure(
            f"{node} lists {api.name} {both} but does not serve it: brokers from 4.0 on close the connection on "
            f"versions below {served.low} (--force sends it anyway)"
        )
    return choice.narrow(both & served)


_TRIES: Final = 3


class Peer(Protocol):
    """The attributes of a connection that are needed here."""

    @property
    def versions(self) -> Mapping[int, Versions]: ...
    @property
    def peer(self) -> str: ...


P = TypeVar("P", bound=Peer)


class Asking(Protocol[P]):
    """The methods of a cluster client that are needed here."""

    def partitions(self, topic: str, /) -> Sequence[int]: ...
    def topic_id(self, name: str, /) -> UUID: ...
    def leader(self, topic: str, partition: int, /) -> P | None: ...
    def forget(self) -> None: ...
    def ask(self, connection: P, key: int, version: int, value: Mapping[str, Any], /) -> dict[str, Any]: ...


class LookedUp:
    """Topics and offsets looked up in the cluster; each offset is requested once."""

    def __init__(self, cluster: Asking[Any]) -> None:
        self._cluster = cluster
        self._found: dict[tuple[str, int, int], int | None] = {}

    def partitions(self, topic: str) -> Sequence[int]:
        """The partitions of a topic, ascending."""
        return self._cluster.partitions(topic)

    def topic_id(self, name: str) -> UUID:
        """The id of a topic."""
        return self._cluster.topic_id(name)

    def offset_at(self, topic: str, partition: int, timestamp: int) -> int | None:
        """The first offset at or after a time (-1: the end, -2: the first of all); None where there is none.

        An answer with a retriable error is requested again, a few times. Raises Failure.
        """
        place = topic, partition, timestamp
        if place not in self._found:
            self._found[place] = self._look_up(topic, partition, timestamp)
        return self._found[place]

    def _look_up(self, topic: str, partition: int, timestamp: int) -> int | None:
        code = 0
        for _ in range(_TRIES):
            answer = self._ask(topic, partition, timestamp)
            code = answer["error_code"]
            if not code:
                found: list[int] = answer.get("old_style_offsets") or [answer.get("offset", -1)]
                return found[0] if found[0] >= 0 else None
            if code not in ERRORS or not ERRORS[code].retriable:
                break
            self._cluster.forget()
        raise Failure(f"no offset of {topic}[{partition}] for the time {timestamp}: {error_name(code)}")

    def _ask(self, topic: str, partition: int, timestamp: int) -> dict[str, Any]:
        connection = self._cluster.leader(topic, partition)
        if connection is None:
            known = self.partitions(topic)
            raise Failure(f"{topic} has no partition {partition}, it has {known[0]}-{known[-1]}")
        both = connection.versions.get(LIST_OFFSETS, NONE) & api(LIST_OFFSETS).versions
        if not both:
            raise Failure(f"{connection.peer} does not offer ListOffsets, which kw needs for this offset")
        value = offset_request(both.high, topic, partition, timestamp)
        answer: dict[str, Any] = self._cluster.ask(connection, LIST_OFFSETS, both.high, value)
        for told in answer["topics"]:
            for row in told["partitions"]:
                if (told["name"], row["partition_index"]) == (topic, partition):
                    result: dict[str, Any] = row
                    return result
        raise Failure(f"{connection.peer}: its answer to ListOffsets {both.high} does not mention {topic}[{partition}]")


# The user's words and body in, the request for a version out: in JSON form and as bytes.
#
# The version is the highest that has a field for everything that was given: `key=g` makes FindCoordinator 3, as version
# 6 has no `key`. Only short words (`topic=orders offset=latest`) may need to look something up in the cluster.


class BuiltRequest(NamedTuple):
    """One request: `value` is its JSON form, `body` its bytes without header.

    If the user gave the bytes, `value` has Python values, or is None where the bytes cannot be decoded.
    """

    version: int
    value: Mapping[str, Any] | None
    body: bytes


class Draft:
    """A request that still fits any version: the words and body that were given, or bytes that are sent as they are."""

    def __init__(self, api: Api, given: GivenWords, *, raw: bytes | None = None, short: Short | None = None) -> None:
        self.api = api
        self._given = given
        self._raw = raw
        self._short = short
        self._known: LookedUp | None = None
        self.controllers = False  # whether controllers are asked, on their own listener

    @property
    def empty(self) -> bool:
        """Whether the user has said nothing about the body."""
        return self._given.nothing and self._raw is None and self._short is None

    @property
    def short(self) -> bool:
        """Whether the request was given in short words: it may then be shared among several nodes."""
        return self._short is not None

    @property
    def preferred(self) -> int | None:
        """The version of the record that the body was taken from."""
        return self._given.body.version if self._given.body is not None else None

    def resumed(self, offsets: Mapping[int, int]) -> Draft:
        """A draft of the same fetch (by short words) that goes on from these offsets of partitions."""
        from kwcli.calling.records.fetch_request import Fetch  # loaded if it was asked for in short words

        assert isinstance(self._short, Fetch)
        return Draft(self.api, self._given, short=self._short.at(offsets))

    def connect(self, cluster: ClusterClient) -> None:
        """From now on, look up in the cluster what short words leave open, each thing once."""
        if self._short is not None:
            self._known = LookedUp(cluster)

    def request(self, versions: Versions) -> BuiltRequest:
        """The request in the highest of these versions that has a field for everything. Raises Failure (usage)."""
        if self._raw is not None:
            return BuiltRequest(versions.high, _read(self.api.key, versions.high, self._raw), self._raw)
        if self._short is not None:
            versions = self._short.narrow(versions, connected=self._known is not None)
        first: Failure | None = None
        for version in range(versions.high, versions.low - 1, -1):
            try:
                value = self.value(version)
                return BuiltRequest(version, value, self.encoded(version, value))
            except Failure as problem:
                if problem.code != Exit.USAGE:
                    raise
                first = first or without_frames(problem)
        assert first is not None
        raise first

    def value(self, version: int) -> dict[str, Any]:
        """The request in JSON form: the example, changed by what was given."""
        start = example(self.api, version, controller=self.controllers)
        if self._short is not None:
            start |= self._short.body(version, self._known)
        return compose(self.api, version, self._given, start=start)

    def encoded(self, version: int, value: Mapping[str, Any]) -> bytes:
        """The bytes of a request, or of one node's share of it."""
        if self._raw is not None:
            return encode_message(self.api.key, version, "request", value)
        layout = self._given.body.layout if self._given.body is not None else None
        return encode_body(self.api, version, value, layout=layout)


def _read(key: int, version: int, body: bytes) -> dict[str, Any] | None:
    try:
        return decode_message(key, version, "request", body)
    except DecodeError:
        return None
