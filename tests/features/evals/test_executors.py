"""AI CLIs as arms, by fakes that speak as the real ones do: what they leave is graded, and answers stay hidden."""

from pathlib import Path

import pytest

from tests.fake_clis.on_path import put_on_path
from tests.surfaces.program import Program

pytestmark = pytest.mark.system("bwrap")
CANARY = "canary-of-the-answers"
CLIS = ("codex", "claude", "gemini")


def test_ai_clis_are_graded_by_what_they_leave_and_find_no_answers(quintet: Program, tmp_path: Path) -> None:
    fakes = put_on_path(tmp_path / "bin")
    pages = tmp_path / "mine"
    pages.mkdir()
    check = f'[[checks]]\nfile = "a.txt"\ntext = "planted"\nlacks = ["{CANARY}"]\n'
    (pages / "writes.toml").write_text(f'request = "scene edit a.txt"\n{check}')
    (pages / "claims.toml").write_text(f'request = "scene claims"\n{check}')
    (pages / "looks.toml").write_text(f'request = "scene read {pages}/writes.toml {pages}/looks.toml"\n{check}')
    (pages / "logged-out.toml").write_text(f'request = "scene 401"\n{check}')
    arms = [word for name in CLIS for word in ("--executor", name)]
    words = ("eval", "run", str(pages), "--json", "--workers", "3")
    done = quintet.run(*words, *arms, "--task", "writes", PATH=fakes).clean(0).json()
    found = {one["arm"]: one for one in done["results"]}
    assert [found[name]["verdict"] for name in CLIS] == ["passed"] * 3
    assert found["claude"]["cost"] == 0.25 and found["codex"]["usage"]["output_tokens"] == 10
    told = quintet.run("eval", "show").clean(0).out.partition("PER TRIAL ")[2].splitlines()
    assert [row.split()[:3] for row in told[1:4]] == [[name, "-", "-"] for name in CLIS], told

    (pages / "commits.toml").write_text(
        f'commits = true\nrequest = "scene edit a.txt"\nsolution.run = ["echo planted > a.txt"]\n{check}'
    )
    done = (
        quintet.run(*words, "--executor", "codex", "--model", "script", "--task", "commits", PATH=fakes).clean(1).json()
    )
    assert [(one["task"], one["arm"]) for one in done["skipped"]] == [("commits", "codex")]
    assert ".git" in done["skipped"][0]["reason"] and [one["arm"] for one in done["results"]] == ["script"]

    tasks = [word for name in ("claims", "looks", "logged-out") for word in ("--task", name)]
    done = quintet.run(*words, *tasks, "--executor", "codex", PATH=fakes).clean(1).json()
    assert [one["verdict"] for one in done["results"]] == ["failed", "broken", "failed"]
    kept = Path(done["results"][2]["workspace"]).parent
    said = (kept / "answer.json").read_text()
    assert "No such file" in said and CANARY not in said + (kept / "trace.jsonl").read_text(), said


def test_an_ai_cli_that_is_not_installed_is_told_and_not_counted_as_failed(quintet: Program, tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine/x.toml").write_text('request = "x"\n[[checks]]\nfile = "a"\ntext = ""\n')
    quintet.settings('[executors.codex]\ncommand = "/nowhere/codex"\n')
    done = quintet.run("eval", "run", str(tmp_path / "mine"), "--executor", "codex", "--json").clean(1).json()
    assert [one["verdict"] for one in done["results"]] == ["broken"]
    assert "not on PATH" in done["results"][0]["reason"]
