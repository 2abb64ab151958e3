"""A process apart that makes text of a page: usage page_child.py, with {kind, url} as JSON, a newline and the page on
stdin. It prints JSON: title, text, note; or problem."""

from __future__ import annotations

import json
import resource
import sys
from itertools import islice
from typing import Any

from quintet.adapters.files.html_text import read_html
from quintet.adapters.files.pdf_text import Pdf
from quintet.domain.base.errors import DocumentUnreadable

MEMORY = 2_000_000_000
SECONDS = 60
MOST_PAGES = 100
MOST_TEXT = 5_000_000


def main() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))
    head, _, body = sys.stdin.buffer.read().partition(b"\n")
    request = json.loads(head)
    made = _pdf(body) if request["kind"] == "pdf" else _html(body.decode("utf-8", "replace"), request["url"])
    made["text"] = made.get("text", "")[:MOST_TEXT]
    sys.stdout.write(json.dumps(made))


def _html(html: str, url: str) -> dict[str, Any]:
    title, text = read_html(html, menus=False)
    try:
        import trafilatura
    except ImportError:
        return {"title": title, "text": text, "note": "the whole page: trafilatura is needed to find its main text"}
    main_text = trafilatura.extract(
        html, url=url, output_format="markdown", include_tables=True, include_comments=False, favor_recall=True
    )
    if not main_text:
        return {"title": title, "text": text, "note": "the whole page: no main text was found in it"}
    return {"title": title, "text": main_text}


def _pdf(body: bytes) -> dict[str, Any]:
    try:
        pdf = Pdf(body, "the page")
    except DocumentUnreadable as error:
        return {"problem": error.message}
    pages = enumerate(islice(pdf.pages(), MOST_PAGES), 1)
    text = "\n\n".join(f"[page {number}]\n{page}" for number, page in pages if page)
    if not text:
        return {"problem": "a PDF without text: its pages are images"}
    more = pdf.count - MOST_PAGES
    return {"title": pdf.title, "text": text, "note": f"{more} more pages were not read" if more > 0 else ""}


if __name__ == "__main__":
    main()
