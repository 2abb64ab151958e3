"""/rules: what you always allow or deny, here and for this session; and taking one of it back."""

from __future__ import annotations

from quintet.domain.base.errors import UsageError
from quintet.domain.base.text_table import table
from quintet.domain.input.slash_line import CommandLine
from quintet.domain.journal.protocol import RuleRevoked
from quintet.domain.permission.rules import Rule, describe, explain
from quintet.engine.session.command_context import CommandContext, CommandOutcome

NONE = "no rules yet: answer `always` or `for this session` to a question to make one"
USAGE = "/rules lists them; /rules show ID explains one; /rules revoke ID revokes one"


def rules(context: CommandContext, line: CommandLine) -> CommandOutcome:
    """Those of the session first; of those that last, all but what holds in another project."""
    own = context.state.rules
    held = (
        *own,
        *(one for one in context.core.turn.toolbox.outside.rules() if one.project in ("", context.core.project)),
    )
    match line.words:
        case ():
            rows = [(rule.id, "this session" if rule.session else _where(rule), describe(rule)) for rule in held]
            return CommandOutcome("\n".join([*table(rows), "/rules revoke ID revokes one"] if held else [NONE]))
        case ("show", wanted):
            rule = _one(held, wanted)
            return CommandOutcome("\n".join([f"{rule.id}  {describe(rule)}", *table(explain(rule))]))
        case ("revoke", wanted):
            rule = _one(held, wanted)
            data = {"revoked": rule.id}
            if rule in own:
                return CommandOutcome(f"revoked {rule.id}: {describe(rule)}", [RuleRevoked(rule=rule.id)], data=data)
            context.core.turn.rule_book.revoke(rule.id)
            return CommandOutcome(f"revoked {rule.id}: {describe(rule)}", data=data)
    raise UsageError(USAGE)


def _where(rule: Rule) -> str:
    return "here" if rule.project else "everywhere"


def _one(held: tuple[Rule, ...], wanted: str) -> Rule:
    found = [rule for rule in held if rule.id == wanted] or [rule for rule in held if rule.id.startswith(wanted)]
    if len(found) != 1:
        raise UsageError(
            f'{"more than one rule begins" if found else "no rule begins"} with "{wanted}"; /rules lists them'
        )
    return found[0]
