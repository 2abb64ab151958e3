"""/init: writes AGENTS.md, by a turn of the model's or, without one, from facts alone. Both go through the gate."""

from __future__ import annotations

from msgspec import to_builtins
from msgspec.json import encode

from quintet.domain.agents.project_facts import AGENTS_MD, agents_md, as_lines
from quintet.domain.base.errors import UsageError
from quintet.domain.input.slash_line import CommandLine, format_own_call
from quintet.engine.session.command_context import BeginWork, CommandContext, CommandOutcome

PAGE = "commands/init.md"


def init(context: CommandContext, line: CommandLine) -> CommandOutcome:
    if line.words:
        raise UsageError(f"/init takes no text: it writes {AGENTS_MD}")
    facts = context.core.commands.project_facts()
    data = {"facts": to_builtins(facts)}
    if context.core.turn.models.staged(context.state.dials):
        text = context.core.turn.prompts.filled(PAGE, {"user_input": "\n".join(as_lines(facts))})
        return CommandOutcome(f"the model reads the project and writes {AGENTS_MD}", begins=BeginWork(text), data=data)
    page = agents_md(facts)
    if AGENTS_MD in facts.there:
        shown = [
            f"{AGENTS_MD} already exists and was not changed. From the facts of the project it would be:",
            "",
            page.rstrip(),
        ]
        return CommandOutcome("\n".join(shown), data=data)
    written = format_own_call("Write", encode({"file_path": AGENTS_MD, "content": page}).decode())
    return CommandOutcome(f"writes {AGENTS_MD} from the facts of the project", begins=BeginWork(written), data=data)
