"""Every text that a person can read is in docs/words.txt, so that a change of wording is one review."""

import re
import runpy
from pathlib import Path

import pytest

DOCS = Path(__file__).parent.parent / "docs"
WORDS = runpy.run_path(str(DOCS / "words.py"))
LIST = (DOCS / "words.txt").read_text()


def test_the_list_of_words_is_complete() -> None:
    assert WORDS["made"]() == LIST, "run scripts/docs"


@pytest.mark.parametrize(
    ("source", "texts"),
    [
        ('print("No session here")', ["No session here"]),
        ('print(f"{len(tasks)} tasks,\\n{state.name}")', ["{tasks} tasks,\\n{name}"]),
        ("print(f\"{'one more' if more else 'none'} of {count}\")", ["one more", "{…} of {count}"]),
        ('print(", ".join(names) + " are queued")', ["are queued"]),
        ('raise UsageError("queued " "once")', ["queued once"]),
    ],
)
def test_a_text_is_listed(source: str, texts: list[str]) -> None:
    assert WORDS["texts"](source) == texts


@pytest.mark.parametrize(
    "source",
    [
        '"""What a file holds."""',
        'NAME = "queued"',
        'if line == "no such file": pass',
        'line.startswith("no such file")',
        're.compile("one or two")',
        'rows = "SELECT seq FROM events"',
        'DEFAULT_CSS = "Screen { layout: vertical }"',
        'WORDS = "one two three".split()',
        'kind: Literal["one two"]',
    ],
)
def test_what_is_no_text_is_not_listed(source: str) -> None:
    assert WORDS["texts"](source) == []


# Words that are not used, and what is said instead.
ODD = {
    r"mend(s|ed|ing)?": "fix",
    r"(is|are|none is) not here|none is here": "not installed, not found",
    r"unasked": "without approval",
    r"wants|is wanted|are wanted": "needs, is expected",
    r"go(es)? on|went on": "continue, resume",
    r"heed(s|ed)?": "honoured",
    r"kept back|given to no": "hidden, exposed",
    r"loose ends?": "warnings",
    r"walls?": "sandbox",
    r"waits for you": "needs your input",
    r"shipped": "built in",
    r"standing rules?|grants": "rules",
    r"(by )?your own hand": "manually",
    r"by surface": "default",
    r"small letters": "lowercase",
    r"at its word": "not verified",
    r"round again": "cycle",
    r"a minute's tour": "1-minute tour",
    r"stands (twice|behind)": "appears twice, why",
    r"anew": "again",
    r"hung up": "closed the connection",
    r"ax[ie]s": "dials",
    r"deeds?|tape|levers?": "journal, dials",
    r"why asked": "Reason",
    r"fault of the tool": "internal error",
    r"nobody is attached": "nobody can approve",
    r"answered nothing": "empty reply",
    r"(takes?|taken) (it |this |one |that )?back|brings? (it |nothing )?back": "undo, restore, revoke",
    r"(is|are) gone": "no longer exists, has ended, was removed",
    r"as (it|they) (is|was|are|were)": "unchanged, default",
    r"broke off|cut short": "incomplete, stopped",
    r"by hand|unforeseen|afresh|put away|puts? aside": "yourself, unexpected, again, archive",
    r"would ask here|asks here": "needs approval",
    r"under way": "running, in progress",
    r"whose|beyond|hinders?": "that has, outside, what is wrong",
    r"is the most|are the most": "the limit is",
    r"it said last|what became of": "its last output, the outcome",
    r"where you sit|from elsewhere": "at the computer, from another place by its name",
    r"of (yours|theirs)|(is|are|longer) heard": "your, accepted",
    r"lies in|works at|stood there": "is in, is working on, was there",
    r"speaks? (https?|ACP|streamable)": "uses",
}
ALLOWED = {
    "domain/shell/programs.py": "names of programs: wall",
    "engine/cycle/cycle.py: goes on": "a reason in journals, which replay to the letter",
    "features/forge/pull_request.py": "as the forge's own page says it: ada wants to merge",
    "domain/journal/reasons.py: ; nobody is attached": "the end of a reason in the journals of earlier versions",
    "domain/permission/question.py: why asked": "a label that the journal of earlier versions has",
}


@pytest.mark.parametrize(("odd", "plain"), ODD.items(), ids=list(ODD.values()))
def test_one_word_for_one_thing(odd: str, plain: str) -> None:
    found = [
        line
        for line in LIST.splitlines()
        if re.search(rf"\b(?:{odd})\b", re.sub(r"\{\w+\}", "", line.partition(": ")[2]), re.I)
        and not line.startswith(tuple(ALLOWED))
    ]
    assert found == [], f"say: {plain}"


STARTS = ("tutorial", "tour", "approval", "faq", "privacy", "upgrade", "platforms", "install")
PAGES = [
    DOCS.parent / "README.md",
    *(DOCS / f"{name}.md" for name in STARTS),
    *DOCS.glob("howto/*.md"),
    *DOCS.glob("reference/*.md"),
]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_pages_for_users_use_the_same_words(page: Path) -> None:
    text = re.sub(r"`[A-Z_]+`", "", page.read_text())  # codes stay as they are
    odd = (
        r"(?i)\b(?:mend(?:s|ed|ing)?|unasked|heed(?:s|ed)?|loose ends?|waits for you|shipped|goes on|kept back"
        r"|anew|by hand|where you sit|all the same|nobody attached|is told|is attached|always here)\b"
    )
    assert re.findall(odd, text) == []


def test_every_exception_is_still_one() -> None:
    assert [one for one in ALLOWED if not any(line.startswith(one) for line in LIST.splitlines())] == []
