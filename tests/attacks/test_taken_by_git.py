"""What git takes from the project's own files is held: by links of its folder, of the way there, by settings."""

import subprocess
from pathlib import Path

import pytest

from quintet.adapters.protected.linked_git import hooks_in, in_tree
from quintet.domain.dials.axes import Axes, PermissionProfile, RunControl, WorkMode
from quintet.domain.permission.effects import Effect
from quintet.domain.permission.gate import Sandbox, Verdict
from tests.attacks.test_sandbox_reach import GIT, Inside
from tests.attacks.world import put
from tests.tools.calling import Caller

NORMAL = Axes(WorkMode.BUILD, RunControl.AUTONOMOUS, PermissionProfile.NORMAL)
EDIT, COMMIT = Effect.EDIT, Effect.COMMIT
bwrap = pytest.mark.system("bwrap")


def git(root: Path, *words: str) -> None:
    named = ("-c", "user.name=a", "-c", "user.email=a@example.com", "-c", "protocol.file.allow=always")
    subprocess.run(("git", "-C", str(root), *named, *words), check=True, capture_output=True)


def link(path: Path, led: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.symlink_to(led)


def hook(root: Path, name: str = "tools/hooks/pre-commit") -> Path:
    return put(root / name, "as it was", executable=True)


# ── ways through links


@bwrap
@pytest.mark.parametrize(
    "turn", ["ln -sfn evil scripts", "rm scripts; ln -s evil scripts", "rm scripts; mkdir scripts"]
)
@pytest.mark.parametrize("effects", [(Effect.EXECUTE,), (EDIT, COMMIT)], ids=["execute", "commit"])
def test_a_link_on_the_way_to_a_hook_is_not_turned(repo: Path, turn: str, effects: tuple[Effect, ...]) -> None:
    kept = hook(repo)
    link(repo / "scripts", "tools/hooks")
    link(repo / ".git/hooks/pre-commit", "../../scripts/pre-commit")
    inside = Inside(repo, Sandbox.BWRAP)
    done = inside(f"mkdir evil; {turn}; echo evil > evil/pre-commit; cp evil/pre-commit scripts/ || true", *effects)
    assert not (repo / ".git/hooks/pre-commit").exists() or (
        (repo / ".git/hooks/pre-commit").read_text() == "as it was"
    ), done.output
    assert kept.read_text() == "as it was"
    assert done.notes


@bwrap
def test_nor_is_the_last_link_of_several(repo: Path) -> None:
    hook(repo)
    link(repo / "a/pc", "../b/pc")
    link(repo / "b/pc", "../tools/hooks/pre-commit")
    link(repo / ".git/hooks/pre-commit", "../../a/pc")
    Inside(repo, Sandbox.BWRAP)("echo evil > e; ln -sfn ../e b/pc; mv b c; mkdir b; cp e b/pc")
    found = repo / ".git/hooks/pre-commit"
    assert not found.exists() or found.read_text() == "as it was"


def test_links_that_lead_in_circles_are_followed_to_an_end(repo: Path) -> None:
    link(repo / "a", "b")
    link(repo / "b", "a")
    link(repo / ".git/hooks/pre-commit", "../../a/x")
    assert {Path(path).name for path in in_tree(str(repo / ".git"), str(repo))} >= {"a", "b"}


@bwrap
def test_git_still_writes_what_links_inside_its_folder_lead_to(repo: Path) -> None:
    """As core.preferSymlinkRefs and git-new-workdir have them."""
    (repo / ".git/HEAD").unlink()
    branch = next((repo / ".git/refs/heads").iterdir()).name
    link(repo / ".git/HEAD", f"refs/heads/{branch}")
    assert in_tree(str(repo / ".git"), str(repo)) == []
    done = Inside(repo, Sandbox.BWRAP)(f"{GIT} commit -q --allow-empty -m z", EDIT, COMMIT)
    assert done.exit_code == 0, done.output


# ── worktrees, submodules


@bwrap
def test_hooks_that_a_worktrees_settings_name_are_held(repo: Path, tmp_path: Path) -> None:
    git(repo, "config", "core.hooksPath", "tools/hooks")
    git(repo, "worktree", "add", "-q", str(tmp_path / "w"))
    root = tmp_path / "w"
    kept = hook(root)
    assert hooks_in(str(root)) == ("tools/hooks",)
    assert Caller(root).verdict("Write", NORMAL, file_path="tools/hooks/pre-push", content="x") is Verdict.ASK
    for effects in ((Effect.EXECUTE,), (EDIT, COMMIT)):
        Inside(root, Sandbox.BWRAP)("echo evil > tools/hooks/pre-commit; mv tools t; mkdir -p tools/hooks", *effects)
        Inside(root, Sandbox.BWRAP)("echo evil > tools/hooks/pre-commit", *effects)
        assert not kept.exists() or kept.read_text() == "as it was"


@bwrap
@pytest.mark.parametrize("how", ["setting", "link"])
def test_and_those_of_a_submodule(repo: Path, tmp_path: Path, how: str) -> None:
    other = tmp_path / "other"
    other.mkdir()
    git(other, "init", "-q")
    git(other, "commit", "-q", "--allow-empty", "-m", "x")
    git(repo, "submodule", "add", "-q", str(other), "lib")
    kept = hook(repo)
    if how == "setting":
        git(repo / "lib", "config", "core.hooksPath", "../tools/hooks")
    else:
        link(repo / ".git/modules/lib/hooks/pre-commit", "../../../../tools/hooks/pre-commit")
    for effects in ((Effect.EXECUTE,), (EDIT, COMMIT)):
        Inside(repo, Sandbox.BWRAP)("echo evil > tools/hooks/pre-commit", *effects)
        assert kept.read_text() == "as it was"


# ── the user's own settings


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "someone"
    folder.mkdir()
    monkeypatch.setenv("HOME", str(folder))
    return folder


@bwrap
@pytest.mark.parametrize(
    ("settings", "path"),
    [
        ("[include]\n\tpath = {root}/team/inc.cfg\n", "team/inc.cfg"),
        ("[include]\n\tpath = {root}/team/inc.cfg\n", "team/more.cfg"),  # which that one includes
        ('[includeIf "gitdir:/nowhere/"]\n\tpath = {root}/team/inc.cfg\n', "team/inc.cfg"),
        ("[include]\n\tpath = {root}/team/new.cfg\n", "team/new.cfg"),
        ("[include]\n\tpath = mine.cfg\n", "team/inc.cfg"),  # a link of the home's
        ("[init]\n\ttemplateDir = {root}/team/tdir\n", "team/tdir/hooks/post-checkout"),
        ("[core]\n\thooksPath = {root}/team/tdir/hooks\n", "team/tdir/hooks/pre-commit"),
    ],
    ids=["include", "nested", "conditional", "missing", "linked", "template", "hooks"],
)
def test_what_the_users_settings_take_from_the_project_is_held(
    repo: Path, home: Path, settings: str, path: str
) -> None:
    put(repo / "team/inc.cfg", "[include]\n\tpath = more.cfg\n")
    put(repo / "team/more.cfg", "[a]\n\tb = c\n")
    put(repo / "team/tdir/hooks/pre-push", "")
    link(home / "mine.cfg", str(repo / "team/inc.cfg"))
    put(home / ".gitconfig", settings.format(root=repo))
    before = (repo / path).read_text() if (repo / path).exists() else None
    caller = Caller(repo)
    assert caller.verdict("Write", NORMAL, file_path=path, content="x") is Verdict.ASK
    inside = Inside(repo, Sandbox.BWRAP)
    inside(f"echo evil >> {path}")
    inside(f"mv team away; mkdir -p $(dirname {path}); echo evil > {path}")
    after = (repo / path).read_text() if (repo / path).exists() else None
    assert after in (before, None)


@bwrap
@pytest.mark.parametrize("name", ["GIT_CONFIG_GLOBAL", "GIT_TEMPLATE_DIR"])
def test_so_is_what_variables_name(repo: Path, home: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    put(repo / "team/x", "")
    monkeypatch.setenv(name, str(repo / "team/x" if name == "GIT_CONFIG_GLOBAL" else repo / "team"))
    Inside(repo, Sandbox.BWRAP)("echo evil > team/x")
    assert (repo / "team/x").read_text() == ""


def test_files_that_only_list_names_are_free(repo: Path, home: Path) -> None:
    put(home / ".gitconfig", f"[core]\n\texcludesFile = {repo}/ignore\n\tattributesFile = {repo}/attributes\n")
    assert hooks_in(str(repo)) == () and in_tree(str(repo / ".git"), str(repo)) == []
