"""Programs by their names: which judge one has, a handler of its own or a row of a table; and how rules know it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from quintet.domain.shell import escape_hatches as shell_hooks
from quintet.domain.shell import file_programs as shell_files
from quintet.domain.shell import git as shell_git
from quintet.domain.shell import interpreters as shell_code
from quintet.domain.shell import programs as shell_programs
from quintet.domain.shell import wrappers as shell_wrappers
from quintet.domain.shell.arguments import BUILD, DESTROY, EXECUTE, PUBLISH, Judged, plain
from quintet.domain.shell.paths import is_system
from quintet.domain.shell.syntax import Word

HANDLERS: dict[str, Callable[[Sequence[Word]], Judged]] = {
    **shell_code.HANDLERS,
    **shell_files.HANDLERS,
    **shell_wrappers.HANDLERS,
    **shell_hooks.HANDLERS,
    "git": shell_git.git,
    "gh": shell_git.gh,
    "glab": shell_git.gh,
}
READERS = (shell_programs.READERS | shell_programs.UNFLAGGED) - HANDLERS.keys()
_REMOVES = frozenset({"rm", "rmdir", "unlink", "shred", "truncate", "dd", "chown", "chgrp", "chattr", "setfacl"})


_MOST_PLACES = 16  # where a command may begin behind its flags, from the front and from the end
_BUILTINS = frozenset({"cd", "pushd", "popd", "chdir", "env", *shell_code.VARIABLES})


def is_known(name: str) -> bool:
    """Whether the judge goes by this name, so that a function must not take it."""
    return (
        name in HANDLERS
        or name in READERS
        or name in _BUILTINS
        or name in shell_programs.PROGRAMS
        or name in shell_programs.EDITORS
        or name in shell_programs.SUBCOMMANDS
        or name in shell_wrappers.WRAPPERS
        or shell_code.is_interpreter(name)
    )


def by_table(program: str, words: Sequence[Word]) -> Judged:
    if program in shell_programs.EDITORS:
        return shell_programs.edit_program(program, words)
    if program in shell_wrappers.WRAPPERS:
        return shell_wrappers.wrapped(program, words)
    if ran := shell_wrappers.runner(program, words):
        return ran
    if shell_code.is_python(program):
        return shell_code.python(words)
    if shell_code.is_interpreter(program):
        return shell_code.interpreter(program, words)
    if program in shell_programs.SUBCOMMANDS:
        return shell_programs.with_subcommand(program, words)
    effects = shell_programs.PROGRAMS.get(program)
    if effects is None:
        if program.startswith("mkfs."):
            return plain(program, DESTROY, words[1:])
        if "/ld-" in program and ".so" in program:
            return shell_wrappers.loader(words)
        return plain(program, EXECUTE, words[1:], "a program of its own" if "/" in program else "")
    if effects == BUILD:
        return shell_hooks.build(program, words)
    if program in ("docker", "podman", "skopeo", "helm") and any(w.text in ("push", "publish") for w in words[1:]):
        effects |= PUBLISH
    judged = plain(program, effects, words[1:], "deletes" if program in ("rm", "rmdir", "unlink") else "")
    if program in _REMOVES:
        return Judged(effects, judged.why, judged.reads, judged.reads, judged.globs)
    return judged


def spellings(words: Sequence[Word]) -> Iterator[str]:
    """A command as rules know it: its program by name, its words as they are after quoting.

    A program of another folder than the system's is no more than its path, so that is among the spellings too. Also
    without the flags before its first word, since `git -C there push` is a `git push`. Whether the word after a
    flag is its value or the first of its own is not always known: then it is taken for either.
    """
    first, *rest = (word.text for word in words)
    folder, _, program = first.rpartition("/")
    yield " ".join((program, *rest))
    if folder and not is_system(folder):
        yield " ".join((first, *rest))
    place, value = 0, False
    places: list[int] = []
    while place < len(rest) and (value or rest[place][:1] == "-"):
        value = rest[place][:1] == "-" and "=" not in rest[place] and rest[place] not in shell_git.VALUELESS
        place += 1
        if place < len(rest) and rest[place][:1] != "-":
            places.append(place)
    for place in (*places[:_MOST_PLACES], *places[_MOST_PLACES:][-_MOST_PLACES:]):
        yield " ".join((program, *rest[place:]))
