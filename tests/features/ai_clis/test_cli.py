"""`quintet executors`: who can do the work here, with path and version, and what the others need."""

from pathlib import Path

import pytest

from tests.engine.cycles import NOTE
from tests.fake_clis.on_path import put_on_path
from tests.surfaces.program import Program

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
    missing = quintet.run("flow", NOTE, "--permission-profile", "trusted", "--planner", "codexx").clean(1)
    assert 'failed   codexx: "codexx" is no executor. Did you mean codex?' in missing.err
    assert missing.err.count("is no executor") == 1
    assert quintet.run("tasks", "--json").json() == []
