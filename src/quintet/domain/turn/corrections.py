"""What a model can get wrong: a reply without calls that will not do, and calls that go in circles.

Each flaw of a reply has a page that sets it right, and is said once a turn. A run goes in circles if the same call has
the same result three times, or two calls take turns twice.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from enum import StrEnum

from quintet.domain.base.lazy_regex import regex
from quintet.domain.turn.reasoning import problem, without
from quintet.domain.turn.stage_policy import Reasoning


class Correction(StrEnum):
    REASONING_MISSING = "reasoning_missing"
    REASONING_MALFORMED = "reasoning_malformed"
    REASONING_EMPTY = "reasoning_empty"
    REASONING_WITHOUT_ANSWER = "reasoning_without_answer"
    EMPTY_REPLY = "empty_reply"
    NO_TOOL_FOLLOWUP = "no_tool_followup"
    ASKS_FOR_FILES = "asks_for_files"
    PROMISE_WITHOUT_ACTION = "promise_without_action"
    NO_EVIDENCE = "no_evidence"
    NEEDS_WORK = "needs_work"
    NO_DELIVERY_STATE = "no_delivery_state"
    QA_NOTES = "qa_notes"  # what the advisor found in the turn before, where the user wants it told
    ANSWER_SCHEMA = "answer_schema"
    STOP_HOOK = "stop_hook"
    PLAN_FLAWED = "plan_flawed"
    REPEATED_FAILURE = "repeated_failure"


OF_REASONING = frozenset(
    {
        Correction.REASONING_MISSING,
        Correction.REASONING_MALFORMED,
        Correction.REASONING_EMPTY,
        Correction.REASONING_WITHOUT_ANSWER,
    }
)
PAGES: dict[Correction, str] = {kind: f"corrections/{kind}.md" for kind in Correction}
_FILE = r"[\w./-]*\w\.[A-Za-z]\w{0,7}(?!\w)"
_THING = (
    r"(?:files?|code|contents?|diffs?|logs?|source|snippets?|output|stack ?traces?|tracebacks?|error messages?|tests?"
    rf"|function|class|{_FILE})"
)
_GIVE = r"(?:provid|shar|past|upload|send|attach|post|show(?:ing)? me|giv(?:e|ing) me)(?:e|ing)?"
_POLITE = r"(?:please|kindly|could you|can you|will you|would you(?! like)|i need you to)"
_FILLERS = r"(?:(?:please|also|just|first|now|then|kindly|mind|copy|and|directly|either|possibly)[, ]+)*"
_MINE = r"(?:here|with me|to me|for me|and i\b|so (?:that )?i\b)"
_ASKS = regex(
    "|".join(
        (
            rf"\b{_POLITE}[, ]+{_FILLERS}{_GIVE}\b(?:[^.?!\n]{{0,80}}\b{_THING}|\s+(?:it|them)\b)",
            rf"\byou (?:can|could|need to|have to) {_GIVE}\b[^.?!\n]{{0,60}}\b{_THING}[^.?!\n]{{0,30}}\b{_MINE}",
            rf"(?:^|[.!?;:]\s+|\n\s*[-*]?\s*){_FILLERS}(?:paste|upload|attach|send|share|post)\b(?: me)?"
            rf"[^.?!\n]{{0,60}}\b{_THING}[^.?!\n]{{0,30}}\b{_MINE}",
            rf"\b(?:if|once|when|after) you (?:can |could )?{_GIVE}\b[^.?!\n]{{0,60}}\b{_THING}[^?!\n]{{0,30}}\bi\b",
            rf"\bi(?:['’]d| would)? (?:need|have|want|like) to (?:see|look at|have|read|know)\b"
            rf"[^.?!\n]{{0,80}}\b{_THING}[^.?!\n]{{0,60}}\b(?:before|to help|first|so that|in order)\b",
            r"\bwhat (?:are|is) (?:in )?the (?:full |exact |current )?contents? (?:of|in)\b[^!\n]{0,80}\?",
            rf"\bwhat(?:['’]s| is) in (?:the file |your )?{_FILE}|\bwhat does {_FILE} (?:contain|look like)\b",
            rf"\b(?:let me know|tell me) (?:what (?:is|stands) in|the contents? of) (?:the |your )?(?:{_THING})",
        )
    ),
    re.I,
)
_PROMISES = regex(
    r"^(now |next,? |first,? |so |okay,? |ok,? |great,? |alright,? )*"
    r"(i['’]ll|i will|let me|i am going to|i['’]m going to)\b",
    re.I,
)


def wrong(text: str, *, agent: bool, followup: bool, reasoning: Reasoning) -> Correction | None:
    """What is wrong with a reply that makes no calls; None if it will do as an answer."""
    if not text.strip():
        return Correction.NO_TOOL_FOLLOWUP if followup else Correction.EMPTY_REPLY
    if not agent:
        return None
    if flaw := problem(text, reasoning):
        return Correction(f"reasoning_{flaw}")
    answer = without(text)
    if not answer:
        return Correction.REASONING_WITHOUT_ANSWER
    if asks(answer):
        return Correction.ASKS_FOR_FILES
    return Correction.PROMISE_WITHOUT_ACTION if promises(answer) else None


def asks(answer: str) -> bool:
    """Whether an answer asks the user for what can be read without them."""
    return bool(_ASKS.search(answer))


def asks_back(answer: str) -> bool:
    """Whether an answer ends with a question to the user."""
    return answer.rstrip(" *_`\n").endswith("?") or asks(answer)


def promises(answer: str) -> bool:
    """Whether an answer ends with what will be done, instead of doing it."""
    lines = [line for line in answer.splitlines() if line.strip()]
    if not lines:
        return False
    sentence = re.split(r"(?<=[.!?])\s+", lines[-1].strip(" -*>#"))[-1]
    return bool(_PROMISES.match(sentence))


Step = tuple[str, str, str]  # tool, arguments, result


def going_in_circles(steps: Sequence[Step]) -> str:
    """What is repeated; empty if nothing is."""
    if len(steps) >= 3 and len(set(steps[-3:])) == 1:
        return f"{steps[-1][0]} was called three times with the same arguments and the same result"
    if len(steps) >= 4:
        a, b, c, d = steps[-4:]
        if a == c and b == d and a != b:
            return f"{a[0]} and {b[0]} were called alternately with the same arguments and the same results"
    return ""
