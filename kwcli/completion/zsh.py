"""The program's commands in, a zsh script out: a file for a folder of $fpath, which also works when it is sourced."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from kwcli.completion.program import LIVE, CommandFacts, OptionFacts, ValueKind, api_names, apis, error_names, releases

_HELPERS: Final = r"""_kw_apis() {
    local -a all
    all=(APIS)
    compadd "$@" -M 'm:{a-zA-Z}={A-Za-z}' -a all
}
_kw_releases() { compadd "$@" -V releases RELEASES }
_kw_utf8() { [[ ${LC_ALL:-${LC_CTYPE:-$LANG}} == (|C|POSIX|*[Uu][Tt][Ff](|-)8*) ]] }
_kw_safe() {  # the names of `all` that are text; in other locales a sign may be a part of a character, and is run (GBK)
    all=(${all:#*[^[:print:]]*})
    _kw_utf8 && return
    setopt localoptions nomultibyte
    all=(${all:#*[^ -~]*})
}
_kw_profiles() {
    local -a all
    all=(${XDG_CONFIG_HOME:-$HOME/.config}/kw/profiles/*.properties(N:t:r))
    _kw_safe
    compadd "$@" -a all
}
_kw_files() {  # zsh's own _files leaves quotes open behind some names, and doubles backslashes
    if [[ -z $compstate[quote] && $PREFIX != *\\* ]] && _kw_utf8; then
        _files
        return
    fi
    local folder=
    local -a all
    if compset -P '*/'; then
        folder=${(Q)IPREFIX}
        folder=${${folder##*[=@:]}/#\~\//$HOME/}
    fi
    all=($folder*(DN-/:t))
    _kw_safe
    compadd -q -S / -a all
    all=($folder*(DN^-/:t))
    _kw_safe
    compadd -a all
}
_kw_live() {  # what kw itself knows about $1 (ValueKind), in 0.3 s, or nothing
    local one text kind=$1${compstate[quote]:+-quoted}
    local -A shown
    local -a limit ends goes
    (( $+commands[timeout] )) && limit=(timeout ${KW_COMPLETION_LIMIT:-0.3})
    while IFS=$'\t' read -r one text; do
        [[ -n $text ]] && text="$one  -- $text" || text=$one
        if [[ $one == *[=.:/\(] ]]; then goes+=($one); else ends+=($one); fi
        shown[$one]=$text
    done < <($limit kw __complete $kind "${(Q)PREFIX}" "${(@Q)words[1,CURRENT-1]}" 2> /dev/null)
    _kw_shown '' $goes
    _kw_shown ' ' $ends
}
_kw_shown() {  # the words behind $1, the sign that goes after them, each with its line of `shown`
    local after=$1
    shift
    (( $# )) || return
    local -a lines
    local one
    for one in "$@"; do lines+=("$shown[$one]"); done
    local -a how
    how=(-M 'm:{a-zA-Z}={A-Za-z}' -l -d lines)
    [[ -z $after ]] && how+=(-S '')
    compadd "${how[@]}" -- "$@"
}
_kw_api() {  # the API that the line names: after --api, or as the first argument of the command
    local at=${words[(I)--api]}
    if (( at && at < CURRENT )); then api=$words[at+1]; else api=$line[1]; fi
    api=${(L)${${(Q)api}//[-_]/}}
}
_kw_versions() {
    local api low=1 high=0
    local -a fields
    _kw_api
    _kw_facts
    (( high >= low )) && compadd "$@" -V versions {$high..$low}
}
_kw_body() {  # path=value: the paths of the request, then what the field may hold
    local api low high plain
    local -a fields values
    _kw_api
    _kw_facts
    if compset -P '*=@' || compset -P '@'; then
        _kw_files
        return
    fi
    plain=${${PREFIX%%\=*}//\[<->\]/[]}
    if [[ $PREFIX == *=* ]]; then
        _kw_values "${plain%:}"
        if (( ! $#values )); then
            _kw_live body
            return
        fi
        compset -P '*='
        _describe -V value values
        return
    fi
    _kw_live body
    (( compstate[nmatches] )) && return
    if [[ $plain == $PREFIX ]]; then
        compadd -S '' -a fields
    else
        fields=(${(M)fields:#$plain*})
        compadd -U -S '' -- $PREFIX${^fields#$plain}
    fi
}"""


def zsh(program: list[CommandFacts]) -> str:
    """The zsh completion script for the program's commands."""
    helpers = _HELPERS.replace("all=(APIS)", f"all=({' '.join(api_names())})")
    helpers = helpers.replace(" RELEASES }", f" {' '.join(releases())} }}")
    lines = ["#compdef kw", "# zsh completion for kw; made by `kw completion zsh`", helpers, *_errors(), *_facts()]
    by_path = {verb.path: verb for verb in program}
    for verb in reversed(program):
        lines += _function(verb, by_path)
    lines.append('if [[ $funcstack[1] == _kw ]]; then _kw "$@"; else compdef _kw kw; fi')
    return "\n".join(lines) + "\n"


def _errors() -> Iterator[str]:
    yield "_kw_errors() {"
    yield "    local -a all"
    yield "    all=("
    yield from (f"        {_quoted(_described(name, text))}" for name, text in error_names())
    yield from ("    )", "    _describe -V error all -M 'm:{a-zA-Z-}={A-Za-z_}'", "}")


def _facts() -> Iterator[str]:
    yield "_kw_facts() {"
    yield "    case $api in"
    for known in apis():
        fields = " ".join(map(_quoted, known.words))
        yield f"        ({'|'.join(known.labels)}) low={known.low} high={known.high} fields=({fields}) ;;"
    yield from ("    esac", "}", "_kw_values() {", '    case "$api $1" in')
    for known in apis():
        for path, values in known.values.items():
            labels = "|".join(_quoted(f"{label} {path}") for label in known.labels)
            shown = " ".join(_quoted(_described(value, text)) for value, text in values)
            yield f"        ({labels}) values=({shown}) ;;"
    yield from ("    esac", "}")


def _described(word: str, text: str) -> str:
    return f"{word}:{text}" if text else word


def _function(verb: CommandFacts, by_path: dict[tuple[str, ...], CommandFacts]) -> Iterator[str]:
    """The zsh function of one command; the function of the program itself is `_kw`."""
    yield f"{_name(verb.path)}() {{"
    yield "    local context state state_descr line"
    yield "    typeset -A opt_args"
    specs = [spec for word in verb.options for spec in _option_specs(word)]
    if verb.verbs:
        yield "    local -a verbs"
        yield "    verbs=("
        yield from (f"        {_quoted(f'{name}:{by_path[(*verb.path, name)].help}')}" for name in verb.verbs)
        yield "    )"
        yield from _arguments([*specs, "'1:command:->verb'", "'*::argument:->argument'"], "-C")
        yield "    case $state in"
        yield "        verb) _describe -t commands command verbs ;;"
        yield "        argument)"
        yield "            case $words[1] in"
        for name in verb.verbs:
            yield f"                {name}) {_name((*verb.path, name))} ;;"
        yield from ("            esac ;;", "    esac", "}")
        return
    lazy = [word.kind for word in verb.words if word.kind in _LAZY]
    yield from _arguments([*specs, *_argument_specs(verb.arguments)], "-s")
    if lazy:
        yield "    case $state in"
        yield from (f"        {kind.value}) _kw_{kind.value} ;;" for kind in dict.fromkeys(lazy))
        yield "    esac"
    yield "}"


def _arguments(specs: Iterable[str], options: str) -> Iterator[str]:
    yield " \\\n        ".join([f"    _arguments {options}", *specs])


def _name(path: tuple[str, ...]) -> str:
    return "_kw" + "".join(f"_{name}" for name in ("command", *path) if path)


# Kinds that depend on the API that was named: `_arguments` puts it into $line before it sets $state.
_LAZY: Final = (ValueKind.VERSIONS, ValueKind.BODY)
_ACTIONS: Final = {
    ValueKind.ANY: " ",
    ValueKind.FILES: "_kw_files",
    ValueKind.INTERFACES: "_net_interfaces",
    ValueKind.APIS: "_kw_apis",
    ValueKind.ERRORS: "_kw_errors",
    ValueKind.RELEASES: "_kw_releases",
    ValueKind.PROFILES: "_kw_profiles",
    ValueKind.VERSIONS: "->versions",
    ValueKind.BODY: "->body",
    **{kind: f" _kw_live {kind.value}" for kind in LIVE},
}


def _action(word: OptionFacts) -> str:
    return f"({' '.join(word.values)})" if word.kind is ValueKind.WORDS else _ACTIONS[word.kind]


def _argument_specs(words: Iterable[OptionFacts]) -> Iterator[str]:
    for number, word in enumerate(words, 1):
        place = "*" if word.repeats else str(number)
        yield _quoted(f"{place}:{word.kind.value or 'word'}:{_action(word)}")


def _option_specs(word: OptionFacts) -> Iterator[str]:
    text = word.help.translate({ord("["): "(", ord("]"): ")", ord(":"): "\\:"})
    value = f":value:{_action(word)}" * word.takes if word.takes_value else ""
    for name in word.names:
        others = "*" if word.repeats else f"({' '.join(word.names)})"
        equals = "=" if name.startswith("--") and value and word.takes == 1 else ""
        yield _quoted(f"{others}{name}{equals}[{text}]{value}")


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"
