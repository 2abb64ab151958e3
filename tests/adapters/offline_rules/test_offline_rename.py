"""Renaming a Python symbol: every place that means it and no other, or a refusal that names the places."""

import asyncio
from pathlib import Path

import pytest
from msgspec import structs

from quintet.adapters.offline_rules.edits import line_change
from quintet.adapters.offline_rules.intents import Rename
from quintet.adapters.offline_rules.python_source import ParsedSource
from quintet.adapters.offline_rules.rename import RenamePlan, plan_rename
from quintet.app.open import open_session
from quintet.domain.dials.axes import RunControl
from quintet.domain.journal import protocol as p
from tests.adapters.offline_running import CHAT, NORMAL, calls, contents, run
from tests.engine.driving import Driver

OLD_TO_NEW = Rename("old", "new")


def planned(files: dict[str, str], intent: Rename = OLD_TO_NEW) -> RenamePlan:
    """The plan for a project of these files."""
    sources = {path: ParsedSource(path, text, intent.old) for path, text in files.items() if intent.old in text}
    located: dict[str, list[str]] = {}
    while True:
        plan = plan_rename(intent, sources, located)
        wanted = plan.wanted_files - set(sources)
        if not plan.wanted_stems and not wanted:
            return plan
        for stem in plan.wanted_stems:
            ends = [f"/{stem.removeprefix('**').strip('/')}{end}" for end in (".py", "/__init__.py")]
            located[stem] = [
                path
                for path in files
                if any(f"/{path}" == e if stem[0] == "/" else f"/{path}".endswith(e) for e in ends)
            ]
        sources |= {path: ParsedSource(path, files[path], intent.old) for path in wanted}


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("def old(): ...\nold()\n", "def new(): ...\nnew()\n"),
        ("async def old(): ...\n", "async def new(): ...\n"),
        ("@old_one\ndef old(): ...\n", "@old_one\ndef new(): ...\n"),
        ("class old: ...\nx: old = old()\n", "class new: ...\nx: new = new()\n"),
        ("old = 1\nprint(old + 1)\n", "new = 1\nprint(new + 1)\n"),
        ("old: int = 1\nold += 1\n", "new: int = 1\nnew += 1\n"),
        ("def old(): ...\ndef f(g=old): return old\n", "def new(): ...\ndef f(g=new): return new\n"),
        # another thing of the same name
        ("def old(): ...\ndef f(old): return old\n", "def new(): ...\ndef f(old): return old\n"),
        (
            "def old(): ...\ndef f():\n    old = 1\n    return old\n",
            "def new(): ...\ndef f():\n    old = 1\n    return old\n",
        ),
        ("def old(): ...\nf(old=old)\n", "def new(): ...\nf(old=new)\n"),
        ("def old(): ...\nx = [old for old in y]\n", "def new(): ...\nx = [old for old in y]\n"),
        ("def old(): ...\nx = [a for a in old()]\n", "def new(): ...\nx = [a for a in new()]\n"),
        ("def old(): ...\nx = lambda old: old\n", "def new(): ...\nx = lambda old: old\n"),
        ("import os\ndef old(): ...\nos.old()\n", "import os\ndef new(): ...\nos.old()\n"),
        ("def old(): ...\n'text'.old\n", "def new(): ...\n'text'.old\n"),
        ("def old(): ...\ntry: ...\nexcept E: old()\n", "def new(): ...\ntry: ...\nexcept E: new()\n"),
        # scopes
        ("old = 1\ndef f():\n    global old\n    old = 2\n", "new = 1\ndef f():\n    global new\n    new = 2\n"),
        ("def old(): ...\ndef f():\n    def g(): return old\n", "def new(): ...\ndef f():\n    def g(): return new\n"),
        ("def old(): ...\nclass C:\n    x = old\n", "def new(): ...\nclass C:\n    x = new\n"),
        ("def old(): ...\ndel old\n", "def new(): ...\ndel new\n"),
        (
            "class C:\n    @property\n    def old(self): ...\n    @old.setter\n    def old(self, to): ...\n",
            "class C:\n    @property\n    def new(self): ...\n    @new.setter\n    def new(self, to): ...\n",
        ),
        # strings and comments stay; the fields of an f-string and __all__ are code
        ("def old(): ...  # old\n", "def new(): ...  # old\n"),
        ('def old():\n    """old"""\n    return "old"\n', 'def new():\n    """old"""\n    return "old"\n'),
        (
            'def old(): ...\nf"old {old()} {{old}} {x!r:>{old}}"\n',
            'def new(): ...\nf"old {new()} {{old}} {x!r:>{new}}"\n',
        ),
        ('def old(): ...\n"old" f"{old}" "old {old}"\n', 'def new(): ...\n"old" f"{new}" "old {old}"\n'),
        ('def old(): ...\nf"""\n{\nold}"""\n', 'def new(): ...\nf"""\n{\nnew}"""\n'),
        ('__all__ = ["old", "x"]\ndef old(): ...\n', '__all__ = ["new", "x"]\ndef new(): ...\n'),
        # odd layout
        ("def  old (\n): ...\nx = é.y, old\n", "def  new (\n): ...\nx = é.y, new\n"),
        ("def older(): ...\nold = older\n", "def older(): ...\nnew = older\n"),
        ("if a:\n    def old(): ...\nelse:\n    old = None\n", "if a:\n    def new(): ...\nelse:\n    new = None\n"),
    ],
)
def test_in_one_file_every_place_that_means_it_changes_and_no_other(before: str, after: str) -> None:
    plan = planned({"m.py": before})
    assert (plan.refusal, plan.texts) == ("", {"m.py": after})


M = "def old(): ...\n"


@pytest.mark.parametrize(
    ("files", "changed"),
    [
        ({"a.py": "from m import old\nold()\n"}, {"a.py": "from m import new\nnew()\n"}),
        ({"a.py": "from m import old as o\no()\n"}, {"a.py": "from m import new as o\no()\n"}),
        ({"a.py": "import m\nm.old()\n"}, {"a.py": "import m\nm.new()\n"}),
        ({"a.py": "import m as n\nn.old()\n"}, {"a.py": "import m as n\nn.new()\n"}),
        ({"a.py": "def f():\n  from m import old\n  old()\n"}, {"a.py": "def f():\n  from m import new\n  new()\n"}),
        ({"a.py": "from m import *\nold()\n"}, {"a.py": "from m import *\nnew()\n"}),
        ({"a.py": "from m import x\nold = 1\n", "b.py": "from other import old\nold()\n"}, None),
        ({"b.py": "from other import old\nold()\n"}, {}),
        ({"b.py": "import json\njson.old()\n", "pkg/json.py": "x = 1\n"}, {}),
        # a package that passes it on
        ({"p/__init__.py": "from m import old\n", "a.py": "import p\np.old()\n"},
         {"p/__init__.py": "from m import new\n", "a.py": "import p\np.new()\n"}),
        ({"p/__init__.py": "from m import *\n", "a.py": "from p import old\nold()\n"},
         {"a.py": "from p import new\nnew()\n"}),
        ({"p/__init__.py": "import m as inner\n", "a.py": "import p\np.inner.old()\n"},
         {"a.py": "import p\np.inner.new()\n"}),
        # what is plainly no module
        ({"a.py": "class C:\n    def f(self): return self.old\n"}, {}),
        ({"a.py": "x = dict()\nx.old\n"}, {}),
        ({"a.py": "from os import path\npath.old\n"}, {}),
    ],
)  # fmt: skip
def test_other_files_follow_by_what_they_import(files: dict[str, str], changed: dict[str, str] | None) -> None:
    plan = planned({"m.py": M, **files})
    if changed is None:
        assert (
            "old is defined in 2 places\n  m.py:1: function old: def old(): ...\n  a.py:2: variable old" in plan.refusal
        )
    else:
        assert (plan.refusal, plan.texts) == ("", {"m.py": "def new(): ...\n", **changed})


def test_packages_are_followed_through_relative_and_dotted_imports_and_src() -> None:
    plan = planned(
        {
            "src/p/__init__.py": "from .core import old\n",
            "src/p/core.py": M,
            "src/p/sub/use.py": "from ..core import old\nfrom .. import core\ncore.old(old)\n",
            "tests/test_p.py": "import p.core\nimport p\np.core.old()\np.old()\n",
        }
    )
    assert plan.refusal == ""
    assert plan.texts == {
        "src/p/__init__.py": "from .core import new\n",
        "src/p/core.py": "def new(): ...\n",
        "src/p/sub/use.py": "from ..core import new\nfrom .. import core\ncore.new(new)\n",
        "tests/test_p.py": "import p.core\nimport p\np.core.new()\np.new()\n",
    }


BOX = "class Box:\n    def old(self): return self.old\n"


@pytest.mark.parametrize(
    ("more", "after"),
    [
        ("Box().old()\n", "Box().new()\n"),
        ("b = Box()\nb.old()\n", "b = Box()\nb.new()\n"),
        ("def f(b: Box): b.old()\n", "def f(b: Box): b.new()\n"),
        ("Box.old(1)\n", "Box.new(1)\n"),
        ("class Sub(Box):\n    def old(self): super().old()\n", "class Sub(Box):\n    def new(self): super().new()\n"),
        ("class Sub(Box):\n    def f(self): self.old()\n", "class Sub(Box):\n    def f(self): self.new()\n"),
        ("class Rest:\n    def f(self): self.old()\n", "class Rest:\n    def f(self): self.old()\n"),
        ("old = 1\n", None),
        ("def f(b): b.old()\n", None),
        ("for b in boxes: b.old()\n", None),
    ],
)
def test_a_method_is_renamed_where_its_class_is_plain_and_refused_where_it_is_not(more: str, after: str | None) -> None:
    plan = planned({"m.py": BOX + more})
    if after is None:
        assert plan.refusal.startswith("Nothing renamed")
        assert "m.py:3" in plan.refusal
    else:
        assert (plan.refusal, plan.texts) == ("", {"m.py": BOX.replace("old", "new") + after})


@pytest.mark.parametrize(
    ("files", "intent", "why"),
    [
        ({"a.py": M, "b.py": M}, OLD_TO_NEW, "defined in 2 places\n  a.py:1: function old: def old(): ...\n  b.py:1"),
        ({"a.py": M + "def f(x): x.old()\n"}, OLD_TO_NEW, "may not refer to the function in a.py:1\n  a"),
        ({"a.py": M, "c.py": "from .gone import old\n"}, OLD_TO_NEW, "c.py:1: from .gone import old"),
        ({"a.py": "try:\n  from m import old\nexcept E:\n  def old(): ...\n", "m.py": M}, OLD_TO_NEW, "in 2 places"),
        ({"a.py": "def f(old): return old\n"}, OLD_TO_NEW, "defines no function, class, method or module variable old"),
        ({"a.py": "def old(:\n"}, OLD_TO_NEW, "a.py does not compile"),
        ({"a.py": M + "new = 1\n"}, OLD_TO_NEW, "new is already used there\n  a.py:2: new = 1"),
        ({"a.py": M + "def f(new): return old\n"}, OLD_TO_NEW, "new is already used there\n  a.py:2"),
        ({"a.py": "class C:\n    old = 1\n"}, OLD_TO_NEW, "old is an attribute"),
        ({"a.py": "class C:\n    def __len__(self): ...\n"}, Rename("__len__", "size"), "Python itself uses"),
        ({"a.py": "import x\nclass C(x.Base):\n    def old(self): ...\n"}, OLD_TO_NEW, "C in a.py has a base class"),
        ({"a.py": "class C(dict):\n    def keys(self): ...\n"}, Rename("keys", "names"), "keys is a method of dict"),
        ({"a.py": BOX + "    def new(self): ...\n"}, OLD_TO_NEW, "new is already used there\n  a.py:3"),
        ({"a.py": M}, Rename("old", "new", kind="class"), "defines no class old. There is:\n  a.py:1: function old"),
        ({"a.py": M + 'f"{old(old=1)}"\n'}, OLD_TO_NEW, "a.py:2"),
        ({"a.py": M + "class C:\n    x = old()\n    def old(self): ...\n"}, Rename("old", "new", "function"), "a.py:3"),
        ({"a.py": M + "class C:\n    old = old\n"}, Rename("old", "new", "function"), "a.py:3: old = old"),
    ],
)  # fmt: skip
def test_what_is_not_sure_is_refused_with_its_places(files: dict[str, str], intent: Rename, why: str) -> None:
    plan = planned(files, intent)
    assert why in plan.refusal
    assert plan.texts == {}


@pytest.mark.parametrize(
    "intent",
    [Rename("old", "new", kind="function"), Rename("old", "new", where="a.py"), Rename("old", "new", "method", "Box")],
)
def test_saying_which_one_lifts_an_ambiguity(intent: Rename) -> None:
    files = {"a.py": M + "old()\n", "m.py": BOX + "Box().old()\n"}
    assert "defined in 2 places" in planned(files).refusal
    plan = planned(files, intent)
    name = "m.py" if intent.owner else "a.py"
    assert (plan.refusal, plan.texts) == ("", {name: files[name].replace("old", "new")})


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("a\nx\nb\nx\nc", "a\nx\nb\ny\nc"),
        ("x\nx\nx\nx", "x\ny\nx\nx"),
        ("x\n" * 20, "x\n" * 5 + "y\n" + "x\n" * 10 + "y\n" + "x\n" * 3),
        ("a", "b"),
        ("one two", "one"),
        ("y\nx", "y\ny"),
    ],
)
def test_edits_make_a_change_and_take_it_back_exactly(before: str, after: str) -> None:
    change = line_change("a", before, after)
    text = before
    for call in (*change.edits, *change.undo):
        old, new = call.arguments["old_string"], call.arguments["new_string"]
        assert text.count(old) == 1
        text = text.replace(old, new)
        if call is change.edits[-1]:
            assert text == after
    assert text == before


# ── end to end, in a repository


def test_a_rename_across_code_and_tests_is_proved_by_the_tests_and_lists_what_it_left(repo: Path) -> None:
    (repo / "README.md").write_text("Count words with `words`.\n")
    before = contents(repo)
    ended, events = run(repo, "rename words to tokens")
    assert ended.status == "done", ended.answer
    after = contents(repo)
    assert after["tally/count.py"].decode() == before["tally/count.py"].decode().replace("def words", "def tokens")
    test = before["tests/test_count.py"].decode()
    assert after["tests/test_count.py"].decode() == test.replace("import words", "import tokens").replace(
        "words(", "tokens("
    )
    assert after["README.md"] == before["README.md"]
    assert "Renamed function words to tokens: 4 places in 2 files" in ended.answer
    assert "README.md:1:Count words with `words`." in ended.answer
    assert 'tally/count.py:2: """How many words `text` has."""' in ended.answer
    assert "tests pass: python3 -m unittest discover -s tests (OK)" in ended.answer
    assert len(calls(events, "bash")) == 1


def test_line_ends_and_odd_bytes_elsewhere_in_a_file_survive_a_rename(repo: Path) -> None:
    (repo / "tally/count.py").write_bytes("def words(text):\r\n    é = text\r\n    return len(é.split())\r\n".encode())
    ended, _ = run(repo, "rename words to tokens")
    assert ended.status == "done", ended.answer
    wanted = "def tokens(text):\r\n    é = text\r\n    return len(é.split())\r\n"
    assert (repo / "tally/count.py").read_bytes() == wanted.encode()


@pytest.mark.parametrize("then", ["", " and then run the tests", "; run the tests"])
def test_a_rename_that_the_tests_refute_is_rolled_back(repo: Path, then: str) -> None:
    test = repo / "tests/test_count.py"
    test.write_text(test.read_text().replace("import unittest\n", "import unittest\n\nfrom tally import count\n"))
    with test.open("a") as file:
        file.write('\n    def test_by_name(self) -> None:\n        self.assertEqual(getattr(count, "words")("a"), 1)\n')
    before = contents(repo)
    ended, _ = run(repo, f"rename words to tokens{then}")
    assert (ended.status, ended.delivery) == ("done", "NEEDS_WORK")
    assert "AttributeError" in ended.answer
    assert "Rolled back: nothing is changed." in ended.answer
    assert contents(repo) == before


def test_an_ambiguous_rename_changes_nothing_and_names_the_places(repo: Path) -> None:
    (repo / "tally/more.py").write_text("def words() -> None: ...\n")
    before = contents(repo)
    ended, events = run(repo, "rename words to tokens and then run the tests")
    assert ended.status == "blocked"
    assert "tally/count.py:1: function words" in ended.answer
    assert "tally/more.py:1: function words" in ended.answer
    assert contents(repo) == before
    assert calls(events, "Edit") == calls(events, "bash") == []


def test_a_rename_where_tests_would_ask_is_made_and_says_what_was_not_verified(repo: Path) -> None:
    ended, _ = run(repo, "rename words to tokens", NORMAL)
    assert ended.status == "done"
    assert "Python files compile\nnot verified  by tests: running them needs approval here" in ended.answer
    assert "def tokens" in (repo / "tally/count.py").read_text()


@pytest.mark.parametrize(("choice", "status", "def_is"), [("y", "done", "def tokens"), ("n", "blocked", "def words")])
def test_a_person_is_asked_once_about_all_places_of_a_rename(repo: Path, choice: str, status: str, def_is: str) -> None:
    asked: list[p.QuestionAsked] = []

    def answer(question: p.QuestionAsked) -> str:
        asked.append(question)
        return choice

    before = contents(repo)
    ended, _ = run(repo, "rename words to tokens", CHAT, answer)
    assert ended.status == status
    assert [set(question.detail) >= {"tally/count.py", "tests/test_count.py"} for question in asked] == [True]
    assert def_is in (repo / "tally/count.py").read_text()
    assert (contents(repo) == before) == (choice == "n")


@pytest.mark.parametrize("manual", [False, True], ids=["assisted", "manual"])
def test_a_rename_that_was_interrupted_at_its_question_asks_it_again_on_resume(repo: Path, manual: bool) -> None:
    axes = structs.replace(CHAT, run_control=RunControl.MANUAL) if manual else CHAT

    async def turn() -> None:
        async with open_session(str(repo), axes=axes, person=True) as session:
            driver = Driver(session)
            await session.say("rename words to tokens")
            asked = await _asked_about_edits(driver)
            await session.submit(p.Interrupt())
            assert (await driver.until_type(p.TurnFinished)).status == "interrupted"
            await session.say("/resume")
            again = await _asked_about_edits(driver)
            assert (again.text, again.detail) == (asked.text, asked.detail)
            await session.submit(p.Answer(question=again.question, choice="y"))
            while (ended := await driver.until(_of_interest)) and isinstance(ended, p.QuestionAsked):
                await session.submit(p.Answer(question=ended.question, choice="y"))
            assert isinstance(ended, p.TurnFinished)
            assert ended.status == "done", ended

    asyncio.run(turn())
    assert "def tokens" in (repo / "tally/count.py").read_text()


async def _asked_about_edits(driver: Driver) -> p.QuestionAsked:
    """The question about the edits; what is asked before it is answered with yes."""
    while True:
        asked = await driver.until_type(p.QuestionAsked)
        if "tally/count.py" in asked.detail:
            return asked
        await driver.session.submit(p.Answer(question=asked.question, choice="y"))


def _of_interest(event: p.Event) -> bool:
    return isinstance(event, p.QuestionAsked | p.TurnFinished)
