"""Where a cycle is: the phases of plan, execute, verify, and which may follow which."""

from __future__ import annotations

from enum import StrEnum


class CyclePhase(StrEnum):
    IDLE = "idle"
    READING_INPUT = "reading-input"
    CHECKING_DONE = "checking-done-files"
    VERIFYING = "verifying-done-task"
    CLEANING_UP = "cleaning-up-done-files"  # a verified task's file goes to done/verified, a failed one's back to todo
    PLANNING = "running-planning"
    CHECKING_TODO = "checking-todo-files"
    PROCESSING = "processing-todos"
    EXECUTING = "running-execution"
    MOVING_COMPLETED = "moving-completed-files"
    CYCLE_COMPLETE = "cycle-complete"
    COMPLETED = "completed"
    FAILED = "failed"
    NO_TODO = "no-todo-files"


P = CyclePhase
# What a person is told of a phase, in a status line and in `status`.
WORDS: dict[CyclePhase, str] = {
    P.IDLE: "ready",
    P.READING_INPUT: "reading the request",
    P.CHECKING_DONE: "reading done tasks",
    P.VERIFYING: "verifying",
    P.CLEANING_UP: "saving the verdict",
    P.PLANNING: "planning",
    P.CHECKING_TODO: "looking for open tasks",
    P.PROCESSING: "choosing a task",
    P.EXECUTING: "executing",
    P.MOVING_COMPLETED: "handing over",
    P.CYCLE_COMPLETE: "iteration done",
    P.COMPLETED: "completed",
    P.FAILED: "failed",
    P.NO_TODO: "nothing to do",
}
TERMINAL = frozenset({P.COMPLETED, P.FAILED, P.NO_TODO})
# Every phase at work may fail, and begins with a look at what is done when a cycle goes on after it was stopped.
_FORTH: dict[CyclePhase, tuple[CyclePhase, ...]] = {
    P.IDLE: (P.READING_INPUT,),
    P.READING_INPUT: (P.CHECKING_DONE,),
    P.CHECKING_DONE: (P.VERIFYING, P.PLANNING, P.CHECKING_TODO),
    P.VERIFYING: (P.CLEANING_UP,),
    P.CLEANING_UP: (P.VERIFYING, P.PLANNING, P.CHECKING_TODO, P.PROCESSING, P.CYCLE_COMPLETE),
    P.PLANNING: (P.CHECKING_TODO, P.CYCLE_COMPLETE),
    P.CHECKING_TODO: (P.PROCESSING, P.CYCLE_COMPLETE, P.NO_TODO),
    P.PROCESSING: (P.EXECUTING,),
    P.EXECUTING: (P.MOVING_COMPLETED, P.PROCESSING, P.VERIFYING, P.CYCLE_COMPLETE),
    P.MOVING_COMPLETED: (P.VERIFYING, P.PROCESSING, P.CYCLE_COMPLETE),
    P.CYCLE_COMPLETE: (P.PLANNING, P.CHECKING_TODO, P.COMPLETED, P.NO_TODO),
}
PHASE_MOVES: dict[CyclePhase, frozenset[CyclePhase]] = {
    phase: frozenset({*_FORTH[phase], P.FAILED, P.CHECKING_DONE}) if phase in _FORTH else frozenset() for phase in P
}
