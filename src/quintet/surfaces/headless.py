"""The headless surface: one input, its events as lines or its answer as text, and an exit code a script can use.

Diagnostics go to stderr. Exit: 0 done, 1 error or not delivered, 2 usage, 3 blocked or needs approval, 4 a limit or a
loop, 130 interrupted. Calls that nobody could approve are in the result as `skipped`, and alone they do not change the
code.
"""

from __future__ import annotations

import json
import sys
from functools import cached_property
from typing import Any, TextIO

import msgspec

from quintet.domain.agents.contract_results import InputFollower
from quintet.domain.agents.run import RUN_ERROR_CODES
from quintet.domain.base.errors import QuintetError
from quintet.domain.base.remedies import where_to_read
from quintet.domain.base.safe_text import visible
from quintet.domain.dials import badge
from quintet.domain.input.shell_form import in_shell_form
from quintet.domain.input.slash_line import CommandLine, format_command
from quintet.domain.journal import protocol as p
from quintet.domain.journal.describe import Line, RepeatFilter, describe
from quintet.domain.journal.input_outcome import INTERRUPTED, NOT_BEGUN
from quintet.domain.turn.delivery import UNSAID, DeliveryState, check_line
from quintet.domain.turn.messages import EndStatus
from quintet.domain.turn.skipped import SkippedCall
from quintet.engine.session.session import Session
from quintet.surfaces.paint import Painter, forgiving
from quintet.surfaces.tables import failure
from quintet.surfaces.terminal import interruptible
from quintet.surfaces.transcript.turn_view import how_far, step_lines

EXIT: dict[str, int] = {
    EndStatus.DONE: 0,
    EndStatus.FAILED: 1,
    EndStatus.BLOCKED: 3,
    EndStatus.LIMIT: 4,
    EndStatus.INTERRUPTED: 130,
    EndStatus.CANCELLED: 130,
    EndStatus.WAITING: 3,  # a cycle that needs a person to go on
    EndStatus.PAUSED: 3,
}
NOT_DELIVERED = 1
UNCLEAR = "CLARIFY_CHOICE"


class Headless:
    def __init__(
        self, session: Session, output_format: str, out: TextIO | None = None, *, parsed: bool = False
    ) -> None:
        self._session = session
        self._format = output_format
        self._parsed = parsed  # the answer is JSON, and the result holds its value
        self._out = out or forgiving(sys.stdout)
        self._diagnostics = Painter(forgiving(sys.stderr))
        self._without_repeats = RepeatFilter()
        self._check: p.DeliveryChecked | None = None  # the last
        self._works: set[str] = set()  # long work that was said
        self._report = ""  # the file of the report that the turn left
        self._skipped: tuple[SkippedCall, ...] = ()
        self._answer = ""  # of the newest turn, without what stderr has said

    async def run(self, text: str, id: str = "") -> int:
        """Submit one input and follow it to its end; with an id that it was sent by before, the one of that time."""
        session = self._session
        with interruptible(session) as interrupted:
            submission = await session.say(text, id=id)
            if self._format == "stream-json":
                state = session.state
                opened = {"session": session.id, "project": state.project, "axes": _plain(state.axes)}
                self._line({"type": "session", **opened})
            try:
                code = await self._follow(submission, None if id else session.since)
            except QuintetError as error:
                if self._format == "text":
                    raise
                result = failure(error, session.id)
                self._line(result)
                return int(result["exit_code"])
            if not interrupted:
                await session.drained()
            return code

    async def _follow(self, submission: str, after: int | None) -> int:
        agent = InputFollower(self._session.state.runs.agent is not None)
        followed = self._session.follow(submission, after=after, signals=True)
        async for item in followed:
            if isinstance(item, p.Working) and self._format == "text" and item.what not in self._works:
                self._works.add(item.what)
                self._diagnostics.print([Line(how_far(item), "dim")])
            if isinstance(item, p.Progress) and item.steps and self._format == "text":
                self._diagnostics.print(step_lines(item))
            if not isinstance(item, p.Recorded):
                continue
            if self._format == "stream-json":
                self._line(p.as_json(item))
            else:
                self._diagnose(item)
            agent.see(item.event)
            match item.event:
                case p.CommandRan() as ran if ran.submission == submission:
                    if self._format == "text" or not ran.ok:
                        self._said(ran)
                case p.DeliveryChecked() as check:
                    self._check = check
                case p.ReportMade() as made:
                    self._report = made.path
                case p.InputsHeld() as held if submission in held.submissions:  # nobody is here to let it go
                    self._diagnostics.print(
                        [Line(f"{held.reason}: this input was removed from the queue and did not run", "warning")]
                    )
                    await self._session.say(format_command(CommandLine("queued", ("drop", submission))))
        self._skipped = followed.outcome.skipped
        match followed.outcome.event:
            case p.CommandRan() as ran:
                return self._result(
                    _command_result(ran, followed.outcome.status) | agent.answered(ran), _exit_code(ran)
                )
            case p.TurnFinished() as finished:
                return self._turn_result(finished, agent.ended(finished))
            case p.CycleStopped() as stopped:
                return self._cycle_result(stopped)
            case p.QuestionAnswered() | p.InputWithdrawn():
                status = followed.outcome.status
                result = {"type": "result", "status": status, "answer": "", "reason": followed.outcome.reason}
                return self._result(result, EXIT[status])
        return 1

    def _said(self, ran: p.CommandRan) -> None:
        if ran.ok and "turn" not in ran.data:
            self._say(ran.text)
        elif self._format != "stream-json":
            self._diagnostics.write(ran.text + "\n")

    def _turn_result(self, finished: p.TurnFinished, more: dict[str, Any]) -> int:
        if self._format == "text" and self._answer:
            self._say(self._answer)
        result = _plain(finished)
        result["type"] = "result"
        result["turns"] = result.pop("steps")
        result["delivery_state"] = result.pop("delivery")
        code = EXIT[finished.status]
        if finished.delivery == DeliveryState.NEEDS_WORK:
            lacks = self._lacks(finished.turn) or UNSAID
            result["delivery_reason"] = lacks
            if finished.status == EndStatus.DONE:  # the turn is over, what was asked for is not there
                code, result["status"] = NOT_DELIVERED, "needs_work"
            if self._format == "text":
                self._diagnostics.print([Line(visible(check_line(DeliveryState.NEEDS_WORK, lacks)), "warning")])
        if self._format == "text" and self._skipped and finished.status == EndStatus.BLOCKED and finished.answer:
            self._diagnostics.print([Line(visible(f"blocked: {finished.reason}"), "warning")])
        if self._report:
            result["report"] = self._report
        if self._parsed:
            result["data"] = json.loads(finished.answer) if finished.status == EndStatus.DONE else None
        return self._result(result | more, code)

    def _lacks(self, turn: str) -> str:
        """What the last delivery check of a turn asks for."""
        check = self._check
        return check.reason if check and check.turn == turn and check.state is DeliveryState.NEEDS_WORK else ""

    def _cycle_result(self, stopped: p.CycleStopped) -> int:
        if self._format == "text" and stopped.answer:
            self._say(stopped.answer)
        result = _plain(stopped)
        result.update(type="result", turns=result["units"], delivery_state="")
        return self._result(result, EXIT[stopped.status])

    def _result(self, result: dict[str, Any], code: int) -> int:
        if self._format != "text":
            axes = self._session.state.axes
            if result.get("reason"):
                result["reason"] = self._in_shell_form(result["reason"])
            result["skipped"] = [_plain(call) for call in self._skipped]
            result |= {"session": self._session.id, "axes": _plain(axes), "badge": badge.full(axes), "exit_code": code}
            self._line(result)
        return code

    def _diagnose(self, recorded: p.Recorded) -> None:
        """On stderr, what a person wants to know of a run that they do not watch."""
        recorded = self._without_repeats(recorded)
        if isinstance(recorded.event, p.TurnFinished):
            self._answer = recorded.event.answer
        match recorded.event:
            case p.ModelFailed(retry_in=None):
                pass  # the turn ends by it, and its end says it
            case p.CallDecided() | p.ModelFailed() | p.Noticed() | p.HistoryCompacted() | p.DialsTurned():
                self._diagnostics.print(describe(recorded))
            case p.RunStarted() | p.RunTaken() | p.RunMoved() | p.StepBegun() | p.DataLoaded() | p.ReportMade():
                self._diagnostics.print(describe(recorded))
            case p.CycleBegan() | p.CycleMoved() | p.PlanMade() | p.PlanAccepted() | p.TaskVerified() | p.TaskMoved():
                self._diagnostics.print(describe(recorded))
            case p.CycleStopped():
                self._diagnostics.print(self._for_shell(describe(recorded)))
            case p.ExecutorSaid(reasoning=False) | p.ExecutorActed() | p.ExecutorEnded():
                self._diagnostics.print(describe(recorded))
            case p.TurnFinished(delivery=DeliveryState.NEEDS_WORK) as finished if finished.cycle:
                said = [Line(f"  {visible(line)}", "dim") for line in finished.answer.splitlines()]
                self._diagnostics.print(said)  # a unit that is not delivered: all there is of it are its words
            case p.TurnFinished() as finished if finished.status == EndStatus.FAILED or (
                finished.status != EndStatus.DONE and not finished.answer
            ):
                lines = describe(recorded)
                if finished.error and lines:
                    if more := where_to_read(finished.error.code):
                        lines.append(Line(more, "dim"))
                    else:
                        lines[0] = Line(f"{lines[0].text} ({finished.error.code})", lines[0].role)
                self._diagnostics.print(self._for_shell(lines))

    def _for_shell(self, lines: list[Line]) -> list[Line]:
        """What to do next, as who reads this can do it."""
        return [Line(self._in_shell_form(line.text), line.role) for line in lines]

    def _in_shell_form(self, text: str) -> str:
        return in_shell_form(text, self._names, self._session.id) if "/" in text else text

    @cached_property
    def _names(self) -> list[str]:
        """Of the commands; to list them is to look for skills on disk, so once for a run."""
        return [one.name for one in self._session.commands]

    def _say(self, text: str) -> None:
        """Write an answer: to a terminal only what is safe there, to a pipe the text as it is."""
        self._out.write((visible(text) if self._out.isatty() else text) + "\n")
        self._out.flush()

    def _line(self, value: dict[str, Any]) -> None:
        self._out.write(json.dumps(value, ensure_ascii=False) + "\n")
        self._out.flush()


def _exit_code(ran: p.CommandRan) -> int:
    """An input that is not clear was not carried out, and neither was one that a hook held back."""
    if ran.ok:
        return 3 if ran.data.get("event", {}).get("type") == UNCLEAR else 0
    if ran.code == INTERRUPTED:
        return EXIT[EndStatus.INTERRUPTED]
    return 3 if ran.code == NOT_BEGUN else 1 if ran.code in RUN_ERROR_CODES else 2


def _command_result(ran: p.CommandRan, status: EndStatus) -> dict[str, Any]:
    return {
        "type": "result",
        "status": status,
        "answer": ran.text,
        "error": None if ran.ok else {"code": ran.code, "message": ran.text},
        "data": ran.data,
    }


def _plain(value: msgspec.Struct) -> dict[str, Any]:
    plain: dict[str, Any] = msgspec.to_builtins(value)
    return plain
