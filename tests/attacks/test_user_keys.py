"""Of the home a line is shown what its program needs and nothing else, and its question names that."""

from __future__ import annotations

import asyncio
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from quintet.adapters.processes.processes import LocalProcesses
from quintet.adapters.shell_grammar.parse import BashGrammar
from quintet.app.tool_registry import BY_NAME
from quintet.domain.dials.axes import INTERACTIVE, Axes, AxesChange, PermissionProfile, RunControl, WorkMode
from quintet.domain.permission import gate
from quintet.domain.permission.effects import Grant
from quintet.domain.permission.exposure import KEYS, PUBLISHING
from quintet.domain.permission.gate import Decision, Sandbox, Terms
from quintet.domain.permission.question import access
from quintet.domain.ports.ports import Finished
from quintet.domain.shell.judge import with_lines
from tests.attacks.world import put
from tests.tools.calling import Caller

pytestmark = pytest.mark.system("bwrap")
PARSE = BashGrammar().parse
SECRET = "the-canary"
HOME = (
    *(".ssh/id_ed25519", ".ssh/id_work", ".ssh/config", ".ssh/known_hosts", ".ssh/id_ed25519.pub", ".netrc", ".npmrc"),
    *(".aws/credentials", ".config/gh/hosts.yml", ".config/quintet/settings.toml", ".local/state/quintet/journal.db"),
    *(".gnupg/private", ".pypirc", ".cargo/credentials.toml", ".git-credentials", "diary", ".kube/config"),
)
SHOWS = "for f in $(cd ~; echo {}); do grep -qs canary ~/$f && echo sees $f; done; true".format(" ".join(HOME))
SSH = {".ssh/config", ".ssh/known_hosts", ".ssh/id_ed25519.pub"}


@pytest.fixture
def house(repo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A home of the user's with everything in it, and an ssh agent."""
    folder = tmp_path / "house"
    for name in HOME:
        put(folder / name, f"# {SECRET}\n" + ("IdentityFile ~/.ssh/id_work\n" if name == ".ssh/config" else ""))
    monkeypatch.setenv("HOME", str(folder))
    with socket.socket(socket.AF_UNIX) as agent:
        monkeypatch.chdir(tmp_path)  # a path of a socket is short
        agent.bind("agent.sock")
        agent.listen()
        monkeypatch.setenv("SSH_AUTH_SOCK", str(tmp_path / "agent.sock"))
        yield folder


def judged(root: Path, line: str, profile: PermissionProfile = PermissionProfile.TRUSTED) -> Decision:
    axes = AxesChange(WorkMode.BUILD, RunControl.AUTONOMOUS, profile).applied_to(INTERACTIVE)
    assert isinstance(axes, Axes)
    spec = BY_NAME["bash"]
    touch, lines = with_lines(spec.touch(spec.bind(f'{{"command": "{line}"}}')), PARSE)
    return gate.decide(spec, touch, axes, Terms(str(root), person=True, sandbox=Sandbox.BWRAP), line, lines)


def run(root: Path, line: str, grant: Grant) -> Finished:
    async def go() -> Finished:
        processes = LocalProcesses(Caller(root, Sandbox.BWRAP).containment)
        try:
            return await processes.run(("bash", "-c", line), cwd=str(root), grant=grant, timeout=30)
        finally:
            await processes.close()

    return asyncio.run(go())


def seen(root: Path, line: str, profile: PermissionProfile = PermissionProfile.TRUSTED) -> set[str]:
    """What a script of the project's, run beside the line, could read."""
    said = run(root, SHOWS, judged(root, line, profile).grant).output
    return {word.removeprefix("sees ") for word in said.splitlines() if word.startswith("sees ")}


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        ("npm publish", {".npmrc"}),
        ("npm run deploy", {".npmrc"}),
        ("twine upload dist/x", {".pypirc"}),
        ("cargo publish", {".cargo/credentials.toml"}),
        ("uv publish", set()),
        ("gh pr create", {".config/gh/hosts.yml"}),
        ("mail -s x a@example.com", set()),
        (
            "git push origin main",
            {*SSH, ".ssh/id_ed25519", ".ssh/id_work", ".git-credentials", ".netrc", ".config/gh/hosts.yml"},
        ),
        ("env A=1 git -C . push", None),
        ("git fetch", SSH),
        ("git pull --rebase", SSH),
        ("git fetch && make", set()),
        ("git commit -m x", set()),
        ("curl https://example.com", set()),
        ("pip install x", set()),
    ],
)
def test_a_line_is_shown_what_its_program_needs(house: Path, repo: Path, line: str, shown: set[str] | None) -> None:
    found = seen(repo, line)
    assert found == (seen(repo, "git push origin main") if shown is None else shown)
    assert not found & {".aws/credentials", ".config/quintet/settings.toml", "diary", ".local/state/quintet/journal.db"}


def test_what_goes_unasked_is_shown_no_key_and_no_agent(house: Path, repo: Path) -> None:
    assert seen(repo, "git fetch", PermissionProfile.UNRESTRICTED) == set()
    grant = judged(repo, "git fetch", PermissionProfile.UNRESTRICTED).grant
    assert run(repo, "echo =$SSH_AUTH_SOCK=", grant).output.strip() == "=="


@pytest.mark.parametrize("line", ["git push", "git fetch", "git pull", "git clone x@example.com:y z"])
def test_an_approved_git_line_reaches_the_agent_and_the_question_says_so(house: Path, repo: Path, line: str) -> None:
    decision = judged(repo, line)
    connects = "import os,socket; socket.socket(socket.AF_UNIX).connect(os.environ['SSH_AUTH_SOCK']); print('reached')"
    assert "reached" in run(repo, f'python3 -c "{connects}"', decision.grant).output
    assert "your ssh agent" in access(decision.grant, Sandbox.BWRAP, str(repo), command=True)
    assert ("private ssh keys" in access(decision.grant, Sandbox.BWRAP, str(repo), command=True)) == ("push" in line)


def test_a_link_to_quintets_own_or_into_the_project_is_not_shown(house: Path, repo: Path) -> None:
    put(repo / "keys", SECRET)
    (house / ".npmrc").unlink()
    (house / ".npmrc").symlink_to(repo / "keys")
    assert seen(repo, "npm publish") == set()


def test_the_table_is_whole() -> None:
    assert {name for names in PUBLISHING.values() for name in names} <= set(KEYS)
    assert not any(
        path.startswith("/") or ".." in path or path in (".ssh", ".config", "")
        for key in KEYS.values()
        for path in key.paths
    )


# ── what a push writes


@pytest.fixture
def pushed(house: Path, repo: Path, tmp_path: Path) -> Path:
    """The project with a remote inside it, so that the sandbox shows it."""
    subprocess.run(("git", "init", "-q", "--bare", str(repo / "remote.git")), check=True)
    subprocess.run(("git", "-C", str(repo), "remote", "add", "origin", str(repo / "remote.git")), check=True)
    return repo


def test_a_push_writes_what_it_knows_of_the_remote(pushed: Path) -> None:
    done = run(pushed, "git push origin HEAD:refs/heads/main", judged(pushed, "git push origin HEAD").grant)
    assert done.exit_code == 0 and "error" not in done.output, done.output
    assert (pushed / ".git/refs/remotes/origin/main").exists()
    assert "read-only" not in done.output.lower()
