"""The versions that a broker offers in, the releases that it looks like out."""

from __future__ import annotations

from typing import Final

from decoders.apis import api
from decoders.named_tuple import NamedTuple
from decoders.protocol_facts.api_keys import GET_TELEMETRY_SUBSCRIPTIONS, LEADER_AND_ISR, PRODUCE, PUSH_TELEMETRY, VOTE
from decoders.protocol_facts.kafka_releases import (
    RELEASES,
    UNSTABLE,
    Offer,
    api_versions_of_release,
    drop_unserved_produce_versions,
)
from decoders.schema.api_declaration import Versions

__all__ = ["OPTIONAL", "ReleaseLikeness", "find_most_alike_releases", "stable_versions_of_release"]

# Offered only where a metrics plug-in asks for them.
OPTIONAL: Final = frozenset({GET_TELEMETRY_SUBSCRIPTIONS, PUSH_TELEMETRY})
# One in so many APIs may differ from those of a release.
SHARE: Final = 4


class ReleaseLikeness(NamedTuple):
    """Releases that an offer looks like equally well, and in how many APIs it differs from them, of how many."""

    releases: tuple[str, ...]
    differences: int
    apis: int

    @property
    def is_likely_kafka_release(self) -> bool:
        """Whether it is one of them, maybe with changes: what differs in more is something else (librdkafka's mock)."""
        return self.differences * SHARE <= self.apis

    def __str__(self) -> str:
        if not self.is_likely_kafka_release:
            return "no release"
        first, last = self.releases[0], self.releases[-1]
        name = first if first == last else f"{first}–{last}"
        return name if not self.differences else f"~{name}"


def stable_versions_of_release(release: str) -> dict[int, Versions]:
    """API key → the versions that brokers of a release offer unless told otherwise."""
    hidden = UNSTABLE.get(release, {})
    found = {}
    for key, versions in api_versions_of_release(release).items():
        shown = Versions(versions.low, versions.high - 1) if hidden.get(key) == versions.high else versions
        if shown:
            found[key] = shown
    return found


def find_most_alike_releases(offer: Offer) -> ReleaseLikeness:
    """The releases that the offer differs least from."""
    served = drop_unserved_produce_versions(offer)
    counts = {release: _count_differing_apis(served, stable_versions_of_release(release)) for release in RELEASES}
    least = min(counts.values())
    nearest = tuple(release for release in RELEASES if counts[release] == least)
    return ReleaseLikeness(
        nearest, least, max(len(served.keys() | stable_versions_of_release(release).keys()) for release in nearest)
    )


def _count_differing_apis(offer: Offer, release: Offer) -> int:
    """How many APIs are offered in other versions than the release has, or missing though its brokers have them."""
    wrong = sum(release.get(key) != versions for key, versions in offer.items() if key not in OPTIONAL)
    # A node offers those of its listener; a ZooKeeper broker those that its controller sends, too.
    if LEADER_AND_ISR in offer:
        return wrong
    listener = "controller" if VOTE in offer and PRODUCE not in offer else "broker"
    missing = [key for key in release if key not in offer and key not in OPTIONAL]
    return wrong + sum(listener in api(key).listeners for key in missing)
