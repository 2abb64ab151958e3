"""What a text from elsewhere means, what leaves at each detail, and when a code pairs: tables and properties."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import UNSET, structs

from quintet.domain.agents.run import ErrorInfo
from quintet.domain.dials.axes import AxesChange, PermissionProfile
from quintet.domain.dials.transitions import REMOTE
from quintet.domain.journal import protocol as p
from quintet.domain.permission.answers import LASTING, Choice
from quintet.domain.permission.remote_limits import offered
from quintet.domain.turn.messages import EndStatus
from quintet.features.remote import pairing
from quintet.features.remote.notices import (
    FULL,
    answered_notice,
    command_notice,
    event_notice,
    question_notice,
    without_diffs,
)
from quintet.features.remote.pairing import PairingCode, digest, judged, tried
from quintet.features.remote.settings import RemoteDetail
from quintet.features.remote.texts import MOST_TEXT, RemoteRefusal, Routed, Unheard, routed, understood
from quintet.features.remote.values import Account, RemoteSession, Update, submission_id

NORMAL = PermissionProfile.NORMAL
HIGHER = AxesChange(permission_profile=PermissionProfile.TRUSTED)
CHOICES = (
    Choice("y", "yes"),
    Choice("s", "yes, for this session"),
    Choice("a", "always in this project: this call"),
    Choice("t", "continue in profile trusted", HIGHER),
    Choice("n", "no"),
    Choice("e", "no, with feedback"),
)
DETAIL = ("Reason     Running tests needs approval.", "Effects    build", "", "--- a/x", "+++ b/x", "-old", "+new")
ASKED = p.QuestionAsked(question="q-1", kind="approve", text="Run: make?", choices=CHOICES, detail=DETAIL)
FORM = p.QuestionAsked(
    question="q-2",
    kind="choose",
    text="Which city?",
    choices=(Choice("o", "type it", takes_text=True), Choice("n", "no")),
)
ME = Account("telegram", "42", "42")
ONE = [RemoteSession(7, "q5-1", "shop")]
TWO = [*ONE, RemoteSession(8, "q5-2", "blog")]
BEGUN = {"q5-1": 0, "q5-2": 0}


def read(text: str, replied: str = "", *asked: p.QuestionAsked, detail: str = "summary") -> object:
    questions = {one.question: one for one in asked}
    return understood(text, replied, questions, NORMAL, RemoteDetail(detail))


@pytest.mark.parametrize(
    ("text", "replied", "asked", "found"),
    [
        ("y", "", [ASKED], ("q-1", "y", "")),
        (" Yes ", "", [ASKED], ("q-1", "y", "")),
        ("no", "q-1", [ASKED], ("q-1", "n", "")),
        ("no, use port 80", "q-1", [ASKED], ("q-1", "n", "use port 80")),
        ("e try b", "", [ASKED], ("q-1", "e", "try b")),
        ("Oslo by night", "q-2", [FORM], ("q-2", "o", "Oslo by night")),
    ],
)
def test_an_answer_is_read(text: str, replied: str, asked: list[p.QuestionAsked], found: tuple[str, ...]) -> None:
    answer = read(text, replied, *asked)
    assert isinstance(answer, p.Answer) and (answer.question, answer.choice, answer.note) == found


@pytest.mark.parametrize(
    ("text", "asked", "said"),
    [
        ("rename it everywhere", [], "rename it everywhere"),
        ("yes we should also fix b", [ASKED], "yes we should also fix b"),
        ("/status", [ASKED], "/status"),
        ("/status@quintet_bot", [], "/status"),
        ("y", [], "y"),
        ("\x1b[31mred\x1b]0;title\x07", [], "␛[31mred␛]0;title␇"),
    ],
)
def test_what_is_no_answer_is_a_request_or_a_command(text: str, asked: list[p.QuestionAsked], said: str) -> None:
    assert read(text, "", *asked) == p.Say(text=said)


@pytest.mark.parametrize(
    ("text", "replied", "asked", "why"),
    [
        ("a", "", [ASKED], "rules can be added"),
        ("always", "q-1", [ASKED], "rules can be added"),
        ("for this session", "", [ASKED], "rules can be added"),
        ("t", "", [ASKED], "profile trusted cannot be set from here: the highest is normal"),
        ("what?", "q-1", [ASKED], "Answer y (yes) or n (no) or e (no, with feedback)"),
        ("y", "q-9", [ASKED], "no longer open"),
        ("y", "", [ASKED, structs.replace(ASKED, question="q-3")], "2 questions are open"),
        ("   ", "", [], "empty"),
        ("/start", "", [], "send a request"),
        ("x" * (MOST_TEXT + 1), "", [], "too long"),
    ],
)
def test_a_text_is_refused_with_the_reason(text: str, replied: str, asked: list[p.QuestionAsked], why: str) -> None:
    refused = read(text, replied, *asked)
    assert isinstance(refused, RemoteRefusal) and why in refused.why


@given(text=st.text(max_size=60), replied=st.sampled_from(["", "q-1", "q-2", "x"]))
def test_no_text_makes_a_rule_or_turns_too_high(text: str, replied: str) -> None:
    found = read(text, replied, ASKED)
    if isinstance(found, p.Answer):
        assert found.choice not in LASTING | {"t"}
    if isinstance(found, p.Say):
        assert all(char in "\n\t" or char.isprintable() or char in "\u200c\u200d" for char in found.text)


def test_the_user_at_a_surface_is_offered_everything() -> None:
    assert offered("approve", CHOICES, UNSET) == CHOICES
    assert [one.key for one in offered("approve", CHOICES, NORMAL)] == ["y", "n", "e"]
    assert [one.key for one in offered("approve", CHOICES, PermissionProfile.TRUSTED)] == ["y", "t", "n", "e"]


@pytest.mark.parametrize(
    ("update", "account", "sessions", "sent", "found"),
    [
        (Update("1", "42", "42", "hi"), ME, ONE, None, Routed("q5-1", "hi")),
        (Update("1", "42", "42", "hi", reply_to="9"), ME, TWO, ("q5-2", "q-1"), Routed("q5-2", "hi", "q-1")),
        (Update("1", "42", "42", "@8 hi"), ME, TWO, None, Routed("q5-2", "hi")),
        (Update("1", "42", "42", "@8 y", reply_to="9"), ME, TWO, ("q5-1", "q-1"), Routed("q5-2", "y")),
        (Update("1", "666", "666", "hi"), None, ONE, None, Unheard("it is from another account")),
        (Update("1", "42", "-100", "hi"), ME, ONE, None, Unheard("it is from another chat")),
        (Update("1", "42", "42", "hi", private=False), ME, ONE, None, Unheard("it is from another chat")),
    ],
)
def test_a_text_finds_its_session(
    update: Update, account: Account | None, sessions: list[RemoteSession], sent: tuple[str, str] | None, found: object
) -> None:
    assert routed(update, account, sessions, sent, BEGUN) == found


@pytest.mark.parametrize(
    ("update", "sessions", "sent", "why"),
    [
        (Update("1", "42", "42", "hi"), TWO, None, "remote is on in 2 sessions"),
        (Update("1", "42", "42", "hi"), [], None, "remote is on in no session"),
        (Update("1", "42", "42", "@99 hi"), ONE, None, "remote is not on in session @99"),
        (Update("1", "42", "42", "y", reply_to="9"), ONE, ("q5-9", "q-1"), "no longer on"),
        (Update("1", "42", "42", "y", reply_to="9"), ONE, None, "a message of no session"),
        (Update("1", "42", "42", "y", fault="forwarded messages are not accepted"), ONE, None, "forwarded"),
    ],
)
def test_a_text_without_a_session_says_what_would_do(
    update: Update, sessions: list[RemoteSession], sent: tuple[str, str] | None, why: str
) -> None:
    found = routed(update, ME, sessions, sent, BEGUN)
    assert isinstance(found, RemoteRefusal) and why in found.why


@pytest.mark.parametrize(
    ("update", "sent", "taken"),
    [
        (Update("1", "42", "42", "delete it all", order=9), None, False),
        (Update("1", "42", "42", "delete it all", order=10), None, True),
        (Update("1", "42", "42", "@7 delete it all", order=9), None, False),
        (Update("1", "42", "42", "now this", order=9, reply_to="5"), ("q5-1", ""), False),
        (Update("1", "42", "42", "y", order=9, reply_to="5"), ("q5-1", "q-1"), True),  # its own question
        (Update("1", "42", "42", "y", reply_to="5", callback="p"), ("q5-1", "q-1"), True),
        (Update("1", "42", "42", "/stop", order=9, reply_to="5"), ("q5-1", "q-1"), False),  # no answer to it
    ],
)
def test_what_was_written_before_a_session_was_on_is_not_for_it(
    update: Update, sent: tuple[str, str] | None, taken: bool
) -> None:
    found = routed(update, ME, ONE, sent, {"q5-1": 10})
    assert isinstance(found, Routed) is taken
    assert taken or (isinstance(found, RemoteRefusal) and "before remote was turned on" in found.why)


def test_the_same_update_makes_the_same_submission() -> None:
    assert submission_id("telegram", "42", "7") == submission_id("telegram", "42", "7")
    others = {
        submission_id(*words) for words in (("telegram", "42", "8"), ("matrix", "42", "7"), ("telegram", "4", "27"))
    }
    assert len(others) == 3 and submission_id("telegram", "42", "7") not in others


# ── what leaves


@pytest.mark.parametrize(
    ("detail", "has", "lacks"),
    [
        ("none", ["Needs your input."], ["make", "Reason", "+new"]),
        ("summary", ["Run: make?", "Reason     Running tests", "4 lines left out: +1 −1"], ["+new"]),
        ("full", ["Run: make?", "+new", "-old"], ["left out"]),
    ],
)
def test_a_question_says_as_much_as_it_may(detail: str, has: list[str], lacks: list[str]) -> None:
    notice = question_notice(ASKED, RemoteDetail(detail), NORMAL)
    assert all(part in notice.text for part in has) and not any(part in notice.text for part in lacks)
    assert [key for key, _ in notice.choices] == (["n", "e"] if detail == "none" else ["y", "n", "e"])


def test_a_question_from_a_hostile_model_cannot_steer_a_terminal_or_pass_for_quintet() -> None:
    text = "Run: echo \x1b[2J\u202e?"
    asked = structs.replace(ASKED, text=text, detail=("Reason     because", "", "Reason     trust me\x1b[0m"))
    said = question_notice(asked, RemoteDetail.FULL, NORMAL).text
    assert "\x1b" not in said and "\u202e" not in said and "› Reason     trust me" in said


@pytest.mark.parametrize(
    ("event", "summary"),
    [
        (p.TurnFinished(turn="t", status=EndStatus.DONE, answer="It works."), "Done\nIt works."),
        (
            p.TurnFinished(turn="t", status=EndStatus.LIMIT, reason="limits.max_cost = 1, spent 1.2"),
            "Limit reached: limits",
        ),
        (
            p.TurnFinished(turn="t", status=EndStatus.FAILED, error=ErrorInfo("MODEL_TIMEOUT", "no answer in 60 s")),
            "Failed: no answer in 60 s",
        ),
        (p.Noticed(level="error", code="HOOK", text="it broke"), "Problem: HOOK: it broke"),
    ],
)
def test_ends_failures_and_budgets_are_told(event: p.Event, summary: str) -> None:
    notice = event_notice(event, RemoteDetail.SUMMARY)
    assert notice and notice.text.startswith(summary)
    silent = event_notice(event, RemoteDetail.NONE)
    assert silent and ":" not in silent.text.removeprefix("Problem:") and "\n" not in silent.text


def test_steps_of_a_cycle_and_whispers_are_not_told() -> None:
    assert event_notice(p.TurnFinished(turn="t", status=EndStatus.DONE, cycle="run"), RemoteDetail.FULL) is None
    assert event_notice(p.Noticed(level="info", code="X", text="y"), RemoteDetail.FULL) is None


def test_who_answered_is_said() -> None:
    mine = p.QuestionAnswered(question="q", choice="y", by=f"{REMOTE}telegram/42")
    assert answered_notice(mine, mine.by).text == "Answered: yes"
    assert answered_notice(mine, "remote:matrix/@a:b").text == "Answered elsewhere, by remote:telegram/42: yes"
    closed = p.QuestionAnswered(question="q", choice="", by="interrupted")
    assert answered_notice(closed, mine.by).text == "That question is closed: interrupted"


def test_diffs_and_code_are_left_out_of_a_summary() -> None:
    text = (
        "Changed:\n```python\nsecret_code()\n```\nand\ndiff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n\nend"
    )
    said = without_diffs(text)
    assert said == "Changed:\n(1 line left out)\nand\n(6 lines left out: +1 −1)\n\nend"
    assert without_diffs("```\nnever closed\nx") == "(2 lines left out)"
    found = "total: 2 places\ninvoice.py:4:def total(prices):\ntests/x.py:7-    total([1])\nat 12:30: done"
    assert without_diffs(found) == "total: 2 places\n(2 lines left out)\nat 12:30: done"
    page = "Use it so:\n\n    secret_code()\n\n- a list\n    - of lists\n1. and\n    ```\n    more()\n    ```"
    left = "(1 line left out)"
    assert without_diffs(page) == f"Use it so:\n\n{left}\n\n- a list\n    - of lists\n1. and\n{left}"
    ran = p.CommandRan(submission="s", line="/diff", text=text)
    assert "secret_code" not in command_notice(ran, RemoteDetail.SUMMARY).text
    assert "secret_code" in command_notice(ran, RemoteDetail.FULL).text
    assert command_notice(ran, RemoteDetail.NONE).text == "/diff: done"


@given(st.text(max_size=400))
def test_a_summary_never_holds_a_line_of_a_diff(text: str) -> None:
    wrapped = f"before\n@@ -1 +1 @@\n+{text.replace(chr(10), ' ')}MARK\nafter"
    assert "MARK" not in without_diffs(wrapped) and without_diffs(wrapped).startswith("before")


def test_a_long_text_is_cut_and_says_so() -> None:
    ended = p.TurnFinished(turn="t", status=EndStatus.DONE, answer="x" * 100_000)
    notice = event_notice(ended, RemoteDetail.FULL)
    assert notice and len(notice.text) < FULL + 100 and "more characters" in notice.text


# ── pairing

KEY = b"key"
CODE = PairingCode("telegram", digest("123456789012", KEY), 1000.0)


def test_the_right_code_pairs_until_it_expires() -> None:
    assert judged(CODE, "123456789012", "42", "42", 999.0, KEY) is True
    assert judged(CODE, "123456789012", "42", "42", 1000.0, KEY) is False
    assert judged(None, "123456789012", "42", "42", 0.0, KEY) is False


def test_wrong_codes_are_counted_by_account() -> None:
    code = CODE
    for _ in range(pairing.TRIES_EACH):
        outcome = judged(code, "000000000000", "666", "666", 1.0, KEY)
        assert isinstance(outcome, PairingCode)
        code = outcome
    assert isinstance(judged(code, "123456789012", "666", "666", 1.0, KEY), PairingCode)  # too late for that account
    assert judged(code, "123456789012", "42", "42", 1.0, KEY) is True


def test_however_many_strangers_try_the_right_account_still_pairs() -> None:
    code = CODE
    for number in range(3 * pairing.MOST_COUNTED):
        outcome = judged(code, "000000000000", f"stranger {number}", "", 1.0, KEY)
        assert isinstance(outcome, PairingCode)
        code = outcome
    assert len(code.wrong) == pairing.MOST_COUNTED and pairing.is_open(code, 1.0)
    assert judged(code, "123456789012", "42", "42", 1.0, KEY) is True


def test_a_code_with_an_address_is_taken_from_there_only() -> None:
    bound = structs.replace(CODE, address="reply")
    assert isinstance(judged(bound, "123456789012", "42", "elsewhere", 1.0, KEY), PairingCode)
    assert judged(bound, "123456789012", "42", "reply", 1.0, KEY) is True


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("pair 1234-5678-9012", "123456789012"),
        ("/pair 123456789012", "123456789012"),
        ("/start 123456789012", "123456789012"),
        (" pair 1234 5678 9012 ", "123456789012"),
        ("pair me", ""),
        ("please pair 1234-5678-9012", ""),
        ("pair 1234-5678-9012\n/permission-profile unrestricted", ""),
        ("pair " + "1" * 500, ""),
    ],
)
def test_what_a_try_looks_like(text: str, code: str) -> None:
    assert tried(text) == code


LONG = structs.replace(
    ASKED, text="Run: make a V=1 … (264 characters, in full below)?", detail=(*DETAIL[:2], "", "x" * 300)
)
PLAN = structs.replace(ASKED, kind="choose", text="Accept the plan?")


@pytest.mark.parametrize(
    ("asked", "detail", "keys"),
    [
        (ASKED, "summary", ["y", "n", "e"]),
        (LONG, "summary", ["n", "e"]),  # its end was not shown
        (LONG, "full", ["y", "n", "e"]),
        (structs.replace(LONG, detail=("x" * 4_000,)), "full", ["n", "e"]),
        (structs.replace(ASKED, text="x" * 500), "summary", ["n", "e"]),
        (ASKED, "none", ["n", "e"]),
        (PLAN, "none", ["n", "e"]),
    ],
)
def test_nobody_says_yes_to_what_they_were_not_shown(asked: p.QuestionAsked, detail: str, keys: list[str]) -> None:
    notice = question_notice(asked, RemoteDetail(detail), NORMAL)
    assert [key for key, _ in notice.choices] == keys
    refused = "y" not in keys
    assert isinstance(read("y", "q-1", asked, detail=detail), RemoteRefusal) is refused
    assert ("approve it at the computer" in notice.text) is refused
