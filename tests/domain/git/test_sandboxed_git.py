"""git in the sandbox: which lines bring files, and failures that only the sandbox explains, with their cause."""

from __future__ import annotations

import pytest

from quintet.domain.git import sandboxed_git as notes
from quintet.domain.git.sandboxed_git import FailedCommand, brings_by_git, explained
from quintet.domain.permission.effects import Effect, Grant, Sandbox
from quintet.domain.permission.exposure import FETCHING

GRANT = Grant((Effect.COMMIT, Effect.NETWORK), ("/work/app",), True)
GPG = "error: gpg failed to sign the data:\n(no gpg output)\nfatal: failed to write commit object\n"
KEY = "error: Couldn't load public key /home/me/.ssh/id.pub: No such file\n\nfatal: failed to write commit object\n"
LOCKED = "error: could not lock config file .git/config: Read-only file system\n"
DENIED = "git@example.com: Permission denied (publickey).\nfatal: Could not read from remote repository.\n"


@pytest.mark.parametrize(
    ("output", "note"),
    [
        (GPG, notes.SIGNING),
        (KEY, notes.SIGNING),
        ("error: gpg failed to sign the data\nerror: unable to sign the tag\n", notes.SIGNING),
        (LOCKED, notes.UPSTREAM),
        ("error: could not write config file .git/config: Device or resource busy\n", notes.UPSTREAM),
        (DENIED, notes.NO_KEYS),
        ("Host key verification failed.\n", notes.UNKNOWN_HOST),
        ("fatal: could not read Username for 'https://x': terminal prompts disabled", notes.NO_PASSWORD),
    ],
)
def test_what_the_sandbox_made_fail_is_said(output: str, note: str) -> None:
    assert explained(FailedCommand(output, 128, GRANT, Sandbox.BWRAP, "/work/app")) == (note,)
    assert explained(FailedCommand(output, 128, GRANT, Sandbox.NONE, "/work/app")) == ()
    outside = Grant((Effect.OUTSIDE,))
    assert explained(FailedCommand(output, 128, outside, Sandbox.BWRAP, "/work/app")) == ()


@pytest.mark.parametrize(
    "output",
    [
        "fatal: failed to write commit object\n",  # for another reason
        "fatal: 'nowhere' does not appear to be a git repository\n",
        "fatal: '/work/app/sub' does not appear to be a git repository\n",
        "error: could not lock config file .git/config: File exists\n",
        "nothing of note",
    ],
)
def test_what_fails_elsewhere_too_is_left_alone(output: str) -> None:
    assert explained(FailedCommand(output, 128, GRANT, Sandbox.BWRAP, "/work/app")) == ()


@pytest.mark.parametrize("path", ["/srv/x.git", "../bare", "file:///srv/x.git"])
@pytest.mark.parametrize("words", ["'{}' does not appear to be a git repository", "repository '{}' does not exist"])
def test_a_remote_that_is_a_folder_outside_is_named(path: str, words: str) -> None:
    told = explained(FailedCommand(f"fatal: {words.format(path)}\n", 128, GRANT, Sandbox.BWRAP, "/work/app"))
    assert len(told) == 1 and told[0].startswith(f"{path.removeprefix('file://')} is outside the project")


def test_which_key_was_missing_depends_on_what_the_line_had() -> None:
    fetching = Grant(GRANT.effects, GRANT.write_roots, True, keys=FETCHING)
    assert explained(FailedCommand(DENIED, 128, fetching, Sandbox.BWRAP, "/")) == (notes.NO_AGENT,)
    assert explained(FailedCommand(DENIED, 128, GRANT, Sandbox.PARTIAL, "/")) == (notes.NO_KEYS_IN_PARTIAL,)


EDIT, COMMIT = Effect.EDIT, Effect.COMMIT


def grant(*effects: Effect) -> Grant:
    return Grant(effects=effects)


@pytest.mark.parametrize(
    "line",
    [
        "git checkout main",
        "git switch -c x origin/x",
        "git pull --rebase origin main",
        "git stash",
        "git fetch && git merge origin/main",
        "git stash; git pull; git stash pop",
        "git restore .mcp.json .claude",
        "git cherry-pick abc123",
        "git reset --hard HEAD~1",
    ],
)
def test_lines_of_git_alone(line: str) -> None:
    assert brings_by_git(("bash", "-c", line), grant(EDIT, COMMIT))
    assert not brings_by_git(("bash", "-c", line), grant(EDIT, COMMIT, Effect.EXECUTE))
    assert not brings_by_git(("bash", "-c", line), grant(EDIT))


@pytest.mark.parametrize(
    "line",
    [
        "python3 x.py; git checkout main",
        "git checkout main && python3 x.py",
        "git checkout $(python3 x.py)",
        "git checkout `x`",
        "git checkout main | sh",
        "git checkout main > .mcp.json",
        "git checkout main & python3 x.py",
        "git checkout main\npython3 x.py",
        "git commit -m x",
        "git log",
        "git -c core.hooksPath=x checkout main",
        "X=1 git checkout main",
        "./git checkout main",
        "git checkout-index -f .mcp.json",
        "git $x checkout main",
    ],
)
def test_anything_else_keeps_its_covers(line: str) -> None:
    assert not brings_by_git(("bash", "-c", line), grant(EDIT, COMMIT))
