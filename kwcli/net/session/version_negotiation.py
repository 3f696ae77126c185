"""The ApiVersions conversation: the requests to send, and the versions that the broker's answers offer.

Sources: KIP-35, KIP-511, KIP-1242.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping
from typing import Any, Final

from decoders.apis import api_name
from decoders.errors import DecodeError
from decoders.messages.whole_messages import decode_response, encode_message
from decoders.named_tuple import NamedTuple
from decoders.protocol_facts.api_keys import API_VERSIONS, OFFSET_FETCH, PRODUCE, VOTE
from decoders.protocol_facts.errors.error_codes import error_name
from decoders.protocol_facts.kafka_releases import api_versions_of_release
from decoders.schema.api_declaration import Versions
from kwcli.net.explain_connection_end import make_broken_protocol_stop
from kwcli.net.session import RequestStep, Step, TimedFrame

# Version 5 names the broker that the client believes to reach (KIP-1242), so it is for clients that know.
HIGHEST: Final = 4
HIGHEST_KNOWING: Final = 5
# The first version that names the client's software.
NAMES_SOFTWARE: Final = 3
UNSUPPORTED_VERSION: Final = 35
# After the size field and the correlation id.
_ERROR_AT: Final = 8
# More rounds than any honest broker needs: 5, 4, 0.
_ROUNDS: Final = 4
# The versions of ApiVersions with which a broker is asked again that closed on a higher one, as librdkafka does.
LOWER_VERSIONS: Final = (3, 2, 1, 0)


class Offer(NamedTuple):
    """The versions that a broker speaks. `answer` is its ApiVersions response.

    `assumed` is the release whose versions these are, for a broker too old to know ApiVersions; `answer` is then empty.
    `settled`: the settings say so, and the broker is not asked for a sign of life.
    """

    versions: dict[int, Versions]
    answer: Mapping[str, Any]
    assumed: str = ""
    settled: bool = False


def negotiate_versions(
    software: tuple[str, str],
    cluster_id: str | None = None,
    node_id: int | None = None,
    highest: int = HIGHEST,
) -> Generator[Step, TimedFrame, Offer]:
    """Ask with the highest sensible ApiVersions; a broker that knows less names its versions, or is asked with 0.

    `highest`: the version to begin with, where the broker has closed a connection on a higher one. Raises
    ConnectionStop.
    """
    body: dict[str, Any] = {"client_software_name": software[0], "client_software_version": software[1]}
    version = highest
    if highest == HIGHEST and cluster_id is not None and node_id is not None:
        version = HIGHEST_KNOWING
        body.update(cluster_id=cluster_id, node_id=node_id)
    for _ in range(_ROUNDS):
        said = body if version >= NAMES_SOFTWARE else {}
        frame = yield RequestStep(API_VERSIONS, version, encode_message(API_VERSIONS, version, "request", said))
        try:
            response = decode_response(frame.data[4:], API_VERSIONS, version)
        except DecodeError as error:
            if version and _is_unsupported_version(frame):
                version = 0
                continue
            raise make_broken_protocol_stop(f"answered ApiVersions {version} with {error}", "is it Kafka?") from None
        answer = response.body
        ranges = _parse_version_ranges(answer)
        code = answer["error_code"]
        if code == UNSUPPORTED_VERSION and version:
            known = ranges.get(API_VERSIONS)
            version = min(known.high, version - 1) if known else 0
            continue
        if code:
            raise make_broken_protocol_stop(f"answered ApiVersions {version} with {error_name(code)}")
        return Offer(ranges, answer)
    raise make_broken_protocol_stop("refuses every version of ApiVersions, even those that it offers")


def _is_unsupported_version(frame: TimedFrame) -> bool:
    """Whether an answer that cannot be decoded begins with UNSUPPORTED_VERSION, as librdkafka's mock sends it."""
    return frame.data[_ERROR_AT : _ERROR_AT + 2] == UNSUPPORTED_VERSION.to_bytes(2, "big")


def probe_old_broker(client: str) -> Generator[Step, TimedFrame, None]:
    """Make sure that a peer that did not know ApiVersions is a broker: ask for no offsets. Raises ConnectionStop."""
    body = encode_message(OFFSET_FETCH, 0, "request", {"group_id": client, "topics": []})
    frame = yield RequestStep(OFFSET_FETCH, 0, body)
    try:
        decode_response(frame.data[4:], OFFSET_FETCH, 0)
    except DecodeError as error:
        raise make_broken_protocol_stop(
            f"knows no ApiVersions and answered OffsetFetch 0 with {error}", "is it Kafka?"
        ) from None


def make_assumed_offer(release: str, *, settled: bool = False) -> Offer:
    """The versions that a broker which does not know ApiVersions is assumed to speak: those of a release."""
    return Offer(dict(api_versions_of_release(release)), {}, assumed=release, settled=settled)


def is_controller(versions: Mapping[int, Versions]) -> bool:
    """Whether these are the APIs of a listener of KRaft controllers: it takes Vote, and no Produce."""
    return VOTE in versions and PRODUCE not in versions


def find_impossible_versions(answer: Mapping[str, Any]) -> list[str]:
    """The APIs that a broker offers in impossible versions, in words; -1 to -1 is the honest way to offer none."""
    found = []
    for row in answer.get("api_keys") or ():
        low, high = row["min_version"], row["max_version"]
        if high >= 0 and not 0 <= low <= high:
            found.append(f"{api_name(row['api_key'])} in versions {low} to {high}")
    return found


def _parse_version_ranges(answer: Mapping[str, Any]) -> dict[int, Versions]:
    """API key → versions; an impossible range is left out, of two ranges for one API the first counts."""
    ranges: dict[int, Versions] = {}
    for row in answer["api_keys"]:
        versions = Versions(row["min_version"], row["max_version"])
        if versions and versions.low >= 0:
            ranges.setdefault(row["api_key"], versions)
    return ranges
