"""The user's words and body in, the request for a version out: in JSON form and as bytes.

The version is the highest that has a field for everything that was given: `key=g` makes FindCoordinator 3, as version
6 has no `key`. Only short words (`topic=orders offset=latest`) may need to look something up in the cluster.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from decoders.errors import DecodeError, strip_traceback
from decoders.messages.whole_messages import decode_message, encode_message
from decoders.named_tuple import NamedTuple
from decoders.protocol_facts.example_requests import example_request
from decoders.schema.api_declaration import Api, Versions
from kwcli.calling.words.path_value_words import GivenWords, compose_body, encode_composed_body
from kwcli.run_environment import Exit, Failure

if TYPE_CHECKING:
    from kwcli.calling.cluster_lookups import ClusterLookups
    from kwcli.calling.words.short_request_words import ShortRequest
    from kwcli.net.cluster_client import ClusterClient


class BuiltRequest(NamedTuple):
    """One request: `value` is its JSON form, `body` its bytes without header.

    If the user gave the bytes, `value` has Python values, or is None where the bytes cannot be decoded.
    """

    version: int
    value: Mapping[str, Any] | None
    body: bytes


class RequestDraft:
    """A request that still fits any version: the words and body that were given, or bytes that are sent as they are."""

    def __init__(
        self, api: Api, given: GivenWords, *, raw: bytes | None = None, short: ShortRequest | None = None
    ) -> None:
        self.api = api
        self._given = given
        self._raw = raw
        self._short = short
        self._known: ClusterLookups | None = None
        self.controllers = False  # whether controllers are asked, on their own listener

    @property
    def is_empty(self) -> bool:
        """Whether the user has said nothing about the body."""
        return self._given.is_empty and self._raw is None and self._short is None

    @property
    def has_short_words(self) -> bool:
        """Whether the request was given in short words: it may then be shared among several nodes."""
        return self._short is not None

    @property
    def preferred_version(self) -> int | None:
        """The version of the record that the body was taken from."""
        return self._given.body.version if self._given.body is not None else None

    def resume_fetch_at(self, offsets: Mapping[int, int]) -> RequestDraft:
        """A draft of the same fetch (by short words) that goes on from these offsets of partitions."""
        from kwcli.calling.records.fetch_request import FetchFromTopic  # loaded if it was asked for in short words

        assert isinstance(self._short, FetchFromTopic)
        return RequestDraft(self.api, self._given, short=self._short.resume_at_offsets(offsets))

    def look_up_in_cluster(self, cluster: ClusterClient) -> None:
        """From now on, look up in the cluster what short words leave open, each thing once."""
        if self._short is not None:
            from kwcli.calling.cluster_lookups import ClusterLookups  # few requests look anything up

            self._known = ClusterLookups(cluster)

    def build_request(self, versions: Versions) -> BuiltRequest:
        """The request in the highest of these versions that has a field for everything. Raises Failure (usage)."""
        if self._raw is not None:
            return BuiltRequest(versions.high, _try_decode_request(self.api.key, versions.high, self._raw), self._raw)
        if self._short is not None:
            versions = self._short.narrow_versions(versions, connected=self._known is not None)
        first: Failure | None = None
        for version in range(versions.high, versions.low - 1, -1):
            try:
                value = self.build_request_json(version)
                return BuiltRequest(version, value, self.encode_composed_body(version, value))
            except Failure as problem:
                if problem.code != Exit.USAGE:
                    raise
                first = first or strip_traceback(problem)
        assert first is not None
        raise first

    def build_request_json(self, version: int) -> dict[str, Any]:
        """The request in JSON form: the example, changed by what was given."""
        start = example_request(self.api, version, controller=self.controllers)
        if self._short is not None:
            start |= self._short.build_body(version, self._known)
        return compose_body(self.api, version, self._given, start=start)

    def encode_composed_body(self, version: int, value: Mapping[str, Any]) -> bytes:
        """The bytes of a request, or of one node's share of it."""
        if self._raw is not None:
            return encode_message(self.api.key, version, "request", value)
        layout = self._given.body.layout if self._given.body is not None else None
        return encode_composed_body(self.api, version, value, layout=layout)


def _try_decode_request(key: int, version: int, body: bytes) -> dict[str, Any] | None:
    try:
        return decode_message(key, version, "request", body)
    except DecodeError:
        return None
