"""Whatever ends a process that moves tasks, or fills its disk, no task is lost, and rows and files agree again."""

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.engine.task_places import added, keep, page, todo, untimed

from quintet.domain.tasks.task import TaskStatus
from quintet.engine.cycle.task_keeper import TaskKeeper

HERE = Path(__file__).parents[2]
KILLS = 12
TASKS = 4
# Moves tasks round and round for ever.
MOVER = """
import asyncio, itertools, sys
from pathlib import Path
from quintet.domain.tasks.task import TaskStatus as S
from tests.engine.task_places import keeping

async def move():
    async with keeping(Path(sys.argv[1])) as keeper:
        print("ready", flush=True)
        for step in itertools.count():
            for task in keeper.store.tasks()[1:]:
                ways = {S.TODO: S.RUNNING, S.RUNNING: S.VERIFYING, S.VERIFYING: S.RETRYING, S.RETRYING: S.RUNNING}
                findings = "found" if task.status is S.VERIFYING and len(task.text.body) < 100 else ""
                await keeper.move(task.id, ways[task.status], "", findings=findings)

asyncio.run(move())
"""
# Stops for good between the row and the file: what a kill there leaves is all that was written.
HALFWAY = """
import asyncio, os, sys, time
from pathlib import Path
from quintet.adapters.tasks.task_folder import FileStep
from quintet.domain.dials.axes import Axes
from quintet.domain.tasks.task import TaskStatus
from tests.engine.task_places import keeping, page

def stop(step):
    print("ready", flush=True)
    time.sleep(600)

async def work():
    async with keeping(Path(sys.argv[1])) as keeper:
        if sys.argv[2] == "add":
            FileStep.commit = stop
            await keeper.add([page("t9")], Axes())
        elif sys.argv[2] == "cancel":
            FileStep.commit = stop
            await keeper.move("t1", TaskStatus.CANCELLED, "")
        elif sys.argv[2] == "copied":
            os.unlink = stop
            await keeper.move("t1", TaskStatus.CANCELLED, "")
        else:
            await keeper.move("t1", TaskStatus.RUNNING, "")
            FileStep.commit = stop
            await keeper.move("t1", TaskStatus.VERIFYING, "")

asyncio.run(work())
"""
# Every file beyond 2000 bytes is refused as on a full disk; the database has its room already.
FULL = """
import asyncio, resource, signal, sys
from pathlib import Path
from quintet.domain.dials.axes import Axes
from quintet.domain.base.errors import StoreUnwritable
from quintet.domain.tasks.task import TaskStatus
from tests.engine.task_places import keeping, page

async def work():
    async with keeping(Path(sys.argv[1])) as keeper:
        keeper.look()
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[3]), resource.RLIM_INFINITY))
        try:
            if sys.argv[2] == "add":
                await keeper.add([page("small"), page("big", body="x" * 5000)], Axes())
            elif sys.argv[2] == "cancel":
                await keeper.move("t1", TaskStatus.CANCELLED, "")
            else:
                await keeper.move("t1", TaskStatus.RUNNING, "", findings="x" * 5000)
        except StoreUnwritable as error:
            print(error)

asyncio.run(work())
"""
# A cycle whose todo folder lies on a small disk: it fills up while a unit works, and is made free again.
FILLED = """
import sys
from pathlib import Path
from quintet.testing import ScriptedModel
from tests.engine.cycles import statuses, stretch
from tests.engine.driving import drive

repo = Path(sys.argv[1])
filler = repo / ".quintet/todo/filler"
plan = "~~~~task\\n---\\nid: a\\ntitle: Do a\\nverification: test -e made.txt\\n---\\nDo it.\\n~~~~"

def fill(request):
    with filler.open("wb", buffering=0) as file:
        try:
            while True:
                file.write(b"x" * 512)
        except OSError:
            return "did a"

async def script(driver):
    end = await stretch(driver, "/plan do a")
    print(end.status, end.reason.replace("\\n", " "), statuses(repo))
    filler.unlink()
    (repo / "made.txt").touch()
    end = await stretch(driver, "/resume")
    (kept,) = repo.glob(".quintet/todo/done/verified/a_*.md")
    print(end.status, statuses(repo), kept.read_text().count("Do it."))

drive(repo, script, ScriptedModel([plan, fill, "DONE", "nothing more"]))
"""
# A planner's page lies there; those that are to take its place do not fit on the disk.
UNKEPT = """
import resource, signal, sys
from pathlib import Path
from quintet.adapters.files.paths import locate
from quintet.adapters.tasks.drafts import PlanFolder
from quintet.domain.base.errors import StoreUnwritable

plans = PlanFolder(locate(sys.argv[1]))
Path(plans.folder("run-1"), "mine.md").write_text("as the planner wrote it")
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (2000, resource.RLIM_INFINITY))
try:
    plans.keep("run-1", [("a.md", "x"), ("b.md", "x" * 5000)])
except StoreUnwritable as error:
    print(error)
print(plans.pages("run-1"))
plans.keep("run-1", [("a.md", "x")])
print(plans.pages("run-1"))
"""


@contextmanager
def running(program: str, *arguments: str) -> Iterator[subprocess.Popen[bytes]]:
    """A process that has come to the point it reports, killed at the end of the block."""
    argv = [sys.executable, "-c", program, *arguments]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, cwd=HERE) as child:
        assert child.stdout and child.stdout.readline() == b"ready\n"
        try:
            yield child
        finally:
            child.send_signal(signal.SIGKILL)


def settled(repo: Path) -> dict[str, TaskStatus]:
    """What the next process finds, once it has done something of its own."""

    async def work(keeper: TaskKeeper) -> dict[str, TaskStatus]:
        await keeper.move("probe", TaskStatus.PAUSED, "")
        await keeper.move("probe", TaskStatus.TODO, "")
        looked = keeper.look()
        assert [drift.problem for drift in looked.drifts] == []
        assert looked.bad_pages == []
        return {task.id: task.status for task in looked.tasks}

    return keep(repo, work)


def test_a_mover_killed_at_any_moment_loses_no_task_and_the_next_one_mends_the_rest(repo: Path) -> None:
    moments = random.Random(3)
    ids = [f"t{n}" for n in range(TASKS)]
    added(repo, page("probe"), *(page(id) for id in ids))

    for _ in range(KILLS):
        with running(MOVER, str(repo)):
            time.sleep(moments.uniform(0, 0.05))
        assert set(settled(repo)) == {"probe", *ids}
        files = [name for name in todo(repo) if not os.path.basename(name).startswith(".staged-")]
        assert sorted(os.path.basename(name) for name in untimed(files)) == ["probe.md", *(f"{id}.md" for id in ids)]


def test_a_move_cut_between_row_and_file_is_finished_by_the_next_process(repo: Path) -> None:
    added(repo, page("probe"), page("t1"))
    with running(HALFWAY, str(repo), "move"):
        assert todo(repo) == ["probe.md", "t1.md"]
    assert settled(repo) == {"probe": "todo", "t1": "verifying"}
    assert untimed(todo(repo)) == ["done/t1.md", "probe.md"]


@pytest.mark.parametrize("where", ["cancel", "copied"])
def test_a_cancelling_cut_short_is_finished_by_the_next_process(repo: Path, where: str) -> None:
    added(repo, page("probe"), page("t1"))
    with running(HALFWAY, str(repo), where):
        assert todo(repo) == ["probe.md", "t1.md"]
    assert settled(repo) == {"probe": "todo", "t1": "cancelled"}
    assert todo(repo) == ["probe.md"]

    async def kept(keeper: TaskKeeper) -> str:
        return keeper.find("t1").path

    assert Path(keep(repo, kept)).read_text() == page("t1")[1]


def test_an_adding_cut_short_is_a_drift_whose_fix_writes_the_file(repo: Path) -> None:
    added(repo, page("probe"))
    with running(HALFWAY, str(repo), "add"):
        pass

    async def work(keeper: TaskKeeper) -> list[str]:
        return await keeper.mend(keeper.look().drifts)

    assert keep(repo, work) == ["wrote t9.md again"]
    assert todo(repo) == ["probe.md", "t9.md"], "what the killed one had staged is gone"
    assert (repo / ".quintet/todo/t9.md").read_text() == page("t9")[1]


@pytest.mark.parametrize(("doing", "bytes_left"), [("add", 2000), ("cancel", 10), ("findings", 2000)])
def test_a_full_disk_is_said_and_nothing_has_moved(repo: Path, doing: str, bytes_left: int) -> None:
    added(repo, page("probe"), page("t1"))
    argv = [sys.executable, "-c", FULL, str(repo), doing, str(bytes_left)]
    done = subprocess.run(argv, capture_output=True, text=True, cwd=HERE, timeout=60)
    assert done.returncode == 0, done.stderr
    assert "cannot be written (File too large)" in done.stdout
    assert "Free some space" in done.stdout
    assert settled(repo) == {"probe": "todo", "t1": "todo"}
    assert todo(repo) == ["probe.md", "t1.md"]
    assert (repo / ".quintet/todo/t1.md").read_text() == page("t1")[1]


def told(*argv: str) -> list[str]:
    done = subprocess.run(argv, capture_output=True, text=True, cwd=HERE, timeout=100)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


@pytest.mark.system("bwrap")
def test_a_disk_that_fills_up_in_the_middle_of_a_cycle_stops_it_and_it_goes_on_when_there_is_room(repo: Path) -> None:
    small = ["bwrap", "--dev-bind", "/", "/", "--size", "32768", "--tmpfs", str(repo / ".quintet/todo")]
    full, free = told(*small, sys.executable, "-c", FILLED, str(repo))
    assert full.startswith("failed ") and "No space left on device" in full and "Free some space" in full
    assert full.endswith("{'a': 'verifying'}")
    assert free == "done {'a': 'done'} 1"


def test_a_plan_that_cannot_be_kept_leaves_the_planners_pages_where_they_are(repo: Path) -> None:
    said, _, before, after = told(sys.executable, "-c", UNKEPT, str(repo))
    assert "b.md: cannot be written (File too large)" in said
    assert (before, after) == ("[('mine.md', 'as the planner wrote it')]", "[('a.md', 'x')]")


def test_a_file_that_cannot_be_moved_is_said_with_what_to_do(repo: Path) -> None:
    added(repo, page("probe"), page("t1"))

    async def work(keeper: TaskKeeper) -> None:
        await keeper.move("t1", TaskStatus.RUNNING, "")
        (repo / ".quintet/todo/done").write_text("a file where the folder should be")
        await keeper.move("t1", TaskStatus.VERIFYING, "")

    with pytest.raises(Exception, match=r"t1\.md: cannot be written \(File exists\)"):
        keep(repo, work)
    (repo / ".quintet/todo/done").unlink()
    assert settled(repo) == {"probe": "todo", "t1": "running"}
