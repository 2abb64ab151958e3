"""Which command an input is, in an agent's session: decided from the agent's menu alone, by no model, without I/O.

The order is fixed: a global command while a run is active, empty, a number, the exact name of an item, a name with
words behind it, the nearest item, chat. Only the first line is matched; words behind a name, and the lines that follow,
go along as details. The same input has the same answer on every machine, and its length costs no more than reading it.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum

from msgspec import Struct, structs

from quintet.domain.agents.agent import PAUSE, STOP, Agent, HandlerKind
from quintet.domain.agents.menu import CompiledMenu, Match, compiled, name_of, nearest_items
from quintet.domain.agents.words import TURNING, InputLine, fold, input_line, words
from quintet.domain.agents.workflow import names_workflow
from quintet.domain.dials.axes import Surface


class CommandKind(StrEnum):
    SHOW_MENU = "ShowMenu"
    START_WORKFLOW = "StartWorkflow"
    RESUME_RUN = "ResumeRun"
    EXEC_SCRIPT = "ExecScript"
    RUN_ACTION = "RunAction"
    CHAT = "Chat"
    DISMISS_AGENT = "DismissAgent"
    CLARIFY_CHOICE = "ClarifyChoice"
    CONTINUE_RUN = "ContinueRun"


class Confidence(StrEnum):
    EXACT = "exact"
    HIGH = "high"
    MEDIUM = "medium"
    LOW = "low"


class Candidate(Struct, frozen=True):
    index: int  # in the visible menu, so that answering with it needs no memory
    label: str


class ResolvedCommand(Struct, frozen=True):
    kind: CommandKind
    confidence: Confidence
    reason: str
    menu_index: int | None = None
    label: str | None = None  # the menu item's, as shown
    target: str | None = None  # a workflow, a script, an action, or the run to resume
    data_ref: str | None = None
    details: str = ""  # the words after an item's name, and the lines after the first
    candidates: tuple[Candidate, ...] = ()


_KINDS = {
    HandlerKind.WORKFLOW: CommandKind.START_WORKFLOW,
    HandlerKind.VALIDATE: CommandKind.START_WORKFLOW,
    HandlerKind.EXEC: CommandKind.EXEC_SCRIPT,
    HandlerKind.TEMPLATE: CommandKind.EXEC_SCRIPT,
    HandlerKind.ACTION: CommandKind.RUN_ACTION,
    HandlerKind.MENU: CommandKind.SHOW_MENU,
    HandlerKind.CHAT: CommandKind.CHAT,
    HandlerKind.DISMISS: CommandKind.DISMISS_AGENT,
}
# What is a command in whatever state, if `*` or `/` stands before it.
_GLOBAL = {
    "menu": (CommandKind.SHOW_MENU, None),
    "dismiss": (CommandKind.DISMISS_AGENT, None),
    "resume": (CommandKind.RESUME_RUN, None),
    "pause": (CommandKind.RUN_ACTION, PAUSE),
    "stop": (CommandKind.RUN_ACTION, STOP),
}
_TAKES_NOTHING = (HandlerKind.MENU, HandlerKind.DISMISS)
_MOST_DIGITS, _MOST_SHOWN = 9, 30
_MOST_OF_A_NAME = 6  # words
_MORE_FOLLOWS = ("and", "or", "then")  # behind a name with spaces: something else is wanted too
_LEAST = ((0.8, Confidence.HIGH), (0.5, Confidence.MEDIUM))


def resolve(text: str, agent: Agent, surface: Surface = Surface.TUI, active_run: bool = False) -> ResolvedCommand:
    """The command that an input is, for this agent's menu on this surface."""
    said = input_line(text)
    if active_run:
        return _global(said) or ResolvedCommand(
            CommandKind.CONTINUE_RUN, Confidence.EXACT, "input of the active run", details=said.details
        )
    menu = compiled(agent, surface)
    if not said.line and not said.long:
        return ResolvedCommand(CommandKind.SHOW_MENU, Confidence.EXACT, "empty input", details=said.details)
    if said.line.isascii() and said.line.isdigit() and not said.long:
        return _numbered(said, menu)
    if not said.long:
        command = _global(said)
        if command and said.mark == "/":
            return command
        if matches := menu.exact.get(name_of(said.line)):  # a `*word` is the agent's before it is a global command
            return _meant(said, menu, matches, Confidence.EXACT, "the name of a menu item")
        if command:
            return command
        if with_words := _with_words(said, menu):
            return with_words
        if several := _alternatives(said.line, menu):
            return _unclear(said, menu, several, "several menu items are named")
        if matches := nearest_items(said.line, menu):
            return _meant(said, menu, matches, _confidence(matches[0].score), "the nearest menu item")
    return ResolvedCommand(CommandKind.CHAT, Confidence.LOW, "no menu item matches", details=said.details)


def _with_words(said: InputLine, menu: CompiledMenu) -> ResolvedCommand | None:
    """An item by its name and, behind it, the words it is to work on: `write-spec add …`, `WS: add …`, `*ws add …`.

    A name of one plain word is one only before a colon or behind a mark: else it may as well begin a sentence. A name
    of several may be typed with spaces: `write spec add …`.
    """
    before, colon, after = said.raw.partition(":")
    if not (colon and (matches := menu.exact.get(name_of(fold(before)))) and after[:1].strip() == ""):
        before, _, after = said.raw.partition(" ")
        typed = said.mark or "-" in before.strip("-") or "_" in before.strip("_")
        matches = menu.exact.get(name_of(fold(before))) if typed else None
        if not matches:
            matches, after = _spaced(said.raw, menu)
        opening = words(fold(after))[:1]
        if not matches or after.rstrip().endswith("?") or not TURNING.isdisjoint(opening):
            return None
    if not after.strip() or any(match.handler.kind in _TAKES_NOTHING for match in matches):
        return None
    given = structs.replace(said, details="\n".join(filter(None, (after.strip(), said.details))))
    return _meant(given, menu, matches, Confidence.HIGH, "a menu item's name, followed by details for it")


def _spaced(raw: str, menu: CompiledMenu) -> tuple[tuple[Match, ...] | None, str]:
    """The longest name of several words that opens a line, and what is behind it."""
    typed = raw.split()
    for many in range(min(len(typed) - 1, _MOST_OF_A_NAME), 1, -1):
        name = name_of(fold(" ".join(typed[:many])))
        if " " in name and (matches := menu.exact.get(name)) and fold(typed[many]) not in _MORE_FOLLOWS:
            return matches, raw.split(maxsplit=many)[many]
    return None, ""


def _alternatives(line: str, menu: CompiledMenu) -> list[int]:
    """The items that an input names with `or` between them, if each part of it names one."""
    parts = line.split(" or ")
    if len(parts) < 2 or name_of(line) in menu.labels:
        return []
    meant = [menu.exact.get(name_of(part)) or nearest_items(part, menu) for part in parts]
    if not all(len(matches) == 1 for matches in meant):
        return []
    named = sorted({matches[0].index for matches in meant})
    return named if len(named) > 1 else []


def _confidence(score: float) -> Confidence:
    return next((confidence for least, confidence in _LEAST if score >= least), Confidence.LOW)


def _global(said: InputLine) -> ResolvedCommand | None:
    name, _, argument = said.line.partition(" ")
    if not said.mark or name not in _GLOBAL or (argument and (name != "resume" or " " in argument)):
        return None
    kind, target = _GLOBAL[name]
    if argument:
        typed = said.raw.split()[-1]  # a run's id is as it was typed
        target = typed if fold(typed) == argument else argument
    return ResolvedCommand(kind, Confidence.EXACT, f"global command {name}", target=target, details=said.details)


def _numbered(said: InputLine, menu: CompiledMenu) -> ResolvedCommand:
    digits = said.line.lstrip("0") or "0"
    number = int(digits) if len(digits) <= _MOST_DIGITS else 0
    if 1 <= number <= len(menu.items):
        match = Match(number, menu.items[number - 1].handlers[0])
        return _meant(said, menu, (match,), Confidence.EXACT, f"number {number}")
    shown = said.line if len(said.line) <= _MOST_SHOWN else f"{said.line[:_MOST_SHOWN]}…"
    reason = f"there is no number {shown}; choose from 1 to {len(menu.items)}"
    return _unclear(said, menu, range(1, len(menu.items) + 1), reason)


def _meant(
    said: InputLine, menu: CompiledMenu, matches: tuple[Match, ...], confidence: Confidence, reason: str
) -> ResolvedCommand:
    if len(matches) > 1:
        return _unclear(said, menu, (match.index for match in matches), "several menu items match")
    (match,) = matches
    handler = match.handler
    kind = _KINDS[handler.kind]
    if handler.kind is HandlerKind.EXEC and names_workflow(handler.target):
        kind = CommandKind.START_WORKFLOW
    return ResolvedCommand(
        kind,
        confidence,
        reason,
        match.index,
        menu.items[match.index - 1].label,
        handler.target or None,
        handler.data or None,
        said.details,
    )


def _unclear(said: InputLine, menu: CompiledMenu, indices: Iterable[int], reason: str) -> ResolvedCommand:
    candidates = tuple(Candidate(index, menu.items[index - 1].label) for index in indices)
    return ResolvedCommand(
        CommandKind.CLARIFY_CHOICE, Confidence.LOW, reason, details=said.details, candidates=candidates
    )
