"""Which lines are git's alone and bring files from a repository."""

import pytest

from quintet.domain.permission.effects import Effect, Grant
from quintet.domain.shell.git_lines import brings_by_git

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
