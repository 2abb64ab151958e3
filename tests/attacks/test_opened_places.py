"""sandbox.show and sandbox.give: what they open, and that no project, link or command stretches it."""

import asyncio
import os
from pathlib import Path

import pytest

from quintet.adapters.files.paths import locate
from quintet.adapters.processes.processes import LocalProcesses
from quintet.adapters.settings import layers
from quintet.adapters.settings.gate_terms import make_terms
from quintet.adapters.settings.trust import accept, pieces
from quintet.app.open import make_containment
from quintet.domain.permission.effects import Effect, Grant
from quintet.domain.permission.gate import Terms
from quintet.domain.permission.opened_places import opened
from quintet.domain.ports.ports import Finished
from quintet.domain.settings.settings import SandboxSettings, Settings
from tests.attacks.world import put
from tests.tools.calling import Caller

pytestmark = pytest.mark.system("bwrap")


@pytest.fixture
def home() -> Path:
    return Path(os.environ["HOME"])


def lines(repo: Path, *said: str, writes: bool = True, **settings: tuple[str, ...]) -> tuple[list[Finished], Terms]:
    """Run lines in the sandbox with these settings, as the gate would grant them."""
    places, wanted = locate(str(repo)), Settings(sandbox=SandboxSettings(use="bwrap", **settings))
    terms = make_terms(places, wanted)
    containment = make_containment(places, wanted, terms)
    grant = opened(Grant((Effect.EXECUTE,), (str(repo),) if writes else ()), terms.places, writes=writes)

    async def run() -> list[Finished]:
        processes = LocalProcesses(containment)
        try:
            return [await processes.run(("bash", "-c", line), cwd=str(repo), grant=grant, timeout=60) for line in said]
        finally:
            await processes.close()
            await containment.close()

    return asyncio.run(run()), terms


def test_a_shown_folder_is_read_and_not_written_and_a_given_one_is_both(repo: Path, home: Path) -> None:
    put(home / "kept/tool.txt", "tool\n")
    put(home / "store/old.txt", "old\n")
    line = "cat ~/kept/tool.txt ~/store/old.txt; echo x > ~/kept/new; echo new > ~/store/new.txt"
    [done], terms = lines(repo, line, show=("~/kept",), give=("~/store",))
    assert done.output.startswith("tool\nold\n")
    assert not (home / "kept/new").exists()
    assert (home / "store/new.txt").read_text() == "new\n"
    [done], _ = lines(repo, "echo x > ~/store/again", writes=False, give=("~/store",))
    assert not (home / "store/again").exists()
    assert terms.places.words() == f"shows {home}/kept · gives {home}/store"


def test_without_the_setting_a_failure_names_the_hidden_path_and_how_to_show_it(repo: Path, home: Path) -> None:
    put(home / ".cache/pre-commit/db.db", "x")
    put(home / "venv/pyvenv.cfg", "")
    put(home / "venv/bin/python", "#!/bin/sh\necho ran\n", executable=True)
    put(repo / "hook", f"#!{home}/venv/bin/python\n", executable=True)
    commands = (f"cat {home}/.cache/pre-commit/db.db", "./hook", "cat absent.txt", "true")
    (cache, hook, absent, fine), _ = lines(repo, *commands)
    tells = 'Hidden by the sandbox: {}. To show it, the user can set: sandbox.show = ["{}"]'
    assert cache.notes == (tells.format("~/.cache/pre-commit/db.db", "~/.cache/pre-commit"),)
    page = Path("docs/howto/show-the-sandbox-a-folder.md")
    assert cache.notes[0] in (Path(__file__).parents[2] / page).read_text()
    assert hook.notes == (tells.format("~/venv/bin/python", "~/venv"),)
    assert absent.notes == fine.notes == ()
    (cache, hook), _ = lines(repo, *commands[:2], show=("~/.cache/pre-commit", "~/venv"))
    assert (cache.output, cache.notes) == ("x", ())
    assert hook.output == "ran\n"


def test_a_hook_that_does_not_say_where_it_looked_is_read_for_it(repo: Path, home: Path) -> None:
    """As pre-commit's: its Python is gone, and so it says that pre-commit is not found."""
    put(home / "venv/pyvenv.cfg", "")
    put(home / "venv/bin/python", "")
    hook = f"#!/bin/sh\nINSTALL_PYTHON={home}/venv/bin/python\necho '`pre-commit` not found.' >&2\nexit 1\n"
    put(repo / ".git/hooks/pre-commit", hook, executable=True)
    put(repo / "new.txt", "new\n")
    put(home / ".gitconfig", "[user]\n\tname = A\n\temail = a@example.com\n")
    tools = Caller(repo)
    tools.ok("git_add", files=["new.txt"])
    said = tools.fails("git_commit", message="x")
    assert said.splitlines() == [
        "`pre-commit` not found.",
        'Hidden by the sandbox: ~/venv/bin/python. To show it, the user can set: sandbox.show = ["~/venv"]',
    ]


def test_nothing_is_said_of_places_that_hold_secrets_or_are_quintets_own(repo: Path, home: Path) -> None:
    put(home / ".ssh/id_ed25519", "key")
    put(home / ".aws/credentials", "key")
    own = locate(str(repo)).config
    os.makedirs(own, exist_ok=True)
    line = f"cat {home}/.ssh/id_ed25519; cat {home}/.aws/credentials; ls {own}; cat {home}; cat /home/no/such; false"
    [done], _ = lines(repo, line)
    assert done.notes == ()


def test_secrets_in_a_shown_folder_stay_covered(repo: Path, home: Path) -> None:
    put(home / "data/plain.txt", "plain\n")
    put(home / "data/deep/.env", "TOKEN=hunter2\n")
    put(home / "data/server.pem", "hunter2\n")
    put(home / "data/.ssh/id_rsa", "hunter2\n")
    line = (
        "cat ~/data/plain.txt; cat ~/data/deep/.env; cat ~/data/server.pem; cat ~/data/.ssh/*; grep -r hunter2 ~/data"
    )
    [done], _ = lines(repo, line, show=("~/data",))
    assert "plain\n" in done.output
    assert "hunter2" not in done.output


@pytest.mark.parametrize("trusted", [False, True])
def test_no_projects_settings_show_or_give_anything(repo: Path, home: Path, trusted: bool) -> None:
    put(home / "private/diary", "dear diary")
    put(repo / ".quintet/settings.toml", '[sandbox]\nshow = ["~/private"]\ngive = ["~/private"]\n')
    places = locate(str(repo))
    if trusted:
        accept(places, pieces(places))
    loaded = layers.load(places)
    assert loaded.settings.sandbox.show == loaded.settings.sandbox.give == ()
    assert any("sandbox.show" in warning for warning in loaded.warnings)


def test_a_command_cannot_lay_a_link_where_something_will_be_shown(repo: Path, home: Path) -> None:
    """What lies in a given folder is not mounted by itself, so a link that a command puts there shows nothing."""
    put(home / ".ssh/id_rsa", "hunter2\n")
    put(home / "outer/inner/file", "x")
    plant = "rm -rf ~/outer/inner; ln -s ~/.ssh ~/outer/inner"
    (_, seen), _ = lines(repo, plant, "cat ~/outer/inner/*", show=("~/outer/inner",), give=("~/outer",))
    assert (home / "outer/inner").is_symlink()
    assert "hunter2" not in seen.output
    [later], terms = lines(repo, "cat ~/outer/inner/*", show=("~/outer/inner",))
    assert "hunter2" not in later.output
    assert "may contain secrets" in terms.places.refused[0][2]


def test_a_line_approved_as_outside_gets_no_note(repo: Path, home: Path) -> None:
    put(home / "x/y", "")
    places, wanted = locate(str(repo)), Settings(sandbox=SandboxSettings(use="bwrap"))
    containment = make_containment(places, wanted, make_terms(places, wanted))
    launch = containment.launch(("bash", "-c", "--"), str(repo), Grant((Effect.OUTSIDE,)))
    assert containment.hidden(launch, f"cat: {home}/x/y: No such file or directory") == ()
