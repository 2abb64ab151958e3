"""Cycles for tests: a session that is followed to the end of a stretch, and what it left behind."""

from pathlib import Path
from typing import Any

from quintet.adapters.files.paths import locate
from quintet.adapters.models.registry import Models
from quintet.adapters.sqlite.database import connect_to_read
from quintet.adapters.sqlite.task_rows import TaskRows
from quintet.domain.journal import protocol as p
from quintet.domain.settings.settings import Settings
from quintet.domain.tasks.cycle_phases import PHASE_MOVES, CyclePhase
from tests.engine.driving import Driver, drive

NOTE = 'create the file NEWS.md with "words is count_words", verified by `grep -q count_words tally/count.py`'
THREE = f'- {NOTE}\n- replace "words" with "count_words" in *.py\n- run the tests'
TWO = 'create the file a.txt with "a" and then create the file b.txt with "b"'


def rules() -> Any:
    """The offline rules."""
    return Models(Settings()).get("builtin")


async def stretch(driver: Driver, text: str) -> p.CycleStopped:
    """Say something and follow the cycle until control returns."""
    event = await driver.ended(await driver.session.say(text))
    assert isinstance(event, p.CycleStopped), event
    return event


async def until_stopped(driver: Driver) -> p.CycleStopped:
    return await driver.until_type(p.CycleStopped)


def run(root: Path, text: str, model: Any = None, **options: Any) -> tuple[Driver, p.CycleStopped]:
    """One stretch of a cycle in a session of its own."""
    ends: list[p.CycleStopped] = []

    async def script(driver: Driver) -> None:
        ends.append(await stretch(driver, text))

    return drive(root, script, model or rules(), **options), ends[0]


def phases(driver: Driver) -> list[str]:
    """The phases of the cycle; each has to be one that may follow."""
    moved = [event.phase for event in driver.of(p.CycleMoved)]
    before = CyclePhase.IDLE
    for phase in moved:
        assert phase in PHASE_MOVES[before], f"{before} → {phase}"
        before = phase
    return [str(phase) for phase in moved]


def statuses(root: Path) -> dict[str, str]:
    path = locate(str(root)).database
    return {task.id: str(task.status) for task in TaskRows(connect_to_read(path), path).tasks()}


def units(driver: Driver) -> list[tuple[str, int]]:
    """Each unit: its task, and the how-manieth attempt it was."""
    return [(e.task, e.attempt) for e in driver.of(p.CycleMoved) if e.phase is CyclePhase.EXECUTING]


def turned(driver: Driver) -> list[tuple[str, str]]:
    """The work mode after each transition, and who turned it."""
    return [(str(event.after.work_mode), str(event.actor)) for event in driver.of(p.DialsTurned)]
