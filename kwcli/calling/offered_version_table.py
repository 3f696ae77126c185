"""The versions that several brokers offer in, one table out: an API a line, a broker a column, differences marked.

Above the lines stands the release that each broker looks like: the one whose versions differ least from those it
offers; none where all releases differ much.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from decoders.apis import api, api_name
from decoders.named_tuple import NamedTuple
from decoders.protocol_facts.api_keys import LEADER_AND_ISR
from decoders.protocol_facts.guess_release_from_offered_versions import (
    OPTIONAL,
    find_most_alike_releases,
    stable_versions_of_release,
)
from decoders.protocol_facts.kafka_releases import Offer, drop_unserved_produce_versions
from decoders.schema.api_declaration import Versions
from decoders.wire.format_and_escape_text import escape_text
from kwcli.output.short_texts import Palette, cell_width, cut_start_to_width, palette, shorten_api_name

if TYPE_CHECKING:
    from decoders.exchanges.exchange import Settled
    from kwcli.output.output_settings import Settings
    from kwcli.output.renderers import Write

ABSENT: Final = "–"
GAP: Final = "  "
NAME_LEAST: Final = 20
LEAST: Final = 9  # cells of a title: `Kafka 3.9`, `1 …2:9092`


class BrokerOffer(NamedTuple):
    """A column of the table: a broker, or a release to compare with."""

    title: str
    offer: Offer
    features: Mapping[str, str]
    looks_like: str


class VersionTable:
    """A renderer of ApiVersions exchanges; it writes the table at the end."""

    shows_skipped = False

    def __init__(self, settings: Settings, write: Write, against: str | None = None) -> None:
        self._settings = settings
        self._write = write
        self._against = against
        self._columns: list[BrokerOffer] = []
        self.errors = self.expected = self.undecoded = self.remarks = 0

    def add_broker_answer(self, title: str, response: Any) -> None:
        """Add one broker's answer, as a JSON body."""
        offer = parse_offered_versions(response)
        features = {
            _format_json_string(row["name"]): str(row["max_version_level"])
            for row in response.get("finalized_features") or ()
        }
        self._columns.append(
            BrokerOffer(
                escape_text(title.removeprefix("node ")),
                offer,
                features,
                str(find_most_alike_releases(offer)),
            )
        )

    def write(self, rows: list[Settled]) -> None:
        """Do nothing: the brokers come through add()."""

    def learn_from_unshown_rows(self, rows: list[Settled]) -> None:
        """Do nothing: the table takes nothing from rows that are not shown."""

    def close(self) -> None:
        """Write the table."""
        if not self._columns:
            return
        lines = list(
            format_version_table(self._columns, self._against, self._settings.width, palette(self._settings.color))
        )
        self._write(("\n".join(lines) + "\n").encode("utf-8", "backslashreplace"))


def _format_json_string(value: str | dict[str, str]) -> str:
    """A string of a JSON body; one that is not UTF-8 as `base64:…`."""
    return value if isinstance(value, str) else f"base64:{value['base64']}"


def parse_offered_versions(response: Mapping[str, Any]) -> dict[int, Versions]:
    """API key → versions, of an ApiVersions response."""
    return {row["api_key"]: Versions(row["min_version"], row["max_version"]) for row in response.get("api_keys") or ()}


def format_version_table(
    columns: Sequence[BrokerOffer], against: str | None, width: int | None, colors: Palette
) -> Iterator[str]:
    """The lines: titles, likeness, features, then the APIs; `≠` before a line whose cells are not all the same."""
    shown = list(columns)
    if against is not None:
        shown.append(
            BrokerOffer(f"Kafka {against}", _find_versions_of_release_on_listener(against, columns), {}, against)
        )
    keys = sorted({key for column in columns for key in column.offer} | _list_api_keys_of_release(shown, against))
    rows = [("looks like", [column.looks_like for column in shown], False)]
    for name in sorted({name for column in columns for name in column.features}):
        cell = [column.features.get(name, ABSENT) for column in columns] + [""] * (against is not None)
        rows.append((escape_text(name), cell, len(set(cell[: len(columns)])) > 1))
    for key in keys:
        cell = [_format_versions_or_dash(drop_unserved_produce_versions(column.offer).get(key)) for column in shown]
        rows.append((f"{key:>2} {api_name(key)}", cell, len(set(cell)) > 1))
    yield from _draw_version_table([column.title for column in shown], rows, width, colors)


def _find_versions_of_release_on_listener(release: str, columns: Sequence[BrokerOffer]) -> dict[int, Versions]:
    """The versions that a release offers on the listener that was asked, without the APIs of other listeners."""
    zookeeper = any(LEADER_AND_ISR in column.offer for column in columns)
    offered_here = {key for column in columns for key in column.offer}
    return {
        key: versions
        for key, versions in stable_versions_of_release(release).items()
        if key in offered_here or (key not in OPTIONAL and not zookeeper and "broker" in api(key).listeners)
    }


def _list_api_keys_of_release(shown: Sequence[BrokerOffer], against: str | None) -> set[int]:
    return set(shown[-1].offer) if against is not None else set()


def _format_versions_or_dash(versions: Versions | None) -> str:
    return ABSENT if not versions else str(versions)


def _cut_broker_title(title: str, room: int) -> str:
    """`1 kafka1:9092` in so many cells: the address is cut on the left, as its end tells more."""
    number, blank, address = title.rpartition(" ")
    return f"{number}{blank}{cut_start_to_width(address, room - len(number) - len(blank))}"


def _draw_version_table(
    titles: Sequence[str], rows: Sequence[tuple[str, list[str], bool]], width: int | None, colors: Palette
) -> Iterator[str]:
    first = max(cell_width(name) for name, _, _ in rows)
    widths = [max(cell_width(title), *(cell_width(cell[at]) for _, cell, _ in rows)) for at, title in enumerate(titles)]
    if width is not None:
        # Only addresses can be cut, not versions.
        least = [max(max(cell_width(cell[at]) for _, cell, _ in rows), LEAST) for at in range(len(titles))]
        least = [min(one, room) for one, room in zip(least, widths, strict=True)]
        while sum(widths) + len(GAP) * len(widths) + first + 2 > width and widths != least:
            widest = max((at for at in range(len(widths)) if widths[at] > least[at]), key=lambda at: widths[at])
            widths[widest] -= 1
        first = min(first, max(width - sum(widths) - len(GAP) * len(widths) - 2, NAME_LEAST))
    heading = GAP.join(_cut_broker_title(title, room).ljust(room) for title, room in zip(titles, widths, strict=True))
    yield f"{colors.dim}  {'':<{first}}{GAP}{heading.rstrip()}{colors.off}"
    for whole, cell, differs in rows:
        name = shorten_api_name(whole, first)
        sign = f"{colors.bad}≠{colors.off}" if differs else " "
        line = GAP.join(text.ljust(room) for text, room in zip(cell, widths, strict=True))
        yield f"{sign} {name}{' ' * (first - cell_width(name))}{GAP}{line}".rstrip()
