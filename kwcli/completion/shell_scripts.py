"""The completion scripts of bash, zsh and fish: each gives the line to `kw __complete` and offers what it answers.

A script has only what its shell alone can do: the quotes at the cursor, how candidates are given to the shell, and in
zsh and fish the names of files where the shell completes them. complete.py says what the scripts ask and what the
answers mean. Names of a cluster and of files are text of strangers: bash takes candidates as they are, so that kw
quotes them (bash_quoting.py), zsh and fish quote them themselves.

The program is the one whose path the line has, else `kw`: no other word of the line is run.
"""

from __future__ import annotations

from typing import Final

_BASH: Final = r"""# bash completion for kw, for bash 3.2 and later; made by `kw completion bash`
_kw() {
    local IFS=$' \t\n' program=kw how= one
    COMPREPLY=()
    [[ $1 == */* ]] && program=$1
    [[ $1 == \~/* ]] && program=${HOME-}${1:1}
    {
        IFS= read -r how
        while IFS= read -r one; do COMPREPLY+=("$one"); done  # quoted by kw as the cursor needs it
    } < <(LC_ALL=${LC_ALL:-${LC_CTYPE:-${LANG-}}} "$program" __complete \
        bash "${COMP_WORDBREAKS-}" "${COMP_LINE:0:COMP_POINT}" 2> /dev/null)
    [[ $how ]] && compopt $how 2> /dev/null  # bash 3.2 has none
    return 0
}
complete -F _kw kw
"""

_ZSH: Final = r"""#compdef kw
# zsh completion for kw; made by `kw completion zsh`
_kw() {
    local program=kw state=${compstate[quote]-} kind head one text
    local -a listed ends goes ends_shown goes_shown
    [[ $words[1] == */* ]] && program=${${(Q)words[1]}/#\~\//$HOME/}
    [[ $PREFIX == *\\* ]] && state+=\\
    {
        IFS=$'\t' read -r kind head
        while IFS=$'\t' read -r one text; do
            [[ -n $text ]] && listed=(-l)
            text=${${text:-$one}[1,COLUMNS-1]}
            if [[ $one == *[=.:/\(] ]]; then
                goes+=("$one") goes_shown+=("$text")
            else
                ends+=("$one") ends_shown+=("$text")
            fi
        done
    } < <(LC_ALL=${LC_ALL:-${LC_CTYPE:-${LANG-}}} $program __complete \
        zsh "$state" "${(@Q)words[2,CURRENT-1]}" "${(Q)PREFIX}" 2> /dev/null)
    if [[ $kind == (files|names) ]]; then
        [[ -n $head ]] && compset -P 1 "*$head[-1]"
        [[ $kind == files ]] && { _files; return }
        compset -P '*/'
    fi
    # Options and names begin as typed, in any case; words that go on get no space.
    local -a how=(-V kw -M 'm:{a-zA-Z-}={A-Za-z_}' $listed)
    (( $#goes )) && compadd "$how[@]" -S '' -d goes_shown -a goes
    (( $#ends )) && compadd "$how[@]" -d ends_shown -a ends
}
if [[ $funcstack[1] == _kw ]]; then _kw "$@"; else compdef _kw kw; fi
"""

_FISH: Final = r"""# fish completion for kw; made by `kw completion fish`
function __kw_complete
    set -l tokens (commandline -opc)
    set -l word (commandline -ct | string collect)
    set -l program kw
    string match -q '*/*' -- $tokens[1]; and set program $tokens[1]
    string match -q '~/*' -- $tokens[1]; and set program $HOME(string sub -s 2 -- $tokens[1])
    set -l locale (string match -v '' -- $LC_ALL $LC_CTYPE $LANG C)
    set -l state (string match -r '^[\'"]' -- $word)
    set -l plain (string unescape -- $word | string collect)
    set -l answer (env LC_ALL=$locale[1] $program __complete fish "$state" $tokens[2..-1] "$plain" 2> /dev/null)
    set -l kind (string split -m 1 \t -- $answer[1])
    if test "$kind[1]" = files
        __kw_files $locale[1] "$word" $kind[2]
    else
        string join \n -- $answer[2..-1]
    end
end
function __kw_files  # fish's own names of files; $argv: locale, word, and its part before the name
    set -l word $argv[2]
    set -l sign (string sub -s -1 -- $argv[3])
    test -n "$sign"; and set word (string replace -r '^(["\']?).*?'$sign '$1' -- $word | string collect)
    for file in (complete -C "'' $word" | string replace -r '\t.*' '')
        if not string match -qr '^[~$]' -- "$word"
            test -e $file; or test -L $file; or continue  # a line of a name with several
            string match -q '~*' -- $file; and set file ./$file
        end
        # fish draws names as they are: those without control characters and bytes that are no text, U+F6xx to fish
        if string match -qri '^(C|POSIX)$|utf-?8' -- $argv[1]
            string match -rv '[\x00-\x1f\x7f-\x9f\x{f600}-\x{f6ff}]' -- $argv[3]$file
        else  # a sign may be a part of a character, and is run (GBK, Big5)
            string match -r '^[\x20-\x7e]*$' -- $argv[3]$file
        end
    end
end
complete -c kw -f -k -a '(__kw_complete)'
"""

# Shell → its script.
SCRIPTS: Final = {"bash": _BASH, "zsh": _ZSH, "fish": _FISH}
