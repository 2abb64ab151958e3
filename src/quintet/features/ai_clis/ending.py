"""How a start of an AI CLI ended: done only if its stream says so; else of which kind, why, and what to do."""

from __future__ import annotations

import re
import signal
import time
from collections.abc import Sequence
from datetime import datetime

from quintet.domain.tasks.executors import Ended, ExecutorFailure
from quintet.features.ai_clis.dialect import Dialect, clipped
from quintet.features.ai_clis.errors import judge, status_in
from quintet.features.ai_clis.run import RunningProgram

MOST_REASON = 600
UNSTARTED = "before it could be given its work"
HINTS: dict[ExecutorFailure, str] = {
    ExecutorFailure.RATE_LIMIT: "wait for its limit to end, or choose another executor",
    ExecutorFailure.UNREACHABLE: "check the network and the status of its service",
    ExecutorFailure.CRASHED: "try it on its own in this folder",
    ExecutorFailure.GARBAGE: "try it on its own here; an update of it, or of Quintet, may have changed its output",
    ExecutorFailure.SILENT: "if it needs longer, give it more time",
    ExecutorFailure.CONTAINMENT: "`quintet doctor` shows what is wrong with the sandbox",
    ExecutorFailure.REFUSED: "try it on its own in this folder; its account or its model may be the reason",
    ExecutorFailure.OVERTIME: "give it more time, or a smaller task",
    ExecutorFailure.MISSING: "install it",
    ExecutorFailure.LOGIN: "log in to it",
}


def failed(
    dialect: Dialect,
    kind: ExecutorFailure,
    reason: str,
    *,
    exit_code: int | None = None,
    resets_in: float = 0.0,
    notes: Sequence[str] = (),
) -> Ended:
    hint = dialect.hints.get(kind) or HINTS[kind]
    reason = clipped(f"{dialect.title}: {reason}", MOST_REASON)
    return Ended(False, dialect.answer, kind, reason, hint, resets_in, exit_code, tuple(notes))


def concluded(running: RunningProgram, notes: Sequence[str]) -> Ended:
    """The last part of a start whose process is over."""
    dialect, outcome, code = running.dialect, running.dialect.outcome, running.child.exit_code
    said_last = "\n".join([line for line in running.aside if not line.lstrip().startswith("at ")][-5:])  # no stacks
    if running.given_up:
        kind, reason = running.given_up
        last = dialect.last_problem or said_last
        if kind is ExecutorFailure.SILENT and not dialect.has_its_work:
            kind, reason = ExecutorFailure.UNREACHABLE, f"{reason} {UNSTARTED}"
        elif kind is ExecutorFailure.SILENT and dialect.waits_for_model:
            kind, reason = ExecutorFailure.UNREACHABLE, f"{reason} while it waited for its model"
            if trouble := _trouble(running):
                kind, last = trouble
        return failed(dialect, kind, f"{reason}; last: {last}" if last else reason, exit_code=code, notes=notes)
    # Walls that were taken down from outside do not say that they stood; what came through them does.
    if not (outcome or running.events) and (broken := running.child.failure("\n".join(running.aside))):
        return failed(dialect, ExecutorFailure.CONTAINMENT, broken, notes=notes)
    if outcome and outcome.ok:
        if code == 0 or running.ended_by_us:
            return Ended(True, outcome.answer, exit_code=code, notes=tuple(notes))
        reason = f"it said that it was done, and then {_ending(code)}"
        return failed(dialect, ExecutorFailure.CRASHED, reason, exit_code=code, notes=notes)
    if outcome:
        found, resets_in = _kind(running, outcome.problem, outcome.failure, outcome.status)
        problem = outcome.problem or "it failed without a reason"
        return failed(
            dialect, found or ExecutorFailure.CRASHED, problem, exit_code=code, resets_in=resets_in, notes=notes
        )
    if code == 0:
        what = "ended without saying that it was done" if running.events else "printed no event"
        return failed(dialect, ExecutorFailure.GARBAGE, f"it {what}{_tail(said_last)}", exit_code=code, notes=notes)
    found, resets_in = _kind(running, dialect.last_problem or said_last, dialect.by_exit(code), 0)
    reason = dialect.last_problem or f"it {_ending(code)}{_tail(said_last)}"
    return failed(dialect, found or ExecutorFailure.CRASHED, reason, exit_code=code, resets_in=resets_in, notes=notes)


_FAILED = re.compile("error|fail", re.IGNORECASE)


def _trouble(running: RunningProgram) -> tuple[ExecutorFailure, str] | None:
    """What it last said of a request that failed: silence then is its waiting to try again."""
    now = datetime.now().astimezone()
    for line in (running.dialect.last_problem, *reversed(running.aside)):
        status = status_in(line)
        if (status or _FAILED.search(line)) and (fault := judge(line, now, status)):
            return fault.kind, " ".join(line.split())
    return None


def _kind(
    running: RunningProgram, text: str, plain: ExecutorFailure | None, status: int
) -> tuple[ExecutorFailure | None, float]:
    fault = judge(text, datetime.now().astimezone(), status)
    kind = plain or (fault.kind if fault else running.dialect.by_exit(running.child.exit_code))
    resets_in = fault.resets_in if fault else 0.0
    if kind is ExecutorFailure.RATE_LIMIT and running.dialect.resets_at:
        resets_in = max(running.dialect.resets_at - time.time(), 0.0)
    return kind, resets_in


def _tail(text: str) -> str:
    return f": {text}" if text else ""


def _ending(code: int) -> str:
    if code > 128:
        try:
            return f"was ended by {signal.Signals(code - 128).name}"
        except ValueError:
            pass
    return f"ended with exit code {code}"
