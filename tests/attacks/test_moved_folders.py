"""A folder that a file tool moves is judged by what lies below it, where that is and where it would be."""

import os
from pathlib import Path

import pytest

from quintet.adapters.files.paths import locate
from quintet.adapters.files.project_files import ProjectFiles
from quintet.adapters.settings.gate_terms import make_terms
from quintet.domain.base.errors import ToolFailed
from quintet.domain.dials.axes import Axes, PermissionProfile, RunControl, WorkMode
from quintet.domain.permission.effects import Effect
from quintet.domain.permission.gate import Sandbox, Verdict
from quintet.domain.settings.settings import Settings
from tests.attacks.running import Attacker, bash, call
from tests.attacks.test_sandbox_reach import Inside
from tests.attacks.world import World, make_repository, put
from tests.tools.calling import Caller

NORMAL = Axes(WorkMode.BUILD, RunControl.AUTONOMOUS, PermissionProfile.NORMAL)
BWRAP = pytest.mark.parametrize("sandbox", ["bwrap"], indirect=True)
USER = pytest.mark.parametrize("user_name", ["user"], indirect=True)
ENTER = call("menu_enter", mode="data")
MONITOR = "[core]\n\tfsmonitor = {program}\n"
BELONGS = "config/quintet is protected: it belongs to Quintet, and config leads to it"


def move(source: str, destination: str) -> tuple[str, dict[str, str]]:
    return call("fs_move", source=source, destination=destination)


# ── the way that was found: into a tree that nobody looks into, and out again


@USER
def test_nothing_guarded_is_carried_where_no_command_is_kept_from_it_nor_back(world: World, attacker: Attacker) -> None:
    world.make_repository()
    put(world.project / "conf/.env", f"KEY={world.canary('conf/.env')}")
    put(world.project / "lib/a.txt", "a")
    make_repository(world.project / "lib")
    known, new = world.program("known"), world.program("new")
    script = (
        "import os, subprocess\nprint(open('node_modules/c/.env').read() if os.path.exists('node_modules/c') else '')\n"
        f"if os.path.exists('node_modules/lib'): open('node_modules/lib/.git/config', 'a').write({MONITOR!r}"
        f".format(program={known!r}))\n"
        "subprocess.run(['git', 'init', '-q', 'node_modules/s'])\n"
        f"open('node_modules/s/.git/config', 'a').write({MONITOR!r}.format(program={new!r}))\n"
        "os.makedirs('node_modules/s/.claude'); open('node_modules/s/.claude/settings.json', 'w').write('{}')\n"
    )
    put(world.project / "w.py", script)
    outcome = attacker.session(
        ENTER,
        call("fs_create_directory", path="node_modules"),
        move("conf", "node_modules/c"),
        move("lib", "node_modules/lib"),
        bash("python3 w.py"),
        move("node_modules/lib", "lib"),
        move("node_modules/s", "newpkg"),
        bash("touch later"),
    )
    assert world.canary("conf/.env") not in outcome.said, outcome.texts
    assert "fsmonitor" not in (world.project / "lib/.git/config").read_text(), outcome.texts
    assert not (world.project / "newpkg").exists(), outcome.texts
    assert (world.project / "conf/.env").exists()


# ── Quintet's own, in a repository of dotfiles


@pytest.fixture
def dotfiles(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    home = tmp_path / "somebody"
    root = home / "dotfiles"
    put(root / "config/quintet/settings.toml", "")
    put(root / "config/other/a.txt", "a")
    put(root / "evil/quintet/settings.toml", "[hooks]")
    put(root / "empty/a.txt", "")
    monkeypatch.setenv("HOME", str(home))
    for name in ("CONFIG", "STATE", "CACHE", "DATA"):
        monkeypatch.delenv(f"XDG_{name}_HOME", raising=False)
    (home / ".config").mkdir()
    (home / ".config/quintet").symlink_to(root / "config/quintet")
    return root


def test_a_folder_above_quintets_own_is_neither_moved_nor_replaced(dotfiles: Path) -> None:
    files = ProjectFiles(str(dotfiles), make_terms(locate(str(dotfiles)), Settings()).protection)
    caller = Caller(dotfiles, Sandbox.NONE)
    assert caller.verdict("fs_move", NORMAL, source="config", destination="c2") is Verdict.DENY
    with pytest.raises(ToolFailed, match=BELONGS):
        files.move("config", "c2")
    (dotfiles / "config").rename(dotfiles / "gone")
    (dotfiles / "link").symlink_to("evil")
    for source in ("evil", "link", "empty"):  # what it would lead to, by whatever
        assert caller.verdict("fs_move", NORMAL, source=source, destination="config") is Verdict.DENY, source
        with pytest.raises(ToolFailed, match=BELONGS):
            files.move(source, "config")
    (dotfiles / "config").symlink_to("gone")
    with pytest.raises(ToolFailed, match=BELONGS):
        files.delete("config")
    assert caller.verdict("fs_move", NORMAL, source="empty", destination="elsewhere") is Verdict.ALLOW


# ── the class


DENIED = {
    "a secret file": ("a/b/.env", "a", "z"),
    "a key, deep": ("a/b/c/d/server.key", "a/b", "z"),
    "a secret folder": ("a/.ssh/x", "a", "z"),
    "a secret of two parts, above its folder": ("a/.docker/config.json", "a", "z"),
    "a secret of two parts, its folder": (".docker/config.json", ".docker", "dk"),
    "a folder becomes one of a secret's": ("dk/config.json", "dk", ".docker"),
    "a secret into a foreign tree": ("a/.env", "a", "node_modules/a"),
    "a secret out of a foreign tree": ("node_modules/a/.env", "node_modules/a", "a"),
    "a whole foreign tree becomes one of the project's": ("node_modules/a/.git/config", "node_modules", "nm"),
    "a .git folder": ("a/b/.git/config", "a", "z"),
    "a .git file": ("a/b/.git", "a/b", "z"),
    "a .git in another case": ("a/b/.GIT/config", "a", "z"),
    "a bare repository": ("a/r/HEAD a/r/objects/x a/r/refs/x", "a", "z"),
    "a bare repository itself, out of a foreign tree": ("venv/r/HEAD venv/r/objects/x venv/r/refs/x", "venv/r", "z"),
    "settings of Quintet": ("a/.quintet/settings.toml", "a", "z"),
    "a folder becomes Quintet's": ("a/settings.toml", "a", ".quintet"),
    "servers that are started": ("a/.mcp.json", "a", "z"),
}
ASKED = {
    "an editor's": ("a/.vscode/tasks.json", "a", "z"),
    "an agent's": ("a/.claude/settings.json", "a", "z"),
    "an agent's, out of a foreign tree": (".venv/s/.claude/settings.json", ".venv/s", "z"),
    "hooks": ("a/b/.husky/pre-commit", "a", "z"),
    "a folder becomes an editor's": ("a/tasks.json", "a", "b/.vscode"),
    "a workflow of CI's": ("a/workflows/ci.yml", "a", ".github"),
    "half a repository": ("a/HEAD", "a", "z"),
}
FREE = {
    "plain files": ("a/b/c.txt a/Makefile", "a", "z"),
    "into a foreign tree": ("a/b.txt", "a", "node_modules/a"),
    "out of a foreign tree": ("node_modules/a/b.txt", "node_modules/a", "z"),
    "with a foreign tree in it": ("a/b.txt a/node_modules/x/.vscode/tasks.json a/node_modules/x/t.pem", "a", "z"),
    "a foreign tree as it is": ("node_modules/x/t.pem", "node_modules", "p/node_modules"),
}


def planted(repo: Path, files: str) -> None:
    for name in files.split():
        put(repo / name, "x")


@pytest.mark.parametrize("case", DENIED)
def test_what_no_call_may_write_or_read_is_not_carried(repo: Path, case: str) -> None:
    planted(repo, DENIED[case][0])
    source, destination = DENIED[case][1:]
    assert Caller(repo, Sandbox.NONE).verdict("fs_move", NORMAL, source=source, destination=destination) is Verdict.DENY
    with pytest.raises(ToolFailed):  # and again by what there is when it is moved
        ProjectFiles(str(repo)).move(source, destination)
    assert (repo / source).exists()


@pytest.mark.parametrize("case", ASKED)
def test_what_takes_a_yes_takes_one_when_it_is_carried(repo: Path, case: str) -> None:
    planted(repo, ASKED[case][0])
    source, destination = ASKED[case][1:]
    caller = Caller(repo, Sandbox.NONE)
    assert caller.verdict("fs_move", NORMAL, source=source, destination=destination) is Verdict.ASK
    caller.ok("fs_move", source=source, destination=destination)
    assert (repo / destination).exists()


@pytest.mark.parametrize("case", FREE)
def test_other_folders_go_unasked(repo: Path, case: str) -> None:
    planted(repo, FREE[case][0])
    source, destination = FREE[case][1:]
    caller = Caller(repo, Sandbox.NONE)
    assert caller.verdict("fs_move", NORMAL, source=source, destination=destination) is Verdict.ALLOW
    caller.ok("fs_move", source=source, destination=destination)


def test_a_link_on_the_way_does_not_hide_what_is_carried(repo: Path) -> None:
    planted(repo, "node_modules/s/.git/config conf/.env")
    (repo / "nm").symlink_to("node_modules")
    caller = Caller(repo, Sandbox.NONE)
    assert caller.verdict("fs_move", NORMAL, source="nm/s", destination="z") is Verdict.DENY
    assert caller.verdict("fs_move", NORMAL, source="conf", destination="nm/c") is Verdict.DENY
    (repo / "links").mkdir()
    (repo / "links/conf").symlink_to("../conf")  # a link is carried as a link
    assert caller.verdict("fs_move", NORMAL, source="links", destination="z") is Verdict.ALLOW


def test_what_cannot_be_looked_at_is_not_moved_unasked(repo: Path) -> None:
    caller = Caller(repo, Sandbox.NONE)
    deep = os.open(repo, os.O_RDONLY)
    for _ in range(210):
        os.mkdir("d", dir_fd=deep)
        step = os.open("d", os.O_RDONLY, dir_fd=deep)
        os.close(deep)
        deep = step
    os.close(deep)
    assert caller.verdict("fs_move", NORMAL, source="d", destination="z") is Verdict.ASK
    wide = repo / "wide"
    wide.mkdir()
    for number in range(20_001):
        (wide / str(number)).touch()
    assert caller.verdict("fs_move", NORMAL, source="wide", destination="z") is Verdict.ASK


def test_a_folder_does_not_become_a_repository_by_its_last_entry(repo: Path) -> None:
    files = ProjectFiles(str(repo))
    planted(repo, "data/HEAD data/config data/objects/x")
    with pytest.raises(ToolFailed, match="repository"):
        files.make_folder("data/refs")
    (repo / "refs").mkdir()
    with pytest.raises(ToolFailed, match="repository"):
        files.move("refs", "data/refs")
    with pytest.raises(ToolFailed, match="repository"):
        files.replace("data/commondir", b"..")


# ── the look


@pytest.mark.system("bwrap")
def test_a_secret_that_was_there_before_the_first_call_is_known_wherever_it_goes(repo: Path) -> None:
    """By its number: the first look is taken before the first call that writes, not before the first command."""
    put(repo / "conf/.env", "KEY=sk-canary")
    inside = Inside(repo, Sandbox.BWRAP)
    files = ProjectFiles(str(repo), looks=inside.containment)
    files.replace("a.txt", b"a")
    put(repo / "node_modules/x", "")
    (repo / "conf").rename(repo / "node_modules/c")
    done = inside("cat node_modules/c/.env")
    assert "sk-canary" not in done.output


@pytest.mark.system("bwrap")
def test_what_comes_with_a_moved_folder_and_was_not_judged_is_moved_aside(repo: Path) -> None:
    inside = Inside(repo, Sandbox.BWRAP)
    watch = inside.containment.watch
    put(repo / "pkg/a.txt", "a")
    put(repo / "pkg/.vscode/tasks.json", "{}")
    put(repo / "users/.vscode/tasks.json", "{}")
    watch.before_writing()
    (repo / "pkg").rename(repo / "z")
    put(repo / "z/.claude/settings.json", "{}")  # by a command that still ran
    watch.moved("pkg", "z", ("pkg/.vscode", "z/.vscode"))
    assert (repo / "z/.vscode/tasks.json").exists()
    assert (repo / "users/.vscode/tasks.json").exists()
    assert not (repo / "z/.claude").exists()
    done = inside(
        "echo x > z/.vscode/tasks.json; mkdir -p pkg/.vscode; echo y > pkg/.vscode/tasks.json", Effect.EXECUTE
    )
    assert (repo / "z/.vscode/tasks.json").read_text() == "{}"
    assert not (repo / "pkg/.vscode").exists(), done.notes


@pytest.mark.system("bwrap")
def test_what_appears_with_nothing_running_and_by_no_call_is_the_users(repo: Path) -> None:
    inside = Inside(repo, Sandbox.BWRAP)
    inside.containment.watch.before_writing()
    put(repo / "mine/.vscode/tasks.json", "{}")
    make_repository(repo / "mine")
    inside("true")
    assert (repo / "mine/.vscode/tasks.json").exists()
    assert (repo / "mine/.git/config").exists()
