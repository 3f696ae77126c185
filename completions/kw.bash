# bash completion for kw, for bash 3.2 and later; made by `kw completion bash`
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
