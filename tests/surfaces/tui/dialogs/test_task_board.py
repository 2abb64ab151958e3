"""The board of tasks at the keyboard: shells are watched and ended there, tasks moved, and it stays open."""

from pathlib import Path

from quintet.adapters.files.paths import locate
from quintet.app.task_lookups import tasks_here, under_way
from quintet.domain.dials.axes import AxesChange, PermissionProfile, RunControl, WorkMode
from quintet.domain.tasks.task import TaskStatus
from quintet.surfaces.tui.dialogs.ask import AskScreen
from quintet.surfaces.tui.dialogs.task_board import ShellScreen, TaskBoard
from quintet.testing import call
from tests.engine.task_places import added, page
from tests.surfaces.tui.watching import Person, watch

BUILD = AxesChange(WorkMode.BUILD, RunControl.AUTONOMOUS, PermissionProfile.TRUSTED)
COUNTS = "for n in 1 2 3 4 5 6 7 8 9; do echo line $n; sleep 1; done; sleep 600"
STARTED = call("bash", command=COUNTS, run_in_background=True, bash_id="dev")


async def answer(person: Person, key: str) -> None:
    await person.wait(lambda: isinstance(person.ui.screen, AskScreen), "the question")
    asked = person.ui.screen
    assert isinstance(asked, AskScreen)
    asked._since = 0.0  # it has been there for a while
    await person.press(key)


def test_s3_9_1_a_shell_is_watched_and_ended_on_the_board(repo: Path) -> None:
    async def script(person: Person) -> None:
        session = person.ui.session
        assert session
        await person.type("serve it")
        await person.sees("it serves")
        await person.rests()
        await person.press("f7")
        await person.sees("shell dev", "for n in 1 2")
        await person.press("enter")
        await person.sees("line 1", "line 2", "x ends it")  # the second comes while it is looked at
        assert isinstance(person.ui.screen, ShellScreen)
        await person.press("escape")
        assert isinstance(person.ui.screen, TaskBoard)
        await person.press("x")
        await answer(person, "n")
        assert [shell.name for shell in session.shells()] == ["dev"]
        await person.press("x")
        await person.sees("End shell dev?")
        await answer(person, "y")
        await person.sees("background shell dev was ended", "nothing is running or open")
        assert session.shells() == [] and isinstance(person.ui.screen, TaskBoard)

    watch(repo, script, [STARTED], "it serves", axes=BUILD, deterministic=False)


def test_keys_after_a_task_was_moved_on_the_board_do_not_reach_the_prompt(repo: Path) -> None:
    added(repo, page("task-001"), page("task-002"))
    places = locate(str(repo))

    def status(task: str) -> TaskStatus:
        return next(one.status for one in tasks_here(places)[0].tasks if one.id == task)

    async def script(person: Person) -> None:
        await person.press("f7")
        await person.sees("task-001", "task-002")
        await person.press("p", "h", "e", "l", "l", "o")
        await person.sees("task task-001  todo → paused")
        assert status("task-001") is TaskStatus.PAUSED
        assert isinstance(person.ui.screen, TaskBoard)
        await person.press("j", "p")  # the paused one has gone below the other
        await person.sees("cannot become paused")
        await person.press("k", "x")
        await person.sees("Cancel task-002 Do task-002?")
        await answer(person, "y")
        await person.sees("task task-002  todo → cancelled")
        await person.press("escape")
        assert not isinstance(person.ui.screen, TaskBoard)
        assert person.ui.typed == ""
        assert status("task-002") is TaskStatus.CANCELLED

    watch(repo, script, deterministic=False, under_way=lambda: under_way(places))


def test_a_title_has_the_columns_that_what_is_said_of_it_leaves(repo: Path) -> None:
    title = "keep the digits in slugs of every title"
    added(repo, page("task-001", title=title), page("task-002", "task-001"))
    places = locate(str(repo))

    async def script(person: Person) -> None:
        await person.press("f7")
        await person.sees(f"task-001 {title}  todo", "after task-001")

    watch(repo, script, size=(80, 24), under_way=lambda: under_way(places))
