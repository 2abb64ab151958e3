"""git's everyday work with protected files: what the user's own history or a fetch brings stays, and only that."""

import subprocess
from pathlib import Path

import pytest

from quintet.domain.permission.effects import Effect, Grant
from quintet.domain.permission.gate import Sandbox
from tests.attacks.test_sandbox_reach import Inside
from tests.attacks.world import put

COMMIT, EDIT, NETWORK, EXECUTE = Effect.COMMIT, Effect.EDIT, Effect.NETWORK, Effect.EXECUTE
BWRAP = pytest.param(Sandbox.BWRAP, marks=pytest.mark.system("bwrap"))
FILES = (
    ".mcp.json",
    ".claude/settings.json",
    ".vscode/tasks.json",
    ".quintet/settings.toml",
    ".github/workflows/ci.yml",
)


def git(root: Path, *words: str) -> str:
    named = ("git", "-C", str(root), "-c", "user.name=a", "-c", "user.email=a@example.com", *words)
    return subprocess.run(named, check=True, capture_output=True, text=True).stdout


def write(root: Path, text: str) -> None:
    for path in FILES:
        put(root / path, text)


def texts(root: Path) -> set[str]:
    return {(root / path).read_text() if (root / path).exists() else "" for path in FILES}


@pytest.fixture(params=[BWRAP, Sandbox.PARTIAL, Sandbox.NONE], ids=["bwrap", "partial", "none"])
def inside(request: pytest.FixtureRequest, repo: Path) -> Inside:
    """main has the files, `other` has others, `bare` has none."""
    git(repo, "config", "user.name", "a")
    git(repo, "config", "user.email", "a@example.com")
    git(repo, "branch", "bare")
    write(repo, "main\n")
    git(repo, "add", "-A")
    git(repo, "commit", "-qm", "given")
    git(repo, "switch", "-qc", "other")
    write(repo, "other\n")
    git(repo, "commit", "-qam", "other")
    git(repo, "switch", "-q", "main")
    return Inside(repo, request.param)


def does(inside: Inside, line: str, *more: Effect) -> str:
    done = inside(line, EDIT, COMMIT, *more)
    assert done.exit_code == 0, done.output
    status = subprocess.run(("git", "status", "--porcelain"), cwd=inside.root, capture_output=True, text=True)
    assert status.stdout + status.stderr == "", (line, done.output, done.notes)
    return "\n".join(done.notes)


def test_branches_with_other_protected_files_are_switched_to_and_back(inside: Inside) -> None:
    for line, text in (
        ("git checkout -q other", "other\n"),
        ("git checkout -q bare", ""),
        ("git checkout -q main", "main\n"),
        ("git switch -q bare", ""),
        ("git merge -q other", "other\n"),
        ("git reset -q --hard HEAD~1", "main\n"),
    ):
        notes = does(inside, line)
        assert texts(inside.root) == {text}, (line, notes)
        assert not text or "brought" in notes or "main" not in line


def test_a_stash_of_the_users_comes_and_goes(inside: Inside) -> None:
    root = inside.root
    put(root / ".mcp.json", "mine\n")
    does(inside, "git stash -q")
    assert (root / ".mcp.json").read_text() == "main\n"
    done = inside("git stash pop -q", EDIT, COMMIT)
    assert (root / ".mcp.json").read_text() == "mine\n", (done.output, done.notes)


def test_a_rebase_goes_through(inside: Inside) -> None:
    root = inside.root
    git(root, "switch", "-q", "bare")
    put(root / "a.txt", "more\n")
    git(root, "add", "-A")
    git(root, "commit", "-qm", "more")
    does(inside, "git rebase -q other")
    assert texts(root) == {"other\n"}


def test_an_approved_pull_brings_what_colleagues_made(tmp_path: Path, inside: Inside) -> None:
    """The remote lies in the project, since a sandbox without a network shows no other."""
    root, far = inside.root, tmp_path / "far"
    git(root, "switch", "-q", "bare")
    subprocess.run(("git", "clone", "-q", "--bare", str(root), str(root / "far.git")), check=True)
    put(root / ".git/info/exclude", "far.git\n")
    git(root, "remote", "add", "origin", str(root / "far.git"))
    subprocess.run(("git", "clone", "-q", "-b", "bare", str(root / "far.git"), str(far)), check=True)
    inside("git add -A", COMMIT)
    for text in ("far\n", "further\n"):
        write(far, text)
        put(far / "b.txt", text)
        git(far, "add", "-A")
        git(far, "commit", "-qm", text)
        git(far, "push", "-q", "origin", "bare")
        notes = does(inside, "git pull -q origin bare", NETWORK)
        assert texts(root) == {text}, notes
        assert (root / "b.txt").read_text() == text
    assert does(inside, "git status") == ""


def test_what_a_command_made_up_does_not_come_by_checkout(inside: Inside) -> None:
    """A commit of a call's own is no way to a protected file, in whichever call it is checked out."""
    root = inside.root
    put(root / "evil.txt", "evil\n")
    make = (
        "B=$(git hash-object -w evil.txt); export GIT_INDEX_FILE=$PWD/.git/i; git read-tree HEAD; "
        + "".join(f"git update-index --add --cacheinfo 100644,$B,{path}; " for path in FILES)
        + "C=$(git commit-tree -p HEAD -m x $(git write-tree)); rm .git/i evil.txt; git update-ref refs/heads/evil $C"
    )
    inside(make, EDIT, COMMIT, EXECUTE)
    given = git(root, "rev-parse", "main").strip()
    for words in ("checkout -q evil", "reset -q --hard evil", "merge -q evil", "restore --source=evil -- ."):
        assert texts(root) == {"main\n"}
        inside(f"git {words}", EDIT, COMMIT)
        assert "evil\n" not in texts(root), words
        git(root, "checkout", "-q", "-f", "-B", "main", given)


@pytest.mark.system("bwrap")
def test_a_hook_that_writes_while_covers_are_lifted_leaves_nothing(repo: Path) -> None:
    write(repo, "main\n")
    put(repo / ".git/hooks/post-checkout", "#!/bin/sh\nsh hook.sh\n")
    (repo / ".git/hooks/post-checkout").chmod(0o755)
    put(
        repo / "hook.sh",
        "echo evil > .mcp.json; echo evil > .claude/new.json; mkdir -p .idea; echo evil > .idea/x.xml\n",
    )
    git(repo, "add", "-A")
    git(repo, "commit", "-qm", "given")
    git(repo, "branch", "other")
    done = Inside(repo, Sandbox.BWRAP)("git checkout -q other", EDIT, COMMIT)
    assert texts(repo) == {"main\n"}, done.notes
    assert not (repo / ".claude/new.json").exists() and not (repo / ".idea").exists()
    told = "\n".join(done.notes)
    assert ".mcp.json" in told and ".claude/new.json" in told and ".idea" in told


@pytest.mark.system("bwrap")
def test_covers_stay_for_every_other_line(repo: Path) -> None:
    write(repo, "main\n")
    git(repo, "add", "-A")
    git(repo, "commit", "-qm", "given")
    inside = Inside(repo, Sandbox.BWRAP)
    done = inside("git checkout -q main; echo evil > .mcp.json", EDIT, COMMIT)
    assert "Read-only" in done.output
    assert texts(repo) == {"main\n"}


@pytest.mark.system("bwrap")
def test_what_the_user_checks_out_while_a_command_runs_stays(repo: Path) -> None:
    git(repo, "branch", "bare")
    write(repo, "main\n")
    git(repo, "add", "-A")
    git(repo, "commit", "-qm", "given")
    git(repo, "switch", "-q", "bare")
    inside = Inside(repo, Sandbox.BWRAP)
    launch = inside.containment.launch(("bash", "-c", "true"), str(repo), Grant((EXECUTE,), (str(repo),), False))
    git(repo, "switch", "-q", "main")  # in another terminal
    put(repo / ".idea/x.xml", "by an editor, or by the command: nobody can tell\n")
    told = "\n".join(inside.containment.settle(launch))
    assert texts(repo) == {"main\n"}, told
    assert not (repo / ".idea").exists() and ".idea" in told
    assert git(repo, "status", "--porcelain") == ""
    assert "git brought" in told


@pytest.mark.parametrize("kind", [Sandbox.PARTIAL, Sandbox.NONE])
def test_without_covers_what_a_command_changes_in_protected_places_is_told(repo: Path, kind: Sandbox) -> None:
    write(repo, "main\n")
    put(repo / ".git/hooks/pre-commit", "mine\n")
    inside = Inside(repo, kind)
    assert inside("true").notes == ()
    done = inside(
        "echo evil > .github/workflows/new.yml; echo evil > .mcp.json; echo evil > .git/hooks/pre-commit; "
        "git config core.fsmonitor evil"
    )
    told = "\n".join(done.notes)
    for path in (".github/workflows/new.yml", ".mcp.json", ".git/config", ".git/hooks/pre-commit"):
        assert path in told
    assert inside("true").notes == ()
