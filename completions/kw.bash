# bash completion for kw; made by `kw completion bash`
_kw() {
    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} verb= i
    for ((i = 1; i < COMP_CWORD; i++)); do
        case ${COMP_WORDS[i]} in completion) verb=${COMP_WORDS[i]}; break ;; esac
    done
    COMPREPLY=()
    case "$verb $before" in
    esac
    case "$verb" in
        "") if [[ $word == -* ]]; then COMPREPLY=($(compgen -W "--version -h --help" -- "$word")); else COMPREPLY=($(compgen -W "completion" -- "$word")); fi ;;
        "completion") if [[ $word == -* ]]; then COMPREPLY=($(compgen -W "-h --help" -- "$word")); else COMPREPLY=($(compgen -W "bash zsh fish" -- "$word")); fi ;;
    esac
}
complete -o default -F _kw kw
