"""The user's words and body in, the request for a version out: as JSON form and as bytes.

The highest version is taken in which everything that was said has a field: `key=g` makes FindCoordinator 3 where
version 6 has no `key`. Only short words (`topic=orders offset=latest`) may need to know something of the cluster.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from decoders.errors import DecodeError
from decoders.messages import decode_message, encode_message
from decoders.schema.model import Api, Versions
from kwcli.composing.examples import example
from kwcli.composing.words import GivenWords, compose, encode_body
from kwcli.exits import Exit, Failure

if TYPE_CHECKING:
    from kwcli.calling.offsets import LookedUp
    from kwcli.calling.short import Short
    from kwcli.net.cluster import Cluster


class Request(NamedTuple):
    """One request: `value` is its JSON form, `body` its bytes without header.

    Of bytes that the user gave `value` has Python values, and is None where they cannot be read.
    """

    version: int
    value: Mapping[str, Any] | None
    body: bytes


class Draft:
    """A request that still fits any version: what was given, or bytes that are sent as they are."""

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
    def preferred(self) -> int | None:
        """The version of the record that the body was taken from."""
        return self._given.body.version if self._given.body is not None else None

    def connect(self, cluster: Cluster) -> None:
        """From now on the cluster may be asked about what short words leave open, each thing once."""
        if self._short is not None:
            from kwcli.calling.offsets import LookedUp

            self._known = LookedUp(cluster)

    def request(self, versions: Versions) -> Request:
        """The request in the highest of these versions that has a place for everything. Raises Failure (usage)."""
        if self._raw is not None:
            return Request(versions.high, _read(self.api.key, versions.high, self._raw), self._raw)
        if self._short is not None:
            versions = self._short.narrow(versions, connected=self._known is not None)
        first: Failure | None = None
        for version in range(versions.high, versions.low - 1, -1):
            try:
                value = self.value(version)
                return Request(version, value, self.encoded(version, value))
            except Failure as problem:
                if problem.code != Exit.USAGE:
                    raise
                first = first or problem
        assert first is not None
        raise first

    def value(self, version: int) -> dict[str, Any]:
        """The request in JSON form: the example with what was given."""
        start = example(self.api, version, controller=self.controllers)
        if self._short is not None:
            start |= self._short.body(version, self._known)
        return compose(self.api, version, self._given, start=start)

    def encoded(self, version: int, value: Mapping[str, Any]) -> bytes:
        """The bytes of a request, or of a share of it."""
        if self._raw is not None:
            return encode_message(self.api.key, version, "request", value)
        layout = self._given.body.layout if self._given.body is not None else None
        return encode_body(self.api, version, value, layout=layout)


def _read(key: int, version: int, body: bytes) -> dict[str, Any] | None:
    try:
        return decode_message(key, version, "request", body)
    except DecodeError:
        return None
