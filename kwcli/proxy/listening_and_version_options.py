"""Options in; where a proxy or mock listens, and which versions it serves (--as-kafka, --max, --hide), out."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

import click

from decoders.named_tuple import NamedTuple
from kwcli.names_in_any_spelling import find_api, find_release, find_version
from kwcli.options import Command, add_options, pass_options_as_value
from kwcli.run_environment import Exit, Failure

if TYPE_CHECKING:
    from decoders.protocols.make_proxy_head import ProxyVersion
    from kwcli.net.config.client_config import Address
    from kwcli.proxy.deciding.served_versions import ServedVersions
    from kwcli.proxy.proxy_settings import Listening
    from kwcli.proxy.receive_proxy_heads import Network

__all__ = ["ListeningOptions", "ServedOptions", "served_options"]


class ServedOptions(NamedTuple):
    """The options --as-kafka, --max and --hide as given."""

    as_kafka: str | None = None
    most: tuple[str, ...] = ()
    hide: tuple[str, ...] = ()

    def read_served_versions(self) -> ServedVersions | None:
        """The versions that these options serve; None where none of them was given. Raises Failure (usage)."""
        if self == ServedOptions():
            return None
        from decoders.schema.api_declaration import NONE, Versions

        limits: dict[int, Versions] = {}
        for word in _split_words(self.most):
            name, equals, number = word.partition("=")
            if not equals:
                raise Failure(f"--max {word}: write API=VERSION, as in fetch=11", Exit.USAGE)
            found = find_api(name.strip())
            limits[found.key] = Versions(0, find_version(found, number.strip()))
        for word in _split_words(self.hide):
            limits[find_api(word).key] = NONE
        from kwcli.proxy.deciding.served_versions import ServedVersions

        release = None if self.as_kafka is None else find_release(self.as_kafka)
        return ServedVersions(release, limits)


class ListeningOptions(NamedTuple):
    """The options about where clients find the proxy, and which versions they are offered."""

    port_base: int
    bind: str
    advertise: str | None
    metrics: Address | None
    served: ServedOptions
    run: str | None
    proxy_protocol: tuple[Network, ...]
    send_proxy: ProxyVersion | None

    def make_listening(self) -> Listening:
        """The settings that these options mean. Raises Failure (usage)."""
        from kwcli.proxy.proxy_settings import Listening
        from kwcli.proxy.receive_proxy_heads import HeadReceiver

        return Listening(
            self.port_base,
            self.bind,
            self.advertise,
            self.metrics,
            self.served.read_served_versions(),
            self.run,
            HeadReceiver(self.proxy_protocol) if self.proxy_protocol else None,
        )


def _split_words(given: tuple[str, ...]) -> Iterator[str]:
    return (word.strip() for each in given for word in each.split(",") if word.strip())


_OPTIONS: Final = (
    click.option(
        "--as-kafka", metavar="RELEASE", help="Serve clients only the APIs and versions of this release (2.8)."
    ),
    click.option(
        "--max", "most", multiple=True, metavar="API=VERSION,...", help="Cap these APIs at VERSION; repeatable."
    ),
    click.option("--hide", multiple=True, metavar="API,...", help="Hide these APIs, by name or number; repeatable."),
)


def served_options(command: Command) -> Command:
    """Add the options of `ServedOptions` to a command, which gets them as `served`."""
    return add_options(pass_options_as_value("served", ServedOptions, ServedOptions._fields)(command), *_OPTIONS)
