"""lsp_tool: what a language server knows about the project's code."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

from quintet.domain.base.errors import ToolFailed
from quintet.domain.base.wording import counted, few
from quintet.domain.dials.axes import PermissionProfile
from quintet.domain.permission.effects import Effect
from quintet.domain.permission.protected_paths import inside
from quintet.domain.ports.ports import Workbench
from quintet.domain.turn.tool_spec import ToolResult, Touch
from quintet.features.language_servers.edits import WireAction, WireEdit, edited_text
from quintet.features.language_servers.values import Diagnosed, Found
from quintet.features.language_servers.wire import lines_of, text_of
from quintet.tools.declare import tool
from quintet.tools.files import FileChanged, written

if TYPE_CHECKING:
    from quintet.features.language_servers.servers import LocalLanguageServers

MOST_SHOWN = 100
MOST_COLUMNS = 200  # of a source line
MOST_NAMED = 10  # files that hold the word and are not in the list
MOST_SAID = 1000  # of one diagnostic
MOST_CHARACTERS = 30_000


def _path(arguments: dict[str, Any]) -> Touch:
    return Touch(frozenset({Effect.READ}), reads=(arguments["path"],))


@tool(effects={Effect.READ}, touch=_path, needs=("language server",), confined=True)
async def lsp_tool(
    bench: Workbench,
    command: Literal["goto_definition", "goto_references", "hover_symbol", "file_diagnostics", "code_actions"],
    path: str,
    symbol: str = "",
    line: int = 0,
) -> ToolResult:
    """Ask a language server: where a symbol is defined or used, what it is, or what is wrong in a file.

    :command: what to ask
    :path: the file that holds the symbol, or the file to check
    :symbol: the name, as it is in the file; not for file_diagnostics and code_actions
    :line: the line of the symbol, its first occurrence if 0; code_actions: the line they are for
    """
    servers: LocalLanguageServers = bench.service("language_servers")
    real = bench.files.real(path)
    text = bench.files.read(real).removeprefix(b"\xef\xbb\xbf").decode("utf-8", "replace")
    if command == "file_diagnostics":
        return _diagnostics(await servers.diagnostics(real, text))
    if command == "code_actions":
        return _actions(await servers.actions(real, text, _line(path, text, line)))
    where = _find(path, text, symbol, line)
    if command == "hover_symbol":
        said = await servers.hover(real, text, *where)
        return _told(_cut(said.text, MOST_CHARACTERS) or _nothing("is known about", symbol, where), "", said.loading)
    if command == "goto_definition":
        return _places(await servers.definition(real, text, *where), _nothing("defines", symbol, where))
    word = symbol.strip().rpartition(".")[2]
    return _places(await servers.references(real, text, *where, word), _nothing("refers to", symbol, where), word)


def _edits(arguments: dict[str, Any]) -> Touch:
    """The files that the call names: no other is written, whatever the server wants."""
    paths = tuple(dict.fromkeys((arguments["path"], *arguments["files"])))
    return Touch(frozenset({Effect.EDIT}), writes=paths, subjects=paths)


@tool(
    effects={Effect.EDIT},
    profile=PermissionProfile.NORMAL,
    touch=_edits,
    needs=("language server",),
    toolset="swe",
    confined=True,
)
async def lsp_edit(
    bench: Workbench,
    command: Literal["rename", "code_action"],
    path: str,
    symbol: str = "",
    line: int = 0,
    new_name: str = "",
    title: str = "",
    files: tuple[str, ...] = (),
) -> ToolResult:
    """Have a language server rename a symbol everywhere, or apply one of its code actions. Nothing is written unless
    every file that changes is named.

    :command: what to do
    :path: the file that holds the symbol, or the line
    :symbol: rename: the name, as it is in the file
    :line: the line of the symbol, its first occurrence if 0; code_action: the line it is for
    :new_name: rename: the new name
    :title: code_action: its title, as lsp_tool code_actions lists it
    :files: the other files that may change, as goto_references lists them
    """
    servers: LocalLanguageServers = bench.service("language_servers")
    real = bench.files.real(path)
    text = text_of(bench.files.read(real))
    if command == "rename":
        if not new_name.strip():
            raise ToolFailed("new_name: which name? rename needs one.")
        edits, loading, encoding = await servers.renamed(real, text, *_find(path, text, symbol, line), new_name)
        if loading:
            raise ToolFailed(f"still loading ({loading}), so the rename may be incomplete; ask again in a while")
    else:
        edits, encoding = await servers.acted(real, text, _line(path, text, line), title)
    if not edits:
        return ToolResult("the server has nothing to change", summary="unchanged")
    named = {bench.files.relative(one) for one in (path, *files)}
    changed = {inside(one, bench.root) or one: wanted for one, wanted in edits.items()}
    if more := sorted(set(changed) - named):
        raise ToolFailed(f"this also changes {', '.join(more)}; nothing was changed. To do it, name them in files.")
    return await written(
        bench, [_file_changed(bench, one, wanted, encoding) for one, wanted in sorted(changed.items())]
    )


def _file_changed(bench: Workbench, path: str, edits: Sequence[WireEdit], encoding: str) -> FileChanged:
    before = bench.files.read(path)
    mark = b"\xef\xbb\xbf" if before.startswith(b"\xef\xbb\xbf") else b""
    try:
        text = before.removeprefix(mark).decode()
    except UnicodeDecodeError:
        raise ToolFailed(f"{path}: not UTF-8, so a server's edits cannot be placed; nothing was changed") from None
    return path, before, mark + edited_text(text, edits, encoding).encode(), ()


def _line(path: str, text: str, line: int) -> int:
    count = len(lines_of(text))
    if not 0 < line <= count:
        raise ToolFailed(f"line = {line}: which line of {path}? It has {counted(count, 'line')}.")
    return line


def _actions(found: Sequence[WireAction]) -> ToolResult:
    lines = []
    for one in found[:MOST_SHOWN]:
        why = f" (cannot be applied: {one.disabled.get('reason', '')})" if one.disabled else ""
        lines.append(f"{_cut(one.title)}{f'  [{one.kind}]' if one.kind else ''}{why}")
    return ToolResult("\n".join(lines) or "no code actions", summary=counted(len(found), "code action"))


def _find(path: str, text: str, symbol: str, line: int) -> tuple[int, int]:
    """Line and column of a symbol; of a dotted one, of its last name."""
    if not symbol.strip():
        raise ToolFailed(f"symbol: which name in {path}{f', line {line}' if line else ''}? This command needs one.")
    lines = re.split(r"\r\n|\n|\r", text)  # as language servers count lines
    if not 0 <= line <= len(lines):
        raise ToolFailed(f"line = {line}: {path} has {counted(len(lines), 'line')}")
    word = re.compile(rf"(?<!\w){re.escape(symbol.strip())}(?!\w)")
    found = [(number, match) for number, shown in enumerate(lines, 1) if (match := word.search(shown))]
    if not found:
        raise ToolFailed(f"{symbol} does not occur in {path}")
    for number, match in found:
        if line in (0, number):
            last = match[0].rpartition(".")[2]
            return number, match.end() - len(last) + 1
    others = few([str(number) for number, _ in found], 10)
    raise ToolFailed(f"{symbol} does not occur on line {line} of {path}; it does on {others}")


def _nothing(what: str, symbol: str, where: tuple[int, int]) -> str:
    return f"nothing {what} {symbol} at {where[0]}:{where[1]}; give the line if you mean another occurrence"


def _places(found: Found, nothing: str, word: str = "") -> ToolResult:
    places = found.places
    lines = [f"{place.path}:{place.line}:{place.column}  {_cut(place.text)}".rstrip() for place in places[:MOST_SHOWN]]
    more = [f"({len(places) - MOST_SHOWN} more)"] if len(places) > MOST_SHOWN else []
    if found.unlisted:
        count = counted(len(found.unlisted), "other file")
        more.append(f"({word} also occurs in {count}, not counted by the server: {few(found.unlisted, MOST_NAMED)})")
    text = "\n".join([*lines, *more] if places else [nothing, *more])
    return _told(text, counted(len(places), "place") if places else "none", found.loading)


def _diagnostics(found: Diagnosed) -> ToolResult:
    if not found.diagnostics:
        return _told("no diagnostics", "none", found.loading)
    lines = []
    for item in found.diagnostics[:MOST_SHOWN]:
        words = (
            f"{item.line}:{item.column}",
            item.severity,
            item.code,
            _cut(" ".join(item.message.split()), MOST_SAID),
        )
        lines.append(" ".join(filter(None, words)))
    number = len(found.diagnostics)
    more = [f"({number - len(lines)} more)"] if number > len(lines) else []
    return _told("\n".join(lines + more), counted(number, "diagnostic"), found.loading)


def _told(text: str, summary: str, loading: str) -> ToolResult:
    """What the server said; with what it was still at, where that may have made it say less."""
    if not loading:
        return ToolResult(text, summary=summary)
    note = f"Still loading: {_cut(loading)}. This may be incomplete; ask again in a while."
    return ToolResult(f"{note}\n{text}", summary=", ".join(filter(None, (summary, "may be incomplete"))))


def _cut(text: str, most: int = MOST_COLUMNS) -> str:
    text = text.strip()
    return text if len(text) <= most else f"{text[:most]}…"
