"""Protected files do not come in by git: not by its index, not by commits of a command's own, not from there."""

import subprocess
from pathlib import Path

import pytest

from quintet.domain.permission.effects import Effect
from quintet.domain.permission.gate import Sandbox
from tests.attacks.test_sandbox_reach import Inside
from tests.attacks.world import make_repository, put

EXECUTE, COMMIT, EDIT, NETWORK = Effect.EXECUTE, Effect.COMMIT, Effect.EDIT, Effect.NETWORK
BWRAP = pytest.param(Sandbox.BWRAP, marks=pytest.mark.system("bwrap"))
GIT = "git -c user.name=a -c user.email=a@example.com -c commit.gpgsign=false"
BLOB = f"$({GIT} hash-object -w evil.txt)"
CACHEINFO = f"{GIT} update-index --add --cacheinfo 100755,{BLOB},"
HUSKY, WORKFLOW = ".husky/pre-commit", ".github/workflows/ci.yml"


@pytest.fixture(params=[BWRAP])
def inside(request: pytest.FixtureRequest, repo: Path) -> Inside:
    return made(repo, request.param)


EVERY = pytest.mark.parametrize("inside", [BWRAP, Sandbox.PARTIAL, Sandbox.NONE], indirect=True)


def made(repo: Path, kind: Sandbox) -> Inside:
    put(repo / "evil.txt", "evil\n")
    put(repo / WORKFLOW, "on: push\n")
    put(repo / ".vscode/settings.json", "{}\n")
    put(repo / "evil.patch", "".join(patch(path) for path in (HUSKY, ".github/workflows/evil.yml", ".mcp.json")))
    git(repo, "add", "-A")
    git(repo, "commit", "-qm", "given")
    return Inside(repo, kind)


def patch(path: str) -> str:
    return f"diff --git a/{path} b/{path}\nnew file mode 100755\n--- /dev/null\n+++ b/{path}\n@@ -0,0 +1 @@\n+evil\n"


def git(root: Path, *words: str) -> str:
    named = ("git", "-C", str(root), "-c", "user.name=a", "-c", "user.email=a@example.com", *words)
    return subprocess.run(named, check=True, capture_output=True, text=True).stdout


def staged(root: Path, path: str) -> str:
    """What the index holds there."""
    found = subprocess.run(("git", "-C", str(root), "show", f":{path}"), capture_output=True, text=True, check=False)
    return found.stdout if found.returncode == 0 else ""


def did(inside: Inside, line: str, *more: Effect) -> str:
    """The notes of a line that is git's."""
    done = inside(line, EDIT, COMMIT, *more)
    assert done.exit_code == 0, done.output
    return "\n".join(done.notes)


@pytest.mark.parametrize(
    ("line", "path"),
    [
        ("git apply --cached evil.patch", HUSKY),
        (f"{CACHEINFO}{HUSKY}", HUSKY),
        (f"{CACHEINFO}.claude/settings.json", ".claude/settings.json"),
        (f"{CACHEINFO}deep/down/.MCP.json", "deep/down/.MCP.json"),
        (f"{CACHEINFO}{WORKFLOW}", WORKFLOW),
        (f"{CACHEINFO}.vscode/settings.json", ".vscode/settings.json"),
        (f'printf "120000 %s 0\\t.claude\\n" {BLOB} | {GIT} update-index --add --index-info', ".claude"),
        (f'printf "100644 %s 2\\t{HUSKY}\\n" {BLOB} | {GIT} update-index --index-info', HUSKY),
        (f'T=$(printf "100644 blob %s\\tpre-commit\\n" {BLOB} | git mktree); git read-tree --prefix=.husky $T', HUSKY),
    ],
    ids=["apply", "cacheinfo", "agent", "folded", "CI", "changed", "link", "conflict", "read-tree"],
)
def test_what_is_staged_without_a_file_tool_is_put_back(inside: Inside, line: str, path: str) -> None:
    before = git(inside.root, "ls-files", "-s")
    notes = did(inside, line)
    assert git(inside.root, "ls-files", "-s") == before
    assert path in notes and "restored" in notes


@EVERY
def test_other_entries_of_the_same_command_stay(inside: Inside) -> None:
    notes = did(inside, f"{CACHEINFO}{HUSKY}; echo b > b.txt; git add b.txt")
    assert staged(inside.root, "b.txt") == "b\n"
    assert HUSKY in notes and "b.txt" not in notes
    assert not staged(inside.root, HUSKY)


TREE = f"T=$(printf '100644 blob %s\\tci.yml\\n' {BLOB} | git mktree); export GIT_INDEX_FILE=$PWD/i"
MAKE = f"{TREE}; git read-tree HEAD; git rm -qr --cached .github; git read-tree --prefix=.github/workflows $T"
COMMITTED = f"C=$({GIT} commit-tree -p HEAD -m x $(git write-tree)); rm i; unset GIT_INDEX_FILE"


@pytest.mark.parametrize(
    "line",
    [
        f"git apply --cached evil.patch && {GIT} commit -qm x",
        f"{MAKE}; {COMMITTED}; git update-ref refs/heads/other $C",
        f"{MAKE}; {COMMITTED}; git tag aside $C",
        f"{MAKE}; {COMMITTED}; echo $C > .git/refs/heads/by-hand",
        f"{MAKE}; {COMMITTED}; git update-ref refs/heads/other $C; git pack-refs --all",
        f"{MAKE}; {COMMITTED}; {GIT} cherry-pick $C",
        f"{MAKE}; {COMMITTED}; {GIT} merge -q --ff-only $C",
        f"{MAKE}; {COMMITTED}; {GIT} merge -q --no-ff -m m $C",
        f"{MAKE}; {COMMITTED}; git format-patch -q -1 --stdout $C > p; {GIT} am -q p; rm p",
        f"{MAKE}; {COMMITTED}; {GIT} stash store $C; {GIT} stash store $({GIT} commit-tree -p HEAD -m y HEAD^{{tree}})",
        f"{MAKE}; {COMMITTED}; git checkout -q --detach $C",
        f"git apply --cached evil.patch && {GIT} commit -qm x && {GIT} rm -rq --cached .husky && {GIT} commit -qm y",
        "printf 'commit refs/heads/fast\\ncommitter a <a@b> 0 +0000\\ndata 1\\nx\\n"
        f"M 100755 inline {HUSKY}\\ndata 5\\nevil\\n\\n' | git fast-import --quiet",
    ],
    ids=[
        *("commit", "branch", "tag", "file", "packed", "cherry-pick", "merge", "true merge", "am", "older stash"),
        *("detached", "gone again", "fast-import"),
    ],
)
def test_a_commit_that_holds_what_nobody_approved_is_named(inside: Inside, line: str) -> None:
    notes = did(inside, line)
    named = [one for one in notes.splitlines() if one.startswith("commit ")]
    assert named, notes
    assert HUSKY in notes or WORKFLOW in notes
    shown = git(inside.root, "show", "--name-only", "--format=", named[0].split()[1])
    assert HUSKY in shown or WORKFLOW in shown
    assert (inside.root / WORKFLOW).read_text() == "on: push\n", notes
    assert not (inside.root / ".husky").exists()
    assert not staged(inside.root, HUSKY)
    assert staged(inside.root, WORKFLOW) in ("on: push\n", "")
    assert "commit " not in did(inside, f"{GIT} commit -q --allow-empty -m z"), "it is said once"


@EVERY
def test_a_revert_brings_nothing_of_a_commands_own(inside: Inside) -> None:
    did(inside, f"git apply --cached evil.patch && {GIT} commit -qm x")
    did(inside, "git reset -q")
    inside(f"{GIT} reset -q --hard; {GIT} revert --no-edit HEAD; {GIT} revert --no-edit HEAD", EDIT, COMMIT)
    for path in (HUSKY, ".github/workflows/evil.yml", ".mcp.json"):
        assert not (inside.root / path).exists()
        assert not staged(inside.root, path)
    inside("git checkout -q HEAD -- . ; git restore --source=HEAD --staged --worktree .", EDIT, COMMIT)
    for path in (HUSKY, ".github/workflows/evil.yml", ".mcp.json"):
        assert not (inside.root / path).exists()
        assert not staged(inside.root, path)
    git(inside.root, "checkout", "--", ".")  # the user's own
    assert not (inside.root / HUSKY).exists()


@pytest.mark.parametrize(
    "line",
    [
        "git apply --index evil.patch",
        f"git apply --cached evil.patch; git checkout-index -f {WORKFLOW} .github/workflows/evil.yml",
        f"{CACHEINFO}{WORKFLOW}; git checkout-index -f {WORKFLOW}",
        f"echo evil > {WORKFLOW}; git add -A",
        f"rm {WORKFLOW}; ln -s ../../evil.txt {WORKFLOW}; git add -A",
        "rm -r .github/workflows; ln -s ../evil .github/workflows; git add -A",
    ],
)
def test_git_leaves_only_known_contents_in_ci_files(inside: Inside, line: str) -> None:
    before = git(inside.root, "ls-files", "-s")
    notes = did(inside, line)
    assert (inside.root / WORKFLOW).read_text() == "on: push\n", notes
    assert not (inside.root / WORKFLOW).is_symlink()
    assert [path.name for path in (inside.root / ".github/workflows").iterdir()] == ["ci.yml"], notes
    assert git(inside.root, "ls-files", "-s") == before, notes
    assert ".github" in notes


def test_what_was_there_before_goes_on_as_before(inside: Inside) -> None:
    """Branches, stashes and history that the user made bring what they hold."""
    root = inside.root
    git(root, "switch", "-qc", "other")
    put(root / WORKFLOW, "on: pull_request\n")
    put(root / ".github/workflows/more.yml", "on: tag\n")
    git(root, "add", "-A")
    git(root, "commit", "-qm", "other")
    put(root / WORKFLOW, "on: never\n")
    git(root, "commit", "-qam", "newer")
    git(root, "switch", "-q", "main")
    for line, text in (
        ("git switch -q other", "on: never\n"),
        (f"{GIT} checkout -q HEAD~1", "on: pull_request\n"),
        ("git switch -q main", "on: push\n"),
        (f"{GIT} merge -q --no-ff -m m other", "on: never\n"),
        (f"{GIT} revert --no-edit -m 1 HEAD", "on: push\n"),
        (f"git mv {WORKFLOW} .github/workflows/ci2.yml; {GIT} commit -qm moved", ""),
        (f"{GIT} reset -q --hard HEAD~1; git worktree add -q tree; git worktree remove tree", "on: push\n"),
        ("git rm -q --cached .vscode/settings.json", "on: push\n"),
    ):
        assert did(inside, line) == "", line
        assert ((root / WORKFLOW).read_text() if text else "") == text, line


@EVERY
def test_what_the_user_approved_is_staged_and_committed(inside: Inside) -> None:
    """A file tool that was approved writes into the project; from there git takes it, and gives it back."""
    root = inside.root
    did(inside, "git add -A")
    put(root / HUSKY, "approved\n")
    put(root / WORKFLOW, "approved\n")
    assert did(inside, "git add -A") == ""
    assert did(inside, f"{GIT} commit -qm approved") == ""
    put(root / WORKFLOW, "approved too\n")
    assert did(inside, f"{GIT} stash push -q") == ""
    assert did(inside, f"{GIT} stash pop -q") == ""
    assert did(inside, f"{GIT} commit -qam more; {GIT} commit -q --amend -m other") == ""
    assert did(inside, "git checkout -q HEAD~1") == ""
    assert (root / WORKFLOW).read_text() == "approved\n"
    assert did(inside, "git switch -q main") == ""
    assert (root / WORKFLOW).read_text() == "approved too\n"
    assert (root / HUSKY).read_text() == "approved\n"


def test_what_the_user_does_between_two_calls_is_the_users(inside: Inside) -> None:
    root = inside.root
    did(inside, "git add -A")
    put(root / HUSKY, "mine\n")
    git(root, "add", "-A")
    git(root, "commit", "-qm", "mine")
    git(root, "rm", "-rq", ".husky")
    git(root, "commit", "-qm", "gone")
    put(root / "w.yml", "mine\n")
    blob = git(root, "hash-object", "-w", "w.yml").strip()
    git(root, "update-index", "--add", "--cacheinfo", f"100644,{blob},{WORKFLOW}")
    assert did(inside, "git add evil.txt") == ""
    assert staged(root, WORKFLOW) == "mine\n"
    assert did(inside, f"{GIT} commit -qm theirs") == ""


def test_what_was_fetched_counts_and_what_was_made_up_does_not(tmp_path: Path, inside: Inside) -> None:
    root, far = inside.root, tmp_path / "far"
    subprocess.run(("git", "clone", "-q", str(root), str(far)), check=True)
    put(far / WORKFLOW, "on: far\n")
    git(far, "commit", "-qam", "far")
    git(root, "remote", "add", "origin", str(far))
    did(inside, "git add -A")
    git(root, "fetch", "-q", "origin")  # stands for a fetch that a call with a network did
    assert did(inside, f"{GIT} merge -q --ff-only origin/main") == ""
    assert (root / WORKFLOW).read_text() == "on: far\n"
    notes = did(inside, f"{MAKE}; {COMMITTED}; git update-ref refs/remotes/origin/up $C")
    assert "commit " in notes
    notes = did(inside, f"echo evil >> evil.txt; {MAKE}; {COMMITTED}; git update-ref refs/remotes/origin/b $C", NETWORK)
    assert "commit " not in notes


def test_a_replaced_object_is_told(inside: Inside) -> None:
    blob = git(inside.root, "rev-parse", f"HEAD:{WORKFLOW}").strip()
    notes = did(inside, f"git replace {blob} {BLOB}")
    assert f"refs/replace/{blob}" in notes


def test_hooks_that_git_takes_from_the_tree_are_protected_in_git_too(inside: Inside) -> None:
    git(inside.root, "config", "core.hooksPath", "tools/hooks")
    notes = did(inside, f"{CACHEINFO}tools/hooks/pre-commit")
    assert not staged(inside.root, "tools/hooks/pre-commit") and "tools/hooks/pre-commit" in notes


def test_the_index_of_another_work_tree_is_looked_at(tmp_path: Path, inside: Inside) -> None:
    git(inside.root, "worktree", "add", "-q", str(tmp_path / "wt"))
    notes = did(inside, f"GIT_INDEX_FILE=.git/worktrees/wt/index {CACHEINFO}{HUSKY}")
    assert HUSKY in notes and "worktrees/wt/index" in notes


def test_a_session_in_a_work_tree_is_looked_at(tmp_path: Path, repo: Path) -> None:
    made(repo, Sandbox.NONE)
    git(repo, "worktree", "add", "-q", str(tmp_path / "wt"))
    inside = Inside(tmp_path / "wt", Sandbox.NONE)
    notes = did(inside, f"{CACHEINFO}{HUSKY}; {MAKE}; {COMMITTED}; git update-ref refs/heads/x $C")
    assert not staged(inside.root, HUSKY) and "commit " in notes


def test_a_new_repository_has_nothing_protected(tmp_path: Path) -> None:
    root = tmp_path / "new"
    put(root / "evil.txt", "evil")
    notes = did(Inside(root, Sandbox.NONE), f"git init -q . && {CACHEINFO}{HUSKY}")
    assert HUSKY in notes and not staged(root, HUSKY)


def test_a_repository_inside_the_project_is_looked_at(inside: Inside) -> None:
    sub = inside.root / "sub"
    put(sub / "a.txt", "a")
    make_repository(sub)
    blob = "$(git -C sub hash-object -w ../evil.txt)"
    notes = did(inside, f"git -C sub update-index --add --cacheinfo 100755,{blob},{HUSKY}")
    assert HUSKY in notes and not staged(sub, HUSKY)


def test_a_link_in_place_of_the_index_is_not_written_through(tmp_path: Path, inside: Inside) -> None:
    put(tmp_path / "outside", "kept")
    did(inside, f"{CACHEINFO}{HUSKY}; rm .git/index; ln -s {tmp_path}/outside .git/index")
    assert (tmp_path / "outside").read_text() == "kept"


def test_a_repository_that_cannot_be_looked_at_any_more_is_told(inside: Inside) -> None:
    notes = did(inside, f"{MAKE}; {COMMITTED}; git update-ref refs/heads/x $C; mv .git/refs .git/r; ln -s r .git/refs")
    assert "could not be checked" in notes
