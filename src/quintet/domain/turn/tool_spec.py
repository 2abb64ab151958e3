"""What Quintet knows of a tool before it runs, what a call would touch, and what it comes back with.

A tool is ready when every part of the machine that it needs is. A call may ask another model: `Advisers`.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from enum import StrEnum
from typing import Any, Literal, Protocol

from msgspec import UNSET, Struct, UnsetType, structs

from quintet.domain.dials.axes import PermissionProfile
from quintet.domain.permission.effects import Effect
from quintet.domain.skills.use import SkillUse
from quintet.domain.turn.messages import Finish, Image, KeptImage, ToolSchema, Usage
from quintet.domain.turn.swe_phases import PhaseMove
from quintet.domain.turn.todos import Todo, TodoStatus

Route = Literal["smart", "deep", "vision"]  # of [routing]
Purpose = Literal["friend", "vision", "library", "sampling"]  # the page in prompts/advice that the model is told


class Outward(Struct, frozen=True):
    """What a call asks for outside, by which something could leave."""

    addresses: tuple[str, ...] = ()  # of the web that it fetches, or of a page of the project that has a network
    resource: str = ""  # of the MCP server, that it reads
    tells: bool = False  # a page of the web gets to know something that the model chose


class Touch(Struct, frozen=True):
    """What one call would do, told from its arguments: effects, the paths it names, and why.

    A call that runs shell lines gives them with the folder they run in; `shell.judge.with_lines` says what they mean.
    """

    effects: frozenset[Effect]
    reads: tuple[str, ...] = ()
    writes: tuple[str, ...] = ()
    why: str = ""
    asks: str = ""  # why it is asked at every profile, unless a rule names what the call is about
    outward: Outward | None = None
    shell: str = ""  # the background shell this is typed into
    lines: tuple[str, ...] = ()  # shell lines the call will run
    folder: str = ""  # where it runs them
    verifies: str = ""  # the todo whose criteria it will check
    server: str | None = None  # what the tool's service is asked about before the gate decides: an MCP server
    moves: tuple[str, str] | None = None  # from where, to where
    refused: str = ""  # why nobody can say yes, by what was found
    subjects: tuple[str, ...] = ()  # each thing that a rule may say no to, where the call is about several
    user_line: bool = False  # the line is one that the user wrote into the settings
    least: PermissionProfile | None = None  # the least profile that this very call is any use in


class CallCourse(Struct, frozen=True):
    """How a call goes while it runs."""

    pauses: bool = False  # it may ask the person something in the middle
    steps: bool = False  # what it tells are lines that say how far it is, not its output
    cut_short: str = ""  # what the model is told of a call that was; empty: that its outcome is unknown


class ToolSpec(Struct, frozen=True):
    name: str
    description: str
    profile: PermissionProfile  # the least profile the tool is any use in
    effects: frozenset[Effect]  # the most a call may do
    schema: Callable[[], dict[str, Any]]
    bind: Callable[[str], dict[str, Any]]  # JSON arguments → keyword arguments, or ToolFailed
    touch: Callable[[dict[str, Any]], Touch]
    run: Callable[..., Awaitable[ToolResult]]
    needs: tuple[str, ...] = ()  # the outside parts it does not work without
    toolset: str = ""  # of a user's own tool; those of the shipped ones are in TOOL_MODES
    confined: bool = False  # cannot reach outside the project, whoever says yes
    asks: bool = False  # may ask a model, which has its price
    service: str = ""  # the feature whose service says more of what a call touches, where it names a server
    course: CallCourse = CallCourse()
    fits: Callable[..., None] | None = None  # raises what a call would fail with, as the files are now

    def shown(self) -> ToolSchema:
        return ToolSchema(self.name, self.description, _brief(self.schema()))


def _brief(schema: Any) -> Any:
    """A schema as a model is sent it: plain JSON, without the word that nothing else is taken, which `bind` sees to.

    A tuple is JSON's array to every encoder but those that look at types, such as botocore's.
    """
    if isinstance(schema, list | tuple):
        return [_brief(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    return {key: _brief(value) for key, value in schema.items() if (key, value) != ("additionalProperties", False)}


class CallStatus(StrEnum):
    OK = "ok"
    ERROR = "error"
    DENIED = "denied"
    INTERRUPTED = "interrupted"


class Move(Struct, frozen=True):
    """The way a run takes from the place in its workflow that it is at; an empty target leaves the workflow."""

    way: str
    target: str
    result: str = ""


class CallChoice(Struct, frozen=True):
    key: str
    label: str
    takes_text: bool = False  # the answer is what the person types


class CallQuestion(Struct, frozen=True):
    """What a running call asks; without choices nobody is asked, and it is only whether it may spend."""

    text: str = ""
    choices: tuple[CallChoice, ...] = ()
    detail: tuple[str, ...] = ()
    approves: bool = False  # it is about a call that needs approval, of somebody who works for this one
    spends: bool = False  # a model is about to be asked, which has its price
    consulted: tuple[Consulted, ...] = ()  # the models that the call has asked since it last asked this


class CallReply(Struct, frozen=True):
    choice: str = ""
    note: str = ""  # what the person typed
    refused: str = ""  # why nobody was asked, or nobody answered


class ShellSeen(Struct, frozen=True, gc=False):
    """A shell, as a call has left or found it: a background one by its name, or the one of its own line."""

    name: str
    running: bool
    exit_code: int | UnsetType = UNSET  # of the call's own line; its output then ends with it


class ToolResult(Struct, frozen=True):
    content: str
    status: CallStatus = CallStatus.OK
    changed: tuple[str, ...] = ()  # project files the call is known to have changed
    summary: str = ""  # a few words for the person: "+9 −2", "12 passed"
    toolset: str | None = None  # the place in the tool menu the model goes to ("" for ROOT)
    message: str = ""  # something to tell the user
    ends: str = ""  # the turn ends here: done or blocked
    answer: str = ""  # with this answer
    todos: tuple[Todo, ...] = ()  # as they are after the call moved them
    phase: PhaseMove | None = None  # the SWE phase it goes to
    step: Move | None = None  # the way its run takes in its workflow
    consulted: tuple[Consulted, ...] = ()  # the models it asked
    images: tuple[KeptImage, ...] = ()  # for the model to look at
    pauses: CallQuestion | None = None  # the call is not over: it waits for a reply to this
    shell: ShellSeen | None = None  # the shell that ran its line, or that it started, looked at or ended
    page: str = ""  # the address of the web page that it shows
    skill: SkillUse | None = None  # that the turn works by from here on


class Consulted(Struct, frozen=True):
    """A model that a call asked."""

    route: str
    model: str  # its name in the settings
    usage: Usage = Usage()
    cost: float | None = None  # as it is on record already; None: by the model's price
    helper: str = ""  # the session of the helper that asked it


class Advice(Struct, frozen=True):
    text: str
    finish: Finish
    consulted: Consulted


class Advisers(Protocol):
    """The models that a tool may ask. Raises ToolFailed, with the fix, where there is no answer."""

    def ready(self, route: Route) -> bool:
        """Whether a language model answers there; the offline rules are none."""

    async def ask(
        self,
        purpose: Purpose,
        route: Route,
        question: str,
        images: Sequence[Image] = (),
        tell: Callable[[str], None] = lambda text: None,
    ) -> Advice:
        """One question, one answer; `tell` hears the answer as it comes."""


def with_criteria(touch: Touch, todos: Mapping[str, Todo]) -> Touch:
    """What verifying a todo touches: what its criteria read or fetch, and the lines they run."""
    todo = todos.get(touch.verifies)
    if todo is None or todo.status is not TodoStatus.CLAIMED:
        return touch  # it will be told so, and nothing is checked
    lines = tuple(c.command for c in todo.criteria if c.type == "command_exit_zero")
    paths = tuple(c.path for c in todo.criteria if c.type in ("file_exists", "file_contains"))
    fetched = any(c.type == "pr_exists" for c in todo.criteria)
    effects = touch.effects | ({Effect.READ} if paths else set()) | ({Effect.FETCH} if fetched else set())
    return structs.replace(touch, effects=effects, reads=(*touch.reads, *paths), lines=(*touch.lines, *lines))


class MachinePart(Struct, frozen=True):
    """Something outside Quintet that tools need."""

    name: str
    ready: bool
    found: str = ""  # what there is: a version, or which kind
    missing: str = ""  # what there is not, and how to get it; a ready part may lack something too


class ToolReadiness(Struct, frozen=True):
    name: str
    state: Literal["ready", "missing"]
    needs: tuple[str, ...]  # what is missing, in words


def parts_of(specs: Iterable[ToolSpec]) -> list[str]:
    """Every part that one of the tools needs, in the order of the tools."""
    return list(dict.fromkeys(part for spec in specs for part in spec.needs))


def readiness(specs: Iterable[ToolSpec], parts: Mapping[str, MachinePart]) -> list[ToolReadiness]:
    found = []
    for spec in specs:
        missing = tuple(parts[name].missing for name in spec.needs if not parts[name].ready)
        found.append(ToolReadiness(spec.name, "missing" if missing else "ready", missing))
    return found
