"""The session of a trial, with nobody attached: a model's turn, a shell line, or a task that an AI CLI does."""

from __future__ import annotations

import asyncio
import os
from functools import reduce
from typing import Any

import msgspec
from msgspec import structs

from quintet.adapters.files.paths import locate
from quintet.app.late_parts import kept
from quintet.app.open import open_session
from quintet.domain.base.errors import ExecutorFailed
from quintet.domain.base.wording import first_line
from quintet.domain.dials.axes import INTERACTIVE, AxesChange, PermissionProfile, RunControl, Surface, WorkMode
from quintet.domain.input.slash_line import as_input
from quintet.domain.journal import protocol as p
from quintet.domain.journal.input_outcome import InputOutcome
from quintet.domain.ports.ports import Model
from quintet.domain.ports.trials import TrialArm, TrialCase, TrialResult, TrialVerdict
from quintet.domain.tasks.executors import MAY_BE_THE_TASKS
from quintet.domain.tasks.page import write_page
from quintet.domain.tasks.task import TaskText
from quintet.domain.turn.messages import Request, Usage
from quintet.engine.session.session import Session
from quintet.features.evals.trials.work_checks import out_of_reach

AXES = AxesChange(WorkMode.BUILD, RunControl.AUTONOMOUS, PermissionProfile.TRUSTED)
SHOWN = "{shown}"  # in settings and lines: where the folder lies that the arm shows
TASK = "task-001"
MOST_TITLE = 80


class TrialSession:
    def __init__(self, case: TrialCase, arm: TrialArm, work: str, shown: str, seconds: float) -> None:
        self._case = case
        self._arm = arm
        self._work = work
        self._shown = shown
        self._seconds = seconds
        self._sent: list[int] = []  # bytes of each request

    async def run(self, model: Model | None) -> tuple[bytes, bytes, TrialResult]:
        """What it did: its answer, its events, and what it cost. ExecutorFailed where an AI CLI could not work."""
        case, arm = self._case, self._arm
        name = os.path.basename(arm.shown.rstrip("/")) if arm.shown else ""
        settings = {key: _placed(value, self._shown) for key, value in arm.settings.items()}
        text = f"{arm.prefix} {case.task}" if arm.prefix else as_input(case.task)
        text = f"! {case.line}" if case.line else text.strip()
        text = text.replace("{skill}", os.path.join(self._shown, name))
        if arm.executor:
            await self._add_task(case.task)
            text = "/implement"
        if case.line and name:
            settings["sandbox.show"] = (os.path.join(self._shown, name),)
        events: list[p.Event] = []
        outcome: InputOutcome | None = None
        async with open_session(
            self._work,
            surface=Surface.HEADLESS,
            axes=AXES,
            settings=settings,
            model=model,
            hidden=out_of_reach(case),
            watch=self._measure,
        ) as session:
            try:
                async with asyncio.timeout(self._seconds):
                    outcome = await _followed(session, text, events)
            except TimeoutError:
                await session.submit(p.Interrupt())
        if arm.executor:
            _check_started(arm.executor, events, outcome)
        answer, trace, result = _summed_up(events, outcome)
        return answer, trace, structs.replace(result, requests=len(self._sent), sent=sum(self._sent))

    def _measure(self, request: Request) -> None:
        self._sent.append(len(msgspec.json.encode(request)))

    async def _add_task(self, text: str) -> None:
        """An AI CLI does tasks: the request becomes the one that there is."""
        page = write_page(TaskText(TASK, first_line(text)[:MOST_TITLE], body=text))
        axes = AXES.applied_to(INTERACTIVE)
        await asyncio.to_thread(kept, locate(self._work), lambda keeper: keeper.add([(f"{TASK}.md", page)], axes))


async def _followed(session: Session, text: str, events: list[p.Event]) -> InputOutcome:
    followed = session.follow(await session.say(text))
    events.extend([item.event async for item in followed if isinstance(item, p.Recorded)])
    return followed.outcome


def _check_started(name: str, events: list[p.Event], outcome: InputOutcome | None) -> None:
    """An AI CLI that was not there, not logged in or out of reach has not failed at the task."""
    ends = [event for event in events if isinstance(event, p.ExecutorEnded)]
    if not ends and outcome:
        raise ExecutorFailed(f"{name} was not started: {outcome.reason}")
    if ends and not ends[-1].ok and ends[-1].failure not in MAY_BE_THE_TASKS:
        raise ExecutorFailed(f"{name}: {ends[-1].reason or ends[-1].failure}")


def _summed_up(events: list[p.Event], outcome: InputOutcome | None) -> tuple[bytes, bytes, TrialResult]:
    trace = b"".join(msgspec.json.encode(event) + b"\n" for event in events)
    ended = outcome.event if outcome else None
    finished = ended if isinstance(ended, p.TurnFinished) else None
    said = ended.text if isinstance(ended, p.CommandRan) else ""
    told = [event.text for event in events if isinstance(event, p.ExecutorSaid) and not event.reasoning]
    last = next((one for one in reversed(events) if isinstance(one, p.ToolFinished)), None)
    value = {
        "answer": finished.answer if finished else told[-1] if told else said,
        "status": str(finished.status) if finished else "time is up" if ended is None else "answered",
        "delivery": finished.delivery if finished else "",
        "reason": finished.reason if finished else "",
        "last_result": last.content if last else "",
    }
    paid = [event for event in events if isinstance(event, p.ModelReplied | p.ExecutorEnded)]
    result = TrialResult(
        "",
        "",
        0,
        TrialVerdict.BROKEN,
        status=str(value["status"]),
        calls=sum(isinstance(event, p.ToolFinished | p.ExecutorActed) for event in events),
        usage=reduce(Usage.plus, (one.usage for one in paid), Usage()),
        cost=sum(one.cost for one in paid),
    )
    return msgspec.json.encode(value), trace, result


def _placed(value: Any, shown: str) -> Any:
    if isinstance(value, str):
        return value.replace(SHOWN, shown)
    return tuple(_placed(one, shown) for one in value) if isinstance(value, list | tuple) else value
