"""`kw __complete WORD…`: the words of a shell's script in, lines with candidates out.

Three forms, which scripts of other releases of kw use too, so that they stay as they are:

- `zsh STATE WORD…`, `fish STATE WORD…`: the words behind the program's name up to the cursor, without quotes. STATE is
  the quote that is open at the cursor, and in zsh a backslash where the last word has one.
- `bash BREAKS LINE`: $COMP_WORDBREAKS, and the line up to the cursor as it was typed.
- `KIND WORD LINE…`: a kind of completion_candidates.py, with `-quoted` behind it inside quotes; the word; the words
before it. The
  answer has candidates alone.

Elsewhere the first line of the answer says how its candidates are meant. For bash it has options of `compopt`, and the
candidates are quoted. For zsh and fish it is a word, and behind a tab the part of the last word before the value:
`words`: these are the candidates, each a whole word, and behind a tab what it means; zsh gets there what to show.
`names`: these are names in the folder that the last word has. `files`: the shell is to offer files by its own means.

Nothing else is printed, not even errors, and the process ends within its time limit, since a user who has pressed TAB
waits. LC_ALL is the charset of the shell, whose own variables need not be exported.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Final, NoReturn

from kwcli.completion.completion_candidates import KINDS, LIMIT_S, LIMIT_VARIABLE, ORDERED, SHORT, Candidate, Typed
from kwcli.run_environment import Environment, Exit, find_locale_name, is_utf8_locale

if TYPE_CHECKING:
    import click

    from kwcli.completion.cluster_names import What
    from kwcli.completion.half_typed_command_line import Slot

_ENDING_S: Final = 0.02  # the time an interpreter takes to end
_STARTING_S: Final = 0.06  # the time this program takes to start, where the system does not tell when it began
_PATIENCE_S: Final = 2.0  # the whole time for a line, where no cluster is asked
_MOST: Final = 500
_QUOTED: Final = "-quoted"  # behind a KIND: see Typed.quoted
_JOINERS: Final = {0x200C: None, 0x200D: None}  # signs of Persian and of emoji: no shell and no terminal minds them


class _CompletionCall:
    """A call of `__complete`: its environment, its words, and the time that is left to it."""

    def __init__(self, env: Environment, words: Sequence[str]) -> None:
        self.env = env
        self.words = words
        self.own = env.variables is os.environ  # a process of its own, not a test's environment
        self.age_s = _measure_process_age_s() if self.own else 0.0
        self.limit_s = _read_time_limit_s(env)

    def end_process_after(self, limit_s: float) -> None:
        """Let the process end at a time since its start."""
        if self.own:
            signal.signal(signal.SIGALRM, _exit_at_once)
            signal.setitimer(signal.ITIMER_REAL, max(limit_s - self.age_s - _ENDING_S, 0.01))

    def make_typed_word(self, word: str, line: Sequence[str], *, quoted: bool) -> Typed:
        def names(what: What) -> list[str]:
            from kwcli.completion.cluster_names import list_cluster_names

            return list_cluster_names(self.env, what, line, self.limit_s - self.age_s - 2 * _ENDING_S, apart=self.own)

        return Typed(word, line, names, quoted, variables=self.env.variables)

    def is_utf8(self, *, single_bytes: bool) -> bool:
        """Whether the shell takes the bytes of UTF-8 for what they are, or as `single_bytes` (C, POSIX).

        In GBK or Big5 the last byte of a character and a sign behind it (`|`) make one character: a shell quotes
        neither, and runs what follows.
        """
        name = find_locale_name(self.env.variables)
        return is_utf8_locale(name) or (single_bytes and name in ("", "C", "POSIX"))


def answer_completion(env: Environment, words: Sequence[str], program: click.Group, texts: Mapping[str, str]) -> Exit:
    """Print the answer to these words of a script; `texts` say what the program's commands do."""
    call = _CompletionCall(env, words)
    lines: Iterable[str] = ()
    with suppress(Exception):  # a traceback would be drawn into the line being typed
        if words and words[0] in _SHELLS:
            call.end_process_after(max(call.limit_s, _PATIENCE_S))
            lines = list(_SHELLS[words[0]](call, program, texts))
        else:
            call.end_process_after(call.limit_s)
            lines = list(_answer_words_of_kind(call))
    if call.own:
        signal.setitimer(signal.ITIMER_REAL, 0)
    env.stdout.write("".join(f"{line}\n" for line in lines).encode("utf-8", "surrogateescape"))
    return Exit.DONE


def _read_time_limit_s(env: Environment) -> float:
    try:
        return min(float(env.variables.get(LIMIT_VARIABLE) or LIMIT_S), 3600.0)
    except ValueError:
        return LIMIT_S


def _exit_at_once(_number: int, _frame: object) -> NoReturn:
    os._exit(0)


def _measure_process_age_s() -> float:
    """Seconds since this process started; _STARTING_S where the system does not tell."""
    try:
        with open("/proc/self/stat", "rb") as file:
            began = int(file.read().rpartition(b")")[2].split()[19]) / os.sysconf("SC_CLK_TCK")
        return max(0.0, time.clock_gettime(time.CLOCK_BOOTTIME) - began)
    except (OSError, ValueError, IndexError, AttributeError):
        return _STARTING_S


def _answer_words_of_kind(call: _CompletionCall) -> Iterator[str]:
    kind, word, *line = [*call.words, "", ""] if len(call.words) < 2 else call.words
    row = KINDS.get(kind.removesuffix(_QUOTED))
    found = row(call.make_typed_word(word, line, quoted=kind.endswith(_QUOTED))) if row else ()
    begun = [each for each in found if _begins_with_in_any_case(each[0], word)][:_MOST]
    yield from map(
        _format_candidate_line, _keep_printable_candidates(begun, only_ascii=not call.is_utf8(single_bytes=True))
    )


def _begins_with_in_any_case(word: str, begun: str) -> bool:
    return word.lower().startswith(begun.lower())


def _keep_printable_candidates(found: Iterable[Candidate], *, only_ascii: bool) -> list[Candidate]:
    """The candidates without control characters, which a shell would type."""
    return [each for each in found if each[0].isprintable() and (each[0].isascii() or not only_ascii)]


def _format_candidate_line(candidate: Candidate) -> str:
    word, meaning = candidate
    return f"{word}\t{meaning}" if meaning and meaning.isprintable() else word


# Answers to a whole line


def _find_file_slot(slot: Slot) -> Slot | None:
    """The slot of a file's name where this one takes a file: as a whole, or behind `@` in a request's body."""
    if slot.kind == "body" and (slot.word.startswith("@") or "=@" in slot.word):
        head, at, name = slot.word.partition("@")
        return slot._replace(kind="files", word=name, head=slot.head + head + at)
    return slot if slot.kind == "files" else None


def _list_values_of_slot(slot: Slot, typed: Typed, *, begun: bool) -> list[Candidate]:
    """The values of a slot, in order; those that begin as the word does where there are many, or `begun` says so."""
    from kwcli.completion.completion_candidates import complete_field_values

    row = SHORT.get(slot.kind) or (complete_field_values if slot.kind == "body" else KINDS.get(slot.kind))
    found = list(row(typed._replace(word=slot.word, api=slot.api, own=slot.own))) if row else []
    if begun or slot.kind not in SHORT:
        word = slot.word.replace("-", "_") if slot.kind == "error" else slot.word
        found = [each for each in found if _begins_with_in_any_case(each[0], word)][:_MOST]
    return found if slot.kind in ORDERED else sorted(found)


def _keep_printable_names(names: Iterable[str], *, only_ascii: bool) -> Iterator[str]:
    """The names of files that a shell can show and type: without control characters, and with bytes that are text."""
    return (name for name in names if name.translate(_JOINERS).isprintable() and (name.isascii() or not only_ascii))


def _list_files(folder: str, begun: str, variables: Mapping[str, str], *, tilde: bool) -> list[str]:
    """The names of files in a folder that begin so; folders have a slash behind them."""
    where = variables.get("HOME", "~") + folder[1:] if tilde and folder.startswith("~/") else folder
    names = sorted(name for name in os.listdir(where or ".") if name.startswith(begun))
    return [name + "/" * os.path.isdir(where + name) for name in names]


def _answer_bash(call: _CompletionCall, program: click.Group, texts: Mapping[str, str]) -> Iterator[str]:
    from kwcli.completion.bash_quoting import parse_bash_line, quote_reply_words
    from kwcli.completion.half_typed_command_line import find_slot_of_word

    _, breaks, text = call.words
    cursor = parse_bash_line(text, breaks)
    if cursor is None or len(cursor.words) < 2:
        return
    *line, word = cursor.words[1:]
    slot = find_slot_of_word(program, texts, line, word)
    files = _find_file_slot(slot)
    only_ascii = not call.is_utf8(single_bytes=False)
    if files is None:
        typed = call.make_typed_word(word, line, quoted=bool(cursor.quote))._replace(meant=False)
        found = _keep_printable_candidates(_list_values_of_slot(slot, typed, begun=True), only_ascii=False)
        brackets = "][" * (slot.kind == "body" and "=" not in slot.word)
        words = [slot.head + each for each, _ in found]
        yield from quote_reply_words(
            [each for each in words if _is_in_charset(each, cursor.cut, only_ascii)], cursor, brackets
        )
        return
    at = files.word.rfind("/") + 1
    folder = files.word[:at]
    home = cursor.tilde and folder.startswith("~/")
    names = _list_files(folder, files.word[at:], call.env.variables, tilde=home)
    # Behind a dash kw would take a name for an option.
    paths = [("./" if not files.head and not at and name.startswith("-") else "") + folder + name for name in names]
    words = [files.head + path for path in _keep_printable_names(paths, only_ascii=False)]
    within = [each for each in words if _is_in_charset(each, cursor.cut, only_ascii)]
    how, *quoted = quote_reply_words(within, cursor, "~" * home)
    lists = all(one.isalnum() or one in " _./-" for one in "".join(quoted))  # then readline lists without folders
    yield f"{how} -o filenames".strip() if lists else how
    yield from quoted


def _is_in_charset(word: str, cut: str, only_ascii: bool) -> bool:
    return not only_ascii or word[len(cut) :].isascii()


def _answer_zsh_or_fish(call: _CompletionCall, program: click.Group, texts: Mapping[str, str]) -> Iterator[str]:
    """The answer for zsh and fish, which quote candidates themselves."""
    from kwcli.completion.half_typed_command_line import find_slot_of_word

    shell, state, *line, word = call.words
    slot = find_slot_of_word(program, texts, line, word)
    files = _find_file_slot(slot)
    if files is not None:
        if shell == "fish" or (not state and call.is_utf8(single_bytes=True)):
            yield f"files\t{files.head}"
            return
        # zsh's own _files leaves quotes open behind some names, and doubles backslashes.
        yield f"names\t{files.head}"
        folder = files.word[: files.word.rfind("/") + 1]
        names = _list_files(folder, "", call.env.variables, tilde=state == "\\")
        yield from _keep_printable_names(names, only_ascii=not call.is_utf8(single_bytes=False))
        return
    yield f"words\t{slot.head}"
    found = _keep_printable_candidates(
        _list_values_of_slot(slot, call.make_typed_word(word, line, quoted=state[:1] in ("'", '"')), begun=False),
        only_ascii=not call.is_utf8(single_bytes=True),
    )
    if shell == "fish":
        yield from (_format_candidate_line((slot.head + each, meaning)) for each, meaning in found)
        return
    width = max((len(each) for each, meaning in found if meaning), default=0)
    for each, meaning in found:
        shown = f"{each:<{width}}  -- {meaning}" if meaning and meaning.isprintable() else each if slot.head else ""
        yield _format_candidate_line((slot.head + each, shown))


_SHELLS: Final = {"bash": _answer_bash, "zsh": _answer_zsh_or_fish, "fish": _answer_zsh_or_fish}
