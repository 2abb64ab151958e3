"""HTML as plain text, with the standard library alone: headings, paragraphs, lists; no scripts, styles or menus."""

from __future__ import annotations

import re
from html.parser import HTMLParser

_DROPPED = frozenset({"script", "style", "noscript", "template", "svg", "nav", "footer", "iframe", "select"})
_HEADINGS = {f"h{level}": "#" * level + " " for level in range(1, 7)}
_BLOCKS = frozenset({"p", "div", "section", "article", "header", "main", "aside", "ul", "ol", "dl", "dt", "dd"}) | {
    *("table", "tr", "pre", "blockquote", "br", "hr", "form"),
    *_HEADINGS,
}


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.title = ""
        self.out: list[str] = []
        self._dropped = 0
        self._in_title = False
        self._kept_as_is = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in _DROPPED:
            self._dropped += 1
        elif tag == "title":
            self._in_title = True
        elif tag in _BLOCKS:
            self.out.append("\n\n" + _HEADINGS.get(tag, ""))
        elif tag == "li":
            self.out.append("\n- ")
        elif tag in ("td", "th"):
            self.out.append(" | ")
        self._kept_as_is += tag == "pre"

    def handle_endtag(self, tag: str) -> None:
        if tag in _DROPPED:
            self._dropped = max(0, self._dropped - 1)
        elif tag == "title":
            self._in_title = False
        elif tag in _BLOCKS:
            self.out.append("\n\n")
        self._kept_as_is -= tag == "pre" and self._kept_as_is > 0

    def handle_data(self, data: str) -> None:
        if self._in_title:
            self.title += data
        elif not self._dropped:
            self.out.append(data if self._kept_as_is else re.sub(r"\s+", " ", data))


def plain(html: str) -> tuple[str, str]:
    """The title and the text."""
    reader = _Reader()
    reader.feed(html)
    reader.close()
    lines = [line.rstrip() for line in "".join(reader.out).splitlines()]
    text = re.sub(r"\n{3,}", "\n\n", "\n".join(line if line.strip() else "" for line in lines))
    return " ".join(reader.title.split()), text.strip()
