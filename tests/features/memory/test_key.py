"""At the screen, a key deletes what the last run learnt."""

from pathlib import Path

from quintet.domain.dials.axes import AxesChange, PermissionProfile, RunControl, WorkMode
from quintet.testing import call
from tests.features.memory.test_runs import CHECKED, kept
from tests.surfaces.tui.watching import Person, watch

WRITE = call("Write", file_path="NEWS.md", content="Words are counted.\n")
AXES = AxesChange(WorkMode.BUILD, RunControl.ASSISTED, PermissionProfile.TRUSTED)


def test_what_was_learnt_is_shown_and_forgotten_with_a_key(repo: Path) -> None:
    async def script(person: Person) -> None:
        await person.press("alt+x")
        assert "Nothing was learnt" in person.status
        await person.type("write the news")
        await person.sees("learnt", "m1 write the news; changed NEWS.md")
        await person.rests()
        assert [one.id for one in kept(repo)] == ["m1"]
        await person.press("alt+x")
        await person.sees("forgot m1: write the news")
        assert kept(repo) == []
        await person.press("alt+x")
        assert "Nothing was learnt" in person.status

    watch(repo, script, [WRITE], "Written.", settings=CHECKED, axes=AXES)
