"""The arguments of a command, read by what is known of its flags; and what judging a command gives.

A specification names the flags a program is known to be harmless with: `l`, `all`, and with `=` those that take a
value. Any other flag is odd, and an odd flag makes a program one that is not known.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from msgspec import Struct

from quintet.domain.base.lazy_regex import regex
from quintet.domain.permission.effects import Effect
from quintet.domain.shell.syntax import Word

# Effects while they are added up: one bit each, a worse effect the higher bit. `effect_set` says them in full.
Effects = int
NONE: Effects = 0
READ = 1 << 0
EDIT = 1 << 1
EXECUTE = 1 << 2
BUILD = 1 << 3
INSTALL = 1 << 4
COMMIT = 1 << 6
_FETCH = 1 << 7
NETWORK = 1 << 8
OUTSIDE = 1 << 9
OPAQUE = 1 << 10  # code that is not read here, so it could be anything
DELETE = 1 << 11  # loses just the files that it names
DESTROY = 1 << 12
_PUBLISH = 1 << 13
PUBLISH: Effects = _PUBLISH | NETWORK

# In full, and as what a program does. What is opaque or deletes is `destroy` unless a sandbox or a snapshot says less.
_MEANS: dict[Effects, tuple[Effect, str]] = {
    READ: (Effect.READ, "reads"),
    EDIT: (Effect.EDIT, "changes files"),
    EXECUTE: (Effect.EXECUTE, "not a program Quintet knows"),
    BUILD: (Effect.BUILD, "builds or tests"),
    INSTALL: (Effect.INSTALL, "installs"),
    COMMIT: (Effect.COMMIT, "changes the repository"),
    _FETCH: (Effect.FETCH, "fetches"),
    NETWORK: (Effect.NETWORK, "network"),
    OUTSIDE: (Effect.OUTSIDE, "accesses something outside the project"),
    OPAQUE: (Effect.DESTROY, "could do anything"),
    DELETE: (Effect.DESTROY, "deletes"),
    DESTROY: (Effect.DESTROY, "destroys"),
    _PUBLISH: (Effect.PUBLISH, "publishes"),
}


_BRACES = regex(r"\{([^{},]*+(?:,[^{},]*+)++)\}")
_OUTPUT = regex("out|xml|html|report|log|temp|dump|dist|dir|trace|cache|profile")
_MOST_ALTERNATIVES = 64
_MOST_MARKS = 8  # of a word whose parts may name files
_MAGIC = regex(r"^(?:\([^)]*\)|[!^/]+(?=[^/]))")  # before a path as git takes it: `:(glob)x`, `:!x`


class Judged(Struct, frozen=True, gc=False):
    """What one command would do by itself; `inner` are the commands it would run in turn."""

    effects: Effects
    why: str
    reads: Sequence[str] = ()
    writes: Sequence[str] = ()
    globs: Sequence[str] = ()  # patterns among what it reads the contents of
    inner: Sequence[Sequence[Word]] = ()
    deletes: Sequence[str] = ()  # what is lost by it, files, folders or patterns: all of it, where the effect is DELETE
    hides: bool = False  # its words make it run another program


class Arguments(Struct, gc=False):
    operands: list[Word]
    flags: set[str]
    values: list[str]  # of flags, and whatever sticks to a flag that is not known
    odd: str = ""  # the first flag that is not known
    dynamic: bool = False


@cache
def specification(text: str) -> dict[str, bool]:
    """Flag → whether it takes a value."""
    return {flag.rstrip("="): flag.endswith("=") for flag in text.split()}


def arguments(words: Sequence[Word], known: dict[str, bool]) -> Arguments:
    """The arguments in `words`, the program's name not among them."""
    operands: list[Word] = []
    flags: set[str] = set()
    values: list[str] = []
    odd = ""
    dynamic = False
    rest = iter(words)
    for word in rest:
        text = word.text
        if word.dynamic:
            dynamic = True
            operands.append(word)
        elif text[:1] != "-" or text == "-":
            operands.append(word)
        elif text[1] == "-":
            if text == "--":
                operands += rest
                dynamic = dynamic or any(operand.dynamic for operand in operands)
                break
            name, equals, value = text[2:].partition("=")
            flags.add(name)
            takes = known.get(name)
            if takes is None:
                odd = odd or text
            if equals:
                values.append(value)
            elif takes and (after := next(rest, None)):
                values.append(after.text)
                dynamic = dynamic or after.dynamic
        elif not text[1:].isdigit():
            for place, letter in enumerate(text[1:], 2):
                flags.add(letter)
                takes = known.get(letter)
                if takes is None and not letter.isdigit():
                    odd = odd or text
                    values.append(text[place:])
                    break
                if takes:
                    if text[place:]:
                        values.append(text[place:])
                    elif after := next(rest, None):
                        values.append(after.text)
                        dynamic = dynamic or after.dynamic
                    break
    return Arguments(operands, flags, values, odd, dynamic)


def abbreviates(text: str, *flags: str) -> bool:
    """Whether a word is one of these long flags, as far as it is written out, with or without a value."""
    return text[:2] == "--" and (text.startswith(flags) or text.partition("=")[0] in _beginnings(flags))


@cache
def _beginnings(flags: tuple[str, ...]) -> frozenset[str]:
    return frozenset(flag[:length] for flag in flags for length in range(3, len(flag)))


def letters(text: str) -> set[str]:
    """The flags that `-abc` may be made of."""
    return set(text[1:]) if text[:1] == "-" and text[1:2] != "-" else set()


def written(words: Sequence[Word]) -> list[str]:
    """The files that flags of a compiler, linter or test runner write: `-o x`, `--output=x`, `--junitxml x`."""
    found: list[str] = []
    take = False
    for word in words:
        text = word.text
        if take:
            found.append(text)
            take = False
        elif text[:1] == "-":
            flag, equals, value = text.partition("=")
            if text[1:2] in ("o", "d"):
                value = text[2:]
            elif text[1:2] != "-" or not _OUTPUT.search(flag):
                continue
            take = not value and not equals
            if value:
                found.append(value)
    return found


def table(**rows: tuple[Effects, str]) -> dict[str, Effects]:
    return {program: effects for effects, programs in rows.values() for program in programs.split()}


@cache
def effect_set(effects: Effects) -> frozenset[Effect]:
    return frozenset(effect for bit, (effect, _) in _MEANS.items() if effects & bit)


def verb(effects: Effects) -> str:
    """The worst of them, as what a program does."""
    if effects & _PUBLISH and effects & DESTROY:
        return "publishes with --force"
    return _MEANS[1 << (effects.bit_length() - 1)][1]


def plain(program: str, effects: Effects, words: Sequence[Word], why: str = "") -> Judged:
    """Judged by the program alone; every word may name a file."""
    return Judged(effects, f"{program}: {why}" if why else program, names(words), (), patterns(words))


def names(words: Sequence[Word]) -> list[str]:
    """What in these words may name a file: `x`, `--file=x`, `-fx`, `HEAD:x`, `if=x`, `@x`."""
    found: list[str] = []
    for word in words:
        text = word.text
        if text[:1] == "-":
            if text[1:2] != "-":
                text = text[2:]
            else:
                text = text.partition("=")[2]
        if text:
            found += name(text)
    return found


def name(text: str) -> list[str]:
    """A word, and the parts of it that may name a file by themselves."""
    if "{" in text and "," in text:
        return [found for spelled in alternatives(text) for found in name(spelled)]
    if "://" in text:
        return [text[7:]] if text.startswith("file://") else []
    if ":" not in text and "=" not in text and "@" not in text:
        return [text]
    found = [] if text[0] == "@" or "@{" in text else [text]
    for mark in ":=@":
        parts = text.split(mark, _MOST_MARKS)[1:]
        found += [_MAGIC.sub("", part) for part in parts if part and part[0] != "{"]
        if text.count(mark) > 1:
            found.append(text.partition(mark)[2])
    return found


def alternatives(text: str) -> list[str]:
    """What `a{b,c}` stands for; braces that are left over are left out."""
    open_ = [text]
    done: list[str] = []
    while open_ and len(open_) + len(done) < _MOST_ALTERNATIVES:
        spelling = open_.pop()
        found = _BRACES.search(spelling)
        if found is None:
            done.append(spelling.replace("{", "").replace("}", ""))
        else:
            before, after = spelling[: found.start()], spelling[found.end() :]
            open_ += [f"{before}{part}{after}" for part in found.group(1).split(",")]
    return done + [spelling.replace("{", "") for spelling in open_]


def patterns(words: Sequence[Word]) -> list[str]:
    return [word.text for word in words if word.glob]
