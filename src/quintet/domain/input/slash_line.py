"""Slash commands and a person's own calls as text, one grammar for every surface; and what to offer while one is typed.

`/name word "two words" --flag --key value`, where flags that take a value are named by the command's own spec.
`parse(format(line))` is the identity; the first line is the command, further lines are its details.
`! line` is a shell line of the person's own, `!!tool {…}` a call of any tool with its arguments as JSON.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct, field
from msgspec.json import encode as encode_json

from quintet.domain.base.errors import UsageError
from quintet.domain.base.wording import did_you_mean, nearest

_SHELL, _CALL = "!", "!!"
_QUOTE = '"'
_ESCAPE = "\\"
_NEEDS_QUOTES = frozenset(" \t\"'\\\n\r\v\f")


class CommandLine(Struct, frozen=True):
    name: str
    words: tuple[str, ...] = ()
    flags: dict[str, str | bool] = field(default_factory=dict)
    details: str = ""


def command_name(text: str) -> str | None:
    """The word after `/` if the first line looks like a command, else None."""
    first = text.lstrip().split("\n", 1)[0]
    if not first.startswith("/") or first[1:2].strip() == "":
        return None
    name = first[1:].split(maxsplit=1)[0]
    return name.lower() if "/" not in name else None


def own_call(text: str) -> tuple[str, str] | None:
    """The tool and arguments of a call that a person makes by their own hand; None if the text is none."""
    if text.startswith(_CALL):
        words = text.removeprefix(_CALL).split(maxsplit=1)
        return words[0] if words else "", words[1] if words[1:] else "{}"
    if text.startswith(_SHELL):
        return "bash", encode_json({"command": text.removeprefix(_SHELL).strip()}).decode()
    return None


def as_input(words: str) -> str:
    """Words that no person typed, as an input that is words and nothing else: a line that would be a command, a call of
    the person's own or a choice of a menu does not come first."""
    words = words.strip()
    plain = command_name(words) is None and own_call(words) is None and words[:1] != "*"
    return words if plain else f"Task:\n\n{words}"


def is_shell_line(text: str) -> bool:
    """Whether a text is `! line`: a shell line of the person's own, and no `!!tool` call."""
    return text.startswith(_SHELL) and not text.startswith(_CALL) and bool(text.removeprefix(_SHELL).strip())


def format_own_call(tool: str, arguments: str) -> str:
    return f"{_CALL}{tool} {arguments}"


def _tokens(line: str) -> list[tuple[str, bool]]:
    """Words split as a shell would, each with whether it begins with a quote: a quoted `--x` is a word, not a flag."""
    words: list[tuple[str, bool]] = []
    current: list[str] = []
    quote = ""
    quoted = started = False
    chars = iter(line)
    for char in chars:
        if quote:
            if char == quote:
                quote = ""
            elif char == _ESCAPE and quote == _QUOTE:
                current.append(_unescaped(next(chars, _ESCAPE)))
            else:
                current.append(char)
        elif char in "\"'":
            quote, quoted, started = char, quoted or not started, True
        elif char == _ESCAPE:
            current.append(next(chars, _ESCAPE))
            started = True
        elif char.isspace():
            if started:
                words.append(("".join(current), quoted))
            current, started, quoted = [], False, False
        else:
            current.append(char)
            started = True
    if quote:
        raise UsageError(f"a {quote} quote is not closed: {line}")
    if started:
        words.append(("".join(current), quoted))
    return words


def one_word(line: str) -> str:
    """The word that a line is, its quotes taken off; empty if it is several, or none."""
    try:
        words = _tokens(line) if "\n" not in line else []
    except UsageError:
        return ""
    return words[0][0] if len(words) == 1 else ""


_ESCAPES = {"n": "\n", "r": "\r"}


def _unescaped(char: str) -> str:
    return _ESCAPES.get(char, char)


def parse(text: str, *, valued: frozenset[str] = frozenset(), switches: frozenset[str] = frozenset()) -> CommandLine:
    """Parse a command. `valued` flags take the next word (or `--flag=value`), `switches` take none."""
    first, _, details = text.lstrip().partition("\n")
    tokens = _tokens(first)
    if not tokens or not tokens[0][0].startswith("/"):
        raise UsageError(f"not a command: {first}")
    name = tokens[0][0][1:].lower()
    words: list[str] = []
    flags: dict[str, str | bool] = {}
    rest = iter(tokens[1:])
    for word, quoted in rest:
        if quoted or not word.startswith("--") or word == "--":
            words.append(word)
            continue
        key, has_value, value = word[2:].partition("=")
        if key in switches and not has_value:
            flags[key] = True
        elif key in valued:
            following = (value, True) if has_value else next(rest, None)
            if following is None:
                raise UsageError(f"/{name}: --{key} needs a value")
            flags[key] = following[0]
        else:
            raise UsageError(f"/{name}: unknown flag --{key}.{did_you_mean(key, sorted(valued | switches))}")
    return CommandLine(name, tuple(words), flags, details)


def parse_words(text: str) -> CommandLine:
    """A command that reads its flags itself: every word as it is, and what is below the line as the last."""
    first, _, details = text.lstrip().partition("\n")
    (name, _), *rest = _tokens(first)
    return CommandLine(name[1:].lower(), (*(word for word, _ in rest), *([details] if details.strip() else ())))


def parse_prose(text: str) -> CommandLine:
    """A command whose first line is a sentence, quotes and dashes and all: its one word."""
    first, _, details = text.lstrip().partition("\n")
    name, _, sentence = first[1:].partition(" ")
    return CommandLine(name.strip().lower(), (sentence.strip(),) if sentence.strip() else (), details=details)


def format_command(line: CommandLine) -> str:
    parts = [f"/{line.name}", *(_quoted(word) for word in line.words)]
    for key, value in line.flags.items():
        parts.append(f"--{key}" if value is True else f"--{key}={_quoted(str(value), always=True)}")
    text = " ".join(parts)
    return f"{text}\n{line.details}" if line.details else text


def _quoted(word: str, *, always: bool = False) -> str:
    plain = word and not (_NEEDS_QUOTES & set(word)) and not word.startswith("--") and not _odd_space(word)
    if plain and not always:
        return word
    escaped = word.replace(_ESCAPE, _ESCAPE * 2).replace(_QUOTE, _ESCAPE + _QUOTE)
    return f'"{escaped.replace(chr(10), _ESCAPE + "n").replace(chr(13), _ESCAPE + "r")}"'


def _odd_space(word: str) -> bool:
    return any(char.isspace() for char in word)


class Hint(Struct, frozen=True):
    """One row of what is offered."""

    label: str
    about: str
    text: str  # what the prompt holds when it is taken
    ready: bool  # whether it can be submitted as it is


class Hints(Struct, frozen=True):
    rows: tuple[Hint, ...] = ()
    note: str = ""  # said above them


class CommandUsage(Struct, frozen=True):
    """A command of the table, as far as typing it goes."""

    name: str
    usage: str
    help: str
    begins: bool = False  # it stands for every /A:B, and begins a turn
    own_flags: bool = False  # flags are among its words, for itself to read
    skill: bool = False  # it is the name of a skill


def hints(text: str, table: Sequence[CommandUsage]) -> Hints:
    """What to offer for a prompt that begins with `/`; nothing once more than a first argument is there."""
    if not text.startswith("/") or "\n" in text:
        return Hints()
    name, space, rest = text[1:].partition(" ")
    if space:
        command = next((one for one in table if one.name == name.lower()), None)
        return _arguments(command, rest) if command else Hints()
    if "/" in name:  # a path
        return Hints()
    return _commands(name.lower(), table)


def meant(typed: str, offered: Sequence[str]) -> int | None:
    """Which of the texts offered is typed: the very one, or the only one that begins so. A guess is none."""
    whole = [at for at, text in enumerate(offered) if text.strip() == typed.strip()]
    begun = [at for at, text in enumerate(offered) if text.startswith(typed)]
    found = whole or begun
    return found[0] if len(found) == 1 else None


def words_of(usage: str) -> tuple[str, ...]:
    """The words that a command's first argument may be; none where it is free."""
    first = usage.split(" ", 2)[1:2]
    words = first[0].strip("[]").split("|") if first else []
    return tuple(word for word in words if word.islower() and word.replace("-", "").isalpha())


def most_words(usage: str) -> int | None:
    """How many words a command takes: none, or one of those that its usage lists; None where they are free."""
    arguments = usage.split(" ")[1:]
    if not arguments:
        return 0
    return 1 if len(arguments) == 1 and len(words_of(usage)) == arguments[0].count("|") + 1 else None


def _commands(typed: str, table: Sequence[CommandUsage]) -> Hints:
    found = [one for one in table if one.name.startswith(typed)]
    found += [one for one in table if typed in one.name and one not in found]
    found.sort(key=lambda one: one.name != typed)
    if found:
        return Hints(tuple(_row(one) for one in found))
    close = nearest(typed, [one.name for one in table])
    rows = tuple(_row(one) for name in close for one in table if one.name == name)
    return Hints(rows, f"/{typed} is not a command" + ("; nearest:" if rows else "; /help lists them all"))


def _row(command: CommandUsage) -> Hint:
    needs = command.usage.partition(" ")[2]
    ready = not needs or needs.startswith("[")
    return Hint(f"/{command.name}", command.help, f"/{command.name}" + ("" if ready else " "), ready)


def _arguments(command: CommandUsage, typed: str) -> Hints:
    found = [word for word in words_of(command.usage) if word.startswith(typed) and word != typed]
    if " " in typed or not found:
        return Hints(note=f"{command.usage}   {command.help}")
    rows = tuple(Hint(word, "", f"/{command.name} {word}", True) for word in found)
    return Hints(rows, f"{command.usage}   {command.help}")
