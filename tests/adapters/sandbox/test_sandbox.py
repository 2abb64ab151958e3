"""The second wall, stone by stone: what a command can do behind each containment, whatever the gate thought of it.

Commands are run with a grant made by hand, so nothing here depends on how a line is judged.
"""

import asyncio
import os
import socket
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from quintet.adapters.processes.host_programs import program
from quintet.adapters.processes.processes import LocalProcesses
from quintet.adapters.sandbox import confine, probe
from quintet.domain.base.errors import ToolFailed
from quintet.domain.permission.effects import Effect, Grant
from quintet.domain.permission.gate import Sandbox
from quintet.domain.ports.ports import Finished
from tests.looking import a_while, alive, put_up_a_room_at_once
from tests.tools.calling import Caller

EDIT, COMMIT, EXECUTE, NETWORK = Effect.EDIT, Effect.COMMIT, Effect.EXECUTE, Effect.NETWORK
KEPT = "kept"  # bubblewrap whose walls stay up from one command to the next
BWRAP = tuple(pytest.param(kind, marks=pytest.mark.system("bwrap")) for kind in (Sandbox.BWRAP, KEPT))
WALLS = (*BWRAP, Sandbox.PARTIAL)
EACH = (*WALLS, Sandbox.NONE)


class Inside:
    """Runs lines in a project, behind one containment."""

    def __init__(self, root: Path, kind: Sandbox | str) -> None:
        self.root = root
        self.kept = kind == KEPT
        self.caller = Caller(root, Sandbox.BWRAP if self.kept else Sandbox(kind))

    def __call__(self, line: str, *effects: Effect, seconds: float = 120, writes: bool = True) -> Finished:
        roots = (str(self.root),) if writes else ()
        grant = Grant(effects or (EXECUTE,), roots, NETWORK in effects)
        processes = LocalProcesses(self.caller.containment)

        async def run() -> Finished:
            try:
                if self.kept:
                    await put_up_a_room_at_once(processes, str(self.root), grant)
                return await processes.run(("bash", "-c", line), cwd=str(self.root), grant=grant, timeout=seconds)
            finally:
                await processes.close()

        return asyncio.run(run())


@pytest.fixture(params=BWRAP)
def bwrap(request: pytest.FixtureRequest, repo: Path) -> Inside:
    return Inside(repo, request.param)


@pytest.fixture(params=WALLS)
def walled(request: pytest.FixtureRequest, repo: Path) -> Inside:
    return Inside(repo, request.param)


@pytest.fixture(params=EACH)
def inside(request: pytest.FixtureRequest, repo: Path) -> Inside:
    return Inside(repo, request.param)


@contextmanager
def listening() -> Iterator[tuple[int, Callable[[], int]]]:
    """A loopback port, and how many came by since the last look."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.setblocking(False)

        def came() -> int:
            count = 0
            with suppress(BlockingIOError):
                while True:
                    server.accept()[0].close()
                    count += 1
            return count

        yield server.getsockname()[1], came


# ── files


def test_the_project_can_be_written_only_with_a_grant_for_it(walled: Inside) -> None:
    assert walled("echo one > written").exit_code == 0
    assert (walled.root / "written").read_text() == "one\n"
    refused = walled("echo two > written", writes=False)
    assert refused.exit_code != 0
    assert (walled.root / "written").read_text() == "one\n"


def test_nothing_outside_the_project_can_be_written(walled: Inside, tmp_path: Path) -> None:
    sibling = tmp_path / "sibling"
    sibling.mkdir()
    (sibling / "kept").write_text("kept")
    home = Path(os.environ["HOME"])
    for target in (f"{sibling}/new", f"{sibling}/kept", f"{home}/.bashrc", "/etc/new", "/usr/local/new", "../new"):
        walled(f"echo planted > {target}; cp {walled.root}/tally/count.py {target}; rm -f {target}")
    assert (sibling / "kept").read_text() == "kept"
    assert sorted(os.listdir(sibling)) == ["kept"]
    assert not (home / ".bashrc").exists()
    assert not any(Path(path).exists() for path in ("/etc/new", "/usr/local/new"))
    assert not (walled.root.parent / "new").exists()


def test_a_link_out_of_the_project_leads_nowhere(walled: Inside, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "kept").write_text("kept")
    walled(f"ln -s {outside} way; echo planted > way/new; echo planted > way/kept")
    walled(f"ln {outside}/kept hard; echo planted > hard")
    assert (outside / "kept").read_text() == "kept"
    assert sorted(os.listdir(outside)) == ["kept"]


@pytest.mark.system("bwrap")
@pytest.mark.parametrize(
    "path", [".env", "conf/.env.local", "key.pem", "id_rsa", ".netrc", ".ssh/id", ".aws/credentials"]
)
def test_a_secret_of_the_project_cannot_be_read_by_any_name(bwrap: Inside, path: str) -> None:
    file = bwrap.root / path
    file.parent.mkdir(exist_ok=True)
    file.write_text("TOKEN=hunter2\n")
    (bwrap.root / "alias").symlink_to(file)
    for line in (
        f"cat {path}",
        "cat alias",
        f"cp {path} copy; cat copy",
        f"ln {path} hard; cat hard",
        f"mv {path} moved; cat moved",
        f"python3 -c 'print(open(\"{path}\").read())'",
        "cat /proc/self/root/$PWD/" + path,
        "grep -r hunter . ",
        f"mv {Path(path).parts[0]} away; cat away away/*",
    ):
        assert "hunter2" not in bwrap(line, EXECUTE, COMMIT).output
    assert "hunter2" in "".join(left.read_text() for left in bwrap.root.rglob(file.name))  # moved perhaps, never lost


@pytest.mark.system("bwrap")
def test_the_home_is_empty_and_the_system_keeps_its_secrets(bwrap: Inside) -> None:
    home = Path(os.environ["HOME"])
    (home / "diary").write_text("dear diary")
    assert "dear" not in bwrap("ls -A ~; cat ~/diary").output
    for path in ("/etc/shadow", "/etc/gshadow"):
        if os.path.exists(path):
            assert bwrap(f"cat {path}").exit_code != 0
    assert (
        bwrap("echo kept > ~/note; mkdir -p ~/.cache; echo kept > ~/.cache/note; echo kept > /tmp/note").exit_code == 0
    )
    assert bwrap("cat ~/.cache/note /tmp/note").output == "kept\nkept\n"
    assert bwrap("cat ~/note").exit_code != 0
    assert not (home / "note").exists()
    assert not os.path.exists("/tmp/note")


# ── git and Quintet's own folders


@pytest.mark.system("bwrap")
@pytest.mark.parametrize("effects", [(EXECUTE,), (EXECUTE, COMMIT)])
@pytest.mark.parametrize(
    "line",
    [
        "echo evil > .git/hooks/pre-commit",
        "mkdir -p .git/hooks; cp tally/count.py .git/hooks/pre-push",
        "git config core.hooksPath /tmp/x",
        "git config alias.st '!evil'",
        "echo evil >> .git/info/attributes",
        "mv .git .git2; mkdir -p .git/hooks; echo evil > .git/hooks/pre-commit",
        "rm -rf .git/hooks; mkdir .git/hooks; echo evil > .git/hooks/pre-commit",
        "mv .git/hooks .git/old; mkdir .git/hooks; echo evil > .git/hooks/pre-commit",
        "echo evil > .quintet/settings.toml",
        "mkdir -p .quintet/tools; echo evil > .quintet/tools/x.py",
        "mv .quintet q; mkdir .quintet; echo evil > .quintet/settings.toml",
    ],
)
def test_hooks_config_and_settings_stay_as_they_are(bwrap: Inside, line: str, effects: tuple[Effect, ...]) -> None:
    (bwrap.root / ".quintet").mkdir()
    (bwrap.root / ".quintet/settings.toml").write_text("[limits]\n")
    before = protected(bwrap.root)
    bwrap(line, *effects)
    assert protected(bwrap.root) == before


def protected(root: Path) -> dict[str, str]:
    """Every protected file and what is in it."""
    places = [root / ".git" / name for name in ("hooks", "config", "info")] + [root / ".quintet"]
    files = [file for place in places for file in (place.rglob("*") if place.is_dir() else [place]) if file.is_file()]
    return {str(file.relative_to(root)): file.read_text() for file in files}


@pytest.mark.system("bwrap")
def test_git_is_written_only_with_a_grant_that_commits(bwrap: Inside) -> None:
    (bwrap.root / "new.txt").write_text("new")
    git = "git -c user.name=a -c user.email=a@example.com"
    assert bwrap(f"git add new.txt && {git} commit -qm new").exit_code != 0
    assert bwrap(f"git add new.txt && {git} commit -qm new", EXECUTE, COMMIT).exit_code == 0
    assert "new" in bwrap("git log --oneline -1", Effect.READ, writes=False).output


def test_a_protected_path_that_appears_is_put_aside_and_told(inside: Inside) -> None:
    done = inside("mkdir -p .quintet/tools && echo evil > .quintet/tools/x.py", EDIT)
    assert not (inside.root / ".quintet/tools").exists()
    (note,) = done.notes
    assert note.startswith(
        "`mkdir -p .quintet/tools && echo evil > .quintet/tools/x.py` made .quintet/tools. Files that"
    )
    *_, folder, _, back = note.splitlines()
    assert back == "  quintet aside back .quintet/tools"
    assert Path(folder.strip()).expanduser().joinpath(".quintet/tools/x.py").read_text() == "evil\n"


@pytest.mark.system("bwrap")
def test_worktrees_and_submodules_work(repo: Path, tmp_path: Path) -> None:
    git = ("git", "-c", "user.name=a", "-c", "user.email=a@example.com", "-c", "protocol.file.allow=always")
    library = tmp_path / "library"
    subprocess.run((*git, "init", "-q", str(library)), check=True)
    subprocess.run((*git, "-C", str(library), "commit", "-q", "--allow-empty", "-m", "first"), check=True)
    subprocess.run((*git, "-C", str(repo), "submodule", "add", "-q", str(library), "library"), check=True)
    subprocess.run((*git, "-C", str(repo), "commit", "-qm", "library"), check=True)
    subprocess.run((*git, "-C", str(repo), "worktree", "add", "-q", str(tmp_path / "tree"), "-b", "tree"), check=True)

    worktree = Inside(tmp_path / "tree", Sandbox.BWRAP)
    line = "echo x > x && git add x && git -c user.name=a -c user.email=b commit -qm 'from the tree'"
    assert worktree(line, EXECUTE).exit_code != 0
    assert worktree(line, EXECUTE, COMMIT).exit_code == 0
    assert "from the tree" in subprocess.check_output((*git, "-C", str(repo), "log", "--oneline", "tree"), text=True)
    worktree(f"echo evil > {repo}/.git/hooks/pre-commit; echo evil > {repo}/planted", EXECUTE, COMMIT)
    assert not (repo / ".git/hooks/pre-commit").exists()
    assert not (repo / "planted").exists()

    project = Inside(repo, Sandbox.BWRAP)
    assert project("git -C library status --short").exit_code == 0
    project("echo evil > .git/modules/library/hooks/pre-commit; git -C library config alias.x y", EXECUTE, COMMIT)
    assert not (repo / ".git/modules/library/hooks/pre-commit").exists()
    assert "alias" not in (repo / ".git/modules/library/config").read_text()


@pytest.mark.system("bwrap")
def test_a_git_file_that_points_at_a_strange_folder_opens_nothing(repo: Path, tmp_path: Path) -> None:
    strange = tmp_path / "strange"
    strange.mkdir()
    (strange / "diary").write_text("dear diary")
    nested = repo / "nested"
    nested.mkdir()
    (nested / ".git").write_text(f"gitdir: {strange}\n")
    assert "dear diary" not in Inside(repo, Sandbox.BWRAP)(f"cat {strange}/diary", EXECUTE, COMMIT).output


# ── network, processes, resources


def test_there_is_a_network_only_with_a_grant_for_it(walled: Inside) -> None:
    with listening() as (port, came):
        line = f"exec 3<>/dev/tcp/127.0.0.1/{port}"
        assert walled(line).exit_code != 0
        assert came() == 0
        assert walled(line, EXECUTE, NETWORK).exit_code == 0
        assert came() == 1


def test_nothing_outlives_its_command(inside: Inside) -> None:
    one, other = a_while(), a_while()
    line = f"setsid nohup sleep {one} >/dev/null 2>&1 & (setsid sleep {other} &) ; disown -a; echo done"
    assert inside(line).output == "done\n"
    assert not alive("sleep", one)
    assert not alive("sleep", other)


def test_a_burst_of_forks_ends_with_its_command(inside: Inside) -> None:
    long = a_while()
    line = f"for i in $(seq 500); do sleep {long} & done; echo started"
    assert "started" in inside(line).output
    assert not alive("sleep", long)


def test_other_processes_cannot_be_touched(walled: Inside) -> None:
    with subprocess.Popen(("sleep", "74.157")) as other:
        walled(f"kill -9 {other.pid}; pkill -9 -f 'sleep 74.157'")
        assert other.poll() is None
        other.kill()


def test_the_machine_itself_cannot_be_changed(walled: Inside) -> None:
    """Each would do no harm if it worked: the clock is set to what it is, sysrq asked for its help page."""
    for line in (
        'date -s "$(date)"',
        "echo h > /proc/sysrq-trigger",
        "echo canary > /proc/sys/kernel/domainname",
        ": >> /proc/sys/kernel/core_pattern",
        "mount -t tmpfs none /mnt",
        "unshare -m true",
        "chroot / true",
        "mknod disk b 8 0",
    ):
        assert walled(line).exit_code != 0, line
    assert "CapEff:\t0000000000000000" in walled("cat /proc/self/status").output


def test_output_without_end_is_bounded(inside: Inside) -> None:
    done = inside("head -c 200000000 /dev/zero")
    assert done.exit_code == 0
    assert len(done.output) < 40_000
    assert done.dropped > 199_000_000


def test_a_file_without_end_is_bounded(inside: Inside) -> None:
    done = inside("truncate -s 2000000000 big || dd if=/dev/zero of=big bs=1M count=1 seek=1999")
    assert done.exit_code != 0
    assert not (inside.root / "big").exists() or (inside.root / "big").stat().st_size <= 1_000_000_000


def test_a_pipe_nobody_writes_to_is_given_up_at_the_timeout(inside: Inside) -> None:
    pipe = f"pipe-{os.getpid()}"
    done = inside(f"mkfifo {pipe}; cat {pipe}", seconds=0.5)
    assert done.timed_out
    assert not alive("cat", pipe)


def test_a_name_that_is_no_text_is_no_trouble(inside: Inside) -> None:
    folder = os.fsencode(inside.root) + b"/caf\xe9"
    os.mkdir(folder)
    with open(folder + b"/.env", "w") as file:
        file.write("hunter2")
    done = inside("cd caf* && touch x && echo done; cat .env")
    assert done.output.startswith("done\n")
    assert "hunter2" not in done.output or inside.caller.toolbox.sandbox is not Sandbox.BWRAP


def test_a_path_swapped_for_a_link_while_it_is_used_reaches_nothing(walled: Inside, tmp_path: Path) -> None:
    """The race between looking at a path and using it, many times over."""
    outside = tmp_path / "outside"
    outside.mkdir()
    line = (
        f"for i in $(seq 50); do mkdir -p d; echo a > d/f; rm -rf d; ln -sfn {outside} d; echo planted > d/f; "
        "rm -f d; done 2>/dev/null"
    )
    walled(line)
    assert os.listdir(outside) == []


def test_walls_that_cannot_be_put_up_are_an_error_and_nothing_runs(repo: Path) -> None:
    script = os.path.abspath(confine.__file__)
    done = subprocess.run(
        ("python3", "-I", "-S", script, "-", "landlock", "", "0", "0", "touch", str(repo / "ran")),
        capture_output=True,
        text=True,
    )
    assert done.returncode != 0
    assert not (repo / "ran").exists()


@pytest.mark.system("bwrap")
def test_what_only_looks_like_a_failure_of_the_sandbox_is_the_commands_own(bwrap: Inside) -> None:
    done = bwrap("echo 'bwrap: no'; exit 1")
    assert (done.exit_code, done.output) == (1, "bwrap: no\n")


@pytest.mark.system("bwrap")
def test_a_sandbox_that_cannot_start_is_an_error_and_nothing_runs(bwrap: Inside, tmp_path: Path) -> None:
    """The folder to start in is not to be seen there."""
    (tmp_path / "elsewhere").mkdir()
    processes = LocalProcesses(bwrap.caller.containment)
    command = ("touch", str(bwrap.root / "ran"))
    grant = Grant((EXECUTE,), (str(bwrap.root),))
    with pytest.raises(ToolFailed, match="the sandbox could not start, so nothing was run"):
        asyncio.run(processes.run(command, cwd=str(tmp_path / "elsewhere"), grant=grant, timeout=20))
    assert not (bwrap.root / "ran").exists()


@pytest.mark.system("bwrap")
def test_a_folder_to_write_elsewhere_opens_nothing_of_the_project(repo: Path, tmp_path: Path) -> None:
    (repo / ".quintet").mkdir()
    specs, outside = repo / "specs", tmp_path / "outside"
    specs.mkdir()
    outside.mkdir()
    processes = LocalProcesses(Caller(repo, Sandbox.BWRAP).containment)
    line = f"touch {specs}/x {outside}/x; touch {repo}/.quintet/x; touch {repo}/.git/x; touch {repo}/x"
    grant = Grant((EXECUTE, COMMIT), (str(specs), str(outside)))
    asyncio.run(processes.run(("bash", "-c", line), cwd=str(repo), grant=grant, timeout=120))
    made = {str(path.relative_to(tmp_path)) for path in tmp_path.rglob("x")}
    assert made == {"repo/specs/x", "outside/x"}


@pytest.mark.system("bwrap")
def test_a_machine_where_nothing_can_be_laid_inside_has_no_bubblewrap(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = program("bwrap")
    fake = tmp_path / "bin/bwrap"  # a machine that starts sandboxes, and lets no right into them
    fake.parent.mkdir()
    fake.write_text(f'#!/bin/bash\nexec {real} "${{@//CAP_SYS_ADMIN/CAP_CHOWN}}"\n')
    fake.chmod(0o755)
    assert probe.bubblewrap_problem() == ""
    monkeypatch.setenv("PATH", f"{fake.parent}:{os.environ['PATH']}")
    assert "unshare" in probe.bubblewrap_problem()
