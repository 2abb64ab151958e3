"""What a command leaves in a protected place is moved aside, however it hides it or bars the way to it."""

import asyncio
import os
import subprocess
from pathlib import Path

import pytest

from quintet.adapters.processes.processes import LocalProcesses
from quintet.domain.permission.effects import Effect, Grant
from quintet.domain.permission.gate import Sandbox
from quintet.domain.ports.ports import Finished
from tests.adapters.processes.test_background_shells import until
from tests.attacks.running import Attacker, bash, call
from tests.attacks.test_sandbox_reach import Inside
from tests.attacks.world import World, make_repository, put
from tests.tools.calling import Caller

EXECUTE, COMMIT = Effect.EXECUTE, Effect.COMMIT
BWRAP = pytest.mark.parametrize("sandbox", ["bwrap"], indirect=True)
PLANT = """\
import os, subprocess, sys
def plant(folder, config):
    os.makedirs(f"{folder}/.git/objects", exist_ok=True)
    os.makedirs(f"{folder}/.git/refs", exist_ok=True)
    with open(f"{folder}/.git/HEAD", "w") as file: file.write("ref: refs/heads/main\\n")
    with open(f"{folder}/.git/config", "w") as file: file.write(config)
"""
MONITOR = "[core]\\n\\tfsmonitor = {program}\\n"


@pytest.fixture
def inside(repo: Path) -> Inside:
    return Inside(repo, Sandbox.BWRAP)


bwrap = pytest.mark.system("bwrap")


@bwrap
def test_a_time_stamp_that_was_put_back_hides_nothing(inside: Inside) -> None:
    put(inside.root / "sub/a.txt", "a")
    os.utime(inside.root / "sub", (1, 1))
    os.utime(inside.root, (1, 1))
    script = PLANT + (
        "old = {name: os.stat(name) for name in ('.', 'sub')}\nplant('sub', '')\nos.makedirs('.claude')\n"
        "open('.claude/settings.json', 'w').close()\n"
        "for name, was in old.items(): os.utime(name, ns=(was.st_atime_ns, was.st_mtime_ns))\n"
    )
    put(inside.root / "t.py", script)
    os.utime(inside.root, (1, 1))
    inside("ls")
    done = inside("python3 t.py")
    assert not (inside.root / "sub/.git").exists()
    assert not (inside.root / ".claude").exists()
    assert len(done.notes) == 1


@bwrap
def test_a_folder_that_a_command_closed_is_not_left_unprotected(inside: Inside) -> None:
    put(inside.root / "conf/.env", "TOKEN=sk-canary")
    put(inside.root / "conf/.vscode/tasks.json", "{}")
    inside("chmod 000 conf")
    done = inside("chmod 755 conf; cat conf/.env; echo x > conf/.vscode/tasks.json; echo x > conf/.vscode/launch.json")
    assert "sk-canary" not in done.output
    assert (inside.root / "conf/.vscode/tasks.json").read_text() == "{}"
    assert not (inside.root / "conf/.vscode/launch.json").exists()


@BWRAP
@pytest.mark.parametrize("user_name", ["user"], indirect=True)
def test_no_name_of_a_folder_ends_the_list_of_what_is_covered(world: World, attacker: Attacker) -> None:
    world.make_repository()
    put(world.project / "zz.key", "sk-canary-of-a-key")
    put(world.project / "one.py", "import os\nos.mkdir('--')\nos.chmod('--', 0)\n")
    outcome = attacker.session(bash("python3 one.py"), bash("python3 -c 'print(1)' ; cat zz.*"), bash("ls"))
    assert "sk-canary" not in outcome.said, outcome.texts
    assert "zz.key" in outcome.texts, outcome.texts


@BWRAP
@pytest.mark.parametrize("user_name", ["user"], indirect=True)
def test_taking_rights_away_keeps_nothing_from_being_moved(world: World, attacker: Attacker) -> None:
    world.make_repository()
    program = world.program("monitor")
    lines = [PLANT, f"config = {MONITOR.format(program=program)!r}.encode().decode('unicode_escape')"]
    lines += ["plant('one', config)", "os.chmod('one/.git', 0o555)"]
    lines += ["plant('two', config)", "os.chmod('two', 0o555)"]
    lines += ["plant('three', config)", "os.chmod('three', 0)"]
    lines += ["os.makedirs('.claude/agents')", "os.chmod('.claude', 0o555)"]
    put(world.project / "plant.py", "\n".join(lines))
    outcome = attacker.session(bash("python3 plant.py"), bash("ls"))
    for name in ("one/.git", "two/.git", "three/.git", ".claude"):
        assert not (world.project / name).exists(), outcome.texts
    assert world.untouched(outcome.said) == [], outcome.texts


@bwrap
def test_what_cannot_be_moved_to_another_file_system_gets_another_name(repo: Path, tmp_path: Path) -> None:
    from quintet.adapters.protected.moved_aside import move_aside

    other = Path("/dev/shm") if os.stat("/dev/shm").st_dev != os.stat(repo).st_dev else None
    if other is None:
        pytest.skip("needs a second file system")
    put(repo / "sub/.git/HEAD", "ref: refs/heads/main\n")
    os.mkfifo(repo / "sub/.git/aaa")
    store = other / f"quintet-test-{os.getpid()}"
    try:
        moved = move_aside(str(repo), str(repo / "sub/.git"), str(store))
    finally:
        store.rmdir()
    assert not (repo / "sub/.git").exists()
    assert Path(moved).parent == repo / "sub"
    assert (Path(moved) / "aaa").is_fifo()


@bwrap
@pytest.mark.parametrize(
    "config",
    [
        '[a] [core] fsmonitor = "x"\n',
        '\ufeff[core]fsmonitor="x"\n',
        "#" * 300_000 + "\n[core]\n\tfsmonitor = x\n",
        "[core]\n\tbare = false\n\tfsmonitor\\\n = x\n",
        "[extensions]\n\tpartialClone = origin\n",
    ],
    ids=["two sections in a line", "byte order mark", "long comment", "continued", "lazy fetch"],
)
def test_a_repository_stays_only_if_git_itself_reads_it_as_plain(inside: Inside, config: str) -> None:
    put(inside.root / "config", config)
    inside("git init -q s1 && cp config s1/.git/config", EXECUTE, COMMIT)
    assert not (inside.root / "s1/.git").exists()
    inside("git init -q s2", EXECUTE, COMMIT)
    assert (inside.root / "s2/.git/HEAD").exists()


def _beside(root: Path, first: str, *lines: tuple[str, tuple[Effect, ...]]) -> list[Finished]:
    """Commands one after the other beside one that runs in the background until all are over."""
    containment = Caller(root, Sandbox.BWRAP).containment

    async def run() -> list[Finished]:
        processes = LocalProcesses(containment)

        async def one(line: str, effects: tuple[Effect, ...]) -> Finished:
            grant = Grant(effects, (str(root),))
            return await processes.run(("bash", "-c", line), cwd=str(root), grant=grant, timeout=60)

        behind = asyncio.create_task(one(first, (EXECUTE,)))
        await until((root / "ready").exists)
        try:
            return [*[await one(*line) for line in lines], await behind]
        finally:
            await processes.close()

    return asyncio.run(run())


@bwrap
def test_a_repository_that_another_command_could_change_does_not_stay(repo: Path) -> None:
    behind = "touch ready; until [ -e go ]; do sleep 0.01; done; echo '[core] fsmonitor = x' >> s1/.git/config; true"
    _beside(repo, behind, ("git init -q s1", (EXECUTE, COMMIT)), ("touch go", (EXECUTE,)))
    assert not (repo / "s1/.git/config").exists()


@bwrap
@pytest.mark.parametrize(
    "line",
    [
        "echo ../evil > {git}/commondir",
        "echo x > {git}/config.worktree",
        "mkdir -p {git}/modules/lib/hooks; touch {git}/modules/lib/HEAD {git}/modules/lib/hooks/post-checkout",
        "mkdir -p {git}/modules/lib; cd {git}/modules/lib; touch HEAD; git config --file config core.fsmonitor x",
        "mkdir -p {git}/worktrees/w; echo ../../../evil > {git}/worktrees/w/commondir",
        "mkdir -p {git}/rebase-merge; echo 'exec touch canary' > {git}/rebase-merge/git-rebase-todo",
        "mkdir -p {git}/sequencer; echo 'x touch canary' > {git}/sequencer/todo",
    ],
)
@pytest.mark.parametrize("where", ["repository", "worktree"])
def test_what_appears_in_a_git_folder_and_names_programs_does_not_stay(
    tmp_path: Path, repo: Path, where: str, line: str
) -> None:
    root, git = repo, repo / ".git"
    if where == "worktree":
        root = tmp_path / "wt"
        subprocess.run(("git", "-C", str(repo), "worktree", "add", "-q", str(root)), check=True)
    before = sorted(str(path) for path in git.rglob("*"))
    Inside(root, Sandbox.BWRAP)(line.format(git=git), EXECUTE, COMMIT)
    after = {str(path) for path in git.rglob("*")} - set(before)
    assert not [path for path in after if Path(path).name in _NAMING], after


_NAMING = ("commondir", "config.worktree", "post-checkout", "config", "git-rebase-todo", "todo")


@bwrap
def test_what_git_itself_makes_in_its_folder_stays(tmp_path: Path, inside: Inside) -> None:
    lib = tmp_path / "lib"
    put(lib / "a.txt", "a")
    make_repository(lib)
    subprocess.run(("cp", "-r", str(lib), str(inside.root / "vendored")), check=True)
    git = "git -c user.name=a -c user.email=a@example.com -c protocol.file.allow=always"
    done = inside(f"{git} submodule add -q ./vendored sub && {git} worktree add -q tree", EXECUTE, COMMIT)
    assert done.exit_code == 0, done.output
    assert (inside.root / ".git/modules/sub/config").exists(), done.notes
    assert (inside.root / ".git/worktrees/tree/gitdir").exists(), done.notes
    assert (inside.root / "tree/.git").exists()


@bwrap
def test_a_folder_renamed_and_made_anew_holds_nothing_new(inside: Inside) -> None:
    root = inside.root
    put(root / ".config/fish/a.fish", "{}")
    put(root / ".github/workflows/ci.yml", "on: push")
    put(root / "tools/hooks/post-merge", "")
    put(root / "sub/a.txt", "a")
    make_repository(root / "sub")
    subprocess.run(("git", "-C", str(root), "config", "core.hooksPath", "tools/hooks"), check=True)
    put(
        root / "mv.py",
        PLANT + "for at, name in enumerate(('sub', '.config', '.github', 'tools')): os.rename(name, f'x{at}')\n"
        "plant('sub', '[core]\\n\\tfsmonitor = x\\n')\n"
        "for path in ('.config/fish/a.fish', '.github/workflows/ci.yml', 'tools/hooks/pre-commit'):\n"
        "    os.makedirs(os.path.dirname(path)); open(path, 'w').write('evil')\n",
    )
    done = inside("python3 mv.py")
    there = [".config/fish/a.fish", ".github/workflows/ci.yml", "tools/hooks/pre-commit", "sub/.git"]
    assert [name for name in there if (root / name).exists()] == [], (done.output, done.notes)
    assert "made tools/hooks, .config/fish, .github/workflows and sub/.git. " in " ".join(done.notes)


@bwrap
@pytest.mark.parametrize("how", ["missing", "included", "included from a file"])
def test_hooks_that_git_takes_from_the_tree_are_not_written(inside: Inside, how: str) -> None:
    root, hooks = inside.root, inside.root / "inc/hooks"
    config = ("git", "-C", str(root), "config")
    if how == "missing":
        subprocess.run((*config, "core.hooksPath", "inc/hooks"), check=True)
    else:
        put(hooks / "post-merge", "")
        file = root / "more.gitconfig" if how == "included" else root / "conf/one"
        put(file, "[core]\n\thooksPath = inc/hooks\n")
        if how != "included":
            put(root / "more.gitconfig", "[include]\n\tpath = conf/one\n")
        subprocess.run((*config, "include.path", "../more.gitconfig"), check=True)
    inside("mkdir -p inc/hooks; echo evil > inc/hooks/pre-commit")
    assert not (hooks / "pre-commit").exists()


@BWRAP
@pytest.mark.parametrize("user_name", ["root"], indirect=True)
def test_file_tools_ask_before_they_write_hooks_that_git_takes_from_the_tree(world: World, attacker: Attacker) -> None:
    world.make_repository()
    subprocess.run(("git", "-C", str(world.project), "config", "core.hooksPath", "inc/hooks"), check=True)
    outcome = attacker.session(call("Write", file_path="inc/hooks/pre-commit", content="evil"))
    assert not (world.project / "inc/hooks/pre-commit").exists(), outcome.texts
