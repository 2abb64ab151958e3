"""`builtin`, the offline rules: what answers when no model is configured. It never pretends to be a language model.

A Model like any other: it is shown the conversation, and answers with tool calls or with text. At each request it runs
its program again over the calls and results so far, which makes it stateless and deterministic.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Callable, Collection

import msgspec
from msgspec import Struct

from quintet.adapters.files.loose_json import as_dict, decoded
from quintet.adapters.offline_rules.intents import CAN_DO, Intent, RunTests
from quintet.adapters.offline_rules.phrasing import parse
from quintet.adapters.offline_rules.program_steps import PlannedCall, SayStep, Step
from quintet.adapters.offline_rules.programs import needs, plan, program
from quintet.domain.base.wording import SMALL_WORDS
from quintet.domain.journal.reasons import NOT_RUN, was_begun
from quintet.domain.permission.effects import Effect
from quintet.domain.turn.messages import CallPart, EndPart, Finish, Message, Part, Request, Role, TextPart, ToolCall
from quintet.domain.turn.tool_menu import toolsets_of

HOME = "swe"  # the toolset most of the work is done in
MENU = "menu_enter"
_SMALL_WORDS = SMALL_WORDS | {"all", "is", "it", "me", "my", "please", "this", "you"}
PING = "ping"  # whether everything is put together rightly


class Done(Struct, frozen=True):
    """A call of this turn, and its result."""

    tool: str
    arguments: str
    result: str


class OfflineRules:
    name = "builtin"
    staged = False  # it does not reason, and is not asked whether it is done: its reports carry their evidence

    def __init__(
        self,
        found_here: Callable[[], list[str]],
        connect_line: Callable[[], str] = lambda: "quintet models add",
        cli_line: Callable[[], str] = lambda: "",
        models: Collection[str] = (),
    ) -> None:
        """`models`: the user's, who has chosen the rules all the same."""
        self._models = models
        self._found_here = found_here
        self._connect_line = connect_line  # what to type to have a model
        self._cli_line = cli_line  # what to type to have an AI CLI do the work; empty where there is none

    async def stream(self, request: Request) -> AsyncIterator[Part]:
        answer = self._answer(request)
        if isinstance(answer, SayStep):
            yield TextPart(answer.text)
            yield EndPart(Finish.STOP if answer.done else Finish.FAILED if answer.failed else Finish.REFUSED)
            return
        for number, call in enumerate(answer, 1):
            arguments = msgspec.json.encode(call.arguments).decode()
            yield CallPart(ToolCall(f"rule-{len(request.messages)}-{number}", call.tool, arguments))
        yield EndPart(Finish.TOOL_CALLS)

    async def close(self) -> None:
        """Nothing is held open."""

    def _answer(self, request: Request) -> tuple[PlannedCall, ...] | SayStep:
        said, past = _this_turn(request.messages)
        if request.purpose == "plan":
            planned = plan(said)
            return SayStep(self._cannot(said), done=False) if planned is None else SayStep(planned)
        if said.strip().lower() == PING:
            return SayStep("pong")
        intents = parse(said)
        if intents is None:
            return SayStep(self._cannot(said), done=False)
        offered = {tool.name for tool in request.tools}
        work = [done for done in past if done.tool != MENU]
        if past and past[-1].tool == MENU and past[-1].result.startswith(NOT_RUN):
            return SayStep(f"Nothing was done: the call to {MENU} was {past[-1].result}", done=False)
        entered = as_dict(decoded(past[-1].arguments)).get("mode", "") if past and past[-1].tool == MENU else ""
        if not work and MENU in offered and not entered and not {"Read", "grep"} <= offered:
            return _enter(HOME)
        if not work and entered in ("", HOME) and (missing := _missing(intents, offered)):
            return SayStep(_hidden(missing), done=False)
        answer = _advance(intents, work, request.unasked, again=request.purpose == "retry")
        if isinstance(answer, SayStep):
            return answer
        absent = next((call.tool for call in answer if call.tool not in offered), "")
        homes = toolsets_of(absent) if absent and MENU in offered else []
        if homes and homes[0] != entered:
            return _enter(homes[0])
        return SayStep(_hidden([absent]), done=False) if absent else answer

    def _cannot(self, said: str) -> str:
        words = _words(said)
        near = {example: len(words & _words(f"{example} {about}")) for example, about in CAN_DO}
        ordered = sorted(CAN_DO, key=lambda row: -near[row[0]])
        close = sum(count > 0 for count in near.values())
        rules = "The" if self._models else "No model is configured, and the"
        lines = [f"{rules} offline rules do not understand this request. Nothing was run."]
        for place, (example, about) in enumerate(ordered):
            if place in (0, close):
                lines.append("Similar requests:" if place < close else "They can:" if not close else "They can also:")
            lines += [f"  {example}", f"    {about}"]  # below each other: two columns are wider than many terminals
        if self._models:
            lines.append(f"To ask a model: /model NAME, or --model NAME; you have {', '.join(self._models)}.")
        elif found := self._found_here():
            lines.append(f"Found on this machine: {', '.join(found)}.")
        if not self._models:
            lines.append(f"To connect a model: {self._connect_line()}")
        if line := self._cli_line():
            lines.append(f"To let an AI CLI do it: {line} (in a session: /planner and /executor)")
        return "\n".join(lines)


def _enter(toolset: str) -> tuple[PlannedCall]:
    return (PlannedCall(MENU, {"mode": toolset}),)


def _missing(intents: list[Intent], offered: set[str]) -> list[str]:
    """Tools that would be needed and are hidden here; those of another toolset are seen when it is entered."""
    wanted: set[str] = set().union(*(needs(intent) for intent in intents))
    if MENU in offered:
        wanted = {"Edit" if HOME not in toolsets_of(tool) else tool for tool in wanted}
    return sorted(wanted - offered)


def _hidden(tools: list[str]) -> str:
    return (
        f"Nothing was done: this needs {', '.join(tools)}, which this permission profile "
        "hides.\nChange the dials first: --mode build --permission-profile normal, or in a session "
        "/mode build --permission-profile normal"
    )


def _words(text: str) -> set[str]:
    found = re.findall(r"[a-z]{2,}", text.lower())
    return {word.rstrip("s") for word in found if word not in _SMALL_WORDS}


def _this_turn(messages: tuple[Message, ...]) -> tuple[str, list[Done]]:
    """The request of the current turn, and its calls so far with their results.

    A call that still waited when the turn was interrupted is made again, and asked about again, when it goes on.
    """
    for place in range(len(messages) - 1, -1, -1):
        if messages[place].role is Role.USER:
            later = messages[place + 1 :]
            calls = {call.id: call for message in later for call in message.calls}
            answered = [(calls[m.call_id], m.text) for m in later if m.role is Role.TOOL and m.call_id in calls]
            return messages[place].text, [
                Done(call.name, call.arguments, text) for call, text in answered if was_begun(text)
            ]
    return "", []


def _advance(
    intents: list[Intent], past: list[Done], unasked: frozenset[Effect], *, again: bool = False
) -> tuple[PlannedCall, ...] | SayStep:
    """Run the programs over what was done so far: the next calls, or all that is to be said."""
    waiting = list(reversed(past))
    texts: list[str] = []
    tested = False
    for place, intent in enumerate(intents):
        if tested:
            tested = False
            continue
        steps = program(intent, tests_follow=_tests_next(intents, place))
        try:
            step = next(steps)
            while True:
                if step.only_unasked and not _taken(step, waiting, unasked):
                    step = steps.send([])
                    continue
                results = [waiting.pop() for _ in step.calls[: len(waiting)]]
                if any(not _same(call, done) for call, done in zip(step.calls, results, strict=False)):
                    return SayStep(
                        "\n\n".join([*texts, "Stopped: the offline rules have changed since this conversation began."]),
                        done=False,
                    )
                if len(results) < len(step.calls):
                    return step.calls[len(results) :]
                step = steps.send([done.result for done in results])
        except StopIteration as end:
            said: SayStep = end.value
            texts.append(said.text)
            if said.tests:
                tested = True
                said = said.tests
                texts.append(said.text)
            if not (said.done or (again and said.already)):
                return SayStep("\n\n".join(texts), done=False, failed=said.failed)
    return SayStep("\n\n".join(texts))


def _tests_next(intents: list[Intent], place: int) -> RunTests | None:
    after = next(iter(intents[place + 1 :]), None)
    return after if isinstance(after, RunTests) else None


def _taken(step: Step, waiting: list[Done], unasked: frozenset[Effect]) -> bool:
    """Whether an optional step is gone: what was done says so; where nothing has followed yet, the dials do."""
    return _same(step.calls[0], waiting[-1]) if waiting else step.only_unasked in unasked


def _same(call: PlannedCall, done: Done) -> bool:
    return call.tool == done.tool and call.arguments == decoded(done.arguments)
