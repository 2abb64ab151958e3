"""`quintet eval`: the real program runs suites, keeps what came out, shows and compares it."""

import json
import re
from pathlib import Path

import pytest

from tests.surfaces.program import Program

pytestmark = pytest.mark.system("bwrap")
SUITE = {
    "write": 'kind = "files"\nrequest = "write a.txt"\nsolution.files."a.txt" = "tea"\n'
    '[[checks]]\nfile = "a.txt"\ntext = "tea"\n',
    "remove": 'kind = "files"\nrules = true\nrequest = "delete the file b.txt"\nfiles."b.txt" = "x"\n'
    'solution.run = ["rm b.txt"]\n[[checks]]\nfile = "b.txt"\ngone = true\n',
    "<b>name": 'kind = "<i>"\nneeds = ["no-such-program"]\nrequest = "y"\n[[checks]]\nfile = "c"\ngone = true\n',
}


@pytest.fixture
def suite(tmp_path: Path) -> str:
    for name, text in SUITE.items():
        (tmp_path / "mine").mkdir(exist_ok=True)
        (tmp_path / "mine" / f"{name}.toml").write_text(text)
    return str(tmp_path / "mine")


def table(out: str) -> list[str]:
    """What a run prints but for its id, times and places, and what a trial took."""
    lines = out.partition("\nPER TRIAL ")[0].splitlines()
    return [line for line in lines if not re.match(r"\d{8}-|page: |  kept: ", line)]


def test_the_same_seed_gives_the_same_table_with_any_number_of_workers(quintet: Program, suite: str) -> None:
    words = ("eval", "run", suite, "--task", "write", "--task", "remove")
    arms = ("--model", "script", "--model", "script:0.5", "--model", "builtin", "--seed", "5")
    first = quintet.run(*words, *arms, "--workers", "2").clean(0)
    again = quintet.run(*words, *arms, "--workers", "3").clean(0)
    assert table(first.out) == table(again.out)
    rows = {line.split()[0]: line.split()[1] for line in table(first.out)[1:4]}
    assert (rows["script"], rows["builtin"]) == ("2/2", "1/2")
    shown = quintet.run("eval", "show").clean(0).out
    took = {row.split()[0]: row.split()[1:] for row in shown.partition("PER TRIAL ")[2].splitlines()[1:4]}
    assert float(took["script"][0]) >= 2 and all(float(row[1].replace(",", "")) > 1000 for row in took.values())
    assert re.search(r"^remove +files +1/1 +[01]/1 +1/1$", shown, re.M) and re.search(r"^write .* 0/1$", shown, re.M)

    runs = quintet.run("eval", "list", "--runs", "--json").clean(0).json()
    assert [len(run["arms"]) for run in runs] == [3, 3]
    same = quintet.run("eval", "compare", runs[0]["run"], runs[1]["run"], "--json").clean(0).json()
    assert [one["difference"] for one in same] == [0.0, 0.0, 0.0]
    arms_of_one = quintet.run("eval", "compare", "latest").clean(0).out
    assert "script and builtin: no difference is shown\n" in arms_of_one and "  worse at write\n" in arms_of_one


def test_what_cannot_be_graded_is_told_and_the_page_holds_what_others_wrote_as_text(
    quintet: Program, suite: str
) -> None:
    done = quintet.run("eval", "run", suite, "--model", "script:0", "--json").clean(1).json()
    assert done["skipped"] == [
        {"task": "<b>name", "arm": "script:0", "reason": "it needs no-such-program, which is not installed"}
    ]
    assert [one["verdict"] for one in done["results"]] == ["failed", "failed"]
    assert all(Path(one["workspace"]).is_dir() for one in done["results"])
    page = Path(done["page"]).read_text()
    assert (
        "default-src 'none'" in page
        and "<svg" in page
        and "<script" not in page
        and "http" not in page.lower().replace("http-equiv", "")
    )
    assert "<b>" not in page and "&lt;b&gt;name" in page and "<i>" not in page
    assert quintet.run("eval", "run", suite, "--task", "write", "--model", "script:0", "--at-least", "0.5").code == 1


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (("run", "nothing"), 'no suite "nothing"'),
        (("run", "basics", "--trials", "-1"), "--trials -1: 1 or more"),
        (("run", "basics", "--workers", "99"), "expected 1 to 64"),
        (("run", "basics", "--model", "script", "--model", "script"), "script is named twice"),
        (("run", "basics", "--presentation", "flatt"), "Did you mean flat?"),
        (("show",), "there are no runs yet"),
        (("compare", "x"), "there are no runs yet"),
    ],
)
def test_what_cannot_be_done_is_said_before_anything_begins(quintet: Program, words: tuple[str, ...], why: str) -> None:
    done = quintet.run("eval", *words)
    assert done.code in (1, 2) and why in done.err and "Traceback" not in done.err


def test_the_tasks_of_a_suite_are_listed(quintet: Program, suite: str) -> None:
    rows = quintet.run("eval", "list", suite, "--json").clean(0).json()
    assert {row["task"]: row["offline"] for row in rows} == {"<b>name": False, "remove": True, "write": False}
    assert quintet.run("eval", "list").clean(0).out.splitlines()[1].split()[:3] == ["basics", "30", "6"]
    assert json.loads(quintet.run("eval", "list", "--runs", "--json").clean(0).out) == []
