"""A fold of findings in; its rows out, whose evidence has files, and the command line that shows it."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Final

from decoders.analysis.doctor.resent_batches import set_file_names_in_rows
from kwcli.analyses.finding_ignore_rules import IgnoreRules
from kwcli.analyses.render_answer import AnswerRenderer, Text
from kwcli.reading.capture_sources import escape_non_utf8
from kwcli.reading.list_input_files import is_read_once, list_paths

if TYPE_CHECKING:
    from decoders.analysis.advisories.advisory_audit import AdvisoryAudit
    from decoders.analysis.doctor.doctor import Doctor
    from decoders.analysis.fold_interface import Row
    from decoders.analysis.security_audit import Security
    from kwcli.capture_options import CaptureOptions
    from kwcli.output.output_settings import Settings

__all__ = [
    "FindingRenderer",
    "add_commands_to_findings",
    "add_commands_to_stored_findings",
    "list_reading_options",
    "quote_shell_word",
]

# So many exchanges of the evidence a command shows.
_NAMED: Final = 3
# So many files are written one by one where no pattern stands for them.
_FILES_FEW: Final = 3
# The option of `kw trace` that lists the records of a finding.
_RECORDS_OF_FINDINGS: Final = {
    "batch-misrouted": "--misrouted",
    "read-past": "--losses",
    "written-twice": "--duplicates",
}


class FindingRenderer(AnswerRenderer):
    """Writes findings; each row with evidence has the `command` that shows it, if the inputs can be read again."""

    def __init__(self, fold: Doctor | Security | AdvisoryAudit, kind: str, text: Text, settings: Settings) -> None:
        super().__init__(fold, kind, self._make_finding_rows, text, settings)
        self._fold = fold
        self._files: Sequence[str] = ()
        self.ignore = IgnoreRules()
        self.set_file_names = self._set_file_names

    def _set_file_names(self, names: Sequence[str]) -> None:
        self._files = names

    def _make_finding_rows(self) -> list[Row]:
        rows = self._fold.rows()
        if self._files:
            set_file_names_in_rows(rows, [*map(escape_non_utf8, self._files)])
        rows = self.ignore.drop_ignored_findings(rows)
        if self.capture is not None:
            add_commands_to_findings(rows, self.capture, self._files)
        return rows


def add_commands_to_findings(rows: Iterable[Row], capture: CaptureOptions, names: Sequence[str]) -> None:
    """Set the `command` of findings with evidence: `kw sniff RING --packet kafka.pcap07:105 -v`, to be copied.

    `names` are those of the captures that were read. Input that can be read only once has no command.
    """
    words = _list_words_of_same_inputs(capture)
    if words is None:
        return
    found = [*map(escape_non_utf8, names)]
    bases = [os.path.basename(name) for name in found]
    unique = {base: name for base, name in zip(bases, found, strict=True) if bases.count(base) == 1}
    alone = len(capture.files) == 1 and found == [escape_non_utf8(capture.files[0])]
    for row in rows:
        chosen = _sniff_options_of_evidence(row["evidence"], unique, alone=alone)
        if chosen:
            row["command"] = _make_command_that_shows_finding(row, words, chosen)


def _make_command_that_shows_finding(row: Row, words: Sequence[str], chosen: Sequence[str]) -> str:
    """The command line that shows a finding: the records that it is about, or else the exchanges of its evidence."""
    option = _RECORDS_OF_FINDINGS.get(row["id"])
    if option is None:
        return " ".join(["kw sniff", *map(quote_shell_word, [*words, *chosen]), "-v"])
    # A misrouted batch shows in both of its topics alone.
    topics = row.get("topics") or ([row["topic"]] if row.get("topic") else [])
    groups = [row["group"]] if row.get("group") else []
    about = [
        word
        for key, names in (("topic", topics), ("group", groups))
        for name in dict.fromkeys(names)
        for word in (f"--{key}", name)
    ]
    return " ".join(["kw trace", *map(quote_shell_word, [*words, option, *about])])


def add_commands_to_stored_findings(rows: Iterable[Row], options: Sequence[str] = ()) -> None:
    """Set the `command` of findings whose evidence names the captures, as that from tables does.

    `options` are words that say how the captures were read (`list_reading_options`).
    """
    for row in rows:
        files = [*dict.fromkeys(each["file"] for each in row["evidence"][:_NAMED] if each["file"] and each["packets"])]
        chosen = _sniff_options_of_evidence(row["evidence"], {}, alone=len(files) == 1) if files else []
        if chosen:
            row["command"] = _make_command_that_shows_finding(row, [*files, *options], chosen)


def _sniff_options_of_evidence(evidence: Sequence[dict[str, Any]], unique: dict[str, str], *, alone: bool) -> list[str]:
    """The options of `kw sniff` that choose the exchanges of the evidence, or the connections that are the evidence.

    An exchange is chosen by its first packet: between its packets lie those of others.
    """
    packets: dict[str, dict[str, None]] = {}
    for each in evidence[:_NAMED]:
        if each["packets"] is not None:
            base = os.path.basename(each["file"] or "")
            file = base if unique.get(base) == each["file"] else each["file"]
            packets.setdefault("" if alone or not file else f"{file}:", {})[str(each["packets"][0])] = None
    if packets:
        return [word for file, numbers in packets.items() for word in ("--packet", file + ",".join(numbers))]
    known = dict.fromkeys(str(each["connection"]) for each in evidence[:_NAMED])
    return ["--connection", ",".join(known)] if known else []


def _list_words_of_same_inputs(capture: CaptureOptions) -> list[str] | None:
    """The words of a command line that reads the same inputs in the same way; None where these cannot be read again."""
    files = capture.files
    if not files or capture.places or any(map(is_read_once, files)):
        return None
    pattern = _find_glob_of_files(files) if len(files) > _FILES_FEW else None
    words = [f"./{word}" if word.startswith("-") else word for word in ([pattern] if pattern else files)]
    return words + list_reading_options(capture.ports, capture.names_from, capture.keylogs)


def list_reading_options(ports: Sequence[int], names_from: str | None, keylogs: Sequence[str]) -> list[str]:
    """The words of options by which `kw sniff` reads captures as another command has read them."""
    words = ["--port", ",".join(map(str, ports))] if ports else []
    words += ["--names-from", names_from] if names_from else []
    return words + [word for name in keylogs for word in ("--keylog", name)]


def _find_glob_of_files(files: Sequence[str]) -> str | None:
    """A pattern that stands for these files and no others: `ring/kafka.pcap*`; None where there is none."""
    begin = _find_common_prefix(files)
    end = _find_common_prefix([file[len(begin) :][::-1] for file in files])[::-1]
    if any("/" in file[len(begin) :] or set(file) & set("*?[") for file in files):
        return None
    found = [path for path, _, error in list_paths(f"{begin}*{end}") if error is None]
    return f"{begin}*{end}" if sorted(found) == sorted(files) else None


def _find_common_prefix(texts: Sequence[str]) -> str:
    first, last = min(texts), max(texts)
    return first[: next((at for at, pair in enumerate(zip(first, last, strict=False)) if len({*pair}) > 1), len(first))]


def quote_shell_word(word: str) -> str:
    """A word as bash and zsh take it; what cannot be printed is written as escapes."""
    if word.isprintable():
        return shlex.quote(word)
    parts = (chr(byte) if 32 <= byte < 127 and byte not in b"'\\" else f"\\x{byte:02x}" for byte in os.fsencode(word))
    return f"$'{''.join(parts)}'"
