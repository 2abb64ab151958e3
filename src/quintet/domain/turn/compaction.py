"""Compaction of a conversation: when it is due, where it is cut, and what the older part leaves behind.

Pure and deterministic. The older messages become one structured summary; the user's last requests stay in it whole,
in their own words; reasoning never gets into it. A cut parts no tool result from its call.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from msgspec import UNSET, Struct, UnsetType, structs

from quintet.domain.base import wire_json
from quintet.domain.base.lazy_regex import regex
from quintet.domain.base.safe_text import brief
from quintet.domain.turn import context
from quintet.domain.turn.context import ContextLimits, tokens
from quintet.domain.turn.messages import Message, Role, ToolCall
from quintet.domain.turn.swe_phases import names_test
from quintet.domain.turn.todos import Todo, TodoStatus
from quintet.domain.turn.tool_spec import CallStatus

STAGE = "compact"  # of the request for a summary that a model writes
LAST_REQUESTS = 5
MOST_BUDGET = 64_000  # characters that a summary is made for, however large a window is
LEAST_SHOWN = 400  # characters of one message that a model is shown to summarise
_PATH_OF = {"Read": "file_path", "fs_read_file": "path"}  # tools that read a file, and the argument that names it

_REASONING = regex(r"<ide_reasoning.*?(?:</ide_reasoning\s*>|\Z)|</ide_reasoning\s*>?", re.S | re.I)
_SENTENCE_END = regex(r"(?<=[.!?])\s+")
_OUTCOME = regex(r"^\[outcome\]\n(.*)\Z", re.S | re.M)
_SAYS = " → "  # between a call and what came of it
_HEADING = regex(r"^[^\S\n]*((?:(?:[>*+-]|\d+[.)])[^\S\n]*)*)#{1,6}[^\S\n]*", re.M)
_UNDERLINE = regex(r"^[^\S\n]*(?:=+|-{2,})[^\S\n]*$", re.M)  # makes a heading of the line above
_SPEAKER = regex(r"^([^\S\n]*)\[(user|assistant|tool|system|call)\]", re.M | re.I)
_STATUSES = tuple(f"{status}: " for status in TodoStatus)


class SummarySizes(Struct, frozen=True, gc=False):
    """How much of each thing a summary holds."""

    lines: int  # of one kind
    line: int  # characters
    request: int  # characters of one request of the user's
    narrative: int  # characters


def sizes(most: int) -> SummarySizes:
    """For a conversation that may hold so many tokens; 0 is any number."""
    budget = min(most or MOST_BUDGET, MOST_BUDGET)
    line = min(max(budget // 150, 160), 400)
    lines = min(max(budget // (6 * line), 12), 60)
    return SummarySizes(lines, line, max(budget // 4, 4_000), max(budget // 4, 2_000))


class Summary(Struct, frozen=True, gc=False):
    """What is left of the older part of a conversation."""

    goals: tuple[str, ...] = ()
    decisions: tuple[str, ...] = ()
    plan: tuple[str, ...] = ()
    open_issues: tuple[str, ...] = ()
    key_outputs: tuple[str, ...] = ()
    last_requests: tuple[str, ...] = ()  # the user's own words, whole; those that stand in kept messages are left out
    keep: tuple[str, ...] | UnsetType = UNSET  # what the user said is to be kept
    narrative: str | UnsetType = UNSET  # what a model wrote of it; the rest is by rules


class CallOutcome(Struct, frozen=True, gc=False):
    """What a conversation's message does not say of a call."""

    status: CallStatus
    changed: tuple[str, ...] = ()


_SECTIONS = {
    "goals": "Goals",
    "decisions": "Decisions",
    "plan": "Plan",
    "open_issues": "Open issues",
    "key_outputs": "Key outputs",
}


# ── when, and where


def over(messages: Sequence[Message], limits: ContextLimits, *, summarised: bool = False) -> str:
    """What the conversation has too much of; empty if nothing."""
    fresh = messages[1:] if summarised else messages
    if limits.messages and len(fresh) > limits.messages:
        return f"{len(fresh)} messages, compression.max_messages = {limits.messages}"
    if limits.tokens and (held := tokens(fresh)) > _room(messages, limits, summarised):
        return f"about {held} tokens, {limits.said}"
    return ""


def due(messages: Sequence[Message], limits: ContextLimits, *, summarised: bool = False) -> str:
    """Why the conversation is to be compressed now; empty if it is not, or if nothing can be left out."""
    reason = over(messages, limits, summarised=summarised)
    return reason if reason and cut(messages, limits, summarised=summarised) > int(summarised) else ""


def _room(messages: Sequence[Message], limits: ContextLimits, summarised: bool) -> int:
    """Tokens for what is not summarised. However long the user's own words in a summary are, a quarter is left."""
    taken = tokens(messages[:1]) if summarised else 0
    return max(limits.tokens - taken, limits.tokens // 4)


def cut(messages: Sequence[Message], limits: ContextLimits, *, summarised: bool = False) -> int:
    """Where the kept messages begin: after the summary if there is nothing to leave out.

    What is kept stays well below what makes compression due, so that it is not due again at once.
    """
    most = max(limits.keep, 1)
    if limits.messages:
        most = max(min(most, limits.messages // 2), 1)
    first = int(summarised)
    kept, start = 0, first
    places = {place for place in boundaries(messages) if first <= place < len(messages)}
    for place in range(len(messages) - 1, first - 1, -1):
        kept += context.characters(messages[place])
        fits = len(messages) - place <= most and (not limits.tokens or kept // 4 <= limits.tokens // 4)
        if place in places:
            if not fits:
                return start if start > first else place  # the newest step is kept, however long it is
            start = place
    return first


def to_shorten(messages: Sequence[Message], limits: ContextLimits, *, summarised: bool = False) -> dict[int, int]:
    """The old outputs to shorten, each with the characters to leave of it, where that is enough for some time to come.

    Those of the newest messages stay, unless they alone are too long: then they are cut to what there is room for.
    """
    if not limits.tokens or (limits.messages and len(messages) - summarised > limits.messages):
        return {}
    start = cut(messages, limits, summarised=summarised)
    room = _room(messages, limits, summarised)
    old = context.long_outputs(messages, int(summarised), start)
    if old and tokens(context.with_shortened(messages, old)[int(summarised) :]) <= room // 2:
        return old
    if start > int(summarised):
        return {}  # there is something to summarise
    long = context.long_outputs(messages, start, len(messages))
    each = max(room * 3 // max(len(long), 1), context.OLD_OUTPUT)  # three quarters of the room, at four characters
    return context.long_outputs(messages, start, len(messages), each)


def boundaries(messages: Sequence[Message]) -> list[int]:
    """The places where every call before has its result before."""
    places, unanswered = [0], set[str]()
    for place, message in enumerate(messages, 1):
        unanswered.update(call.id for call in message.calls)
        unanswered.discard(message.call_id)
        if not unanswered:
            places.append(place)
    return places


# ── what is left


def summarise(
    messages: Sequence[Message],
    start: int,
    *,
    earlier: Summary | None,
    requests: Sequence[str],
    outcomes: Mapping[str, CallOutcome],
    todos: Mapping[str, Todo],
    keep: str = "",
    size: SummarySizes | None = None,
) -> Summary:
    """The summary of `messages[:start]`, by rules: what was said and done, in its own words."""
    earlier, size = earlier or Summary(), size or sizes(0)
    kept = {message.text for message in messages[start:] if message.role is Role.USER}
    words = tuple(dict.fromkeys([*(earlier.keep or ()), *([_bounded(keep, size.request)] if keep.strip() else ())]))
    return Summary(
        goals=_lines([*(earlier.goals or requests[:1]), *requests[:-LAST_REQUESTS]], size),
        decisions=_lines([*earlier.decisions, *_decisions(messages[:start], size)], size),
        plan=_plan(messages[:start], earlier.plan, todos, size),
        open_issues=_open_issues(messages, start, earlier.open_issues, outcomes, size),
        key_outputs=_key_outputs(messages[:start], earlier.key_outputs, outcomes, size),
        last_requests=tuple(_bounded(text, size.request) for text in requests[-LAST_REQUESTS:] if text not in kept),
        keep=words[-LAST_REQUESTS:] or UNSET,
        narrative=_bounded(earlier.narrative, size.narrative) if earlier.narrative else UNSET,
    )


def _plan(
    messages: Iterable[Message], earlier: Sequence[str], todos: Mapping[str, Todo], size: SummarySizes
) -> tuple[str, ...]:
    """What reasoning came to plan, what comes next by it, and the todos: those that are open stand last."""
    planned = [line for line in earlier if not (todos and line.startswith(_STATUSES))]
    for message in messages:
        if message.role is Role.ASSISTANT and (found := _OUTCOME.search(message.text)):
            lines = dict(line.partition(": ")[::2] for line in found[1].splitlines() if ": " in line)
            if "plan" in lines:
                planned.append(f"plan: {lines['plan']}")
            if "next" in lines:
                planned = [line for line in planned if not line.startswith("next: ")] + [f"next: {lines['next']}"]
    done = [todo for todo in todos.values() if todo.status is TodoStatus.VERIFIED]
    open_ones = [todo for todo in todos.values() if todo.status is not TodoStatus.VERIFIED]
    listed = [f"{todo.status}: {todo.content}" for todo in (*done, *open_ones)]
    return (*_lines(planned, size), *_lines(listed, structs.replace(size, lines=3 * size.lines)))


def _decisions(messages: Iterable[Message], size: SummarySizes) -> Iterable[str]:
    """What the assistant said at the end of each turn: its first sentences."""
    for message in messages:
        if message.role is Role.ASSISTANT:
            answers = [
                str(_arguments(call).get("final_answer", "")) for call in message.calls if call.name == "complete"
            ]
            said = without_reasoning(answers[0] if answers else "" if message.calls else message.text)
            yield _opening(_OUTCOME.sub("", said), size.line)


def _opening(text: str, most: int) -> str:
    first, *more = _SENTENCE_END.split(" ".join(text.strip().partition("\n\n")[0].split()))
    for sentence in more:
        if len(first) + len(sentence) >= most:
            break
        first += f" {sentence}"
    return first


def _open_issues(
    messages: Sequence[Message],
    start: int,
    earlier: Iterable[str],
    outcomes: Mapping[str, CallOutcome],
    size: SummarySizes,
) -> tuple[str, ...]:
    """Calls that failed, without a later success of the same; one may stand in the messages that are kept."""
    issues = {line.partition(_SAYS)[0]: line for line in earlier}
    for place, call, text in _results(messages):
        name = _short(f"{call.name} {brief(call.arguments)}", size.line)
        if (outcome := outcomes.get(call.id)) is None:
            continue
        issues.pop(name, None)
        if outcome.status is not CallStatus.OK and place < start:
            issues[name] = f"{name}{_SAYS}{_last_lines(text)}"
    return _lines(issues.values(), size)


def _key_outputs(
    messages: Sequence[Message], earlier: Iterable[str], outcomes: Mapping[str, CallOutcome], size: SummarySizes
) -> tuple[str, ...]:
    """Files changed and read, the newest result of each command, tests last, and what an earlier summary had."""
    kinds: dict[str, dict[str, str]] = {"changed": {}, "read": {}, "ran": {}, "test": {}, "": {}}

    def keep(line: str) -> None:
        kind, _, rest = line.partition(" ")
        known = kinds[kind if kind in kinds else ""]
        subject = rest.partition(_SAYS)[0] if kind in kinds else line
        known.pop(subject, None)  # the newest stands last
        known[subject] = line

    for line in earlier:
        keep(line)
    for _, call, text in _results(messages):
        outcome = outcomes.get(call.id)
        if outcome is None:
            continue
        for path in outcome.changed:
            keep(f"changed {_short(path, size.line)}")
        arguments = _arguments(call)
        if outcome.status is CallStatus.OK and call.name in _PATH_OF:
            keep(f"read {_short(str(arguments.get(_PATH_OF[call.name], '')), size.line)}")
        if call.name == "bash":
            kind = "test" if names_test(str(arguments.get("command", ""))) else "ran"
            keep(f"{kind} {_short(brief(call.arguments), size.line)}{_SAYS}{_last_lines(text)}")
    kinds["read"] = {path: line for path, line in kinds["read"].items() if path not in kinds["changed"]}
    return tuple(line for known in kinds.values() for line in _lines(known.values(), size))


def _results(messages: Sequence[Message]) -> Iterable[tuple[int, ToolCall, str]]:
    """Each result with its place and its call."""
    calls: dict[str, ToolCall] = {}
    for place, message in enumerate(messages):
        calls.update({call.id: call for call in message.calls})
        if message.role is Role.TOOL and message.call_id in calls:
            yield place, calls[message.call_id], message.text


def _arguments(call: ToolCall) -> dict[str, Any]:
    try:
        values = wire_json.decode(call.arguments)
    except ValueError:
        return {}
    return values if isinstance(values, dict) else {}


def without_reasoning(text: str) -> str:
    """The text without its reasoning blocks; an unfinished one goes to the end."""
    while (bare := _REASONING.sub("", text)) != text:  # what is taken out may bring another together
        text = bare
    return text


def _last_lines(text: str, most: int = 3) -> str:
    return " | ".join([line.strip() for line in text.splitlines() if line.strip()][-most:])


def _short(text: str, most: int) -> str:
    text = " ".join(without_reasoning(text).split())
    return text if len(text) <= most else text[: most - 1] + "…"


def _bounded(text: str, most: int) -> str:
    """A text whole, or with its middle left out where a summary has no room for it."""
    return text if len(text) <= most else f"{text[: most * 2 // 3]} […] {text[-(most // 3) :]}"


def _lines(texts: Iterable[str], size: SummarySizes) -> tuple[str, ...]:
    """The newest of them, each once, each short."""
    short = [line for text in texts if (line := _short(text, size.line))]
    newest = list(dict.fromkeys(reversed(short)))[: size.lines]
    return tuple(reversed(newest))


# ── as a model reads and writes it


def summary_message(summary: Summary) -> Message:
    """The summary as the message that stands for what was left out."""
    parts = ["# The conversation so far", "The older messages are left out; this is a summary."]
    if summary.keep:
        parts.append("\n".join(["## Keep this, in the user's own words", *(f"- {text}" for text in summary.keep)]))
    if summary.narrative:
        parts.append(f"## What happened\n{summary.narrative}")
    for name, title in _SECTIONS.items():
        if lines := getattr(summary, name):
            parts.append("\n".join([f"## {title}", *(f"- {line}" for line in lines)]))
    if summary.last_requests:
        parts.append("## The user's last requests, in their own words")
        parts += [f"### {number}\n{text}" for number, text in enumerate(summary.last_requests, 1)]
    return Message(Role.USER, "\n\n".join(parts))


def transcript(messages: Sequence[Message], most: int) -> str:
    """The messages as one text of about so many characters, for a model to summarise."""
    each = max(most // max(len(messages), 1), LEAST_SHOWN)
    return "\n\n".join(
        "\n".join(
            [
                f"[{m.role}] {_spoken(m.text.strip(), each)}",
                *(f"[call] {c.name} {_spoken(c.arguments, each)}" for c in m.calls),
            ]
        )
        for m in messages
    )[-max(most, LEAST_SHOWN) :]


def _spoken(text: str, most: int) -> str:
    """A message's text, in which nobody else begins to speak."""
    return _SPEAKER.sub(r"\1(\2)", _bounded(without_reasoning(text).strip(), most))


def _one_level(text: str) -> str:
    """The text with headings of its own level only, so that it cannot pass for another section of the summary."""
    text = _UNDERLINE.sub("", text)
    return _HEADING.sub(lambda found: found[1] or "### ", text)


def with_narrative(reply: str, by_rules: Summary, size: SummarySizes) -> Summary | None:
    """The summary with what a model wrote of it, in sections; None if it wrote nothing of the kind."""
    text = without_reasoning(reply).strip()
    start = 0 if text.startswith("#") else text.find("\n#") + 1
    told = text[start:]
    if not told.startswith("#") or all(line.startswith("#") or not line.strip() for line in told.splitlines()):
        return None
    return structs.replace(by_rules, narrative=_bounded(_one_level(told), size.narrative))
