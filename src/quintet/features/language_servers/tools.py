"""lsp_tool: what a language server knows about the project's code."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

from quintet.domain.base.errors import ToolFailed
from quintet.domain.base.wording import counted, few
from quintet.domain.permission.effects import Effect
from quintet.domain.ports.ports import Workbench
from quintet.domain.turn.tool_spec import ToolResult, Touch
from quintet.features.language_servers.values import Diagnostic, SourcePlace
from quintet.tools.declare import tool

if TYPE_CHECKING:
    from quintet.features.language_servers.servers import LocalLanguageServers

MOST_SHOWN = 100
MOST_COLUMNS = 200  # of a source line
MOST_SAID = 1000  # of one diagnostic
MOST_CHARACTERS = 30_000


def _path(arguments: dict[str, Any]) -> Touch:
    return Touch(frozenset({Effect.READ}), reads=(arguments["path"],))


@tool(effects={Effect.READ}, touch=_path, needs=("language server",), confined=True)
async def lsp_tool(
    bench: Workbench,
    command: Literal["goto_definition", "goto_references", "hover_symbol", "file_diagnostics"],
    path: str,
    symbol: str = "",
    line: int = 0,
) -> ToolResult:
    """Ask a language server: where a symbol is defined or used, what it is, or what is wrong in a file.

    :command: what to ask
    :path: the file that holds the symbol, or the file to check
    :symbol: the name, as it stands in the file; not for file_diagnostics
    :line: the line the symbol stands on, its first occurrence if 0
    """
    servers: LocalLanguageServers = bench.service("language_servers")
    real = bench.files.real(path)
    text = bench.files.read(real).removeprefix(b"\xef\xbb\xbf").decode("utf-8", "replace")
    if command == "file_diagnostics":
        return _diagnostics(await servers.diagnostics(real, text))
    where = _find(path, text, symbol, line)
    if command == "hover_symbol":
        said = await servers.hover(real, text, *where)
        return ToolResult(_cut(said, MOST_CHARACTERS) or _nothing("is known about", symbol, where))
    if command == "goto_definition":
        return _places(await servers.definition(real, text, *where), _nothing("defines", symbol, where))
    return _places(await servers.references(real, text, *where), _nothing("refers to", symbol, where))


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
    return f"nothing {what} {symbol} at {where[0]}:{where[1]}; give the line if another occurrence was meant"


def _places(places: Sequence[SourcePlace], nothing: str) -> ToolResult:
    lines = [f"{place.path}:{place.line}:{place.column}  {_cut(place.text)}".rstrip() for place in places[:MOST_SHOWN]]
    return _listed(lines, len(places), "place") if places else ToolResult(nothing, summary="none")


def _diagnostics(found: Sequence[Diagnostic]) -> ToolResult:
    if not found:
        return ToolResult("no diagnostics", summary="none")
    lines = []
    for item in found[:MOST_SHOWN]:
        words = (
            f"{item.line}:{item.column}",
            item.severity,
            item.code,
            _cut(" ".join(item.message.split()), MOST_SAID),
        )
        lines.append(" ".join(filter(None, words)))
    return _listed(lines, len(found), "diagnostic")


def _listed(lines: list[str], number: int, noun: str) -> ToolResult:
    more = [f"({number - len(lines)} more)"] if number > len(lines) else []
    return ToolResult("\n".join(lines + more), summary=counted(number, noun))


def _cut(text: str, most: int = MOST_COLUMNS) -> str:
    text = text.strip()
    return text if len(text) <= most else f"{text[:most]}…"
