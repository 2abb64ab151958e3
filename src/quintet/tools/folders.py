"""The fs_ tools: files that are not code, and folders."""

from __future__ import annotations

from typing import Any

from quintet.domain.base.wording import counted
from quintet.domain.dials.axes import PermissionProfile
from quintet.domain.permission.effects import Effect
from quintet.domain.ports.ports import Workbench
from quintet.domain.turn.tool_spec import ToolResult, Touch
from quintet.tools.declare import tool
from quintet.tools.files import Read, Write

MOST_ENTRIES = 1000


def _reads(arguments: dict[str, Any]) -> Touch:
    return Touch(frozenset({Effect.READ}), reads=(arguments["path"],))


def _writes(arguments: dict[str, Any]) -> Touch:
    return Touch(frozenset({Effect.EDIT}), writes=(arguments["path"],))


def _deletes(arguments: dict[str, Any]) -> Touch:
    return Touch(frozenset({Effect.DESTROY}), writes=(arguments["path"],), why="fs_delete")


def _moves(arguments: dict[str, Any]) -> Touch:
    ends = (arguments["source"], arguments["destination"])
    return Touch(frozenset({Effect.EDIT}), reads=ends[:1], writes=ends, moves=ends)


@tool(effects={Effect.READ}, touch=_reads)
async def fs_read_file(bench: Workbench, path: str) -> ToolResult:
    """Read a whole text file, its lines numbered.

    :path: the file, relative to the project
    """
    return await Read.run(bench, file_path=path)


@tool(effects={Effect.EDIT}, profile=PermissionProfile.NORMAL, touch=_writes, confined=True)
async def fs_write_file(bench: Workbench, path: str, content: str) -> ToolResult:
    """Write a whole file, new or in place of an old one.

    :path: the file, relative to the project
    :content: the whole content
    """
    return await Write.run(bench, file_path=path, content=content)


@tool(effects={Effect.READ}, touch=_reads, confined=True)
async def fs_list_directory(bench: Workbench, path: str) -> ToolResult:
    """List a folder: folders with a slash behind them, files with their size.

    :path: the folder, relative to the project
    """
    entries = bench.files.entries(path)
    lines = [f"{entry.name}/" if entry.kind == "folder" else f"{entry.name}  {entry.size}" for entry in entries]
    more = [f"({len(lines) - MOST_ENTRIES} more)"] if len(lines) > MOST_ENTRIES else []
    shown = "\n".join(lines[:MOST_ENTRIES] + more) or "(an empty folder)"
    return ToolResult(shown, summary=counted(len(entries), "item"))


@tool(effects={Effect.EDIT}, profile=PermissionProfile.NORMAL, touch=_writes, confined=True)
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


@tool(effects={Effect.READ}, touch=_reads, confined=True)
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
