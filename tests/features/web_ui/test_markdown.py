"""Markdown for a page: nothing of it runs or loads, and a text that streams ends as if it had come whole."""

from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quintet.features.web_ui.diff import diff_table
from quintet.features.web_ui.markdown import StreamedHtml, rendered


class Seen(HTMLParser):
    """What a browser would make of it."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.links: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}
        self.links += [value or "" for name, value in attrs if name in ("href", "src")]


PARTS = st.sampled_from(
    ["word ", "\n", "\n\n", "# Head\n", "- item\n", "1. one\n", "```py\n", "```\n", "| a | b |\n", "|--|--|\n", "> q\n"]
)


@pytest.mark.parametrize(
    "text",
    [
        "<script>alert(1)</script>",
        "<img src=x onerror=alert(1)>",
        '<svg onload="alert(1)"></svg>',
        "[a](javascript:alert(1))",
        "[a](JaVaScRiPt:alert(1))",
        "[a](\x01javascript:alert(1))",
        "[a](data:text/html,<script>1</script>)",
        "[a](vbscript:x)",
        "[a](file:///etc/passwd)",
        "![a](https://evil.example/pixel.png)",
        '![x" onerror="alert(1)](https://e.example/)',
        "<https://e.example/?<script>>",
        "```html\n<script>alert(1)</script>\n```",
        "```<script>\nx\n```",
        '[a]: javascript:alert(1) "t"\n\n[a]',
        "<a href='https://e.example' onclick='x'>y</a>",
    ],
)
def test_nothing_of_a_text_is_markup_or_is_loaded(text: str) -> None:
    seen = Seen()
    seen.feed(rendered(text))
    assert seen.tags <= {"p", "a", "br", "div", "span", "pre", "code"}
    assert seen.attributes <= {"href", "rel", "target", "class", "tabindex"}
    assert all(link.startswith(("https://", "http://", "mailto:", "#")) for link in seen.links)


def test_links_open_elsewhere_and_say_nothing_of_us() -> None:
    assert rendered("[a](https://e.example/)") == (
        '<p><a href="https://e.example/" rel="noreferrer noopener" target="_blank">a</a></p>\n'
    )


@given(st.lists(PARTS, max_size=40), st.integers(1, 7))
def test_a_text_that_streams_ends_as_the_same_text_that_came_in_other_pieces(parts: list[str], size: int) -> None:
    text = "".join(parts)
    streamed, at_once = StreamedHtml(), StreamedHtml(text)
    page: list[str] = []
    for at in range(0, len(text), size):
        streamed.append(text[at : at + size])
        first, chunks = streamed.news()
        page[first:] = chunks
    assert page == streamed.html()
    assert "".join(page) == "".join(at_once.html())


def test_code_longer_than_a_chunk_stays_code() -> None:
    lines = "\n".join(f"value_{number} = <{number}>" for number in range(1000))
    html = "".join(StreamedHtml(f"```py\n{lines}\n```\n\nafter").html())
    assert html.count('class="code"') > 1
    assert "<p>value" not in html
    assert html.endswith("<p>after</p>\n")


def test_a_change_shows_numbers_signs_and_the_words_that_differ() -> None:
    html = diff_table("--- a\n+++ b\n@@ -1,2 +1,2 @@\n-def old(x):\n+def new(x):\n <b>\n")
    assert '<tr class="del"><td class="n">1</td><td class="s">-</td><td>def <mark>old</mark>(x):</td></tr>' in html
    assert '<tr class="add"><td class="n">1</td><td class="s">+</td><td>def <mark>new</mark>(x):</td></tr>' in html
    assert "&lt;b&gt;" in html
