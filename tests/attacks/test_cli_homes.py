"""An AI CLI that turned hostile changes nothing in the user's home that decides what runs at their next start of it."""

import json
import os
import signal
from pathlib import Path

import pytest

from quintet.adapters.protected.left_behind import left_behind
from quintet.domain.permission.gate import Sandbox
from quintet.domain.settings.settings import Settings
from quintet.domain.tasks.executors import Ended
from quintet.features.ai_clis.installed import KINDS
from quintet.features.ai_clis.settings import ExecutorSettings
from tests.attacks.test_killed import until
from tests.attacks.world import put
from tests.fake_clis.on_path import put_on_path
from tests.features.ai_clis.executing import Executing

CLIS = ("codex", "claude", "gemini")
HOMES = {"codex": ".codex", "claude": ".claude", "gemini": ".gemini"}
WORKS = {  # what it has to write: logins that are renewed, sessions, caches
    "codex": ("auth.json", "sessions/2026/a.jsonl", "history.jsonl", "state_5.sqlite", "log/codex.log"),
    "claude": (".credentials.json", "projects/p/a.jsonl", "todos/a.json", "shell-snapshots/a.sh", "history.jsonl"),
    "gemini": ("oauth_creds.json", "tmp/p/logs.json", "google_accounts.json", "installation_id", "projects.json"),
}
NAMES = [(name, held) for name in CLIS for held in KINDS[name].held]
bwrap = pytest.mark.system("bwrap")


@pytest.fixture(autouse=True)
def home(private: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PATH", put_on_path(tmp_path / "bin"))
    return tmp_path / "home"


@pytest.fixture
def walled(repo: Path) -> Executing:
    return Executing(repo, Sandbox.BWRAP)


def is_file(name: str) -> bool:
    return "." in name.lstrip(".") or name == ".env"


def write(executing: Executing, name: str, *paths: Path, writes: bool = True) -> Ended:
    for path in paths:
        path.parent.mkdir(parents=True, exist_ok=True)
    return executing(name, " ".join(["write", *map(str, paths)]), writes=writes)[1]


@bwrap
@pytest.mark.parametrize("writes", [True, False], ids=["executor", "planner or verifier"])
@pytest.mark.parametrize("name", CLIS)
def test_what_configures_it_stays_as_it_is(walled: Executing, home: Path, name: str, writes: bool) -> None:
    own = home / HOMES[name]
    held = [own / held if is_file(held) else own / held / "mine" for held in KINDS[name].held]
    for path in held:
        put(path, "mine")
    more = [path.with_name("planted") for path in held if path.parent != own]
    write(walled, name, *held, *more, writes=writes)
    assert [path for path in held if path.read_text() != "mine"] == []
    assert [path for path in more if path.exists()] == []


@bwrap
@pytest.mark.parametrize("writes", [True, False], ids=["executor", "planner or verifier"])
@pytest.mark.parametrize("name", CLIS)
def test_what_configures_it_is_not_made_either(walled: Executing, home: Path, name: str, writes: bool) -> None:
    own = home / HOMES[name]
    own.mkdir()
    kind = KINDS[name]
    held = [own / held for held in kind.held if held not in kind.makes]
    planted = [path if is_file(path.name) else path / "planted" for path in held]
    told = walled(name, " ".join(["write", *map(str, planted)]), writes=writes)[1]
    assert [path for path in held if os.path.lexists(path)] == []
    notes = "\n".join(told.notes)
    made = [path for path in held if is_file(path.name)]
    assert [path for path in made if str(path) not in notes][5:] == [] or " more. Files " in notes
    assert f"`{name}` made {own}" in notes
    assert [folder for folder in kind.makes if list((own / folder).iterdir())] == []


@bwrap
@pytest.mark.parametrize("name", CLIS)
def test_it_still_writes_what_it_needs(walled: Executing, home: Path, name: str) -> None:
    paths = [home / HOMES[name] / path for path in WORKS[name]]
    ended = write(walled, name, *paths)
    assert ended.ok
    assert [path for path in paths if not path.is_file()] == []
    assert ended.notes == ()


@bwrap
@pytest.mark.parametrize("name", CLIS)
def test_a_home_from_the_settings_is_held_as_well(repo: Path, home: Path, name: str) -> None:
    other = home / "other"
    own = other / ".gemini" if name == "gemini" else other
    first = next(iter(KINDS[name].held))
    put(own / first, "{}" if name != "codex" else "")
    before = (own / first).read_text()
    executing = Executing(repo, Sandbox.BWRAP, {name: ExecutorSettings(home=str(other))})
    write(executing, name, own / first, own / "hooks/planted", own / "session")
    assert (own / first).read_text() == before
    assert not (own / "hooks/planted").exists()
    assert (own / "session").exists()


@bwrap
def test_the_servers_that_claude_knows_are_read_and_not_written(walled: Executing, home: Path) -> None:
    put(home / ".claude.json", '{"mcpServers": {}}')
    seen = json.loads(walled("claude", f"read {home / '.claude.json'}")[1].answer)
    assert seen == {str(home / ".claude.json"): '{"mcpServers": {}}'}
    walled = Executing(walled.root, Sandbox.BWRAP)
    write(walled, "claude", home / ".claude.json")
    assert (home / ".claude.json").read_text() == '{"mcpServers": {}}'


@bwrap
@pytest.mark.parametrize("name", CLIS)
def test_a_link_is_not_followed_and_not_replaced_unnoticed(walled: Executing, home: Path, name: str) -> None:
    own, first = home / HOMES[name], next(iter(KINDS[name].held))
    put(home / "dotfiles/settings", "" if name == "codex" else "{}")
    own.mkdir()
    (own / first).symlink_to("../dotfiles/settings")
    (own / "hooks").symlink_to("../.ssh")
    (home / ".ssh").mkdir()
    ended = walled(name, f"write {own / first} {own / 'hooks/planted'}")[1]
    assert (home / "dotfiles/settings").read_text() in ("", "{}")
    assert list((home / ".ssh").iterdir()) == []
    assert (own / first).is_symlink() or f"made {own / first}. " in "\n".join(ended.notes)


@pytest.mark.parametrize("kind", [Sandbox.PARTIAL, Sandbox.NONE])
def test_without_bubblewrap_what_it_made_is_moved_aside_and_told(repo: Path, home: Path, kind: Sandbox) -> None:
    own = home / ".claude"
    own.mkdir()
    ended = Executing(repo, kind)("claude", f"write {own / 'settings.json'} {own / 'session'}")[1]
    assert not (own / "settings.json").exists()
    assert (own / "session").exists()
    assert "settings.json. Files " in "\n".join(ended.notes)


@bwrap
def test_what_it_made_before_quintet_was_killed_is_told_at_the_next_start(
    repo: Path, home: Path, tmp_path: Path
) -> None:
    own = home / ".claude"
    own.mkdir()
    put(tmp_path / "bin/claude", "#!/bin/sh\necho x > ~/.claude/settings.json; exec sleep 600\n", executable=True)
    pid = os.fork()
    if not pid:
        try:
            Executing(repo, Sandbox.BWRAP)("claude", "go")
        finally:
            os._exit(0)
    until((own / "settings.json").exists)
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    executing = Executing(repo, Sandbox.BWRAP)
    found = [path for _, paths in left_behind(executing.places, Settings()) for path in paths]
    assert found == [str(own / "settings.json")]


def test_each_entry_has_its_reason() -> None:
    assert [entry for entry in NAMES if not KINDS[entry[0]].held[entry[1]]] == []
    assert [name for name in CLIS if set(KINDS[name].makes) - set(KINDS[name].held)] == []
