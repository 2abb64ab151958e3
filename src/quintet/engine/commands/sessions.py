"""/sessions: this project's sessions, and going to another one where there is a terminal."""

from __future__ import annotations

from quintet.domain.base.errors import UsageError
from quintet.domain.dials.axes import Surface
from quintet.domain.input.slash_line import CommandLine
from quintet.engine.session.command_context import CommandContext, CommandOutcome


def sessions(context: CommandContext, line: CommandLine) -> CommandOutcome:
    if not line.words:
        return CommandOutcome(context.core.commands.sessions_text())
    wanted, here = line.words[0], context.state.session
    found = context.core.commands.find_session(wanted)
    if len(line.words) > 1 or not found:
        raise UsageError(f"no session {wanted} in this project; /sessions lists them")
    if found == here:
        raise UsageError("that is this session")
    if context.surface is not Surface.TUI:
        raise UsageError(f"open it with: quintet --resume {found}")
    if context.busy:
        raise UsageError("a turn is running here: /stop it first, then /sessions")
    return CommandOutcome(f"opens {found}", data={"attach": found})
