"""`quintet rules`: what you allow unasked, or never."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

import msgspec

from quintet.adapters.files.paths import locate
from quintet.adapters.processes.system import RandomIds, SystemClock
from quintet.adapters.settings.gate_terms import FileRuleBook
from quintet.cli.parsing import actions, lookup
from quintet.cli.tools import named_tool, specs_here
from quintet.domain.base.errors import UsageError
from quintet.domain.base.wording import did_you_mean
from quintet.domain.permission import gate
from quintet.domain.permission.effects import READING, Effect, ordered
from quintet.domain.permission.rules import ANY, Rule, describe, names_both
from quintet.surfaces.tables import say, say_json, say_table


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
        say_table(rows, heading=heading)
    return 0


def rules_add(arguments: Namespace) -> int:
    """A rule of the user's own: deny what fits, or allow it unasked for the effects named."""
    places = locate(arguments.directory)
    tool, bracket, inside = arguments.tool.partition("(")
    pattern = inside.removesuffix(")") if bracket else arguments.pattern  # as in mcp_tool(server:tool)
    spec = named_tool(tool, specs_here(places)) if tool != ANY else None
    effects = frozenset(_effect(word) for word in arguments.effects.replace(",", " ").split())
    if spec and spec.name == "mcp_tool" and arguments.verdict == "allow":
        effects = effects or spec.effects - READING
        if not names_both(tool, pattern):
            raise UsageError("it has to name server and tool, as in mcp_tool(github:list_issues)")
    if arguments.verdict == "allow" and not effects:
        raise UsageError("an allow rule names what it lifts: --effects build,network")
    if never := effects & gate.ALWAYS_ASKS:
        raise UsageError(f"{', '.join(ordered(never))} always asks; no rule can lift that")
    rule = Rule(
        id=RandomIds().new("rule"),
        verdict=arguments.verdict,
        tool=tool,
        pattern=pattern,
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
        say([f"revoked {rule.id}: {describe(rule)}"])
    return 0


def _words(parser: ArgumentParser) -> None:
    parser.add_argument("verdict", choices=("allow", "deny"))
    parser.add_argument("tool", help="a tool's name, or * for any")
    parser.add_argument("pattern", nargs="?", default="*", help="of the shell line or path; * stands for anything")
    parser.add_argument("--effects", default="", metavar="LIST", help="what an allow rule lifts: build,network")
    parser.add_argument("--everywhere", action="store_true", help="in every project, not only this one")


RULES = actions(
    "rules",
    {
        "list": lookup("rules list", "Your standing rules.", rules_list),
        "add": lookup("rules add", "Allow something unasked, or deny it always.", rules_add, _words),
        "revoke": lookup(
            "rules revoke",
            "Take a rule back.",
            rules_revoke,
            lambda p: p.add_argument("id", help="its id"),
        ),
    },
)
