"""grep and glob, with ripgrep underneath: fast, and they leave ignored files alone.

ripgrep opens what it has listed by name, so it runs in the sandbox of a line that reads: a folder that a command swaps
for a link in between leads nowhere there.
"""

from __future__ import annotations

from glob import escape
from heapq import nsmallest
from typing import Any, Literal

from msgspec import structs

from quintet.domain.base.errors import ToolFailed
from quintet.domain.base.lazy_regex import regex
from quintet.domain.base.wording import counted
from quintet.domain.permission.effects import Effect
from quintet.domain.permission.protected_paths import Protection
from quintet.domain.ports.ports import Workbench
from quintet.domain.turn.tool_spec import ToolResult, Touch
from quintet.tools.declare import tool

SEARCH_SECONDS = 20.0  # then what was found so far has to do
SEARCH_BYTES = 4_000_000
MOST_FILES = 1000
MOST_CHARACTERS = 30_000
MOST_UNREAD = 5  # paths that could not be read are named
NOT_SEARCHED = "not searched"
PLAIN = ("--no-config", "--color=never", "--null")
_UNREAD = regex(r"rg: (?:\./)?(.+?): (?:IO error for operation on .*: )?([^:]+) \(os error \d+\)")


def _path(arguments: dict[str, Any]) -> Touch:
    return Touch(frozenset({Effect.READ}), reads=(arguments["path"] or ".",))


@tool(
    effects={Effect.READ},
    touch=_path,
    wire={"ignore_case": "-i", "numbers": "-n", "after": "-A", "before": "-B", "around": "-C"},
    needs=("ripgrep",),
    confined=True,
)
async def grep(
    bench: Workbench,
    pattern: str,
    path: str = "",
    output_mode: Literal["files_with_matches", "content", "count"] = "files_with_matches",
    glob: str = "",
    type: str = "",
    ignore_case: bool = False,
    numbers: bool = True,
    after: int = 0,
    before: int = 0,
    around: int = 0,
    multiline: bool = False,
    head_limit: int = 0,
) -> ToolResult:
    """Search file contents with a regular expression (ripgrep's syntax).

    :pattern: the regular expression
    :path: file or folder to search, the project if empty
    :output_mode: matching files, matching lines, or counts
    :glob: only files matching this, for example *.py
    :type: only files of this ripgrep type, for example py
    :head_limit: how many lines of output at most, 0 for all
    """
    flags = {"files_with_matches": ["-l"], "content": ["-n" if numbers else "-N"], "count": ["-c"]}[output_mode]
    argv = [bench.ripgrep, *PLAIN, "--no-heading", "--with-filename", *flags]
    argv += ["-i"] if ignore_case else []
    argv += ["-U", "--multiline-dotall"] if multiline else []
    for flag, value in (("-A", after), ("-B", before), ("-C", around)):
        argv += [flag, str(value)] if value else []
    argv += ["-g", glob] if glob else []
    argv += ["-t", type] if type else []
    argv += _no_secrets(bench.files.protection)
    output, note = await _ripgrep(bench, [*argv, "-e", pattern, "--", _target(bench, path)])
    if output_mode == "files_with_matches":
        lines = sorted(output.split("\0")[:-1])
    else:
        whole = output[: output.rfind("\n") + 1]  # of a search that was stopped, the last line may be a part
        lines = _matches(whole, bool(after or before or around))
    return _listed(lines, head_limit, "no matches", note=note)


@tool(effects={Effect.READ}, touch=_path, needs=("ripgrep",), confined=True)
async def glob(bench: Workbench, pattern: str, path: str = "") -> ToolResult:
    """List files whose path matches a glob, for example src/**/*.py. Ignored files are left out.

    :pattern: the glob
    :path: folder to look in, the project if empty
    """
    argv = [bench.ripgrep, *PLAIN, "--files", "--hidden", "-g", pattern, "-g", "!.git"]
    output, note = await _ripgrep(bench, [*argv, "--", _target(bench, path)])
    names = output.split("\0")[:-1]
    return _listed(nsmallest(MOST_FILES, names), 0, "no files match", len(names), note)


def _target(bench: Workbench, path: str) -> str:
    relative = bench.files.relative(bench.files.real(path)) if path else "."
    return relative if relative == "." else f"./{relative}"


def _no_secrets(protection: Protection) -> list[str]:
    """Globs that keep protected files out of a search; they stand last, where ripgrep lets them win."""
    names = [f"!**/{pattern}" for pattern in protection.names]
    names += [f"!**/{folder}/**" for folder in protection.folders]
    names += [f"!/{escape(path)}" for path in protection.private if path[0] != "/"]
    return [word for name in names for word in ("--iglob", name)]


async def _ripgrep(bench: Workbench, argv: list[str]) -> tuple[str, str]:
    """Ripgrep's output, in the order its threads found things: sorting it here is faster than one thread there.

    And a note of what was not searched, if it was stopped before its end or could not read a place.
    """
    grant = structs.replace(bench.grant, read_roots=(*bench.grant.read_roots, bench.ripgrep))  # wherever it lies
    done = await bench.processes.run(
        argv,
        cwd=bench.root,
        grant=grant,
        timeout=SEARCH_SECONDS,
        keep=SEARCH_BYTES,
        errors_apart=True,
    )
    if done.timed_out and not done.output:
        raise ToolFailed(f"the search took more than {SEARCH_SECONDS:g} s and found nothing; limit it by path or glob")
    if done.timed_out:
        return done.output, f"(stopped after {SEARCH_SECONDS:g} s: there may be more; limit it by path or glob)"
    unread = _unread(done.errors)
    if done.exit_code > 1 and (not unread or argv[-1].removeprefix("./") in unread):
        raise ToolFailed(done.errors.strip() or f"ripgrep ended with {done.exit_code}")
    return done.output, _not_searched(unread)


def _unread(errors: str) -> dict[str, str]:
    """The places that could not be read, and why; nothing if ripgrep complains of anything else."""
    lines = errors.splitlines()
    found = [match for match in map(_UNREAD.fullmatch, lines) if match]
    return {match[1]: match[2] for match in found} if len(found) == len(lines) else {}


def _not_searched(unread: dict[str, str]) -> str:
    if not unread:
        return ""
    named = [f"{path} ({why})" for path, why in sorted(unread.items())[:MOST_UNREAD]]
    more = f" and {len(unread) - MOST_UNREAD} more" if len(unread) > MOST_UNREAD else ""
    return f"({NOT_SEARCHED}: {', '.join(named)}{more})"


def _matches(output: str, around: bool) -> list[str]:
    """Lines by file; `--` stands between places that are apart, if lines around them are shown."""
    found: dict[str, list[str]] = {}
    apart = False
    for line in output.split("\n"):
        name, split, text = line.partition("\0")
        if not split:
            apart = line == "--"
            continue
        number = text[: len(text) - len(text.lstrip("0123456789"))]
        mark = "-" if number and text[len(number) : len(number) + 1] == "-" else ":"
        lines = found.setdefault(name, [])
        if apart and lines:
            lines.append("--")
        lines.append(f"{name}{mark}{text}")
        apart = False
    files = [found[path] for path in sorted(found)]
    return [line for place, lines in enumerate(files) for line in ([*(["--"] if place and around else []), *lines])]


def _listed(lines: list[str], most: int, none: str, total: int = 0, note: str = "") -> ToolResult:
    """What is shown of the lines; `total` if there were more than these; `note` if the search was not."""
    total = total or len(lines)
    if not lines:
        return ToolResult("\n".join(filter(None, (none, note))), summary="none")
    shown, room = [], MOST_CHARACTERS
    for line in lines[:most] if most else lines:
        room -= len(line) + 1
        if room < 0:
            break
        shown.append(line.removeprefix("./"))
    more = [f"({total - len(shown)} more)"] if len(shown) < total else []
    return ToolResult("\n".join([*shown, *more, *([note] if note else [])]), summary=counted(total, "line"))
