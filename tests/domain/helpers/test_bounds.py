"""S3 §13.3: what a helper may do is never more than what its parent may do.

Over the whole product of parents and wishes, against tables written by hand; and by the gate itself, which must never
let a helper's call go further than the same call of its parent.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations, product

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from quintet.app.tool_registry import BY_NAME
from quintet.domain.dials.axes import Axes, ModelMode, PermissionProfile, RunControl, WorkMode
from quintet.domain.helpers.bounds import Bounds, held, held_axes, held_rules, inherited, looser
from quintet.domain.permission import gate
from quintet.domain.permission.effects import Effect, Grant, Sandbox, exceeds
from quintet.domain.permission.gate import Terms, Verdict
from quintet.domain.permission.protected_paths import inside
from quintet.domain.permission.rules import Rule
from quintet.domain.skills.use import SkillUse
from quintet.domain.turn.stage_policy import CallContext
from quintet.domain.turn.tool_spec import Touch

KEEPS = SkillUse("tea", "home", tools=("Read",))

# By hand. What a helper that wants the one may have below a parent that has the other: the same, or tighter.
PROFILES = ["restricted", "normal", "trusted", "unrestricted"]
CONTROLS = ["manual", "assisted", "autonomous"]
MODELS = ["fast", "smart", "deep"]
MODES = ["chat", "plan", "build", "review", "repair", "research"]
# parent → wanted → (has if it may write, has if it only reads)
HAS = {
    "build": {mode: (mode, mode) for mode in MODES},
    "repair": {mode: (mode, mode) for mode in MODES},
    "chat": dict.fromkeys(MODES, ("chat", "chat")),
    "plan": {
        "chat": ("plan", "plan"),
        "plan": ("plan", "plan"),
        "build": ("plan", "plan"),
        "repair": ("plan", "plan"),
        "review": ("plan", "review"),
        "research": ("plan", "research"),
    },
    "review": {
        "chat": ("review", "review"),
        "plan": ("review", "plan"),
        "build": ("review", "review"),
        "repair": ("review", "review"),
        "review": ("review", "review"),
        "research": ("research", "research"),
    },
    "research": {
        "chat": ("research", "research"),
        "plan": ("research", "plan"),
        "build": ("research", "research"),
        "repair": ("research", "research"),
        "review": ("review", "review"),
        "research": ("research", "research"),
    },
}


def every_axes() -> list[Axes]:
    return [Axes(*words) for words in product(WorkMode, RunControl, PermissionProfile, ModelMode)]


def test_s3_13_3_the_dials_of_a_helper_over_the_whole_product() -> None:
    for parent, wanted in product(every_axes(), every_axes()):
        for reads_only in (False, True):
            has = held_axes(parent, wanted, reads_only)
            lower = min(PROFILES.index(parent.permission_profile), PROFILES.index(wanted.permission_profile))
            slower = min(CONTROLS.index(parent.run_control), CONTROLS.index(wanted.run_control))
            cheaper = min(MODELS.index(parent.model_mode), MODELS.index(wanted.model_mode))
            assert has.permission_profile == PROFILES[lower]
            assert has.run_control == CONTROLS[slower]
            assert has.model_mode == MODELS[cheaper]
            assert has.work_mode == HAS[parent.work_mode][wanted.work_mode][reads_only]


DENY, ALLOW, OTHER = (
    Rule("r1", "deny", "bash", "curl *"),
    Rule("r2", "allow", "bash", "make", effects=(Effect.BUILD,)),
    Rule("r3", "allow", "Edit", "*", effects=(Effect.EDIT,)),
)
RULES = [tuple(some) for number in range(4) for some in combinations((DENY, ALLOW, OTHER), number)]
NAMES = [None, frozenset({"a"}), frozenset({"a", "b"})]
ROOTS = [("/p",), ("/p/below", "/q"), ("/elsewhere",)]


def beside(reads: str) -> Iterator[Bounds]:
    """Everything but the dials: rules × roots × network × providers × models × tools."""
    for rules, roots, network, providers in product(RULES, ROOTS, (True, False), NAMES):
        yield Bounds(Axes(), reads, providers, rules, roots, network, providers, providers)


def test_s3_13_3_rules_roots_network_providers_and_models_over_the_whole_product() -> None:
    for parent, wanted in product(beside(""), beside("")):
        has = inherited(parent, wanted)
        assert looser(parent, has) == ()
        denied = {rule for rule in (*parent.rules, *wanted.rules) if rule is DENY}
        allowed = {rule for rule in (ALLOW, OTHER) if rule in parent.rules and rule in wanted.rules}
        assert set(has.rules) == denied | allowed
        assert set(has.roots) == {
            root for root in wanted.roots if any(f"{root}/".startswith(f"{above}/") for above in parent.roots)
        }
        assert has.network == (parent.network and wanted.network)
        for name in ("tools", "providers", "models"):
            above, asked, got = (getattr(one, name) for one in (parent, wanted, has))
            assert got == (asked if above is None else above if asked is None else above & asked)


@pytest.mark.parametrize(
    ("parent", "child", "more"),
    [
        (Bounds(Axes()), Bounds(Axes()), ()),
        (Bounds(Axes()), Bounds(Axes(WorkMode.BUILD)), ("work_mode",)),
        (Bounds(Axes(), "x"), Bounds(Axes()), ("read_only",)),
        (
            Bounds(Axes(permission_profile=PermissionProfile.RESTRICTED)),
            Bounds(Axes(run_control=RunControl.AUTONOMOUS)),
            ("run_control", "permission_profile"),
        ),
        (Bounds(Axes(), rules=(DENY,)), Bounds(Axes()), ("rules",)),
        (Bounds(Axes()), Bounds(Axes(), rules=(ALLOW,)), ("rules",)),
        (Bounds(Axes(), roots=("/p",)), Bounds(Axes(), roots=("/p/a", "/q")), ("roots",)),
        (Bounds(Axes(), network=False), Bounds(Axes()), ("network",)),
        (Bounds(Axes(), skills=(KEEPS,)), Bounds(Axes()), ("skills",)),
        (Bounds(Axes()), Bounds(Axes(), skills=(KEEPS,)), ()),
        (
            Bounds(Axes(), models=frozenset({"a"}), providers=frozenset({"x"})),
            Bounds(Axes(), models=frozenset({"a", "b"}), providers=frozenset({"y"})),
            ("providers", "models"),
        ),
    ],
)
def test_the_audit_names_what_is_more(parent: Bounds, child: Bounds, more: tuple[str, ...]) -> None:
    assert looser(parent, child) == more


# ── by the gate

CALLS = [
    ("Read", Touch(frozenset({Effect.READ}), reads=("a.py",))),
    ("Read", Touch(frozenset({Effect.READ}), reads=("/etc/passwd",))),
    ("Write", Touch(frozenset({Effect.EDIT}), writes=("a.py",))),
    ("Write", Touch(frozenset({Effect.EDIT}), writes=("specs/a.md",))),
    ("Write", Touch(frozenset({Effect.EDIT}), writes=("reports/a.md",))),
    ("bash", Touch(frozenset({Effect.EXECUTE}), lines=("true",))),
    ("bash", Touch(frozenset({Effect.BUILD}), lines=("make",))),
    ("bash", Touch(frozenset({Effect.INSTALL}), lines=("pip install x",))),
    ("bash", Touch(frozenset({Effect.COMMIT}), lines=("git commit",))),
    ("bash", Touch(frozenset({Effect.NETWORK}), lines=("curl x",))),
    ("bash", Touch(frozenset({Effect.OUTSIDE}), lines=("touch /x",))),
    ("bash", Touch(frozenset({Effect.DESTROY}), lines=("rm -r x",))),
    ("bash", Touch(frozenset({Effect.PUBLISH}), lines=("git push",))),
]
STRICT = {Verdict.ALLOW: 0, Verdict.ASK: 1, Verdict.DENY: 2}
axes = st.builds(Axes, *(st.sampled_from(kind) for kind in (WorkMode, RunControl, PermissionProfile, ModelMode)))
bounds = st.builds(
    Bounds,
    axes,
    st.sampled_from(["", "it only reads"]),
    rules=st.lists(st.sampled_from((DENY, ALLOW, OTHER)), unique=True).map(tuple),
    skills=st.sampled_from([(), (KEEPS,)]),
)


@given(
    bounds,
    axes,
    st.sampled_from(["", "the helper only reads"]),
    st.lists(st.sampled_from((DENY, ALLOW, OTHER)), unique=True),
    st.sampled_from(list(Sandbox)),
)
def test_s3_13_3_the_gate_lets_no_helper_do_what_its_parent_may_not(
    parent: Bounds, wanted: Axes, reads: str, own: list[Rule], sandbox: Sandbox
) -> None:
    """Whatever a helper's own journal says: `held` is applied to each of its calls, with the parent as it is then."""
    context = held(CallContext(wanted, read_only=reads), parent)
    terms = Terms("/p", person=True, sandbox=sandbox)
    above = structs.replace(terms, rules=parent.rules, read_only=parent.read_only, skills=parent.skills)
    below = structs.replace(terms, rules=held_rules(parent, own), read_only=context.read_only, skills=context.skills)
    for name, touch in CALLS:
        subject = touch.lines[0] if touch.lines else (touch.writes or touch.reads)[0]
        was = gate.decide(BY_NAME[name], touch, parent.axes, above, subject)
        now = gate.decide(BY_NAME[name], touch, context.axes, below, subject)
        assert STRICT[now.verdict] >= STRICT[was.verdict], (name, touch, was, now)
        if was.verdict is not Verdict.DENY and now.verdict is not Verdict.DENY:
            assert not exceeds(_beyond(now.grant, was.grant), was.grant), (name, touch, was.grant, now.grant)


def _beyond(grant: Grant, other: Grant) -> Grant:
    """A grant without the folders that lie in those of another one."""
    roots = [root for root in grant.write_roots if all(inside(root, one) is None for one in other.write_roots)]
    return structs.replace(grant, write_roots=tuple(roots))


def test_bounds_only_ever_narrow_down_a_chain() -> None:
    """Of a helper's helper: its parent's bounds are already its grandparent's."""
    first = Bounds(Axes(WorkMode.BUILD, RunControl.ASSISTED, PermissionProfile.TRUSTED), roots=("/p",))
    second = inherited(first, structs.replace(first, axes=Axes(WorkMode.RESEARCH), read_only="it reads"))
    third = inherited(second, first)
    assert looser(first, third) == looser(second, third) == ()
    assert third.read_only == "it reads"
