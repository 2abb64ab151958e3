"""A protected file that is replaced on this machine while a command runs: its cover falls off, and that is told.

Quintet's own writing does not take it off.
"""

import asyncio
import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from quintet.adapters.files.project_files import ProjectFiles
from quintet.adapters.processes.processes import LocalProcesses
from quintet.domain.base.errors import ToolFailed
from quintet.domain.permission.effects import Effect, Grant
from quintet.domain.permission.gate import Sandbox
from quintet.domain.ports.ports import Finished
from tests.attacks.world import put
from tests.tools.calling import Caller

pytestmark = pytest.mark.system("bwrap")
WAITS = """
import os, sys
open("started", "w").close()
while not os.path.exists("go"):
    pass
for name in sys.argv[1:]:
    try: print(open(name).read())
    except OSError as error: print(name, error)
    try:
        with open(name, "a") as file: file.write("PLANTED")
        print("WROTE", name)
    except OSError as error: print(name, error)
"""


def save(path: Path, text: str) -> None:
    """As editors do."""
    put(path.with_name("saving~"), text)
    os.replace(path.with_name("saving~"), path)


def meanwhile(root: Path, does: Callable[[], object], *names: str, effect: Effect = Effect.EXECUTE) -> list[Finished]:
    """A command that runs while something is done here, and one that begins after that."""
    script = put(root / "t.py", WAITS)
    grant = Grant((effect,), (str(root),))

    async def run() -> list[Finished]:
        processes = LocalProcesses(Caller(root, Sandbox.BWRAP).containment)
        words = ("/usr/bin/python3", str(script), *names)
        first = asyncio.create_task(processes.run(words, cwd=str(root), grant=grant, timeout=60))
        try:
            while not (root / "started").exists():
                await asyncio.sleep(0.01)
                assert not first.done(), first.result()
            does()
            try:
                second = await processes.run(("/bin/true",), cwd=str(root), grant=grant, timeout=60)
            except ToolFailed:  # not to be found any more: one command is not run because of that
                second = await processes.run(("/bin/true",), cwd=str(root), grant=grant, timeout=60)
            put(root / "go", "")
            return [await first, second]
        finally:
            await processes.close()

    return asyncio.run(run())


def test_what_an_editor_saved_meanwhile_is_named_with_what_the_command_could_do(repo: Path) -> None:
    envrc, secret = put(repo / ".envrc", "use nix\n"), put(repo / "conf/.env", "A=old\n")

    def does() -> None:
        save(envrc, "use flake\n")
        save(secret, "A=new\n")

    first, second = meanwhile(repo, does, ".envrc", "conf/.env")
    assert "WROTE .envrc" in first.output  # what is told is so
    told = " ".join(second.notes)
    assert ".envrc was replaced in the meantime: since then a command that still runs could change it; check it" in told
    assert (
        "conf/.env was replaced in the meantime: since then a command that still runs could read it; check it" in told
    )


def test_it_is_told_at_the_end_if_no_other_command_began(repo: Path) -> None:
    containment = Caller(repo, Sandbox.BWRAP).containment
    hooks = put(repo / ".mcp.json", "{}")
    launch = containment.launch(("/bin/true",), str(repo), Grant((Effect.EXECUTE,), (str(repo),)))
    save(hooks, '{"mcpServers": {}}')
    assert [note for note in containment.settle(launch) if ".mcp.json was replaced" in note and "this command" in note]
    again = containment.launch(("/bin/true",), str(repo), Grant((Effect.EXECUTE,), (str(repo),)))
    assert containment.settle(again) == []


def test_what_git_writes_anew_while_a_command_commits_is_named(repo: Path) -> None:
    def does() -> None:
        subprocess.run(("git", "config", "user.name", "b"), cwd=repo, check=True)

    first, second = meanwhile(repo, does, effect=Effect.COMMIT)
    assert ".git/config was replaced in the meantime" in " ".join((*first.notes, *second.notes))


def test_a_whole_git_folder_keeps_its_cover(repo: Path) -> None:
    def does() -> None:
        subprocess.run(("git", "config", "user.name", "b"), cwd=repo, check=True)

    first, second = meanwhile(repo, does, ".git/config")
    assert "WROTE" not in first.output
    assert (*first.notes, *second.notes) == ()


def test_what_quintet_itself_writes_stays_covered(repo: Path) -> None:
    put(repo / ".envrc", "use nix and more\n")
    first, second = meanwhile(repo, lambda: ProjectFiles(str(repo)).replace(".envrc", b"use flake\n"), ".envrc")
    assert "WROTE" not in first.output
    assert (repo / ".envrc").read_text() == "use flake\n"
    assert (*first.notes, *second.notes) == ()


@pytest.mark.parametrize("kind", ["another name", "read-only", "link"])
def test_what_is_not_written_in_place_is_replaced(repo: Path, tmp_path: Path, kind: str) -> None:
    envrc, outside = repo / ".envrc", put(tmp_path / "outside", "mine\n")
    if kind == "another name":
        os.link(outside, envrc)
    elif kind == "read-only":
        put(envrc, "x").chmod(0o444)
    else:
        envrc.symlink_to("plain.txt")
        put(repo / "plain.txt", "x")
    ProjectFiles(str(repo)).replace(".envrc", b"new\n")
    assert envrc.read_text() == "new\n"
    assert outside.read_text() == "mine\n"
