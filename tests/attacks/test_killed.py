"""What a command planted before its session was killed does not act unnoticed: the next one that is opened tells."""

import asyncio
import os
import signal
import stat
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from quintet.adapters.files.paths import locate
from quintet.adapters.protected.left_behind import left_behind, left_note
from quintet.cli.main import main
from quintet.domain.permission.effects import Effect
from quintet.domain.permission.gate import Sandbox
from quintet.domain.settings.settings import Settings
from tests.adapters.model_server import Reply
from tests.attacks.running import Attacker
from tests.attacks.test_appearing import PLANT
from tests.attacks.test_sandbox_reach import BWRAP, Inside
from tests.attacks.world import World, make_repository, put
from tests.surfaces.program import ModelThread

EXECUTE, COMMIT = Effect.EXECUTE, Effect.COMMIT
MONITOR = "[core]\\n\\tfsmonitor = touch canary\\n"
WAIT = "\nopen('ready', 'w').close()\nimport time\ntime.sleep(600)\n"
PLANTED = {
    ".mcp.json": "{}",
    ".claude/settings.json": "{}",
    ".vscode/tasks.json": "{}",
    ".envrc": "touch canary",
    "deep/er/.envrc": "touch canary",
    ".quintet/settings.toml": "",
}
LINE = "python3 plant.py"
SECONDS = 60.0  # a limit, not a measure
KINDS = [BWRAP, Sandbox.PARTIAL, Sandbox.NONE]


def until(seen: Callable[[], bool]) -> None:
    end = time.monotonic() + SECONDS
    while not seen():
        assert time.monotonic() < end
        time.sleep(0.01)


@contextmanager
def running(root: Path, kind: Sandbox | str, line: str, *effects: Effect) -> Iterator[int]:
    """Another process of Quintet's, in which a command has come to the point where `ready` is there."""
    pid = os.fork()
    if not pid:
        try:
            Inside(root, kind)(line, *effects)
        finally:
            os._exit(0)
    try:
        until((root / "ready").exists)
        yield pid
    finally:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        (root / "ready").unlink(missing_ok=True)


def killed(root: Path, script: str, *effects: Effect, kind: Sandbox | str = Sandbox.BWRAP) -> None:
    put(root / "plant.py", PLANT + script + WAIT)
    with running(root, kind, LINE, *effects):
        pass


def told(root: Path) -> list[str]:
    return [os.path.relpath(path, root) for _, paths in left_behind(locate(str(root)), Settings()) for path in paths]


def records(root: Path) -> list[Path]:
    folder = Path(locate(str(root)).crash_records)
    return sorted(folder.iterdir()) if folder.exists() else []


def _planting(names: dict[str, str]) -> str:
    return f"for path, text in {names!r}.items():\n    os.makedirs(os.path.dirname(path) or '.', exist_ok=True)\n" + (
        "    with open(path, 'w') as file: file.write(text)\n"
    )


@pytest.mark.parametrize("kind", KINDS)
def test_what_a_killed_session_left_is_told_and_moved_when_asked_for(
    repo: Path, kind: Sandbox, capsys: pytest.CaptureFixture[str]
) -> None:
    script = _planting(PLANTED) + f"plant('sub', '{MONITOR}')\n"
    script += "os.makedirs('bare/objects'); os.makedirs('bare/refs'); open('bare/HEAD', 'w').close()\n"
    killed(repo, script, kind=kind)
    expected = {".mcp.json", ".claude", ".vscode", ".envrc", "deep/er/.envrc", "sub/.git", "bare/HEAD"}
    assert expected <= set(told(repo))
    note = left_note(locate(str(repo)), Settings())
    assert "quintet aside" in note
    for name in expected:
        assert (repo / name).exists()
    assert main(["aside", "-C", str(repo)]) == 1
    assert main(["aside", "move", "-C", str(repo)]) == 0
    for name in expected:
        assert not (repo / name).exists(), name
    said = capsys.readouterr().out
    moved = [line.rpartition(" to ")[2] for line in said.splitlines() if " was moved to " in line]
    assert len(moved) >= len(expected)
    assert all(os.path.lexists(path) for path in moved)
    assert told(repo) == []
    assert records(repo) == []
    assert main(["aside", "-C", str(repo)]) == 0


@pytest.mark.parametrize("sandbox", ["bwrap"], indirect=True)
@pytest.mark.parametrize("user_name", ["user"], indirect=True)
def test_the_program_itself_tells_on_every_surface(world: World, attacker: Attacker) -> None:
    world.make_repository()
    monitor = MONITOR.replace("touch canary", world.program("monitor"))
    put(
        world.project / "plant.py",
        PLANT + f"plant('sub', '{monitor}')\n" + _planting({".vscode/tasks.json": "{}"}) + WAIT,
    )
    arguments = '{"command": "python3 plant.py"}'
    model = ModelThread([Reply(calls=[{"id": "c1", "name": "bash", "arguments": arguments}]), Reply(text="done")])
    try:
        attacker._ready(model.settings(timeout=SECONDS))
        with open(os.devnull, "r+b") as nothing:
            dials = ("--mode", "build", "--autonomous", "--permission-profile", "normal")
            run = attacker._start(("-p", "go", *dials), (nothing.fileno(),) * 3, {})
        until((world.project / "ready").exists)
        os.kill(run.pid, signal.SIGKILL)
        run.end()
        assert attacker.hatchery.leftovers() == []
    finally:
        model.close()
    for surface in ("headless", "doctor", "tui"):
        outcome = attacker.opens(surface)
        shown = "".join((outcome.out + outcome.err).split())
        assert "sub/.git" in shown, (surface, outcome.out, outcome.err)
        assert ".vscode" in shown, (surface, outcome.out, outcome.err)
        assert ("LEFT_BEHIND" in shown) is (surface == "doctor"), (surface, outcome.out, outcome.err)
    moved = attacker.opens("aside move")
    assert not (world.project / "sub/.git").exists(), moved.out
    assert "sub/.git" not in attacker.opens("headless").err
    assert world.untouched(moved.said) == []


def test_what_is_settled_leaves_no_record_and_tells_nothing(repo: Path) -> None:
    inside = Inside(repo, Sandbox.NONE)
    inside("echo x > a.txt; mkdir .vscode; echo > .vscode/tasks.json")
    (path,) = records(repo)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    put(repo / ".envrc", "mine")  # made by the user between two commands, and the process is killed after that
    assert told(repo) == []
    assert records(repo) == [path]  # it is held: its session lives
    asyncio.run(inside.containment.close())
    assert records(repo) == []


def test_a_session_killed_between_two_commands_accuses_nobody(repo: Path) -> None:
    pid = os.fork()
    if not pid:
        try:
            Inside(repo, Sandbox.NONE)("true")
            (repo / "ready").touch()
            time.sleep(SECONDS)
        finally:
            os._exit(0)
    until((repo / "ready").exists)
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    put(repo / ".envrc", "mine")
    assert len(records(repo)) == 1
    assert told(repo) == []
    assert records(repo) == []


def test_a_session_that_lives_is_left_alone_beside_one_that_was_killed(repo: Path) -> None:
    put(repo / "plant.py", PLANT + _planting({".envrc": "x"}) + WAIT)
    with running(repo, Sandbox.NONE, "touch ready; sleep 600"):
        assert told(repo) == []
        (live,) = records(repo)
        (repo / "ready").unlink(missing_ok=True)
        with running(repo, Sandbox.NONE, LINE):
            assert told(repo) == []
            assert len(records(repo)) == 2
        assert told(repo) == [".envrc"]
        assert main(["aside", "keep", "-C", str(repo)]) == 0
        assert records(repo) == [live]
        (repo / "ready").touch()
    assert (repo / ".envrc").exists()


def test_what_you_made_since_is_not_moved_and_a_plain_repository_is_not_told(repo: Path) -> None:
    killed(repo, "", kind=Sandbox.NONE)
    subprocess.run(("git", "init", "-q", str(repo / "cloned")), check=True)
    assert told(repo) == []
    killed(repo, "", kind=Sandbox.NONE)
    put(repo / ".vscode/tasks.json", "mine")
    assert told(repo) == [".vscode"]
    assert (repo / ".vscode/tasks.json").read_text() == "mine"
    assert main(["aside", "keep", "-C", str(repo)]) == 0
    assert (repo / ".vscode/tasks.json").read_text() == "mine"
    assert told(repo) == []


@pytest.mark.parametrize("kind", [BWRAP])
def test_a_planted_repository_that_becomes_the_project_of_the_next_session_is_told_there(
    tmp_path: Path, kind: Sandbox
) -> None:
    root = tmp_path / "plain"
    put(root / "sub/a.txt", "a")
    killed(root, f"plant('sub', '{MONITOR}')\n", kind=kind)
    assert locate(str(root / "sub")).root == str(root / "sub")
    assert told(root / "sub") == [".git"]
    assert told(root) == ["sub/.git"]


@pytest.mark.parametrize("kind", [BWRAP])
def test_nothing_hides_what_was_planted(repo: Path, kind: Sandbox) -> None:
    put(repo / "known/.envrc", "mine")
    put(repo / "tools/a.txt", "a")
    script = f"plant('shut', '{MONITOR}')\nos.chmod('shut', 0)\n"
    script += "os.rename('known', 'was')\nos.mkdir('known')\nopen('known/.envrc', 'w').close()\n"
    script += "name = b'tools/\\xff\\n\\x1b[2J'\nos.mkdir(name)\nopen(name + b'/.envrc', 'w').close()\n"
    script += "os.symlink('tools', '.claude')\nos.utime('.', (1, 1))\n"
    killed(repo, script, kind=kind)
    found = told(repo)
    assert {"shut", "known/.envrc", ".claude"} <= set(found)
    assert any(name.startswith("tools/") for name in found)
    note = left_note(locate(str(repo)), Settings())
    assert "\x1b" not in note
    assert "\n" not in note
    assert main(["aside", "move", "-C", str(repo)]) == 0
    for name in ("shut/.git", "known/.envrc", ".claude"):
        assert not os.path.lexists(repo / name)
    assert told(repo) == []


@pytest.mark.parametrize("kind", [BWRAP])
@pytest.mark.parametrize("name", ["commondir", "config.worktree", "rebase-merge/git-rebase-todo", "modules/x/config"])
def test_what_was_planted_inside_a_git_folder_is_told(repo: Path, kind: Sandbox, name: str) -> None:
    killed(repo, _planting({f".git/{name}": "exec touch canary\n"}), EXECUTE, COMMIT, kind=kind)
    assert [path for path in told(repo) if path.startswith(".git/")]
    main(["aside", "move", "-C", str(repo)])
    assert not (repo / ".git" / name).exists()


@pytest.mark.parametrize("damage", [b"", b"+", b"+{", b"+[]", b'+{"root": 1}', b"\0\0\0"])
def test_a_record_that_cannot_be_read_is_told_and_moves_nothing(
    repo: Path, damage: bytes, capsys: pytest.CaptureFixture[str]
) -> None:
    put(repo / ".envrc", "mine")
    killed(repo, "", kind=Sandbox.NONE)
    (path,) = records(repo)
    path.write_bytes(damage)
    assert ".envrc" in told(repo)
    assert "not known" in left_note(locate(str(repo)), Settings())
    assert main(["aside", "move", "-C", str(repo)]) == 0
    assert "move what is not yours, then run quintet aside keep" in capsys.readouterr().out
    assert (repo / ".envrc").read_text() == "mine"
    assert main(["aside", "keep", "-C", str(repo)]) == 0
    assert told(repo) == []


def test_another_project_hears_nothing_of_it(repo: Path, tmp_path: Path) -> None:
    killed(repo, _planting({".envrc": "x"}), kind=Sandbox.NONE)
    other = tmp_path / "elsewhere"
    put(other / "a.txt", "a")
    make_repository(other)
    assert told(other) == []
    assert told(repo) == [".envrc"]


@pytest.mark.system("bwrap")
def test_no_command_reaches_the_record(home_project: Path) -> None:
    inside = Inside(home_project, Sandbox.BWRAP)
    inside("true")
    (path,) = records(home_project)
    line = f"cat {path}; rm -f {path}; echo x > {path}; mv {path.parent} x; true"
    done = inside(line)
    assert '"root"' not in done.output
    assert records(home_project) == [path]
    assert b'"root"' in path.read_bytes()


@pytest.fixture
def home_project(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A project that is the user's home, with Quintet's state in it."""
    home = tmp_path / "whole"
    put(home / "a.txt", "a")
    (home / ".local/state/quintet").mkdir(parents=True)
    monkeypatch.setenv("HOME", str(home))
    for name in ("XDG_STATE_HOME", "XDG_CONFIG_HOME"):
        monkeypatch.delenv(name, raising=False)
    return home


@pytest.mark.system("bwrap")
def test_a_known_file_that_became_a_link_is_moved_aside(repo: Path) -> None:
    put(repo / "known/.envrc", "mine")
    put(repo / "evil", "touch canary")
    line = "mv known was; mkdir known; ln -s ../evil known/.envrc"
    done = Inside(repo, Sandbox.BWRAP)(line)
    assert not os.path.lexists(repo / "known/.envrc"), done.notes
