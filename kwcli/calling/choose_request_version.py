"""The version of a request to send: the user's choice, and what both sides have."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from decoders.named_tuple import NamedTuple
from decoders.protocol_facts.kafka_releases import (
    UNSTABLE,
    api_versions_of_release,
    drop_unserved_produce_versions,
    versions_of_api_by_release,
)
from decoders.protocol_facts.parse_versions_and_releases import HIGHEST, LOWEST
from decoders.schema.api_declaration import NONE, Api, Versions
from kwcli.names_in_any_spelling import find_release, parse_api_version
from kwcli.run_environment import Exit, Failure


class VersionChoice(NamedTuple):
    """The user's choice of version: a number, the highest or lowest, a release to speak like, or none."""

    number: int | None = None
    release: str | None = None
    force: bool = False
    end: Literal["", "highest", "lowest"] = ""  # of the versions that both sides have

    @classmethod
    def from_options(
        cls, api: Api, word: str | int | None, release: str | None, *, force: bool, raw: bool = False
    ) -> VersionChoice:
        """The user's choice, checked. Raises Failure (usage) for one that kw cannot fulfil, before any connection.

        `word` is a number, or a text for `parse_api_version`. `raw`: the bytes of the body are given, so kw need not
        know the version.
        """
        if word is not None and release is not None:
            raise Failure("--api-version and --as-kafka exclude each other", Exit.USAGE)
        if str(word).strip().lower() in HIGHEST | LOWEST:
            return cls(None, None, force, "highest" if str(word).strip().lower() in HIGHEST else "lowest")
        number = None if word is None else parse_api_version(api, word)
        if number is not None and number not in api.versions and not raw:
            raise Failure(f"{api.name} has versions {api.versions}, not {number}", Exit.USAGE)
        if release is not None:
            find_versions_of_release(api, release)
        return cls(number, release, force)

    def list_candidate_versions(self, api: Api) -> Versions:
        """The versions that the user's choice leaves."""
        if self.number is not None:
            return Versions(self.number, self.number)
        return api.versions if self.release is None else find_versions_of_release(api, self.release)

    def keep_lowest_if_asked(self, versions: Versions) -> Versions:
        """Only the lowest of these versions, where the lowest was asked for; else all of them."""
        return Versions(versions.low, versions.low) if self.end == "lowest" else versions


def find_versions_of_release(api: Api, release: str) -> Versions:
    """The versions of an API that brokers and clients of a release use unless told otherwise."""
    release = find_release(release)
    found = api_versions_of_release(release).get(api.key, NONE)
    if UNSTABLE.get(release, {}).get(api.key) == found.high:
        found = Versions(found.low, found.high - 1)
    if not found:
        since = next(iter(versions_of_api_by_release(api.key)), "none known")
        raise Failure(f"Kafka {release} has no {api.name} (first in {since})", Exit.USAGE)
    return found & api.versions


def _explain_missing_api(api: Api, advertised: Mapping[int, Versions]) -> str:
    """The error text for an API that a node does not offer; tells if brokers and controllers were mixed up."""
    from kwcli.net.session.version_negotiation import is_controller

    if is_controller(advertised) and "controller" not in api.listeners:
        return f"is a controller, which has no {api.name}: ask a broker"
    if api.listeners == ("controller",) and not is_controller(advertised):
        return f"does not offer {api.name}, which is for controllers: give one by --bootstrap-controller"
    return f"does not offer {api.name}"


def find_common_versions(api: Api, advertised: Mapping[int, Versions], choice: VersionChoice, node: str) -> Versions:
    """The versions that may be sent to a broker that advertises these; `node` is its name for people.

    Raises Failure where there is none, or where the broker is known to list a version that it does not serve.
    """
    wanted = choice.list_candidate_versions(api)
    if choice.force:
        return choice.keep_lowest_if_asked(wanted)
    offered = advertised.get(api.key, NONE)
    if not offered:
        raise Failure(f"{node} {_explain_missing_api(api, advertised)} (--force sends it anyway)")
    both = wanted & offered
    if not both:
        said = f"version {wanted}" if wanted.low == wanted.high else f"versions {wanted}"
        raise Failure(f"{node} offers {api.name} {offered}, not {said} (--force sends it anyway)")
    served = drop_unserved_produce_versions(advertised)[api.key]
    if not both & served:
        raise Failure(
            f"{node} lists {api.name} {both} but does not serve it: brokers from 4.0 on close the connection on "
            f"versions below {served.low} (--force sends it anyway)"
        )
    return choice.keep_lowest_if_asked(both & served)
