"""A skill in use only narrows: over every axis, tool and line, no decision is looser than without it."""

import itertools

from hypothesis import given
from hypothesis import strategies as st

from quintet.adapters.shell_grammar.parse import BashGrammar
from quintet.app.tool_registry import BY_NAME
from quintet.domain.dials import axes as dials
from quintet.domain.dials.axes import Axes
from quintet.domain.permission.effects import NO_LINES, Effect, exceeds
from quintet.domain.permission.gate import Sandbox, Terms, Verdict, decide
from quintet.domain.shell.judge import with_lines
from quintet.domain.skills.use import LinePattern, SkillUse, not_shown
from quintet.domain.turn.tool_spec import Touch

ROOT = "/project"
LOOSENESS = [Verdict.DENY, Verdict.ASK, Verdict.ALLOW]
LINES = (
    "ls -l",
    "git status",
    "git commit -m x",
    "git push",
    "python3 -c 'print(1)'",
    "cd a && git commit -m x",
    "git commit -m x; rm -rf b",
    "rm x",
    "pytest -q",
    "eval $X",
    "xargs rm < list",
)
AXES = [
    Axes(mode, control, profile)
    for mode, control, profile in itertools.product(dials.WorkMode, dials.RunControl, dials.PermissionProfile)
]
names = st.sampled_from([*BY_NAME, "nothing_of_ours"])
patterns = st.builds(LinePattern, st.sampled_from(["git", "git commit", "pytest", "", "rm x"]), st.booleans())
uses = st.builds(
    SkillUse,
    name=st.just("narrow"),
    origin=st.sampled_from(["project", "home", "built-in"]),
    tools=st.none() | st.lists(names, max_size=4).map(tuple),
    lines=st.none() | st.lists(patterns, max_size=3).map(tuple),
    items=st.just(()),
)


@given(st.lists(uses, min_size=1, max_size=3), st.sampled_from(AXES), names, st.booleans())
def test_no_decision_is_looser_with_a_skill(found: list[SkillUse], axes: Axes, tool: str, person: bool) -> None:
    spec = BY_NAME.get(tool, BY_NAME["bash"])
    for sandbox in Sandbox:
        terms = Terms(ROOT, person=person, sandbox=sandbox)
        held = Terms(ROOT, person=person, sandbox=sandbox, skills=tuple(found))
        calls = [(Touch(spec.effects), NO_LINES)]
        if spec.name == "bash":
            calls = [with_lines(Touch(frozenset(), lines=(line,)), BashGrammar().parse) for line in LINES]
        for touch, lines in calls:
            free = decide(spec, touch, axes, terms, "", lines)
            kept = decide(spec, touch, axes, held, "", lines)
            assert LOOSENESS.index(kept.verdict) <= LOOSENESS.index(free.verdict)
            assert not exceeds(kept.grant, free.grant)


def test_a_least_profile_of_a_call_never_lets_a_lower_one_through() -> None:
    spec = BY_NAME["Read"]
    for axes, least in itertools.product(AXES, dials.PermissionProfile):
        touch = Touch(frozenset({Effect.READ}), least=least)
        verdict = decide(spec, touch, axes, Terms(ROOT, sandbox=Sandbox.BWRAP)).verdict
        assert (verdict is Verdict.DENY) == (least.rank > axes.permission_profile.rank)


def _verdict(use: SkillUse, line: str) -> str:
    touch, lines = with_lines(Touch(frozenset(), lines=(line,)), BashGrammar().parse)
    return use.refuses("bash", touch.effects, lines)


def test_lines_are_kept_to_the_patterns_that_a_skill_names() -> None:
    use = SkillUse("commit", "home", tools=("bash",), lines=(LinePattern("git commit", begins=True),))
    assert not _verdict(use, "git commit -m 'a b'")
    assert not _verdict(use, "cd sub && git commit -m x")
    assert not _verdict(use, "ls -l; cat a")  # reading is never narrowed
    assert "runs only git commit …, not git push" in _verdict(use, "git push")
    assert _verdict(use, "git commit -m x && touch y")
    assert "code that nobody read" in _verdict(use, "git commit -m x && eval $Y")
    assert use.refuses("Edit", frozenset({Effect.EDIT}), NO_LINES) == (
        "skill commit works with bash only, not with Edit"
    )


def test_a_skill_that_names_no_tools_narrows_nothing() -> None:
    use = SkillUse("free", "home")
    assert not use.refuses("Edit", frozenset({Effect.EDIT}), NO_LINES)


def test_an_item_that_is_not_shown_is_named() -> None:
    use = SkillUse("s", "home", items=("a test fails first", "it passes"))
    assert not_shown([use], []) == 'the checklist of skill s is not shown: "a test fails first" and 1 more'
    assert not_shown([use], ["s: a test fails first"]) == 'the checklist of skill s is not shown: "it passes"'
    assert not_shown([use], ["s: a test fails first", "s: it passes"]) == ""
