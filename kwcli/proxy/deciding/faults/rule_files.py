"""Rules from the command line, from files and presets in, the faults at work out; changed files are read again.

A file has a rule on each line; blank lines and lines that begin with # are skipped. A preset is such a file that ships
with kw (presets/NAME.faults).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from importlib.resources import files
from typing import Any, Final

from decoders.named_tuple import NamedTuple
from decoders.wire.suggest_similar_words import did_you_mean
from kwcli.proxy.deciding.faults.parse_rule import Rule, RuleError, parse_rule
from kwcli.run_environment import Exit, Failure

PRESET: Final = "preset:"
SUFFIX: Final = ".faults"
# The largest file of rules, in characters.
SIZE_MAX: Final = 1 << 20


class Preset(NamedTuple):
    """A file of rules that ships with kw; `about` is its first comment."""

    name: str
    about: str
    text: str


def list_presets() -> dict[str, Preset]:
    """All presets, by name."""
    found = {}
    for each in sorted(files("kwcli.proxy.deciding.faults").joinpath("presets").iterdir(), key=lambda each: each.name):
        if each.name.endswith(SUFFIX):
            name, text = each.name.removesuffix(SUFFIX), each.read_text(encoding="utf-8")
            found[name] = Preset(name, text.partition("\n")[0].lstrip("# "), text)
    return found


def parse_rule_or_fail(text: str, place: str) -> Rule:
    """The rule that a text describes. Raises Failure, which names the column of the error behind `place`."""
    try:
        return parse_rule(text)
    except RuleError as error:
        hint = did_you_mean(error.word, error.candidates) if error.word else ""
        raise Failure(f"{place}{error.column}: {error.text}{hint}", Exit.USAGE) from None


def parse_rules_of_file(text: str, name: str) -> list[Rule]:
    """The rules in the text of a file. Raises Failure with line and column."""
    found = []
    for number, line in enumerate(text.splitlines(), 1):
        indent = len(line) - len(line.lstrip())
        if line.strip() and line[indent] != "#":
            found.append(parse_rule_or_fail(line.rstrip(), f"{name}:{number}:"))
    return found


class _RuleFile:
    """A file of rules, and its state when it was last read."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._state: tuple[int, int, int] | None = None
        self.rules: list[Rule] = []

    def read_rules(self) -> None:
        """Read the rules. Raises Failure where the file is unreadable or has errors; the rules then stay the same."""
        self._state = self._stat_file()
        try:
            with open(self.name, encoding="utf-8") as file:
                text = file.read(SIZE_MAX + 1)
        except UnicodeDecodeError:
            raise Failure(f"{self.name} is no text", Exit.USAGE) from None
        except OSError as error:
            raise Failure(f"{self.name}: {error.strerror}", Exit.USAGE) from None
        if len(text) > SIZE_MAX:
            raise Failure(f"{self.name} is too large for a file of rules", Exit.USAGE)
        self.rules = parse_rules_of_file(text, self.name)

    @property
    def has_changed(self) -> bool:
        """Whether the file has changed since it was read."""
        return self._stat_file() != self._state

    def _stat_file(self) -> tuple[int, int, int] | None:
        try:
            found = os.stat(self.name)
        except OSError:
            return None
        return found.st_mtime_ns, found.st_size, found.st_ino


class RuleFiles:
    """All fault rules: those of `--fault` first, then those of each file or preset in order, then added ones."""

    def __init__(self, rules: Sequence[str], names: Sequence[str], seed: int, now_ns: Callable[[], int]) -> None:
        from kwcli.proxy.deciding.faults.decide_by_fault_rules import (
            FaultDecider,
            warn_about_rules,
        )  # completion asks for list_presets alone

        self._warn_about_rules = warn_about_rules
        self._given = [
            parse_rule_or_fail(text, f"--fault {number}: column " if len(rules) > 1 else "--fault: column ")
            for number, text in enumerate(rules, 1)
        ]
        self._parts: list[_RuleFile | list[Rule]] = [self._read_rules_or_preset(name) for name in names]
        self._added: list[Rule] = []  # by the control interface
        self._removed: set[str] = set()
        self.seed = seed
        self.faults = FaultDecider(list(self._iterate_rules()), seed, now_ns)

    def _read_rules_or_preset(self, name: str) -> _RuleFile | list[Rule]:
        if not name.startswith(PRESET):
            file = _RuleFile(name)
            file.read_rules()
            return file
        known = list_presets()
        word = name.removeprefix(PRESET)
        if word not in known:
            hint = did_you_mean(word, known) or f": there are {', '.join(known)}"
            raise Failure(f"--faults: there is no preset {word!r}{hint}", Exit.USAGE)
        return parse_rules_of_file(known[word].text, name)

    def _iterate_rules(self) -> Iterator[Rule]:
        parts = (part.rules if isinstance(part, _RuleFile) else part for part in self._parts)
        for part in (self._given, *parts, self._added):
            yield from (rule for rule in part if rule.text not in self._removed)

    def add_rule(self, rule: str) -> dict[str, Any]:
        """Add a rule; its row. Raises RuleError."""
        found = parse_rule(rule)
        self._removed.discard(found.text)
        if all(found.text != known.text for known in self._iterate_rules()):
            self._added.append(found)
        self.faults.replace_rules(list(self._iterate_rules()))
        return next(row for row in self.list_rows() if row["rule"] == found.text)

    def remove_rule(self, number: int) -> bool:
        """Remove a rule by its number; False when there is none."""
        text = next((each.rule.text for each in self.faults.counted_rules if each.number == number), None)
        if text is None:
            return False
        self._added = [rule for rule in self._added if rule.text != text]
        self._removed.add(text)
        self.faults.replace_rules(list(self._iterate_rules()))
        return True

    def list_rows(self) -> list[dict[str, Any]]:
        """The rules at work, as rows of the control interface."""
        return [
            {"id": each.number, "rule": each.rule.text, "met": each.matched, "hit": each.hits}
            for each in self.faults.counted_rules
        ]

    def format_start_lines(self) -> list[str]:
        """The lines about faults that the proxy prints at its start."""
        count = len(self.faults.counted_rules)
        if not count:
            return []
        rules = f"{count} rule{'' if count == 1 else 's'}"
        return [
            f"faults on purpose by {rules} (--seed {self.seed} repeats them)",
            *self._warn_about_rules(self._iterate_rules()),
        ]

    def read_changed_files(self, say: Callable[[str], None]) -> None:
        """Read changed files again; `say` gets a line about each, that it was read or what is wrong with it."""
        for part in self._parts:
            if not isinstance(part, _RuleFile) or not part.has_changed:
                continue
            try:
                part.read_rules()
            except Failure as failure:
                say(f"{failure.text}; the old rules stay in force")
                continue
            self.faults.replace_rules(list(self._iterate_rules()))
            count = len(part.rules)
            say(f"{part.name} was read again: {count} rule{'' if count == 1 else 's'}")
            for line in self._warn_about_rules(part.rules):
                say(line)
