"""What to offer while a slash command is being typed: commands by name, the words of an argument, the nearest names."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from quintet.domain.base.did_you_mean import nearest


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


def words_of(usage: str) -> tuple[str, ...]:
    """The words that a command's first argument may be; none where it is free."""
    first = usage.split(" ", 2)[1:2]
    words = first[0].strip("[]").split("|") if first else []
    return tuple(word for word in words if word.islower() and word.replace("-", "").isalpha())


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
