"""The walls around an AI CLI: what it can write, read and reach, by its grant; and what it is told about itself."""

import json
import socket
import threading
from pathlib import Path

import pytest

from quintet.domain.dials.axes import PermissionProfile
from quintet.domain.permission.effects import Effect, Grant
from quintet.domain.permission.gate import Sandbox
from quintet.domain.tasks.executors import CallEnded, ExecutorFailure
from quintet.features.ai_clis.dialect import BYPASS
from quintet.features.ai_clis.settings import ExecutorSettings
from tests.fake_clis.on_path import put_on_path
from tests.features.ai_clis.executing import AGENT, EACH, Executing

CLIS = ("codex", "claude", "gemini")
HOMES = {"codex": ".codex", "claude": ".claude", "gemini": ".gemini"}
BWRAP = pytest.param(Sandbox.BWRAP, marks=pytest.mark.system("bwrap"))


@pytest.fixture(autouse=True)
def fakes(private: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", put_on_path(tmp_path / "bin"))


@pytest.fixture
def walled(repo: Path) -> Executing:
    return Executing(repo, Sandbox.BWRAP)


def told(executing: Executing, name: str, **others: object) -> dict[str, object]:
    found: dict[str, object] = json.loads(executing(name, "start", **others)[1].answer)
    return found


@pytest.mark.system("bwrap")
@pytest.mark.parametrize("name", EACH)
def test_s4_it_changes_the_project_and_nothing_else(walled: Executing, name: str, tmp_path: Path) -> None:
    root = walled.root
    (root / ".quintet").mkdir()
    (root / ".quintet" / "settings.toml").write_text("# mine\n")
    (tmp_path / "other").mkdir()
    before = (root / ".git" / "config").read_text()
    kept = [root / ".git/hooks/pre-commit", root / ".git/config", root / ".quintet/settings.toml", Path("/usr/planted")]
    hidden = [tmp_path / "other/x", Path(walled.places.state, "planted"), Path(walled.places.config, "settings.toml")]
    hidden += [tmp_path / "home" / ".profile", tmp_path / "home" / ".ssh" / "authorized_keys"]
    parts, ended = walled(name, " ".join(["write", str(root / "made.txt"), *map(str, (*kept, *hidden))]))
    assert ended.ok, ended
    assert (root / "made.txt").read_text() == "planted\n"
    assert not any(path.exists() for path in (kept[0], kept[3], *hidden))
    assert (kept[1].read_text(), kept[2].read_text()) == (before, "# mine\n")
    stopped = "\n".join(part.output for part in parts if isinstance(part, CallEnded) and not part.ok)
    assert all(str(path) in stopped for path in kept)


@pytest.mark.system("bwrap")
@pytest.mark.parametrize("name", CLIS)
def test_its_own_home_is_its_own_and_another_is_not(walled: Executing, name: str, tmp_path: Path) -> None:
    home = tmp_path / "home"
    for folder in HOMES.values():
        (home / folder).mkdir()
        (home / folder / "login").write_text(f"key of {folder}")
    (home / "notes.txt").write_text("mine")
    (walled.root / ".env").write_text("KEY=1")
    own = home / HOMES[name]
    paths = [*(home / folder / "login" for folder in HOMES.values()), home / "notes.txt", walled.root / ".env"]
    seen = json.loads(walled(name, " ".join(["read", *map(str, paths)]))[1].answer)
    assert [path for path, text in seen.items() if not text.startswith("!")] == [str(own / "login")]
    assert walled(name, f"write {own / 'session'} {home / 'elsewhere'}")[1].ok
    assert (own / "session").is_file()
    assert not (home / "elsewhere").exists()


@pytest.mark.system("bwrap")
@pytest.mark.parametrize("name", EACH)
def test_a_planner_writes_to_its_folder_alone(walled: Executing, name: str) -> None:
    root = walled.root
    (root / ".quintet").mkdir()
    folder = Path(walled.places.state, "plans", "one")
    folder.mkdir(parents=True)
    wanted = [folder / "task.md", root / "made.txt", root / ".quintet" / "planted", root / ".git" / "planted"]
    _, ended = walled(name, " ".join(["write", *map(str, wanted)]), writes=False, folder=str(folder))
    assert ended.ok, ended
    assert [path.exists() for path in wanted] == [True, False, False, False]


@pytest.mark.system("bwrap")
def test_what_appears_in_a_protected_place_is_put_aside_and_noted(walled: Executing) -> None:
    planted = walled.root / ".quintet" / "settings.toml"
    _, ended = walled("codex", f"write {planted}")
    assert not planted.exists()
    assert "`codex` made .quintet/settings.toml." in ended.notes[0]


@pytest.mark.system("bwrap")
@pytest.mark.parametrize("name", EACH)
def test_what_it_says_it_wrote_where_nothing_lasts_is_noted(walled: Executing, name: str, tmp_path: Path) -> None:
    lost, kept = tmp_path / "home" / "notes.txt", walled.root / "made.txt"
    _, ended = walled(name, f"edit {lost}")
    assert ended.ok and not lost.exists()
    (note,) = ended.notes
    assert note.startswith(f"{lost} was written inside its sandbox only")
    assert walled(name, f"edit {kept}")[1].notes == () and kept.exists()


@pytest.mark.system("bwrap")
@pytest.mark.parametrize("name", EACH)
def test_it_has_the_network_whatever_else_it_may(walled: Executing, name: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:

        def greet() -> None:
            with server.accept()[0] as line:
                line.sendall(b"reached")

        server.settimeout(120)  # not to wait for one that never comes
        thread = threading.Thread(target=greet)
        thread.start()
        _, ended = walled(name, f"connect {server.getsockname()[1]}", writes=False)
        thread.join()
    assert ended.answer == "reached"


@pytest.mark.system("bwrap")
@pytest.mark.parametrize("profile", PermissionProfile)
@pytest.mark.parametrize("name", CLIS)
def test_behind_our_walls_its_own_are_off(walled: Executing, name: str, profile: PermissionProfile) -> None:
    argv = told(walled, name, profile=profile)["argv"]
    assert isinstance(argv, list) and set(BYPASS[name]) <= set(argv)


@pytest.mark.parametrize("walls", [Sandbox.PARTIAL, Sandbox.NONE])
@pytest.mark.parametrize("name", CLIS)
def test_without_our_walls_its_own_stay_on(repo: Path, name: str, walls: Sandbox) -> None:
    found = told(Executing(repo, walls), name, profile=PermissionProfile.TRUSTED)
    argv, environment = found["argv"], found["environment"]
    assert isinstance(argv, list) and not set(BYPASS[name]) - {"--approval-mode"} & set(argv)
    assert isinstance(environment, dict) and "IS_SANDBOX" not in environment


@pytest.mark.system("bwrap")
def test_a_person_who_lets_it_out_gets_its_own_protection_back(walled: Executing) -> None:
    grant = Grant((Effect.EDIT, Effect.EXECUTE, Effect.OUTSIDE), (str(walled.root),), True)
    argv = told(walled, "codex", grant=grant)["argv"]
    assert isinstance(argv, list) and argv[argv.index("--sandbox") + 1] == "workspace-write"


def test_landlock_keeps_it_to_the_project_too(repo: Path, tmp_path: Path) -> None:
    executing = Executing(repo, Sandbox.PARTIAL)
    (tmp_path / "home" / ".codex").mkdir()
    (tmp_path / "other").mkdir()
    own = tmp_path / "home" / ".codex" / "session"
    _, ended = executing("codex", f"write {repo / 'made.txt'} {own} {tmp_path / 'other' / 'x'}")
    assert ended.ok, ended
    assert [path.exists() for path in (repo / "made.txt", own, tmp_path / "other" / "x")] == [True, True, False]


def test_a_planner_that_nothing_holds_is_not_started(repo: Path, tmp_path: Path) -> None:
    folder = str(tmp_path / "plans")
    parts, ended = Executing(repo, Sandbox.NONE)("gemini", "ok", writes=False, folder=folder)
    assert (parts, ended.failure) == ([], ExecutorFailure.CONTAINMENT)
    assert not (repo / "made.txt").exists()
    argv = told(Executing(repo, Sandbox.NONE), "codex", writes=False, folder=folder)["argv"]
    assert isinstance(argv, list) and argv[argv.index("--cd") + 1] == folder


def test_walls_that_cannot_be_put_up_are_an_error_and_nothing_runs(
    repo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    _, ended = Executing(repo, Sandbox.BWRAP)("codex", "ok")
    assert ended.failure is ExecutorFailure.CONTAINMENT
    assert "bwrap" in ended.reason
    assert not (repo / "made.txt").exists()


@pytest.mark.parametrize("home", ["{repo}", "{home}", "{state}", "/"])
def test_a_home_that_would_open_the_walls_is_refused(repo: Path, tmp_path: Path, home: str) -> None:
    state = Executing(repo, Sandbox.NONE).places.state
    where = home.format(repo=repo, home=tmp_path / "home", state=f"{state}/inside")
    executing = Executing(repo, Sandbox.NONE, {"codex": ExecutorSettings(home=where)})
    parts, ended = executing("codex", "ok")
    assert (parts, ended.failure) == ([], ExecutorFailure.CONTAINMENT)
    assert "cannot be its home" in ended.reason


@pytest.mark.system("bwrap")
def test_an_agent_named_in_the_settings_is_started_by_its_name(repo: Path, tmp_path: Path) -> None:
    own, more = tmp_path / "kept", tmp_path / "home" / ".local" / "share" / "agent"
    own.mkdir()
    command = f"{tmp_path / 'bin' / 'agent'} --flag"
    mine = ExecutorSettings(command=command, home=str(own), folders=("~/.local/share/agent",))
    executing = Executing(repo, Sandbox.BWRAP, {"mine": mine})
    assert told(executing, "mine")["argv"] == ["--flag"]
    assert executing("mine", f"write {own / 'session'} {more / 'login'}")[1].ok
    assert (own / "session").is_file()
    assert (more / "login").is_file()


@pytest.mark.system("bwrap")
@pytest.mark.parametrize("name", CLIS)
def test_a_home_of_your_choice_is_named_to_it(repo: Path, tmp_path: Path, name: str) -> None:
    own = tmp_path / "chosen"
    executing = Executing(repo, Sandbox.BWRAP, {name: ExecutorSettings(home=str(own), model="m-1")})
    found = told(executing, name)
    variable = {"codex": "CODEX_HOME", "claude": "CLAUDE_CONFIG_DIR", "gemini": "GEMINI_CLI_HOME"}[name]
    assert isinstance(found["environment"], dict) and found["environment"][variable] == str(own)
    assert isinstance(found["argv"], list) and "m-1" in found["argv"]
    assert own.is_dir()


@pytest.mark.system("bwrap")
@pytest.mark.parametrize("name", ["gemini", AGENT])
def test_one_that_is_given_up_in_its_walls_was_silent_and_not_without_them(walled: Executing, name: str) -> None:
    kind = ExecutorFailure.UNREACHABLE if name == AGENT else ExecutorFailure.SILENT
    assert walled(name, "silence", silence=1.0)[1].failure is kind
