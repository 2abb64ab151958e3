"""Pages as they are printed: each command of a block is run in turn, its output compared with what the page shows.

Ids, days, times, numbers of events and the folder differ from run to run and are compared as such; a line `…` stands
for any.
"""

import os
import re
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pexpect

from tests.surfaces.forked import forks
from tests.surfaces.program import WAIT, env

ROOT = Path(__file__).parent.parent
MARK = "\x01"
DIFFER = (
    (r"\b(q5|run|rule|turn|plan)-[0-9a-z]{12,}", r"\1-ID"),
    (r"\bwhy \d+", "why N"),
    (r"\bevent +\d+ of", "event N of"),
    (r"^\d+\t", "N\t"),
    (r"(\b(Mon|Tue|Wed|Thu|Fri|Sat|Sun) )?\d{4}-\d\d-\d\d[ T][\d:.Z]+", "DATE"),
    (r"\b\d{4}-\d\d-\d\d\b", "DAY"),
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
        forks().put_program(folder / "bin/quintet")
        names = {
            f"GIT_{who}_{what}": "ada@example.org" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")
        }
        self.config = Path(os.environ["XDG_CONFIG_HOME"], "quintet")
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

    def sets(self, text: str) -> None:
        """Write the user's own settings file."""
        self.config.mkdir(parents=True, exist_ok=True)
        (self.config / "settings.toml").write_text(text)

    def opens(self, command: str) -> "pexpect.spawn[str]":
        """A command at a terminal of its own."""
        return pexpect.spawn(
            "bash",
            ["-c", command],
            cwd=str(self.root),
            env={**self.env, "TERM": "xterm"},
            encoding="utf-8",
            timeout=WAIT,
            echo=False,
            dimensions=(50, 250),
        )

    def waits(self) -> None:
        """As long as a person does before an answer; what comes with a line is taken for a part of it."""
        time.sleep(0.6)

    def says(self, block: str) -> None:
        """Say each line that a block shows as typed (`› …`) in the session written last, and compare."""
        self.follows(re.sub(r"^› (.*)$", r"$ quintet -p '\1' --resume", block, flags=re.M))

    def at_a_terminal(self, command: str, *blocks: str) -> None:
        """Type what blocks show as typed (`› …`, and answers of one letter), and compare what is printed with them."""
        child = self.opens(command)
        shown: list[str] = []
        heard = ""

        def waits_for(words: str) -> None:
            nonlocal heard
            child.expect_exact(words)
            heard += f"{child.before}{words}"

        try:
            for line in "\n".join(blocks).splitlines():
                if line.startswith("› "):
                    waits_for("› ")
                elif re.fullmatch("[a-z]", line):
                    waits_for(shown[-1].strip())
                    self.waits()
                    heard += "\n"
                elif not line.startswith("$ "):
                    shown.append(line)
                    continue
                else:
                    continue
                child.sendline(line.removeprefix("› "))
            waits_for("› ")
        finally:
            child.close(force=True)
        heard = re.sub("\x1b][^\x07]*\x07|\r", "", heard)  # titles of the window
        printed = [line.removeprefix("› ") for line in heard.split("\n")]
        kept = [line for line in printed if line.strip() not in ("", "›")]
        wanted = [line.replace("[…]", "…") for line in shown if line.strip()]
        assert fits(wanted, kept, self.root), "\n".join(kept) + "\n--- the page shows\n" + "\n".join(wanted)


def in_the_tutorials_project(folder: Path) -> Reader:
    made = Reader(folder)
    project = next(block for block in blocks("docs/tutorial.md", "sh") if "git init" in block)
    made.runs(project.replace("mkdir /tmp/invoicer && cd /tmp/invoicer && ", ""))
    return made
