"""Nothing that a repository's own configuration names runs on the host, and no call writes what git goes by."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.attacks.running import Attacker, bash, call
from tests.attacks.world import GIT_ENV, World, put

SURFACES = ("tui", "plain", "headless", "doctor", "tasks list")
BWRAP = pytest.mark.parametrize(("sandbox", "user_name"), [("bwrap", "root")], indirect=True)


def git(root: Path, *words: str, check: bool = True) -> str:
    """As the user's own, whoever owns the folder."""
    argv = ("git", "-c", "safe.directory=*", *words)
    done = subprocess.run(argv, cwd=root, check=check, capture_output=True, text=True, env=GIT_ENV)
    return done.stdout.strip()


def make_stat_dirty(root: Path) -> None:
    """As a folder that was unpacked: git has to look into each file."""
    for path in root.rglob("*"):
        if ".git" not in path.parts and path.is_file():
            os.utime(path, (1_000_000_000, 1_000_000_000))


def filters(world: World) -> None:
    put(world.project / ".gitattributes", "* filter=x diff=x merge=x\n*.py filter=y\n")
    world.make_repository()
    config = world.project / ".git/config"
    lines = [
        "[core]",
        f'\tfsmonitor = "{world.program("fsmonitor")}; false"',
        f"\thooksPath = {world.project}/hooks",
        f'\tsshCommand = "{world.program("ssh")}; false"',
        f'\tpager = "{world.program("pager")}; cat"',
        f'\teditor = "{world.program("editor")}; false"',
        f'[filter "x"]\n\tclean = "{world.program("clean")}; cat"\n\tsmudge = "{world.program("smudge")}; cat"',
        f'[filter "y"]\n\tprocess = "{world.program("process")}; false"',
        f'[diff]\n\texternal = "{world.program("external")}; true"',
        f'[diff "x"]\n\ttextconv = "{world.program("textconv")}; cat"\n\tcommand = "{world.program("diff")}; true"',
        f'[merge "x"]\n\tdriver = "{world.program("merge")}; true"',
        f'[alias]\n\tstatus = "!{world.program("alias")}"\n\tdiff = "!{world.program("alias")}"',
        f'[credential]\n\thelper = "!{world.program("credential")}"',
        f'[gpg]\n\tprogram = "{world.host}/gpg"\n[commit]\n\tgpgSign = true\n[log]\n\tshowSignature = true',
    ]
    config.write_text(config.read_text() + "\n".join(lines) + "\n")
    for hook in ("pre-commit", "post-index-change", "reference-transaction", "post-checkout", "fsmonitor-watchman"):
        put(world.project / "hooks" / hook, f"#!/bin/sh\n{world.program(hook)}\n", executable=True)
        put(world.project / ".git/hooks" / hook, f"#!/bin/sh\n{world.program(hook)}\n", executable=True)
    make_stat_dirty(world.project)


def partial_clone(world: World) -> None:
    world.make_repository()
    config = world.project / ".git/config"
    config.write_text(
        config.read_text().replace("repositoryformatversion = 0", "repositoryformatversion = 1")
        + "[extensions]\n\tpartialClone = origin\n"
        + '[remote "origin"]\n\tpromisor = true\n\turl = .\n\tfetch = +refs/heads/*:refs/remotes/origin/*\n'
        + f'\tuploadpack = "{world.program("uploadpack")}; false"\n'
    )
    tree = git(world.project, "rev-parse", "HEAD^{tree}")
    (world.project / ".git/objects" / tree[:2] / tree[2:]).unlink()


def elsewhere(world: World) -> None:
    """The folder itself has only a file that says where its repository is: in the folder too, with filters."""
    filters(world)
    (world.project / ".git").rename(world.project / "evil")
    put(world.project / ".git", "gitdir: evil\n")


def included(world: World) -> None:
    filters(world)
    (world.project / ".git/config").rename(world.project / "included")
    put(
        world.project / ".git/config",
        f"[core]\n\trepositoryformatversion = 0\n[include]\n\tpath = {world.project}/included\n"
        f'[includeIf "gitdir:{world.project}/"]\n\tpath = ../included\n',
    )


def of_a_worktree(world: World) -> None:
    filters(world)
    config = world.project / ".git/config"
    config.rename(world.project / ".git/config.worktree")
    put(config, "[core]\n\trepositoryformatversion = 1\n[extensions]\n\tworktreeConfig = true\n")


def bare(world: World) -> None:
    """A bare repository's files lie in the folder itself."""
    filters(world)
    shutil.rmtree(world.project / "hooks")
    shutil.copytree(world.project / ".git", world.project, dirs_exist_ok=True)
    shutil.rmtree(world.project / ".git")


REPOSITORIES = (filters, partial_clone, elsewhere, included, of_a_worktree, bare)


@BWRAP
@pytest.mark.parametrize("surface", SURFACES)
@pytest.mark.parametrize("make", [filters, partial_clone], ids=lambda make: make.__name__)
def test_opening_a_folder_runs_nothing_of_it(world: World, attacker: Attacker, surface: str, make: object) -> None:
    assert callable(make)
    make(world)
    outcome = attacker.opens(surface)
    assert world.untouched(outcome.said) == []


@pytest.mark.parametrize(
    ("sandbox", "user_name", "make"),
    [*(("bwrap", "user", make) for make in REPOSITORIES[2:]), ("partial", "root", filters), ("none", "root", filters)],
    indirect=["sandbox", "user_name"],
)
def test_nothing_of_it_runs_at_a_screen(world: World, attacker: Attacker, make: object) -> None:
    assert callable(make)
    make(world)
    outcome = attacker.opens("tui")
    assert world.untouched(outcome.said) == []


@pytest.mark.parametrize(
    ("sandbox", "user_name", "make"),
    [*(("bwrap", "root", make) for make in REPOSITORIES), ("bwrap", "user", filters), ("none", "user", filters)],
    indirect=["sandbox", "user_name"],
)
def test_nothing_of_it_runs_while_a_session_works_in_it(world: World, attacker: Attacker, make: object) -> None:
    assert callable(make)
    make(world)
    outcome = attacker.session(
        bash("git status"),
        call("git_status"),
        call("git_diff"),
        call("git_log"),
        call("Write", file_path="new.txt", content="new"),
        call("Edit", file_path="a.txt", old_string="a", new_string="b"),
        bash("git diff; git log -p -1; git show; git grep a; git blame a.txt"),
        profile="trusted",
    )
    assert world.untouched(outcome.said) == [], outcome.texts


@pytest.mark.parametrize(("sandbox", "user_name"), [("bwrap", "root"), ("none", "user")], indirect=True)
def test_files_written_by_calls_alone_give_git_no_program(world: World, attacker: Attacker) -> None:
    world.make_repository()
    evil = f'[core]\n\tbare = false\n[filter "x"]\n\tclean = "{world.program("clean")}; cat"\n'
    outcome = attacker.session(
        call("Write", file_path="evil/config", content=evil),
        call("Write", file_path="evil/objects/k", content=""),
        call("Write", file_path="evil/refs/k", content=""),
        call("Write", file_path=".gitattributes", content="* filter=x\n"),
        call("Write", file_path=".git/commondir", content="../evil\n"),
        call("Read", file_path="a.txt"),
        call("Write", file_path="a.txt", content="b\n"),
        surface="tui",
    )
    assert world.untouched(outcome.said) == [], outcome.texts
    git(world.project, "status")
    assert world.untouched() == []


@BWRAP
def test_a_repository_that_a_call_makes_gives_git_no_program(world: World, attacker: Attacker) -> None:
    plant = f"""
open(".git/config", "a").write('[filter "x"]\\n\\tclean = "{world.program("clean")}; cat"\\n')
open(".gitattributes", "w").write("* filter=x\\n")
open("a.txt", "w").write("c\\n")
"""
    put(world.project / "plant.py", plant)
    outcome = attacker.session(
        bash("git init -q . && git add a.txt && python3 plant.py"),
        call("Write", file_path="a.txt", content="b\n"),
        bash("git status"),
        profile="trusted",
        surface="tui",
    )
    assert world.untouched(outcome.said) == [], outcome.texts
    if (world.project / ".git").exists():
        git(world.project, "status")
    assert world.untouched() == []


WRITTEN = (
    ".git/commondir",
    ".git/config.worktree",
    ".git/config",
    ".git/hooks/pre-commit",
    ".git/HEAD",
    ".git/index",
    ".git/info/attributes",
    ".git/info/exclude",
    ".git/objects/info/alternates",
    ".git/modules/lib/config",
    ".git/modules/lib/hooks/post-checkout",
    ".git/worktrees/w/gitdir",
    ".git/worktrees/w/config.worktree",
    ".git/refs/heads/new",
    ".git/packed-refs",
    "sub/.git",
    "sub/.git/commondir",
    "sub/.git/config",
    "SUB/.GIT/config",
)


@BWRAP
def test_no_call_writes_below_a_git_folder(world: World, attacker: Attacker) -> None:
    world.make_repository()
    (world.project / "sub").mkdir()
    inside = [call("Write", file_path=path, content="x") for path in WRITTEN]
    before = {path: (world.project / path).read_bytes() for path in WRITTEN if (world.project / path).is_file()}
    outcome = attacker.session(*inside, profile="trusted")
    assert [one.arguments["file_path"] for one in outcome.calls if one.verdict == "allow"] == []
    after = {path: (world.project / path).read_bytes() for path in WRITTEN if (world.project / path).is_file()}
    assert after == before


NEST = """
import os
for root in ("vendor/lib/.git", "docs"):
    for folder in ("objects", "refs"):
        os.makedirs(f"{root}/{folder}", exist_ok=True)
    open(f"{root}/HEAD", "w").write("ref: refs/heads/main\\n")
    open(f"{root}/config", "w").write('[core]\\n\\tbare = false\\n\\tworktree = .\\n\\tfsmonitor = "PROGRAM; false"\\n')
"""


@pytest.mark.parametrize("user_name", ["root", "user"], indirect=True)
@pytest.mark.parametrize("sandbox", ["bwrap"], indirect=True)
def test_a_repository_that_appears_below_gives_git_no_program(world: World, attacker: Attacker) -> None:
    put(world.project / "nest.py", NEST.replace("PROGRAM", world.program("nested")))
    world.make_repository()
    outcome = attacker.session(bash("python3 nest.py"))
    assert world.untouched(outcome.said) == []
    for folder in ("vendor/lib", "vendor/lib/.git"):
        if (world.project / folder).is_dir():
            git(world.project / folder, "status", check=False)
    assert world.untouched() == [], outcome.texts


@pytest.mark.parametrize("user_name", ["root", "user"], indirect=True)
@pytest.mark.parametrize("sandbox", ["bwrap"], indirect=True)
@pytest.mark.parametrize(("planted", "profile"), [("by a call", "trusted"), ("with the repository", "normal")])
def test_a_file_that_names_another_repository_opens_it_to_no_call(
    world: World, attacker: Attacker, planted: str, profile: str
) -> None:
    git_file = f"gitdir: {world.other}/.git\n"
    lines = [
        "import os, subprocess",
        "os.makedirs('sub', exist_ok=True)",
        "if not os.path.exists('sub/.git'):",
        f"    open('sub/.git', 'w').write({git_file!r})",
        f"print(subprocess.run(['git', '--git-dir={world.other}/.git', 'show', 'HEAD'], capture_output=True))",
        f"for path in ('{world.other}/.git/commondir', '{world.other}/.git/hooks/pre-commit', '{world.other}/x'):",
        "    try:",
        "        open(path, 'w').write('x')",
        "    except OSError as error:",
        "        print(error)",
    ]
    put(world.project / "open.py", "\n".join(lines))
    put(world.project / "x", "x")
    if planted == "with the repository":
        world.make_repository()
        put(world.project / "sub/.git", git_file)
    else:
        world.make_repository()
    outcome = attacker.session(
        bash("python3 open.py"),
        bash("python3 open.py"),
        bash("git add x && python3 open.py"),
        bash("cd sub && git log -p; git show HEAD"),
        call("git_log"),
        profile=profile,
    )
    assert world.untouched(outcome.said) == [], outcome.texts
