"""The slash commands that tell of the session: where it stands and what it cost."""

from __future__ import annotations

from quintet.domain import badge
from quintet.domain.command_line import CommandLine
from quintet.engine.desk import Desk, Outcome


def status(desk: Desk, line: CommandLine) -> Outcome:
    state = desk.state
    rows = [
        ("session", f"{state.session}  {state.status}"),
        ("axes", badge.full(state.axes, paused=state.paused)),
        ("model", desk.core.route(state.axes, state.model)),
        ("sandbox", str(desk.core.toolbox.sandbox)),
        ("turns", f"{state.turns}, {state.usage.input_tokens} tokens in, {state.usage.output_tokens} out"),
        ("cost", f"{state.cost:.4f}"),
    ]
    rows += [("pending", f"{badge.full(t.change.applied_to(state.axes))}  {t.scope}") for t in state.pending]
    return Outcome("\n".join(f"{name:<9}{value}" for name, value in rows))


def cost(desk: Desk, line: CommandLine) -> Outcome:
    usage = desk.state.usage
    return Outcome(
        f"{desk.state.cost:.4f}   {usage.input_tokens} tokens in ({usage.cached_tokens} cached), "
        f"{usage.output_tokens} out, {desk.state.turns} turns"
    )


def settings(desk: Desk, line: CommandLine) -> Outcome:
    return Outcome(desk.core.settings_text())
