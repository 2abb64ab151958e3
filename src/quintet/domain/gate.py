"""The gate: may this call proceed? One pure function, `decide`, with its reason.

Hard limits (protected paths, work mode) deny; the profile allows or asks; the safety harness and manual run control
only ever raise an Allow to an Ask. What would be asked with nobody attached is not run.
"""

from __future__ import annotations

from enum import StrEnum

from msgspec import Struct

from quintet.domain.axes import Axes, PermissionProfile, RunControl, WorkMode
from quintet.domain.grants import Effect, Grant, grant_for, ordered
from quintet.domain.protected import inside, is_secret, is_write_protected
from quintet.domain.toolspec import ToolSpec, Touch


class Verdict(StrEnum):
    ALLOW = "allow"
    ASK = "ask"
    DENY = "deny"


class Sandbox(StrEnum):
    BWRAP = "bwrap"
    PARTIAL = "partial"
    NONE = "none"


class Decision(Struct, frozen=True):
    verdict: Verdict
    reason: str
    effects: tuple[Effect, ...]
    grant: Grant = Grant()


_STEPS: dict[PermissionProfile, frozenset[Effect]] = {
    PermissionProfile.RESTRICTED: frozenset({Effect.READ, Effect.FETCH}),
    PermissionProfile.NORMAL: frozenset({Effect.EDIT, Effect.EXECUTE}),
    PermissionProfile.TRUSTED: frozenset({Effect.BUILD, Effect.INSTALL, Effect.COMMIT}),
    PermissionProfile.UNRESTRICTED: frozenset({Effect.NETWORK}),
}
ALWAYS_ASKS = frozenset({Effect.OUTSIDE, Effect.DESTROY, Effect.PUBLISH})
READING = frozenset({Effect.READ, Effect.FETCH})
RUNNING = frozenset({Effect.EXECUTE, Effect.BUILD})
READ_ONLY_MODES = frozenset({WorkMode.PLAN, WorkMode.REVIEW, WorkMode.RESEARCH})


def unasked(profile: PermissionProfile) -> frozenset[Effect]:
    """The effects that proceed without asking at this profile."""
    return frozenset().union(*(effects for step, effects in _STEPS.items() if step.rank <= profile.rank))


def visible(spec: ToolSpec, axes: Axes) -> bool:
    """Whether the tool is any use at this profile: shown to the model, and callable."""
    return spec.profile.rank <= axes.permission_profile.rank


def decide(
    spec: ToolSpec, touch: Touch, axes: Axes, *, root: str, person: bool, sandbox: Sandbox = Sandbox.NONE
) -> Decision:
    """Allow, ask or deny one call of `spec` whose arguments mean `touch`."""
    effects = touch.effects
    grant = grant_for(effects, root)

    def say(verdict: Verdict, reason: str) -> Decision:
        return Decision(verdict, reason, ordered(effects), grant if verdict is not Verdict.DENY else Grant())

    if not visible(spec, axes):
        return say(
            Verdict.DENY,
            f"{spec.name} needs profile {spec.profile} or above; this is {axes.permission_profile}",
        )
    if guarded := next((p for p in touch.writes if is_write_protected(inside(p, root) or p)), None):
        return say(Verdict.DENY, f"{guarded} is protected: no call may write it")
    if secret := next((p for p in touch.reads + touch.writes if is_secret(p)), None):
        return say(Verdict.DENY, f"{secret} is protected: it may hold secrets")
    if reason := _work_mode_limit(effects, axes, sandbox):
        return say(Verdict.DENY, reason)

    if asks := _asks(effects, axes, touch, sandbox) or _asks_outside(touch, root):
        return say(Verdict.ASK, asks if person else f"{asks}; nobody is attached to ask")
    return say(Verdict.ALLOW, _why_allowed(effects, axes))


def _work_mode_limit(effects: frozenset[Effect], axes: Axes, sandbox: Sandbox) -> str:
    """Why the work mode, or the lack of a sandbox, forbids this; empty if it does not."""
    work_mode = axes.work_mode
    if work_mode in READ_ONLY_MODES:
        changing = effects - READING - RUNNING - {Effect.NETWORK}
        if changing:
            return f"work mode {work_mode} does not {_worst(changing)}"
    if sandbox is Sandbox.NONE and effects - READING:
        if work_mode in READ_ONLY_MODES:
            return f"work mode {work_mode} only reads, and without a sandbox nothing else can be kept to that"
        if axes.permission_profile is PermissionProfile.RESTRICTED and effects & RUNNING:
            return "profile restricted, without a sandbox, runs only what is known to read"
    return ""


def _asks(effects: frozenset[Effect], axes: Axes, touch: Touch, sandbox: Sandbox) -> str:
    """Why this has to be asked; empty if it may proceed."""
    why = f" ({touch.why})" if touch.why else ""
    if harness := effects & ALWAYS_ASKS:
        return f"{_worst(harness)} always asks{why}"
    if axes.work_mode is WorkMode.CHAT and effects - READING:
        return f"in chat every change asks: {_worst(effects)}{why}"
    beyond = effects - unasked(axes.permission_profile)
    if beyond:
        return f"{_worst(beyond)} is beyond profile {axes.permission_profile}{why}"
    if Effect.EXECUTE in effects and sandbox is not Sandbox.BWRAP:
        return f"execute asks without a sandbox{why}"
    if axes.run_control is RunControl.MANUAL and effects:
        return "run control is manual: each step asks"
    return ""


def _asks_outside(touch: Touch, root: str) -> str:
    away = next((p for p in touch.reads + touch.writes if inside(p, root) is None), None)
    return f"{away} is outside the project" if away else ""


def _why_allowed(effects: frozenset[Effect], axes: Axes) -> str:
    if not effects:
        return "has no effect outside the run"
    return f"{', '.join(ordered(effects))}: unasked at profile {axes.permission_profile}"


def _worst(effects: frozenset[Effect]) -> str:
    return str(ordered(effects)[-1])
