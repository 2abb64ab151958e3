"""`quintet flow` and `quintet headless autonomous`: plan, execute, verify, from a line or a file, without a person."""

from __future__ import annotations

import asyncio
import os
import sys
from typing import TYPE_CHECKING, Any

from quintet.adapters.tasks.drafts import read_input
from quintet.app.open import open_session
from quintet.cli.parsing import dial_flags, make_parser, turned
from quintet.domain.base.errors import UsageError
from quintet.domain.dials.axes import Surface, WorkMode
from quintet.domain.input.slash_line import CommandLine, format_command
from quintet.domain.journal.cycle_state import CycleState
from quintet.domain.tasks.request_split import file_named, names_a_page
from quintet.domain.turn.messages import EndStatus
from quintet.engine.session.session import Session
from quintet.surfaces.headless import Headless

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

ROLES = ("planner", "executor", "verifier")
ABOUT = "Plan, execute and verify, until nothing is left to do."


def flow(arguments: list[str], name: str = "flow") -> int:
    parsed = _parser(name).parse_args(arguments)
    return asyncio.run(_run(parsed))


def _parser(name: str) -> ArgumentParser:
    parser = make_parser(name, ABOUT)
    parser.add_argument("text", nargs="?", default="", metavar="TEXT|FILE", help="the request; - reads stdin")
    dial_flags(parser)
    cycle = parser.add_argument_group("cycle")
    for role in ROLES:
        about = "native, codex, claude, gemini or acp:COMMAND"
        cycle.add_argument(f"--{role}", default="", metavar="NAME", help=about)
    cycle.add_argument("--max-iterations", type=int, metavar="N", help="maximum number of plans")
    cycle.add_argument("--max-units", type=int, metavar="N", help="maximum number of attempts at tasks")
    cycle.add_argument("--max-tokens", type=int, metavar="N", help="maximum number of tokens")
    cycle.add_argument("--max-cost", type=float, metavar="MONEY", help="maximum cost")
    cycle.add_argument("--max-seconds", type=float, metavar="S", help="maximum number of seconds")
    session = parser.add_argument_group("session")
    session.add_argument("--resume", nargs="?", const="latest", default="", metavar="ID", help="resume a cycle")
    session.add_argument(
        "--model", default="", metavar="NAME", help="one of your models, PRESET/MODEL, builtin, or replay:FILE"
    )
    session.add_argument("--output-format", choices=("text", "json", "stream-json"), default="text")
    session.add_argument("--debug", action="store_true", help="show a stack trace when something fails")
    return parser


async def _run(parsed: Namespace) -> int:
    line = _line(parsed)  # before anything is opened: what cannot be taken is said at once
    options: dict[str, Any] = {"axes": turned(parsed), "settings": _settings(parsed), "resume": parsed.resume}
    async with open_session(parsed.directory, surface=Surface.HEADLESS, **options) as session:
        await _choose_executors(session, parsed)
        if parsed.resume:
            line = _going_on(session.state.cycle, session.state.axes.work_mode, _accepts(parsed))
        return await Headless(session, parsed.output_format).run(line)


async def _choose_executors(session: Session, parsed: Namespace) -> None:
    """Who plans, executes and verifies, as the flags say; one that is not there is an error before a dial turns."""
    for role in ROLES:
        if name := getattr(parsed, role):
            chosen = session.follow(await session.say(format_command(CommandLine(role, (name,)))))
            async for _ in chosen:
                pass
            if chosen.outcome.status is EndStatus.FAILED:
                raise UsageError(chosen.outcome.reason)


def _going_on(cycle: CycleState | None, work_mode: WorkMode, accepts: bool) -> str:
    """The command that goes on with what was begun: the cycle of the session, or the open tasks."""
    if cycle is None:
        return "/implement"
    if cycle.plan.pending:
        return "/accept" if accepts else "/resume"
    building = cycle.plan.planned or not cycle.plans
    return "/implement" if building and work_mode is not WorkMode.BUILD else "/resume"  # the dial was turned meanwhile


def _line(parsed: Namespace) -> str:
    if parsed.mode and turned(parsed).work_mode not in (WorkMode.PLAN, WorkMode.BUILD):
        raise UsageError(f"a flow plans and then builds, so --mode {parsed.mode} cannot be used: leave it out")
    if parsed.resume:
        if parsed.text:
            raise UsageError("--resume continues what was begun: leave the text out")
        return ""
    text = _text(parsed.text)
    if not text.strip():
        raise UsageError('nothing to do: quintet flow "…", or the name of a file with the request')
    return f"/plan\n{text}"


def line_of(path: str) -> str:
    """The command that plans what a file says."""
    return f"/plan\n{read_input(path)}"


def _accepts(parsed: Namespace) -> bool:
    """A plan that waits is accepted by whoever comes back to it with a flag of what it may do."""
    return bool(parsed.permission_profile or parsed.autonomous or parsed.control)


def _text(given: str) -> str:
    if given == "-":
        return sys.stdin.read()
    if given and "\n" not in given and os.path.isfile(given):
        return read_input(given)
    if names_a_page(file_named(given)):
        raise UsageError(f"{given}: no such file")
    return given


def _settings(parsed: Namespace) -> dict[str, object]:
    flags: dict[str, object] = {}
    for name in ("max_iterations", "max_units", "max_tokens", "max_cost", "max_seconds"):
        if (value := getattr(parsed, name)) is not None:
            flags[f"cycle.{name}"] = value
    if parsed.model:
        flags.update({f"routing.{model_mode}": parsed.model for model_mode in ("fast", "smart", "deep")})
    return flags
