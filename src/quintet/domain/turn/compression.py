"""Compression of a conversation: when it is due, where it is cut, and what the older part leaves behind.

Pure and deterministic. The older messages become one structured summary; the user's last requests stay in it whole,
in their own words; reasoning never gets into it. A cut parts no tool result from its call.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from msgspec import Struct, structs

from quintet.domain.base import wire_json
from quintet.domain.base.lazy_regex import regex
from quintet.domain.base.safe_text import brief
from quintet.domain.settings.settings import CompressionSettings
from quintet.domain.turn.messages import Message, Role, ToolCall
from quintet.domain.turn.swe_phases import names_test
from quintet.domain.turn.todos import Todo
from quintet.domain.turn.tool_spec import CallStatus

STAGE = "compact"  # of the request for a summary that a model writes
LAST_REQUESTS = 5
MOST_LINES = 20  # of one kind
MOST_LINE = 300  # characters
MOST_SHOWN = 4000  # characters of one message that a model is shown to summarise
_PATH_OF = {"Read": "file_path", "fs_read_file": "path"}  # tools that read a file, and the argument that names it

_REASONING = regex(r"<ide_reasoning.*?(?:</ide_reasoning\s*>|\Z)|</ide_reasoning\s*>?", re.S | re.I)
_SENTENCE_END = regex(r"(?<=[.!?])\s+")
_MARK = regex(r"^(?:[-*+]|\d+[.)])\s+")
_SAYS = " → "  # between a call and what came of it


class Summary(Struct, frozen=True, gc=False):
    """What is left of the older part of a conversation."""

    goals: tuple[str, ...] = ()
    decisions: tuple[str, ...] = ()
    plan: tuple[str, ...] = ()
    open_issues: tuple[str, ...] = ()
    key_outputs: tuple[str, ...] = ()
    last_requests: tuple[str, ...] = ()  # the user's own words, whole; those that stand in kept messages are left out


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


def tokens(messages: Iterable[Message]) -> int:
    """An estimate: four characters a token."""
    return sum(_characters(message) for message in messages) // 4


def _characters(message: Message) -> int:
    if message.original:
        return len(message.original.data)
    return len(message.text) + sum(len(call.name) + len(call.arguments) for call in message.calls)


def due(messages: Sequence[Message], settings: CompressionSettings, *, summarised: bool = False) -> str:
    """Why the conversation is to be compressed now; empty if it is not, or if nothing can be left out."""
    fresh = messages[1:] if summarised else messages
    if settings.max_messages and len(fresh) > settings.max_messages:
        reason = f"{len(fresh)} messages, compression.max_messages = {settings.max_messages}"
    elif settings.max_tokens and (held := tokens(fresh)) > _room(messages, settings, summarised):
        reason = f"about {held} tokens, compression.max_tokens = {settings.max_tokens}"
    else:
        return ""
    first = 1 if summarised else 0
    return reason if cut(messages, settings, summarised=summarised) > first else ""


def _room(messages: Sequence[Message], settings: CompressionSettings, summarised: bool) -> int:
    """Tokens for what is not summarised. However long the user's own words in a summary are, a quarter is left."""
    taken = tokens(messages[:1]) if summarised else 0
    return max(settings.max_tokens - taken, settings.max_tokens // 4)


def cut(messages: Sequence[Message], settings: CompressionSettings, *, summarised: bool = False) -> int:
    """Where the kept messages begin: after the summary if there is nothing to leave out.

    What is kept stays well below what makes compression due, so that it is not due again at once.
    """
    most = max(settings.keep_messages, 1)
    if settings.max_messages:
        most = max(min(most, settings.max_messages // 2), 1)
    first = int(summarised)
    kept, start = 0, first
    places = {place for place in boundaries(messages) if first <= place < len(messages)}
    for place in range(len(messages) - 1, first - 1, -1):
        kept += _characters(messages[place])
        fits = len(messages) - place <= most and (not settings.max_tokens or kept // 4 <= settings.max_tokens // 4)
        if place in places:
            if not fits:
                return start if start > first else place  # the newest step is kept, however long it is
            start = place
    return first


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
) -> Summary:
    """The summary of `messages[:start]`, by rules: what was said and done, in its own words."""
    earlier = earlier or Summary()
    kept = {message.text for message in messages[start:] if message.role is Role.USER}
    return Summary(
        goals=earlier.goals or _lines(requests[:1], 1),
        decisions=_lines([*earlier.decisions, *_decisions(messages[:start])]),
        plan=_lines(f"{todo.status}: {todo.content}" for todo in todos.values()) or earlier.plan,
        open_issues=_open_issues(messages, start, earlier.open_issues, outcomes),
        key_outputs=_key_outputs(messages[:start], earlier.key_outputs, outcomes),
        last_requests=tuple(text for text in requests[-LAST_REQUESTS:] if text not in kept),
    )


def _decisions(messages: Iterable[Message]) -> Iterable[str]:
    """What the assistant said at the end of each turn: its first sentences."""
    for message in messages:
        if message.role is Role.ASSISTANT:
            answers = [
                str(_arguments(call).get("final_answer", "")) for call in message.calls if call.name == "complete"
            ]
            said = without_reasoning(answers[0] if answers else "" if message.calls else message.text)
            yield _opening(said)


def _opening(text: str) -> str:
    first, *more = _SENTENCE_END.split(" ".join(text.strip().partition("\n\n")[0].split()))
    for sentence in more:
        if len(first) + len(sentence) >= MOST_LINE:
            break
        first += f" {sentence}"
    return first


def _open_issues(
    messages: Sequence[Message], start: int, earlier: Iterable[str], outcomes: Mapping[str, CallOutcome]
) -> tuple[str, ...]:
    """Calls that failed, without a later success of the same; one may stand in the messages that are kept."""
    issues = {line.partition(_SAYS)[0]: line for line in earlier}
    for place, call, text in _results(messages):
        name = _short(f"{call.name} {brief(call.arguments)}")
        if (outcome := outcomes.get(call.id)) is None:
            continue
        issues.pop(name, None)
        if outcome.status is not CallStatus.OK and place < start:
            issues[name] = f"{name}{_SAYS}{_last_lines(text)}"
    return _lines(issues.values())


def _key_outputs(
    messages: Sequence[Message], earlier: Iterable[str], outcomes: Mapping[str, CallOutcome]
) -> tuple[str, ...]:
    """Files changed, files read, the newest result of each test command, and what an earlier summary had besides."""
    kinds: dict[str, dict[str, str]] = {"changed": {}, "read": {}, "test": {}, "": {}}

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
            keep(f"changed {_short(path)}")
        arguments = _arguments(call)
        if outcome.status is CallStatus.OK and call.name in _PATH_OF:
            keep(f"read {_short(str(arguments.get(_PATH_OF[call.name], '')))}")
        if call.name == "bash" and names_test(str(arguments.get("command", ""))):
            keep(f"test {_short(brief(call.arguments))}{_SAYS}{_last_lines(text)}")
    kinds["read"] = {path: line for path, line in kinds["read"].items() if path not in kinds["changed"]}
    return tuple(line for known in kinds.values() for line in _lines(known.values()))


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


def _short(text: str) -> str:
    text = " ".join(without_reasoning(text).split())
    return text if len(text) <= MOST_LINE else text[: MOST_LINE - 1] + "…"


def _lines(texts: Iterable[str], most: int = MOST_LINES) -> tuple[str, ...]:
    """The newest of them, each once, each short."""
    short = [line for text in texts if (line := _short(text))]
    newest = list(dict.fromkeys(reversed(short)))[:most]
    return tuple(reversed(newest))


# ── as a model reads and writes it


def summary_message(summary: Summary) -> Message:
    """The summary as the message that stands for what was left out."""
    parts = ["# The conversation so far", "The older messages are left out; this is what they came to."]
    for name, title in _SECTIONS.items():
        if lines := getattr(summary, name):
            parts.append("\n".join([f"## {title}", *(f"- {line}" for line in lines)]))
    if summary.last_requests:
        parts.append("## The user's last requests, in their own words")
        parts += [f"### {number}\n{text}" for number, text in enumerate(summary.last_requests, 1)]
    return Message(Role.USER, "\n\n".join(parts))


def transcript(messages: Iterable[Message]) -> str:
    """The messages as one text, for a model to summarise."""
    return "\n\n".join(
        "\n".join(
            [f"[{m.role}] {_middle_out(m.text)}", *(f"[call] {c.name} {_middle_out(c.arguments)}" for c in m.calls)]
        )
        for m in messages
    )


def _middle_out(text: str) -> str:
    text = without_reasoning(text).strip()
    half = MOST_SHOWN // 2
    return text if len(text) <= MOST_SHOWN else f"{text[:half]} […] {text[-half:]}"


def summary_in(reply: str, by_rules: Summary) -> Summary | None:
    """The summary a model wrote, section by section; the requests stay the user's own. None if it wrote nothing."""
    titles = {title.lower(): name for name, title in _SECTIONS.items()}
    found: dict[str, list[str]] = {}
    section: list[str] = []
    for line in without_reasoning(reply).splitlines():
        if line.startswith("#"):
            name = titles.get(line.strip("#*: ").lower())
            section = found.setdefault(name, []) if name else []
        else:
            section.append(_MARK.sub("", line.strip()))
    sections = {name: _lines(lines) for name, lines in found.items()}
    return structs.replace(by_rules, **sections) if any(sections.values()) else None
