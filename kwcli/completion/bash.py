"""The program's commands in, a bash script out: for bash 3.2 and later, with or without the bash-completion package.

readline splits a word at `=` and `:`; so the script splits the line itself, and leaves out of its candidates the part
up to the last of these signs.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from kwcli.completion.program import CommandFacts, OptionFacts, ValueKind, api_names, apis, error_names, releases

_OFFER: Final = r"""# bash completion for kw; made by `kw completion bash`
_kw_offer() {  # the words of $1 that begin as `plain`; `head` goes before them
    local -a all
    local one
    read -ra all <<< "$1"
    for one in "${all[@]}"; do
        [[ $one == "$plain"* ]] && COMPREPLY+=("$head$one")
    done
}
_kw_files() {
    local one
    while IFS= read -r one; do COMPREPLY+=("$head$one"); done < <(compgen -f -- "$plain")
    compopt -o filenames 2> /dev/null
}
_kw_profiles() {
    local file all=
    for file in "${XDG_CONFIG_HOME:-$HOME/.config}"/kw/profiles/*.properties; do
        [[ -e $file ]] || continue
        file=${file##*/}
        all+="${file%.properties} "
    done
    _kw_offer "$all"
}
_kw_live() {  # what kw itself knows about $1 (ValueKind), in 0.3 s, or nothing
    local one limit=
    type -P timeout > /dev/null && limit="timeout ${KW_COMPLETION_LIMIT:-0.3}"
    while IFS=$'\t' read -r one _; do
        [[ $one == *[=.:/\(] ]] && compopt -o nospace 2> /dev/null
        COMPREPLY+=("$head$one")
    done < <($limit "${line[0]}" __complete "$1${quote:+-quoted}" "$plain" "${line[@]:1:last-1}" 2> /dev/null)
}
_kw_versions() {
    local low=1 high=0 words= all=
    _kw_facts
    for ((; high >= low; high--)); do all+="$high "; done
    _kw_offer "$all"
}
_kw_body() {  # path=value: the paths of the request, then what the field may hold
    local low high words= values= one
    local -a all
    _kw_facts
    if [[ $plain == @* || $plain == *=@* ]]; then
        head=${plain%%@*}@
        while IFS= read -r one; do  # readline would quote the @ of what it takes for files
            if [[ -d $one ]]; then
                one+=/
                compopt -o nospace 2> /dev/null
            fi
            COMPREPLY+=("$head${one// /\\ }")
        done < <(compgen -f -- "${plain#*@}")
        return
    fi
    one=${plain%%=*}
    while [[ $one =~ ^(.*)\[[0-9]+\](.*)$ ]]; do one="${BASH_REMATCH[1]}[]${BASH_REMATCH[2]}"; done
    if [[ $plain == *=* ]]; then
        _kw_values "${one%:}"
        if [[ ! $values ]]; then
            _kw_live body
            return
        fi
        head=${plain%%=*}=
        plain=${plain#*=}
        _kw_offer "$values"
    else
        head=$plain plain=$one
        read -ra all <<< "$words"
        for one in "${all[@]}"; do
            [[ $one == "$plain"* ]] && COMPREPLY+=("$head${one:${#plain}}")
        done
        compopt -o nospace 2> /dev/null
    fi
}
_kw_kind() {
    case $kind in
        words) _kw_offer "$list" ;;
        apis) _kw_offer "$apis" ;;
        versions) _kw_versions ;;
        body) _kw_body ;;
        errors) _kw_offer "$errors" ;;
        releases) _kw_offer "$releases" ;;
        profiles) _kw_profiles ;;
        interfaces) _kw_offer "any $(command ls /sys/class/net 2> /dev/null)" ;;
        files) _kw_files ;;
        columns | fault | faults | filter | node | property) _kw_live $kind ;;
    esac
}
_kw_split() {  # the words of $1 as the shell parts them, into `line`; `quote` is the one that is open, from `begin` on
    local text=$1 word= some= at one
    line=() quote=
    for ((at = 0; at < ${#text}; at++)); do
        one=${text:at:1}
        if [[ $quote ]]; then
            if [[ $one == "$quote" ]]; then quote=; else word+=$one; fi
        elif [[ $one == [\'\"] ]]; then
            quote=$one some=1 begin=${#word}
        elif [[ $one == \\ ]]; then
            ((at++))
            word+=${text:at:1} some=1
        elif [[ $one == [[:space:]] ]]; then
            [[ $some ]] && line+=("$word")
            word= some=
        else
            word+=$one some=1
        fi
    done
    line+=("$word")
}"""

_MAIN: Final = r"""_kw() {
    local verb= api= left=0 place=0 kind= list= verbs= options= head= quote= begin=0 fold=1 at last plain typed cut
    local -a line
    COMPREPLY=()
    _kw_split "${COMP_LINE:0:COMP_POINT}"
    last=$((${#line[@]} - 1))
    ((last > 0)) || return 0
    shopt -q nocasematch && fold=0
    shopt -s nocasematch
    _kw_verb
    for ((at = 1; at < last; at++)); do
        plain=${line[at]}
        if ((left)); then
            [[ $kind == apis ]] && api=$plain
            ((left--))
        elif [[ $plain == -?* ]]; then
            kind= list=
            _kw_option "$verb $plain"
        elif [[ " $verbs " == *" $plain "* ]]; then
            verb+="${verb:+ }$plain"
            _kw_verb
        else
            kind=
            _kw_place "$verb $place"
            [[ $kind == apis ]] && api=$plain
            ((place++))
        fi
    done
    typed=${line[last]}
    plain=$typed
    if ((!left)); then
        kind= list=
        if [[ $plain == --*=* ]]; then
            _kw_option "$verb ${plain%%=*}="
            head=${plain%%=*}= plain=${plain#*=}
        elif [[ $plain == -* ]]; then
            kind=words list=$options
        elif [[ $verbs ]]; then
            kind=words list=$verbs
        else
            _kw_place "$verb $place"
        fi
    fi
    api=${api//[-_]/}
    _kw_kind
    cut=
    if [[ $quote ]]; then
        cut=${typed:0:begin}
    elif [[ $typed == *[=:]* && ${COMP_WORDBREAKS-} == *=* ]]; then
        cut=${typed%"${typed##*[=:]}"}
    fi
    if [[ $cut ]]; then
        for ((at = 0; at < ${#COMPREPLY[@]}; at++)); do COMPREPLY[at]=${COMPREPLY[at]#"$cut"}; done
    fi
    ((fold)) && shopt -u nocasematch
    return 0
}
complete -F _kw kw"""


def bash(program: list[CommandFacts]) -> str:
    """The bash completion script for the program's commands."""
    parts = [_OFFER.replace("_kw_kind() {", _lists(), 1), *_facts(), *_verbs(program), *_options(program)]
    return "\n".join([*parts, *_places(program), _MAIN]) + "\n"


def _lists() -> str:
    errors = " ".join(name for name, _ in error_names())
    lines = [f'    local apis="{" ".join(api_names())}"', f'    local errors="{errors}"']
    return "\n".join(["_kw_kind() {", *lines, f'    local releases="{" ".join(releases())}"'])


def _facts() -> Iterator[str]:
    yield "_kw_facts() {"
    yield "    case $api in"
    for known in apis():
        words = " ".join(known.words)
        yield f'        {"|".join(known.labels)}) low={known.low} high={known.high} words="{words}" ;;'
    yield from ("    esac", "}", "_kw_values() {", '    case "$api $1" in')
    for known in apis():
        for path, values in known.values.items():
            labels = "|".join(f'"{label} {path}"' for label in known.labels)
            yield f'        {labels}) values="{" ".join(value for value, _ in values)}" ;;'
    yield from ("    esac", "}")


def _verbs(program: Iterable[CommandFacts]) -> Iterator[str]:
    yield "_kw_verb() {"
    yield "    case $verb in"
    for verb in program:
        options = " ".join(name for word in verb.options for name in word.names)
        yield f'        "{verb.name}") verbs="{" ".join(verb.verbs)}" options="{options}" ;;'
    yield from ("    esac", "}")


def _options(program: Iterable[CommandFacts]) -> Iterator[str]:
    yield "_kw_option() {  # how many values an option takes, and what they may be; `--option=` has its value with it"
    yield "    case ${1%=} in"
    for verb in program:
        for word in verb.options:
            if word.takes_value:
                labels = "|".join(f'"{verb.name} {name}"' for name in word.names)
                yield f"        {labels}) left={word.takes}{_kind(word)} ;;"
    yield from ("    esac", "    [[ $1 == *= ]] && left=0", "}")


def _places(program: Iterable[CommandFacts]) -> Iterator[str]:
    yield "_kw_place() {  # what the argument at a place may be"
    yield "    case $1 in"
    for verb in program:
        for number, word in enumerate(verb.arguments):
            label = f'"{verb.name} "*' if word.repeats else f'"{verb.name} {number}"'
            if word.kind is not ValueKind.ANY:
                yield f"        {label}){_kind(word)} ;;"
    yield from ("    esac", "}")


def _kind(word: OptionFacts) -> str:
    if word.kind is ValueKind.ANY:
        return " kind="
    return f" kind={word.kind.value}" + (f' list="{" ".join(word.values)}"' if word.values else "")
