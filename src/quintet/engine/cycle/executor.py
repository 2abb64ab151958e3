"""Starts an AI CLI for a cycle: one start is one call to the gate, what it says becomes events, failures are retried.

That an executor is named in the user's settings or by a flag is their rule for starting it: it lifts the question where
a whole sandbox stands around it, above restricted. A planner or verifier gets the project read-only.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator
from typing import cast

from msgspec import Struct, field, json, structs

from quintet.domain.base.errors import ExecutorFailed
from quintet.domain.dials.axes import PermissionProfile, WorkMode
from quintet.domain.journal.conversation_state import OUTCOME_UNKNOWN
from quintet.domain.journal.protocol import ExecutorActed, ExecutorEnded, ExecutorSaid, Progress, ToolStarted
from quintet.domain.permission import gate
from quintet.domain.permission.effects import Effect
from quintet.domain.permission.gate import Sandbox
from quintet.domain.permission.rules import Rule, exactly
from quintet.domain.tasks import executors
from quintet.domain.tasks.executors import (
    MAY_BE_THE_TASKS,
    STARTING,
    Assignment,
    CallBegan,
    CallEnded,
    Changed,
    Ended,
    ExecutorFailure,
    ExecutorMessage,
    ExecutorPart,
    Printed,
    Spent,
)
from quintet.domain.tasks.roles import ExecutorRole
from quintet.domain.turn.messages import ToolCall, Usage
from quintet.domain.turn.skipped import held_up
from quintet.domain.turn.tool_spec import CallStatus, ToolResult, ToolSpec, Touch
from quintet.engine.cycle.context import CycleContext, run_to_end
from quintet.engine.turn.gatekeeper import Blocked, Gatekeeper, finished_call
from quintet.engine.turn.time_limit import LimitReached
from quintet.engine.turn.toolbox import Prepared
from quintet.engine.turn.turn import Turn

MOST_OUTPUT = 2_000  # characters of an answer or a call's output, in an event
MOST_CHANGED = 100  # files
EFFECTS = frozenset({Effect.EXECUTE, Effect.NETWORK, Effect.EDIT})


async def _never(*_: object, **__: object) -> ToolResult:
    raise AssertionError("an executor needs its own port")


SPEC = ToolSpec(
    name=STARTING,
    description="start an AI CLI",
    profile=PermissionProfile.NORMAL,
    effects=EFFECTS,
    schema=dict,
    bind=lambda arguments: {},
    touch=lambda arguments: Touch(EFFECTS),
    run=_never,
)


class ExecutorGate(Gatekeeper):
    """Decides about one executor in one role."""

    def __init__(self, context: CycleContext, name: str, role: ExecutorRole, folder: str) -> None:
        super().__init__(context.core, context.journal, context.questions)
        self._name = name
        self._role = role
        self._folder = folder

    def prepare(self, call: ToolCall, own: bool = False) -> Prepared | ToolResult:
        toolbox, axes = self._core.turn.toolbox, self._journal.state.axes
        read_only = self._journal.state.read_only
        executes = self._role is ExecutorRole.EXECUTE
        if not executes:
            axes = structs.replace(axes, work_mode=WorkMode.PLAN)
        effects = EFFECTS if executes and not read_only else EFFECTS - {Effect.EDIT}
        touch = Touch(effects, why=f"{self._name} works independently, with network access")
        rules = (*self._journal.state.rules, *toolbox.outside.rules(), *self._own_rule(axes.permission_profile))
        terms = structs.replace(toolbox.terms, person=self._core.person, rules=rules, read_only=read_only)
        decision = gate.decide(SPEC, touch, axes, terms, self._name)
        if not executes:
            decision = structs.replace(decision, grant=structs.replace(decision.grant, write_roots=(self._folder,)))
        return Prepared(call, SPEC, {"pattern": self._name}, touch, decision, terms=terms)

    def _own_rule(self, profile: PermissionProfile) -> tuple[Rule, ...]:
        whole = self._core.turn.toolbox.sandbox is Sandbox.BWRAP and profile is not PermissionProfile.RESTRICTED
        effects = tuple(EFFECTS)
        return (Rule("cycle", "allow", STARTING, exactly(self._name), effects),) if whole else ()


class StartRecord(Struct):
    """What one start said so far."""

    begun: dict[str, CallBegan] = field(default_factory=dict)
    changed: list[str] = field(default_factory=list)
    usage: Usage = Usage()
    cost: float = 0.0
    ended: Ended | None = None


def why(name: str, ended: Ended) -> str:
    """What went wrong with an executor."""
    return executors.with_name(name, ended.reason or str(ended.failure or "failed"))


class ExecutorStart:
    def __init__(self, context: CycleContext, name: str, role: ExecutorRole, turn: Turn, folder: str = "") -> None:
        self._context = context
        self._name = name
        self._role = role
        self._turn = turn
        self._folder = folder
        self._gate = ExecutorGate(context, name, role, folder)
        self.acted = 0  # calls that it made by itself, and that went well

    async def run(self, prompt: str) -> Ended:
        """Start it until it succeeds or is given up. What comes back is its success, or a failure of its task's.

        Raises Blocked where it may not be started, LimitReached where the cycle's budget is spent, or would be before
        the next attempt, and ExecutorFailed where the task has nothing to do with it.
        """
        context, attempt = self._context, 0
        while True:
            attempt += 1
            await context.go.wait()
            ended, wait = await self._once(prompt, attempt)
            if ended.ok:
                return ended
            if hit := context.limit_hit():
                raise LimitReached(hit)
            if wait is None:
                break
            if hit := context.limit_hit(wait.seconds):
                raise LimitReached(f"{hit}; {why(self._name, ended)}, and the next attempt would be too late")
            await context.wait(wait.seconds, f"{why(self._name, ended)}; {wait.reason}")
        if self._role is ExecutorRole.EXECUTE and ended.failure in MAY_BE_THE_TASKS:
            return ended
        raise ExecutorFailed(why(self._name, ended), hint=ended.hint)

    async def _once(self, prompt: str, attempt: int) -> tuple[Ended, executors.Again | None]:
        context, core, journal = self._context, self._context.core, self._context.journal
        about = {"executor": self._name, "role": str(self._role), "attempt": attempt}
        call = ToolCall(core.ids.new("c"), STARTING, json.encode(about).decode())
        prepared = await self._gate.admit(call)
        if prepared is None:
            skipped = self._turn.skipped
            raise Blocked(held_up(skipped) if skipped else f"{self._name}: {journal.state.calls.last_result}")
        turn = self._turn.id
        watched, kept = await context.checkpoints.before(turn, [prepared])
        await journal.append(*kept, ToolStarted(call=call.id, turn=turn, tool=STARTING, arguments=call.arguments))
        began, heard = core.clock.monotonic(), StartRecord()
        try:
            await self._listen(call.id, prepared, prompt, heard)
        except (asyncio.CancelledError, LimitReached) as stop:
            journal.post(finished_call(call, ToolResult(OUTCOME_UNKNOWN, CallStatus.INTERRUPTED)))
            stopped = Ended(False, reason=str(stop) if isinstance(stop, LimitReached) else "interrupted")
            journal.post(self._ended(call.id, attempt, stopped, heard, core.clock.monotonic() - began))
            journal.post(*await run_to_end(context.checkpoints.after(watched)))
            raise
        finally:
            self._turn.spend(heard.usage, heard.cost)
        ended = heard.ended or Ended(False, failure=ExecutorFailure.GARBAGE, reason="it ended without output")
        follows = None if ended.ok else self._follows(attempt, ended)
        wait = follows if isinstance(follows, executors.Again) else None
        if isinstance(follows, executors.GiveUp) and follows.reason:
            ended = structs.replace(ended, hint="\n".join(filter(None, (ended.hint, follows.reason))))
        seconds = core.clock.monotonic() - began
        status = CallStatus.OK if ended.ok else CallStatus.ERROR
        text = (ended.answer or ended.reason)[:MOST_OUTPUT]
        changed = await run_to_end(context.checkpoints.after(watched))
        journal.post(*changed, finished_call(call, ToolResult(text, status, summary=self._name), round(seconds, 3)))
        journal.post(self._ended(call.id, attempt, ended, heard, seconds, wait))
        return ended, wait

    async def _listen(self, call: str, prepared: Prepared, prompt: str, heard: StartRecord) -> None:
        context = self._context
        settings = context.core.settings.cycle
        times = [settings.executor_seconds] if settings.executor_seconds else []
        if settings.max_seconds:
            taken = context.cycle.spent.seconds + context.seconds
            times.append(max(settings.max_seconds - taken, 1.0))
        assignment = Assignment(
            executor=self._name,
            role=self._role,
            prompt=prompt,
            grant=prepared.decision.grant,
            profile=context.state.axes.permission_profile,
            folder=self._folder,
            whole=context.core.cycle.plans.output(context.cycle.run, call),
            silence=settings.silence_seconds,
            timeout=min(times, default=0.0),
        )
        said = cast(AsyncGenerator[ExecutorPart, None], context.core.cycle.executors().run(assignment))
        async with contextlib.aclosing(said) as parts:  # what is cut short is ended before anything else happens
            async for part in parts:
                if not isinstance(part, Ended) and (spent := context.cycle.over_budget(heard.cost)):
                    raise LimitReached(spent)
                match part:
                    case ExecutorMessage():
                        context.journal.post(ExecutorSaid(call=call, text=part.text, reasoning=part.reasoning))
                    case CallBegan():
                        heard.begun[part.id] = part
                        context.journal.signal(Progress(call=call, text=f"{part.tool} {part.summary}\n"))
                    case CallEnded():
                        begun = heard.begun.pop(part.id, CallBegan(part.id, "?"))
                        self.acted += part.ok
                        shown = part.output[:MOST_OUTPUT]
                        about = {"tool": begun.tool, "summary": begun.summary}
                        context.journal.post(ExecutorActed(call=call, **about, ok=part.ok, output=shown))
                    case Changed():
                        heard.changed.append(part.path)
                    case Spent():
                        heard.usage, heard.cost = heard.usage.plus(part.usage), heard.cost + part.cost
                    case Printed():
                        context.journal.signal(Progress(call=call, text=f"{part.line}\n"))
                    case Ended():
                        heard.ended = part

    def _follows(self, attempt: int, ended: Ended) -> executors.Again | executors.GiveUp:
        retry = self._context.core.settings.retry
        return executors.retry_after(attempt, ended.failure or ExecutorFailure.CRASHED, ended.resets_in, retry)

    def _ended(
        self,
        call: str,
        attempt: int,
        ended: Ended,
        heard: StartRecord,
        seconds: float,
        again: executors.Again | None = None,
    ) -> ExecutorEnded:
        state = self._context.state
        return ExecutorEnded(
            call=call,
            turn=self._turn.id,
            run=self._context.cycle.run,
            conversation=state.session,
            axes=state.axes,
            executor=self._name,
            role=self._role,
            attempt=attempt,
            ok=ended.ok,
            failure=ended.failure,
            reason=ended.reason,
            hint=ended.hint,
            exit_code=ended.exit_code,
            seconds=round(seconds, 3),
            changed=tuple(dict.fromkeys(heard.changed))[:MOST_CHANGED],
            notes=ended.notes,
            usage=heard.usage,
            cost=heard.cost,
            retry_in=again.seconds if again else None,
        )
