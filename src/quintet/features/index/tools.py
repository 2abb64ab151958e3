"""The tools of the index: where something is declared and used, what fits some words, and a map of the project."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from quintet.domain.base.errors import ToolFailed
from quintet.domain.base.wording import counted, did_you_mean
from quintet.domain.permission.effects import Effect
from quintet.domain.ports.ports import Workbench
from quintet.domain.turn.tool_menu import ASSIST
from quintet.domain.turn.tool_spec import ToolResult, Touch
from quintet.features.index.entries import KINDS, FoundSymbol
from quintet.tools.declare import tool

if TYPE_CHECKING:
    from quintet.features.index.service import ProjectIndex

MOST = 200
LEAST_TOKENS, MOST_TOKENS = 100, 20_000


def _reads(arguments: dict[str, Any]) -> Touch:
    return Touch(frozenset({Effect.READ}))


@tool(effects={Effect.READ}, touch=_reads, toolset=ASSIST.name, confined=True)
async def find_symbol(bench: Workbench, name: str, kind: str = "", limit: int = 20) -> ToolResult:
    """Find where a class, function, method or another symbol is declared, in any of 20 languages, by its name.

    :name: a name (run), a name in another (Turn.run), or the beginning or the parts of one
    :kind: only class, interface, struct, enum, type, module, function, method, field, constant, variable or macro
    :limit: how many at most
    """
    if kind and kind not in KINDS:
        raise ToolFailed(f'kind "{kind}": not one of {", ".join(KINDS)}.{did_you_mean(kind, KINDS)}')
    index, note = await _index(bench, name, limit)
    found = await index.symbols(name, kind, limit)
    said = f"{counted(len(found), 'symbol')}." if found else f'Nothing declares "{name}".'
    return _told([said, *map(symbol_line, found)], note, len(found), "symbol")


@tool(effects={Effect.READ}, touch=_reads, toolset=ASSIST.name, confined=True)
async def find_references(bench: Workbench, name: str, limit: int = 100) -> ToolResult:
    """Find the lines that use a name, by file; declarations are marked. It goes by the name, not by its type.

    :name: a name (run), or a name in another (Turn.run): then only files that name both
    :limit: how many lines at most
    """
    index, note = await _index(bench, name, limit)
    found = await index.references(name, limit)
    if not found.lines:
        return _told([f'Nothing uses "{name}".'], note, 0, "line")
    more = ", not all shown" if found.cut else ""
    lines = [f"{counted(len(found.lines), 'line')} in {counted(found.files, 'file')}{more}."]
    path = ""
    for one in found.lines:
        if one.path != path:
            path = one.path
            lines.append(path)
        lines.append(f"  {one.line}: {one.text}{'  (declares it)' if one.declares else ''}")
    return _told(lines, note, len(found.lines), "line")


@tool(effects={Effect.READ}, touch=_reads, toolset=ASSIST.name, confined=True)
async def search_code(bench: Workbench, query: str, limit: int = 10) -> ToolResult:
    """Find the files that fit a question or some words best, with the symbols in them that fit; the best first.

    :query: a question in plain words, or words of names
    :limit: how many files at most
    """
    index, note = await _index(bench, query, limit)
    found = await index.search(query, limit)
    lines = [f"{counted(len(found), 'file')}." if found else "No file fits."]
    for one in found:
        lines.append(one.path)
        if one.symbols:
            lines += [f"  {symbol.line}: {symbol.text}" for symbol in one.symbols]
        elif one.text:
            lines.append(f"  {one.line}: {one.text}")
    return _told(lines, note, len(found), "file")


@tool(effects={Effect.READ}, touch=_reads, toolset=ASSIST.name, confined=True)
async def repo_map(bench: Workbench, tokens: int = 2000, near: Sequence[str] = ()) -> ToolResult:
    """Show a map of the project: the files that the others use most, with what they declare.

    :tokens: how long it may be, from 100 to 20000
    :near: files or symbols that the map is to be seen from
    """
    if not LEAST_TOKENS <= tokens <= MOST_TOKENS:
        raise ToolFailed(f"{tokens} tokens: expected {LEAST_TOKENS} to {MOST_TOKENS}")
    index, note = await _index(bench, "map", 1)
    drawn = await index.map(tokens, near, near)
    return _told([drawn or "The index is empty."], note, 0, "file")


def symbol_line(symbol: FoundSymbol) -> str:
    lines = f"{symbol.line}-{symbol.end}" if symbol.end > symbol.line else f"{symbol.line}"
    return f"{symbol.path}:{lines}  {symbol.kind} {symbol.full_name}  {symbol.text}"


async def _index(bench: Workbench, wanted: str, limit: int) -> tuple[ProjectIndex, str]:
    if not wanted.strip():
        raise ToolFailed("expected a name or words to look for")
    if not 1 <= limit <= MOST:
        raise ToolFailed(f"limit {limit}: expected 1 to {MOST}")
    index: ProjectIndex = bench.service("index")
    return index, await index.fresh()


def _told(lines: Sequence[str], note: str, number: int, noun: str) -> ToolResult:
    return ToolResult("\n".join([*lines, *([note] if note else [])]), summary=counted(number, noun) if number else "")
