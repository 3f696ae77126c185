"""Our declarations, the files of `abouts` and releases in; the files as they should be, and every difference, out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final

from decoders.embedded import STRUCTURES, parse_structure_declaration
from decoders.named_tuple import NamedTuple
from decoders.protocol_facts.header_versions import REQUEST_HEADER, RESPONSE_HEADER
from decoders.schema.api_declaration import Api, Field, Message, Side, parse_message
from kwcli.declarations import declaration_text
from kwcli.declarations.compare_with_release import DeclarationDifference
from kwcli.declarations.read_release_jar import Release
from kwcli.reference.field_descriptions import OWN, About, parse_abouts

_SIDES: Final[tuple[Side, Side]] = ("request", "response")
_HEAD: Final = "# From Apache Kafka's message definitions (see NOTICE); lines that begin with `own` are not.\n"


class _Section(NamedTuple):
    """The lines of one message: the beginning of their paths, its layouts, its names in releases, today's first."""

    prefix: str
    layouts: Sequence[Message]
    names: Sequence[str]


class AboutsFile(NamedTuple):
    """One file as it is (`has`) and as it should be (`wants`); `lacking` are the fields without words."""

    path: Path
    has: dict[str, About]
    wants: dict[str, About]
    lacking: Sequence[str]

    @property
    def format_wanted_text(self) -> str:
        """What the file should hold."""
        return _HEAD + "".join(f"{OWN * row.own}{path}: {row.words}\n" for path, row in self.wants.items())


def make_abouts_files(
    ours: dict[int, Api], releases: Sequence[Release], newest: tuple[int, ...]
) -> Iterator[AboutsFile]:
    """Every file of abouts, with the words of the newest release that says what a field means.

    Words in the file stay if no release has others; they precede those of releases before `newest`, the release that
    our declarations were last written from, unless a newer one is there as well.
    """
    ordered = sorted(releases, key=lambda one: one.version, reverse=True)
    recent = bool(ordered) and ordered[0].version[:2] >= newest[:2]
    defined = {name for release in ordered for name in release.abouts}
    for path, sections, complete in _list_files_with_sections(ours):
        has = parse_abouts(path.read_text("utf-8")) if path.exists() else {}
        wants: dict[str, About] = {}
        lacking = []
        for section in sections:
            for place, spellings in _list_paths_of_fields(section.layouts):
                line = f"{section.prefix}.{place}"
                said = _find_about_of_field(section.names, spellings, ordered)
                kept = has.get(line)
                if said is not None and (recent or kept is None or kept.own):
                    kept = About(said)
                if kept is not None:
                    wants[line] = kept
                elif complete or defined.intersection(section.names):
                    lacking.append(line)
        yield AboutsFile(path, has, wants, lacking)


def compare_abouts_files(
    ours: dict[int, Api], releases: Sequence[Release], newest: tuple[int, ...]
) -> Iterator[DeclarationDifference]:
    """Differences of the files of abouts from what releases say; a field without words is one, too."""
    for file in make_abouts_files(ours, releases, newest):
        place = f"abouts/{file.path.stem}"
        for line in file.lacking:
            yield DeclarationDifference(
                f"{place} {line}", (), f"no release says what it means: add a line `{OWN}{line}: …`"
            )
        for line in file.has.keys() - file.wants.keys():
            yield DeclarationDifference(f"{place} {line}", (), "no declaration has this field")
        for line, about in file.wants.items():
            if line not in file.has:
                yield DeclarationDifference(f"{place} {line}", (), f"about is missing, Kafka says {about.words!r}")
            elif about != file.has[line]:
                yield DeclarationDifference(
                    f"{place} {line}", (), f"about is {file.has[line].words!r}, Kafka says {about.words!r}"
                )


def _list_files_with_sections(ours: dict[int, Api]) -> Iterator[tuple[Path, list[_Section], bool]]:
    """Each file with its sections, and whether every field has words, also where no release has any."""
    for api in ours.values():
        sections = []
        for side in _SIDES:
            early = (message for place, message in api.early.items() if place[0] == side)
            names = [name + side.capitalize() for name in (api.name, *api.was)]
            sections.append(_Section(side, [api.message(side), *early], names))
        yield (
            _abouts_path(declaration_text.APIS, declaration_text.declaration_path(api.key, api.name).stem),
            sections,
            True,
        )
    headers = [parse_message(text) for text in (REQUEST_HEADER, RESPONSE_HEADER)]
    yield _abouts_path(declaration_text.APIS, "headers"), [*map(_make_message_section, headers)], False
    modules: dict[str, list[_Section]] = {}
    for name, row in STRUCTURES.items():
        modules.setdefault(row.module, []).append(_make_message_section(parse_structure_declaration(name)))
    for module, sections in modules.items():
        yield _abouts_path(declaration_text.STRUCTURES, module), sections, False


def _abouts_path(folder: Path, module: str) -> Path:
    return folder / "abouts" / f"{module}.txt"


def _make_message_section(message: Message) -> _Section:
    return _Section(message.name, [message], [message.name])


def _list_paths_of_fields(layouts: Iterable[Message]) -> Iterator[tuple[str, list[str]]]:
    """The path of each field of all layouts, once, and all paths that releases may give it, today's first."""
    found: dict[str, dict[str, None]] = {}
    for message in layouts:
        for place, spellings in _list_paths_of_nested_fields(message.fields, "", [""]):
            found.setdefault(place, {}).update(dict.fromkeys(spellings))
    for place, known in found.items():
        yield place, [*known]


def _list_paths_of_nested_fields(
    fields: Iterable[Field], above: str, spelt: Sequence[str]
) -> Iterator[tuple[str, list[str]]]:
    for field in fields:
        names = [before + name for name in (field.name, *field.was) for before in spelt]
        yield above + field.name, names
        dots = "[]" * field.array + "."
        yield from _list_paths_of_nested_fields(
            field.fields, above + field.name + dots, [name + dots for name in names]
        )


def _find_about_of_field(names: Sequence[str], spellings: Sequence[str], releases: Sequence[Release]) -> str | None:
    """What the first of these releases that says something of a field says of it."""
    for release in releases:
        for name in names:
            texts = release.abouts.get(name, {})
            for spelling in spellings:
                if spelling in texts:
                    return texts[spelling]
    return None
