"""`builtin`, the offline rules: what answers when no model is configured. It never pretends to be a language model.

A Model like any other: it is shown the conversation, and answers with a tool call or with text. Each request it
replays its program over the results so far, which makes it stateless and deterministic.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable

import msgspec

from quintet.adapters.offline_rules.intents import CAN_DO, Intent, parse
from quintet.adapters.offline_rules.programs import Call, Said, needs, program
from quintet.domain.messages import CallPart, EndPart, Finish, Message, Part, Request, Role, TextPart, ToolCall


class OfflineRules:
    name = "builtin"
    staged = False  # it does not reason, and is not asked whether it is done: its reports carry their evidence

    def __init__(self, found_here: Callable[[], list[str]]) -> None:
        self._found_here = found_here

    async def stream(self, request: Request) -> AsyncIterator[Part]:
        said, results = _this_turn(request.messages)
        intents = parse(said)
        if intents is None:
            yield TextPart(self._cannot(said))
            yield EndPart(Finish.REFUSED)
            return
        offered = {tool.name for tool in request.tools}
        if "menu_enter" in offered and "grep" not in offered and "git_status" not in offered:
            yield CallPart(ToolCall(f"rule-{len(request.messages)}-menu", "menu_enter", '{"mode":"swe"}'))
            yield EndPart(Finish.TOOL_CALLS)
            return
        missing = sorted(set().union(*(needs(intent) for intent in intents)) - offered)
        if missing:
            yield TextPart(
                f"Nothing was done: this needs {', '.join(missing)}, which this permission profile hides.\n"
                "Turn the dials first: --mode build --permission-profile normal, or in a session "
                "/mode build --permission-profile normal"
            )
            yield EndPart(Finish.REFUSED)
            return
        step = _advance(intents, results)
        if isinstance(step, Call):
            number = len(results) + 1
            arguments = msgspec.json.encode(step.arguments).decode()
            yield CallPart(ToolCall(f"rule-{len(request.messages)}-{number}", step.tool, arguments))
            yield EndPart(Finish.TOOL_CALLS)
            return
        yield TextPart(step.text)
        yield EndPart(Finish.STOP if step.done else Finish.REFUSED)

    async def close(self) -> None:
        """Nothing is held open."""

    def _cannot(self, said: str) -> str:
        width = max(len(example) for example, _ in CAN_DO)
        lines = [
            "No model is configured, and the offline rules do not understand this request. Nothing was run.",
            "They can:",
            *(f"  {example:<{width}}  {about}" for example, about in CAN_DO),
        ]
        found = self._found_here()
        if found:
            lines.append(f"Found on this machine: {', '.join(found)}.")
        lines.append(
            "To connect a model, put [models.NAME] and [routing] into your settings: `quintet settings` says where."
        )
        return "\n".join(lines)


def _this_turn(messages: tuple[Message, ...]) -> tuple[str, list[str]]:
    """The request of the current turn, and the results of its calls so far."""
    for place in range(len(messages) - 1, -1, -1):
        if messages[place].role is Role.USER:
            later = messages[place + 1 :]
            moves = {call.id for message in later for call in message.calls if call.name == "menu_enter"}
            results = [m.text for m in later if m.role is Role.TOOL and m.call_id not in moves]
            return messages[place].text, results
    return "", []


def _advance(intents: list[Intent], results: list[str]) -> Call | Said:
    """Run the programs over the results so far: the next call, or all that is to be said."""
    waiting = list(reversed(results))
    texts: list[str] = []
    for intent in intents:
        steps = program(intent)
        try:
            call = next(steps)
            while waiting:
                call = steps.send(waiting.pop())
        except StopIteration as end:
            said: Said = end.value
            texts.append(said.text)
            if not said.done:
                return Said("\n\n".join(texts), done=False)
            continue
        return call
    return Said("\n\n".join(texts))
