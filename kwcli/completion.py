"""click commands in, completion scripts out: static text for bash, zsh and fish that never starts `kw`.

A script knows commands, options, the values of choices, API names, network interfaces and where files go.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final, NamedTuple

import click


class Word(NamedTuple):
    """One option, or with empty `names` the arguments. `values` is what may follow: words, `files`, a shell command."""

    names: tuple[str, ...]
    help: str
    takes_value: bool
    values: tuple[str, ...] = ()
    files: bool = False
    interfaces: bool = False
    repeats: bool = False


class Verb(NamedTuple):
    """One command: its name, its line in the help, its words."""

    name: str
    help: str
    words: tuple[Word, ...]


def verbs(group: click.Group) -> list[Verb]:
    """The commands of the program, `""` standing for the program itself."""
    ctx = click.Context(group, info_name=group.name, **group.context_settings)
    found = [Verb("", "", _words(group, ctx))]
    for name in group.list_commands(ctx):
        command = group.get_command(ctx, name)
        if command is not None:
            line = command.get_short_help_str(limit=100)
            found.append(Verb(name, line, _words(command, click.Context(command, ctx, info_name=name))))
    return found


def _words(command: click.Command, ctx: click.Context) -> tuple[Word, ...]:
    own = tuple(_word(param) for param in command.get_params(ctx) if not getattr(param, "hidden", False))
    return own if not ctx.parent or not isinstance(command, click.Group) else (*own, *_inner(command, ctx))


def _inner(group: click.Group, ctx: click.Context) -> Iterable[Word]:
    """The commands of a command, and the options that any of them has."""
    names = tuple(group.list_commands(ctx))
    yield Word((), "", False, names, files=True)
    seen: set[tuple[str, ...]] = {("-h", "--help")}
    for name in names:
        inner = group.get_command(ctx, name)
        for word in _words(inner, click.Context(inner, ctx, info_name=name)) if inner else ():
            if word.names and word.names not in seen:
                seen.add(word.names)
                yield word


def _word(param: click.Parameter) -> Word:
    is_option = isinstance(param, click.Option)
    values: tuple[str, ...] = ()
    if isinstance(param.type, click.Choice):
        values = tuple(str(choice) for choice in param.type.choices)
    elif param.name == "apis":
        values = _api_names()
    return Word(
        names=tuple(param.opts) if is_option else (),
        help=(param.help or "") if isinstance(param, click.Option) else "",
        takes_value=not (isinstance(param, click.Option) and (param.is_flag or param.count)),
        values=values,
        files=isinstance(param.type, click.Path),
        interfaces=param.name == "interface",
        repeats=bool(param.multiple or (isinstance(param, click.Option) and param.count) or param.nargs == -1),
    )


def _api_names() -> tuple[str, ...]:
    from decoders.apis import KEYS, api

    return tuple(api(key).name for key in sorted(KEYS))


def bash(program: list[Verb]) -> str:
    """A bash script; `complete -o default` lets readline complete files where we offer nothing."""
    names = " ".join(verb.name for verb in program[1:])
    lines = [
        "# bash completion for kw; made by `kw completion bash`",
        "_kw() {",
        "    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} verb= i",
        "    for ((i = 1; i < COMP_CWORD; i++)); do",
        f"        case ${{COMP_WORDS[i]}} in {names.replace(' ', '|')}) verb=${{COMP_WORDS[i]}}; break ;; esac",
        "    done",
        "    COMPREPLY=()",
        '    case "$verb $before" in',
    ]
    for verb in program:
        for word in verb.words:
            if word.names and word.takes_value:
                keys = "|".join(f'"{verb.name} {name}"' for name in word.names)
                lines.append(f"        {keys}) {_bash_values(word)} return ;;".replace(")  return", ") return"))
    lines += ["    esac", '    case "$verb" in']
    for verb in program:
        options = " ".join(name for word in verb.words for name in word.names)
        arguments = [value for word in verb.words if not word.names for value in word.values]
        if not verb.name:
            arguments = [names]
        reply = f'COMPREPLY=($(compgen -W "{options}" -- "$word"))'
        other = f'COMPREPLY=($(compgen -W "{" ".join(arguments)}" -- "$word"))' if arguments else ":"
        lines.append(f'        "{verb.name}") if [[ $word == -* ]]; then {reply}; else {other}; fi ;;')
    lines += ["    esac", "}", "complete -o default -F _kw kw"]
    return "\n".join(lines) + "\n"


def _bash_values(word: Word) -> str:
    if word.interfaces:
        return 'COMPREPLY=($(compgen -W "any $(ls /sys/class/net 2>/dev/null)" -- "$word"));'
    if word.values:
        return f'COMPREPLY=($(compgen -W "{" ".join(word.values)}" -- "$word"));'
    return "" if word.files else "compopt +o default;"


def zsh(program: list[Verb]) -> str:
    """A zsh script for a folder of $fpath."""
    lines = ["#compdef kw", "# zsh completion for kw; made by `kw completion zsh`", "_kw() {"]
    lines += [
        "    local context state state_descr line",
        "    typeset -A opt_args",
        "    local -a verbs",
        "    verbs=(",
    ]
    lines += [f"        {_quoted(f'{verb.name}:{verb.help}')}" for verb in program[1:]]
    lines += ["    )", "    _arguments -C \\"]
    lines += [f"        {spec} \\" for word in program[0].words for spec in _zsh_specs(word)]
    lines += ["        '1:command:->verb' '*::argument:->argument'", "    case $state in"]
    lines += [
        "        verb) _describe -t commands command verbs ;;",
        "        argument)",
        "            case $words[1] in",
    ]
    for verb in program[1:]:
        specs = " \\\n                        ".join(spec for word in verb.words for spec in _zsh_specs(word))
        lines.append(
            f"                {verb.name})\n                    _arguments -s \\\n                        {specs} ;;"
        )
    lines += [
        "            esac ;;",
        "    esac",
        "}",
        'if [[ $funcstack[1] == _kw ]]; then _kw "$@"; else compdef _kw kw; fi',
    ]
    return "\n".join(lines) + "\n"


def _zsh_specs(word: Word) -> Iterable[str]:
    if word.interfaces:
        action = "_net_interfaces"
    elif word.values:
        action = f"({' '.join(word.values)})"
    else:
        action = "_files" if word.files else " "
    if not word.names:
        yield _quoted(f"{'*' if word.repeats else ''}:{'file' if word.files else 'word'}:{action}")
        return
    text = word.help.translate({ord("["): "(", ord("]"): ")", ord(":"): "\\:"})
    for name in word.names:
        others = "" if word.repeats else f"({' '.join(word.names)})"
        value = f":value:{action}" if word.takes_value else ""
        yield _quoted(f"{'*' if word.repeats else others}{name}[{text}]{value}")


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"


def fish(program: list[Verb]) -> str:
    """A fish script."""
    lines = ["# fish completion for kw; made by `kw completion fish`", "complete -c kw -f"]
    for verb in program[1:]:
        lines.append(f"complete -c kw -n __fish_use_subcommand -a {verb.name} -d {_quoted(verb.help)}")
    for verb in program:
        seen = f"'__fish_seen_subcommand_from {verb.name}'" if verb.name else "__fish_use_subcommand"
        lines += [f"complete -c kw -n {seen} {_fish_word(word)}" for word in verb.words]
    return "\n".join(lines) + "\n"


def _fish_word(word: Word) -> str:
    parts = [f"-l {name[2:]}" if name.startswith("--") else f"-s {name[1:]}" for name in word.names]
    if word.interfaces:
        parts.append("-x -a '(command ls /sys/class/net 2>/dev/null; echo any)'")
    elif word.values:
        parts.append(f"{'-x ' if word.names else ''}-a {_quoted(' '.join(word.values))}")
    elif word.files:
        parts.append("-r -F" if word.names else "-F")
    elif word.names and word.takes_value:
        parts.append("-x")
    if word.help:
        parts.append(f"-d {_quoted(word.help)}")
    return " ".join(parts)


SHELLS: Final[dict[str, Callable[[list[Verb]], str]]] = {"bash": bash, "zsh": zsh, "fish": fish}
