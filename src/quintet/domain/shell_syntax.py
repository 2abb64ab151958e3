"""What a shell grammar gives: the simple commands of a line, whatever they stand in, in the order they are written.

Subshells, loops, conditions, functions and substitutions are flattened: a command in any of them is in `commands`.
What the grammar could not account for is a `problem`, and then `commands` holds only what was understood.
"""

from __future__ import annotations

from msgspec import Struct


class Word(Struct, frozen=True, gc=False):
    """One word after quote removal. In a dynamic one `$` stands for each expansion and `0` for arithmetic."""

    text: str
    dynamic: bool = False  # an expansion, so the text is not the whole truth
    glob: bool = False  # an unquoted pattern


class Redirect(Struct, frozen=True, gc=False):
    operator: str  # without the descriptor: `>`, `>>`, `&>`, `>&`, `<`, `<<<` …
    target: Word


class Assignment(Struct, frozen=True, gc=False):
    name: str
    value: Word


class Command(Struct, frozen=True, gc=False):
    """One simple command; without words it is its assignments and redirections alone."""

    words: tuple[Word, ...]
    assignments: tuple[Assignment, ...] = ()
    redirects: tuple[Redirect, ...] = ()
    follows: bool = False  # runs only if everything before it in the same `&&` chain succeeded


class Script(Struct, frozen=True, gc=False):
    commands: tuple[Command, ...] = ()
    problem: str = ""  # why the line is not understood
    evaluates: bool = False  # arithmetic over variables: their values are run as expressions
