"""Read, Edit, Write: the project's files, exactly. The fs_ tools: files that are not code, and folders."""

from __future__ import annotations

import hashlib
import os
from typing import Any

from quintet.domain.base.errors import ToolFailed
from quintet.domain.base.wording import counted
from quintet.domain.dials.axes import PermissionProfile
from quintet.domain.permission.effects import Effect
from quintet.domain.permission.protected_paths import inside
from quintet.domain.ports.ports import Workbench
from quintet.domain.turn.tool_spec import ToolResult, Touch
from quintet.tools.declare import tool

MOST_LINES = 2000
MOST_COLUMNS = 2000
BINARY_PROBE = 8192
MOST_ENTRIES = 1000


def _reads(arguments: dict[str, Any]) -> Touch:
    return Touch(frozenset({Effect.READ}), reads=(arguments["file_path"],))


def _writes(arguments: dict[str, Any]) -> Touch:
    return Touch(frozenset({Effect.EDIT}), writes=(arguments["file_path"],))


@tool(effects={Effect.READ}, touch=_reads)
async def Read(bench: Workbench, file_path: str, offset: int = 1, limit: int = MOST_LINES) -> ToolResult:
    """Read a text file. Lines come numbered from 1, a tab after the number.

    :file_path: path of the file, relative to the project
    :offset: first line to show
    :limit: how many lines to show
    """
    data = bench.files.read(file_path)
    if (relative := inside(file_path, bench.root)) is not None:
        bench.seen[relative] = _hash(data)
    if b"\0" in data[:BINARY_PROBE]:
        return ToolResult(f"{file_path}: a binary file of {len(data)} bytes")
    lines = _decoded(data).split("\n")
    if lines and lines[-1] == "":
        lines.pop()
    first = max(offset, 1)
    shown = lines[first - 1 : first - 1 + max(limit, 1)]
    text = "\n".join(f"{number}\t{_cut(line)}" for number, line in enumerate(shown, first))
    last = first + len(shown) - 1
    if not lines:
        return ToolResult("(an empty file)", summary="empty")
    if last < len(lines):
        text += f"\n({len(lines) - last} more lines; go on with offset={last + 1})"
    return ToolResult(text, summary=counted(len(shown), "line"))


@tool(effects={Effect.EDIT}, profile=PermissionProfile.NORMAL, touch=_writes, confined=True)
async def Edit(
    bench: Workbench, file_path: str, old_string: str, new_string: str, replace_all: bool = False
) -> ToolResult:
    """Replace text in a file that was read before in this run. The old text must occur exactly once, or set
    replace_all.

    :file_path: path of the file, relative to the project
    :old_string: the exact text to replace, without line numbers
    :new_string: the text to put in its place
    :replace_all: replace every occurrence
    """
    path = bench.files.relative(file_path)
    data = bench.files.read(file_path)
    if path not in bench.seen:
        raise ToolFailed(f"{file_path}: read it first, then edit")
    if bench.seen[path] != _hash(data):
        raise ToolFailed(f"{file_path}: it has changed since it was read; read it again")
    if old_string == new_string or not old_string:
        raise ToolFailed("old_string and new_string must differ, and old_string must not be empty")
    old, new = _as_in_file(old_string, new_string, data)
    count = data.count(old)
    if count == 0:
        raise ToolFailed(f"{file_path}: old_string does not occur in it")
    if count > 1 and not replace_all:
        raise ToolFailed(
            f"{file_path}: old_string occurs {count} times; give more of the text around it, or replace_all"
        )
    changed = data.replace(old, new)
    bench.files.replace(file_path, changed)
    bench.seen[path] = _hash(changed)
    return _changed(path, data, changed)


@tool(effects={Effect.EDIT}, profile=PermissionProfile.NORMAL, touch=_writes, confined=True)
async def Write(bench: Workbench, file_path: str, content: str) -> ToolResult:
    """Write a whole file, new or in place of an old one. Parent folders are made.

    :file_path: path of the file, relative to the project
    :content: the whole content
    """
    path = bench.files.relative(file_path)
    try:
        before = bench.files.read(file_path)
    except FileNotFoundError:
        before = b""
    data = _encoded(content)
    bench.files.replace(file_path, data)
    bench.seen[path] = _hash(data)
    return _changed(path, before, data)


def _changed(path: str, before: bytes, after: bytes) -> ToolResult:
    from difflib import unified_diff

    diff = list(
        unified_diff(
            _decoded(before).splitlines(), _decoded(after).splitlines(), f"a/{path}", f"b/{path}", lineterm="", n=2
        )
    )
    added = sum(line.startswith("+") for line in diff[2:])
    removed = sum(line.startswith("-") for line in diff[2:])
    summary = f"+{added} −{removed}"
    return ToolResult("\n".join(diff) or "nothing changed", changed=(path,), summary=summary)


def _as_in_file(old: str, new: str, data: bytes) -> tuple[bytes, bytes]:
    """Both texts with the line ends the file has where `old` stands."""
    unix, windows = _encoded(old), _encoded(old).replace(b"\r\n", b"\n").replace(b"\n", b"\r\n")
    all_windows = 0 < data.count(b"\n") == data.count(b"\r\n")
    first, second = (windows, unix) if all_windows else (unix, windows)
    found = first if first in data or second not in data else second
    if all_windows or (found is windows and windows != unix):
        return found, _encoded(new).replace(b"\r\n", b"\n").replace(b"\n", b"\r\n")
    return found, _encoded(new)


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


def _decoded(data: bytes) -> str:
    return data.removeprefix(b"\xef\xbb\xbf").decode("utf-8", "surrogateescape").replace("\r\n", "\n")


def _hash(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _cut(line: str) -> str:
    line = line.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    return line if len(line) <= MOST_COLUMNS else f"{line[:MOST_COLUMNS]}… ({len(line)} characters)"


def kept(bench: Workbench, name: str, text: str) -> str:
    """Keep a text that is too long to show in a file that Read reads, without secrets; the path of the file."""
    text = bench.secrets.text(text) if bench.secrets else text
    os.makedirs(bench.outputs, mode=0o700, exist_ok=True)
    where = os.path.join(bench.outputs, name)
    with open(os.open(where, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8") as file:
        file.write(text.encode("utf-8", "replace").decode())
    return where


def _reads_path(arguments: dict[str, Any]) -> Touch:
    return Touch(frozenset({Effect.READ}), reads=(arguments["path"],))


def _writes_path(arguments: dict[str, Any]) -> Touch:
    return Touch(frozenset({Effect.EDIT}), writes=(arguments["path"],))


def _deletes(arguments: dict[str, Any]) -> Touch:
    return Touch(frozenset({Effect.DESTROY}), writes=(arguments["path"],), why="fs_delete")


def _moves(arguments: dict[str, Any]) -> Touch:
    ends = (arguments["source"], arguments["destination"])
    return Touch(frozenset({Effect.EDIT}), reads=ends[:1], writes=ends, moves=ends)


@tool(effects={Effect.READ}, touch=_reads_path)
async def fs_read_file(bench: Workbench, path: str) -> ToolResult:
    """Read a whole text file, its lines numbered.

    :path: the file, relative to the project
    """
    return await Read.run(bench, file_path=path)


@tool(effects={Effect.EDIT}, profile=PermissionProfile.NORMAL, touch=_writes_path, confined=True)
async def fs_write_file(bench: Workbench, path: str, content: str) -> ToolResult:
    """Write a whole file, new or in place of an old one.

    :path: the file, relative to the project
    :content: the whole content
    """
    return await Write.run(bench, file_path=path, content=content)


@tool(effects={Effect.READ}, touch=_reads_path, confined=True)
async def fs_list_directory(bench: Workbench, path: str) -> ToolResult:
    """List a folder: folders with a slash behind them, files with their size.

    :path: the folder, relative to the project
    """
    entries = bench.files.entries(path)
    lines = [f"{entry.name}/" if entry.kind == "folder" else f"{entry.name}  {entry.size}" for entry in entries]
    more = [f"({len(lines) - MOST_ENTRIES} more)"] if len(lines) > MOST_ENTRIES else []
    shown = "\n".join(lines[:MOST_ENTRIES] + more) or "(an empty folder)"
    return ToolResult(shown, summary=counted(len(entries), "item"))


@tool(effects={Effect.EDIT}, profile=PermissionProfile.NORMAL, touch=_writes_path, confined=True)
async def fs_create_directory(bench: Workbench, path: str) -> ToolResult:
    """Make a folder, and those above it that are missing.

    :path: the folder, relative to the project
    """
    made = bench.files.make_folder(path)
    return ToolResult(f"{path} {'made' if made else 'was there already'}", changed=(path,) if made else ())


@tool(effects={Effect.DESTROY}, profile=PermissionProfile.NORMAL, touch=_deletes, confined=True)
async def fs_delete(bench: Workbench, path: str) -> ToolResult:
    """Delete a file or an empty folder.

    :path: the file or folder, relative to the project
    """
    bench.files.delete(path)
    return ToolResult(f"{path} deleted", changed=(path,))


@tool(effects={Effect.EDIT}, profile=PermissionProfile.NORMAL, touch=_moves, confined=True)
async def fs_move(bench: Workbench, source: str, destination: str) -> ToolResult:
    """Move or rename a file or folder. Nothing is overwritten.

    :source: what to move, relative to the project
    :destination: its new path
    """
    bench.files.move(source, destination)
    return ToolResult(f"{source} → {destination}", changed=(source, destination))


@tool(effects={Effect.READ}, touch=_reads_path, confined=True)
async def fs_file_info(bench: Workbench, path: str) -> ToolResult:
    """Tell a file's or folder's kind, size, access bits and time of change.

    :path: the file or folder, relative to the project
    """
    entry = bench.files.info(path)
    rows = {
        "path": path,
        "kind": entry.kind,
        "size": entry.size,
        "access": f"{entry.access:o}",
        "changed": entry.changed,
    }
    return ToolResult("\n".join(f"{name:<9}{value}" for name, value in rows.items()), summary=entry.kind)
