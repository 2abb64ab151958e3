"""git that fails only because of the sandbox says why: signing, a remote that is a folder, an upstream."""

from __future__ import annotations

import asyncio
import subprocess
from pathlib import Path

import pytest

from quintet.adapters.processes.processes import LocalProcesses
from quintet.adapters.shell_grammar.parse import BashGrammar
from quintet.domain.git import sandboxed_git as notes
from quintet.domain.permission.effects import Effect, Grant
from quintet.domain.permission.gate import Sandbox
from quintet.domain.ports.ports import Finished
from quintet.domain.shell.judge import judge
from tests.tools.calling import Caller

pytestmark = pytest.mark.system("bwrap")


def git(folder: Path, *words: str) -> str:
    return subprocess.run(("git", "-C", str(folder), *words), check=True, capture_output=True, text=True).stdout


def run(root: Path, line: str, *reads: str) -> Finished:
    """The line with the grant that its effects would have."""
    effects = judge(BashGrammar().parse(line)).effects
    grant = Grant(tuple(effects), (str(root),), Effect.NETWORK in effects, reads)

    async def go() -> Finished:
        processes = LocalProcesses(Caller(root, Sandbox.BWRAP).containment)
        try:
            return await processes.run(("bash", "-c", line), cwd=str(root), grant=grant, timeout=30)
        finally:
            await processes.close()

    return asyncio.run(go())


@pytest.mark.parametrize("form", ["ssh", "openpgp"])
def test_a_commit_that_is_to_be_signed_fails_and_says_why(repo: Path, tmp_path: Path, form: str) -> None:
    key = tmp_path / "id_sign"
    key.write_text("")
    git(repo, "config", "user.name", "a")
    git(repo, "config", "user.email", "a@example.com")
    git(repo, "config", "commit.gpgsign", "true")
    git(repo, "config", "gpg.format", form)
    git(repo, "config", "user.signingkey", str(key) if form == "ssh" else "0xDEADBEEF")
    before = git(repo, "log", "--format=%H")
    done = run(repo, "git commit --allow-empty -m x")
    assert done.exit_code and done.notes == (notes.SIGNING,), done.output
    assert git(repo, "log", "--format=%H") == before  # neither signed nor unsigned
    assert run(repo, "git commit --no-gpg-sign --allow-empty -m x").exit_code == 0


def test_an_upstream_that_cannot_be_set_is_said_and_the_push_is_done(repo: Path) -> None:
    git(repo, "init", "-q", "--bare", "remote.git")
    git(repo, "remote", "add", "origin", str(repo / "remote.git"))
    done = run(repo, "git push -u origin HEAD:refs/heads/topic")
    assert notes.UPSTREAM in done.notes, done.output
    assert git(repo / "remote.git", "rev-parse", "topic") == git(repo, "rev-parse", "HEAD")
    assert (repo / ".git/refs/remotes/origin/topic").exists()


@pytest.mark.parametrize("remote", ["{}/bare.git", "../bare.git"])
def test_a_remote_outside_the_project_is_named_and_shown_when_the_line_names_it(
    repo: Path, tmp_path: Path, remote: str
) -> None:
    bare = repo.parent / "bare.git"
    git(repo.parent, "clone", "-q", "--bare", str(repo), str(bare))
    path = remote.format(repo.parent)
    git(repo, "remote", "add", "origin", path)
    done = run(repo, "git fetch origin")
    assert done.exit_code and any(note.startswith(f"{path} is outside the project") for note in done.notes), done
    named = run(repo, f"git fetch {bare}", str(bare))
    assert named.exit_code == 0 and not named.notes, named
