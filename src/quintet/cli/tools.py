"""The commands that look at tools, and at what the gate would decide.

Each takes the parsed arguments and returns an exit code; each has a table and a `--json` form.
"""

from __future__ import annotations

import os
import sys
from argparse import Namespace
from collections import Counter
from typing import Any

import msgspec

from quintet.adapters.files.paths import Places, locate
from quintet.adapters.files.project_files import ProjectFiles
from quintet.adapters.settings import layers as config
from quintet.adapters.settings import user_tools
from quintet.adapters.settings.gate_terms import make_terms
from quintet.adapters.settings.rule_book import FileRuleBook
from quintet.adapters.settings.trust import trust_of
from quintet.adapters.shell_grammar.parse import BashGrammar
from quintet.app import machine_parts as parts
from quintet.app.tool_registry import tools_for
from quintet.cli.parsing import actions, dial_flags, lookup, make_parser, turned
from quintet.domain.base.errors import NotFound, ToolFailed, UsageError
from quintet.domain.base.wording import counted, did_you_mean
from quintet.domain.dials import badge
from quintet.domain.dials.axes import INTERACTIVE, AxesChange
from quintet.domain.permission import gate
from quintet.domain.permission.effects import JudgedLines, ordered
from quintet.domain.permission.question import access, is_command
from quintet.domain.permission.rules import subject_of
from quintet.domain.shell.judge import with_lines
from quintet.domain.turn.tool_menu import toolsets_of, with_own
from quintet.domain.turn.tool_spec import ToolSpec, Touch, parts_of, readiness
from quintet.package import load
from quintet.surfaces.tables import complain, room, say, say_json, say_table, table
from quintet.tools.swe_phases import OWN_PYTHON

NEEDED = ("bash", "git", "ripgrep")  # what no install does without; other parts are for those who want their tools
KEPT = "if a snapshot taken just before contains what is deleted"


def specs_here(places: Places) -> dict[str, ToolSpec]:
    """Every tool there is here, the user's own last; what is wrong with one of those is said aside."""
    own = user_tools.load(places, trust_of(places.trust_file, places.root))
    for line in filter(None, (*own.warnings, own.held_back)):
        complain(line)
    return {**tools_for(config.load(places).settings), **own.specs}


def named_tool(name: str, specs: dict[str, ToolSpec]) -> ToolSpec:
    if name not in specs:
        raise UsageError(f"there is no tool {name}.{did_you_mean(name, specs)}")
    return specs[name]


def checked(arguments: Namespace) -> None:
    """A call's tool and its arguments, before anything is begun for it."""
    _bound(named_tool(arguments.name, specs_here(locate(arguments.directory))), arguments.args)


def _bound(
    spec: ToolSpec, arguments: str, terms: gate.Terms | None = None
) -> tuple[dict[str, Any], Touch, JudgedLines]:
    try:
        bound = spec.bind(arguments)
        touch = spec.touch(bound)
        if terms and not touch.lines:
            real = tuple(map(ProjectFiles(terms.root).leads_to, (path for path in touch.reads if path[:1] == "/")))
            touch = msgspec.structs.replace(touch, reads=tuple(dict.fromkeys((*touch.reads, *real))))
        if terms is None or terms.sandbox is gate.Sandbox.BWRAP:
            return bound, *with_lines(
                touch, BashGrammar().parse, is_there=lambda path: os.path.lexists(os.path.expanduser(path))
            )
        return bound, *with_lines(touch, BashGrammar().parse, ProjectFiles(terms.root).leads_to)
    except ToolFailed as error:
        raise UsageError(error.message) from None


def tools_list(arguments: Namespace) -> int:
    tools = [_tool(spec) for spec in specs_here(locate(arguments.directory)).values()]
    if arguments.json:
        say_json(tools)
        return 0
    heading = ("TOOL", "TOOLSETS", "PROFILE", "EFFECTS")
    rows = [
        (tool["name"], " ".join(tool["toolsets"]) or "everywhere", tool["profile"], " ".join(tool["effects"]) or "none")
        for tool in tools
    ]
    say_table(rows, heading=heading)
    return 0


def tools_show(arguments: Namespace) -> int:
    specs = specs_here(locate(arguments.directory))
    if arguments.name not in specs:
        raise NotFound(f"there is no tool {arguments.name}.{did_you_mean(arguments.name, specs)}")
    tool = _tool(specs[arguments.name])
    if arguments.json:
        say_json(tool)
        return 0
    needed = tool["parameters"].get("required", ())
    parameters = [
        (name + ("" if name in needed else "?"), _type(body), body.get("description", ""))
        for name, body in tool["parameters"]["properties"].items()
    ]
    toolsets = " ".join(tool["toolsets"]) or "visible everywhere"
    effects = ", ".join(tool["effects"]) or "no effects"
    head = f"{tool['name']}  {toolsets} · profile {tool['profile']} · {effects}"
    say([head, tool["description"], *table(parameters, room=room())])
    return 0


def _type(body: dict[str, Any]) -> str:
    if "anyOf" in body:
        return " or ".join(_type(part) for part in body["anyOf"])
    return str(body.get("type", "choice"))


def tools_doctor(arguments: Namespace) -> int:
    """Which tools are ready here, and what the others are missing."""
    places = locate(arguments.directory)
    loaded, specs = config.load(places), specs_here(places).values()
    sandbox = parts.sandbox_in_force(loaded.settings.sandbox.use)
    network = parts.own_network(loaded.settings.sandbox.use, loaded.settings.sandbox.loopback)
    may_run = loaded.trusted or sandbox.ready
    around = parts.PartSources(
        places.root, parts.find_ripgrep(), may_run, OWN_PYTHON, loaded.settings, contained=sandbox.ready
    )
    found = {name: parts.look(name, around) for name in parts_of(specs)}
    tools = readiness(specs, found)
    lacks = [name for name in NEEDED if name in found and not found[name].ready]
    if arguments.json:
        say_json({"tools": tools, "parts": [*found.values(), sandbox, network]})
    else:
        rows = [(tool.name, tool.state, "; ".join(tool.needs)) for tool in tools]
        say_table(rows, heading=("TOOL", "STATE", "NEEDS"))
        every = (*found.values(), sandbox, network)
        here = [(part.name, "; ".join(filter(None, (part.found, part.missing)))) for part in every]
        say([""])
        say_table(here, heading=("PART", "HERE"))
        ready = sum(tool.state == "ready" for tool in tools)
        rest = "; the other tools need optional programs" if ready < len(tools) and not lacks else ""
        say(["", f"{ready} of {len(tools)} tools are ready{rest}"])
    return 1 if lacks else 0


class _Permit:
    """What the gate would decide here about calls that are not made, at the dials given."""

    def __init__(self, arguments: Namespace, dials: AxesChange) -> None:
        places = locate(arguments.directory)
        self.axes = dials.applied_to(INTERACTIVE)
        self.specs = specs_here(places)
        self.terms = msgspec.structs.replace(
            make_terms(places, config.load(places).settings, arguments.sandbox),
            person=arguments.person,
            rules=FileRuleBook(places.rules_file).rules(),
        )

    def answer(self, tool: str, arguments: str) -> dict[str, Any]:
        """The decision, if what the call deletes can be kept just before it; `otherwise`, if not."""
        spec = named_tool(tool, self.specs)
        bound, touch, lines = _bound(spec, arguments, self.terms)
        subject = subject_of(bound, touch.lines)
        plain = gate.decide(spec, touch, self.axes, self.terms, subject, lines)
        kept = plain
        if self.terms.sandbox is gate.Sandbox.BWRAP and not lines.destroys and gate.deleted(spec, touch, lines):
            lines = msgspec.structs.replace(lines, kept=True)
            kept = gate.decide(spec, touch, self.axes, self.terms, subject, lines)
        told = self._told(kept, touch)
        return told if kept == plain else {**told, "otherwise": self._told(plain, touch)}

    def _told(self, decision: gate.Decision, touch: Touch) -> dict[str, Any]:
        return {
            "decision": decision.verdict,
            "reason": decision.reason,
            "effects": list(decision.effects),
            "grant": msgspec.to_builtins(decision.grant),
            "access": access(decision.grant, self.terms.sandbox, self.terms.root, command=is_command(touch)),
            "rule": decision.rule,
        }

    @property
    def where(self) -> dict[str, Any]:
        return {"axes": msgspec.to_builtins(self.axes), "sandbox": self.terms.sandbox}


def _permit(arguments: Namespace, dials: AxesChange) -> int:
    """The gate's decision on a call that is not made."""
    permit = _Permit(arguments, dials)
    answer = permit.answer(arguments.tool, arguments.args)
    if arguments.json:
        say_json({**answer, **permit.where})
        return 0
    otherwise = answer.get("otherwise")
    say(
        [
            f"{answer['decision']:<9}{answer['reason']}",
            *(
                [(f"else     if no snapshot contains what it deletes: {otherwise['decision']}, {otherwise['reason']}")]
                if otherwise
                else []
            ),
            f"effects  {', '.join(answer['effects']) or 'none'}",
            *([f"access   {answer['access']}"] if answer["decision"] is not gate.Verdict.DENY else []),
            f"dials    {badge.full(permit.axes)} · sandbox {permit.terms.sandbox}",
        ]
    )
    return 0


def _permit_file(arguments: Namespace, dials: AxesChange) -> int:
    """The gate's decision on each line of a file; empty ones and comments are left out."""
    permit = _Permit(arguments, dials)
    answers = [
        {"number": number, "line": text, **permit.answer("bash", msgspec.json.encode({"command": text}).decode())}
        for number, line in enumerate(_lines_of(arguments.file), 1)
        if (text := line.strip()) and not text.startswith("#")
    ]
    verdicts = Counter(str(answer["decision"]) for answer in answers)
    waiting = sum("otherwise" in answer for answer in answers)
    summary = {str(verdict): verdicts[verdict] for verdict in gate.Verdict}
    if arguments.json:
        say_json({"lines": answers, "summary": {**summary, "if_kept": waiting}, **permit.where})
        return 0
    rows = [
        (
            f"{answer['decision']}{' if kept' if 'otherwise' in answer else ''}",
            answer["line"],
            " ".join(answer["effects"]),
            answer["reason"],
        )
        for answer in answers
    ]
    say_table(rows, heading=("DECISION", "LINE", "EFFECTS", "REASON"))
    counts = ", ".join(f"{count} {verdict}" for verdict, count in summary.items())
    say(["", f"{counted(len(answers), 'line')}: {counts}"])
    if waiting:
        say([f"if kept: {waiting} would delete files, and run {KEPT}; otherwise approval is needed"])
    say([f"{badge.full(permit.axes)} · sandbox {permit.terms.sandbox}"])
    return 0


def _lines_of(path: str) -> list[str]:
    try:
        if path == "-":
            return sys.stdin.read().splitlines()
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read().splitlines()
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}") from None


def _tool(spec: ToolSpec) -> dict[str, Any]:
    return {
        "name": spec.name,
        "toolsets": toolsets_of(spec.name, with_own({spec.name: spec.toolset})),
        "profile": spec.profile,
        "effects": list(ordered(spec.effects)),
        "description": spec.description,
        "parameters": spec.schema(),
    }


def _call(arguments: list[str]) -> int:
    parser = make_parser(
        "tools call",
        "Call a tool manually; rules, approval and the sandbox hold as in a session, and the call is recorded.",
    )
    parser.add_argument("name", help="the tool")
    parser.add_argument("--args", default="{}", metavar="JSON", help="its arguments")
    dial_flags(parser)
    parser.add_argument("--json", action="store_true", help="as JSON")
    parsed = parser.parse_args(arguments)
    checked(parsed)
    return int(load("cli.session:call")(parsed, parsed.name, parsed.args))


def permit(arguments: list[str]) -> int:
    parser = make_parser("permit", "Show whether a call would run, need approval or be denied; nothing runs.")
    about = parser.add_mutually_exclusive_group(required=True)
    about.add_argument("--tool", metavar="NAME", help="the tool")
    about.add_argument("--file", metavar="LINES", help="a file with shell lines instead, one per line (- reads stdin)")
    parser.add_argument("--args", default="{}", metavar="JSON", help="the tool's arguments")
    dial_flags(parser)
    parser.add_argument("--person", action="store_true", default=True, help="somebody can approve (default)")
    parser.add_argument("--no-person", action="store_false", dest="person", help="nobody can approve")
    parser.add_argument("--sandbox", choices=("bwrap", "partial", "none"), default="", help="assume another sandbox")
    parser.add_argument("--json", action="store_true", help="as JSON")
    parsed = parser.parse_args(arguments)
    return (_permit_file if parsed.file else _permit)(parsed, turned(parsed))


TOOLS = actions(
    "tools",
    {
        "list": lookup("tools list", "List every tool: its toolsets, minimum profile and effects.", tools_list),
        "show": lookup(
            "tools show", "Show one tool, with its parameters.", tools_show, lambda p: p.add_argument("name")
        ),
        "doctor": lookup("tools doctor", "Show which tools are ready, and what the others need.", tools_doctor),
        "call": _call,
    },
)
