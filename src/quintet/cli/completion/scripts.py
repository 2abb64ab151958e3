"""`quintet completion`: a script for bash, zsh or fish, made from the parsers that read the command line.

Commands, actions, flags and the values of dials stand in the script; ids are asked for when they are wanted.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator

from quintet.adapters.files.paths import locate
from quintet.adapters.settings import layers as config
from quintet.app.lookups import chosen_models
from quintet.app.session_lists import session_rows
from quintet.app.task_lookups import tasks_here
from quintet.cli.completion.shapes import Taken, shapes
from quintet.cli.parsing import make_parser
from quintet.surfaces.tables import say

LAZY: dict[str, Callable[[str], list[str]]] = {
    "sessions": lambda path: [str(row["session"]) for row in session_rows(locate(path))],
    "tasks": lambda path: [task.id for task in tasks_here(locate(path))[0].tasks],
    "models": lambda path: [str(row["name"]) for row in chosen_models(config.load(locate(path)).settings)],
}


def completion(arguments: list[str]) -> int:
    parser = make_parser("completion", 'Completion for a shell: eval "$(quintet completion bash)", or see the manual.')
    parser.add_argument("what", choices=(*SHELLS, *LAZY), help="a shell, or a kind of id (used by the scripts)")
    parsed = parser.parse_args(arguments)
    if parsed.what in SHELLS:
        sys.stdout.write("\n".join(SHELLS[parsed.what](shapes())) + "\n")
    else:
        say(LAZY[parsed.what](parsed.directory))
    return 0


def _bash(found: dict[str, Taken]) -> Iterator[str]:
    yield '# eval "$(quintet completion bash)" in ~/.bashrc'
    yield "_quintet() {"
    yield '    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} at="" words="" kind="" word'
    yield '    for word in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do'
    yield f'        case "${{at:+$at }}$word" in {_either(found)}) at="${{at:+$at }}$word" ;; esac'
    yield "    done"
    yield '    case "$at|$prev" in'
    for path, taken in found.items():
        for flag, values in taken.values.items():
            yield f"        '{path}|{flag}') words='{' '.join(values)}' kind='{taken.kinds.get(flag, '')}' ;;"
    yield '        *) case "$at" in'
    for path, taken in found.items():
        yield f"            '{path}') words='{' '.join(taken.words)}' kind='{taken.kind}' ;;"
    yield "        esac ;;"
    yield "    esac"
    yield '    [[ -n $kind && $cur != -* ]] && words+=" $("${COMP_WORDS[0]}" completion "$kind" 2>/dev/null)"'
    yield '    COMPREPLY=($(compgen -W "$words" -- "$cur"))'  # also in a bash of before mapfile
    yield "}"
    yield "complete -o default -F _quintet quintet"


def _zsh(found: dict[str, Taken]) -> Iterator[str]:
    yield "#compdef quintet"
    yield '# eval "$(quintet completion zsh)" in ~/.zshrc, after compinit'
    yield "_quintet() {"
    yield "    local at='' kind='' word prev=${words[CURRENT-1]} cur=${words[CURRENT]}"
    yield "    local -a found"
    yield '    for word in "${(@)words[2,CURRENT-1]}"; do'
    yield f'        case "${{at:+$at }}$word" in ({_either(found)}) at="${{at:+$at }}$word" ;; esac'
    yield "    done"
    yield '    case "$at|$prev" in'
    for path, taken in found.items():
        for flag, values in taken.values.items():
            yield f"        ('{path}|{flag}') found=({' '.join(values)}) kind='{taken.kinds.get(flag, '')}' ;;"
    yield '        (*) case "$at" in'
    for path, taken in found.items():
        yield f"            ('{path}') found=({' '.join(taken.words)}) kind='{taken.kind}' ;;"
    yield "        esac ;;"
    yield "    esac"
    yield '    [[ -n $kind && $cur != -* ]] && found+=("${(@f)$("${words[1]}" completion "$kind" 2>/dev/null)}")'
    yield "    compadd -a found || _files"
    yield "}"
    yield "compdef _quintet quintet"


def _fish(found: dict[str, Taken]) -> Iterator[str]:
    yield "# quintet completion fish > ~/.config/fish/completions/quintet.fish"
    yield "function __quintet_words"
    yield "    set -l given (commandline -opc)"
    yield "    set -l prev $given[-1]"
    yield "    set -l at ''"
    yield "    set -l kind ''"
    yield "    for word in $given[2..-1]"
    yield '        switch (string trim -- "$at $word")'
    yield f"            case {' '.join(_quoted(path) for path in found if path)}"
    yield '                set at (string trim -- "$at $word")'
    yield "        end"
    yield "    end"
    yield '    switch "$at|$prev"'
    for path, taken in found.items():
        for flag, values in taken.values.items():
            yield f"        case '{path}|{flag}'"
            yield from _fish_words(values, taken.kinds.get(flag, ""))
    yield "        case '*'"
    yield '            switch "$at"'
    for path, taken in found.items():
        yield f"                case '{path}'"
        yield from _fish_words(taken.words, taken.kind)
    yield "            end"
    yield "    end"
    yield '    if test -n "$kind"'
    yield "        $given[1] completion $kind 2>/dev/null"
    yield "    end"
    yield "end"
    yield "complete -c quintet -a '(__quintet_words)'"


def _fish_words(words: list[str], kind: str) -> Iterator[str]:
    if words:
        yield f"                    printf '%s\\n' {' '.join(map(_quoted, words))}"
    yield f"                    set kind '{kind}'"


def _either(found: dict[str, Taken]) -> str:
    return "|".join(_quoted(path) for path in found if path)


def _quoted(text: str) -> str:
    return f"'{text}'"


SHELLS: dict[str, Callable[[dict[str, Taken]], Iterator[str]]] = {"bash": _bash, "zsh": _zsh, "fish": _fish}
