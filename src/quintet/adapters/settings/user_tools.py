"""The user's own tools: Python files in the user's configuration, and in `.quintet/tools` of a trusted project.

They are run here and nowhere else, those of a project only where the user trusts it. What is wrong with a file or a
tool is a warning with its line, and the rest is loaded. A loaded tool fails as ours do: with ToolFailed.
"""

from __future__ import annotations

import os
import sys
from functools import partial
from importlib.machinery import SOURCE_SUFFIXES, FileFinder, SourceFileLoader
from types import ModuleType, TracebackType
from typing import Any

import msgspec
from msgspec import Struct, field, structs

from quintet.adapters.files.paths import Places
from quintet.adapters.files.real_path import real_path
from quintet.adapters.settings.trust import files_below, leads_out, read_bytes
from quintet.domain.base.errors import QuintetError, ToolFailed, UsageError
from quintet.domain.base.safe_text import on_one_line
from quintet.domain.permission.effects import Effect
from quintet.domain.permission.trusted_content import TOOLS, Trust
from quintet.domain.ports.ports import Workbench
from quintet.domain.turn.tool_menu import DEFAULT_TOOLSET, META_TOOLS, TOOL_MODES
from quintet.domain.turn.tool_spec import ToolResult, ToolSpec, Touch

SHIPPED = frozenset([*META_TOOLS, *(tool for toolset in TOOL_MODES.values() for tool in toolset.tool_list)])
_source_folders: set[str] = set()


class OwnTools(Struct):
    specs: dict[str, ToolSpec] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)  # what is wrong, and where
    held_back: str = ""  # what is not loaded because the folder is not trusted


def load(places: Places, trust: Trust) -> OwnTools:
    own, homes = OwnTools(), dict[str, str]()
    for path, data in (*_users(places), *_projects(places, trust, own)):
        try:
            found = _declared(path, data)
        except (Exception, SystemExit) as error:  # whatever the file does, the session goes on without it
            own.warnings.append(f"{_said(error, path)}; no tool of this file is loaded")
            continue
        for spec in found:
            if problem := _problem(spec, homes):
                own.warnings.append(f"{on_one_line(path)}:{_line(spec)}: {problem}; the tool is not loaded")
                continue
            homes[spec.name] = path
            own.specs[spec.name] = guarded(spec, path)
    return own


def not_python(places: Places, trust: Trust) -> list[str]:
    """The files that cannot be read as Python, with the line; nothing is run."""
    found = []
    for path, data in (*_users(places), *_projects(places, trust, OwnTools())):
        try:
            compile(data, path, "exec", dont_inherit=True)
        except (SyntaxError, ValueError) as error:
            found.append(f"{_said(error, path)}; no tool of this file is loaded")
    return found


def _users(places: Places) -> list[tuple[str, bytes]]:
    return [(path, read_bytes(path) or b"") for path in files(places.user_tools)]


def _projects(places: Places, trust: Trust, own: OwnTools) -> list[tuple[str, bytes]]:
    """The project's files as they were read once; none unless all that lies beside them is trusted too."""
    theirs = [path for path in files(places.project_tools) if not leads_out(places.root, path)]
    if not theirs:
        return []
    names = {path: os.path.relpath(path, places.root) for path in theirs}
    listed = ", ".join(names.values())
    if not trust.trusted:
        own.held_back = f"this folder's own tools are not loaded: {listed}; `quintet trust` would load them"
        return []
    there = files_below(places.root, TOOLS)
    if not trust.covers_below(TOOLS, there):
        own.held_back = (
            f"this folder's own tools are not loaded: {listed}; something in {TOOLS} is new or changed "
            "since you trusted this folder, and `quintet trust --check` shows it"
        )
        return []
    return [(path, there[name]) for path, name in names.items() if name in there]


def files(folder: str) -> list[str]:
    """The files that may declare tools; one whose name begins with _ is for something else."""
    try:
        names = sorted(os.listdir(folder))
    except OSError:
        return []
    paths = [os.path.join(folder, name) for name in names if name.endswith(".py") and not name.startswith("_")]
    return [path for path in paths if os.path.isfile(path)]


def _declared(path: str, data: bytes) -> list[ToolSpec]:
    """Run a file as a module of its own; nothing is written beside it, and what it imports from there is read anew."""
    only_sources(os.path.dirname(path))
    code = compile(data, path, "exec", dont_inherit=True)
    module = ModuleType(f"own_tools:{path}")
    module.__file__ = path
    sys.modules[module.__name__] = module  # where annotations are looked up
    module.__dict__["print"] = partial(print, file=sys.stderr)  # our own output may be somebody's JSON
    exec(code, module.__dict__)
    found = [value for value in vars(module).values() if isinstance(value, ToolSpec)]
    found = [spec for spec in found if spec.run.__module__ == module.__name__]  # not what it imported
    if not found:
        raise UsageError("no tool is declared here; use `@tool(effects=…)` on an async function")
    return found


def _problem(spec: ToolSpec, homes: dict[str, str]) -> str:
    if spec.name in SHIPPED:
        return f"{spec.name} is a tool of Quintet; choose another name"
    if spec.name in homes:
        return f"{spec.name} is already declared in {homes[spec.name]}"
    if not spec.description:
        return f"{spec.name} has no docstring to describe it to a model"
    try:
        msgspec.json.encode(spec.schema())
    except Exception as error:
        return f"{spec.name}: its parameters are not a valid JSON schema: {error}"
    return ""


def guarded(spec: ToolSpec, path: str) -> ToolSpec:
    """Somebody else's tool: it may come back with text, and what it raises is a failure that names file and line."""

    def touch(arguments: dict[str, Any]) -> Touch:
        try:
            told = spec.touch(arguments)
            return structs.replace(told, effects=frozenset(map(Effect, told.effects)))
        except QuintetError:
            raise
        except Exception as error:
            raise ToolFailed(f"{spec.name}: {_said(error, path)}") from error

    async def run(bench: Workbench, **arguments: Any) -> ToolResult:
        try:
            return _result(spec.name, await spec.run(bench, **arguments))
        except QuintetError:
            raise
        except (Exception, SystemExit) as error:
            raise ToolFailed(f"{spec.name}: {_said(error, path)}") from error

    return structs.replace(spec, touch=touch, run=run, toolset=spec.toolset or DEFAULT_TOOLSET)


def _result(name: str, given: object) -> ToolResult:
    """What a tool came back with, text or a result; where the conversation goes is not for it to say."""
    if isinstance(given, str):
        return ToolResult(given)
    if not isinstance(given, ToolResult):
        raise ToolFailed(f"{name} returned {type(given).__name__}; expected text or a ToolResult")
    checked = msgspec.convert(msgspec.to_builtins(given), ToolResult)
    shown = tuple(image for image in checked.images if image.digest.isalnum())  # the name of a file that was kept
    told = (checked.content, checked.status, checked.changed, checked.summary)
    return ToolResult(*told, message=checked.message, images=shown)


def _said(error: BaseException, path: str) -> str:
    """The error with the line of the file that it came from."""
    if isinstance(error, SyntaxError) and error.filename == path:
        return f"{on_one_line(path)}:{error.lineno or 1}: {error.msg}"
    text = str(error) if isinstance(error, QuintetError) else f"{type(error).__name__}: {error}"
    return f"{on_one_line(path)}:{_last_line(error.__traceback__, path)}: {text}"


def _last_line(trace: TracebackType | None, path: str) -> int:
    line = 1
    while trace:
        if trace.tb_frame.f_code.co_filename == path:
            line = trace.tb_lineno
        trace = trace.tb_next
    return line


def _line(spec: ToolSpec) -> int:
    code = getattr(spec.run, "__code__", None)
    return code.co_firstlineno if code else 1


class _SourceOnly(SourceFileLoader):
    def path_stats(self, path: str) -> dict[str, int]:
        raise OSError  # then Python neither looks for bytecode nor writes any


def only_sources(folder: str) -> None:
    """From now on, what is imported from this folder and those below is read from its sources.

    Trust covers the sources of a folder. Python would rather load the bytecode or the extension beside them, which
    nobody looked at.
    """
    if not _source_folders:
        sys.path_hooks.insert(0, _finder)
    _source_folders.add(real_path(folder))
    for known in [path for path in sys.path_importer_cache if _covered(path)]:
        del sys.path_importer_cache[known]


def _covered(path: str) -> bool:
    real = real_path(path)
    return any(real == folder or real.startswith(folder + "/") for folder in _source_folders)


def _finder(path: str) -> FileFinder:
    if not _covered(path):
        raise ImportError(path)
    return FileFinder(path, (_SourceOnly, SOURCE_SUFFIXES))
