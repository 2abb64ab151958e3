"""What a text from elsewhere means: which session it is for, and there an answer, a command or a request. Pure.

A stranger gets no answer at all. The paired account is told why a text of theirs was not taken, and what would be.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from msgspec import Struct

from quintet.domain.base.safe_text import visible
from quintet.domain.dials.axes import PermissionProfile
from quintet.domain.journal.protocol import Answer, QuestionAsked, Say, Submission
from quintet.domain.permission.answers import FEEDBACK, NO, Choice, chosen
from quintet.domain.permission.question import BELOW
from quintet.domain.permission.remote_limits import answer_refused, offered
from quintet.features.remote.settings import RemoteDetail
from quintet.features.remote.values import MOST_TEXT, Account, RemoteSession, Update

MOST_ASKED, MOST_SHOWN = 400, 3_000  # of what is asked, at summary and at full
UNSEEN = "you were not shown everything (remote.detail): answer no from here, or approve it at the computer"
MOST_ORDER = 2**62  # above the place of any message
TOO_OLD = "it was sent before remote was turned on in that session: send it again if you still want it"
STRAY = "this is a reply to a message of no session, or to an old one: reply to a question, or send a new message"
_TAGGED = re.compile(r"@(\d{1,9})(?:[ \t\n]+|$)")
_COMMAND = re.compile(r"(/[a-z][\w:-]*)@\w+", re.IGNORECASE)  # as Telegram names a command's bot


class Unheard(Struct, frozen=True):
    """Nothing is done and nothing is said."""

    why: str


class RemoteRefusal(Struct, frozen=True):
    """The account is told why its text was not taken."""

    why: str


class Routed(Struct, frozen=True):
    session: str
    text: str
    question: str = ""


def routed(
    update: Update,
    account: Account | None,
    sessions: Sequence[RemoteSession],
    sent: tuple[str, str] | None,
    begun: Mapping[str, int],
) -> Routed | RemoteRefusal | Unheard:
    """Which session a text is for. `sent` is the session and question of the message that it replies to; `begun` the
    place where each session's messages to the account begin: what was written before is for none of them, but for the
    answer to a question of its own."""
    found = _named(update, account, sessions, sent)
    if not isinstance(found, Routed) or (found.question and not found.text.startswith("/")):
        return found
    return found if update.order >= begun.get(found.session, MOST_ORDER) else RemoteRefusal(TOO_OLD)


def _named(
    update: Update, account: Account | None, sessions: Sequence[RemoteSession], sent: tuple[str, str] | None
) -> Routed | RemoteRefusal | Unheard:
    if account is None:
        return Unheard("it is from another account")
    if update.address != account.address or not update.private:
        return Unheard("it is from another chat")
    if update.fault:
        return RemoteRefusal(update.fault)
    text = update.text.strip()
    if tag := _TAGGED.match(text):
        named = next((one for one in sessions if one.number == int(tag[1])), None)
        if named is None:
            return RemoteRefusal(f"remote is not on in session {tag[0].strip()}.{_listed(sessions)}")
        own = bool(sent) and sent is not None and sent[0] == named.session
        return Routed(named.session, text[tag.end() :].strip(), sent[1] if own and sent else "")
    if update.reply_to and sent is None:
        return RemoteRefusal(STRAY)
    if update.reply_to and sent:
        if all(one.session != sent[0] for one in sessions):
            return RemoteRefusal(f"remote is no longer on in the session of that message.{_listed(sessions)}")
        return Routed(sent[0], text, sent[1])
    if len(sessions) == 1:
        return Routed(sessions[0].session, text)
    if not sessions:
        return RemoteRefusal("remote is on in no session: type /remote on at the computer")
    return RemoteRefusal(
        f"remote is on in {len(sessions)} sessions: reply to a message of the right one.{_listed(sessions)}"
    )


def _listed(sessions: Sequence[RemoteSession]) -> str:
    shown = ", ".join(f"{one.tag} {visible(one.project)}" for one in sessions[:5])
    return f" To choose a session, begin with its number: {shown}" if shown else ""


def understood(
    text: str,
    replied: str,
    questions: Mapping[str, QuestionAsked],
    highest: PermissionProfile,
    detail: RemoteDetail,
) -> Submission | RemoteRefusal:
    """What a text is to its session; `replied` is the question that it answers, if it says so."""
    text = visible(text.replace("\r\n", "\n").replace("\r", "\n")).strip()
    if len(text) > MOST_TEXT:
        return RemoteRefusal(f"the text is too long: {len(text)} characters, at most {MOST_TEXT}")
    if not text:
        return RemoteRefusal("the text is empty")
    if text.startswith("/"):
        text = _COMMAND.sub(r"\1", text, count=1)
        if text.split(maxsplit=1)[0].lower() == "/start":  # what Telegram's own button sends
            return RemoteRefusal("send a request, an answer, or a command such as /status")
        return Say(text=text)
    if replied:
        asked = questions.get(replied)
        if asked is None:
            return RemoteRefusal("that question is no longer open")
        return _answer(asked, text, highest, detail) or RemoteRefusal(_wanted(asked, highest, detail))
    fits = [made for one in questions.values() if (made := _answer(one, text, highest, detail))]
    if len(questions) > 1 and fits:
        return RemoteRefusal(f"{len(questions)} questions are open: reply to the message of the right one")
    return fits[0] if fits else Say(text=text)


def choices_of(asked: QuestionAsked, highest: PermissionProfile, detail: RemoteDetail) -> tuple[Choice, ...]:
    """Those that are offered elsewhere: none that makes a rule or turns too high, no yes to what was not shown."""
    found = offered(asked.kind, asked.choices, highest)
    if is_shown(asked, detail):
        return found
    return tuple(one for one in found if one.key in (NO, FEEDBACK))


def is_shown(asked: QuestionAsked, detail: RemoteDetail) -> bool:
    """Whether all of what is asked about reaches whoever answers elsewhere; of a change, what it changes does."""
    if detail is RemoteDetail.NONE:
        return False
    if detail is RemoteDetail.FULL:
        return BELOW not in asked.text or sum(len(line) + 1 for line in asked.detail) <= MOST_SHOWN
    return BELOW not in asked.text and len(visible(asked.text)) <= MOST_ASKED


def _answer(
    asked: QuestionAsked, text: str, highest: PermissionProfile, detail: RemoteDetail
) -> Answer | RemoteRefusal | None:
    word, _, note = text.partition(" ")
    key = chosen(asked.choices, word.rstrip(",:."))
    if whole := chosen(asked.choices, text):
        key, note = whole, ""
    if not key:
        typed = next((one.key for one in asked.choices if one.takes_text is True), "")
        return Answer(question=asked.question, choice=typed, note=text) if typed else None
    choice = next(one for one in asked.choices if one.key == key)
    if note and key not in (NO, FEEDBACK) and choice.takes_text is not True:
        return None  # a sentence that begins with a word of a choice
    if why := answer_refused(asked.kind, choice, highest):
        return RemoteRefusal(f"{why}. {_wanted(asked, highest, detail)}")
    if choice not in choices_of(asked, highest, detail):
        return RemoteRefusal(UNSEEN)
    return Answer(question=asked.question, choice=key, note=note.strip())


def _wanted(asked: QuestionAsked, highest: PermissionProfile, detail: RemoteDetail) -> str:
    return f"Answer {' or '.join(f'{one.key} ({one.label})' for one in choices_of(asked, highest, detail))}"
