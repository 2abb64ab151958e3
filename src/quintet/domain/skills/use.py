"""A skill in use: whose it is, the folder it may read, and what it keeps its turn to. It only ever narrows.

A skill that names tools keeps the turn to these for everything that is more than reading; one that names none leaves
the turn as it is. Nothing here can allow a call: the gate asks `refusal` and nothing else.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal

from msgspec import Struct

from quintet.domain.base.safe_text import on_one_line
from quintet.domain.permission.effects import READING, Effect, JudgedLines

SHELL = "bash"  # the tool whose lines patterns are about
MOST_ITEMS = 40  # of checklists
_HARMLESS = frozenset({"cd", "true", ":"})  # may stand beside a command that a pattern names


class LinePattern(Struct, frozen=True):
    """A shell command that a skill names: this one, or all that begin so."""

    words: str
    begins: bool = False

    def fits(self, command: str) -> bool:
        command = " ".join(command.split())
        if command == self.words:
            return True
        return self.begins and (not self.words or command.startswith(f"{self.words} "))

    def __str__(self) -> str:
        return f"{self.words} …" if self.begins else self.words


class SkillUse(Struct, frozen=True, omit_defaults=True):
    """A skill that a turn works by."""

    name: str
    origin: str  # project, home, built-in, or the folder that a setting names
    by: Literal["user", "model"] = "model"
    folder: str = ""  # of its own, outside the project, that calls may read; empty if there is none
    tools: tuple[str, ...] | None = None  # that may do more than reading; None: it names none
    lines: tuple[LinePattern, ...] | None = None  # that bash may run; None: any
    items: tuple[str, ...] = ()  # of its checklists: what the turn has to show

    def refuses(self, tool: str, effects: frozenset[Effect], lines: JudgedLines) -> str:
        """Why a call is not among what the skill works with; empty if it is."""
        if self.tools is None or effects <= READING:
            return ""
        if tool not in self.tools:
            return f"skill {self.name} works with {', '.join(self.tools) or 'reading tools'} only, not with {tool}"
        if tool != SHELL or self.lines is None:
            return ""
        commands = [*lines.commands, *lines.handed_on]
        if lines.opaque or lines.hides or not commands:
            return f"skill {self.name} runs only {self._patterns}, and this line has code that nobody read"
        other = next((one for one in commands if not self._covers(one)), "")
        return f"skill {self.name} runs only {self._patterns}, not {on_one_line(other)[:100]}" if other else ""

    def _covers(self, command: str) -> bool:
        return command.split(maxsplit=1)[0] in _HARMLESS or any(one.fits(command) for one in self.lines or ())

    @property
    def _patterns(self) -> str:
        return ", ".join(map(str, self.lines or ()))


class BegunBySkill(Struct, frozen=True):
    """What a turn begins with that the user begins by a skill's name: the words of the skill, and its use."""

    quoted: str
    use: SkillUse


def refusal(uses: Iterable[SkillUse], tool: str, effects: frozenset[Effect], lines: JudgedLines) -> str:
    """Why the skills in use do not let a call be made; empty if they do."""
    return next((why for use in uses if (why := use.refuses(tool, effects, lines))), "")


def folders(uses: Iterable[SkillUse]) -> tuple[str, ...]:
    """What may be read outside the project because a skill is in use."""
    return tuple(dict.fromkeys(use.folder for use in uses if use.folder))


def item_text(skill: str, item: str) -> str:
    """An item of a checklist, as the content of a todo."""
    return f"{skill}: {item}"


def not_shown(uses: Sequence[SkillUse], shown: Iterable[str]) -> str:
    """Which item of the skills' checklists the turn has not shown; empty if none. `shown` are contents of todos."""
    done = frozenset(shown)
    for use in uses:
        missing = [item for item in use.items if item_text(use.name, item) not in done]
        if missing:
            more = f" and {len(missing) - 1} more" if len(missing) > 1 else ""
            return f'the checklist of skill {use.name} is not shown: "{on_one_line(missing[0])[:100]}"{more}'
    return ""
