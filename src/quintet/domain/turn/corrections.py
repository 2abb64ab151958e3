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


OF_REASONING = frozenset(
    {
        Correction.REASONING_MISSING,
        Correction.REASONING_MALFORMED,
        Correction.REASONING_EMPTY,
        Correction.REASONING_WITHOUT_ANSWER,
    }
)
PAGES: dict[Correction, str] = {kind: f"corrections/{kind}.md" for kind in Correction}
_ASKS = regex(
    r"\b(please|could you|can you|would you|kindly|i need you to)\b[^.?!\n]{0,60}"
    r"\b(provide|share|paste|upload|send|attach|show me|give me|post)\b[^.?!\n]{0,80}"
    r"\b(files?|code|contents?|diffs?|logs?|source|snippets?|output|stack ?traces?|tests?)\b",
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
    if _ASKS.search(answer):
        return Correction.ASKS_FOR_FILES
    last = [line for line in answer.splitlines() if line.strip()][-1].strip(" -*>#")
    sentence = re.split(r"(?<=[.!?])\s+", last)[-1]
    return Correction.PROMISE_WITHOUT_ACTION if _PROMISES.match(sentence) else None


Step = tuple[str, str, str]  # tool, arguments, result


def going_in_circles(steps: Sequence[Step]) -> str:
    """What is repeated; empty if nothing is."""
    if len(steps) >= 3 and len(set(steps[-3:])) == 1:
        return f"{steps[-1][0]} was called three times with the same arguments and the same result"
    if len(steps) >= 4:
        a, b, c, d = steps[-4:]
        if a == c and b == d and a != b:
            return f"{a[0]} and {b[0]} were called in turns with the same arguments and the same results"
    return ""
