"""Where Quintet keeps what it runs and reads itself: never where a command or a repository could have put it."""

import asyncio
import os
import stat
import sys
import time
from pathlib import Path

import pytest

from quintet.adapters.files import temporary_folders
from quintet.adapters.files.paths import cache_folder, config_home, locate, own_paths, state_folder
from quintet.adapters.files.temporary_folders import temporary_folder, unnamed_file
from quintet.adapters.git import run_git
from quintet.adapters.processes import host_programs
from quintet.adapters.processes.processes import own_environment
from quintet.adapters.sandbox.containment import SandboxSetup
from quintet.adapters.sandbox.landlock import Uncontained
from quintet.adapters.settings.gate_terms import protection_of
from quintet.domain.base.errors import UsageError
from quintet.domain.permission.protected_paths import PROTECTION
from quintet.domain.settings.settings import Settings
from quintet.features.mcp.pool import McpPool
from quintet.features.mcp.values import McpServer
from tests.attacks.conftest import World
from tests.attacks.running import Attacker
from tests.attacks.world import make_repository, put

XDG = ("XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME")


@pytest.fixture
def inside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project in which the temporary folder lies."""
    root = tmp_path / "work"
    (root / "tmp").mkdir(parents=True)
    monkeypatch.setenv("TMPDIR", str(root / "tmp"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setattr(host_programs, "_projects", {str(root)})
    return root


def test_a_look_at_a_repository_stands_outside_the_project(inside: Path, tmp_path: Path) -> None:
    make_repository(inside)
    with run_git.repository_view(str(inside)) as view:
        assert view is not None
        assert list((inside / "tmp").iterdir()) == []
        assert Path(view.folder).is_relative_to(tmp_path / "state/quintet")
        assert stat.S_IMODE(os.stat(view.folder).st_mode) == 0o700
        assert view.ask("rev-parse", "--abbrev-ref", "HEAD") == b"main\n"
    assert not os.path.exists(view.folder)


def test_no_temporary_folder_is_made_in_the_project(inside: Path, tmp_path: Path) -> None:
    made = [temporary_folder(), temporary_folder(seen=True), temporary_folder(longest=500)]
    with unnamed_file() as file:
        file.write(b"x")
        assert list((inside / "tmp").iterdir()) == []
    assert all(Path(path).is_relative_to(tmp_path / "state") for path in made)


def test_what_a_command_is_to_see_is_never_covered_and_never_in_the_project(
    inside: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(inside / ".state"))
    assert Path(temporary_folder()).is_relative_to(inside / ".state/quintet")
    seen = temporary_folder(seen=True)
    assert not Path(seen).is_relative_to(inside)
    os.rmdir(seen)


def test_a_long_path_is_left_for_a_short_one_outside_the_project(inside: Path) -> None:
    path = temporary_folder(longest=40)
    assert len(path) <= 40
    assert not Path(path).is_relative_to(inside)
    os.rmdir(path)


def test_there_may_be_no_place_and_then_none_is_made(inside: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(inside.parent / "file", "")
    monkeypatch.setenv("XDG_STATE_HOME", str(inside.parent / "file"))
    monkeypatch.setattr(host_programs, "_projects", {"/tmp", "/run", "/var"})
    with pytest.raises(OSError):
        temporary_folder()


def test_what_a_killed_process_left_goes_and_what_a_living_one_has_stays(inside: Path, tmp_path: Path) -> None:
    place = tmp_path / "state/quintet/tmp"
    for name in ("quintet-999999999-aa", f"quintet-{os.getpid()}-bb", "quintet-999999999-cc"):
        put(place / name / "x", "")
    old = time.time() - temporary_folders.OLD_SECONDS - 1
    for name in ("quintet-999999999-aa", f"quintet-{os.getpid()}-bb"):
        os.utime(place / name, (old, old))
    made = os.path.basename(temporary_folder())
    assert sorted(os.listdir(place)) == sorted(["quintet-999999999-cc", f"quintet-{os.getpid()}-bb", made])


def test_what_a_killed_process_left_where_commands_see_it_goes_and_nobody_elses(
    inside: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = tmp_path / "seen"
    monkeypatch.delenv("XDG_RUNTIME_DIR", raising=False)
    monkeypatch.setenv("TMPDIR", str(place))
    old = time.time() - temporary_folders.OLD_SECONDS - 1
    for name in ("quintet-999999999-aa", "quintet-notes", "theirs-999999999-aa"):
        put(place / name / "x", "")
        os.utime(place / name, (old, old))
    monkeypatch.setenv("XDG_STATE_HOME", str(inside / "state"))
    made = temporary_folder(seen=True)
    assert os.path.dirname(made) == str(place)
    assert sorted(os.listdir(place)) == sorted(["quintet-notes", "theirs-999999999-aa", os.path.basename(made)])


# ── relative folders of the user's


HOOKED = '[hooks]\nsession_start = [{{ command = "{command}" }}]\n'


@pytest.mark.parametrize("sandbox", ["none"], indirect=True)
@pytest.mark.parametrize("user_name", ["user"], indirect=True)
@pytest.mark.parametrize(("surface", "value"), [("headless", ".config"), ("tui", "x/../.config")])
def test_a_relative_folder_of_settings_is_nobodys(attacker: Attacker, world: World, surface: str, value: str) -> None:
    put(world.project / ".config/quintet/settings.toml", HOOKED.format(command=world.program("hook")))
    put(
        world.project / ".config/quintet/tools/t.py",
        f"import os\nos.system({world.program('tool')!r})\n",
    )
    (world.project / "x").mkdir()
    attacker.opens(surface, XDG_CONFIG_HOME=value, XDG_STATE_HOME=".state", XDG_CACHE_HOME=".cache")
    assert world.untouched() == []
    assert not (world.project / ".state").exists()


@pytest.mark.parametrize("value", [".config", ".", "./a", "..", "a/b", "~/x"])
def test_a_relative_variable_does_not_count(value: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in XDG:
        monkeypatch.setenv(name, value)
    assert config_home() == str(tmp_path / ".config")
    assert state_folder() == str(tmp_path / ".local/state/quintet")
    assert cache_folder() == str(tmp_path / ".cache/quintet")
    assert "XDG_CONFIG_HOME" not in own_environment()
    assert dict(run_git.user_settings())["core.excludesfile"] == str(tmp_path / ".config/git/ignore")


@pytest.mark.parametrize("home", [".", "home", "../home"])
def test_a_relative_home_is_an_error(home: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", home)
    with pytest.raises(UsageError, match="HOME is a relative path"):
        locate(str(tmp_path))


@pytest.mark.parametrize("sandbox", ["none"], indirect=True)
@pytest.mark.parametrize("user_name", ["user"], indirect=True)
def test_settings_that_lie_in_the_project_are_told(attacker: Attacker, world: World) -> None:
    put(world.project / ".config/quintet/settings.toml", "")
    told = "Quintet's own files are"
    outcome = attacker.opens("tui", sees=told, XDG_CONFIG_HOME=str(world.project / ".config"))
    assert told in outcome.said.replace("\n", " ")


def test_settings_that_a_link_leads_to_in_the_project_are_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from quintet.app.opening_notes import own_inside

    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "configs"))
    (tmp_path / "configs").mkdir()
    (tmp_path / "dotfiles/quintet").mkdir(parents=True)
    (tmp_path / "configs/quintet").symlink_to(tmp_path / "dotfiles/quintet")
    assert str(tmp_path / "dotfiles/quintet") in own_inside(locate(str(tmp_path / "dotfiles")))
    assert own_inside(locate(str(tmp_path / "configs/quintet/.."))) != ""
    (tmp_path / "other").mkdir()
    assert own_inside(locate(str(tmp_path / "other"))) == ""


# ── caches of MCP servers


def cache_of(root: Path, caches: Path, origin: str) -> str:
    """Where a server called `ok` is told to keep its cache."""
    answer = root / "told"
    script = f"import os; open({str(answer)!r}, 'w').write(os.environ['npm_config_cache'])"
    server = McpServer("ok", origin, (sys.executable, "-c", script), timeout=20.0)
    setup = SandboxSetup(str(root), (), str(caches.parent / "scratch"), 0, PROTECTION)

    async def once() -> None:
        pool = McpPool(lambda: ([server], []), Uncontained(setup), str(root), str(caches))
        running = await pool._program(server)
        await running.leaves(20)
        await running.end()

    asyncio.run(once())
    return answer.read_text()


def test_servers_of_the_same_name_never_share_a_cache(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
    caches = [
        cache_of(tmp_path / root, tmp_path / "caches", origin)
        for root, origin in (("a", "your settings"), ("a", ".mcp.json"), ("b", ".mcp.json"))
    ]
    assert len(set(caches)) == 3
    assert cache_of(tmp_path / "b", tmp_path / "caches", "your settings") == caches[0]
    assert stat.S_IMODE((tmp_path / "caches").stat().st_mode) == 0o700


def test_caches_that_lie_in_the_project_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / ".cache"))
    monkeypatch.setenv("HOME", "/nowhere")
    protection = protection_of(places := locate(str(tmp_path)), Settings())
    assert protection.is_held(".cache", "quintet")
    assert protection.asks(".cache/quintet/mcp/yours/ok/npm/x.js")
    assert not protection.asks(".cache/other")
    assert not any(path.endswith(".cache/quintet") for path in own_paths(places))
