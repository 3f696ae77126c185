# fish completion for kw; made by `kw completion fish`
complete -c kw -f
complete -c kw -n __fish_use_subcommand -a completion -d 'Print the completion script for SHELL: bash, zsh or fish.'
complete -c kw -n __fish_use_subcommand -l version -d 'Print the version and end.'
complete -c kw -n __fish_use_subcommand -s h -l help -d 'Show this message and exit.'
complete -c kw -n '__fish_seen_subcommand_from completion' -a 'bash zsh fish'
complete -c kw -n '__fish_seen_subcommand_from completion' -s h -l help -d 'Show this message and exit.'
