"""What a session's tasks promise whatever is done to them, looked for in its journal, its rows and its files."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import cycle_checks
from msgspec import Struct

from quintet.adapters.files.paths import locate
from quintet.adapters.sqlite.database import connect_to_read
from quintet.adapters.sqlite.rows import Rows
from quintet.domain.dials.axes import PermissionProfile
from quintet.domain.journal import protocol as p
from quintet.domain.journal.state import SessionState
from quintet.domain.permission.gate import Verdict
from quintet.domain.tasks.cycle_phases import CyclePhase
from quintet.domain.tasks.task import Task, TaskStatus
from quintet.domain.turn.messages import EndStatus
from quintet.domain.turn.tool_spec import CallStatus

FAILED = (TaskStatus.RETRYING, TaskStatus.FAILED)
ID = re.compile(r"^id: *(\S+)", re.MULTILINE)


class Unit(Struct):
    """One attempt at a task, as the journal tells it."""

    task: str
    refused: str = ""  # the first call that policy did not let run
    changed: bool = False
    error: str = ""  # of the model, or of Quintet
    verified: bool | None = None
    approved: bool | None = None  # by the user


def wrong(project: str, *, calm: bool) -> list[str]:
    """The promises that are broken; `calm`: no process was killed since the files were last put right."""
    rows = cycle_checks._rows(Path(project))
    tasks = {task.id: task for task in rows.tasks()}
    events = _events(project)
    found = _told(events)
    found += [line for line in cycle_checks.broken(Path(project)) if calm or "is still claimed" not in line]
    accepted = [task for event in events if isinstance(event, p.PlanAccepted) for task in event.tasks]
    found += [f"{id} was accepted and has no row" for id in accepted if id not in tasks]
    for id, task in tasks.items():
        fails = sum(move.after in FAILED for move in rows.moves(id))
        if task.retries > fails:
            found.append(f"{id} has {task.retries} retries, and {fails} units of it failed")
    rows.connection.close()
    if calm:
        found += _files(Path(project), tasks)
        found += [f"{id} is {task.status} with nobody at it" for id, task in tasks.items() if _left_alone(task)]
        found += _last_end(events, tasks)
    return found


def _events(project: str) -> list[p.Event]:
    path = locate(project).database
    rows = Rows(connect_to_read(path), path)
    events = [recorded.event for recorded in rows.read(rows.sessions(1)[0].id)]
    rows.connection.close()
    return events


def _told(events: list[p.Event]) -> list[str]:
    """What the journal shows: units that may not begin, retries for a refusal, tasks done without evidence."""
    found: list[str] = []
    state, unit, units, asked = SessionState(), Unit(""), dict[str, Unit](), dict[str, str]()
    for event in events:
        state.apply(event)
        match event:
            case p.CycleMoved(phase=CyclePhase.EXECUTING, task=task):
                unit = units[task] = Unit(task)
                if state.axes.permission_profile is PermissionProfile.RESTRICTED:
                    found.append(f"a unit of {task} was begun at profile restricted")
            case p.CallDecided(verdict=verdict, person=person, reason=reason):
                if verdict is Verdict.DENY or (verdict is Verdict.ASK and not person):
                    unit.refused = unit.refused or reason
            case p.ToolFinished(status=CallStatus.OK, changed=changed) if changed:
                unit.changed = True
            case p.TurnFinished(cycle=run, error=error) if run and error:
                unit.error = error.code
            case p.TaskVerified(task=task) if task in units:  # perhaps later, of an earlier unit
                units[task].verified = event.passed
            case p.QuestionAsked(text=text) if text.startswith("is "):
                asked[event.question] = text.split()[1]
            case p.QuestionAnswered(question=question, choice=choice) if choice and asked.get(question) in units:
                units[asked[question]].approved = choice == "y"
            case p.TaskMoved(task=task, after=after, run=run) if run and after in FAILED and task in units:
                its = units[task]
                if its.approved is False:
                    continue
                if its.refused and not its.changed:
                    found.append(f"{task} became {after} for a refusal: {its.refused}")
                elif its.error and its.verified is None:
                    found.append(f"{task} became {after} for an error of the model: {its.error}")
            case p.TaskMoved(task=task, after=TaskStatus.DONE):
                if not (task in units and (units[task].verified or units[task].approved)):
                    found.append(f"{task} is done, and nothing shows it: {event.reason}")
            case p.CycleStopped(status=EndStatus.DONE) if event.left or event.failed:
                found.append(f"a cycle ended as done with {event.left} left and {event.failed} failed")
    return found


def _files(project: Path, tasks: dict[str, Task]) -> list[str]:
    todo = project / ".quintet" / "todo"
    there = Counter(
        id for page in (todo.rglob("*.md") if todo.is_dir() else ()) for id in ID.findall(page.read_text())[:1]
    )
    found = [f"{id} has {there[id]} files" for id, task in tasks.items() if _has_file(task) and there[id] != 1]
    return found + [f"the file of {id} has no row" for id in there if id not in tasks]


def _has_file(task: Task) -> bool:
    return task.status is not TaskStatus.CANCELLED


def _left_alone(task: Task) -> bool:
    return task.status is TaskStatus.RUNNING


def _last_end(events: list[p.Event], tasks: dict[str, Task]) -> list[str]:
    """Whether the counts of the last stretch are those of the rows, if nothing was moved since."""
    ends = [place for place, event in enumerate(events) if isinstance(event, p.CycleStopped)]
    if not ends or any(isinstance(event, p.TaskMoved) for event in events[ends[-1] :]):
        return []
    end = events[ends[-1]]
    assert isinstance(end, p.CycleStopped)
    if end.status is EndStatus.INTERRUPTED and not end.answer:  # told by the next process, which has counted nothing
        return []
    accepted = [e for e in events if isinstance(e, p.PlanAccepted) and e.run == end.run]
    mine = [tasks[id] for plan in accepted for id in plan.tasks]
    done = sum(task.status is TaskStatus.DONE for task in mine)
    began = next(e for e in events if isinstance(e, p.CycleBegan) and e.run == end.run)
    if began.plans and done != end.done:
        return [f"a cycle ended with {end.done} done, and {done} tasks are"]
    return []
