"""The slash commands that are about the screen: the surface that gave one carries it out."""

from __future__ import annotations

from quintet.domain.base.errors import UsageError
from quintet.domain.base.wording import did_you_mean
from quintet.domain.input.slash_line import CommandLine
from quintet.domain.settings.screen import THEMES
from quintet.engine.session.command_context import CommandContext, CommandOutcome


def theme(context: CommandContext, line: CommandLine) -> CommandOutcome:
    if not line.words:
        return CommandOutcome(f"/theme takes one of: {' '.join(THEMES)}\ndisplay.theme in your settings makes it last")
    name = line.words[0].lower()
    if name not in THEMES or len(line.words) > 1:
        wanted = " ".join(line.words)
        raise UsageError(f'theme "{wanted}": not one of {", ".join(THEMES)}.{did_you_mean(wanted, THEMES)}')
    return CommandOutcome(f"theme {name}, for as long as this screen is open", data={"theme": name})
