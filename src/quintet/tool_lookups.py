"""The commands that look at tools, at what the gate would decide, and at the user's rules.

Each takes the parsed arguments and returns an exit code; each has a table and a `--json` form.
"""

from __future__ import annotations

from argparse import Namespace
from typing import Any

import msgspec

from quintet.adapters import config
from quintet.adapters.clock import RandomIds, SystemClock
from quintet.adapters.places import locate
from quintet.adapters.rule_book import FileRuleBook
from quintet.adapters.shell_grammar import BashGrammar
from quintet.adapters.terms import make_terms
from quintet.domain import badge, gate
from quintet.domain.axes import INTERACTIVE, AxesChange
from quintet.domain.errors import NotFound, ToolFailed, UsageError
from quintet.domain.grants import Effect, ordered
from quintet.domain.nearest import did_you_mean
from quintet.domain.rules import ANY, Rule, subject_of
from quintet.domain.shell_effects import with_lines
from quintet.domain.tool_menu import toolsets_of
from quintet.domain.toolspec import ToolSpec
from quintet.surfaces.tables import say, say_json, table
from quintet.tools.registry import ALL, BY_NAME


def tools_list(arguments: Namespace) -> int:
    if arguments.json:
        say_json([_tool(spec) for spec in ALL])
        return 0
    heading = ("TOOL", "TOOLSETS", "PROFILE", "EFFECTS")
    rows = [
        (tool["name"], " ".join(tool["toolsets"]) or "everywhere", tool["profile"], " ".join(tool["effects"]) or "none")
        for tool in map(_tool, ALL)
    ]
    say(table(rows, heading=heading))
    return 0


def tools_show(arguments: Namespace) -> int:
    if arguments.name not in BY_NAME:
        raise NotFound(f"there is no tool {arguments.name}.{did_you_mean(arguments.name, BY_NAME)}")
    tool = _tool(BY_NAME[arguments.name])
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
    say([head, tool["description"], *(line.rstrip() for line in table(parameters))])
    return 0


def _type(body: dict[str, Any]) -> str:
    if "anyOf" in body:
        return " or ".join(_type(part) for part in body["anyOf"])
    return str(body.get("type", "choice"))


def permit(arguments: Namespace, dials: AxesChange) -> int:
    """The gate's decision on a call that is not made."""
    spec = BY_NAME.get(arguments.tool)
    if spec is None:
        raise UsageError(f"there is no tool {arguments.tool}.{did_you_mean(arguments.tool, BY_NAME)}")
    try:
        bound = spec.bind(arguments.args)
        touch = with_lines(spec.touch(bound), BashGrammar().parse)
    except ToolFailed as error:
        raise UsageError(error.message) from None
    axes, places = dials.applied_to(INTERACTIVE), locate(arguments.directory)
    terms = msgspec.structs.replace(
        make_terms(places, config.load(places).settings, arguments.sandbox),
        person=arguments.person,
        rules=FileRuleBook(places.rules_file).rules(),
    )
    decision = gate.decide(spec, touch, axes, terms, subject_of(bound, touch.lines))
    answer = {
        "decision": decision.verdict,
        "reason": decision.reason,
        "effects": list(decision.effects),
        "axes": msgspec.to_builtins(axes),
        "sandbox": terms.sandbox,
        "grant": msgspec.to_builtins(decision.grant),
        "rule": decision.rule,
    }
    if arguments.json:
        say_json(answer)
    else:
        effects = ", ".join(decision.effects) or "none"
        say(
            [
                f"{decision.verdict:<9}{decision.reason}",
                f"effects  {effects}",
                f"axes     {badge.full(axes)} · sandbox {terms.sandbox}",
            ]
        )
    return 0


def _tool(spec: ToolSpec) -> dict[str, Any]:
    return {
        "name": spec.name,
        "toolsets": toolsets_of(spec.name),
        "profile": spec.profile,
        "effects": list(ordered(spec.effects)),
        "description": spec.description,
        "parameters": spec.schema(),
    }


def rules_list(arguments: Namespace) -> int:
    rules = FileRuleBook(locate(arguments.directory).rules_file).rules()
    if arguments.json:
        say_json(msgspec.to_builtins(rules))
    elif not rules:
        say(["no rules yet: an approval answered with `always` makes one, and so does `quintet rules add`"])
    else:
        heading = ("RULE", "SAYS", "TOOL", "ABOUT", "EFFECTS", "WHERE")
        rows = [
            (rule.id, rule.verdict, rule.tool, rule.pattern, " ".join(rule.effects), rule.project or "everywhere")
            for rule in rules
        ]
        say(table(rows, heading=heading))
    return 0


def rules_add(arguments: Namespace) -> int:
    """A rule of the user's own: deny what fits, or allow it unasked for the effects named."""
    if arguments.tool != ANY and arguments.tool not in BY_NAME:
        raise UsageError(f"there is no tool {arguments.tool}.{did_you_mean(arguments.tool, BY_NAME)}")
    effects = frozenset(_effect(word) for word in arguments.effects.replace(",", " ").split())
    if arguments.verdict == "allow" and not effects:
        raise UsageError("an allow rule names what it lifts: --effects build,network")
    if never := effects & gate.ALWAYS_ASKS:
        raise UsageError(f"{', '.join(ordered(never))} always asks; no rule can lift that")
    places = locate(arguments.directory)
    rule = Rule(
        id=RandomIds().new("rule"),
        verdict=arguments.verdict,
        tool=arguments.tool,
        pattern=arguments.pattern,
        effects=ordered(effects),
        project="" if arguments.everywhere else places.root,
        created=SystemClock().now(),
    )
    FileRuleBook(places.rules_file).add(rule)
    say([rule.id]) if not arguments.json else say_json(msgspec.to_builtins(rule))
    return 0


def _effect(word: str) -> Effect:
    try:
        return Effect(word)
    except ValueError:
        choices = [str(effect) for effect in Effect]
        raise UsageError(f'effect "{word}": not one of {", ".join(choices)}.{did_you_mean(word, choices)}') from None


def rules_revoke(arguments: Namespace) -> int:
    rule = FileRuleBook(locate(arguments.directory).rules_file).revoke(arguments.id)
    if arguments.json:
        say_json(msgspec.to_builtins(rule))
    else:
        from quintet.domain.rules import describe

        say([f"revoked {rule.id}: {describe(rule)}"])
    return 0
