"""Markdown as HTML. Markup in the text is text; links lead to http, https and mailto only, and pictures are links.

A text that streams is cut into chunks at empty lines outside code: a chunk that is over is rendered once.
"""

from __future__ import annotations

from collections.abc import MutableMapping, Sequence
from functools import cache
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.token import Token
from pygments.formatters import HtmlFormatter
from pygments.lexers import get_lexer_by_name
from pygments.util import ClassNotFound

from quintet.domain.base.safe_text import visible
from quintet.features.web_ui.html import COPY, e

MOST_CODE = 2_000  # characters that are coloured: some lexers take the square of it
MOST_CHUNK = 6_000  # characters after which a chunk ends at any line
_SCHEMES = ("http://", "https://", "mailto:", "#")


@cache
def _parser() -> MarkdownIt:
    parser = MarkdownIt("commonmark", {"html": False, "breaks": True}).enable(["table", "strikethrough"])
    parser.validateLink = lambda url: url.strip().lower().startswith(_SCHEMES)  # type: ignore[method-assign]
    parser.add_render_rule("text", _text)  # here, for a character may have been written as `&#x202e;`
    parser.add_render_rule("code_inline", lambda self, tokens, index, *_: f"<code>{e(tokens[index].content)}</code>")
    parser.add_render_rule("link_open", _link)
    parser.add_render_rule("image", _image)
    parser.add_render_rule("fence", _fence)
    parser.add_render_rule("code_block", _fence)
    parser.add_render_rule("table_open", lambda *_: '<div class="wide" tabindex="0"><table>')
    parser.add_render_rule("table_close", lambda *_: "</table></div>")
    return parser


def _text(self: Any, tokens: Sequence[Token], index: int, options: Any, env: MutableMapping[str, Any]) -> str:
    return e(tokens[index].content)


def _link(self: Any, tokens: Sequence[Token], index: int, options: Any, env: MutableMapping[str, Any]) -> str:
    return f'<a href="{e(tokens[index].attrGet("href") or "")}" rel="noreferrer noopener" target="_blank">'


def _image(self: Any, tokens: Sequence[Token], index: int, options: Any, env: MutableMapping[str, Any]) -> str:
    """A picture of somebody else's is not loaded: that would tell them who looks."""
    token = tokens[index]
    address = e(token.attrGet("src") or "")
    return f'<a href="{address}" rel="noreferrer noopener" target="_blank">picture: {e(token.content) or address}</a>'


def _fence(self: Any, tokens: Sequence[Token], index: int, options: Any, env: MutableMapping[str, Any]) -> str:
    token = tokens[index]
    language = token.info.strip().split(maxsplit=1)[0] if token.info.strip() else ""
    name = f'<span class="lang">{e(language)}</span>' if language else ""
    code = f'<pre tabindex="0"><code>{coloured(token.content, language)}</code></pre>'
    return f'<div class="code">{name}{COPY}{code}</div>\n'


def coloured(code: str, language: str) -> str:
    """Code with its words marked by kind, where the language is known."""
    if not language or len(code) > MOST_CODE:
        return e(code)
    try:
        lexer = get_lexer_by_name(language, stripnl=False, ensurenl=False)
    except ClassNotFound:
        return e(code)
    shown = "\n".join(visible(line) for line in code.split("\n"))
    pieces: list[str] = []
    HtmlFormatter(nowrap=True).format(lexer.get_tokens(shown), _Pieces(pieces))
    return "".join(pieces).removesuffix("\n") + ("\n" if code.endswith("\n") else "")


class _Pieces:
    """What a formatter writes to."""

    def __init__(self, pieces: list[str]) -> None:
        self.write = pieces.append


def rendered(text: str) -> str:
    return str(_parser().render(text.replace("\r", "")))


class StreamedHtml:
    """A text that grows at its end, as chunks of HTML. Adding to it costs nothing until the chunks are wanted."""

    def __init__(self, text: str = "", *, plain: bool = False) -> None:
        """With `plain` no mark means anything: one chunk, the lines as they are."""
        self._plain = plain
        self._parts = [text]  # of the chunk that is still open
        self._whole: list[str] = []  # the chunks that are over
        self._told = 0  # how many of these were told

    def append(self, text: str) -> None:
        self._parts.append(text)

    def html(self) -> list[str]:
        """Every chunk, the open one last."""
        open_text = "".join(self._parts)
        if self._plain:
            return [f'<pre class="said">{e(open_text.rstrip())}</pre>'] if open_text.strip() else []
        while (cut := _first_chunk(open_text)) is not None:
            chunk, open_text = cut
            self._whole.append(rendered(chunk))
        self._parts = [open_text]
        return [*self._whole, rendered(open_text)] if open_text.strip() else list(self._whole)

    def news(self) -> tuple[int, list[str]]:
        """The chunks from the first that may have changed since this was asked before, and its number."""
        chunks, first = self.html(), self._told
        self._told = len(self._whole)
        return first, chunks[first:]


def _first_chunk(text: str) -> tuple[str, str] | None:
    """The first chunk that nothing after it can change, and the rest; None if there is none yet."""
    opening, fence, at, blank = "", "", 0, False
    while (end := text.find("\n", at)) >= 0:
        line = text[at:end]
        bare = line.strip()
        if not fence and bare[:3] in ("```", "~~~"):
            opening, fence = bare, bare[:3]
        elif fence and bare.startswith(fence) and set(bare) == {fence[0]}:
            opening, fence = "", ""
        elif blank and not fence and at and _begins_anew(line):
            return text[:at], text[at:]
        blank = not bare
        at = end + 1
        if at > MOST_CHUNK:
            return (f"{text[:at]}{fence}\n", f"{opening}\n{text[at:]}") if fence else (text[:at], text[at:])
    return None


def _begins_anew(line: str) -> bool:
    """Whether a line after an empty one continues nothing: no item of a list, nothing indented, no row of a table."""
    return bool(line[:1].strip()) and line[0] not in "-*+|>" and not line[0].isdigit()
