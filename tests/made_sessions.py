"""Sessions made up for tests: as many steps as wanted, with requests, calls, decisions and turned dials."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

from msgspec import structs

from quintet.adapters.files.paths import Places, locate
from quintet.adapters.sqlite.database import connect
from quintet.adapters.sqlite.rows import Rows
from quintet.domain.dials.axes import Axes, AxesChange, ModelMode, PermissionProfile, RunControl, Surface, WorkMode
from quintet.domain.dials.transitions import Actor, Scope
from quintet.domain.journal import protocol as p
from quintet.domain.journal.protocol import Event, Recorded, encode
from quintet.domain.journal.session_summary import SessionSummary
from quintet.domain.permission.effects import Effect, Grant
from quintet.domain.permission.gate import Sandbox, Verdict
from quintet.domain.ports.ports import Batch, SessionRow
from quintet.domain.turn.messages import ToolCall, Usage
from quintet.domain.turn.tool_spec import CallStatus

BEGAN = datetime(2026, 1, 5, 9, 0, tzinfo=UTC)
AXES = Axes(WorkMode.BUILD, RunControl.AUTONOMOUS, PermissionProfile.NORMAL, ModelMode.SMART, Surface.TUI)
TURNED = (
    AxesChange(work_mode=WorkMode.REVIEW, model_mode=ModelMode.DEEP),
    AxesChange(work_mode=WorkMode.BUILD, permission_profile=PermissionProfile.TRUSTED, model_mode=ModelMode.SMART),
    AxesChange(work_mode=WorkMode.PLAN, run_control=RunControl.ASSISTED),
    AxesChange(
        work_mode=WorkMode.BUILD, run_control=RunControl.AUTONOMOUS, permission_profile=PermissionProfile.NORMAL
    ),
    AxesChange(work_mode=WorkMode.RESEARCH),
    AxesChange(work_mode=WorkMode.BUILD),
)
CALLS: tuple[tuple[str, dict[str, str], tuple[Effect, ...], float], ...] = (
    ("Read", {"file_path": "src/shop/basket.py"}, (Effect.READ,), 0.01),
    ("grep", {"pattern": "def total", "path": "src"}, (Effect.READ,), 0.04),
    ("bash", {"command": "python -m pytest -q tests/test_basket.py"}, (Effect.BUILD,), 3.2),
    ("Edit", {"file_path": "src/shop/basket.py", "old_string": "price", "new_string": "amount"}, (Effect.EDIT,), 0.02),
    ("bash", {"command": "git push origin main"}, (Effect.NETWORK, Effect.PUBLISH), 0.0),
    ("git_status", {}, (Effect.READ,), 0.03),
)
SAID = "I read the basket and its tests; the total leaves out the first price. "
ASKED = ("Fix the total of the basket", "Now add a discount, with tests", "Why is the build slow?", "Tidy the imports")


class Made:
    """A session's events with their moments; a clock that moves as told."""

    def __init__(self, session: str = "q5-made", began: datetime = BEGAN, seq: int = 0) -> None:
        self.session = session
        self._now = began
        self._seq = seq

    def at(self, event: Event, seconds: float = 0.0) -> Recorded:
        self._now += timedelta(seconds=seconds)
        self._seq += 1
        return Recorded(self._seq, self._now.strftime("%Y-%m-%dT%H:%M:%S.%f")[:-3] + "Z", event)

    def events(self, steps: int, *, per_turn: int = 12, output: str = "ok\n") -> Iterator[Recorded]:
        axes = AXES
        yield self.at(p.SessionOpened(session=self.session, project="/home/ada/shop", axes=axes, program="0"))
        for number, first in enumerate(range(0, steps, per_turn), 1):
            if number > 1:
                change = TURNED[number % len(TURNED)]
                after = change.applied_to(axes)
                turned = p.DialsTurned(
                    transition=f"t-{number}",
                    before=axes,
                    after=after,
                    actor=Actor.USER,
                    reason="/mode",
                    scope=Scope.NOW,
                    change=change,
                )
                yield self.at(turned, 90)
                axes = after
            yield from self._turn(number, axes, min(per_turn, steps - first), output)

    def _turn(self, number: int, axes: Axes, steps: int, output: str) -> Iterator[Recorded]:
        turn, run, text = f"turn-{number}", f"run-{number}", ASKED[number % len(ASKED)]
        yield self.at(p.InputReceived(submission=f"sub-{number}", text=text, surface=axes.surface), 5)
        yield self.at(p.TurnStarted(turn=turn, run=run, submission=f"sub-{number}", text=text, axes=axes))
        usage, cost = Usage(), 0.0
        for n in range(steps):
            last = n == steps - 1
            stage = "warmup" if n == 0 and steps > 2 else "delivery_check" if last and steps > 1 else "act"
            stage = "tool_followup" if stage == "act" and n > 1 else stage
            name, arguments, effects, seconds = CALLS[(n + number) % len(CALLS)]
            step, call = f"step-{number}-{n}", f"call-{number}-{n}"
            yield self.at(
                p.ModelRequested(
                    step=step,
                    turn=turn,
                    run=run,
                    conversation=self.session,
                    user_mode="Agent",
                    stage=stage,
                    model="large" if axes.model_mode is ModelMode.DEEP else "small",
                    tool_count=0 if stage == "delivery_check" else 14,
                    reasoning=False,
                    axes=axes,
                )
            )
            if n % 11 == 7:
                error = p.ErrorInfo("LLM_RATE_LIMITED", "too many requests")
                yield self.at(p.ModelFailed(step=step, error=error, retry_in=0.5), 0.6)
                continue
            spent = Usage(2_000 + 350 * n, 90 + 7 * (n % 5), 1_500 * (n > 0) + 300 * n * (n > 0))
            usage, cost = usage.plus(spent), cost + spent.input_tokens * 3e-6 + spent.output_tokens * 15e-6
            calls = () if last else (ToolCall(call, name, json.dumps(arguments)),)
            reply = p.ModelReplied(
                step=step,
                text="DONE\nThe tests pass." if stage == "delivery_check" else SAID,
                calls=calls,
                usage=spent,
                cost=spent.input_tokens * 3e-6 + spent.output_tokens * 15e-6,
                aside=stage == "delivery_check",
            )
            yield self.at(reply, 1.4 + (n * 7 % 5) * 0.6)
            if calls:
                yield from self._call(call, turn, name, json.dumps(arguments), effects, seconds, axes, output)
        yield self.at(
            p.TurnFinished(turn=turn, status="done", answer=SAID, delivery="DONE", steps=steps, usage=usage, cost=cost),
            0.1,
        )

    def _call(
        self,
        call: str,
        turn: str,
        tool: str,
        arguments: str,
        effects: tuple[Effect, ...],
        seconds: float,
        axes: Axes,
        output: str,
    ) -> Iterator[Recorded]:
        asks = Effect.PUBLISH in effects
        reading = axes.work_mode in (WorkMode.REVIEW, WorkMode.RESEARCH, WorkMode.PLAN) and Effect.EDIT in effects
        verdict = Verdict.DENY if reading else Verdict.ASK if asks else Verdict.ALLOW
        reason = {
            Verdict.DENY: f"{axes.work_mode} does not change the project",
            Verdict.ASK: "publish is never done unasked",
            Verdict.ALLOW: f"{axes.permission_profile} does this unasked",
        }[verdict]
        yield self.at(
            p.CallDecided(
                call=call,
                tool=tool,
                arguments=arguments,
                verdict=verdict,
                reason=reason,
                effects=effects,
                grant=Grant(effects),
                axes=axes,
                person=True,
                sandbox=Sandbox.BWRAP,
            )
        )
        if asks:
            question = p.QuestionAsked(
                question=f"q-{call}", kind="approve", text="Run: git push origin main?", choices=()
            )
            yield self.at(question)
            yield self.at(p.QuestionAnswered(question=f"q-{call}", choice="n", note="not yet"), 8)
        if verdict is not Verdict.ALLOW:
            said = "not run: the user said no: not yet" if asks else f"not run: {reason}"
            yield self.at(p.ToolFinished(call=call, tool=tool, status=CallStatus.DENIED, content=said))
            return
        yield self.at(p.ToolStarted(call=call, turn=turn, tool=tool, arguments=arguments))
        fails = tool == "bash" and call.endswith("3")
        yield self.at(
            p.ToolFinished(
                call=call,
                tool=tool,
                status=CallStatus.ERROR if fails else CallStatus.OK,
                content="1 failed, 11 passed\n" if fails else output,
                seconds=seconds,
                changed=("src/shop/basket.py",) if tool == "Edit" else (),
                summary="exit code 1" if fails else "1 line",
            ),
            seconds,
        )


def store(root: Path, *sessions: list[Recorded]) -> Places:
    """Put sessions into the project's store, as their owner would have; the store numbers the events."""
    places = locate(str(root))
    Path(places.state).mkdir(parents=True, exist_ok=True)
    rows = Rows(connect(places.database), places.database)
    summary = encode(SessionSummary(axes=AXES))
    with rows.connection:
        for events in sessions:
            opened = events[0].event
            assert isinstance(opened, p.SessionOpened)
            title = next(
                (" ".join(r.event.text.split())[:80] for r in events if isinstance(r.event, p.TurnStarted)), ""
            )
            at = events[0].at
            row = SessionRow(opened.session, at, at, opened.parent, opened.forked_after, "", summary, "", 0, "", 0.0)
            rows.insert_session(row)
            for recorded in events:
                kind = str(type(recorded.event).__struct_config__.tag)
                event = (kind, encode(recorded.event))
                rows.append(opened.session, Batch(None, [event], recorded.at, summary, title))
    rows.connection.close()
    return places


def with_output(events: list[Recorded], output: str) -> list[Recorded]:
    """The same events, each call's output this one."""
    return [
        structs.replace(r, event=structs.replace(r.event, content=output)) if isinstance(r.event, p.ToolFinished) else r
        for r in events
    ]
