"""One slash command, or one call of a tool, from the command line: its result on stdout, as text or JSON.

Questions about a call are asked at the terminal, and diagnostics go to stderr. Exit: 0 ok, 1 the tool failed, 2 the
command was refused, 3 not permitted, 130 interrupted.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Collection, Mapping
from typing import Any

import msgspec

from quintet.domain.base.safe_text import visible
from quintet.domain.input.slash_line import format_own_call
from quintet.domain.journal import protocol as p
from quintet.domain.journal.describe import RepeatFilter, describe, question
from quintet.domain.journal.input_outcome import INTERRUPTED
from quintet.domain.permission.answers import NO, chosen
from quintet.domain.turn.tool_spec import CallStatus
from quintet.engine.session.session import Session
from quintet.surfaces.paint import Painter, forgiving
from quintet.surfaces.tables import complain, say, say_json
from quintet.surfaces.terminal import interruptible

EXIT = {CallStatus.OK: 0, CallStatus.ERROR: 1, CallStatus.DENIED: 3, CallStatus.INTERRUPTED: 130}
NOT_RUN = (CallStatus.DENIED, CallStatus.INTERRUPTED)


async def one_command(session: Session, line: str, *, as_json: bool, spelled: Mapping[str, str] | None = None) -> int:
    """`spelled`: slash commands in what it says, and how who reads that in a shell gives them."""
    with interruptible(session) as interrupted:
        outcome = await session.follow(await session.say(line), after=session.since).end()
        if not interrupted:
            await session.drained()

    def told(text: str) -> str:
        for slash, in_a_shell in (spelled or {}).items():
            text = text.replace(slash, in_a_shell)
        return text

    match outcome.event:
        case p.CommandRan(ok=True) as ran:
            if as_json:
                say_json(ran.data)
            else:
                say(told(ran.text).splitlines())
            return 0
        case p.CommandRan() as ran:
            complain(f"quintet: {told(ran.text)}")
            return 130 if ran.code == INTERRUPTED else 2
    return 1


class OneCall:
    """The only turn of a session of its own."""

    def __init__(self, session: Session, *, as_json: bool = False, known: Collection[str] = ()) -> None:
        self._session = session
        self._json = as_json
        self._known = known  # codes of notices that the person has seen already
        self._out = forgiving(sys.stdout)
        self._diagnostics = Painter(forgiving(sys.stderr))

    async def run(self, tool: str, arguments: str) -> int:
        session, decided, finished = self._session, 0, None
        without_repeats = (lambda item: item) if self._json else RepeatFilter()
        called = await session.say(format_own_call(tool, arguments))
        async for item in session.follow(called, after=session.since):
            if not isinstance(item, p.Recorded):
                continue
            match without_repeats(item).event:
                case p.QuestionAsked() as asked:
                    self._diagnostics.print(question(asked))
                    choice, note = await _choice(asked)
                    await session.submit(p.Answer(question=asked.question, choice=choice, note=note))
                case p.CallDecided():
                    decided = item.seq
                    self._diagnostics.print(describe(item))
                case p.RuleMade() | p.UserMessaged():
                    self._diagnostics.print(describe(item))
                case p.Noticed(code=code) if code not in self._known:
                    self._diagnostics.print(describe(item))
                case p.ToolFinished() as ended:
                    finished = ended
                    if ended.status in NOT_RUN:
                        self._diagnostics.print(describe(item))
                case p.TurnFinished() if finished is None:  # it crashed
                    self._diagnostics.print(describe(item))
        return self._result(finished, decided) if finished else EXIT[CallStatus.ERROR]

    def _result(self, finished: p.ToolFinished, decided: int) -> int:
        code = EXIT[finished.status]
        if self._json:
            result: dict[str, Any] = msgspec.to_builtins(finished)
            del result["type"], result["call"]
            say_json({**result, "decision": decided, "session": self._session.id, "exit_code": code})
        elif finished.status not in NOT_RUN:
            self._out.write((visible(finished.content) if self._out.isatty() else finished.content) + "\n")
        return code


async def _choice(asked: p.QuestionAsked) -> tuple[str, str]:
    """What the person types, if it begins with one of the choices; anything else, and silence, is no."""
    loop = asyncio.get_running_loop()
    typed = asyncio.Event()
    loop.add_reader(sys.stdin.fileno(), typed.set)  # a terminal is readable when a whole line is there
    try:
        await typed.wait()
    finally:
        loop.remove_reader(sys.stdin.fileno())
    word, _, note = sys.stdin.readline().strip().partition(" ")
    key = chosen(asked.choices, word)
    return (key, note.strip()) if key else (NO, "")
