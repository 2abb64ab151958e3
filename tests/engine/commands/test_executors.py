"""/planner, /executor and /verifier: who can, who is in use, and a choice that holds from the next step on."""

from pathlib import Path
from typing import Any

import pytest

from quintet.domain.dials.axes import AxesChange, PermissionProfile, RunControl, WorkMode
from quintet.domain.journal import protocol as p
from quintet.domain.journal.state import fold
from quintet.domain.settings.settings import CycleSettings
from quintet.domain.tasks.executors import Assignment, Ended, ExecutorPart
from quintet.domain.tasks.roles import NATIVE, CycleRoles, ExecutorRole, roles_in_use
from quintet.testing import FrozenClock, ScriptedExecutors, ScriptedModel
from tests.engine.cycles import statuses, stretch
from tests.engine.driving import Driver, drive
from tests.engine.task_places import added, page

BWRAP = pytest.mark.system("bwrap")
ASSISTED = AxesChange(WorkMode.BUILD, RunControl.ASSISTED, PermissionProfile.TRUSTED)
DONE = [Ended(True, "DONE\nit is there")]


@pytest.mark.parametrize(
    ("chosen", "settings", "roles"),
    [
        (CycleRoles(), CycleSettings(), (NATIVE, NATIVE, NATIVE)),
        (CycleRoles(), CycleSettings(planner="codex"), ("codex", NATIVE, "codex")),
        (CycleRoles(planner="claude"), CycleSettings(planner="codex"), ("claude", NATIVE, "claude")),
        (CycleRoles(planner="claude"), CycleSettings(verifier="gemini"), ("claude", NATIVE, "gemini")),
        (CycleRoles("", "codex", NATIVE), CycleSettings(planner="gemini"), ("gemini", "codex", NATIVE)),
    ],
)
def test_a_choice_goes_before_the_settings_and_who_plans_verifies_unless_another_is_named(
    chosen: CycleRoles, settings: CycleSettings, roles: tuple[str, str, str]
) -> None:
    assert roles_in_use(chosen, settings) == CycleRoles(*roles)


def writes(path: Path) -> Any:
    def work(assignment: Assignment) -> list[ExecutorPart]:
        path.write_text("x\n")
        return [Ended(True, "written")]

    return work


def session(
    repo: Path, script: Any, *scripts: Any, model: Any = None, **options: Any
) -> tuple[Driver, ScriptedExecutors]:
    executors = ScriptedExecutors(scripts)
    return drive(repo, script, model, executors=executors, clock=FrozenClock(), **options), executors


def test_s4_without_a_name_the_installed_ones_are_listed_and_the_one_in_use_is_marked(repo: Path) -> None:
    async def script(driver: Driver) -> None:
        ran = await driver.command("/executor")
        assert "executor codex, from your settings" in ran.text and "▸  codex" in ran.text
        assert ran.data == {"executor": "codex", "installed": ["native", "codex", "claude", "gemini"]}
        await driver.command("/executor claude")
        ran = await driver.command("/executor")
        assert "executor claude, chosen for this session" in ran.text and "▸  claude" in ran.text

    session(repo, script, settings={"cycle.executor": "codex"})


@pytest.mark.parametrize("line", ["/executor codx", "/planner claud", "/verifier two words"])
def test_one_that_is_not_there_is_a_clear_error_and_changes_nothing(repo: Path, line: str) -> None:
    async def script(driver: Driver) -> None:
        ran = await driver.command(line)
        assert not ran.ok and ("is not an executor" in ran.text or "takes one name" in ran.text)

    driver, _ = session(repo, script)
    assert driver.of(p.ExecutorChosen) == [] and fold(driver.seen).executors == CycleRoles()


@BWRAP
def test_s4_a_choice_holds_for_the_next_unit_of_a_cycle_that_has_begun(repo: Path) -> None:
    added(repo, page("a"), page("b", "a"))

    async def script(driver: Driver) -> None:
        await driver.command("/executor codex")
        await driver.command("/verifier gemini")
        first = await stretch(driver, "/implement")
        assert (first.status, first.done) == ("paused", 1)
        await driver.command("/executor claude")
        await driver.command("/verifier auto")
        last = await stretch(driver, "/next")
        assert (last.status, last.done) == ("done", 2)

    scripts = [writes(repo / "a.txt"), DONE, writes(repo / "b.txt")]
    driver, executors = session(repo, script, *scripts, model=ScriptedModel(["DONE"]), axes=ASSISTED)
    assert [(start.executor, start.role) for start in executors.starts] == [
        ("codex", ExecutorRole.EXECUTE),
        ("gemini", ExecutorRole.VERIFY),
        ("claude", ExecutorRole.EXECUTE),
    ]
    assert [(e.role, e.name, e.executor, e.verifier) for e in driver.of(p.ExecutorChosen)] == [
        ("execute", "codex", "codex", "native"),
        ("verify", "gemini", "codex", "gemini"),
        ("execute", "claude", "claude", "gemini"),
        ("verify", "", "claude", "native"),
    ]
    assert statuses(repo) == {"a": "done", "b": "done"}
    state = fold(driver.seen)
    assert state.executors == CycleRoles("", "claude", "") and state.cycle
    assert state.cycle.roles == CycleRoles("native", "claude", "native")
