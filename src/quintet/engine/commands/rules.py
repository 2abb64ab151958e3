"""/rules: what you allowed for this session, and taking one of it back."""

from __future__ import annotations

from quintet.domain.base.errors import UsageError
from quintet.domain.input.slash_line import CommandLine
from quintet.domain.journal.protocol import RuleRevoked
from quintet.domain.permission.rules import describe
from quintet.engine.session.command_context import CommandContext, CommandOutcome

NONE = "no rules of this session; `quintet rules list` shows those that last"


def rules(context: CommandContext, line: CommandLine) -> CommandOutcome:
    held = context.state.rules
    if not line.words:
        shown = [f"{rule.id}  {describe(rule)}" for rule in held]
        return CommandOutcome("\n".join([*shown, "/rules revoke ID takes one back"] if held else [NONE]))
    if line.words[0] != "revoke" or len(line.words) != 2:
        raise UsageError("/rules lists the rules of this session; /rules revoke ID takes one back")
    wanted = line.words[1]
    found = [rule for rule in held if rule.id == wanted] or [rule for rule in held if rule.id.startswith(wanted)]
    if len(found) != 1:
        many = "more than one rule of this session begins" if found else "no rule of this session begins"
        raise UsageError(f'{many} with "{wanted}"; /rules lists them')
    revoked = RuleRevoked(rule=found[0].id)
    return CommandOutcome(f"revoked {found[0].id}: {describe(found[0])}", [revoked], data={"revoked": found[0].id})
