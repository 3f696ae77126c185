"""The program's commands in, a fish script out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from kwcli.completion.program import LIVE, CommandFacts, OptionFacts, ValueKind, api_names, apis, error_names, releases

_HELPERS: Final = r"""# fish completion for kw; made by `kw completion fish`
function __kw_line  # the command, then its arguments; options and their values are left out
    set -l tokens (commandline -opc)
    set -e tokens[1]
    set -l verb
    set -l arguments
    set -l left 0
    set -l option
    for token in $tokens
        if test $left -gt 0
            set left (math $left - 1)
        else if string match -q -- '-*' $token
            set option $token
            string match -q -- '*=*' $token; or set left (__kw_takes "$verb" $token)
        else if contains -- (string join ' ' $verb $token) $__kw_verbs
            set verb (string join ' ' $verb $token)
        else
            set -a arguments $token
        end
    end
    if test $left -gt 0; and test "$tokens[-1]" != "$option"  # an option waits for its second value
        echo "$verb $option"
        return
    end
    echo "$verb"
    test (count $arguments) -gt 0; and printf '%s\n' $arguments
end
function __kw_in  # whether the line is at this command, and at this place among its arguments where one is given
    set -l line (__kw_line)
    test "$line[1]" = "$argv[1]"; or return 1
    set -q argv[2]; or return 0
    set -l place (math (count $line) - 1)
    test $place -eq $argv[2]; or string match -q -- "$argv[3]" more; and test $place -ge $argv[2]
end
function __kw_any  # whether the line is at one of these commands
    set -l line (__kw_line)
    contains -- "$line[1]" $argv
end
function __kw_api
    set -l tokens (commandline -opc)
    set -l api
    if set -l at (contains -i -- --api $tokens)
        set api $tokens[(math $at + 1)]
    else
        set -l line (__kw_line)
        set api $line[2]
    end
    string lower -- $api | string replace -ra '[-_]' ''
end
function __kw_versions
    set -l range (__kw_range (__kw_api))
    test (count $range) -eq 2; and seq $range[2] -1 $range[1]
end
function __kw_drawable  # the words without control characters and bytes that are no text, U+F6xx to fish: it draws them
    set -l locale (string match -v '' -- $LC_ALL $LC_CTYPE $LANG C)
    if string match -qri '^(C|POSIX)$|utf-?8' -- $locale[1]
        string match -rv '[\x00-\x1f\x7f-\x9f\x{f600}-\x{f6ff}]' -- $argv
    else  # a sign may be a part of a character, and is run (GBK, Big5)
        string match -r '^[\x20-\x7e]*$' -- $argv
    end
end
function __kw_files
    set -l word (commandline -ct | string replace -r '^(["\']?)--[^=]*=' '$1' | string collect)
    for file in (complete -C "'' $word" | string replace -r '\t.*' '')
        if not string match -qr '^[~$]' -- "$word"
            test -e $file; or test -L $file; or continue  # a line of a name with several
            string match -q '~*' -- $file; and set file ./$file
        end
        __kw_drawable $file
    end
end
function __kw_profiles
    set -l home $HOME/.config
    set -q XDG_CONFIG_HOME; and test -n "$XDG_CONFIG_HOME"; and set home $XDG_CONFIG_HOME
    for file in $home/kw/profiles/*.properties
        __kw_drawable (string replace -r '.*/(.*)\.properties$' '$1' -- $file | string collect)
    end
end
function __kw_live  # what kw itself knows about $1 (ValueKind), in 0.3 s, or nothing
    set -l tokens (commandline -opc)
    set -l word (commandline -ct)
    set -l quoted ''
    if string match -qr '^[\'"]' -- $word
        set quoted -quoted
        set word (string sub -s 2 -- $word)
    else
        set word (string unescape -- $word)
    end
    set -l limit
    type -q timeout; and set limit timeout (set -q KW_COMPLETION_LIMIT; and echo $KW_COMPLETION_LIMIT; or echo 0.3)
    $limit $tokens[1] __complete $argv[1]$quoted "$word" $tokens[2..-1] 2>/dev/null
end
function __kw_body  # path=value: the paths of the request, then what the field may hold
    set -l api (__kw_api)
    set -l token (commandline -ct | string unescape)
    if string match -qr '^([^=]*=)?@' -- $token
        set -l head (string replace -r '@.*' '@' -- $token)
        set -l begun (string replace -r '^[^@]*@' '' -- $token)
        for file in "$begun"*
            test -d $file; and set file $file/
            __kw_drawable $head$file
        end
        return
    end
    set -l path (string replace -r ':?=.*' '' -- $token)
    set -l plain (string replace -ra '\[\d+\]' '[]' -- $path)
    if string match -q '*=*' -- $token
        set -l head (string replace -r '=.*' '=' -- $token)
        set -l values (__kw_values "$api $plain")
        for value in $values
            echo $head$value
        end
        test (count $values) -gt 0; or __kw_live body
        return
    end
    set -l rows (__kw_live body)
    if test (count $rows) -gt 0
        printf '%s\n' $rows
    else if test "$plain" = "$path"
        __kw_fields $api
    else
        for field in (__kw_fields $api)
            string match -q -- (string escape --style=regex -- $plain)'*' $field
            if test (string sub -l (string length -- $plain) -- $field) = $plain
                echo $path(string sub -s (math (string length -- $plain) + 1) -- $field)
            end
        end
    end
end"""


def fish(program: list[CommandFacts]) -> str:
    """The fish completion script for the program's commands."""
    lines = [_HELPERS, *_facts(), *_takes(program), "complete -c kw -f"]
    verbs = " ".join(_quoted(verb.name) for verb in program[1:])
    lines.append(f"set -g __kw_verbs {verbs}")
    by_path = {verb.path: verb for verb in program}
    shared = set.intersection(*(set(map(_option, verb.options)) for verb in program))  # --help: once for all
    lines += [f"complete -c kw {option}" for option in sorted(shared)]
    having: dict[str, list[str]] = {}  # option → the commands that have exactly this option
    for verb in program:
        for option in map(_option, verb.options):
            having.setdefault(option, []).append(_quoted(verb.name))
    for option, names in having.items():
        if option not in shared:
            lines.append(f"complete -c kw -n {_quoted(' '.join(['__kw_any', *names]))} {option}")
    for verb in program:
        for name in verb.verbs:
            inner = by_path[(*verb.path, name)]
            lines.append(f"complete -c kw -n {_here(verb, 0)} -a {name} -d {_quoted(inner.help)}")
        lines += _second_values(verb)
        lines += _arguments(verb)
    return "\n".join(lines) + "\n"


def _here(verb: CommandFacts, place: int | None = None, *, more: bool = False) -> str:
    where = "" if place is None else f" {place}" + " more" * more
    return _quoted(f"__kw_in {_quoted(verb.name)}{where}")


def _facts() -> Iterator[str]:
    yield "function __kw_range"
    yield from _switch((known.labels, f"printf '%s\\n' {known.low} {known.high}") for known in apis())
    yield "function __kw_fields"
    yield from _switch(
        (known.labels, f"printf '%s\\n' {' '.join(map(_quoted, known.words))}") for known in apis() if known.words
    )
    yield "function __kw_values"
    yield from _switch(
        (
            tuple(f"{label} {path}" for label in known.labels),
            f"printf '%s\\t%s\\n' {' '.join(f'{value} {_quoted(text)}' for value, text in values)}",
        )
        for known in apis()
        for path, values in known.values.items()
    )
    yield "function __kw_errors"
    rows = (f"        {name} {_quoted(text)}" for name, text in error_names())
    yield "    printf '%s\\t%s\\n' \\\n" + " \\\n".join(rows)
    yield "end"


def _takes(program: Iterable[CommandFacts]) -> Iterator[str]:
    """A fish function that prints how many values an option takes."""
    yield "function __kw_takes"
    counts: dict[int, list[str]] = {}
    for verb in program:
        for word in verb.options:
            if word.takes_value:
                counts.setdefault(word.takes, []).extend(f"{verb.name} {name}" for name in word.names)
    yield '    switch "$argv"'
    for count, labels in counts.items():
        yield f"        case {' '.join(map(_quoted, labels))}"
        yield f"            echo {count}"
    yield from ("        case '*'", "            echo 0", "    end", "end")


def _switch(rows: Iterable[tuple[tuple[str, ...], str]]) -> Iterator[str]:
    yield '    switch "$argv[1]"'
    for labels, action in rows:
        # In a pattern of fish `[` stands for itself, `?` and `*` do not occur.
        yield f"        case {' '.join(map(_quoted, labels))}"
        yield f"            {action}"
    yield from ("    end", "end")


_CALLS: Final = {
    **{kind: f"(__kw_live {kind.value})" for kind in LIVE},
    ValueKind.VERSIONS: "(__kw_versions)",
    ValueKind.BODY: "(__kw_body)",
    ValueKind.ERRORS: "(__kw_errors)",
    ValueKind.FILES: "(__kw_files)",
    ValueKind.PROFILES: "(__kw_profiles)",
    ValueKind.INTERFACES: "(command ls /sys/class/net 2>/dev/null; echo any)",
}


def _values(word: OptionFacts) -> str:
    """The values that may follow an option, for -a; empty where any value may."""
    if word.kind is ValueKind.WORDS:
        return " ".join(word.values)
    if word.kind is ValueKind.APIS:
        return " ".join(api_names())
    if word.kind is ValueKind.RELEASES:
        return " ".join(releases())
    return _CALLS.get(word.kind, "")


def _option(word: OptionFacts) -> str:
    parts = [f"-l {name[2:]}" if name.startswith("--") else f"-s {name[1:]}" for name in word.names]
    if word.takes_value:
        parts.append("-x")
        if _values(word):
            parts.append(f"-a {_quoted(_values(word))}")
    if word.kind in (ValueKind.VERSIONS, ValueKind.RELEASES):
        parts.append("-k")
    if word.help:
        parts.append(f"-d {_quoted(word.help)}")
    return " ".join(parts)


def _second_values(verb: CommandFacts) -> Iterator[str]:
    """Completions for the second value of an option: fish itself knows of one value only."""
    for word in verb.options:
        if word.takes > 1:
            for name in word.names:
                place = "__kw_in " + _quoted(f"{verb.name} {name}")
                yield f"complete -c kw -n {_quoted(place)} -k -a {_quoted(_values(word))}"


def _arguments(verb: CommandFacts) -> Iterator[str]:
    for place, word in enumerate(verb.arguments):
        where = f"complete -c kw -n {_here(verb, place, more=word.repeats)}"
        if _values(word):
            keep = "-k " * (word.kind in (ValueKind.VERSIONS, ValueKind.RELEASES))
            yield f"{where} {keep}-a {_quoted(_values(word))}"


def _quoted(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
