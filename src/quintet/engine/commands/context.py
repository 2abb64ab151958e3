"""The slash command that shows what fills the model's window.

Loaded when it is given.
"""

from __future__ import annotations

from textwrap import wrap

from msgspec import to_builtins

from quintet.domain.base.text_table import table
from quintet.domain.input.slash_line import CommandLine
from quintet.domain.turn import context as contexts
from quintet.domain.turn.context import ContextPart
from quintet.engine.session.command_context import CommandContext, CommandOutcome
from quintet.engine.turn.compaction import limits_of
from quintet.engine.turn.context_use import context_use

COLUMNS = 76  # of a terminal that has 80, in a surface that indents
CELLS = 24  # of a bar that is full
FULL, PARTLY, EMPTY = "█", "▌", "·"
FREE = "free"


def context(context: CommandContext, line: CommandLine) -> CommandOutcome:
    state, request = context.state, context.next_request()
    use = context_use(context.core, state, request)
    name, known, window, used, scale = use.model, use.known, use.window, use.used, use.scale
    limits = limits_of(context.core, state, request)
    due = (limits.tokens + contexts.head_tokens(request)) * scale // 100 if limits.tokens else 0
    shown = [part for part in use.parts if part.tokens] + [ContextPart(FREE, max(window - used, 0))]
    rows = [(part.name, _bar(part, window), f"{part.tokens}", f"{100 * part.tokens / window:.1f} %") for part in shown]
    of = (
        f"{name} can read {window} tokens"
        if known
        else f"the context window of {name} is not known: {window} tokens are assumed"
    )
    when = f"compacted when it reaches {due} ({limits.said})" if due else "not compacted by size"
    counted = "counted by the provider for the last request" if scale > 100 else "estimated, four characters per token"
    text = [
        *wrap(f"{of}; about {used} are used, {100 * used / window:.0f} %", COLUMNS, break_on_hyphens=False),
        *table(rows, right=(2, 3)),
        *wrap(when, COLUMNS),
        counted,
    ]
    data = {
        "model": name,
        "window": window,
        "window_known": known,
        "used": used,
        "compacted_from": due,
        "parts": to_builtins(shown),
    }
    return CommandOutcome("\n".join(text), data={"context": data})


def _bar(part: ContextPart, window: int) -> str:
    halves = min(round(2 * CELLS * part.tokens / window), 2 * CELLS)
    if part.name == FREE:
        return EMPTY * (halves // 2)
    return FULL * (halves // 2) + PARTLY * (halves % 2) or "▏"
