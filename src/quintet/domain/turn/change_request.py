"""What an input asks for: a change, an action, or an answer. Pure, and a table: no model is asked.

Only the form of the words counts. A question mark decides nothing ("can you fix it?" asks for a change), and in doubt
the answer is `UNCLEAR`, which costs one request more and loses nothing.
"""

from __future__ import annotations

import re
from enum import StrEnum

from quintet.domain.base.lazy_regex import regex


class Wanted(StrEnum):
    CHANGE = "change"  # of files
    ACTION = "action"  # something is to be run
    ANSWER = "answer"
    UNCLEAR = "unclear"


_CHANGES = (
    "add adjust adapt allow apply annotate bump bring change clean comment complete configure convert copy correct "
    "create cut debug decouple dedupe delete deprecate disable document downgrade drop edit eliminate enable enforce "
    "expand expose extend extract fill finish fix format generate get give handle harden hide hook implement improve "
    "include increase indent initialise initialize inline insert integrate introduce invert keep let limit lint "
    "localise localize log make mark merge migrate mock modernise modernize modify move normalise normalize optimise "
    "optimize parametrise parametrize patch pin polish port put raise reduce refactor reformat remove rename reorder "
    "reorganise reorganize repair replace resolve restore restructure revert rework rewrite rip round scaffold set "
    "silence simplify solve sort speed split standardise standardize stop store strip stub support swap switch tidy "
    "translate trim turn type unify uninstall update upgrade use validate vendor wire wrap write"
)
_ACTIONS = (
    "bench benchmark build commit compile deploy execute fetch install launch publish pull push rebase run start test"
)
_LOOKS = (
    "analyse analyze assess audit check compare count describe diagnose enumerate estimate evaluate explain explore "
    "find give-me identify inspect investigate list locate look outline print read recommend report research review "
    "say search show suggest summarise summarize teach tell think trace understand verify walk"
)
_QUESTIONS = (
    "what what's whats why how how's where where's when who who's whose which whether is are was were does did has had "
    "am should shall may might must can't isn't aren't doesn't didn't any"
)
_VERBS = {
    **dict.fromkeys(_LOOKS.split(), Wanted.ANSWER),
    **dict.fromkeys(_QUESTIONS.split(), Wanted.ANSWER),
    **dict.fromkeys(_ACTIONS.split(), Wanted.ACTION),
    **dict.fromkeys(_CHANGES.split(), Wanted.CHANGE),
}
# What is no part of the request: code, quotations, and lines of a log.
_NOT_SAID = regex(r"```.*?(?:```|\Z)|`[^`\n]*`|^\s*>.*$|^(?: {4}|\t).*$", re.S | re.M)
_LEAD = regex(
    r"^(?:[-*+•]\s+|\d+[.)]\s+|#+\s*)?(?:\[[ x]\]\s*)?"
    r"(?:(?:hi|hello|hey|ok|okay|so|now|then|next|first|second|third|finally|also|and|but|please|pls|kindly|just|maybe|"
    r"great|good|thanks|thank you|yes|no|sure|alright|well|actually|again|instead|quickly|carefully|afterwards|"
    r"can you|could you|would you|will you|can we|could we|i want you to|i would like you to|i'd like you to|"
    r"i want to|i would like to|i'd like to|i need you to|i need to|we need to|we should|you should|you need to|"
    r"you must|you can|let us|let's|lets|go ahead and|try to|help me to|help me|help us|help|make sure to|"
    r"it would be (?:nice|good|great) to|your task is to|task|todo|todo is to|feature|bug|in this (?:repo|project))\b"
    r"[,:!\s-]*)+",
    re.I,
)
_SENTENCES = regex(
    r"(?<=[.!?:;])\s+|\n+|[,;]\s+(?:and\s+)?(?:then|please|also)\s+|\s+(?:and then|then please|and please|"
    r"and (?:can|could|would|will) you)\s+",
    re.I,
)
_SECOND = regex(r"(?:,\s*(?:and|then|or)?|\band|\bthen)\s+(?:please\s+)?([a-z'-]+)\b", re.I)
_WISH = regex(
    r"\b(?:should|must|needs? to|has to|have to|ought to|want|wants|would like)\b(?! I\b| we\b)"
    r"|\bis (?:broken|wrong|missing)\b"
    r"|\bdoes(?:n't| not) work\b|\bfails?\b|\bcrash(?:es)?\b",
    re.I,
)
# In something that sounds like a question: "review a.py, fixing what you find", "is it possible to add …".
_CHANGING_BESIDE = regex(
    r"[,;] (?:and )?(?:fixing|adding|changing|updating|removing|renaming|rewriting|replacing)\b"
    r"|^(?:is|would) it (?:be )?possible to\b|^how about\b",
    re.I,
)
_QUESTION_OF_TWO = regex(
    r"do (?:we|you|i|they|these|those|all|any|our|your|the \w+ (?:have|need|use|run))\b|have (?:we|you|they|i)\b", re.I
)
_WORD = regex(r"[A-Za-z][A-Za-z'-]*")


def wanted(text: str) -> Wanted:
    """What the user wants of a turn that this input begins."""
    said = _NOT_SAID.sub(" ", text.replace("’", "'"))
    kinds = [kind for sentence in _SENTENCES.split(said) if (kind := _of_sentence(sentence))]
    for kind in (Wanted.CHANGE, Wanted.UNCLEAR, Wanted.ACTION, Wanted.ANSWER):
        if kind in kinds:
            return kind
    return Wanted.UNCLEAR


def _of_sentence(sentence: str) -> Wanted | None:
    """What one sentence wants; None if it says nothing."""
    bare = _LEAD.sub("", sentence.strip(" \t\r\n\"'*_-"))
    word = _WORD.match(bare)
    if word is None:
        return Wanted.UNCLEAR if bare.strip(" .!?,:;") else None
    kind = _VERBS.get(word[0].lower())
    if kind is Wanted.ANSWER and _CHANGING_BESIDE.search(bare):
        return Wanted.UNCLEAR
    if kind is Wanted.ANSWER and word[0].lower() in _LOOK_VERBS:
        return _with_second(bare, kind)  # "find the bug and fix it"
    if kind is Wanted.ACTION:
        return _with_second(bare, kind)  # "run the tests and fix what fails"
    if kind is None and _QUESTION_OF_TWO.match(bare):
        return Wanted.ANSWER
    if kind is None:
        return Wanted.CHANGE if _WISH.search(bare) else Wanted.UNCLEAR
    return kind


def _with_second(bare: str, kind: Wanted) -> Wanted:
    others = {_VERBS.get(found[1].lower()) for found in _SECOND.finditer(bare)}
    return Wanted.CHANGE if Wanted.CHANGE in others else kind


_LOOK_VERBS = frozenset(_LOOKS.split())
