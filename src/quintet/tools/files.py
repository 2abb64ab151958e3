"""Read, Edit, Write: the project's files, exactly. The fs_ tools: files that are not code, and folders."""

from __future__ import annotations

import asyncio
import hashlib
import os
from collections.abc import Callable, Sequence
from itertools import islice
from typing import Any

from msgspec import structs

from quintet.domain.base.errors import ToolFailed
from quintet.domain.base.wording import counted
from quintet.domain.dials.axes import PermissionProfile
from quintet.domain.edits.edit import Change, Edited, edited, patched
from quintet.domain.edits.file_diff import file_diff
from quintet.domain.edits.patch import FilePatch, parse
from quintet.domain.permission.effects import Effect
from quintet.domain.permission.protected_paths import inside
from quintet.domain.ports.ports import Workbench
from quintet.domain.turn.tool_spec import ToolResult, Touch
from quintet.tools.declare import tool
from quintet.tools.images import IMAGE_BYTES, SHOWN, holds_secret, kept_image, media_type, other_image

MOST_LINES = 2000
MOST_COLUMNS = 2000
MOST_SHOWN = 200_000  # characters of one reading
BINARY_PROBE = 8192
MOST_ENTRIES = 1000
MOST_DIFF = 4000  # characters of a diff that the model is told
SMALL_FILE = 20_000  # bytes; what is larger is not compared on the loop
LARGE_FILE = 500_000  # bytes; what is larger is not read through on the loop


def _reads(arguments: dict[str, Any]) -> Touch:
    return Touch(frozenset({Effect.READ}), reads=(arguments["file_path"],))


def _writes(arguments: dict[str, Any]) -> Touch:
    return Touch(frozenset({Effect.EDIT}), writes=(arguments["file_path"],))


def _edits(arguments: dict[str, Any]) -> Touch:
    """What an edit writes: its file, or every file of its patch."""
    if not arguments["patch"]:
        return _writes(arguments)
    paths = tuple(patch.path for patch in parse(arguments["patch"]))
    return Touch(frozenset({Effect.EDIT}), writes=paths, subjects=paths)


@tool(effects={Effect.READ}, touch=_reads)
async def Read(bench: Workbench, file_path: str, offset: int = 1, limit: int = MOST_LINES) -> ToolResult:
    """Read a text file, its lines numbered from 1 with a tab after the number; or look at an image.

    :file_path: path of the file, relative to the project
    :offset: first line to show
    :limit: how many lines to show
    """
    data = bench.files.read(file_path)
    small = len(data) <= LARGE_FILE
    if (relative := inside(file_path, bench.root)) is not None:
        bench.seen[relative] = _hash(data) if small else await asyncio.to_thread(_hash, data)
    if kind := media_type(data) or other_image(data):
        return _shown(bench, file_path, kind, data)
    if b"\0" in data[:BINARY_PROBE]:
        return ToolResult(f"{file_path}: a binary file of {len(data)} bytes")
    if small:
        return _part(file_path, data, max(offset, 1), max(limit, 1))
    return await asyncio.to_thread(_part, file_path, data, max(offset, 1), max(limit, 1))


def _part(file_path: str, data: bytes, first: int, limit: int) -> ToolResult:
    """Some lines of a file, numbered, as many as fit in what a model is told at once."""
    lines = _decoded(data).split("\n")
    if lines and lines[-1] == "":
        lines.pop()
    if not lines:
        return ToolResult("(an empty file)", summary="empty")
    if first > len(lines):
        return ToolResult(f"{file_path}: it ends at line {len(lines)}; there is no line {first}", summary="0 lines")
    shown, room = [], MOST_SHOWN
    for number, line in enumerate(islice(lines, first - 1, first - 1 + limit), first):
        text = f"{number}\t{_cut(line)}"
        room -= len(text) + 1
        if room < 0:
            break
        shown.append(text)
    last = first + len(shown) - 1
    if last < len(lines):
        shown.append(f"({len(lines) - last} more lines; continue with offset={last + 1})")
    return ToolResult("\n".join(shown), summary=counted(last - first + 1, "line"))


def _shown(bench: Workbench, file_path: str, kind: str, data: bytes) -> ToolResult:
    """An image for the model to look at, or why it is not shown."""
    if image := kept_image(bench, data):
        return ToolResult(f"{file_path}: {kind}, {len(data)} bytes", summary="image", images=(image,))
    if media_type(data) == kind and holds_secret(bench, data):
        return ToolResult(
            f"{file_path}: an image ({kind}) that contains a known secret; not shown", summary="not shown"
        )
    why = f"{SHOWN} can be shown" if media_type(data) != kind else f"at most {IMAGE_BYTES} bytes can be shown"
    return ToolResult(f"{file_path}: an image ({kind}) of {len(data)} bytes; {why}: convert it", summary="not shown")


def _edit_fits(bench: Workbench, **arguments: Any) -> None:
    _to_write(bench, **arguments)


@tool(effects={Effect.EDIT}, profile=PermissionProfile.NORMAL, touch=_edits, confined=True, fits=_edit_fits)
async def Edit(
    bench: Workbench,
    file_path: str = "",
    old_string: str = "",
    new_string: str = "",
    replace_all: bool = False,
    edits: tuple[Change, ...] = (),
    patch: str = "",
) -> ToolResult:
    """Replace text in a file that was read before in this run. The old text must occur exactly once, or set
    replace_all. Several replacements go in edits: in order, all or none.

    :file_path: path of the file, relative to the project
    :old_string: the exact text to replace, without line numbers
    :new_string: the text to put in its place
    :replace_all: replace every occurrence
    :edits: instead of old_string and new_string
    :patch: alone: a unified diff or *** Begin Patch of one file or more
    """
    return await written(bench, _to_write(bench, file_path, old_string, new_string, replace_all, edits, patch))


FileChanged = tuple[str, bytes | None, bytes, tuple[str, ...]]  # its path, what it held if it was there, holds, notes


def _to_write(
    bench: Workbench,
    file_path: str,
    old_string: str,
    new_string: str,
    replace_all: bool,
    edits: tuple[Change, ...],
    patch: str,
) -> list[FileChanged]:
    """What an edit makes of its files; ToolFailed if it cannot be applied to them."""
    single = bool(old_string or new_string)
    if sum((single, bool(edits), bool(patch))) != 1 or bool(file_path) == bool(patch):
        raise ToolFailed("give file_path with old_string and new_string, or file_path with edits, or patch alone")
    if patch:
        return _of_patches(bench, parse(patch))
    changes = edits or (Change(old_string, new_string, replace_all),)
    before = _as_read(bench, file_path)
    made = _told(file_path, lambda: edited(_text(before), changes))
    return [(file_path, before, _data(made.text), made.notes)]


def _of_patches(bench: Workbench, patches: Sequence[FilePatch]) -> list[FileChanged]:
    named: dict[str, str] = {}
    for patch in patches:
        place = os.path.realpath(os.path.join(bench.root, patch.path))
        if place in named:
            both = f"{named[place]} and {patch.path}" if named[place] != patch.path else patch.path
            raise ToolFailed(f"{both}: one file, twice in the patch; combine its hunks. Nothing was changed")
        named[place] = patch.path
    return [_of_patch(bench, patch) for patch in patches]


def _of_patch(bench: Workbench, patch: FilePatch) -> FileChanged:
    if patch.added is None:
        before = _as_read(bench, patch.path)
        made = _told("", lambda: patched(_text(before), patch))
        return patch.path, before, _data(made.text), made.notes
    try:
        bench.files.read(patch.path)
    except FileNotFoundError:
        return patch.path, None, _data(patch.added), ()
    raise ToolFailed(f"{patch.path}: the patch adds this file, but it already exists; nothing was changed")


def _as_read(bench: Workbench, file_path: str) -> bytes:
    """A file's content, if it is what was read before."""
    path = bench.files.relative(file_path)
    data = bench.files.read(file_path)
    if path not in bench.seen:
        raise ToolFailed(f"{file_path}: read it first, then edit")
    if bench.seen[path] != _hash(data):
        raise ToolFailed(f"{file_path}: it has changed since it was read; read it again")
    return data


def _told(file_path: str, edit: Callable[[], Edited]) -> Edited:
    try:
        return edit()
    except ToolFailed as error:
        raise ToolFailed(f"{file_path}: {error}" if file_path else str(error)) from None


async def written(bench: Workbench, files: list[FileChanged]) -> ToolResult:
    """Write them all; where one cannot be written, those before it are as they were."""
    for at, (path, _, data, _) in enumerate(files):
        try:
            bench.files.replace(path, data)
        except Exception:
            _put_back(bench, files[:at])
            raise
    results = []
    for path, before, data, notes in files:
        relative = bench.files.relative(path)
        bench.seen[relative] = _hash(data)
        result = await _changed(relative, before or b"", data, MOST_DIFF // len(files))
        said = "".join(f"({note})\n" for note in notes)
        results.append(structs.replace(result, content=said + result.content))
    if len(results) == 1:
        return results[0]
    changed = tuple(path for result in results for path in result.changed)
    content = "\n".join(result.content for result in results)
    return ToolResult(content, changed=changed, summary=counted(len(changed), "file"))


def _put_back(bench: Workbench, files: list[FileChanged]) -> None:
    for path, before, _, _ in files:
        if before is None:
            bench.files.delete(path)
        else:
            bench.files.replace(path, before)


@tool(effects={Effect.EDIT}, profile=PermissionProfile.NORMAL, touch=_writes, confined=True)
async def Write(bench: Workbench, file_path: str, content: str) -> ToolResult:
    """Write a whole file, new or in place of an old one. Parent folders are made.

    :file_path: path of the file, relative to the project
    :content: the whole content
    """
    path = bench.files.relative(file_path)
    data = _encoded(content)
    try:
        before = bench.files.read(file_path)
    except FileNotFoundError:
        before = b""
    else:
        if before == data:
            bench.seen[path] = _hash(data)
            return ToolResult(f"nothing changed: {path} already has this content", summary="unchanged")
    bench.files.replace(file_path, data)
    bench.seen[path] = _hash(data)
    return await _changed(path, before, data)


async def _changed(path: str, before: bytes, after: bytes, most: int = MOST_DIFF) -> ToolResult:
    """What a change did, briefly: the model knows what it wrote, and every later request repeats this."""
    small = len(before) + len(after) <= SMALL_FILE
    compared = (path, _decoded(before), _decoded(after), most)
    diff = file_diff(*compared) if small else await asyncio.to_thread(file_diff, *compared)
    summary = f"+{diff.added} −{diff.removed}"
    more = f"\n({counted(diff.left_out, 'more line')} of the diff; in all {summary})" if diff.left_out else ""
    return ToolResult(diff.text + more or "nothing changed", changed=(path,), summary=summary)


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


def _text(data: bytes) -> str:
    """All of a file, to the byte: `_data` is the way back."""
    return data.decode("utf-8", "surrogateescape")


def _data(text: str) -> bytes:
    try:
        return _encoded(text)
    except UnicodeEncodeError as error:
        half = repr(error.object[error.start])
        raise ToolFailed(f"the new text contains an incomplete character ({half}); nothing was changed") from None


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
    return ToolResult(f"{path} {'made' if made else 'already existed'}", changed=(path,) if made else ())


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
    """Tell a file's or folder's kind, size, permissions and time of change.

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
