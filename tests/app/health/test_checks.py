"""Each thing that can be wrong is found by its code; `fix` changes what it says, once, and nothing else."""

from pathlib import Path

import pytest

from tests.app.health.looking import changes, found, is_fixed_once, is_left_alone, named, with_session
from tests.app.health.sicknesses import FIXABLE, STAYING, Sickness, everything, git_lock, left_folder, open_state
from tests.surfaces.program import Program


def test_a_healthy_machine_has_no_findings_and_a_look_changes_nothing(repo: Path) -> None:
    project = with_session(repo)
    before = everything(project)
    assert found(project) == []
    assert changes(before, everything(project)) == set()


@pytest.mark.parametrize("sick", FIXABLE, ids=named(FIXABLE))
def test_s3_3_5_a_sickness_is_found_fixed_once_and_nothing_else_changes(repo: Path, sick: Sickness) -> None:
    is_fixed_once(with_session(repo), sick)


@pytest.mark.parametrize("sick", STAYING, ids=named(STAYING))
def test_what_only_a_person_can_decide_is_found_and_left_alone(repo: Path, sick: Sickness) -> None:
    is_left_alone(with_session(repo), sick)


def test_fix_shows_before_and_after_and_a_preview_is_what_it_does(quintet: Program) -> None:
    quintet.run("-p", "/status").clean(0)
    for make in (git_lock, left_folder, open_state):
        make(quintet.root)
    before = everything(quintet.root)
    would = quintet.run("doctor", "fix", "--preview", "--json").clean(0).json()["would_fix"]
    assert sorted(one["code"] for one in would) == ["GIT_LOCKED", "STATE_READABLE", "TEMPORARY_LEFT"]
    told = quintet.run("doctor", "fix", "--preview").clean(0).out
    assert "BEFORE" in told and "nothing was changed" in told
    assert changes(before, everything(quintet.root)) == set()
    fixed = quintet.run("doctor", "fix", "--json").clean(0).json()
    left = {(one["code"], one["subject"]) for one in fixed["findings"]}
    assert {(one["code"], one["subject"]) for one in fixed["before"]} - left == {
        (one["code"], one["subject"]) for one in would
    }
    assert len(fixed["fixed"]) == 3
    again = quintet.run("doctor", "fix", "--json").clean(0).json()
    assert again["fixed"] == [] and again["before"] == again["findings"]
    assert quintet.run("doctor", "--preview").clean(2).err.startswith("quintet: --preview is for")
