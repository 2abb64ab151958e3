"""Trials: a task done by an agent in a workspace of its own, and judged by a grader whose answers it cannot reach.

What evals are made of, whoever asks for them. The registry has the runner, where there is one.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Any, Protocol

from msgspec import Struct

from quintet.domain.ports.ports import Model
from quintet.domain.turn.messages import Usage


class TrialCheck(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """What has to hold of the work that a trial left. Who did the work never sees what is expected.

    Either a line is run, in a fresh copy of the work and a sandbox that holds nothing else, and what it prints is
    compared outside of it; or a file of the work is read.
    """

    run: str = ""  # a shell line
    files: dict[str, str] = {}  # laid over the copy before
    hidden: bool = False  # so are the hidden files of the case, which are tests
    exit: int = 0  # the code that the line has to end with
    output: str | None = None  # all that it has to print, but for white space at the end
    file: str = ""  # of the work
    text: str | None = None  # all that the file has to hold, but for white space at the end
    has: tuple[str, ...] = ()  # each is in the output or the file
    lacks: tuple[str, ...] = ()  # none is
    gone: bool = False  # the file is not there


class TrialCase(Struct, frozen=True):
    """A task with its grader or its checks. Paths are absolute; an empty one is absent."""

    suite: str  # what it belongs to: a skill, or a suite of tasks
    name: str
    task: str  # the words of the input
    folder: str  # what the agent never reaches: grader and answers lie here
    grader: str = ""
    work: str = ""  # copied as the workspace
    hidden: str = ""  # for the grader alone
    setup: str = ""  # run in the workspace before the trial
    line: str = ""  # a shell line that is run instead of asking a model
    seconds: float = 0.0  # that the trial may take; 0: as the settings say
    checks: tuple[TrialCheck, ...] = ()  # where there is no grader
    sealed: tuple[str, ...] = ()  # more folders that the agent never reaches


class TrialArm(Struct, frozen=True):
    """How a case is tried: with which settings over the user's own, and how its input begins."""

    name: str  # as the report calls it: with, without
    settings: dict[str, Any] = {}
    prefix: str = ""  # put before the task, as in /NAME
    shown: str = ""  # a folder whose copy, without evals, a line and the settings find at {shown}
    executor: str = ""  # an AI CLI that does the task in the model's place


class TrialVerdict(StrEnum):
    PASSED = "passed"
    FAILED = "failed"
    UNGRADED = "ungraded"  # the grader failed, hung or was killed: it says nothing about the work
    BROKEN = "broken"  # the trial could not be run


class TrialResult(Struct, frozen=True):
    case: str
    arm: str
    number: int
    verdict: TrialVerdict
    reason: str = ""
    status: str = ""  # how the turn ended
    seconds: float = 0.0
    requests: int = 0  # to models; an AI CLI's own are not known
    sent: int = 0  # bytes of them
    calls: int = 0
    usage: Usage = Usage()
    cost: float = 0.0
    workspace: str = ""  # kept where the trial did not pass


class TrialRunner(Protocol):
    async def run(self, case: TrialCase, arm: TrialArm, number: int, model: Model | None = None) -> TrialResult:
        """One trial, from a fresh workspace to the grader's verdict. What goes wrong is the result."""
