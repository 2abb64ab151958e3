"""A project's guard that can no longer be asked holds back what it guards: whoever changes its script opens nothing."""

from pathlib import Path

import pytest

from quintet.adapters.settings.trust import unlooked
from quintet.domain.journal import protocol as p
from quintet.domain.settings.hooks import HookEnd, HookPlace, verdict_of
from quintet.testing import ScriptedModel, call
from tests.attacks.running import Attacker, bash
from tests.attacks.world import World, put
from tests.engine.driving import Driver, drive
from tests.surfaces.program import Program
from tests.trusted import trust_now

GUARD = 'grep -q forbidden && { echo "not that" >&2; exit 2; }\nexit 0\n'
SETTINGS = '[hooks]\npre_tool_use = ["sh scripts/guard.sh"]\n'
OFF = {
    "changed": "open('scripts/guard.sh', 'a').write('#')",
    "emptied": "open('scripts/guard.sh', 'w')",
    "gone": "import os; os.remove('scripts/guard.sh')",
    "its folder moved": "import os; os.rename('scripts', 'other')",
    "a folder": "import os; os.remove('scripts/guard.sh'); os.mkdir('scripts/guard.sh')",
}


@pytest.fixture
def quintet(repo: Path) -> Program:
    return Program(repo)


@pytest.mark.parametrize(("sandbox", "user_name"), [("bwrap", "root")], indirect=True)
@pytest.mark.parametrize("how", OFF)
def test_a_model_does_not_turn_a_guard_off(world: World, attacker: Attacker, how: str) -> None:
    put(world.project / "scripts/guard.sh", GUARD)
    put(world.project / ".quintet/settings.toml", SETTINGS)
    put(world.project / "off.py", OFF[how])
    put(world.project / "forbidden.py", "open('done', 'w')")
    world.make_repository()
    attacker.opens("trust")
    outcome = attacker.session(bash("python3 forbidden.py"), bash("python3 off.py"), bash("python3 forbidden.py"))
    assert outcome.verdicts[:2] == ["deny", "allow"], outcome.texts
    assert outcome.verdicts[2] in ("ask", "deny", ""), outcome.texts
    assert not (world.project / "done").exists()


def test_what_a_changed_guard_holds_back_is_held_back_with_the_reason(repo: Path) -> None:
    script = put(repo / "scripts/guard.sh", "exit 0\n")
    put(repo / ".quintet/settings.toml", SETTINGS)
    trust_now(repo)
    script.write_text("exit 0 # changed\n")

    async def said(driver: Driver) -> None:
        await driver.turn("go")

    driver = drive(repo, said, ScriptedModel([[call("Write", file_path="new.txt", content="x")], "done"]))
    assert not (repo / "new.txt").exists()
    assert any("scripts/guard.sh" in note.text for note in driver.of(p.Noticed))


def test_at_each_place_a_guard_that_was_not_run_is_no_yes() -> None:
    said = {place: verdict_of(place, HookEnd(127, withheld="changed")) for place in HookPlace}
    assert said[HookPlace.PRE_TOOL_USE].asks
    assert [place for place, one in said.items() if one.blocked] == [
        HookPlace.USER_PROMPT_SUBMIT,
        HookPlace.PRE_COMPACT,
    ]
    assert all(one.warning == "changed" for one in said.values())


NOT_COVERED = ["cd scripts && ./g.sh", "python3 -m lint", "python3 scripts", "make lint", "uv run lint", "./gone.sh"]
COVERED = [
    "sh scripts/g.sh",
    "./scripts/g.sh --fix",
    "true",
    "cat | scripts/g.sh",
    "/usr/bin/true",
    "echo done; exit 2",
    "touch /tmp/done",
]


@pytest.mark.parametrize("command", [*NOT_COVERED, *COVERED])
def test_hooks_that_run_more_than_a_yes_covers_are_known(repo: Path, command: str) -> None:
    put(repo / "scripts/g.sh", "", executable=True)
    assert unlooked(str(repo), [command]) == [command] * (command in NOT_COVERED)


def test_trust_names_them(quintet: Program) -> None:
    put(quintet.root / "scripts/g.sh", "", executable=True)
    hooks = '["cd scripts && ./g.sh", "sh scripts/g.sh"]'
    put(quintet.root / ".quintet/settings.toml", f"[hooks]\nstop = {hooks}\n")
    said = quintet.run("trust").out
    assert (
        "runs `cd scripts && ./g.sh` as you, outside the sandbox, at the end of each turn; the project files that it"
        in said
    )
    assert "runs `sh scripts/g.sh` as you, outside the sandbox, at the end of each turn\n" in said
