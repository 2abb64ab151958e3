"""The user's own `!` line: whether it runs with their rights, and what the gate's decision on it is then. Pure.

It does only if it was typed key by key at the terminal of the process that runs the session, or confirmed there. Dials
do not hold it back: it is what the user could type in the next terminal. A deny rule of theirs does.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum

from quintet.domain.dials.axes import Surface
from quintet.domain.input.provenance import Provenance
from quintet.domain.input.slash_line import is_shell_line
from quintet.domain.permission.effects import READING, Effect, Grant, JudgedLines
from quintet.domain.permission.gate import Decision, Verdict
from quintet.domain.permission.rules import Rule, denying, describe
from quintet.domain.turn.tool_spec import Touch

EFFECTS = (Effect.EXECUTE, Effect.OUTSIDE)
ASKED = "Run this line with your rights, outside the sandbox?"
ELSEWHERE = "Another process runs this session, so this line runs in the sandbox."


class OwnLineWay(StrEnum):
    """What becomes of an input at a surface."""

    INPUT = "input"  # no shell line, or one that goes through the gate as always
    ELSEWHERE = "elsewhere"  # a shell line for a session that another process runs: it is told that the gate has it
    CONFIRM = "confirm"  # the user is asked first
    DIRECT = "direct"  # with the user's rights


def own_line_way(text: str, provenance: Provenance, *, at_terminal: bool, direct: bool, owned_here: bool) -> OwnLineWay:
    """`direct` is the setting `prompt.own_lines`; `at_terminal`, whether keys come from this process's terminal."""
    if not (direct and at_terminal and is_shell_line(text)):
        return OwnLineWay.INPUT
    if not owned_here:
        return OwnLineWay.ELSEWHERE
    return OwnLineWay.DIRECT if provenance.typed else OwnLineWay.CONFIRM


def decide(
    tool: str, touch: Touch, lines: JudgedLines, rules: Sequence[Rule], subject: str, root: str, surface: Surface
) -> Decision:
    """The decision on a line with the user's rights; the project is watched unless the line is known to read only."""
    if rule := denying(rules, tool, subject, root, (*lines.commands, *touch.subjects)):
        return Decision(Verdict.DENY, f"your rule {rule.id} denies it: {describe(rule)}", EFFECTS, rule=rule.id)
    reads = lines.plain and touch.effects <= READING
    grant = Grant(EFFECTS, () if reads else (root,), network=True)
    return Decision(
        Verdict.ALLOW, f"your own line, typed or confirmed here ({surface}): it runs with your rights", EFFECTS, grant
    )
