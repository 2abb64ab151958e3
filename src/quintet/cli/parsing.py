"""The parts that the command line's parsers share: their shape, their actions, and the flags that turn dials."""

from __future__ import annotations

import io
import os
import sys
from argparse import Action, ArgumentError, ArgumentParser, HelpFormatter, Namespace, RawDescriptionHelpFormatter
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import redirect_stdout
from typing import TYPE_CHECKING, Any, NoReturn

from quintet.domain.base.database_url import VARIABLE
from quintet.domain.base.errors import UsageError
from quintet.domain.base.wording import did_you_mean
from quintet.package import load

if TYPE_CHECKING:
    from quintet.domain.dials.axes import AxesChange

Command = Callable[[list[str]], int]


class _Shown(Exception):
    """Raised instead of parsing where only the shape of a command is wanted."""

    def __init__(self, shape: ArgumentParser | Actions) -> None:
        super().__init__()
        self.shape = shape


_looking = False  # whether commands are asked for their shape


def shape_of(command: Command) -> ArgumentParser | Actions:
    """What a command takes: the parser it would read its arguments with, or its actions. Nothing is carried out."""
    global _looking
    _looking = True
    try:
        command(["--help"])  # also where a command does something else without words
    except _Shown as shown:
        return shown.shape
    finally:
        _looking = False
    raise AssertionError("a command parses before it does anything")


class Parser(ArgumentParser):
    """What it cannot take is an error like any other, and not the end of the process."""

    def parse_args(self, args: Any = None, namespace: Any = None) -> Any:
        if _looking:
            raise _Shown(self)
        return super().parse_args(args, namespace)

    def parse_intermixed_args(self, args: Any = None, namespace: Any = None) -> Any:
        if _looking:
            raise _Shown(self)
        return super().parse_intermixed_args(args, namespace)

    def _check_value(self, action: Action, value: Any) -> None:
        """Called by argparse, whose own words for this are not ours."""
        if action.choices is not None and value not in action.choices:
            choices = [str(one) for one in action.choices if str(one)]
            close = did_you_mean(str(value), choices)
            self.error(f'{_name(action)} "{value}": not one of {", ".join(choices)}.{close}')

    def _get_value(self, action: Action, arg_string: str) -> Any:
        try:
            return super()._get_value(action, arg_string)
        except ArgumentError:
            if kind := _NUMBERS.get(action.type):
                self.error(f'{_name(action)}: "{arg_string}" is not {kind}')
            raise

    def error(self, message: str) -> NoReturn:
        unknown = message.partition("unrecognized arguments: ")[2].split()
        flags = [flag for action in self._actions for flag in action.option_strings]
        close = did_you_mean(unknown[0].partition("=")[0], flags) if unknown and unknown[0].startswith("-") else ""
        raise UsageError(f"{message}{f'.{close}' if close else ''}", hint=f"`{self.prog} --help` shows its arguments.")


_NUMBERS: dict[Any, str] = {int: "a whole number", float: "a number"}


def _name(action: Action) -> str:
    """An argument as the user gives it: its longest flag, or what it stands for."""
    return max(action.option_strings, key=len, default=str(action.metavar or action.dest))


def make_parser(name: str, about: str) -> ArgumentParser:
    parser = Parser(prog=f"quintet {name}".strip(), description=about, allow_abbrev=False, formatter_class=formatter)
    parser.add_argument(
        "-C", "--directory", default=".", metavar="DIR", help="the project folder (default: this folder)"
    )
    parser.add_argument(
        "--database", action=_ChosenDatabase, metavar="URL", help=f"where sessions are stored, as {VARIABLE} names it"
    )
    return parser


def word_parser(name: str, about: str, *, at_terminal: bool) -> ArgumentParser:
    """For a word that a terminal and a session share. Only a terminal names a folder or a database: a session stays
    with its own."""
    parser: ArgumentParser = (
        make_parser(name, about)
        if at_terminal
        else Parser(prog=f"/{name}", description=about, allow_abbrev=False, formatter_class=formatter)
    )
    parser.add_argument("--json", action="store_true", help="as JSON")
    return parser


def typed_word(
    command: str, typed: Sequence[str], words: Collection[str], at_terminals: Collection[str]
) -> tuple[str, list[str]]:
    """What a session's /COMMAND is given: one of its words, `list` if none is named, and that word's arguments."""
    action, *rest = typed or ("list",)
    if action.startswith("-"):
        action, rest = "list", list(typed)
    if action in at_terminals:
        raise UsageError(f"{action} is for a terminal: quintet {command} {action}")
    if action not in words:
        raise UsageError(f"{action[:40]}: not one of {', '.join(words)}.{did_you_mean(action[:40], words)}")
    return action, rest


def read_or_help(read: Callable[[], Namespace]) -> Namespace | str:
    """The arguments that are read, or the help where that was asked for: a session prints nothing by itself."""
    said = io.StringIO()
    try:
        with redirect_stdout(said):
            return read()
    except SystemExit:  # --help
        return said.getvalue()


class _ChosenDatabase(Action):
    """The variable of this process and of those that it starts."""

    def __call__(self, parser: ArgumentParser, namespace: Namespace, values: Any, option: str | None = None) -> None:
        os.environ[VARIABLE] = values


def formatter(prog: str) -> HelpFormatter:
    """Told its width, argparse does not import shutil and what that brings."""
    try:
        width = os.get_terminal_size().columns
    except OSError:
        width = 100
    return RawDescriptionHelpFormatter(prog, width=min(width, 110) - 2)


DIALS = ("mode", "control", "permission-profile", "model-mode")


def dial_flags(parser: ArgumentParser) -> None:
    dials = parser.add_argument_group("dials")
    dials.add_argument("--mode", metavar="MODE", help="chat, plan, build, review, repair or research")
    dials.add_argument("--control", metavar="CONTROL", help="manual, assisted or autonomous")
    dials.add_argument("--autonomous", action="store_true", help="the same as --control autonomous")
    dials.add_argument("--permission-profile", metavar="P", help="restricted, normal, trusted or unrestricted")
    dials.add_argument("--model-mode", metavar="M", help="fast, smart or deep")


def turned(parsed: Namespace) -> AxesChange:
    """The dials the flags turn."""
    words = {word: getattr(parsed, word.replace("-", "_")) or "" for word in DIALS}
    change: AxesChange = load("domain.dials.axes:of_flags")(words, autonomous=parsed.autonomous)
    return change


def lookup(
    name: str, about: str, run: Callable[[Namespace], int] | str, add: Callable[[ArgumentParser], object] | None = None
) -> Command:
    """A command that takes --json; `add` gives its parser what else it takes.

    `run` is a "module:name" where the other commands of a file can do without what it imports.
    """

    def command(arguments: list[str]) -> int:
        parser = make_parser(name, about)
        parser.add_argument("--json", action="store_true", help="as JSON")
        if add:
            add(parser)
        parsed = parser.parse_args(arguments)
        return int((load(run) if isinstance(run, str) else run)(parsed))

    return command


class Actions:
    """A command of several actions; `list` if none is named."""

    def __init__(self, name: str, table: Mapping[str, Command]) -> None:
        self.name = name
        self.table = table

    def __call__(self, arguments: list[str]) -> int:
        if _looking:
            raise _Shown(self)
        asked = arguments[:1] in (["-h"], ["--help"])
        action = arguments[0] if arguments and (asked or not arguments[0].startswith("-")) else "list"
        if asked:
            sys.stdout.write(f"usage: quintet {self.name} {{{','.join(self.table)}}} …; each has --help\n")
            return 0
        if action not in self.table:
            raise UsageError(f'{self.name} "{action}": not one of {", ".join(self.table)}')
        return self.table[action](arguments[1:] if arguments[:1] == [action] else arguments)


def actions(name: str, table: Mapping[str, Command]) -> Command:
    return Actions(name, table)
