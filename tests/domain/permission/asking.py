"""A call before the gate, without a session: what is decided on it, and which answers its question offers."""

import json

from msgspec import structs

from quintet.adapters.shell_grammar.parse import BashGrammar
from quintet.app.tool_registry import BY_NAME
from quintet.domain.dials.axes import Axes, PermissionProfile, RunControl, Surface, WorkMode
from quintet.domain.permission import gate
from quintet.domain.permission.answers import AskedCall, answers
from quintet.domain.permission.effects import NO_LINES, JudgedLines, Sandbox
from quintet.domain.permission.rules import Rule, subject_of
from quintet.domain.shell.judge import with_lines
from quintet.domain.turn.tool_spec import Touch

ROOT = "/project"
CHAT, BUILD = WorkMode.CHAT, WorkMode.BUILD
RESTRICTED, NORMAL = PermissionProfile.RESTRICTED, PermissionProfile.NORMAL
TRUSTED, UNRESTRICTED = PermissionProfile.TRUSTED, PermissionProfile.UNRESTRICTED
EDIT = {"file_path": "calc.py", "old_string": "a", "new_string": "b"}
Call = tuple[str, dict[str, object]]


def line(text: str, **more: object) -> Call:
    return "bash", {"command": text, **more}


def axes(work_mode: WorkMode, profile: PermissionProfile, control: RunControl = RunControl.AUTONOMOUS) -> Axes:
    return structs.replace(
        Axes(surface=Surface.TUI), work_mode=work_mode, permission_profile=profile, run_control=control
    )


class Question:
    def __init__(self, call: Call, at: Axes, sandbox: Sandbox = Sandbox.BWRAP, rules: tuple[Rule, ...] = ()) -> None:
        name, given = call
        self.spec = BY_NAME[name]
        self.values = self.spec.bind(json.dumps(given))
        self.touch: Touch = self.spec.touch(self.values)
        self.lines: JudgedLines = NO_LINES
        if self.touch.lines:
            self.touch, self.lines = with_lines(self.touch, BashGrammar().parse, is_there=lambda path: True)
        self.terms = gate.Terms(ROOT, person=True, sandbox=sandbox, rules=rules)
        self.subject = subject_of(self.values, self.touch.lines)
        self.axes = at

    def at(self, axes: Axes) -> gate.Decision:
        return gate.decide(self.spec, self.touch, axes, self.terms, self.subject, self.lines)

    @property
    def asked(self) -> AskedCall:
        simple = gate.plain_words(self.spec, self.touch, self.terms, self.lines)
        whole = bool(self.touch.lines), bool(self.touch.subjects)
        return AskedCall(
            self.spec.name, self.subject, self.at(self.axes), self.axes, self.terms.sandbox, simple, *whole
        )

    @property
    def keys(self) -> str:
        return "".join(choice.key for choice in answers(self.asked, self.at))
