"""/clear, /new, /copy and /export: the conversation begun anew, its last answer, and all of it as a page."""

from __future__ import annotations

from quintet.domain.base.errors import UsageError
from quintet.domain.base.wording import counted
from quintet.domain.dials.axes import Surface
from quintet.domain.input.slash_line import CommandLine
from quintet.domain.journal.protocol import ConversationCleared
from quintet.engine.reports.conversation_page import KINDS, as_html, as_markdown, exchanges
from quintet.engine.session.command_context import CommandContext, CommandOutcome
from quintet.engine.session.session import last_answer


def clear(context: CommandContext, line: CommandLine) -> CommandOutcome:
    """The model hears nothing more of what was said; the session, its journal, its dials and its rules stay."""
    if line.words:
        raise UsageError(f"/{line.name} takes no text; type the first request of the new conversation after it")
    if context.busy:
        raise UsageError(f"a turn is running; /stop ends it, then /{line.name}")
    said = counted(len(context.state.conversation.messages), "message")
    cleared = ConversationCleared(point=context.core.ids.new("clear"))
    text = (
        f"new conversation: the model does not see the {said} before it. The dials stay; /rewind can "
        "restore the conversation."
    )
    return CommandOutcome(text, [cleared], data={"cleared": cleared.point})


def copy(context: CommandContext, line: CommandLine) -> CommandOutcome:
    """The surface has the terminal: it takes the answer from the session, and puts it into the clipboard."""
    if context.surface is not Surface.TUI:
        raise UsageError("/copy needs a terminal; /export writes the conversation to a file")
    answer = last_answer(context.core.store, context.state.session)
    if not answer:
        raise UsageError("there is no answer to copy yet")
    said = f"the last answer, {len(answer)} characters, was copied to the terminal's clipboard"
    return CommandOutcome(said, data={"copy": len(answer)})


async def export(context: CommandContext, line: CommandLine) -> CommandOutcome:
    if len(line.words) > 1:
        raise UsageError("/export [FILE] [--html]: one file")
    wanted = line.words[0] if line.words else ""
    html = bool(line.flags.get("html")) or wanted.lower().endswith((".html", ".htm"))
    session, clean = context.state.session, context.core.redactor.text
    found = exchanges(context.core.store.read(session, kinds=KINDS))
    page = clean((as_html if html else as_markdown)(session, found))
    try:
        path = await context.core.commands.export(session, wanted, "html" if html else "md", page)
    except OSError as error:
        why = "it already exists; name another file" if isinstance(error, FileExistsError) else error.strerror
        raise UsageError(f"/export {wanted}: {why or error}") from error
    return CommandOutcome(f"the conversation was written to {path}", data={"path": path})
