"""What a shell grammar gives: the simple commands of a line, whatever they stand in, in the order they are written.

Subshells, loops, conditions, functions and substitutions are flattened: a command in any of them is in `commands`.
What the grammar could not account for is a `problem`, and then `commands` holds only what was understood.
"""

from __future__ import annotations

import re

from msgspec import Struct

from quintet.domain.base.lazy_regex import regex

_ESCAPE = regex(r"\\(?:(x[0-9A-Fa-f]{1,2}|u[0-9A-Fa-f]{1,4}|U[0-9A-Fa-f]{1,8})|([0-7]{1,3})|(.))", re.DOTALL)
_LETTERS = dict(zip("abeEfnrtv\\'\"?", "\a\b\x1b\x1b\f\n\r\t\v\\'\"?", strict=True))


class Word(Struct, frozen=True, gc=False):
    """One word after quote removal. In a dynamic one `$` stands for each expansion and `0` for arithmetic."""

    text: str
    dynamic: bool = False  # an expansion, so the text is not the whole truth
    glob: bool = False  # an unquoted pattern, or one of the words that braces stand for
    parts: tuple[str, ...] = ()  # text, variable, text, … of a word with expansions; the variable "" is not known


class Redirect(Struct, frozen=True, gc=False):
    operator: str  # without the descriptor: `>`, `>>`, `&>`, `>&`, `<`, `<<<` …
    target: Word


class ShellAssignment(Struct, frozen=True, gc=False):
    name: str
    value: Word


class ShellCommand(Struct, frozen=True, gc=False):
    """One simple command; without words it is its assignments and redirections alone."""

    words: tuple[Word, ...]
    assignments: tuple[ShellAssignment, ...] = ()
    redirects: tuple[Redirect, ...] = ()
    follows: bool = False  # runs only if everything before it in the same `&&` chain succeeded


class CommandSpan(Struct, frozen=True, gc=False):
    """A function, or a command substitution, and which of the script's commands stand in it."""

    name: str  # of a substitution `(` and a number, as in the parts of the word it stands in
    first: int
    end: int


class Script(Struct, frozen=True, gc=False):
    commands: tuple[ShellCommand, ...] = ()
    problem: str = ""  # why the line is not understood
    evaluates: bool = False  # arithmetic over variables: their values are run as expressions
    expands: bool = False  # some word has parts
    defaults: tuple[ShellAssignment, ...] = ()  # `${x:-value}`
    spans: tuple[CommandSpan, ...] = ()
    repeats: bool = False  # a loop or a function, in a line that changes folder: what stands in it may run again


def unescaped(text: str) -> str | None:
    """The characters that `$'…'`, and printf, make of `text`; None if one of them is not plain ASCII."""
    try:
        return _ESCAPE.sub(_character, text) if "\\" in text else text
    except ValueError:
        return None


def _character(found: re.Match[str]) -> str:
    code, octal, letter = found.groups()
    if letter == "c":
        raise ValueError
    if letter:
        return _LETTERS.get(letter, f"\\{letter}")
    number = int(code[1:], 16) if code else int(octal, 8)
    if not 0 < number < 128:
        raise ValueError
    return chr(number)
