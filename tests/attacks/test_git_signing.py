"""git.sign = "ask": one signature is made outside, nothing of a repository comes with it, and nobody to ask is a no."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from quintet.adapters.files.paths import locate
from quintet.adapters.processes.host_programs import stay_out_of
from quintet.adapters.settings import layers
from quintet.adapters.settings.trust import accept, pieces
from quintet.domain.dials.axes import AxesChange, PermissionProfile, RunControl, WorkMode
from quintet.domain.journal.protocol import ToolFinished
from quintet.domain.permission.gate import Verdict
from quintet.domain.turn.tool_spec import CallStatus
from quintet.features.git_signing.settings import GitSettings
from quintet.testing import ScriptedModel, call
from tests.attacks.world import put
from tests.engine.driving import Driver, drive
from tests.tools.calling import BUILD, Caller

ASK = {"git": GitSettings(sign="ask")}


def git(root: Path, *words: str) -> str:
    done = subprocess.run(["git", *words], cwd=root, check=True, capture_output=True, text=True)
    return done.stdout.strip()


@pytest.fixture
def signing(repo: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository whose commits are signed with a key of the user's, and something staged."""
    if not shutil.which("ssh-keygen"):
        pytest.skip("needs ssh-keygen")
    home = Path(os.environ["HOME"])
    (home / ".ssh").mkdir(parents=True)
    key = home / ".ssh/id_ed25519"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(key)], check=True)
    put(
        home / ".gitconfig",
        f"[user]\n\tname = A\n\temail = a@example.com\n\tsigningkey = {key}.pub\n[gpg]\n\tformat = ssh\n",
    )
    git(repo, "config", "commit.gpgsign", "true")
    put(repo / "new.txt", "new\n")
    git(repo, "add", "new.txt")
    monkeypatch.delenv("SSH_AUTH_SOCK", raising=False)
    stay_out_of(str(repo))
    return repo


def is_signed(root: Path) -> bool:
    allowed = root.parent / "allowed"
    allowed.write_text("a@example.com " + (Path(os.environ["HOME"]) / ".ssh/id_ed25519.pub").read_text())
    ours = (f"gpg.ssh.allowedSignersFile={allowed}", "gpg.ssh.program=ssh-keygen")
    words = ["git", *(word for one in ours for word in ("-c", one)), "verify-commit", "HEAD"]
    return subprocess.run(words, cwd=root, check=False, capture_output=True).returncode == 0


@pytest.mark.system("bwrap")
def test_the_commit_is_signed_with_the_users_key_and_hooks_stay_in_the_sandbox(signing: Path) -> None:
    seen = Path(os.environ["HOME"]) / "seen"
    hook = f"#!/bin/sh\necho hook > {seen}; echo formatted > formatted.txt; git add formatted.txt\n"
    put(signing / ".git/hooks/pre-commit", hook, executable=True)
    tools = Caller(signing, tables=ASK)
    plain = tools.fails("git_commit", message="plain")
    assert 'git.sign = "ask"' in plain
    said = tools.ok("git_commit_signed", message="Add new\n\nwith a body")
    assert "Add new" in said
    assert said.endswith("(signed)")
    assert is_signed(signing)
    assert git(signing, "show", "--name-only", "--format=%B", "HEAD").split() == (
        ["Add", "new", "with", "a", "body", "formatted.txt", "new.txt"]
    )
    assert git(signing, "status", "--porcelain") == ""
    assert not seen.exists()


def test_it_asks_each_time_says_what_runs_and_no_rule_or_profile_lifts_it(signing: Path) -> None:
    prepared = Caller(signing, tables=ASK).prepare("git_commit_signed", '{"message": "x"}', BUILD)
    assert prepared.decision.verdict is Verdict.ASK  # type: ignore[union-attr]
    assert prepared.decision.lifts == ()  # type: ignore[union-attr]
    assert "outside the sandbox, only this runs: " in prepared.decision.reason  # type: ignore[union-attr]
    assert "ssh-keygen -Y sign -n git -f" in prepared.decision.reason  # type: ignore[union-attr]


def test_with_nobody_attached_nothing_is_signed_or_committed(signing: Path) -> None:
    settings = locate(str(signing)).user_settings
    put(Path(settings), '[git]\nsign = "ask"\n')
    before = git(signing, "rev-parse", "HEAD")

    async def body(driver: Driver) -> None:
        await driver.turn("commit it")

    model = ScriptedModel([[call("git_commit_signed", message="x")], "could not"])
    axes = AxesChange(WorkMode.BUILD, RunControl.AUTONOMOUS, PermissionProfile.UNRESTRICTED)
    driver = drive(signing, body, model, axes=axes, person=False)
    assert driver.of(ToolFinished)[0].status is CallStatus.DENIED
    assert git(signing, "rev-parse", "HEAD") == before


@pytest.mark.parametrize("trusted", [False, True])
def test_no_project_turns_it_on_and_without_it_there_is_no_such_tool(signing: Path, trusted: bool) -> None:
    put(signing / ".quintet/settings.toml", '[git]\nsign = "ask"\n')
    places = locate(str(signing))
    if trusted:
        accept(places, pieces(places))
    assert layers.load(places).settings.table("git", GitSettings).sign == "off"
    assert "git_commit_signed" in Caller(signing).fails("git_commit_signed", message="x")


@pytest.mark.system("bwrap")
def test_no_program_key_or_hook_of_the_repository_is_used_outside(signing: Path) -> None:
    seen = Path(os.environ["HOME"]) / "seen"
    for name in ("ssh-keygen", "gpg", "git"):
        put(signing / f"bin/{name}", f"#!/bin/sh\necho {name} >> {seen}\n", executable=True)
    for name, value in {
        "gpg.program": "bin/gpg",
        "gpg.ssh.program": str(signing / "bin/ssh-keygen"),
        "core.hooksPath": str(signing / "bin"),
        "core.fsmonitor": str(signing / "bin/git"),
        "gpg.ssh.defaultKeyCommand": str(signing / "bin/gpg"),
    }.items():
        git(signing, "config", name, value)
    assert Caller(signing, tables=ASK).ok("git_commit_signed", message="x").endswith("(signed)")
    assert is_signed(signing)
    assert not seen.exists()
    put(signing / "planted.pub", "ssh-ed25519 AAAA")
    for key in (str(signing / "planted.pub"), "--evil"):
        git(signing, "config", "user.signingkey", key)
        assert Caller(signing, tables=ASK).verdict("git_commit_signed", message="x") is Verdict.DENY
    link = Path(os.environ["HOME"]) / "linked.pub"
    link.symlink_to(signing / "planted.pub")
    git(signing, "config", "user.signingkey", str(link))
    assert Caller(signing, tables=ASK).verdict("git_commit_signed", message="x") is Verdict.DENY


@pytest.mark.system("bwrap")
def test_a_hook_that_moves_head_gets_no_signature_for_another_commit(signing: Path) -> None:
    """The signature is for what follows on the commit that was there when the user said yes."""
    move = "#!/bin/sh\ngit commit-tree -m other HEAD^{tree} > other\ngit update-ref HEAD $(cat other)\n"
    put(signing / ".git/hooks/post-commit", move, executable=True)
    said = Caller(signing, tables=ASK).fails("git_commit_signed", message="x")
    assert "moved HEAD" in said
    assert not is_signed(signing)


@pytest.mark.system("bwrap")
def test_where_no_signature_can_be_made_that_is_said(signing: Path) -> None:
    (Path(os.environ["HOME"]) / ".ssh/id_ed25519").unlink()
    said = Caller(signing, tables=ASK).fails("git_commit_signed", message="x")
    assert "was made and is not signed: ssh-keygen made no signature" in said
    assert "git commit --amend -S --no-edit" in said
