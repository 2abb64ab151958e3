"""What the engine's actors work with: ports, settings and tables, put together by `app`."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from random import random
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from quintet.domain.base.errors import UsageError
from quintet.domain.base.redaction import Redaction, Redactor
from quintet.domain.dials.axes import Axes
from quintet.domain.input.slash_line import CommandUsage
from quintet.domain.ports.ports import Agents, Checkpoints, Clock, HookRunner, Ids, Model, Repository, RuleBook, Store
from quintet.domain.settings.settings import ModelSettings, Settings
from quintet.domain.turn.messages import Usage
from quintet.engine.turn.prompts import Prompts
from quintet.engine.turn.toolbox import Toolbox

if TYPE_CHECKING:
    from quintet.domain.ports.tasks import Plans
    from quintet.domain.tasks.executors import Executors
    from quintet.engine.cycle.doctor import Look
    from quintet.engine.cycle.task_keeper import TaskKeeper


async def at_once() -> None:
    """Does not wait."""


async def _no_page(session: str, name: str, pieces: Iterable[str]) -> str:
    """Keeps none."""
    return ""


async def _no_command(name: str, words: tuple[str, ...]) -> str:
    raise UsageError(f"/{name} is not a command here")


class FeatureCommands(Struct, frozen=True):
    """The slash commands that features bring, and what carries one out."""

    usages: tuple[CommandUsage, ...] = ()
    run: Callable[[str, tuple[str, ...]], Awaitable[str]] = _no_command

    def find(self, name: str) -> CommandUsage | None:
        return next((one for one in self.usages if one.name == name), None)


class Core(Struct):
    project: str
    store: Store
    clock: Clock
    ids: Ids
    settings: Settings
    toolbox: Toolbox
    prompts: Prompts
    rule_book: RuleBook
    repository: Repository
    checkpoints: Checkpoints
    make_model: Callable[[str], Model]
    process_start: Callable[[int], str]
    agents: Agents
    plans: Plans
    agents_page: str = ""  # what the project tells agents: its AGENTS.md
    keep_artifact: Callable[[str, str, str, Struct], str] = lambda turn, name, text, value: ""
    keep_page: Callable[[str, str, Iterable[str]], Awaitable[str]] = _no_page
    tasks: Callable[[], TaskKeeper] = lambda: _no_tasks()  # made when first asked for: most sessions never do
    executors: Callable[[], Executors] = lambda: _no_executors()  # the AI CLIs; made when first asked for
    look: Callable[[], Look] = lambda: _no_tasks()  # the doctor's, at this project as it is now
    commands: FeatureCommands = FeatureCommands()
    hook_runner: HookRunner | None = None  # without one no hooks are run
    answer_schema: dict[str, Any] | None = None  # JSON schema that the answer of a turn has to fit
    person: bool = False  # whether somebody is attached who can answer a question
    open_elsewhere: Callable[[str], bool] = lambda session: False  # whether another process owns a session
    redactor: Redactor = Redaction()  # keeps secrets from what is written down, sent and shown
    chance: Callable[[], float] = random  # a number from 0 to 1, another one each time
    settings_text: Callable[[], str] = lambda: ""
    durable: Callable[[Awaitable[Any]], Awaitable[Any]] = lambda write: write  # how a write is waited for
    settled: Callable[[], Awaitable[None]] = at_once  # waited for before the inbox is looked into
    on_close: Callable[[], Awaitable[None]] = at_once  # waited for before the owner closes
    closing: tuple[Callable[[], Awaitable[None]], ...] = ()  # what is let go of when the session closes
    log: Callable[[str], None] = lambda text: None  # what nobody needs to be told at once
    log_crash: Callable[[BaseException], None] = lambda error: None

    def route(self, axes: Axes, chosen: str) -> str:
        """The model for a request: the one the user named, else the one the model mode routes to."""
        routing = self.settings.routing
        return chosen or getattr(routing, axes.model_mode) or routing.smart

    def model_names(self) -> list[str]:
        return [*self.settings.models, "builtin"]

    def price(self, name: str, usage: Usage) -> float:
        priced: ModelSettings | None = self.settings.models.get(name)
        if priced is None:
            return 0.0
        cached = usage.cached_tokens * (priced.price_cached or priced.price_input)
        fresh = (usage.input_tokens - usage.cached_tokens) * priced.price_input
        return (fresh + cached + usage.output_tokens * priced.price_output) / 1_000_000


def _no_executors() -> Any:
    raise UsageError("no AI CLI can be started here")


def _no_tasks() -> Any:
    raise UsageError("no tasks are kept here")
