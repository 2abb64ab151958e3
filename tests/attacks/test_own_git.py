"""Whatever a repository names in its configuration, attributes, hooks or submodules: a look at it runs none of it."""

import asyncio
import contextlib
import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from quintet.adapters.files.file_finder import files_below
from quintet.adapters.files.paths import locate
from quintet.adapters.files.project_files import ProjectFiles
from quintet.adapters.git.checkpoint_store import ShadowCheckpoints
from quintet.adapters.git.git_folders import git_folders
from quintet.adapters.git.repository import GitRepository, branch
from quintet.adapters.sandbox import confine
from quintet.adapters.tasks.health_probe import ProjectHealth
from quintet.app.terminal_ui import surroundings
from quintet.domain.base.errors import UsageError
from quintet.domain.permission.gate import Sandbox
from quintet.domain.turn.review_subject import WORKING_TREE
from tests.attacks.world import GIT_ENV, put
from tests.tools.calling import Caller

Plant = Callable[[Path, str], None]


def git(root: Path, *words: str) -> str:
    done = subprocess.run(("git", *words), cwd=root, check=True, capture_output=True, text=True, env=GIT_ENV)
    return done.stdout.strip()


def configure(root: Path, text: str, file: str = ".git/config") -> None:
    with (root / file).open("a") as config:
        config.write(text)


def attribute(root: Path) -> None:
    put(root / ".gitattributes", "* filter=x diff=x merge=x\n")


def drivers(program: str) -> str:
    """Every way to name a program that a command which only looks could come by."""
    return f"""
[filter "x"]
\tclean = {program}; cat
\tsmudge = {program}; cat
\trequired = true
[diff "x"]
\ttextconv = {program}; cat
\tcommand = {program}; true
[diff]
\texternal = {program}; true
\tsubmodule = log
[merge "x"]
\tdriver = {program}; true
[core]
\tfsmonitor = {program}; false
\tpager = {program}; cat
\teditor = {program}; true
\tsshCommand = {program}; false
\taskPass = {program}; true
\talternateRefsCommand = {program}; true
[pager]
\tstatus = {program}; cat
\tdiff = {program}; cat
\tlog = {program}; cat
[alias]
\tstatus = "!{program}"
\tls-files = "!{program}"
[gpg]
\tprogram = {program}; true
[log]
\tshowSignature = true
[status]
\tsubmoduleSummary = true
[credential]
\thelper = "!{program}"
[interactive]
\tdiffFilter = {program}; cat
[trailer "x"]
\tcommand = {program}
"""


def by_configuration(root: Path, program: str) -> None:
    attribute(root)
    configure(root, drivers(program))


def by_a_filter_process(root: Path, program: str) -> None:
    attribute(root)
    configure(root, f'[filter "x"]\n\tprocess = {program}; false\n')


def by_attributes_in_the_git_folder(root: Path, program: str) -> None:
    put(root / ".git/info/attributes", "* filter=x diff=x\n")
    configure(root, drivers(program))


def by_an_include(root: Path, program: str) -> None:
    attribute(root)
    put(root / "more", drivers(program))
    configure(root, f'[include]\n\tpath = ../more\n[includeIf "gitdir:{root}/"]\n\tpath = {root}/more\n')


def by_a_configuration_of_the_work_tree(root: Path, program: str) -> None:
    attribute(root)
    configure(root, "[core]\n\trepositoryFormatVersion = 1\n[extensions]\n\tworktreeConfig = true\n")
    put(root / ".git/config.worktree", drivers(program))


def by_another_common_folder(root: Path, program: str) -> None:
    attribute(root)
    put(root / "evil/config", f"[core]\n\tbare = false\n{drivers(program)}")
    put(root / "evil/objects/k", "")
    put(root / "evil/refs/k", "")
    put(root / ".git/commondir", "../evil\n")


def by_a_lazy_fetch(root: Path, program: str) -> None:
    tree = git(root, "rev-parse", "HEAD^{tree}")
    os.unlink(root / ".git/objects" / tree[:2] / tree[2:])
    configure(root, "[core]\n\trepositoryFormatVersion = 1\n[extensions]\n\tpartialClone = origin\n")
    configure(root, f'[remote "origin"]\n\turl = .\n\tpromisor = true\n\tuploadpack = "{program}; false"\n')


def by_an_unpacked_filter_promisor(root: Path, program: str) -> None:
    by_a_lazy_fetch(root, program)
    configure(
        root, f'\tvcs = x\n\tpartialCloneFilter = blob:none\n[protocol]\n\tallow = always\n[url "ext::{program}"]\n'
    )
    configure(root, '\tinsteadOf = "."\n')


def by_hooks(root: Path, program: str) -> None:
    for name in ("post-index-change", "reference-transaction", "fsmonitor-watchman", "post-checkout", "query-watchman"):
        put(root / ".git/hooks" / name, f"#!/bin/sh\n{program}\n", executable=True)
        put(root / "hooks" / name, f"#!/bin/sh\n{program}\n", executable=True)
    configure(root, "[core]\n\thooksPath = hooks\n\tfsmonitor = .git/hooks/fsmonitor-watchman\n")


def by_a_git_file(root: Path, program: str) -> None:
    by_configuration(root, program)
    (root / ".git").rename(root / "evil")
    put(root / ".git", "gitdir: evil\n")


def by_a_git_file_that_is_pointed_back_at(root: Path, program: str) -> None:
    by_a_git_file(root, program)
    configure(root, f"[core]\n\tworktree = {root}\n", "evil/config")


def by_a_git_link(root: Path, program: str) -> None:
    by_configuration(root, program)
    (root / ".git").rename(root / "evil")
    (root / ".git").symlink_to("evil")


def by_a_work_tree_of_its_own(root: Path, program: str) -> None:
    """A worktree whose other end lies in the project as well."""
    by_configuration(root, program)
    (root / ".git").rename(root / "evil")
    own = root / "evil/worktrees/w"
    for name in ("HEAD", "index"):
        put(own / name, (root / "evil" / name).read_bytes())
    put(own / "commondir", "../..\n")
    put(own / "gitdir", f"{root}/.git\n")
    put(root / ".git", "gitdir: evil/worktrees/w\n")


def by_a_submodule(root: Path, program: str) -> None:
    sub = root / "sub"
    put(sub / "s.txt", "s\n")
    git(sub, "init", "-q")
    git(sub, "add", "-A")
    git(sub, "commit", "-qm", "s")
    git(root, "-c", "advice.addEmbeddedRepo=false", "add", "sub")
    put(root / ".gitmodules", '[submodule "sub"]\n\tpath = sub\n\turl = ./sub\n\tignore = none\n')
    configure(root, '[submodule "sub"]\n\tactive = true\n\tignore = none\n[diff]\n\tignoreSubmodules = none\n')
    attribute(sub)
    configure(sub, drivers(program))
    put(sub / "s.txt", "t\n")


def by_a_split_index(root: Path, program: str) -> None:
    git(root, "update-index", "--split-index")
    by_configuration(root, program)


READING: tuple[tuple[str, dict[str, object]], ...] = (
    ("git_status", {}),
    ("git_diff_unstaged", {}),
    ("git_diff_staged", {}),
    ("git_diff", {"target": "HEAD"}),
    ("git_log", {}),
    ("git_show", {"revision": "HEAD"}),
    ("git_branch_list", {"show_remote": True}),
)
PLANTS = {name.removeprefix("by_"): plant for name, plant in list(globals().items()) if name.startswith("by_")}


@pytest.fixture(params=PLANTS)
def hostile(request: pytest.FixtureRequest, repo: Path, tmp_path: Path) -> Path:
    """A repository as it comes out of an archive: every file looks touched."""
    plant: Plant = PLANTS[request.param]
    plant(repo, f"touch {tmp_path}/ran-on-the-host")
    for folder, _, names in os.walk(repo):
        for name in names:
            if "/.git" not in folder and "/evil" not in folder:
                os.utime(os.path.join(folder, name), (1_600_000_000, 1_600_000_000), follow_symlinks=False)
    return repo


def nothing_ran(tmp_path: Path) -> bool:
    return not (tmp_path / "ran-on-the-host").exists()


def test_the_branch_is_seen_and_nothing_runs(hostile: Path, tmp_path: Path) -> None:
    seen = asyncio.run(branch(str(hostile)))
    assert nothing_ran(tmp_path)
    assert seen.startswith("main") == bool(git_folders(str(hostile)))


def test_checkpoints_are_made_and_nothing_runs(hostile: Path, tmp_path: Path) -> None:
    async def keep() -> None:
        checkpoints = ShadowCheckpoints(str(tmp_path / "checkpoints"), str(hostile))
        snapshot = await checkpoints.snapshot("turn-1")
        assert snapshot.tree
        await checkpoints.tidy(1)
        await checkpoints.close()

    asyncio.run(keep())
    assert nothing_ran(tmp_path)


def test_files_are_found_and_nothing_runs(hostile: Path, tmp_path: Path) -> None:
    assert "tally/count.py" in files_below(str(hostile), str(tmp_path / "no-such-rg"))
    assert ProjectHealth(locate(str(hostile)), list).unfinished_git() == ""
    assert nothing_ran(tmp_path)


@pytest.mark.parametrize("sandbox", [Sandbox.NONE, Sandbox.PARTIAL])
def test_the_reading_git_tools_and_reviews_run_nothing(hostile: Path, tmp_path: Path, sandbox: Sandbox) -> None:
    if sandbox is Sandbox.PARTIAL and not (confine.landlock_version() and confine.network_can_be_blocked()):
        pytest.skip("needs Landlock")
    put(hostile / "tally/count.py", "changed\n")
    tools = Caller(hostile, sandbox)
    for name, words in READING:
        said = tools(name, **words)
        assert nothing_ran(tmp_path), (name, said.content)
    if git_folders(str(hostile)) and (hostile / ".git/objects").exists() and whole(hostile):
        assert " M tally/count.py" in tools.ok("git_status")
        assert "+changed" in tools.ok("git_diff_unstaged")

    async def review() -> None:
        repository = GitRepository(tools.processes, ProjectFiles(str(hostile)))
        with contextlib.suppress(UsageError):
            await repository.subject(WORKING_TREE)
            await repository.line_counts(["tally/count.py"], "HEAD")
            await repository.remote()

    asyncio.run(review())
    assert nothing_ran(tmp_path)


def whole(root: Path) -> bool:
    """Whether nothing that a lazy fetch would bring is missing."""
    return "promisor" not in (root / ".git/config").read_text()


@pytest.mark.parametrize("how", ["alternates", "pack link", "object link", "objects link"])
def test_without_a_sandbox_no_objects_of_another_repository_are_shown(repo: Path, tmp_path: Path, how: str) -> None:
    """A planted list, or a link, would lend what is in the user's other repositories."""
    other = tmp_path / "other"
    put(other / "README", "of somebody else\n")
    git(tmp_path, "init", "-q", "-b", "main", str(other))
    git(other, "add", ".")
    git(other, "commit", "-qm", "secret words")
    commit, objects = git(other, "rev-parse", "HEAD"), repo / ".git/objects"
    if how == "alternates":
        put(objects / "info/alternates", f"{other}/.git/objects\n")
    elif how == "pack link":
        git(other, "gc", "-q")
        (objects / "pack").rmdir()
        (objects / "pack").symlink_to(other / ".git/objects/pack")
    elif how == "object link":
        for folder in (other / ".git/objects").glob("??"):
            if not (objects / folder.name).exists():
                (objects / folder.name).symlink_to(folder)
    else:
        objects.rename(tmp_path / "moved")
        objects.symlink_to(other / ".git/objects")
    put(repo / ".git/refs/heads/main", f"{commit}\n")
    tools = Caller(repo, Sandbox.NONE)
    for name, words in READING:
        assert "secret words" not in tools(name, **words).content
        assert "of somebody else" not in tools(name, **words).content


def test_the_tour_is_not_taken_from_the_folder_we_stand_in(repo: Path, tmp_path: Path) -> None:
    put(repo / "quintet/__main__.py", f"open({str(tmp_path / 'ran-on-the-host')!r}, 'w')\n")
    put(repo / "quintet/__init__.py", "")
    argv = surroundings(str(repo), {}).tour
    subprocess.run((*argv[:-1], "--version"), cwd=repo, check=True, capture_output=True)
    assert nothing_ran(tmp_path)
