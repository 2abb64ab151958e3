"""Writes docs/reference/ from the program itself: commands, flags, settings, tools, events, errors and cures.

`pages` gives every page as text and is all that tests/test_docs.py needs. Nothing here knows a name that the program
knows; what a page says of a thing is that thing's own help text, docstring or comment.
"""

from __future__ import annotations

import argparse
import inspect
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from enum import StrEnum
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Literal, NoReturn, get_args, get_origin

import msgspec
from msgspec import NODEFAULT, UNSET, Struct, UnsetType
from msgspec.structs import FieldInfo, fields

from quintet.app.health.checks import every_kind
from quintet.app.tool_registry import ALL
from quintet.cli import commands as cli
from quintet.cli.program import explain
from quintet.domain.agents.run import RunErrorCode
from quintet.domain.base import errors
from quintet.domain.dials.axes import AXIS_WORDS
from quintet.domain.dials.transitions import Scope
from quintet.domain.journal import protocol
from quintet.domain.permission.effects import ordered
from quintet.domain.settings.tables import SettingInfo
from quintet.domain.tasks.health import HealthScope
from quintet.domain.tasks.limits import LimitUse
from quintet.engine.commands.table import TABLE
from quintet.engine.cycle.task_tables import TasksAnswer
from quintet.engine.reports.activity_log import LogLine
from quintet.engine.session.status import StatusAnswer
from quintet.features.registry import tables

REFERENCE = Path(__file__).parent / "reference"
MADE = "*Made by `scripts/docs` from the program; edit the source, not this page.*"
REACH = {
    "free": "set it",
    "tighten": "make it stricter",
    "trusted": "nothing",
    "own": "nothing, trusted or not",
}


def pages() -> dict[str, str]:
    """Every generated page by its file name."""
    made = {
        "commands.md": _commands(),
        "cli.md": _cli(),
        "settings.md": _settings(),
        "tools.md": _tools(),
        "events.md": _events(),
        "errors.md": _errors(),
        "json.md": _answers(),
        "troubleshooting.md": _remedies(),
        "doctor.md": _doctor(),
    }
    return {name: "\n\n".join(parts) + "\n" for name, parts in made.items()}


def main(arguments: Sequence[str]) -> int:
    check = list(arguments) == ["--check"]
    if arguments and not check:
        print("usage: scripts/docs [--check]", file=sys.stderr)
        return 2
    REFERENCE.mkdir(exist_ok=True)
    stale = [path for path in sorted(REFERENCE.glob("*.md")) if path.name not in pages()]
    for name, text in pages().items():
        path = REFERENCE / name
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            stale.append(path)
            if not check:
                path.write_text(text, encoding="utf-8")
    for path in stale:
        print(f"{'out of step' if check else 'written'}: docs/reference/{path.name}")
    return 1 if check and stale else 0


# ── pages


def _commands() -> Iterator[str]:
    yield "# Slash commands"
    yield MADE
    yield (
        "A line that starts with one of these words is a command on every surface. Commands never wait for the model, "
        "so you can change a dial in the middle of a run. An unknown command is refused, with the nearest names; no "
        "model sees it."
    )
    yield _table(("command", "what it does"), ((f"`{c.usage}`", c.help) for c in TABLE))
    yield "## Dials and their values"
    yield _table(("dial", "values"), ((f"`{word}`", _listed(kind)) for word, kind in AXIS_WORDS.items()))
    yield "## Flags"
    taking = [command for command in TABLE if command.valued or command.switches]
    yield _table(
        ("command", "flags with a value", "switches"),
        ((f"`/{c.name}`", _listed(_flags(c.valued)), _listed(_flags(c.switches))) for c in taking),
    )
    yield "## Scopes"
    yield (
        f"`SCOPE` is one of {_listed(Scope)}. Left out, it is `{Scope.NOW}`. "
        "The [glossary](../glossary.md#scopes) says when each takes effect."
    )


def _cli() -> Iterator[str]:
    yield "# Command line"
    yield MADE
    for name, parser in _parsers():
        yield f"## `{f'quintet {name}'.strip()}`"
        yield parser.description or ""
        shown = [action for action in parser._actions if action.help is not argparse.SUPPRESS]
        yield _table(("argument", "meaning"), ((f"`{_spelling(action)}`", _meaning(action)) for action in shown))
        if parser.epilog:
            yield f"```text\n{parser.epilog.strip()}\n```"


def _settings() -> Iterator[str]:
    yield "# Settings"
    yield MADE
    yield (
        "Layers, a later one overrides an earlier one: defaults, your `settings.toml`, the project's "
        "`.quintet/settings.toml`, variables (`QUINTET_LIMITS_MAX_COST=5`), flags. `quintet settings` shows each value "
        "and where it comes from. The last column says what a project's own file may do with a setting before you "
        "trust its folder (`quintet trust`)."
    )
    infos = tables().catalogue().values()
    for section in tables().sections:
        mine = [info for info in infos if info.key.split(".")[0] == section]
        prefix = mine[0].key.rpartition(".")[0]
        yield f"## `[{prefix}]`"
        yield from _about_section(section)
        rows = (
            (f"`{info.key}`", _kind(info.kind, ""), _setting_default(info), info.about, REACH[info.reach])
            for info in mine
        )
        yield _table(("setting", "type", "default", "meaning", "an untrusted project may"), rows)


def _tools() -> Iterator[str]:
    yield "# Tools"
    yield MADE
    yield (
        "What a model, the offline rules and your own `!` and `!!` lines can call. A tool is hidden below its lowest "
        "profile. Its effects are everything that a call may do; the gate decides about each call by its arguments. "
        "`quintet tools doctor` shows whether what a tool needs is installed. You can add "
        "[your own tools](../howto/own-tools.md)."
    )
    yield _table(
        ("tool", "lowest profile", "effects", "needs"),
        (
            (f"[`{s.name}`](#{s.name.lower()})", s.profile, ", ".join(ordered(s.effects)), ", ".join(s.needs))
            for s in ALL
        ),
    )
    for spec in ALL:
        yield f"## `{spec.name}`"
        yield _prose(spec.description)
        schema = spec.schema()
        required = set(schema.get("required", ()))
        rows = (
            (
                f"`{name}`",
                _schema_kind(body),
                "required" if name in required else f"`{_json(body['default'])}`" if "default" in body else "none",
                _prose(body.get("description", "")),
            )
            for name, body in schema["properties"].items()
        )
        yield _table(("argument", "type", "default", "meaning"), rows)


def _doctor() -> Iterator[str]:
    yield "# What the doctor finds"
    yield MADE
    yield (
        "Every code of `quintet doctor`, by what it is about, with its cause and what helps. An error stops cycles "
        "from starting a task. `quintet doctor fix` does what stands under the codes with a mark, and only that; "
        "[keep a project healthy](../howto/health.md) shows how. Plugins may add codes of their own."
    )
    for scope in HealthScope:
        yield f"## {scope.capitalize()}"
        rows = (
            (f"`{kind.code}`", str(kind.severity), "✓" if kind.fixable else "", kind.cause, kind.cure)
            for kind in sorted(every_kind(), key=lambda kind: kind.code)
            if kind.scope is scope
        )
        yield _table(("code", "severity", "fix", "cause", "cure"), rows)


def _events() -> Iterator[str]:
    yield "# Submissions, events and signals"
    yield MADE
    yield (
        f"What crosses a Session, at version {protocol.VERSION}. Each is a JSON object with its `type`; "
        "`--output-format stream-json` and `quintet sessions show ID --events` print one event per line, with `seq` "
        "and `at` first. [As a library](../library.md) describes how they are delivered."
    )
    values: list[type[Struct]] = [protocol.Recorded, protocol.Submitted]
    for title, union, about in (
        ("Submissions", protocol.Submission, "In, through `Session.submit`."),
        ("Events", protocol.Event, "Out, durable, numbered, replayed."),
        ("Signals", protocol.Signal, "Out, never stored; coalesced or dropped for a slow reader."),
    ):
        yield f"## {title}"
        yield about
        for kind in get_args(union):
            yield from _struct(kind, f"### `{_tag(kind)}`")
            values += _inside(kind)
    yield "## Values inside them"
    for kind in dict.fromkeys(_with_nested(values)):
        yield from _struct(kind, f"### {kind.__name__}")


def _answers() -> Iterator[str]:
    yield "# JSON answers"
    yield MADE
    yield "What `--json` of the commands that look prints, and the `data` of the slash commands of the same name."
    values: list[type[Struct]] = [LimitUse]
    for words, kind, about in (
        ("quintet status --json", StatusAnswer, "One object; `/status` has it as `data.status`."),
        ("quintet tasks --json", TasksAnswer, "One object; `quintet tasks list --json` is the list `tasks` alone."),
        (
            "quintet logs --json",
            LogLine,
            "A list of these; the fields of a request replace `request` in its entry.",
        ),
    ):
        yield from _struct(kind, f"## `{words}`")
        yield about
        values += _inside(kind)
    yield "## Values inside them"
    for kind in dict.fromkeys(_with_nested(values)):
        yield from _struct(kind, f"### {kind.__name__}")


def _errors() -> Iterator[str]:
    yield "# Errors"
    yield MADE
    yield (
        "Every error Quintet raises on purpose. The code is stable: it is in `error.code` of a result and in the "
        "journal. The exit code is that of the process if the error reaches the command line."
    )
    kinds = [e for e in vars(errors).values() if isinstance(e, type) and issubclass(e, errors.QuintetError)]
    rows = (
        (_to_remedy(e.code), inspect.getdoc(e) or "", str(e.exit_code), f"`{e.__name__}`", f"`{e.__mro__[1].__name__}`")
        for e in kinds
    )
    yield _table(("code", "meaning", "exit", "class", "is a"), rows)
    yield "## Agents and runs"
    yield (
        "The codes of a `RunFailed`, of the answer to an input in an agent's session, and of the `error` of a run. "
        "A command that fails changes nothing, and the active run stays at its step."
    )
    yield _table(("code", "meaning"), ((_to_remedy(code), code.meaning) for code in RunErrorCode))


def _to_remedy(code: str) -> str:
    return f"[`{code}`](troubleshooting.md#{code.lower()})"


def _remedies() -> Iterator[str]:
    yield "# Troubleshooting by code"
    yield MADE
    yield (
        "Errors, notices in a session and findings of `quintet doctor` have a code. `quintet explain CODE` prints its "
        "entry from here, `quintet explain` the list. What a script gets: [errors](errors.md)."
    )
    about = ""
    for one in explain.known().values():
        if one.about != about:
            about = one.about
            yield f"## {about}"
        yield f"### `{one.code}`"
        yield f"**Cause.** {one.cause}"
        yield f"**What to do.** {one.cure}"


# ── the command line's parsers


class _Parsed(Exception):
    """A parser, caught at the moment it would parse."""

    def __init__(self, parser: argparse.ArgumentParser) -> None:
        self.parser = parser


def _parsers() -> Iterator[tuple[str, argparse.ArgumentParser]]:
    """Every command's parser: each is asked to parse, and caught before it does."""
    for name in ("", *cli.names()):
        try:
            yield name, _caught([name, ""] if name else [])
        except errors.UsageError as refused:  # a command of commands names them when it is given none of them
            for action in str(refused).partition("not one of ")[2].split(", "):
                yield f"{name} {action}", _caught([name, action])


def _caught(arguments: list[str]) -> argparse.ArgumentParser:
    def parse_args(self: argparse.ArgumentParser, *_: object) -> NoReturn:
        raise _Parsed(self)

    base = argparse.ArgumentParser
    originals = base.parse_args, base.parse_intermixed_args
    base.parse_args = base.parse_intermixed_args = parse_args  # type: ignore[method-assign, assignment]
    try:
        cli.dispatch(arguments)
    except _Parsed as caught:
        return caught.parser
    finally:
        base.parse_args, base.parse_intermixed_args = originals  # type: ignore[method-assign]
    raise AssertionError(f"quintet {' '.join(arguments)} parses nothing")


def _spelling(action: argparse.Action) -> str:
    value = str(action.metavar or "|".join(action.choices or ()) or action.dest.upper())
    if not action.option_strings:
        return f"[{value}]" if action.nargs == "?" else value
    names = ", ".join(action.option_strings)
    if action.nargs == 0:
        return names
    return f"{names} [{value}]" if action.nargs == "?" else f"{names} {value}"


def _meaning(action: argparse.Action) -> str:
    if isinstance(action, argparse._HelpAction):
        return "show the help and exit"
    if isinstance(action, argparse._VersionAction):
        return "show the version and exit"
    return action.help or ""


# ── values and their types


def _struct(kind: type[Struct], title: str) -> Iterator[str]:
    yield title
    if doc := _doc(kind):
        yield doc
    comments = _comments(kind)
    heading = ("field", "type", "default", "meaning")[: 4 if comments else 3]
    rows = [(f"`{f.name}`", _kind(f.type), _field_default(f), comments.get(f.name, "")) for f in fields(kind)]
    if rows:
        yield _table(heading, (row[: len(heading)] for row in rows))


def _about_section(section: str) -> Iterator[str]:
    if doc := _doc(tables().struct_of(section)):
        yield doc


def _doc(kind: type) -> str:
    """A class's own docstring; an inherited one says nothing about it."""
    return inspect.cleandoc(kind.__dict__.get("__doc__") or "")


def _comments(kind: type) -> dict[str, str]:
    """What the source says beside each field."""
    found = re.findall(r"^    (\w+): .*?  # (.*)$", inspect.getsource(kind), re.M)
    return dict(found)


def _inside(kind: type[Struct]) -> list[type[Struct]]:
    """The structs a struct's fields hold."""
    return [
        part for f in fields(kind) for part in _parts(f.type) if isinstance(part, type) and issubclass(part, Struct)
    ]


def _with_nested(kinds: Iterable[type[Struct]]) -> Iterator[type[Struct]]:
    tagged = set(get_args(protocol.Submission) + get_args(protocol.Event))
    for kind in kinds:
        if kind not in tagged:
            yield kind
            yield from _with_nested(_inside(kind))


def _parts(kind: Any) -> Iterator[Any]:
    arguments = get_args(kind)
    if not arguments:
        yield kind
    for argument in arguments:
        yield from _parts(argument)


def _kind(kind: Any, nothing: str = "nothing") -> str:
    """A type in a reader's words: the choices of an enumeration, a link to a struct, else its name."""
    if kind is Any:
        return "anything"
    if get_origin(kind) is Literal:
        return _listed(get_args(kind))
    if isinstance(kind, UnionType) or get_origin(kind) not in (None, tuple, dict):
        if set(get_args(kind)) == set(get_args(protocol.Submission)):
            return "a submission"
        if set(get_args(kind)) == set(get_args(protocol.Event)):
            return "an event"
        parts = (part for part in get_args(kind) if part is not UnsetType)  # a field that is left out of the JSON
        words = (nothing if part is NoneType else _kind(part) for part in parts)
        return " or ".join(word for word in words if word)
    if get_origin(kind) is tuple:
        inner = get_args(kind)[0]
        return f"{'any' if issubclass(inner, StrEnum) else 'list'} of {_kind(inner)}"
    if get_origin(kind) is dict:
        return "table"
    if issubclass(kind, StrEnum):
        return _listed(kind)
    if issubclass(kind, Struct):
        return f"[{kind.__name__}](#{kind.__name__.lower()})"
    return {str: "text", bool: "true or false", int: "whole number", float: "number"}[kind]


def _schema_kind(body: dict[str, Any]) -> str:
    if "enum" in body:
        return _listed(body["enum"])
    if "anyOf" in body:
        return " or ".join(_schema_kind(part) for part in body["anyOf"])
    if body["type"] == "object":
        keys = _listed(body.get("properties", ()))
        return f"table with {keys}" if keys else "table"
    if body["type"] == "array":
        return f"list of {_schema_kind(body['items'])}"
    words = {"string": "text", "integer": "whole number", "number": "number", "boolean": "true or false"}
    return {**words, "null": "nothing"}[body["type"]]


def _field_default(info: FieldInfo) -> str:
    if info.default is UNSET:
        return "left out"
    if info.default is not NODEFAULT:
        return _default(info.default)
    if info.default_factory is not NODEFAULT:
        return "empty"
    return "required"


def _default(value: Any) -> str:
    if value is None:
        return "none"
    if value is UNSET:
        return "left out"
    if isinstance(value, Struct | tuple):
        return "empty" if not value or not msgspec.to_builtins(value) else "its defaults"
    return f"`{_json(value)}`"


def _setting_default(info: SettingInfo) -> str:
    if info.default is None:
        unset = "by surface" if info.key.startswith("dials.") else "unset"
        return unset if NoneType in get_args(info.kind) else "required"
    return _default(info.default)


def _tag(kind: type[Struct]) -> str:
    return str(kind.__struct_config__.tag)


# ── Markdown


def _table(heading: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [heading, ["---"] * len(heading), *rows]
    return "\n".join("| " + " | ".join(_cell(cell) for cell in line) + " |" for line in lines)


def _prose(text: str) -> str:
    return text.replace("*", "\\*")


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def _listed(values: Iterable[object]) -> str:
    return ", ".join(f"`{value}`" if value != "" else '`""`' for value in values)


def _flags(names: Iterable[str]) -> list[str]:
    return [f"--{name}" for name in sorted(names)]


def _json(value: Any) -> str:
    return msgspec.json.encode(value).decode()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
