"""Markdown for a page: nothing of it runs or loads, and a text that streams ends as if it had come whole."""

from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quintet.domain.turn.tool_spec import CallStatus, ShellSeen
from quintet.features.web_ui.blocks import CallHtml
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
    assert seen.tags <= {"p", "a", "br", "div", "span", "pre", "code", "button"}
    assert seen.attributes <= {"href", "rel", "target", "class", "tabindex", "type"}
    assert all(link.startswith(("https://", "http://", "mailto:", "#")) for link in seen.links)


@pytest.mark.parametrize(
    "written", ["\u202e", "&#x202e;", "&#8238;", "`\u202e`", "```py\nx = 1 # \u202e\n```", "# \u202e"]
)
def test_characters_that_turn_or_hide_text_are_marked_as_on_the_screen(written: str) -> None:
    html = rendered(f"a {written} b" if "\n" not in written else written)
    assert "\u202e" not in html
    assert "\\u202e" in html
    assert "\\u200b" in rendered("zero\u200bwidth")
    assert "\\u2066" in rendered("- [x](https://e.example/\u2066)\n- \u2066")
    assert rendered("سلام‌ها 👩‍💻") == "<p>سلام‌ها 👩‍💻</p>\n"


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


def test_what_the_offline_rules_say_keeps_its_columns_and_its_signs() -> None:
    text = "## main\npkg/__init__.py  7\n<b>  *x*"
    growing, once = StreamedHtml(plain=True), StreamedHtml(text, plain=True)
    for character in text:
        growing.append(character)
    growing.news()
    assert growing.news() == (0, once.html())
    assert once.html() == ['<pre class="said">## main\npkg/__init__.py  7\n&lt;b&gt;  *x*</pre>']


def test_what_a_command_printed_shows_both_its_ends_while_it_is_folded() -> None:
    block = CallHtml("bash", "make")
    content = "".join(f"o{n}\n" for n in range(20)) + "exit 0"
    shell = ShellSeen("", running=False, exit_code=0)
    block.finish(CallStatus.OK, content, "exit 0", 1.0, diff=False, shell=shell)
    assert '<pre class="part">o0\no1\n… 15 more lines\no17\no18\no19</pre>' in block.body()


def test_code_longer_than_a_chunk_stays_code() -> None:
    lines = "\n".join(f"value_{number} = <{number}>" for number in range(1000))
    html = "".join(StreamedHtml(f"```py\n{lines}\n```\n\nafter").html())
    assert html.count('class="code"') > 1
    assert "<p>value" not in html
    assert html.endswith("<p>after</p>\n")


def test_the_code_of_a_change_is_coloured_and_what_differs_is_marked_within() -> None:
    html = diff_table("--- a/x.py\n+++ b/x.py\n@@ -1 +1 @@\n-def old(x):  # <b>\n+def new(x):  # <b>\n")
    assert '<span class="k">def</span>' in html
    assert '<mark><span class="nf">new</span></mark>' in html
    assert "&lt;b&gt;" in html
    assert "<b>" not in html


def test_a_change_shows_numbers_signs_and_the_words_that_differ() -> None:
    html = diff_table("--- a\n+++ b\n@@ -1,2 +1,2 @@\n-def old(x):\n+def new(x):\n <b>\n")
    assert '<tr class="del"><td class="n">1</td><td class="s">-</td><td>def <mark>old</mark>(x):</td></tr>' in html
    assert '<tr class="add"><td class="n">1</td><td class="s">+</td><td>def <mark>new</mark>(x):</td></tr>' in html
    assert "&lt;b&gt;" in html
