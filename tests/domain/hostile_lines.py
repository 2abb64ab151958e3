"""The corpus of shell lines, and what the gate says of them.

`corpus/shell_lines.jsonl`: a bad line does more than read, and its `wall` says what stops it behind bubblewrap: the
`gate` (it asks or denies at normal and trusted) or the `sandbox` (it goes, in a grant that holds it). A good line is
what developers type, with the gate's answer at normal and trusted. A `bomb` is not to be run.
"""

import json
from functools import cache
from pathlib import Path
from typing import Any

from quintet.adapters.shell_grammar.parse import BashGrammar
from quintet.app.tool_registry import BY_NAME
from quintet.domain.dials.axes import Axes, PermissionProfile, RunControl, WorkMode
from quintet.domain.permission.effects import JudgedLines
from quintet.domain.permission.gate import Decision, Sandbox, Terms, decide
from quintet.domain.shell.judge import with_lines
from quintet.domain.turn.tool_spec import Touch

FOLDER = Path(__file__).parent / "corpus"
BASH = BY_NAME["bash"]
GRAMMAR = BashGrammar()


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
