"""Other version control and package tools run what files in a tree name: no call writes those unasked."""

from pathlib import Path

import pytest

from quintet.domain.dials.axes import Axes, PermissionProfile, RunControl, WorkMode
from quintet.domain.permission.effects import Effect
from quintet.domain.permission.gate import Sandbox, Verdict
from tests.attacks.test_brought_by_git import git
from tests.attacks.test_sandbox_reach import BWRAP, Inside
from tests.attacks.world import put
from tests.tools.calling import Caller

NORMAL = Axes(WorkMode.BUILD, RunControl.AUTONOMOUS, PermissionProfile.NORMAL)
KINDS = [BWRAP, Sandbox.PARTIAL, Sandbox.NONE]
NEVER = [
    *(".hg/hgrc", "sub/.hg/hgrc", ".hg/sharedpath", ".jj/repo/config.toml", "a/.jj/repo", ".sl/config"),
    *(".pijul/config", "_darcs/prefs/defaults", ".bzr/branch/branch.conf"),
]
ASKED = [".yarnrc.yml", ".yarn/releases/y.cjs", "p/.cargo/config.toml", ".cargo/config", ".pnpmfile.cjs", ".hgrc"]


@pytest.mark.parametrize("path", NEVER)
def test_a_file_tool_writes_nothing_into_them(repo: Path, path: str) -> None:
    assert Caller(repo).verdict("Write", NORMAL, file_path=path, content="x") is Verdict.DENY


@pytest.mark.parametrize("path", ASKED)
def test_what_is_edited_in_normal_work_asks(repo: Path, path: str) -> None:
    assert Caller(repo).verdict("Write", NORMAL, file_path=path, content="x") is Verdict.ASK


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("path", [*NEVER, *ASKED])
def test_what_a_command_plants_is_moved_aside(repo: Path, kind: Sandbox, path: str) -> None:
    done = Inside(repo, kind)(f"mkdir -p $(dirname {path}); echo evil > {path}")
    assert not (repo / path).exists(), done.output
    assert done.notes


@pytest.mark.parametrize("path", [*(path for path in NEVER if path != "a/.jj/repo"), *ASKED])
@pytest.mark.system("bwrap")
def test_what_is_there_stays_as_it_is(repo: Path, path: str) -> None:
    put(repo / path, "mine\n")
    first, _, rest = path.partition("/")
    inside = Inside(repo, Sandbox.BWRAP)
    inside(f"echo evil > {path}; rm -f {path}; echo evil > x; mv x {path}")
    assert (repo / path).read_text() == "mine\n"
    if rest:  # the folder above it can be renamed, and another one made
        inside(f"mv {first} away; mkdir -p $(dirname {path}); echo evil > {path}")
        assert not (repo / path).exists() or (repo / path).read_text() == "mine\n"


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "line",
    [
        "mkdir -p e/repo; ln -s e .jj",
        "mkdir -p v/.jj evil; echo ../../evil > v/.jj/repo; echo x > evil/config.toml",
        "mv .jj away; mkdir .jj; echo ../evil > .jj/repo",
        "ln -s evil .cargo",
        "ln -s evil .yarn",
        "mkdir e; ln -s ../evil e/.hg",
        "mkdir h; echo x > h/hgrc; mv h .hg",
    ],
)
def test_nor_does_another_folder_or_link_take_their_place(repo: Path, kind: Sandbox, line: str) -> None:
    put(repo / ".jj/repo/store/type", "git\n")
    if "jj" in line and "mv .jj" not in line:
        line = line.replace(".jj", "n/.jj").replace("mkdir -p", "mkdir -p n", 1).replace("ln -s e n", "ln -s ../e n")
    done = Inside(repo, kind)(line)
    left = [path for name in (".jj", ".cargo", ".yarn", ".hg") for path in repo.rglob(name) if path != repo / ".jj"]
    assert left == [], done.output
    assert not (repo / ".jj/repo").is_file()
    assert done.notes


@pytest.mark.parametrize("kind", KINDS)
def test_their_own_programs_work_on(repo: Path, kind: Sandbox) -> None:
    """What they write beside their settings, and what package tools write beside theirs."""
    for path in (".hg/hgrc", ".jj/repo/config.toml", ".cargo/config.toml", ".yarnrc.yml"):
        put(repo / path, "mine\n")
    put(repo / "lib/.hg/dirstate", "mine\n")
    line = "set -e; mkdir .hg/store .jj/repo/op_store .yarn; echo a > .hg/dirstate; echo b > .jj/repo/op_store/x"
    done = Inside(repo, kind)(f"{line}; echo c > .yarn/install-state.gz; echo d > .cargo/audit.toml; mv lib lib2")
    assert (done.exit_code, done.notes) == (0, ()), done.output
    assert (repo / "lib2/.hg/dirstate").read_text() == "mine\n"
    assert (repo / ".jj/repo/op_store/x").read_text() == "b\n"


@pytest.mark.parametrize("kind", KINDS)
def test_git_brings_the_settings_of_package_tools(repo: Path, kind: Sandbox) -> None:
    put(repo / ".yarnrc.yml", "old\n")
    git(repo, "add", "-A")
    git(repo, "commit", "-qm", "old")
    git(repo, "checkout", "-qb", "side")
    put(repo / ".yarnrc.yml", "new\n")
    put(repo / ".cargo/config.toml", "new\n")
    put(repo / ".yarn/releases/y.cjs", "new\n")
    git(repo, "add", "-A")
    git(repo, "commit", "-qm", "new")
    git(repo, "checkout", "-q", "-")
    inside = Inside(repo, kind)
    done = inside("git checkout -q side", Effect.EDIT, Effect.COMMIT)
    assert done.exit_code == 0, done.output
    for path in (".yarnrc.yml", ".cargo/config.toml", ".yarn/releases/y.cjs"):
        assert (repo / path).read_text() == "new\n"
    inside("echo evil > .yarnrc.yml; git checkout -q .", Effect.EDIT, Effect.COMMIT)
    inside("echo evil > .yarnrc.yml", Effect.EDIT, Effect.COMMIT)
    assert (repo / ".yarnrc.yml").read_text() == "new\n"
