"""What a model is told of where it is."""

import itertools
from pathlib import Path

from quintet.app.prompts import PROMPTS
from quintet.domain.dials.axes import Axes, PermissionProfile, RunControl, WorkMode
from quintet.domain.permission.effects import Sandbox
from quintet.domain.turn.surroundings import CONTAINED, Surroundings, changes, told

HERE = Surroundings("Linux x86_64", "bash", "2026-11-17", "main", "Tabs.")


def test_machine_date_and_branch_are_told() -> None:
    text = told(HERE, Axes(WorkMode.BUILD), "In a box.")
    assert text.startswith("System: Linux x86_64. Shell: bash. Date: 2026-11-17. Branch: main.\nIn a box.\n")


def test_each_sandbox_has_a_page_that_says_what_commands_can_do() -> None:
    pages = {sandbox: Path(PROMPTS, CONTAINED[sandbox]).read_text() for sandbox in Sandbox}
    assert "no network" in pages[Sandbox.BWRAP] and "empty home" in pages[Sandbox.BWRAP]
    assert "partial" in pages[Sandbox.PARTIAL] and "no sandbox" in pages[Sandbox.NONE]


def test_what_needs_approval_is_told_from_the_gates_tables() -> None:
    def approvals(profile: PermissionProfile, work_mode: WorkMode = WorkMode.BUILD) -> str:
        axes = Axes(work_mode, RunControl.ASSISTED, profile)
        return told(HERE, axes, "").splitlines()[-1]

    normal = approvals(PermissionProfile.NORMAL)
    assert "Without approval: reading the project, changing files of the project, running programs" in normal
    assert "approval only: building, testing and linting, installing packages, committing" in normal
    assert "building, testing" in approvals(PermissionProfile.TRUSTED).partition("With the user's")[0]
    assert "Not allowed here: installing packages" in approvals(PermissionProfile.TRUSTED, WorkMode.REVIEW)
    assert "The user sees and approves each change" in approvals(PermissionProfile.NORMAL, WorkMode.CHAT)


def test_every_combination_is_told_something_and_manual_that_all_is_asked() -> None:
    for work_mode, control, profile in itertools.product(WorkMode, RunControl, PermissionProfile):
        text = told(None, Axes(work_mode, control, profile), "")
        assert text
        assert ("Every step needs" in text) == (control is RunControl.MANUAL)


def test_only_what_changed_is_told_later() -> None:
    assert changes(HERE, HERE) == ""
    later = Surroundings("Linux x86_64", "bash", "2026-11-18", "topic", "Tabs.")
    assert changes(HERE, later) == "Date is now: 2026-11-18.\nBranch is now: topic."
    assert "Spaces." in changes(HERE, Surroundings("Linux x86_64", "bash", "2026-11-17", "main", "Spaces."))
