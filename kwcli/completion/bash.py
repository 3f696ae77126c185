"""The program's commands in, a bash script out: for bash 3.2 and later, with or without the bash-completion package.

readline replaces only a part of a word: what stands behind the quote that is open at the cursor, else behind the last
of the signs in COMP_WORDBREAKS (`=` and `:` among them). So the script splits the line itself, and leaves the part
before that out of its candidates.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from kwcli.completion.program import CommandFacts, OptionFacts, ValueKind, api_names, apis, error_names, releases

# Names of a cluster and of files are text of strangers: `_kw_add` alone puts candidates into COMPREPLY, where readline
# takes them as they are. Each is quoted so that every beginning of it is, too, since readline inserts what several have
# in common; and so that readline neither doubles nor adds a quote: inside quotes it begins and ends with them.
_OFFER: Final = r"""# bash completion for kw; made by `kw completion bash`
_kw_add() {  # offer the word $1, quoted as the cursor needs it; $2: signs that keep their meaning for the shell
    local text=${1:${#cut}} open=${quote#\$} active at one code quoted
    [[ $1 == "$cut"?* ]] || return 0
    case ${LC_ALL:-${LC_CTYPE:-$LANG}} in  # elsewhere a sign may be a part of a character, and is run (GBK, Big5)
        '' | C | POSIX | *[Uu][Tt][Ff]8* | *[Uu][Tt][Ff]-8*) ;;
        *) (LC_ALL=C && [[ $text == *[^\ -~]* ]]) && return 0 ;;
    esac
    printf -v code %q "$text"
    [[ $code == \$\'* ]] && return 0  # it has a control character, or bytes that are no text
    case $quote in
        \") active='["$`\\!]' ;;
        \' | \$\') active="['"'`\\]' ;;
        *) active="[^${2-}[:alnum:]_./:=,@%+-]" ;;
    esac
    if [[ $text != *$active* ]]; then
        quoted=$text
    else
        for ((at = 0; at < ${#text}; at++)); do
            one=${text:at:1}
            if [[ $one != $active || ${text:at:2} == != && $quote ]]; then
                quoted+=$one
            elif [[ ! $quote && $one != [\$\`\\] ]]; then
                quoted+=\\$one
            else  # by its number, which means the same between backticks and to the history
                printf -v code '\\x%02x' "'$one"
                [[ $quote == \$\' ]] || code=$open\$\'$code\'$open
                quoted+=$code
            fi
        done
    fi
    [[ $text == *[=.:/\(] ]] && compopt -o nospace 2> /dev/null
    COMPREPLY+=("$open$quoted$open")
}
_kw_offer() {  # the words of $1 that begin as `plain`; `head` goes before them
    local -a all
    local one
    read -ra all <<< "$1"
    for one in "${all[@]}"; do
        [[ $one == "$plain"* ]] && _kw_add "$head$one"
    done
}
_kw_glob() {  # the files $1*$2, with NUL behind each; in a process of its own
    set +f
    GLOBIGNORE=
    shopt -u failglob nocaseglob
    shopt -s nullglob dotglob
    printf '%s\0' "$1"*"$2"
}
_kw_files() {
    local one where=$plain
    [[ $tilde && $plain == \~/* ]] && where=$HOME${plain:1}
    while IFS= read -r -d '' one; do
        [[ ! $one || $one == */. || $one == */.. ]] && continue
        [[ -d $one ]] && one+=/
        one=$plain${one:${#where}}
        [[ ! $head && $one == -* ]] && one=./$one  # or kw takes it for an option
        _kw_add "$head$one" "${tilde:+~}"
    done < <(_kw_glob "$where")
    [[ ${COMPREPLY[*]} == *[^[:alnum:][:space:]_./-]* ]] || compopt -o filenames 2> /dev/null  # lists without folders
}
_kw_profiles() {
    local one
    while IFS= read -r -d '' one; do
        one=${one##*/} one=${one%.properties}
        [[ $one == "$plain"* ]] && _kw_add "$head$one"
    done < <(_kw_glob "${XDG_CONFIG_HOME:-$HOME/.config}/kw/profiles/" .properties)
}
_kw_interfaces() {
    local one
    _kw_offer any
    while IFS= read -r -d '' one; do
        one=${one##*/}
        [[ $one == "$plain"* ]] && _kw_add "$head$one"
    done < <(_kw_glob /sys/class/net/)
}
_kw_live() {  # what kw itself knows about $1 (ValueKind), in 0.3 s, or nothing
    local one
    local -a limit=()
    type -P timeout > /dev/null && limit=(timeout "${KW_COMPLETION_LIMIT:-0.3}")
    while IFS=$'\t' read -r one _; do
        _kw_add "$head$one"
    done < <("${limit[@]}" "${line[0]}" __complete "$1${quote:+-quoted}" "$plain" "${line[@]:1:last-1}" 2> /dev/null)
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
        head=${plain%%@*}@ plain=${plain#*@}
        _kw_files
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
            [[ $one == "$plain"* ]] && _kw_add "$head${one:${#plain}}" ][
        done
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
        interfaces) _kw_interfaces ;;
        files) _kw_files ;;
        columns | fault | faults | filter | node | property) _kw_live $kind ;;
    esac
}
_kw_split() {  # the words of $1, without their quotes, into `line`
    # `quote` is the quote that is open at the end, `cut` the part of the last word before what readline replaces.
    # Fails where that cannot be told.
    local text=$1 word= some= broke= dollar= at one
    line=() quote= cut= tilde=
    for ((at = 0; at < ${#text}; at++)); do
        one=${text:at:1}
        if [[ $one == \\ && $quote != \' ]]; then
            ((++at))
            one=${text:at:1} some=1 dollar=
            if [[ $quote == \" && $one && $one != [\"\$\`\\] ]]; then
                word+=\\$one
            elif [[ $quote != \$\' || $one == [\\\"?] ]]; then
                word+=$one
            elif [[ ${text:at} =~ ^x([0-9a-fA-F][0-9a-fA-F]) ]]; then
                printf -v one %b "\\x${BASH_REMATCH[1]}"
                word+=$one
                ((at += 2))
            elif [[ ${text:at} =~ ^(x[0-9a-fA-F]?)?$ ]]; then
                break
            else
                return 1  # readline ends the quotes at \', and names have nothing that the others stand for
            fi
        elif [[ $quote ]]; then
            if [[ $one == "${quote#\$}" ]]; then quote=; else word+=$one; fi
        elif [[ $one == [\'\"] ]]; then
            [[ $dollar ]] && word=${word%\$}
            quote=$one cut=$word some=1
            [[ $dollar && $one == \' ]] && quote=\$\'
            dollar=
        elif [[ $one == [[:space:]] ]]; then
            [[ $some ]] && line+=("$word")
            word= some= broke= dollar= tilde=
        else
            [[ $one == \~ && ! $some ]] && tilde=1
            word+=$one some=1
            if [[ $one == \$ && ! $dollar ]]; then dollar=1; else dollar=; fi
            [[ ${COMP_WORDBREAKS-} == *"$one"* ]] && broke=${word%@}
        fi
    done
    [[ $quote ]] || cut=$broke
    line+=("$word")
}"""

_MAIN: Final = r"""_kw() {
    local verb= api= left=0 place=0 kind= list= verbs= options= head= quote= cut= tilde= fold=1 at last plain
    local IFS=$' \t\n'
    local -a line
    COMPREPLY=()
    _kw_split "${COMP_LINE:0:COMP_POINT}" || return 0
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
    plain=${line[last]}
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
