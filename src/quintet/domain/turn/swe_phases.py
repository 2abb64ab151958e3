"""SWE phases: a fix in five phases, each with its tools, a budget of calls, and what it must find out to go on.

The state is a fold: `moved` for each move, `after_call` for each call the model made. What may be seen and called in a
phase is one mask (`within`), and `refusal` says why a call does not fit. Off unless a run asks for them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from enum import StrEnum
from typing import Any

import msgspec
from msgspec import Struct, field, structs

from quintet.domain.base import wire_json
from quintet.domain.base.errors import ToolFailed
from quintet.domain.base.lazy_regex import regex
from quintet.domain.permission.effects import Effect
from quintet.domain.turn.tool_menu import FINISH_STEP, META_TOOLS


class Phase(Struct, frozen=True):
    name: str
    calls: int  # its budget
    needs: tuple[str, ...]  # values without which it is not left
    tools: tuple[str, ...]


def _phase(name: str, calls: int, needs: str, tools: str) -> Phase:
    return Phase(name, calls, tuple(needs.split()), tuple(tools.split()))


PHASES: dict[str, Phase] = {
    phase.name: phase
    for phase in (
        _phase("localization", 15, "suspect_files hypothesis", "grep glob web_search Read lsp_tool"),
        _phase("understanding", 20, "root_cause", "Read lsp_tool web_get_contents grep glob"),
        _phase("fix", 15, "modified_files", "Edit Write Read"),
        _phase("regression_check", 10, "pass_to_pass_status", "bash Read analyze_test_failure"),
        _phase("target_fix_verification", 5, "fail_to_pass_status", "bash complete"),
    )
}
FIRST, *_, LAST = PHASES
FIX = "fix"
RETURNING = ("regression_check", "target_fix_verification")  # from here a fix may be taken up again
FINISHED = "finished"
PHASE_TOOLS = ("advance_phase", "return_to_fix_phase", "analyze_test_failure", "get_phase_status")
NEUTRAL = frozenset({*META_TOOLS, FINISH_STEP, "get_phase_status", "advance_phase", "return_to_fix_phase"})
OFF = "the SWE phases are off in this run; the user turns them on with --swe or the setting tools.swe_phases"

ALL_PASSED = "all_passed"
_STATUS = regex(r"all_passed|[1-9]\d*_failed")
_STATUSES = frozenset({"pass_to_pass_status", "fail_to_pass_status"})


class Proof(StrEnum):
    """What the newest test command proves about the files as they are now."""

    NONE = "no test command has run yet: run the tests with bash"
    PASSED = "the latest test command exited 0, and nothing was changed after it"
    FAILED = "the latest test command did not exit 0"
    STALE = "something was changed after the latest test command: run it again"
    UNCLEAR = "the exit code of the latest test line may be from another command: run the test without | ; || or &"


class PhaseState(Struct, frozen=True):
    phase: str = FIRST
    used: dict[str, int] = field(default_factory=dict)  # calls spent, by phase
    values: dict[str, Any] = field(default_factory=dict)  # what the phases have found out
    proof: Proof = Proof.NONE


class PhaseMove(Struct, frozen=True):
    before: str  # empty at the beginning
    after: str  # a phase, FINISHED, or empty where the phases are left
    reason: str
    values: dict[str, Any] = field(default_factory=dict)


def due(state: PhaseState | None, asked: bool) -> PhaseMove | None:
    """The move a turn begins with: into the first phase, or out of them where the run no longer asks for them."""
    if asked and (state is None or state.phase == FINISHED):
        return PhaseMove("", FIRST, "the run uses SWE phases")
    if state and not asked:
        return PhaseMove(state.phase, "", "the run does not use SWE phases")
    return None


def advance(state: PhaseState, values: Mapping[str, Any]) -> PhaseMove:
    phase = PHASES.get(state.phase)
    if phase is None:
        raise ToolFailed(_onward(state.phase))
    if missing := [key for key in phase.needs if not values.get(key)]:
        raise ToolFailed(f"{phase.name} is not done: values is missing {', '.join(missing)}")
    given = {key: values[key] for key in phase.needs}
    for key in _STATUSES & set(given):
        _check_status(key, given[key], state.proof)
    return PhaseMove(phase.name, _following(phase.name), "advanced", given)


def _check_status(key: str, value: Any, proof: Proof) -> None:
    if not isinstance(value, str) or not _STATUS.fullmatch(value):
        raise ToolFailed(f"{key} = {value!r}: expected all_passed, or the number of failed tests, for example 2_failed")
    if value == ALL_PASSED and proof is not Proof.PASSED:
        raise ToolFailed(f"{key} = all_passed is not accepted: {proof}")


def return_to_fix(state: PhaseState, reason: str) -> PhaseMove:
    if state.phase not in RETURNING:
        raise ToolFailed(f"return_to_fix_phase works in {' and '.join(RETURNING)}; this is {state.phase}")
    if not reason.strip():
        raise ToolFailed("reason is empty: say what the fix does not do yet")
    return PhaseMove(state.phase, FIX, reason)


def finish(state: PhaseState) -> PhaseMove | None:
    """The move that completing the task in the last phase makes."""
    return PhaseMove(LAST, FINISHED, "completed") if state.phase == LAST else None


def moved(state: PhaseState | None, move: PhaseMove) -> PhaseState | None:
    """The state after a move; a new beginning forgets what was before, a return gives the fix its budget back."""
    if not move.after:
        return None
    if not move.before or state is None:
        return PhaseState(move.after)
    used = {**state.used, FIX: 0} if move.after == FIX and move.before in RETURNING else state.used
    return structs.replace(state, phase=move.after, used=used, values={**state.values, **move.values})


def after_call(
    state: PhaseState, tool: str, arguments: str, effects: Collection[Effect], *, ok: bool, changed: bool
) -> PhaseState:
    """The state after a call that ran: its cost, and what it means for the newest test."""
    used = state.used
    if spends(tool):
        used = {**used, state.phase: used.get(state.phase, 0) + 1}
    proof = _proof_after(state.proof, _line(arguments) if tool == "bash" else "", frozenset(effects), ok, changed)
    return structs.replace(state, used=used, proof=proof)


def spends(tool: str) -> bool:
    """Whether a call of the tool counts against its phase's budget."""
    return tool not in NEUTRAL


# ── the mask


def allowed_tools(phase: str) -> frozenset[str]:
    """The tools of a phase, and those that stay through all of them; `complete` waits for the last one."""
    if phase not in PHASES:
        return NEUTRAL
    always = NEUTRAL if phase == LAST else NEUTRAL - {"complete"}
    return always | set(PHASES[phase].tools)


def within(state: PhaseState | None, tools: Iterable[str]) -> frozenset[str]:
    """Those of `tools` that the phase shows, and lets be called."""
    return frozenset(tools) & allowed_tools(state.phase) if state else frozenset(tools)


def refusal(state: PhaseState | None, tool: str) -> str:
    """Why a call of `tool` does not run now; empty if it may."""
    if state is None:
        return OFF if tool in PHASE_TOOLS else ""
    if tool not in within(state, (tool,)):
        homes = [phase.name for phase in PHASES.values() if tool in phase.tools]
        where = f"it is in: {', '.join(homes)}" if homes else "it is in no phase"
        return f"{tool} is not available in SWE phase {state.phase}; {where}. {_onward(state.phase)}"
    phase = PHASES.get(state.phase)
    if phase and spends(tool) and state.used.get(phase.name, 0) >= phase.calls:
        return f"the budget of phase {phase.name} is used up ({phase.calls} calls). {_onward(phase.name)}"
    return ""


def _onward(phase: str) -> str:
    if phase not in PHASES:
        return "The SWE phases are finished: call complete to end the task; the next turn starts again."
    back = ", return_to_fix_phase returns to the fix" if phase in RETURNING else ""
    return f"Call advance_phase with {' and '.join(PHASES[phase].needs)} to continue with {_following(phase)}{back}."


def _following(phase: str) -> str:
    names = [*PHASES, FINISHED]
    return names[names.index(phase) + 1]


def status(state: PhaseState) -> str:
    """Where a run stands in its phases, as a model reads it."""
    lines = []
    for phase in PHASES.values():
        mark = "▸" if phase.name == state.phase else " "
        lines.append(f"{mark} {phase.name:<24} {state.used.get(phase.name, 0):>2} of {phase.calls} calls")
    if state.phase in PHASES:
        lines.append(f"tools: {', '.join(PHASES[state.phase].tools)}")
    lines.append(_onward(state.phase))
    lines += [f"{key}: {value}" for key, value in state.values.items()]
    lines.append(f"tests: {state.proof}")
    return "\n".join(lines)


# ── what counts as a test

_RUNNER = regex(
    r"(?:^|[\s/=])(?:pytest|py\.test|unittest|nose2|tox|nox|ctest|jest|vitest|mocha|rspec|phpunit|test|run[-_]?tests?)"
    r"(?:\.\w+)?(?=$|[\s;&|:])|(?:^|[\s;&|])make\s(?:\S+\s)*check(?=$|[\s;&|])"
)
_RUNS_NOTHING = regex(r"\s(?:--collect-only|--co|--help|-h|--version)(?=$|\s)|^\s*!")
_HARMLESS_JOINTS = regex(r"\d?>&\d|&>>?|&&")  # with && each command's failure is the line's
_RUNS = frozenset({Effect.BUILD, Effect.EXECUTE})
_CHANGES = frozenset({Effect.EDIT, Effect.INSTALL, Effect.OUTSIDE, Effect.DESTROY})


def names_test(line: str) -> bool:
    """Whether a shell line runs a test runner, by its name."""
    return bool(_RUNNER.search(line)) and not _RUNS_NOTHING.search(line)


def masks_failure(line: str) -> bool:
    """Whether a line's exit code may say that all is well though a command of it failed."""
    return bool(set(_HARMLESS_JOINTS.sub("", line)) & set("|;&\n"))


def _proof_after(before: Proof, line: str, effects: frozenset[Effect], ok: bool, changed: bool) -> Proof:
    """A test command is a shell line that builds or executes, changes nothing else, and names a test runner."""
    if names_test(line) and effects & _RUNS and not effects & _CHANGES:
        if not ok:
            return Proof.FAILED
        return Proof.UNCLEAR if masks_failure(line) else Proof.PASSED
    if changed or effects & (_CHANGES | {Effect.EXECUTE}):
        return before if before is Proof.NONE else Proof.STALE
    return before


def _line(arguments: str) -> str:
    try:
        return str(wire_json.decode(arguments)["command"])
    except (msgspec.DecodeError, KeyError, TypeError):
        return ""
