"""`--as-kafka`, `--max`, `--hide` in; offered versions, refused requests, and messages about them, out.

The problem. What a client does with an old broker, or without an API, is seen only with such a broker; brokers of old
releases are hard to come by.

The idea. A client knows a broker by its ApiVersions answer, and by its reaction to requests that it does not serve. So
the brokers' ApiVersions answers are cut down to what the release served (rewrite_addresses.py asks for them), and
requests that the release did not serve never reach the brokers:

```
ApiVersions, in a version it lacks   ──▶ UNSUPPORTED_VERSION in the layout of version 0, as since 0.10
anything else that it lacks          ──▶ the connection is closed, as brokers of all releases do
```

What always holds: no version is offered that the brokers lack. What is given up: brokers serve requests in their own
way, not in that of the release; a release before 0.10 knows no ApiVersions, and neither does the proxy then.

`kw audit` judges clients by the same code: the requests are counted in an `Audit`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from decoders.protocol_facts.api_keys import API_VERSIONS, METADATA, PRODUCE

if TYPE_CHECKING:
    from decoders.analysis.client_compatibility import Audit, AuditedClient
    from decoders.filters.prefilter import Possible
    from decoders.schema.api_declaration import Versions
    from kwcli.proxy.deciding.ask_deciders import ClientConnection
    from kwcli.proxy.relay.frame_decisions import Decision, InterceptedExchange

# Since this release a broker that lacks the version of an ApiVersions request says which it has (KIP-511).
_RANGE_TOLD: Final = "2.4"
# Since this release brokers list Produce 0 to 2, and do not serve them (KAFKA-18659).
_PRODUCE_LISTED: Final = "4.0"
_UNSUPPORTED_VERSION: Final = 35
# How many clients are reported one by one at the end.
_TOLD_MAX: Final = 20


class ServedVersions:
    """The versions that a release served, cut down to `limits`; without a release all versions within `limits`."""

    def __init__(self, release: str | None, limits: Mapping[int, Versions]) -> None:
        from decoders.protocol_facts.guess_release_from_offered_versions import stable_versions_of_release
        from decoders.protocol_facts.kafka_releases import RELEASES, feature_levels_of_release

        self.release = release
        self._limits = dict(limits)
        self._stable = None if release is None else stable_versions_of_release(release)
        self._features = None if release is None else feature_levels_of_release(release)
        self._newer = {name: release is not None and RELEASES.index(release) >= RELEASES.index(name) for name in _SINCE}

    @property
    def name(self) -> str:
        """The release and the limits for people: `Kafka 2.8, Fetch up to 11, no ListGroups`."""
        from decoders.apis import api

        parts = [] if self.release is None else [f"Kafka {self.release}"]
        for key, versions in self._limits.items():
            parts.append(f"{api(key).name} up to {versions.high}" if versions else f"no {api(key).name}")
        return ", ".join(parts)

    def served_versions(self, api_key: int) -> Versions:
        """The versions of an API that are served."""
        from decoders.schema.api_declaration import ALL, NONE

        known = ALL if self._stable is None else self._stable.get(api_key, NONE)
        return known & self._limits.get(api_key, ALL)

    def describe_refusal(self, api_key: int, version: int) -> tuple[str, str]:
        """The option that excludes such a request (`--as-kafka 2.8`), and a text of the versions that are served."""
        from decoders.apis import NAMES, api
        from decoders.schema.api_declaration import NONE

        name = api(api_key).name if api_key in NAMES else str(api_key)
        if self._stable is not None and version not in self._stable.get(api_key, NONE):
            by = f"--as-kafka {self.release}"
        else:
            most = self._limits.get(api_key, NONE)
            by = f"--max {name}={most.high}" if most else f"--hide {name}"
        return by, format_served_versions(self.served_versions(api_key))

    def limit_offered_versions(self, api_key: int, versions: Versions) -> Versions:
        """The versions of an API that clients are told, of those that brokers offer."""
        left = self.served_versions(api_key) & versions
        if left and api_key == PRODUCE and self._newer[_PRODUCE_LISTED]:
            return left._replace(low=versions.low)
        return left

    def get_allowed_feature_levels(self, feature: str) -> Versions | None:
        """The levels of a feature that clients may be told; None: any."""
        from decoders.schema.api_declaration import NONE

        return None if self._features is None else self._features.get(feature, NONE)

    def list_lacking_versions(self, offered: Mapping[int, Versions]) -> list[str]:
        """The versions that the release served, and brokers that offer `offered` do not, as a text for each API."""
        from decoders.apis import api
        from decoders.protocol_facts.guess_release_from_offered_versions import OPTIONAL
        from decoders.protocol_facts.kafka_releases import drop_unserved_produce_versions
        from decoders.schema.api_declaration import NONE

        found = []
        have = drop_unserved_produce_versions(offered)
        for key in sorted(self._stable or ()):
            wanted, its = self.served_versions(key), have.get(key, NONE)
            if key in OPTIONAL or "broker" not in api(key).listeners or not wanted or (wanted & its) == wanted:
                continue
            left = wanted & its
            part = f"{wanted} ({left} left)" if left else str(wanted)
            found.append(f"{api(key).name} {part}")
        return found

    def format_start_lines(self, offered: Mapping[int, Versions] | None) -> list[str]:
        """The lines that the proxy prints at its start; `offered` None: the brokers' versions are not known yet."""
        said = [f"clients are served as by {self.name}"]
        if self.release is None:
            return said
        if offered is None:
            return [*said, "the brokers' versions are not known yet: clients are offered only those that brokers have"]
        lacking = self.list_lacking_versions(offered)
        if lacking:
            said.append(f"brokers lack what Kafka {self.release} served: {', '.join(lacking)}")
        if API_VERSIONS not in (self._stable or ()):
            said.append(
                f"Kafka {self.release} knew no ApiVersions: clients that send it are cut off, as by that release"
            )
        return said

    def build_unsupported_version_answer(self, correlation_id: int) -> bytes:
        """The answer to an ApiVersions request in a version that is not served; with its size field."""
        from decoders.frames.frames_of_gapless_connections import with_size_field
        from decoders.messages.whole_messages import encode_response

        versions = self.served_versions(API_VERSIONS)
        told = self.release is None or self._newer[_RANGE_TOLD]
        row = {"api_key": API_VERSIONS, "min_version": versions.low, "max_version": versions.high}
        body = {"error_code": _UNSUPPORTED_VERSION, "api_keys": [row] if told else []}
        return with_size_field(encode_response(API_VERSIONS, 0, body, correlation_id=correlation_id))


_SINCE: Final = (_RANGE_TOLD, _PRODUCE_LISTED)


class VersionDecider:
    """A `Decider` that refuses requests that are not served, and remembers which clients sent them."""

    def __init__(self, served: ServedVersions) -> None:
        from decoders.analysis.client_compatibility import Audit

        self.served = served
        self._audit: Audit = Audit()
        # Client → its requests that were refused, and how often.
        self._refused: dict[AuditedClient, dict[tuple[int, int], int]] = {}
        # Clients with other requests than ApiVersions, by client id and host: not all their requests tell more of them.
        self._further: set[tuple[str | None, str]] = set()
        self._asked: dict[AuditedClient, None] = {}

    def has_rule_for(self, api_key: int, version: int) -> bool:
        """Whether such requests are not served, or tell clients apart (ApiVersions, Metadata)."""
        return api_key in (API_VERSIONS, METADATA) or version not in self.served.served_versions(api_key)

    def make_connection_decider(self, relay: ClientConnection) -> ConnectionVersionDecider:
        """The decider for one connection."""
        return ConnectionVersionDecider(self, relay)

    def refuses_client(self, relay: ClientConnection) -> bool:  # noqa: ARG002  # as a Decider has it
        """False: no client is turned away before its first request."""
        return False

    def count_request(
        self, client: AuditedClient, broker: str, use: tuple[int, int], now_ns: int, *, served: bool
    ) -> None:
        """Count a request of a client; `use` is its API key and version."""
        from decoders.limits import HISTORY_MAX

        if client not in self._asked and len(self._asked) >= HISTORY_MAX:
            return
        self._asked[client] = None
        self._audit.count_use(client, broker, use, now_ns)
        if use[0] != API_VERSIONS:
            self._further.add(client[:2])
        if not served:
            its = self._refused.setdefault(client, {})
            its[use] = its.get(use, 0) + 1

    def format_closing_lines(self) -> list[str]:
        """Lines about clients that could not work, in the words of `kw audit` where it says that they break."""
        said = []
        why = self._find_verdicts()
        for client, uses in self._refused.items():
            key = (client.client_id or client.host, client.software, client.software_version)
            said.append(
                f"{_describe_client(client)} could not work: {why.get(key) or _format_refusals(uses, self.served)}"
            )
        said += [
            f"{_describe_client(client)} asked for the versions (ApiVersions) and then nothing more"
            for client in self._asked
            if client[:2] not in self._further and client not in self._refused
        ]
        more = len(said) - _TOLD_MAX
        return said[:_TOLD_MAX] + ([f"and {more:,} more clients"] if more > 0 else [])

    def _find_verdicts(self) -> dict[tuple[str | None, str | None, str | None], str]:
        """Why clients break, as `kw audit` says it, by client id, software and its version."""
        from decoders.analysis.client_compatibility import AuditTarget
        from decoders.apis import KEYS

        served = {key: versions for key in KEYS if (versions := self.served.served_versions(key))}
        rows = self._audit.rows(AuditTarget(self.served.name, served, self.served.release))
        found = {}
        for row in rows:
            if row["verdict"] == "breaks":
                software = row["client_software"] or {"name": None, "version": None}
                found[row["client_id"], software["name"], software["version"]] = row["why"]
        return found


def format_served_versions(versions: Versions) -> str:
    """`0 to 12 are served`, `is not served`."""
    return f"{versions.low} to {versions.high} are served" if versions else "is not served"


def _describe_client(client: AuditedClient) -> str:
    software = f"{client.software} {client.software_version or ''}".strip() + ", " if client.software else ""
    return f"client {client.client_id or 'without an id'} ({software}{client.host})"


def _format_refusals(uses: Mapping[tuple[int, int], int], served: ServedVersions) -> str:
    from decoders.apis import NAMES, api

    parts = []
    for key, version in sorted(uses):
        name = api(key).name if key in NAMES else f"API {key}"
        parts.append(f"{name} {version} ({format_served_versions(served.served_versions(key))})")
    return ", ".join(parts)


class ConnectionVersionDecider:
    """The part of a `VersionDecider` that is about one connection."""

    __slots__ = ("_relay", "_software", "_version_decider")

    def __init__(self, version_decider: VersionDecider, relay: ClientConnection) -> None:
        self._version_decider = version_decider
        self._relay = relay
        self._software: tuple[str | None, str | None] = (None, None)

    def prefilter_by_header(self, api_key: int, version: int, client_id: bytes | None) -> Possible:  # noqa: ARG002  # as a decider has it
        """Whether the version_decider wants requests of this API and version."""
        return self._version_decider.has_rule_for(api_key, version)

    def decide_request(self, exchange: InterceptedExchange, now_ns: int) -> Decision | None:
        """Refuse a request that is not served, else let it pass."""
        from kwcli.proxy.relay.frame_decisions import PASS, Decision, Then

        key, version = exchange.api_key, exchange.version
        served = version in self._version_decider.served.served_versions(key)
        if key == API_VERSIONS:
            self._learn_software(exchange)
        fallback = key == API_VERSIONS and bool(self._version_decider.served.served_versions(key))
        listener = self._relay.listener
        self._version_decider.count_request(
            self._make_audited_client(exchange), listener.title, (key, version), now_ns, served=served or fallback
        )
        if served:
            return PASS
        self._relay.log_refusal(exchange.correlation_id, *self._version_decider.served.describe_refusal(key, version))
        if fallback:
            return Decision(
                reply=self._version_decider.served.build_unsupported_version_answer(exchange.correlation_id)
            )
        reason = f"{exchange.base} is not served by {self._version_decider.served.name}"
        return Decision(b"", then=Then.CLOSE, reason=reason)

    def decide_response(self, exchange: InterceptedExchange, now_ns: int) -> Decision | None:  # noqa: ARG002  # as a decider has it
        """PASS: the version_decider does not look at answers."""
        from kwcli.proxy.relay.frame_decisions import PASS

        return PASS

    def end_connection(self) -> None:
        """Called when the connection is over; nothing is to be done."""

    def _learn_software(self, exchange: InterceptedExchange) -> None:
        from decoders.errors import DecodeError
        from decoders.messages.whole_messages import decode_request

        try:
            body = decode_request(exchange.request[4:]).body
        except DecodeError:
            return
        self._software = (body.get("client_software_name") or None, body.get("client_software_version") or None)

    def _make_audited_client(self, exchange: InterceptedExchange) -> AuditedClient:
        from decoders.analysis.client_compatibility import AuditedClient
        from decoders.errors import DecodeError
        from decoders.frames.read_and_judge_headers import read_request_head

        try:
            data = read_request_head(exchange.request, 0, len(exchange.request)).client_id
        except DecodeError:
            data = None
        client_id = None if data is None else data.decode("utf-8", "replace")
        return AuditedClient(client_id, self._relay.peer.rpartition(":")[0], *self._software)
