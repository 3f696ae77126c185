"""A request in; the nodes of the other cluster that it goes to, and the version to send, out.

One client looks up leaders and coordinators for all connections of a replay, one at a time. Looking up changes nothing:
asking for a topic never creates it, and no coordinator is asked for where that would create its internal topic.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

from decoders.apis import api
from decoders.named_tuple import NamedTuple
from decoders.protocol_facts.api_keys import API_VERSIONS, FIND_COORDINATOR, METADATA
from decoders.protocol_facts.extract_routing_keys import extract_routing_keys
from decoders.protocol_facts.kafka_releases import drop_unserved_produce_versions
from decoders.protocol_facts.request_routing import route_of_api
from decoders.replaying.id_map import NotReplayable
from decoders.replaying.version_conversion import nearest_version
from decoders.schema.api_declaration import NONE, Versions
from kwcli.calling.request_destinations import RequestRouter
from kwcli.net.cluster_client import ClusterClient
from kwcli.net.command_deadline import Deadline
from kwcli.net.metadata_messages import WITHOUT_CREATING, are_apis_of_kraft_node

if TYPE_CHECKING:
    from kwcli.net.config.client_config import Address, ClientConfig
    from kwcli.net.session.oauth_tokens import Credentials
    from kwcli.run_environment import Environment

__all__ = ["NodeRequest", "ReplayTarget"]

# The internal topics of coordinators, by what they coordinate (_KEY_TYPES: by the key type of FindCoordinator).
INTERNAL: Final[Mapping[str, str]] = {
    "group": "__consumer_offsets",
    "transaction": "__transaction_state",
    "share": "__share_group_state",
}
# How long (s) a topic that does not exist is not asked for again.
ABSENT_S: Final = 2.0
_KEY_TYPES: Final[Mapping[int, str]] = {0: "group", 1: "transaction", 2: "share"}


class NodeRequest(NamedTuple):
    """A node that gets a request, or its share of it; `node` is -1 where its id is not known."""

    address: Address
    node: int
    body: Mapping[str, Any]


class ReplayTarget:
    """The other cluster. Not thread-safe."""

    def __init__(self, env: Environment, config: ClientConfig, *, creates: bool) -> None:
        """Connects to a first node. Raises Failure. `creates`: look-ups may create Kafka's internal topics."""
        self.config = config
        self._env = env
        self._creates = creates
        self._cluster = ClusterClient(config, self._make_deadline(), tell=self._report_on_stderr)
        self._absent: dict[str, float] = {}  # topic → until when it need not be asked for again
        self._internal: set[str] = set()
        try:
            self.nodes = sorted(self._cluster.list_nodes())
            self._versions = drop_unserved_produce_versions(self._cluster.connect_to_any().versions)
        except BaseException:
            self._cluster.close()
            raise

    def close(self) -> None:
        """Close the connections of the look-ups."""
        self._cluster.close()

    @property
    def cluster_id(self) -> str | None:
        """The id of the other cluster, as Metadata tells it."""
        return self._cluster.cluster_id

    @property
    def credentials(self) -> Credentials | None:
        """The credentials that all connections log in with."""
        return self._cluster.credentials

    @property
    def topic_names(self) -> dict[UUID, str]:
        """The names of topics that were looked up, by id."""
        return self._cluster.topic_names

    def find_topic_id(self, name: str) -> UUID | None:
        """The id of a topic; None where there is no such topic, or it has none. Raises Failure."""
        cluster = self._get_client_with_new_deadline()
        if self._absent.get(name, 0.0) > self._env.monotonic():
            return None
        found = cluster.find_topics([name]).get(name)
        if found is None:
            self._absent[name] = self._env.monotonic() + ABSENT_S
        return None if found is None or found.id is None or not found.id.int else found.id

    def choose_version(self, api_key: int, recorded: int) -> int:
        """The version to send: the recorded one, or the nearest that is served. Raises NotReplayable."""
        if api_key == API_VERSIONS:
            return recorded  # any is answered
        served = self._versions.get(api_key, NONE) & api(api_key).versions
        if not served:
            raise NotReplayable("not_offered", f"the cluster does not offer {api(api_key).name}")
        if api_key == METADATA and served.high >= WITHOUT_CREATING:
            served &= Versions(WITHOUT_CREATING, served.high)
        return nearest_version(recorded, served)

    def check_creates_no_topic(self, api_key: int, version: int, body: Mapping[str, Any]) -> None:
        """Raise NotReplayable where asking would create topics that do not exist. Raises Failure, too."""
        if api_key == METADATA and version < WITHOUT_CREATING:
            named = [topic["name"] for topic in body.get("topics") or ()]
            cluster = self._get_client_with_new_deadline()
            unknown = set(named) - cluster.find_topics(named).keys()
            if unknown:
                text = f"asking for {min(unknown)} could create it: the cluster takes only Metadata below 4"
                raise NotReplayable("no_topic", text)
        elif api_key == FIND_COORDINATOR:
            self._check_internal_topic(_KEY_TYPES.get(body.get("key_type", 0), "group"))

    def build_node_requests(
        self, api_key: int, version: int, body: Mapping[str, Any], node: int | None
    ) -> list[NodeRequest]:
        """The nodes that a request goes to; `node` gets requests for any node. Raises NotReplayable, Failure."""
        way = route_of_api(api_key)
        cluster = self._get_client_with_new_deadline()
        kraft = are_apis_of_kraft_node(cluster.connect_to_any().versions)
        unnamed = way.to != "controller" and not _list_named_places(api_key, version, body)
        if way.to in ("any", "all") or (way.to == "controller" and kraft) or unnamed:
            return [self._build_node_request(cluster, node, body)]
        if way.to in INTERNAL:
            self._check_internal_topic(way.to)
        found = RequestRouter(cluster, api(api_key), None, split=True).find_destinations(version, body)
        return [
            NodeRequest(each.connection.address, _number_or_unknown(each.connection.node_id), each.body)
            for each in found
        ]

    def build_requests_of_node(self, node: int, body: Mapping[str, Any]) -> list[NodeRequest]:
        """The request for one certain node. Raises Failure."""
        cluster = self._get_client_with_new_deadline()
        return [self._build_node_request(cluster, node, body)]

    def forget_leaders_and_coordinators(self) -> None:
        """Forget leaders and coordinators, which may have moved."""
        self._cluster.forget_looked_up_answers()

    def _build_node_request(self, cluster: ClusterClient, node: int | None, body: Mapping[str, Any]) -> NodeRequest:
        known = cluster.list_nodes()
        if node is None or node not in known:
            first = cluster.connect_to_any()
            return NodeRequest(first.address, _number_or_unknown(first.node_id), body)
        return NodeRequest(known[node].address, node, body)

    def _check_internal_topic(self, coordinator_kind: str) -> None:
        name = INTERNAL[coordinator_kind]
        if self._creates or name in self._internal:
            return
        cluster = self._get_client_with_new_deadline()
        there = cluster.find_topics([name])
        if name not in there:
            text = f"the cluster has no {name} yet, and looking for its coordinator would create it"
            raise NotReplayable("no_coordinators", text)
        self._internal.add(name)

    def _get_client_with_new_deadline(self) -> ClusterClient:
        """The client of the look-ups, with a new deadline."""
        self._cluster.set_deadline(self._make_deadline())
        return self._cluster

    def _make_deadline(self) -> Deadline:
        return Deadline(self.config.timeout_s, self._env.monotonic)

    def _report_on_stderr(self, text: str, important: bool) -> None:
        if important:
            self._env.report(f"kw: {text}")


def _list_named_places(key: int, version: int, body: Mapping[str, Any]) -> Iterable[object]:
    """The places that a request names; one None for an API whose requests name no places."""
    return extract_routing_keys(key, version, body) if route_of_api(key).path else [None]


def _number_or_unknown(node: int | None) -> int:
    return -1 if node is None else node
