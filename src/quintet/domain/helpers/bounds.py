"""What a helper may do at most: never more than the session whose call it works for. Pure.

`inherited` makes a helper's bounds of its parent's and of what its role asks for; `looser` is the audit of the result.
`held` applies the parent's bounds, as they are at that moment, to a call of the helper's: whatever the helper's own
journal says, a parent that has tightened since holds it back, and an approval from before is void.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterable, Set

from msgspec import Struct, structs

from quintet.domain.dials.axes import CONTROL_ORDER, MODEL_ORDER, Axes, WorkMode
from quintet.domain.permission.gate import READ_ONLY_MODES
from quintet.domain.permission.protected_paths import inside
from quintet.domain.permission.rules import Rule
from quintet.domain.skills.use import SkillUse
from quintet.domain.turn.stage_policy import CallContext

BUILDING = frozenset({WorkMode.BUILD, WorkMode.REPAIR})
DIALS = ("work_mode", "run_control", "permission_profile", "model_mode")
BESIDE = ("tools", "roots", "network", "providers", "models", "skills")
_ARTIFACTS = {WorkMode.PLAN: "specs", WorkMode.REVIEW: "reports", WorkMode.RESEARCH: "reports"}


class Bounds(Struct, frozen=True):
    axes: Axes
    read_only: str = ""  # why nothing may be changed; empty: it may
    tools: frozenset[str] | None = None  # None: all
    rules: tuple[Rule, ...] = ()  # of the user, and those that hold in the session only
    roots: tuple[str, ...] = ()  # the project, and the folders beside it that may be read
    network: bool = True
    providers: frozenset[str] | None = None  # the addresses that requests may go to; None: any that is configured
    models: frozenset[str] | None = None  # None: any that is configured
    skills: tuple[SkillUse, ...] = ()  # that the work goes by: what they narrow stays narrow
    known: Set[str] = frozenset()  # addresses that the parent was given; those of the task itself are a model's words


def no_bounds() -> Bounds | None:
    """A session of the user's is bounded by its own dials alone."""
    return None


def inherited(parent: Bounds, wanted: Bounds) -> Bounds:
    """What a helper gets of what it asks for."""
    read_only = parent.read_only or wanted.read_only
    return Bounds(
        axes=held_axes(parent.axes, wanted.axes, bool(read_only)),
        read_only=read_only,
        tools=_fewer(parent.tools, wanted.tools),
        rules=_rules(parent.rules, wanted.rules),
        roots=tuple(root for root in wanted.roots if _within(root, parent.roots)),
        network=parent.network and wanted.network,
        providers=_fewer(parent.providers, wanted.providers),
        models=_fewer(parent.models, wanted.models),
        skills=_both(parent.skills, wanted.skills),
        known=_either(parent.known, wanted.known),
    )


def looser(parent: Bounds, child: Bounds) -> tuple[str, ...]:
    """What of a helper's bounds is more than its parent's; empty if nothing is."""
    held = inherited(parent, child)
    found = [name for name in DIALS if getattr(held.axes, name) is not getattr(child.axes, name)]
    found += ["read_only"] if parent.read_only and not child.read_only else []
    found += [name for name in BESIDE if getattr(held, name) != getattr(child, name)]
    return (*found, "rules") if set(held.rules) != set(child.rules) else tuple(found)


def held(context: CallContext, bounds: Bounds) -> CallContext:
    """A call of the helper's as its parent's bounds leave it now."""
    read_only = context.read_only or bounds.read_only
    return structs.replace(
        context,
        axes=held_axes(bounds.axes, context.axes, bool(read_only)),
        read_only=read_only,
        allowed=_fewer(bounds.tools, context.allowed),
        skills=_both(bounds.skills, context.skills),
        known=context.known if context.known is None else _either(bounds.known, context.known),
    )


def held_rules(bounds: Bounds, own: Iterable[Rule]) -> tuple[Rule, ...]:
    """The rules of a call of the helper's: its parent's, and whatever else denies."""
    return _rules(bounds.rules, (*own, *bounds.rules))


def held_axes(parent: Axes, wanted: Axes, reads_only: bool) -> Axes:
    """The dials of a helper that wants these; `reads_only`: it may change nothing."""
    return Axes(
        work_mode=_work_mode(parent.work_mode, wanted.work_mode, reads_only),
        run_control=min(parent.run_control, wanted.run_control, key=CONTROL_ORDER.index),
        permission_profile=min(parent.permission_profile, wanted.permission_profile, key=lambda one: one.rank),
        model_mode=min(parent.model_mode, wanted.model_mode, key=MODEL_ORDER.index),
        surface=wanted.surface,
    )


def _work_mode(parent: WorkMode, wanted: WorkMode, reads_only: bool) -> WorkMode:
    """In chat even a command needs approval, so nothing but chat is as tight; each reading mode has files of its own
    that it may write, unless nothing may be written at all."""
    if parent in BUILDING:
        return wanted
    if parent in READ_ONLY_MODES and wanted in READ_ONLY_MODES:
        same = _ARTIFACTS[parent] == _ARTIFACTS[wanted]
        return wanted if same or reads_only else parent
    return parent


def _fewer(parent: frozenset[str] | None, wanted: frozenset[str] | None) -> frozenset[str] | None:
    if parent is None or wanted is None:
        return wanted if parent is None else parent
    return parent & wanted


def _both(parent: tuple[SkillUse, ...], wanted: tuple[SkillUse, ...]) -> tuple[SkillUse, ...]:
    return tuple(dict.fromkeys((*parent, *wanted)))


def _either(one: Set[str], other: Set[str]) -> Set[str]:
    return one | other if one and other else one or other


def _rules(parent: Iterable[Rule], wanted: Iterable[Rule]) -> tuple[Rule, ...]:
    """Every rule that denies, of either; one that allows only if the parent has it."""
    parent, wanted = tuple(parent), tuple(wanted)
    denies = [rule for rule in (*parent, *wanted) if rule.verdict == "deny"]
    allows = [rule for rule in wanted if rule.verdict == "allow" and rule in parent]
    return tuple(dict.fromkeys((*denies, *allows)))


def _within(root: str, parents: Iterable[str]) -> bool:
    return any(inside(posixpath.normpath(root), parent) is not None for parent in parents)
