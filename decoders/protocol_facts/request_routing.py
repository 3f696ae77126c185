"""Where a request goes, who sends it, and whether it changes something: sections of the API's declaration.

`route TO PATH…`: `to` says which node can serve it:

- `any`: whichever node was reached (also what only one node can be asked but the request does not name: log dirs).
- `leader`: the leader of each partition that it names.
- `group`, `transaction`: the coordinator of each group or transactional id that it names; without one (null), any node.
- `share`: the coordinator of each key `group:topic id:partition` that it names.
- `resource`: a resource of a type in NODE_RESOURCES goes to the broker whose id its name is, unless that is empty (the
  setting of all brokers). All others: any node when reading, the controller when changing.
- `controller`: the active controller. A KRaft broker forwards, so that any broker does; a controller listener and a
  ZooKeeper cluster want the active one itself.
- `all`: every broker, each knows only its own.

`path` holds the fields of the request that together name the place, outermost first, without indices; `a|b` where the
field has another name in other versions: in each version exactly one of them exists.

`sent by`: `client` (producers, consumers, Streams), `tool` (admin clients and command-line tools), `broker`,
`controller`. `mutates`: it changes the cluster, its data, or what others see of it; what a first look-up of a
coordinator brings about (its internal topic is created) does not count.
"""

from __future__ import annotations

from functools import cache
from typing import Final, Literal, get_args

from decoders.apis import section
from decoders.named_tuple import NamedTuple

__all__ = ["NODE_RESOURCES", "Route", "Sender", "To", "route_of_api"]

To = Literal["any", "leader", "group", "transaction", "share", "resource", "controller", "all"]
Sender = Literal["client", "tool", "broker", "controller"]

# Config resource types whose names are broker ids: BROKER and BROKER_LOGGER.
NODE_RESOURCES: Final = frozenset({4, 8})


class Route(NamedTuple):
    """Where the requests of one API go."""

    to: To
    path: tuple[str, ...]
    sent_by: tuple[Sender, ...]
    mutates: bool


_UNKNOWN: Final = Route("any", (), sent_by=(), mutates=True)


@cache
def route_of_api(api_key: int) -> Route:
    """The route of an API; where its declaration says none, any node, and it may change something."""
    said, sent = section(api_key, "route"), section(api_key, "sent")
    if said is None or sent is None:
        return _UNKNOWN
    to, *path = said.text.split() or [""]
    by, *sent_by = sent.text.split() or [""]
    if to not in get_args(To):
        raise said.error(f"no kind of route {to!r}")
    if by != "by" or not sent_by or not {*sent_by} <= {*get_args(Sender)}:
        raise sent.error(f"`sent by` and any of {' '.join(get_args(Sender))}")
    return Route(to, tuple(path), tuple(sent_by), section(api_key, "mutates") is not None)  # type: ignore[arg-type]  # checked
