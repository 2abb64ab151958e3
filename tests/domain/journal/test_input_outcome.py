"""When an input has ended, and with what: a command, a turn, a cycle, or what a command began or let go on."""

from typing import Any

import pytest

from quintet.domain.dials.axes import Axes, Surface
from quintet.domain.journal import protocol as p
from quintet.domain.journal.input_outcome import InputWatch
from quintet.domain.tasks.cycle_phases import CyclePhase

ME = "in-1"
CHOICES = (p.Choice("a", "build it"), p.Choice("n", "not now"))
ASKED = p.QuestionAsked(question="q-1", kind="choose", text="build?", choices=CHOICES)
OTHER = p.QuestionAsked(question="q-2", kind="approve", text="run?", choices=CHOICES)
RECEIVED = p.InputReceived(submission=ME, text="go", surface=Surface.TUI)


def ran(submission: str = ME, ok: bool = True, code: str = "", **data: Any) -> p.CommandRan:
    return p.CommandRan(submission=submission, line="/x", text="said", ok=ok, code=code, data=data)


def started(turn: str, submission: str = ME) -> p.TurnStarted:
    return p.TurnStarted(turn=turn, run="run-1", submission=submission, text="", axes=Axes())


def finished(turn: str, status: str = "done", cycle: str = "") -> p.TurnFinished:
    return p.TurnFinished(turn=turn, status=status, answer=f"answer of {turn}", reason="why", cycle=cycle)


def stopped(submission: str = ME, status: str = "waiting", run: str = "run-1") -> p.CycleStopped:
    return p.CycleStopped(run=run, submission=submission, status=status, phase=CyclePhase.IDLE)


def answered(question: str, choice: str) -> p.QuestionAnswered:
    return p.QuestionAnswered(question=question, choice=choice)


@pytest.mark.parametrize(
    ("events", "status"),
    [
        pytest.param([ran()], "done", id="a command"),
        pytest.param([ran(ok=False, code="USAGE")], "failed", id="a refused command"),
        pytest.param([RECEIVED, ran(ok=False, code="NOT_BEGUN")], "blocked", id="an input that a hook held back"),
        pytest.param([ran("in-0"), RECEIVED, ran("in-2"), ran()], "done", id="others' commands do not end it"),
        pytest.param(
            [RECEIVED, finished("turn-0"), started("turn-1"), finished("turn-1")], "done", id="a turn, after another's"
        ),
        pytest.param([RECEIVED, started("turn-1"), finished("turn-1", "limit")], "limit", id="a turn at its limit"),
        pytest.param(
            [ran(turn=""), RECEIVED, started("turn-1"), finished("turn-1")], "done", id="a command's own turn"
        ),
        pytest.param([ran(turn=""), ASKED, answered("q-1", "n")], "cancelled", id="a command whose question got a no"),
        pytest.param([ran(turn=""), ASKED, answered("q-1", "")], "cancelled", id="a command whose question was closed"),
        pytest.param(
            [ran(turn=""), ASKED, OTHER, answered("q-2", "n"), answered("q-1", "a"), RECEIVED, stopped()],
            "waiting",
            id="a command whose question got a yes; another question's no is nothing to it",
        ),
        pytest.param(
            [ran(turn=""), RECEIVED, OTHER, answered("q-2", "n"), started("turn-1"), finished("turn-1", "blocked")],
            "blocked",
            id="a question of its turn that got a no",
        ),
        pytest.param(
            [ran(turn="next"), started("turn-2", ""), finished("turn-2")], "done", id="a command that lets a turn begin"
        ),
        pytest.param([ran(turn="turn-0"), finished("turn-0")], "done", id="a command that lets a turn go on"),
        pytest.param(
            [ran(turn="turn-0"), finished("turn-0", cycle="run-1"), stopped("in-0", "done")],
            "done",
            id="a command that lets a cycle go on, within a turn of it",
        ),
        pytest.param(
            [ran(turn="", cycle="run-1"), started("turn-1", ""), finished("turn-1"), stopped("in-0", "done")],
            "done",
            id="a command that lets a cycle go on, between its turns",
        ),
        pytest.param(
            [RECEIVED, started("turn-1", ""), finished("turn-1", cycle="run-1"), stopped("in-0"), stopped()],
            "waiting",
            id="a cycle; its turns do not end it",
        ),
    ],
)
def test_an_input_ends_with_the_last_of_what_it_began(events: list[p.Event], status: str) -> None:
    watch = InputWatch(ME)
    assert [watch.see(event) for event in events[:-1]] == [None] * (len(events) - 1)
    outcome = watch.see(events[-1])
    assert outcome is not None and (outcome.status, outcome.event) == (status, events[-1])
    assert watch.see(finished("turn-9")) is outcome


@pytest.mark.parametrize(
    ("event", "answer", "reason"),
    [
        (ran(), "said", ""),
        (ran(ok=False, code="USAGE"), "", "said"),
        (p.TurnFinished(turn="turn-1", status="done", answer="42"), "42", ""),
        (
            p.TurnFinished(turn="turn-1", status="failed", error=p.ErrorInfo("UNKNOWN", "it broke")),
            "",
            "it broke",
        ),
        (stopped(status="done"), "", ""),
    ],
)
def test_an_outcome_says_the_answer_or_why_there_is_none(event: p.Event, answer: str, reason: str) -> None:
    watch = InputWatch(ME)
    watch.see(started("turn-1"))
    outcome = watch.see(event)
    assert outcome is not None and (outcome.answer, outcome.reason) == (answer, reason)
