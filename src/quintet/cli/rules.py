"""`quintet rules`: what you allow without approval, or never."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from typing import Any

import msgspec

from quintet.adapters.files.paths import Places, locate
from quintet.adapters.processes.system import RandomIds, SystemClock
from quintet.adapters.settings.rule_book import FileRuleBook, one_rule
from quintet.adapters.sqlite.database import clear_errors
from quintet.app.lookups import stored
from quintet.cli.parsing import actions, lookup
from quintet.cli.tools import named_tool, specs_here
from quintet.domain.base.errors import NotFound, UsageError
from quintet.domain.base.wording import counted, did_you_mean
from quintet.domain.journal.protocol import RuleMade, RuleRevoked
from quintet.domain.permission.effects import READING, Effect, ordered
from quintet.domain.permission.prefixes import may_stand
from quintet.domain.permission.rules import ANY, Rule, about, describe, exactly, explain, is_narrow, names_both
from quintet.package import load
from quintet.surfaces.tables import room, say, say_json, say_table, table

NEVER = frozenset({Effect.OUTSIDE, Effect.PUBLISH})
Used = dict[str, tuple[str, int]]  # of a rule, when it last decided and how often


def rules_list(arguments: Namespace) -> int:
    places = locate(arguments.directory)
    rules, used = _known(places, sessions=arguments.session), _used(places)
    if arguments.json:
        say_json([_as_json(rule, used) for rule in rules])
    elif not rules:
        say(["no rules yet: answer `always` to a question, or use `quintet rules add`"])
    else:
        heading = ("RULE", "SAYS", "TOOL", "ABOUT", "EFFECTS", "WHERE", "LAST USED")
        say_table([_row(rule, used) for rule in rules], heading=heading)
    return 0


def _row(rule: Rule, used: Used) -> tuple[str, ...]:
    where = f"session {rule.session}" if rule.session else rule.project or "everywhere"
    return rule.id, rule.verdict, rule.tool, about(rule), " ".join(rule.effects), where, _last_use(rule, used)[0]


def rules_show(arguments: Namespace) -> int:
    """One rule: what it covers, which effects, where, why it was made, and when it was last used."""
    places = locate(arguments.directory)
    rule, used = one_rule(_known(places, sessions=True), arguments.id), _used(places)
    if arguments.json:
        say_json(_as_json(rule, used))
        return 0
    at, count = _last_use(rule, used)
    last = f"{at} ({counted(count, 'time')} in this project)" if count else "never in this project"
    rows = [*explain(rule), ("used", last), ("revoke", f"quintet rules revoke {rule.id}")]
    say([f"{rule.id}  {describe(rule)}", *table(rows, room=room())])
    return 0


def _known(places: Places, *, sessions: bool) -> tuple[Rule, ...]:
    """The rules that last, and those of this project's sessions."""
    rules = FileRuleBook(places.rules_file).rules()
    rows = stored(places) if sessions else None
    if rows is None:
        return rules
    with clear_errors(places.database):
        said = [recorded.event for recorded in rows.read_project(["rule_made", "rule_revoked"])]
    gone = {event.rule for event in said if isinstance(event, RuleRevoked)}
    made = [event.rule for event in said if isinstance(event, RuleMade)]
    return (*rules, *(rule for rule in made if rule.session and rule.id not in gone))


def _used(places: Places) -> Used:
    """When rules last decided here: the journal has it, so that nothing is written when one is used."""
    rows = stored(places)
    if rows is None:
        return {}
    with clear_errors(places.database):
        return rows.rules_used()


def _last_use(rule: Rule, used: Used) -> tuple[str, int]:
    return used.get(rule.id, ("never", 0))


def _as_json(rule: Rule, used: Used) -> dict[str, Any]:
    at, count = used.get(rule.id, ("", 0))
    return {**msgspec.to_builtins(rule), "last_used": at, "used": count}


def rules_add(arguments: Namespace) -> int:
    """A rule of the user's own: deny what fits, or allow it unasked for the effects named."""
    places = locate(arguments.directory)
    tool, bracket, inside = arguments.tool.partition("(")
    pattern = inside.removesuffix(")") if bracket else arguments.pattern  # as in mcp_tool(server:tool)
    words = _prefix(arguments.prefix, arguments.verdict, tool, pattern)
    spec = named_tool(tool, specs_here(places)) if tool != ANY else None
    effects = frozenset(_effect(word) for word in arguments.effects.replace(",", " ").split())
    if spec and spec.name == "mcp_tool" and arguments.verdict == "allow":
        effects = effects or spec.effects - READING
        if not names_both(tool, pattern):
            raise UsageError(
                "it must name a server and its tools, as in mcp_tool(github:list_issues) or mcp_tool(github:*)"
            )
    if arguments.verdict == "allow" and not effects:
        raise UsageError("an allow rule must name its effects, for example --effects build,network")
    if never := effects & NEVER:
        raise UsageError(f"{', '.join(ordered(never))} always needs approval; no rule can allow it")
    rule = Rule(
        id=RandomIds().new("rule"),
        verdict=arguments.verdict,
        tool=tool,
        pattern=exactly(" ".join(words)) if words else pattern,
        effects=ordered(effects),
        project="" if arguments.everywhere else places.root,
        created=SystemClock().now(),
        words=words,
        reason=arguments.reason,
    )
    if Effect.DESTROY in effects and not is_narrow(rule):
        raise UsageError("a rule with destroy must name one tool, and one exact line or --prefix WORDS")
    FileRuleBook(places.rules_file).add(rule)
    say([rule.id]) if not arguments.json else say_json(msgspec.to_builtins(rule))
    return 0


def _prefix(text: str, verdict: str, tool: str, pattern: str) -> tuple[str, ...]:
    words = tuple(text.split())
    if not words:
        return ()
    if verdict != "allow" or tool != "bash" or pattern != ANY:
        raise UsageError("--prefix is for `allow bash`, and stands instead of a pattern")
    if not may_stand(words):
        raise UsageError(
            f"`{text}` cannot be a prefix: use one program with its subcommand or target, for example "
            "`pytest`, `npm run build` or `make test`; no interpreter, wrapper, runner, git, find or "
            "program outside the project"
        )
    return words


def _effect(word: str) -> Effect:
    try:
        return Effect(word)
    except ValueError:
        choices = [str(effect) for effect in Effect]
        raise UsageError(f'effect "{word}": not one of {", ".join(choices)}.{did_you_mean(word, choices)}') from None


def rules_revoke(arguments: Namespace) -> int:
    places = locate(arguments.directory)
    try:
        rule = FileRuleBook(places.rules_file).revoke(arguments.id)
    except NotFound:
        held = [rule for rule in _known(places, sessions=True) if rule.session and rule.id == arguments.id]
        if not held:
            raise
        # Such a rule is in its session's journal and nowhere else, so the session takes it back.
        return int(load("cli.session:said_in")(arguments, held[0].session, f"/rules revoke {held[0].id}", {}))
    if arguments.json:
        say_json(msgspec.to_builtins(rule))
    else:
        say([f"revoked {rule.id}: {describe(rule)}"])
    return 0


def _words(parser: ArgumentParser) -> None:
    parser.add_argument("verdict", choices=("allow", "deny"))
    parser.add_argument("tool", help="a tool's name, or * for all")
    parser.add_argument("pattern", nargs="?", default="*", help="for the shell line or path; * matches anything")
    parser.add_argument(
        "--effects", default="", metavar="LIST", help="what an allow rule allows, for example build,network"
    )
    parser.add_argument(
        "--prefix", default="", metavar="WORDS", help="instead of a pattern: the first words of one plain command"
    )
    parser.add_argument("--reason", default="", metavar="TEXT", help="why, for `rules show`")
    parser.add_argument("--everywhere", action="store_true", help="in every project, not only this one")


RULES = actions(
    "rules",
    {
        "list": lookup(
            "rules list",
            "Your rules, and when each was last used here.",
            rules_list,
            lambda p: p.add_argument("--session", action="store_true", help="also those of this project's sessions"),
        ),
        "show": lookup(
            "rules show",
            "Show what a rule covers, where, why it was made, and when it was last used.",
            rules_show,
            lambda p: p.add_argument("id", help="its id, or the start of it"),
        ),
        "add": lookup("rules add", "Allow something without approval, or always deny it.", rules_add, _words),
        "revoke": lookup(
            "rules revoke",
            "Revoke a rule.",
            rules_revoke,
            lambda p: p.add_argument("id", help="its id"),
        ),
    },
)
