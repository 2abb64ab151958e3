"""A project that is the user's home, or holds it: Quintet's own files stay out of reach, start-up files ask."""

import json
from pathlib import Path

import pytest

from quintet.adapters.files.paths import locate
from quintet.adapters.files.project_files import ProjectFiles
from quintet.adapters.settings.gate_terms import make_terms
from quintet.app.tool_registry import BY_NAME
from quintet.domain.base.errors import ToolFailed
from quintet.domain.dials.axes import Axes, PermissionProfile, RunControl, WorkMode
from quintet.domain.journal import protocol as p
from quintet.domain.permission.gate import Sandbox, Verdict, decide
from quintet.domain.settings.settings import SandboxSettings, Settings
from quintet.testing import ScriptedModel, call
from tests.attacks.conftest import World
from tests.attacks.running import Attacker, bash
from tests.attacks.world import put
from tests.engine.driving import Driver, drive

CANARY = "canary-of-quintets-own"


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home with everything of Quintet's in its usual places, which is opened as a project."""
    home = tmp_path / "somebody"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    for name in ("CONFIG", "STATE", "CACHE", "DATA"):
        monkeypatch.delenv(f"XDG_{name}_HOME", raising=False)
    config = home / ".config/quintet"
    config.mkdir(parents=True)
    (config / "rules.json").write_text("[]")
    (config / "notes.txt").write_text(CANARY)
    (home / "notes.txt").write_text("mine")
    return home


OWN = [
    *(".config/quintet/settings.toml", ".config/quintet/rules.json", ".config/quintet/trusted.json"),
    *(".config/quintet/tools/x.py", ".local/state/quintet/other-123/state.db"),
    *("work/../.config/quintet/settings.toml", ".CONFIG/quintet/settings.toml", ".config/quintet"),
]
STARTED = [
    ".bashrc",
    ".profile",
    ".config/fish/config.fish",
    ".config/anything/settings.json",
    ".newrc",
    ".cache/quintet/mcp/x",
    "bin/ls",
]
BUILD = Axes(WorkMode.BUILD, RunControl.AUTONOMOUS, PermissionProfile.UNRESTRICTED)


def verdict(root: Path, tool: str, **arguments: str) -> Verdict:
    places = locate(str(root))
    terms = make_terms(places, Settings(sandbox=SandboxSettings(use=Sandbox.NONE)))
    spec = BY_NAME[tool]
    bound = spec.bind(json.dumps(arguments))
    return decide(spec, spec.touch(bound), BUILD, terms).verdict


@pytest.mark.parametrize("path", OWN)
def test_no_file_tool_reads_or_writes_what_is_quintets_own(home: Path, path: str) -> None:
    for given in (path, f"{home}/{path}"):
        assert verdict(home, "Write", file_path=given, content="x") is Verdict.DENY
        assert verdict(home, "Read", file_path=given) is Verdict.DENY


@pytest.mark.parametrize("path", STARTED)
def test_start_up_and_settings_files_of_the_home_ask(home: Path, path: str) -> None:
    assert verdict(home, "Write", file_path=path, content="x") is Verdict.ASK
    assert verdict(home.parent, "Write", file_path=f"somebody/{path}", content="x") is Verdict.ASK


def test_other_files_of_the_home_are_as_anywhere(home: Path) -> None:
    assert verdict(home, "Write", file_path="notes.txt", content="x") is Verdict.ALLOW
    assert verdict(home, "Write", file_path="work/.newrc", content="x") is Verdict.ALLOW


def test_a_link_does_not_lead_there(home: Path) -> None:
    places = locate(str(home))
    files = ProjectFiles(str(home), make_terms(places, Settings()).protection)
    (home / "link").symlink_to(".config/quintet")
    (home / "rules").symlink_to(".config/quintet/rules.json")
    (home / ".newrc").write_text("as it was")
    (home / "innocent").symlink_to(".newrc")
    for path in ("link/notes.txt", "rules"):
        with pytest.raises(ToolFailed):
            files.read(path)
        with pytest.raises(ToolFailed):
            files.replace(path, b"x")
    with pytest.raises(ToolFailed):
        files.entries("link")
    with pytest.raises(ToolFailed, match="needs approval"):
        files.replace("innocent", b"x")
    assert (home / ".config/quintet/rules.json").read_text() == "[]"


def test_in_a_dotfiles_repository_what_the_configuration_links_to_is_quintets_own(home: Path) -> None:
    dotfiles = home / "dotfiles"
    (dotfiles / "quintet").mkdir(parents=True)
    (dotfiles / "quintet/settings.toml").write_text("")
    (home / ".config/quintet/settings.toml").symlink_to("../../dotfiles/quintet/settings.toml")
    assert verdict(dotfiles, "Write", file_path="quintet/settings.toml", content="x") is Verdict.DENY
    (dotfiles / "whole").mkdir()
    (home / ".config/quintet").rename(dotfiles / "whole/quintet")
    (home / ".config/quintet").symlink_to("../dotfiles/whole/quintet")
    assert verdict(dotfiles, "Write", file_path="whole/quintet/rules.json", content="x") is Verdict.DENY


def test_a_search_does_not_show_it_and_the_start_says_where_one_is(home: Path) -> None:
    async def script(driver: Driver) -> None:
        await driver.turn("go")

    model = ScriptedModel([[call("grep", pattern="canary-of", path=".")], "done"])
    driver = drive(home, script, model, settings={"tools.presentation": "flat"})
    (found,) = driver.of(p.ToolFinished)
    assert CANARY not in found.content
    assert "contains your home folder" in next(note.text for note in driver.of(p.Noticed) if note.code == "HOME")


@pytest.mark.parametrize("user_name", ["user"], indirect=True)
@pytest.mark.parametrize("sandbox", ["bwrap"], indirect=True)
def test_a_command_sees_nothing_of_it(world: World, attacker: Attacker) -> None:
    """The home is the project: opened there, a hook in Quintet's own settings would run on the host."""
    world.project = world.home
    outcome = attacker.session(
        bash("cat .config/quintet/kept.txt; ls .local/state/quintet; echo x > .config/quintet/hook.toml")
    )
    assert "sandbox could not start" not in outcome.texts
    assert outcome.texts and world.canaries["~/.config/quintet/kept.txt"] not in str(outcome.texts)
    assert not (world.home / ".config/quintet/hook.toml").exists()


HELD = (
    *(".config/i3/config", ".config/kitty/kitty.conf", "bin/tool", "bin/ls", ".cargo/bin/cargo", ".pyenv/shims/python"),
    *(".oh-my-zsh/custom/x.zsh", ".vscode/extensions/a/main.js", ".local/share/applications/x.desktop", ".npm/x/y.js"),
    *("go/bin/gopls", "miniconda3/bin/python", ".config/quintet/kept.txt"),
)
TAKEN = (".vault-token", ".password-store/bank.gpg", ".claude.json", ".bash_history", ".fly/config.yml")
NEW = (".config/i4/config", ".newrc", ".new/bin/x", "bin/new")
WRITE = """
import os
for path in {paths!r}:
    try:
        os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
        open(path, "w").write("taken over")
    except OSError as error:
        print(path, error.strerror)
for path in {read!r}:
    try:
        print(open(path).read())
    except OSError as error:
        print(path, error.strerror)
open("notes.txt", "a").write("and more")
print("it ran")
"""


@pytest.mark.parametrize(("sandbox", "user_name"), [("bwrap", "root"), ("bwrap", "user")], indirect=True)
@pytest.mark.parametrize("above", [False, True], ids=["at the home", "above the home"])
def test_no_command_changes_what_the_home_starts_or_reads_its_secrets(
    world: World, attacker: Attacker, above: bool
) -> None:
    for path in HELD:
        put(world.home / path, "as it was")
    for path in TAKEN:
        put(world.home / path, world.canary(f"~/{path}"))
    world.project = world.folder if above else world.home
    paths = [f"home/{path}" if above else path for path in (*HELD, *NEW)]
    read = [f"home/{path}" if above else path for path in TAKEN]
    put(world.project / "w.py", WRITE.format(paths=paths, read=read).replace('"notes.txt"', '"more.txt"'))
    outcome = attacker.session(bash("python3 w.py"), bash("true"))
    assert outcome.verdicts == ["allow", "allow"]
    assert "it ran" in outcome.texts
    assert (world.project / "more.txt").read_text() == "and more"
    assert [path for path in HELD if (world.home / path).read_text() != "as it was"] == []
    assert [path for path in NEW if (world.home / path).exists()] == [], outcome.texts
    assert [path for path in TAKEN if world.canaries[f"~/{path}"] in outcome.said] == []
