"""What kw, the broker and the user allow in, the version to send out, or one line that says why there is none."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

from decoders.apis.keys import FETCH, PRODUCE
from decoders.apis.releases import UNSTABLE, history, spoken
from decoders.schema.model import NONE, Api, Versions
from kwcli.env import Exit, Failure
from kwcli.spelling import find_release

# Brokers from 4.0 on list Produce 0-2 for the sake of old librdkafka, and close the connection on it (KIP-896). They
# are known by the Fetch versions that they have given up.
PRODUCE_SERVED: Final = 3
FETCH_SINCE_4: Final = 4


class VersionChoice(NamedTuple):
    """What the user said about the version: a number, a release to speak like, or nothing."""

    number: int | None = None
    release: str | None = None
    force: bool = False

    @classmethod
    def of(cls, api: Api, number: int | None, release: str | None, *, force: bool, raw: bool = False) -> VersionChoice:
        """A wish that kw can fulfil. Raises Failure (usage) for one that it cannot, before any connection.

        `raw`: the bytes of the body are given, so kw need not know the version.
        """
        if number is not None and release is not None:
            raise Failure("--api-version and --as-kafka exclude each other", Exit.USAGE)
        if number is not None and number not in api.versions and not raw:
            raise Failure(f"{api.name} has versions {api.versions}, not {number}", Exit.USAGE)
        if release is not None:
            as_spoken(api, release)
        return cls(number, release, force)

    def candidates(self, api: Api) -> Versions:
        """The versions that the user's words leave."""
        if self.number is not None:
            return Versions(self.number, self.number)
        return api.versions if self.release is None else as_spoken(api, self.release)


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
    """Who does not offer an API, where one of the two kinds of listener was taken for the other."""
    from kwcli.net.session.opening import is_controller

    if is_controller(advertised) and "controller" not in api.listeners:
        return f"is a controller, which has no {api.name}: ask a broker"
    if api.listeners == ("controller",) and not is_controller(advertised):
        return f"does not offer {api.name}, which is for controllers: give one by --bootstrap-controller"
    return f"does not offer {api.name}"


def common(api: Api, advertised: Mapping[int, Versions], wish: VersionChoice, node: str) -> Versions:
    """The versions that may be sent to a broker that advertises these, `node` being its name for people.

    Raises Failure where there is none, or where the broker is known to list a version that it does not serve.
    """
    wanted = wish.candidates(api)
    if wish.force:
        return wanted
    offered = advertised.get(api.key, NONE)
    if not offered:
        raise Failure(f"{node} {_not_offered(api, advertised)} (--force sends it anyway)")
    both = wanted & offered
    if not both:
        said = f"version {wanted}" if wanted.low == wanted.high else f"versions {wanted}"
        raise Failure(f"{node} offers {api.name} {offered}, not {said} (--force sends it anyway)")
    if api.key == PRODUCE and advertised.get(FETCH, NONE).low >= FETCH_SINCE_4:
        served = both & Versions(PRODUCE_SERVED, both.high)
        if not served:
            raise Failure(
                f"{node} lists Produce {both} but does not serve it: brokers from 4.0 on close the connection on "
                f"versions below {PRODUCE_SERVED} (--force sends it anyway)"
            )
        both = served
    return both
