"""What may come after each command of the command line, read from the parsers themselves."""

from __future__ import annotations

from argparse import Action, ArgumentParser

from msgspec import Struct, field

from quintet.cli import commands
from quintet.cli.parsing import Actions, shape_of
from quintet.domain.dials.axes import ModelMode, PermissionProfile, RunControl, WorkMode
from quintet.domain.tasks.task import TaskStatus

DIALS = {"mode": WorkMode, "control": RunControl, "permission_profile": PermissionProfile, "model_mode": ModelMode}
# What an argument is, by the path of its command and its name there; without a command, for all of them.
KINDS = {
    "resume": "sessions",
    " model": "models",
    "headless model": "models",
    "flow model": "models",
    "sessions show id": "sessions",
    "sessions export id": "sessions",
    "sessions purge id": "sessions",
    "sessions fork id": "sessions",
    "status session": "sessions",
    "report id": "sessions",
    "forensics id": "sessions",
    "models test name": "models",
    "models remove names": "models",
    "tasks show id": "tasks",
    "tasks move id": "tasks",
    "tasks move status": "statuses",
    "tasks list status": "statuses",
}


class Taken(Struct):
    """What may come after a command, or after an action of one."""

    words: list[str] = field(default_factory=list)  # actions, flags and values
    kind: str = ""  # of ids that may stand there, too
    values: dict[str, list[str]] = field(default_factory=dict)  # of flags
    kinds: dict[str, str] = field(default_factory=dict)  # of flags, by the ids they take


def shapes() -> dict[str, Taken]:
    """Every path of the command line: none, `command`, and `command action`."""
    found = {"": _of_parser("", commands.main_parser())}
    found[""].words += commands.names()
    for name in commands.names():
        command = commands.find(name)
        assert command
        shape = shape_of(command)
        if isinstance(shape, Actions):
            first = shape.table.get("list")
            found[name] = Taken([*shape.table])
            if first and isinstance(alone := shape_of(first), ArgumentParser):
                found[name].words += _of_parser(f"{name} list", alone).words
            for action, one in shape.table.items():
                below = shape_of(one)
                assert isinstance(below, ArgumentParser)
                found[f"{name} {action}"] = _of_parser(f"{name} {action}", below)
        else:
            found[name] = _of_parser(name, shape)
    return found


def _of_parser(path: str, parser: ArgumentParser) -> Taken:
    taken = Taken()
    for action in parser._actions:
        values, kind = _values(path, action)
        taken.words += action.option_strings
        if not action.option_strings:
            taken.words += values
            taken.kind = taken.kind or kind
        for flag in action.option_strings if values or kind else ():
            taken.values[flag] = values
            if kind:
                taken.kinds[flag] = kind
    return taken


def _values(path: str, action: Action) -> tuple[list[str], str]:
    """The words that an argument takes, and the kind of ids."""
    if action.option_strings and action.nargs == 0:
        return [], ""
    if action.choices:
        return [str(one) for one in action.choices if str(one)], ""
    if action.option_strings and action.dest in DIALS:
        return [str(one) for one in DIALS[action.dest]], ""
    kind = KINDS.get(f"{path} {action.dest}") or (KINDS.get(action.dest, "") if action.option_strings else "")
    return ([str(one) for one in TaskStatus], "") if kind == "statuses" else ([], kind)
