"""`quintet executors`: who can do the work here, with path and version, and what the others need."""

from pathlib import Path

import pytest

from tests.engine.cycles import NOTE
from tests.fake_clis.on_path import put_on_path
from tests.surfaces.program import Program

IMPLEMENT = "/implement --autonomous --permission-profile trusted"
SETTINGS = """
[executors.mine]
command = "agent --acp"
[executors.gone]
command = "no-such-agent"
[executors.gemini]
command = "/nowhere/gemini"
"""


@pytest.fixture(autouse=True)
def fakes(private: None, tmp_path: Path) -> str:
    return put_on_path(tmp_path / "bin")


def test_each_executor_is_listed_with_its_path_its_version_or_what_is_missing(
    quintet: Program, tmp_path: Path, fakes: str
) -> None:
    quintet.settings(SETTINGS)
    rows = {row["name"]: row for row in quintet.run("executors", "--json", PATH=fakes).clean(0).json()}
    assert list(rows) == ["native", "codex", "claude", "gemini", "mine", "gone"]
    assert [name for name, row in rows.items() if row["available"]] == ["native", "codex", "claude", "mine"]
    assert (rows["codex"]["path"], rows["codex"]["version"]) == (str(tmp_path / "bin" / "codex"), "9.8.7")
    assert rows["mine"]["path"] == str(tmp_path / "bin" / "agent")
    assert "npm install -g @google/gemini-cli" in rows["gemini"]["problem"]
    assert "executors.NAME.command" in rows["gone"]["problem"]

    shown = quintet.run("executors", PATH=fakes).clean(0).out.splitlines()
    assert shown[0].split() == ["NAME", "VERSION", "SPEAKS", "PROGRAM"]
    at = shown[0].index("PROGRAM")
    assert {line[at - 1] for line in shown[1:7]} == {" "}  # aligned
    assert any("/nowhere/gemini is not on PATH" in line for line in shown)


def test_an_agent_of_yours_without_a_command_is_an_error_that_names_it(quintet: Program, fakes: str) -> None:
    quintet.settings("[executors.bad]\nmodel = 'x'\n")
    assert "executors.bad has no command" in quintet.run("executors", PATH=fakes).clean(2).err


def test_an_executor_that_is_not_there_is_said_with_the_nearest_and_nothing_begins(quintet: Program) -> None:
    missing = quintet.run("flow", NOTE, "--permission-profile", "trusted", "--planner", "codexx").clean(2)
    assert '"codexx" is not an executor. Did you mean codex?' in missing.err
    assert missing.err.count("is not an executor") == 1
    assert quintet.run("tasks", "list", "--json").json() == []


@pytest.mark.system("bwrap")
@pytest.mark.parametrize(
    ("scene", "words"),
    [
        ("nothing", "I looked around."),
        ("asks", "Which file do you mean?"),
        ("claims", "DONE. Everything is written, and all tests pass."),
    ],
)
@pytest.mark.parametrize("verifier", ["native", "codex"])
def test_s4_an_ai_cli_that_does_nothing_asks_back_or_claims_success_is_never_done_and_its_words_are_shown(
    quintet: Program, fakes: str, scene: str, words: str, verifier: str
) -> None:
    (quintet.root / "t.md").write_text(f"---\nid: t\ntitle: write NEWS.md\n---\nscene {scene}\n")
    quintet.run("tasks", "add", "t.md").clean(0)
    quintet.settings(f'[cycle]\nexecutor = "codex"\nverifier = "{verifier}"\n')
    done = quintet.run("-p", IMPLEMENT, PATH=fakes).clean(3)
    assert "not verified" in done.err and words in done.err
    assert quintet.run("tasks", "list", "--json").json()[0]["status"] == "reviewing"


@pytest.mark.system("bwrap")
def test_s3_a_task_that_changes_nothing_is_read_only_to_an_ai_cli(quintet: Program, fakes: str) -> None:
    target = quintet.root / "planted.txt"
    (quintet.root / "t.md").write_text(f"---\nid: t\ntitle: look\nmutation: none\n---\nscene write {target}\n")
    quintet.run("tasks", "add", "t.md").clean(0)
    quintet.settings('[cycle]\nexecutor = "codex"\n')
    done = quintet.run("-p", IMPLEMENT, PATH=fakes)
    assert f"write {target}" in done.err and not target.exists()
