"""The corpus of shell lines, and what the gate says of them.

`corpus/shell_lines.jsonl`: a bad line does more than read, and its `wall` says what stops it behind bubblewrap: the
`gate` (it asks or denies at normal and trusted) or the `sandbox` (it goes, in a grant that holds it). A good line is
what developers type, with the gate's answer at normal and trusted. A `bomb` is not to be run.

`corpus/developer_lines.jsonl`: a harmless line has the `effects` that it really has; a harmful one `needs` the lowest
profile at which it may go without a question, or `never` may. In the older corpus some have that too: with a snapshot,
or with a network.
"""

import json
from functools import cache
from pathlib import Path
from typing import Any

from msgspec import structs

from quintet.adapters.shell_grammar.parse import BashGrammar
from quintet.app.tool_registry import BY_NAME
from quintet.domain.dials.axes import Axes, PermissionProfile, RunControl, WorkMode
from quintet.domain.permission.effects import Effect, JudgedLines
from quintet.domain.permission.gate import Decision, Sandbox, Terms, Verdict, decide
from quintet.domain.shell.judge import with_lines
from quintet.domain.turn.tool_spec import Touch

FOLDER = Path(__file__).parent / "corpus"
BASH = BY_NAME["bash"]
GRAMMAR = BashGrammar()
CORPORA = ("shell_lines.jsonl", "developer_lines.jsonl")
HOME = "/home/someone"
SHOWN = ("/usr", "/bin", "/lib", "/etc", "/tmp", "/opt")  # much as the sandbox shows them to every command
_BEYOND = frozenset({"network", "outside", "publish"})
WAITS = {"normal": _BEYOND | {"build", "install", "commit"}, "trusted": _BEYOND}  # effects a profile asks about


def rows(name: str = "shell_lines.jsonl") -> list[dict[str, Any]]:
    return [json.loads(text) for text in (FOLDER / name).read_text("utf-8").splitlines()]


def bad() -> list[dict[str, Any]]:
    return [row for row in rows() if row["kind"] == "bad"]


def good() -> list[dict[str, Any]]:
    return [row for row in rows() if row["kind"] == "good"]


@cache
def judged(line: str) -> tuple[Touch, JudgedLines]:
    return with_lines(BASH.touch({"command": line, "exec_dir": ""}), GRAMMAR.parse)


def decided(
    line: str,
    profile: str,
    sandbox: Sandbox = Sandbox.BWRAP,
    work_mode: WorkMode = WorkMode.BUILD,
    root: str = "/project",
) -> Decision:
    axes = Axes(work_mode, RunControl.AUTONOMOUS, PermissionProfile(profile))
    touch, lines = judged(line)
    return decide(BASH, touch, axes, Terms(root, person=True, sandbox=sandbox), line, lines)


@cache
def _judged_in_session(line: str) -> tuple[Touch, JudgedLines]:
    """On a machine that has all that a line names in the home, and nothing of it in /tmp."""
    touch = BASH.touch({"command": line, "exec_dir": ""})
    return with_lines(touch, GRAMMAR.parse, is_there=lambda path: path[:1] == "~")


def in_session(line: str, profile: str, *, kept: bool = True, root: str = "/project") -> Decision:
    """As a session in bubblewrap decides; `kept`: what the line deletes could be kept before."""
    axes = Axes(WorkMode.BUILD, RunControl.AUTONOMOUS, PermissionProfile(profile))
    touch, lines = _judged_in_session(line)
    lines = structs.replace(lines, kept=True) if kept and lines.deletes else lines
    terms = Terms(root, person=True, sandbox=Sandbox.BWRAP, home=HOME, shown=SHOWN)
    return decide(BASH, touch, axes, terms, line, lines)


def harmless(corpus: str) -> list[dict[str, Any]]:
    return [row for row in rows(corpus) if row["kind"] in ("good", "harmless")]


def harmful(corpus: str) -> list[dict[str, Any]]:
    """With what each needs: one that the sandbox holds may go anywhere."""
    found = [row for row in rows(corpus) if row["kind"] in ("bad", "harmful")]
    return [{"needs": "restricted" if row.get("wall") == "sandbox" else "never", **row} for row in found]


def due(lines: list[dict[str, Any]], profile: str) -> list[dict[str, Any]]:
    """Those that the profile is there to let go."""
    return [row for row in lines if WAITS[profile].isdisjoint(row["effects"])]


def counted(lines: list[dict[str, Any]], profile: str, *, kept: bool) -> list[dict[str, Any]]:
    """Those that go without a question, and get what they need."""
    return [row for row in lines if _works(row, in_session(row["line"], profile, kept=kept))]


def _works(row: dict[str, Any], decision: Decision) -> bool:
    grant, effects = decision.grant, row["effects"]
    given = "commit" not in effects or Effect.COMMIT in grant.effects
    given = given and ("install" not in effects or grant.network)
    given = given and ({"edit", "execute", "build"}.isdisjoint(effects) or bool(grant.write_roots))
    return decision.verdict is Verdict.ALLOW and given


def too_soon(row: dict[str, Any]) -> list[str]:
    """The profiles below its need at which a harmful line goes, what it deletes being kept."""
    order = [str(profile) for profile in PermissionProfile]
    below = order[: order.index(row["needs"])] if row["needs"] in order else order
    return [profile for profile in below if in_session(row["line"], profile).verdict is Verdict.ALLOW]
