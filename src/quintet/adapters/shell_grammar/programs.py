"""The programs that a shell line names and that are not to be found here. Nothing is started."""

from __future__ import annotations

import os
from shutil import which

from quintet.package import load

_BUILTINS = frozenset({".", ":", "[", "[[", "cd", "echo", "eval", "exec", "exit", "export", "false", "printf", "pwd"})
_BUILTINS |= {"set", "source", "test", "trap", "true", "ulimit", "unset"}


def missing_programs(line: str, root: str) -> list[str]:
    script = load("adapters.shell_grammar.parse:BashGrammar")().parse(line)  # few projects have such a line
    words = [command.words[0] for command in script.commands if command.words]
    names = dict.fromkeys(word.text for word in words if not word.dynamic and not word.glob)
    own = {span.name for span in script.spans}
    return [name for name in names if name not in _BUILTINS | own and not is_here(name, root)]


def is_here(program: str, root: str) -> bool:
    """Whether there is a program of that name on PATH, or at that path of the project."""
    if "/" in program:
        return os.access(os.path.join(root, os.path.expanduser(program)), os.X_OK)
    return which(program) is not None
