"""Pages are run as they are printed: each command of a block in turn, its output compared with what the page shows.

Ids, times, numbers of events and the folder differ from run to run and are compared as such; a line `…` stands for any.
"""

import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.surfaces.program import PROGRAM, env

ROOT = Path(__file__).parent.parent
MARK = "\x01"
DIFFER = (
    (r"\b(q5|run|rule|turn|plan)-[0-9a-z]{12,}", r"\1-ID"),
    (r"\bwhy \d+", "why N"),
    (r"\bevent +\d+ of", "event N of"),
    (r"^\d+\t", "N\t"),
    (r"\d{4}-\d\d-\d\d[ T][\d:.Z]+", "DATE"),
    (r" · [\d.]+ s\b", ""),
    (r"\bin [\d.]+s\b", "in T"),
    (r" +", " "),
)


def blocks(page: str, language: str) -> list[str]:
    text = (ROOT / page).read_text()
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.M | re.S)


def steps(block: str) -> Iterator[tuple[str, list[str]]]:
    """The commands of a block, and what it shows for each."""
    command, shown, open_ = "", [], False
    for line in block.splitlines():
        if open_ or line.startswith("$ "):
            if not open_ and command:
                yield command, shown
                shown = []
            command = f"{command}\n{line}" if open_ else line.removeprefix("$ ")
            open_ = line.endswith(("|", "\\"))
        elif command:
            shown.append(line)
    if command:
        yield command, shown


def same(text: str, root: Path) -> str:
    text = text.replace(str(root), "ROOT").replace("/tmp/invoicer", "ROOT").replace("/home/ada/shop", "ROOT")
    for pattern, word in DIFFER:
        text = re.sub(pattern, word, text, flags=re.M)
    return text.strip()


def fits(shown: list[str], printed: list[str], root: Path) -> bool:
    """Whether what was printed is what is shown, line by line."""
    wanted = [".*" if line.strip() == "…" else re.escape(same(line, root)) for line in shown]
    pattern = "\n".join(wanted).replace("\\…", ".*").replace("…", ".*")
    return re.fullmatch(pattern, "\n".join(same(line, root) for line in printed), re.S) is not None


class Reader:
    """Somebody who follows a page in a project of their own."""

    def __init__(self, folder: Path) -> None:
        self.root = folder / "invoicer"
        self.root.mkdir()
        (folder / "bin").mkdir()
        program = folder / "bin/quintet"
        program.write_text(f'#!/bin/sh\nexec {" ".join(PROGRAM)} "$@"\n')
        program.chmod(0o755)
        names = {
            f"GIT_{who}_{what}": "ada@example.org" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")
        }
        self.env = env({"PATH": f"{folder / 'bin'}:{os.environ['PATH']}", "NO_COLOR": "1", **names})

    def runs(self, line: str) -> str:
        done = subprocess.run(
            ["bash", "-c", line], cwd=self.root, env=self.env, capture_output=True, text=True, timeout=300
        )
        return done.stdout + done.stderr

    def follows(self, block: str) -> None:
        """Run a block's commands in one shell, and compare."""
        wanted = list(steps(block))
        script = "\n".join(f"printf '{MARK}\\n'\n{command}" for command, _ in wanted)
        printed = self.runs(f"exec 2>&1\n{script}").split(f"{MARK}\n")[1:]
        for (command, shown), out in zip(wanted, printed, strict=True):
            assert fits(shown, out.splitlines(), self.root), f"$ {command}\n{out}\n--- the page shows\n" + "\n".join(
                shown
            )


@pytest.fixture
def reader(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Reader:
    """In the project that the tutorial makes."""
    made = Reader(tmp_path)
    project = next(block for block in blocks("docs/tutorial.md", "sh") if "git init" in block)
    made.runs(project.replace("mkdir /tmp/invoicer && cd /tmp/invoicer && ", ""))
    return made


# What needs a model is not run here.
SCRIPTED = [
    block
    for block in blocks("docs/howto/script-it.md", "text")
    if "say what fails" not in block and "publish them" not in block
]


@pytest.mark.parametrize("block", SCRIPTED, ids=lambda block: block.splitlines()[0][:40])
def test_script_it(reader: Reader, block: str) -> None:
    if "sessions list --json" in block:
        for request in ("tidy this up", "find total", "git status"):
            reader.runs(f'quintet -p "{request}"')
    reader.follows(block)


@pytest.mark.parametrize("block", blocks("docs/tutorial.md", "text")[:1], ids=["look"])
def test_the_tutorial(reader: Reader, block: str) -> None:
    reader.follows(block)


def test_a_page_that_shows_something_else_is_found(reader: Reader) -> None:
    with pytest.raises(AssertionError):
        reader.follows('$ quintet -p "find with_tax"\nwith_tax: 4 places\n…\n')


def test_write_an_agent(reader: Reader) -> None:
    made, checked, routed = blocks("docs/howto/write-an-agent.md", "text")
    reader.follows(made)
    (page,) = blocks("docs/howto/write-an-agent.md", "yaml")
    folder = reader.root / ".quintet/agents"
    written = folder / "harbour-guide/harbour-guide.agent.yaml"
    assert written.exists()
    written.write_text(page)
    (folder / "guide.agent.yaml").write_text(page.replace("TO or fuzzy match on tour", "Tour"))
    reader.follows(checked)
    (folder / "guide.agent.yaml").unlink()
    reader.follows(routed)


def test_run_a_workflow(reader: Reader) -> None:
    reader.runs(blocks("docs/howto/run-a-workflow.md", "sh")[0])
    command, *shown = blocks("docs/howto/run-a-workflow.md", "text")[0].splitlines()
    typed = [line.removeprefix("› ") for line in shown if line.startswith("› ")]
    line = command.removeprefix("$ ").replace("quintet ", "quintet --plain ", 1)
    printed = same(reader.runs(f"printf '{typed[0]}\\n' | {line}"), reader.root).splitlines()
    seen = iter(printed)
    for wanted in (same(line, reader.root) for line in shown if not line.startswith("› ")):
        assert wanted in [one.strip() for one in printed], wanted
        assert any(wanted == one.strip() for one in seen), f"{wanted} is shown out of order"


def test_run_a_flow(reader: Reader) -> None:
    (reader.root / "changes.md").write_text(blocks("docs/howto/run-a-flow.md", "markdown")[0])
    reader.follows(blocks("docs/howto/run-a-flow.md", "text")[1])


def test_the_readme_says_what_permit_prints(reader: Reader) -> None:
    reader.follows(next(block for block in blocks("README.md", "text") if block.startswith("$ quintet permit")))
