"""A task's file: what a language model writes is read, what is wrong has its line and field, and nothing is guessed."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quintet.domain.tasks.page import notes, read_page, with_id, write_page
from quintet.domain.tasks.task import Approval, Intent, Mutation, Risk, TaskText

PAGE = """\
---
# what a planner wrote
id: task-002
title: "Fix: the parser's last line"
depends_on:
  - task-001
  - 'task-000'   # and this
risk: High
mutation: project
verification: python -m pytest -q tests/test_parser.py
approval: after
intent: [src/parser.py:10-50, "src/a, b.py", docs/]
---
# The parser

---
It forgets the last line.
"""


def test_a_page_as_a_model_writes_it_is_read() -> None:
    text, flaws = read_page(PAGE)
    assert flaws == []
    assert text == TaskText(
        "task-002",
        "Fix: the parser's last line",
        ("task-001", "task-000"),
        Risk.HIGH,
        Mutation.PROJECT,
        "python -m pytest -q tests/test_parser.py",
        Approval.AFTER,
        (Intent("src/parser.py", 10, 50), Intent("src/a, b.py"), Intent("docs/")),
        "# The parser\n\n---\nIt forgets the last line.\n",
    )


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("intent: src/a.py", [Intent("src/a.py")]),
        ("intent: src/a.py lines 3-9", [Intent("src/a.py", 3, 9)]),
        ("intent: ./src/a.py 3–9", [Intent("src/a.py", 3, 9)]),
        ("intent: src/a.py:7", [Intent("src/a.py", 7, 7)]),
        ("intent: src/a.py::Calc.add", [Intent("src/a.py", symbol="Calc.add")]),
        ("intent: [./a.cpp::ns::run, b.js::$]", [Intent("a.cpp", symbol="ns::run"), Intent("b.js", symbol="$")]),
        ("intent: chapter 2", [Intent("chapter 2")]),
        ("intent:\n  - path: src/a.py\n    lines: 3-9\n  - path: b.py", [Intent("src/a.py", 3, 9), Intent("b.py")]),
        ("intent:\n- path: a.py\n  lines: [3, 9]", [Intent("a.py", 3, 9)]),
        ("intent: []", []),
        ("intent:", []),
        ("intent: null", []),
        ("intent: ~", []),
    ],
)
def test_what_a_task_will_change_is_read_however_it_is_spelt(written: str, meant: list[Intent]) -> None:
    text, flaws = read_page(f"---\nid: t\ntitle: T\n{written}\n---\n")
    assert (flaws, list(text.intent) if text else None) == ([], meant)


@pytest.mark.parametrize(
    ("page", "said"),
    [
        ("", ["line 1: no front matter: the first line must be ---"]),
        ("# A task\n", ["line 1: no front matter: the first line must be ---"]),
        ("---\nid: t\ntitle: T\n", ["line 1: the front matter does not end: a line --- is missing"]),
        ("---\ntitle: T\n---\n", ["line 1, id: is missing"]),
        ("---\n---\n", ["line 1, id: is missing", "line 1, title: is missing"]),
        ("---\nid: a b\ntitle: T\n---\n", ['line 2, id: "a b" is not an id']),
        ("---\nid: ../up\ntitle: T\n---\n", ['line 2, id: "../up" is not an id']),
        ("---\nid: [a]\ntitle: T\n---\n", ["line 2, id: one value is expected, not a list"]),
        ("---\nid: t\ntitle: T\nid: u\n---\n", ["line 4, id: appears twice"]),
        ("---\nid: t\ntitle: ''\n---\n", ["line 3, title: expected one line that"]),
        ('---\nid: t\ntitle: "T\n---\n', ["line 3, title: a quote is not closed"]),
        ('---\nid: t\ntitle: "\\q"\n---\n', ["line 3, title: the text in quotes cannot be read"]),
        ("---\nid: t\ntitle: T\nrisk: hihg\n---\n", ['line 4, risk: "hihg" is not one of low, medium, high. Did you']),
        ("---\nid: t\ntitle: T\ncost_budget: cheap\n---\n", ['line 4, cost_budget: "cheap" is not an amount of money']),
        ("---\nid: t\ntitle: T\ncost_budget: -1\n---\n", ['line 4, cost_budget: "-1" is not an amount of money']),
        ("---\nid: t\ntitle: T\ncost_budget: nan\n---\n", ['line 4, cost_budget: "nan" is not an amount of money']),
        ("---\nid: t\ntitle: T\ndepends_on: [a, b\n---\n", ["line 4, depends_on: the list is not closed"]),
        ("---\nid: t\ntitle: T\ndepends_on: [a,, b]\n---\n", ["line 4, depends_on: an item is empty"]),
        ("---\nid: t\ntitle: T\ndepends_on: [a] b\n---\n", ['line 4, depends_on: "b" after the list']),
        (
            "---\nid: t\ntitle: T\ndepends_on:\n  - a\n  - b c\n---\n",
            ['line 6, depends_on: "b c" is not the id of a task'],
        ),
        ("---\nid: t\ntitle: T\ndepends_on:\n  a\n---\n", ['line 5, depends_on: "a" is not an item']),
        ("---\nid: t\ntitle: T\nverification: |\n  make\n---\n", ["line 4, verification: block text is not supported"]),
        ("---\nid: t\ntitle: T\n  and more\n---\n", ["line 4, title: does not belong to the line above"]),
        ("---\nid: t\ntitle: T\nintent: a.py:9-3\n---\n", ['line 4, intent: "a.py:9-3": line numbers start at 1']),
        ("---\nid: t\ntitle: T\nintent: ../a.py\n---\n", ['line 4, intent: "../a.py" is outside the project']),
        ("---\nid: t\ntitle: T\nintent: /etc/passwd\n---\n", ['line 4, intent: "/etc/passwd" is outside']),
        ("---\nid: t\ntitle: T\njust words\n---\n", ['line 4: "just words" is not a field']),
        ("---\nrisk: x\ntitle: T\nid: -\n---\n", ["line 2, risk:", 'line 4, id: "-" is not an id']),
    ],
)
def test_a_malformed_page_is_said_with_line_and_field_and_gives_no_task(page: str, said: list[str]) -> None:
    text, flaws = read_page(page)
    assert text is None
    assert len(flaws) == len(said), flaws
    for flaw, wanted in zip(flaws, said, strict=True):
        assert str(flaw).startswith(wanted)


ids = st.from_regex(r"[A-Za-z0-9][A-Za-z0-9._-]{0,12}", fullmatch=True)
lines_of_text = st.text(st.characters(codec="utf-8", exclude_characters="\n"), min_size=1).filter(str.strip)
paths = st.text(st.sampled_from("abc ,:#'\"[]{}-./_é"), min_size=1).filter(
    lambda path: path.strip() and not path.startswith(("/", "~", "./")) and ".." not in path.split("/")
)
paths = paths.filter(lambda path: not re.search(r"[^:]::+[^\W\d]", path))  # that is a symbol
symbols = st.builds(
    lambda path, name: Intent(path, symbol=name), paths, st.sampled_from(("f", "Calc.add", "a::b", "$", "é_1"))
)
spans = st.tuples(st.integers(1, 99), st.integers(0, 99)).map(lambda pair: (pair[0], pair[0] + pair[1]))
intents = st.builds(lambda path, span: Intent(path, *span), paths, st.one_of(st.just((0, 0)), spans))
others = st.sampled_from(("x-owner: me", "labels:\n  - a\n  - b", "about: |\n  two\n  lines", "depend_on: [a", "x:"))
texts = st.builds(
    TaskText,
    ids,
    lines_of_text,
    st.lists(ids, max_size=3, unique=True).map(tuple),
    st.sampled_from(Risk),
    st.sampled_from(Mutation),
    st.text(st.characters(codec="utf-8")),
    st.sampled_from(Approval),
    st.lists(intents | symbols, max_size=3).map(tuple),
    st.text(st.characters(codec="utf-8")),
    st.just(0.0) | st.floats(min_value=1e-9, max_value=1e9),
    st.lists(others, max_size=3).map(tuple),
)


@given(texts)
def test_reading_what_was_written_gives_the_same_task(text: TaskText) -> None:
    assert read_page(write_page(text)) == (text, [])


@given(st.text(st.sampled_from("-:[]\"'#| \nabid")))
def test_any_text_is_a_task_or_has_flaws(page: str) -> None:
    text, flaws = read_page("---\n" + page)
    assert (text is None) == bool(flaws)


def test_a_field_that_is_nobodys_here_is_kept_as_it_stands_and_noted() -> None:
    page = "---\nid: t\ndepend_on: a  # of it\ntitle: T\nlabels:\n  - one\n  # two\n  - three\n---\nDo it.\n"
    text, flaws = read_page(page)
    assert text and flaws == []
    assert text.kept == ("depend_on: a  # of it", "labels:\n  - one\n  # two\n  - three")
    assert notes(text) == [
        "depend_on is not a field of a task; it stays in the file and has no effect. Did you mean depends_on?",
        "labels is not a field of a task; it stays in the file and has no effect.",
    ]
    assert all(field in write_page(text) for field in text.kept)
    assert write_page(TaskText("t", "T", cost_budget=0.5)) == "---\nid: t\ntitle: T\ncost_budget: 0.5\n---\n"


def test_a_new_id_leaves_the_rest_of_the_page_as_it_was_written() -> None:
    assert with_id(PAGE, "task-009") == PAGE.replace("id: task-002", "id: task-009")
