"""Which answers a question about a call offers, and the rules that they make. Pure.

A rule is offered only where it would lift the question, a dial only where turning it would: what is offered works.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from msgspec import UNSET, Struct, UnsetType, structs

from quintet.domain.dials.axes import Axes, AxesChange, PermissionProfile, WorkMode
from quintet.domain.permission.effects import Effect, Sandbox
from quintet.domain.permission.gate import EDITORS, Decision, Verdict
from quintet.domain.permission.prefixes import offered_prefix
from quintet.domain.permission.rules import ANY, Rule, exactly

# The keys of the choices; no is n in every question. That for edits begins hardly a word that could be typed instead.
YES, ALWAYS, NO = "y", "a", "n"
SESSION, PREFIX, EDITS, BUILD, PROFILE, FEEDBACK = "s", "p", "x", "b", "t", "e"
WORDS = {
    YES: "yes",
    NO: "no",
    ALWAYS: "always",
    SESSION: "for this session",
    PREFIX: "always for this prefix",
    EDITS: "accept edits",
    BUILD: "in mode build",
    PROFILE: "in a higher profile",
}
LASTING = frozenset({SESSION, ALWAYS, PREFIX, EDITS})  # a yes that makes a rule
TURNING = frozenset({BUILD, PROFILE})  # a yes by a turned dial


class Choice(Struct, frozen=True, gc=False):
    key: str
    label: str
    turns: AxesChange | UnsetType = UNSET  # the dials that this answer turns
    takes_text: bool | UnsetType = UNSET  # the answer is what the person types; left out where it is not
    only_selects: bool | UnsetType = UNSET  # its key answers nothing without Enter; left out where it does


def chosen(choices: Sequence[Choice], word: str) -> str:
    """The key of the choice that a person names by its key or its label; empty if it is none."""
    word = word.lower()
    return next((one.key for one in choices if word in (one.key, one.label.lower(), WORDS.get(one.key))), "")


REFUSALS = (Choice(NO, "no"), Choice(FEEDBACK, "no, with feedback"))
APPROVAL = (Choice(YES, "yes"), *REFUSALS)


class AskedCall(Struct, frozen=True):
    """What a question is about, as far as its answers go by it."""

    tool: str
    subject: str  # as rules name it
    decision: Decision
    axes: Axes
    sandbox: Sandbox
    simple: Sequence[str] = ()  # the words of a line that is one plain command, where a prefix may stand for it
    line: bool = False  # whether it is a shell line
    several: bool = False  # about several files at once: no rule holds for it

    @property
    def lifts(self) -> frozenset[Effect]:
        return frozenset() if self.several else frozenset(self.decision.lifts)

    @property
    def prefix(self) -> tuple[str, ...]:
        return offered_prefix(self.simple) if self.sandbox is Sandbox.BWRAP else ()

    @property
    def accepts_edits(self) -> bool:
        return self.tool in EDITORS and self.lifts == {Effect.EDIT}


def answers(asked: AskedCall, at: Callable[[Axes], Decision]) -> tuple[Choice, ...]:
    """The choices of a question; `at` decides on the same call at other axes."""
    return (Choice(YES, "yes"), *_rules(asked), *_dials(asked, at), *REFUSALS)


def answers_together(asked: Sequence[AskedCall], at: Callable[[AskedCall, Axes], Decision]) -> tuple[Choice, ...]:
    """The choices of one question about several edits: what holds for each of them, and no rule for a single file."""

    def hardest(axes: Axes) -> Decision:
        decided = [at(one, axes) for one in asked]
        return next((one for one in decided if one.verdict is not Verdict.ALLOW), decided[0])

    return tuple(choice for choice in answers(asked[0], hardest) if choice.key != ALWAYS)


def _rules(asked: AskedCall) -> list[Choice]:
    if not asked.lifts:
        return []
    found = []
    if asked.accepts_edits:
        found.append(Choice(EDITS, "accept edits for this session"))
    else:
        found.append(Choice(SESSION, "yes, for this session"))
    if asked.axes.work_mode is not WorkMode.CHAT:  # there, only a rule of the session holds
        what = "line" if asked.line else "file" if asked.accepts_edits else "call"
        found.append(Choice(ALWAYS, f"always in this project: this {what}"))
        if asked.prefix:
            found.append(Choice(PREFIX, f"always in this project: {' '.join(asked.prefix)} …"))
    return found


def _dials(asked: AskedCall, at: Callable[[Axes], Decision]) -> list[Choice]:
    axes = asked.axes
    if at(axes).verdict is Verdict.ALLOW:  # a hook asks, and no dial turns that
        return []
    if axes.work_mode is WorkMode.CHAT:
        change = AxesChange(work_mode=WorkMode.BUILD)
        goes = at(change.applied_to(axes)).verdict is Verdict.ALLOW
        return [Choice(BUILD, "continue in mode build", change)] if goes else []
    for profile in PermissionProfile:
        change = AxesChange(permission_profile=profile)
        if profile.rank > axes.permission_profile.rank and at(change.applied_to(axes)).verdict is Verdict.ALLOW:
            return [Choice(PROFILE, f"continue in profile {profile}", change)]
    return []


def made_rules(
    asked: AskedCall, choice: str, base: Rule, session: str, new_id: Callable[[], str] = lambda: ""
) -> tuple[Rule, ...]:
    """The rules that an answer makes; `base` has the id, the project and the time of the first of them."""
    rule = structs.replace(
        base,
        tool=asked.tool,
        pattern=exactly(asked.subject) or ANY,
        effects=asked.decision.lifts,
        reason=asked.decision.reason,
    )
    if choice == ALWAYS:
        return (rule,)
    if choice == PREFIX and asked.prefix:
        # The pattern is what an older program goes by, which knows no prefixes: the bare command.
        return (structs.replace(rule, words=asked.prefix, pattern=exactly(" ".join(asked.prefix))),)
    if choice == SESSION:
        return (structs.replace(rule, session=session),)
    if choice == EDITS and asked.accepts_edits:
        every = structs.replace(rule, pattern=ANY, session=session)
        others = sorted(EDITORS - {asked.tool})
        return (every, *(structs.replace(every, id=new_id(), tool=other) for other in others))
    return ()
