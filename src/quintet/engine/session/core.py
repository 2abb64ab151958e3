"""What the engine's actors work with: ports, settings and tables, put together by `app`.

`Core` has what all of them need; what only turns, cycles, commands or the owner need is in a part of its own.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Sequence
from random import random
from typing import TYPE_CHECKING, Any

from msgspec import Struct, field

from quintet.domain.agents.project_facts import ProjectFacts
from quintet.domain.base.errors import UsageError
from quintet.domain.base.redaction import Redaction, Redactor
from quintet.domain.input.slash_line import CommandUsage
from quintet.domain.journal.dial_state import DialState
from quintet.domain.models.prices import cost_of, prices_of
from quintet.domain.ports.ports import (
    Agents,
    Checkpoints,
    Clock,
    HookRunner,
    Ids,
    Model,
    Repository,
    RuleBook,
    Store,
    is_staged,
)
from quintet.domain.settings.settings import REPLAYED, ModelSettings, Settings
from quintet.domain.skills.use import BegunBySkill
from quintet.domain.turn.agent_pages import AgentsPage
from quintet.domain.turn.messages import KeptImage, Usage
from quintet.domain.turn.surroundings import Surroundings
from quintet.engine.session.typed_lines import TypedLines
from quintet.engine.turn.prompts import Prompts
from quintet.engine.turn.toolbox import Toolbox

if TYPE_CHECKING:
    from quintet.domain.ports.offers import Lessons, Recollection
    from quintet.domain.ports.tasks import Plans
    from quintet.domain.ports.workers import Integration, Widened
    from quintet.domain.tasks.board import BoardEntry, UnderWay
    from quintet.domain.tasks.executors import Executors
    from quintet.engine.cycle.doctor_checks import DoctorChecks
    from quintet.engine.cycle.task_keeper import TaskKeeper


async def at_once() -> None:
    """Does not wait."""


async def _no_page(session: str, name: str, pieces: Iterable[str]) -> str:
    """Keeps none."""
    return ""


async def _no_export(session: str, path: str, kind: str, text: str) -> str:
    raise UsageError("nothing can be written here")


async def _no_command(name: str, words: tuple[str, ...]) -> str:
    raise UsageError(f"/{name} is not a command here")


async def _no_skill(name: str, text: str) -> BegunBySkill:
    raise UsageError(f"there is no skill {name} here")


class ModelAccess(Struct):
    """The models there are: which one a request goes to, and what it costs."""

    settings: Settings
    make: Callable[[str], Model]
    chance: Callable[[], float] = random  # a number from 0 to 1, another one each time
    direct: Callable[[str], ModelSettings | None] = lambda name: None  # of PRESET/MODEL, which no settings name
    found: dict[str, ModelSettings | None] = field(default_factory=dict)  # what `direct` said

    def route(self, dials: DialState) -> str:
        """The model for a request: the one the user named, else the one the model mode routes to."""
        return self.settings.routing.model(dials.axes.model_mode, dials.model)

    def routed(self, dials: DialState) -> Model:
        return self.make(self.route(dials))

    def staged(self, dials: DialState) -> bool:
        """Whether the model in use can be asked about its own work; the offline rules cannot."""
        return is_staged(self.routed(dials))

    def names(self) -> list[str]:
        return [*self.settings.models, "builtin"]

    def configured(self, name: str) -> ModelSettings | None:
        """Of a model of the settings, or of one that was named as PRESET/MODEL; None of any other."""
        if (own := self.settings.models.get(name)) or "/" not in name or name.startswith(REPLAYED):
            return own
        if name not in self.found:
            self.found[name] = self.direct(name)
        return self.found[name]

    def window(self, name: str) -> int:
        """Tokens that a model can read; 0 if nobody knows."""
        model = self.configured(name)
        return model.context_window if model else 0

    def reply_limit(self, name: str) -> int:
        """Tokens that its reply may have, where the user says so."""
        model = self.configured(name)
        return model.max_tokens if model else 0

    def price(self, name: str, usage: Usage, cache_writes: int = 0) -> float:
        priced = self.configured(name)
        return cost_of(prices_of(priced), usage, cache_writes) if priced else 0.0


class TurnParts(Struct):
    """What a turn works with."""

    models: ModelAccess
    toolbox: Toolbox
    prompts: Prompts
    rule_book: RuleBook
    repository: Repository
    hook_runner: HookRunner | None = None  # without one no hooks are run
    agents_page: str = ""  # what the project tells agents, where nobody looks around
    keep_images: Callable[[tuple[str, ...], str], tuple[KeptImage | None, ...]] | None = None  # that an input names
    bring_images: Callable[[str, tuple[str, ...]], None] = lambda submission, paths: None  # that a person typed here
    look_around: Callable[[], Surroundings] | None = None  # before a turn
    nested_pages: Callable[[tuple[str, ...]], tuple[AgentsPage, ...]] | None = None  # of the folders of touched files
    recall: Recollection | None = None  # what is known that fits an input
    lessons: Lessons | None = None  # keeps what a run shows
    answer_schema: dict[str, Any] | None = None  # JSON schema that the answer of a turn has to fit
    keep_artifact: Callable[[str, str, str, Struct], str] = lambda turn, name, text, value: ""
    widen: Callable[[Sequence[str]], Awaitable[Widened]] | None = None  # claims what a helper writes before it does


class CycleParts(Struct):
    """What a cycle and the commands on tasks work with, made when first asked for: most sessions never do."""

    plans: Plans
    tasks: Callable[[], TaskKeeper] = lambda: _no_tasks()
    executors: Callable[[], Executors] = lambda: _no_executors()  # the AI CLIs
    look: Callable[[], DoctorChecks] = lambda: _no_tasks()  # the doctor's, at this project as it is now
    integration: Integration | None = None  # of a unit in a worktree of its own


class FeatureCommands(Struct, frozen=True):
    """The slash commands that features bring, and what carries one out."""

    usages: tuple[CommandUsage, ...] = ()
    run: Callable[[str, tuple[str, ...]], Awaitable[str]] = _no_command
    start: Callable[[str, tuple[str, ...]], Awaitable[str]] = _no_command  # /A:B: the words that a turn begins with
    more: Callable[[], tuple[CommandUsage, ...]] = tuple  # those of /A:B that are known now, to be offered
    named: Callable[[str], CommandUsage | None] = lambda name: None  # a skill's, whose name nobody knows before
    use: Callable[[str, str], Awaitable[BegunBySkill]] = _no_skill  # a skill by its name, with what is said to it

    def find(self, name: str) -> CommandUsage | None:
        found = next((one for one in self.usages if one.name == name), None)
        if found is None and ":" in name.strip(":"):
            found = next((one for one in self.usages if one.begins), None)
        return found

    def skill(self, name: str) -> CommandUsage | None:
        """The skill that the user may call by this name, where no command is called so."""
        found = next((one for one in self.usages if one.name == name), None)
        return self.named(name) if found is None else None


class CommandParts(Struct):
    """What slash commands work with beside the rest."""

    features: FeatureCommands = FeatureCommands()
    settings_text: Callable[[], str] = lambda: ""
    keep_page: Callable[[str, str, Iterable[str]], Awaitable[str]] = _no_page
    sessions_text: Callable[[], str] = lambda: ""  # the project's sessions
    find_session: Callable[[str], str] = lambda beginning: ""  # a session's id by its beginning; empty if not one
    project_facts: Callable[[], ProjectFacts] = lambda: ProjectFacts("")
    export: Callable[[str, str, str, str], Awaitable[str]] = _no_export
    board_rows: Callable[[], Sequence[BoardEntry]] = tuple  # that features add to the board
    under_way: Callable[[], UnderWay] | None = None  # what is stored of the project's work; none in older recordings


class Ownership(Struct):
    """How a process owns a session, writes its journal and lets go of it."""

    process_identity: Callable[[int], str]
    open_elsewhere: Callable[[str], bool] = lambda session: False  # whether another process owns a session
    durable: Callable[[Awaitable[Any]], Awaitable[Any]] = lambda write: write  # how a write is waited for
    settled: Callable[[], Awaitable[None]] = at_once  # waited for before the inbox is looked into
    stop_command: Callable[[bool], None] = lambda stop: None  # what a command does at length, until told False
    on_close: Callable[[], Awaitable[None]] = at_once  # waited for before the owner closes
    closing: tuple[Callable[[], Awaitable[None]], ...] = ()  # what is let go of when the session closes
    typed_lines: TypedLines = field(default_factory=TypedLines)
    served: Callable[[Any], None] = lambda owner: None  # told of the owner once it serves the inbox
    held: bool = False  # whether nobody turns a dial above where it begins


class Log(Struct):
    """For what nobody needs to be told at once."""

    note: Callable[[str], None] = lambda text: None
    crash: Callable[[BaseException], None] = lambda error: None


class Core(Struct):
    project: str
    store: Store
    clock: Clock
    ids: Ids
    settings: Settings
    agents: Agents
    checkpoints: Checkpoints
    turn: TurnParts
    cycle: CycleParts
    ownership: Ownership
    commands: CommandParts = field(default_factory=CommandParts)
    person: bool = False  # whether somebody is attached who can answer a question
    redactor: Redactor = Redaction()  # keeps secrets from what is written down, sent and shown
    log: Log = field(default_factory=Log)


def _no_executors() -> Any:
    raise UsageError("no AI CLI can be started here")


def _no_tasks() -> Any:
    raise UsageError("there are no tasks here")
