"""The tour: a newcomer's first minute, on a small real repository, with nothing faked.

Each step is submitted as a person would type it and shown as it happens. The tour fails if a step does not do what it
is there to show.
"""

from __future__ import annotations

import os
import shutil
import sys

from quintet.domain.base.safe_text import visible
from quintet.domain.journal import protocol as p
from quintet.domain.journal.describe import Line, RepeatFilter, describe
from quintet.domain.permission.gate import Verdict
from quintet.domain.turn.tool_spec import CallStatus
from quintet.engine.session.session import Session
from quintet.surfaces.paint import Painter, forgiving
from quintet.surfaces.tables import room

WANTED = """/plan
- create the file CHANGES.md with "slugify is to_slug now", verified by `grep -q "def to_slug" slugs.py`
- replace "slugify" with "to_slug" in *.py
- run the tests"""
STEPS: tuple[tuple[str, str, str], ...] = (
    (
        "Say what you want. Without a model the offline rules make the plan; it needs your approval.",
        WANTED,
        "waiting",
    ),
    (
        "Accept it: you change the dials, and the journal records it. A task that fails its verification command is\n"
        "tried again: the first task fails at first, and passes after the second is done.",
        "/accept --autonomous --permission-profile trusted",
        "done",
    ),
    (
        (
            "Some things always need approval, whatever the dials are. This tour is non-interactive, so "
            "the command is skipped."
        ),
        "",
        "",
    ),
    ("", "! git push --force", "blocked"),
)


WITHOUT_SANDBOX = """\
The sandbox here is not bubblewrap, so every command that does more than read needs approval, and this tour has nobody
to ask: it ends here. A session asks you instead. Install bubblewrap, and the tour goes through."""
LOOKING = frozenset({"Read", "grep", "glob"})  # calls that a newcomer need not see


class Tour:
    def __init__(self, session: Session, folder: str, about: str, *, contained: bool = True) -> None:
        self._session = session
        self._folder = folder
        self._about = about
        self._contained = contained
        self._paint = Painter(forgiving(sys.stdout), room=room())
        self._seen = 0
        self._without_repeats = RepeatFilter()
        self._denied = 0

    async def run(self) -> int:
        axes = self._session.state.axes
        self._paint.write(f"\n {self._paint.paint('QUINTET', 'bold')}  {self._paint.badge(axes)}   {self._about}\n")
        self._paint.write(f" A small project in {self._folder}: 3 files, 4 tests, 1 commit\n")
        number = 0
        for text, line, wanted in STEPS:
            if text:
                self._paint.write("\n")
                self._paint.print(Line(f" {part}", "dim") for part in text.split("\n"))
            if not line:
                continue
            number += 1
            typed = line.replace("\n", "\n      ")
            self._paint.write(
                f" {self._paint.paint(str(number), 'accent')}  {self._paint.paint('› ' + typed, 'bold')}\n"
            )
            status = await self._submit(line)
            if status == "blocked" != wanted and not self._contained:
                self._paint.write("\n")
                self._paint.print(Line(f" {part}", "warning") for part in WITHOUT_SANDBOX.split("\n"))
                self._journal("why a command was not run")
                return 0
            if status != wanted:
                self._paint.print([Line(f"    the tour expected {wanted} here and got {status}", "error")])
                return 1
        self._journal()
        return 0

    async def _submit(self, text: str) -> str:
        followed = self._session.follow(await self._session.say(text), after=self._seen)
        async for item in followed:
            if isinstance(item, p.Recorded):
                self._seen = item.seq
                self._show(item)
        return followed.outcome.status

    def _show(self, recorded: p.Recorded) -> None:
        recorded = self._without_repeats(recorded)
        match recorded.event:
            case p.CommandRan() | p.RunStarted() | p.RunMoved():
                return
            case p.ToolStarted(tool=tool) | p.ToolFinished(tool=tool) if tool in LOOKING:
                return
            case p.ToolFinished(status=CallStatus.ERROR, tool=tool):
                lines = describe(recorded)[:1]
            case p.ModelReplied(text=text) if text and "~~~~task" not in text:
                lines = [Line(visible(line)) for line in text.splitlines()]
            case p.CallDecided(verdict=verdict):
                lines = describe(recorded)
                self._denied = self._denied if verdict is Verdict.ALLOW else recorded.seq
            case _:
                lines = describe(recorded)
        self._paint.print(Line(f"    {line.text}", line.role) for line in lines)

    def _journal(self, denied: str = "why the push was not run") -> None:
        look = [
            (f"cd {self._folder}", ""),
            (f"quintet why {self._denied}", denied),
            ("quintet sessions list", "this session, to show or to resume"),
            ("git diff", "what the second step changed"),
            ("quintet tasks", "the tasks, and their history"),
        ]
        then = [
            ("quintet", "open a session in the folder you are in"),
            ("quintet models", "connect a model: what was found on this machine, and how to use it"),
            ("quintet --help", "everything else"),
        ]
        self._paint.write(
            f"\n {self._paint.paint('Everything is in the journal:', 'dim')} {self._seen} events, "
            f"decisions with all five dials. Look:\n{self._table(look)} Next:\n{self._table(then)}"
        )
        if not shutil.which("quintet"):
            here = os.path.abspath(sys.argv[0])
            self._paint.write(f" {self._paint.paint('quintet is not on your PATH; this is its path', 'dim')} {here}\n")

    def _table(self, rows: list[tuple[str, str]]) -> str:
        width = max(len(command) for command, about in rows if about)
        return "".join(
            f"    {command:<{width}}  {self._paint.paint(about, 'dim')}".rstrip() + "\n" for command, about in rows
        )
