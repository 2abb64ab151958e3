"""`quintet eval new`: a commit with its tests becomes a task, which is tried before it is kept."""

import subprocess
from pathlib import Path

import pytest

from quintet.domain.evals.commits import is_test, lines_of, name_of, request_of
from quintet.features.evals.tasks import find_suite
from tests.surfaces.program import Program

TEST = """
import unittest

from shop import prices


class T(unittest.TestCase):
    def test_{0}(self):
        self.assertEqual(prices.{0}(2), 4)
"""


def commit(root: Path, message: str, **files: str) -> None:
    for name, text in files.items():
        path = root / name.replace("__", "/").replace("_py", ".py")
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    for words in (("add", "-A"), ("commit", "-qm", message)):
        subprocess.run(["git", *words], cwd=root, check=True, timeout=60)


@pytest.mark.system("bwrap")
def test_a_commit_becomes_a_task_that_is_failed_without_work_and_passed_with_it(quintet: Program) -> None:
    root = quintet.root
    (root / "shop").mkdir()
    (root / "shop/__init__.py").write_text("")
    commit(root, "Begin", shop__prices_py="def one(x):\n    return x\n")
    commit(
        root,
        "Add twice() (#12)\n\nTwice the price.\n\nSigned-off-by: Ada <ada@example.org>\n",
        shop__prices_py="def twice(x):\n    return 2 * x\n",
        tests__test_twice_py=TEST.format("twice"),
    )
    commit(root, "Test it again", tests__test_again_py=TEST.format("twice"))
    commit(
        root,
        "Add a comment",
        shop__prices_py="# twice\ndef twice(x):\n    return 2 * x\n",
        tests__test_more_py=TEST.format("twice"),
    )
    line = "python3 -m unittest discover -q -s tests -t ."
    made = quintet.run("eval", "new", "--last", "2", "--run", line, "--json").clean(1).json()
    (one,) = made["made"]
    assert one["task"].startswith("add-twice-") and "AttributeError" in one["fails_before"]
    assert "passes already" in made["failed"][0]["reason"]
    (task,) = find_suite(made["suite"]).tasks
    assert task.page.request == "Add twice()\n\nTwice the price."
    assert (Path(task.file).parent / "work/shop/prices.py").read_text() == "def one(x):\n    return x\n"
    assert [path.name for path in Path(task.file).parent.glob("hidden/tests/*")] == ["test_twice.py"]

    for words, why in (
        (("HEAD~1",), "changes nothing but tests"),
        (("no-such",), "no such commit"),
        (("HEAD~2",), "is there already"),
        ((), "name a commit"),
        (("HEAD", "--suite", "basics"), "cannot be the name"),
    ):
        refused = quintet.run("eval", "new", *words, *(("--run", line) if words == ("HEAD~2",) else ()))
        assert refused.code in (1, 2) and why in refused.err, refused
    assert list((Path(task.file).parents[3] / "making").iterdir()) == []  # nothing is left of what was tried
    tried = quintet.run("eval", "run", made["suite"], "--model", "builtin", "--model", "script", "--json")
    found = {one["arm"]: one["verdict"] for one in tried.clean(0).json()["results"]}
    assert found == {"builtin": "failed", "script": "passed"}, "script does what the commit did"


def test_where_no_task_can_be_made_no_suite_is(quintet: Program) -> None:
    commit(quintet.root, "Only tests", tests__test_once_py=TEST.format("twice"))
    assert "changes nothing but tests" in quintet.run("eval", "new", "HEAD").clean(1).err
    assert [suite["suite"] for suite in quintet.run("eval", "list", "--json").clean(0).json()] == ["basics"]


def test_tests_are_told_by_their_names_and_get_the_line_that_runs_them() -> None:
    tests = ["tests/test_a.py", "pkg/b_test.go", "src/x.test.js", "__tests__/y.js", "spec/z.rb", "tests/conftest.py"]
    code = ["src/latest.py", "contest.py", "docs/testing.md", "attest/a.py", "protest.js"]
    assert [path for path in [*tests, *code] if is_test(path)] == tests
    assert lines_of(["tests/test_a.py", "tests/conftest.py"], ["src/a.py"]) == [
        "PYTHONPATH=src:. python3 -m pytest -q tests/test_a.py",
        "PYTHONPATH=src:. python3 -m unittest -q tests.test_a",
    ]
    assert lines_of(["a.test.js"], []) == ["node --test a.test.js"]
    assert lines_of(["x/a_test.go", "x/b_test.go"], []) == ["go test ./x"]
    assert lines_of(["a.test.js", "test_b.py"], []) == lines_of([], []) == []


@pytest.mark.parametrize(
    ("message", "request_text"),
    [
        ("Fix it (#9)\n", "Fix it"),
        ("Fix it\n\nSo.\n\nCo-authored-by: A <a@b>\nFixes #3\n", "Fix it\n\nSo."),
        ("\n", ""),
    ],
)
def test_a_message_becomes_a_request_without_its_trailers(message: str, request_text: str) -> None:
    assert request_of(message) == request_text
    assert name_of("Fix: the Parser's (odd) bug in CSV files", "abcdef123") == "fix-the-parser-s-odd-abcdef1"
