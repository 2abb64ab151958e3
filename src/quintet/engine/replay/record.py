"""Records a session: the same core, its ports writing down what comes through them, so that the run can be replayed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import TypeVar, cast

from msgspec import structs

from quintet import __version__
from quintet.domain.journal.protocol import VERSION, Event
from quintet.domain.journal.recording import FORMAT, Header, digest, own_tool
from quintet.domain.ports.ports import Lease
from quintet.engine.replay import ports
from quintet.engine.replay.models import RecordedModels
from quintet.engine.replay.ports import recorded_port
from quintet.engine.replay.recorder import Recorder
from quintet.engine.replay.store import RecordedStore
from quintet.engine.replay.tools import RecordedToolAccess, recorded_tool
from quintet.engine.session.core import Core, FeatureCommands
from quintet.engine.turn.hands import Hands

T = TypeVar("T")


def header(core: Core, lease: Lease, after: int, reason: str, opening: Sequence[Event], agent: str) -> Header:
    """What the owner of this core starts with."""
    toolbox = core.toolbox
    pages, shipped = core.prompts.in_use()
    return Header(
        format=FORMAT,
        program=__version__,
        events=VERSION,
        project=core.project,
        lease=lease,
        after=after,
        reason=reason,
        opening=tuple(opening),
        agent=agent,
        settings=structs.replace(core.settings, features={}),  # a feature's may hold secrets
        terms=toolbox.terms,
        person=core.person,
        answer_schema=core.answer_schema,
        agents_page=core.agents_page,
        own_tools=tuple(own_tool(spec) for spec in toolbox.specs.values() if spec.toolset),
        pages=pages,
        shipped={name: digest(text) for name, text in shipped.items()},
        commands=core.commands.usages,
    )


def recorded(core: Core, recorder: Recorder, session: str) -> Core:
    """The same core; what comes through its ports is written down."""

    def asked(kind: str, function: Callable[..., T]) -> Callable[..., T]:
        return lambda *words: recorder.asked(kind, lambda: function(*words))

    store = RecordedStore(core.store, recorder, session)
    specs = {name: recorded_tool(s, recorder) if s.toolset else s for name, s in core.toolbox.specs.items()}
    access = cast(Hands, RecordedToolAccess(core.toolbox.hands, recorder))
    hooks = core.hook_runner
    return structs.replace(
        core,
        store=store,
        durable=store.durable,
        settled=recorder.settled,
        on_close=lambda: recorder.come_in_at_last("close"),
        clock=recorded_port(core.clock, ports.CLOCK, recorder),
        ids=recorded_port(core.ids, ports.IDS, recorder),
        toolbox=core.toolbox.with_hands(access, specs),
        rule_book=recorded_port(core.rule_book, ports.RULE_BOOK, recorder),
        repository=recorded_port(core.repository, ports.REPOSITORY, recorder),
        checkpoints=recorded_port(core.checkpoints, ports.CHECKPOINTS, recorder),
        agents=recorded_port(core.agents, ports.AGENTS, recorder),
        plans=recorded_port(core.plans, ports.PLANS, recorder),
        executors=cache(lambda: recorded_port(core.executors(), ports.EXECUTORS, recorder)),
        tasks=cache(lambda: recorded_port(core.tasks(), ports.TASKS, recorder)),
        look=lambda: recorded_port(core.look(), ports.LOOK, recorder),
        commands=FeatureCommands(
            core.commands.usages, lambda *words: recorder.awaited("command", core.commands.run(*words))
        ),
        make_model=RecordedModels(core.make_model, recorder).get,
        hook_runner=recorded_port(hooks, ports.HOOKS, recorder) if hooks else None,
        open_elsewhere=asked("open_elsewhere", core.open_elsewhere),
        keep_artifact=asked("artifact", core.keep_artifact),
        keep_page=lambda *words: recorder.awaited("page", core.keep_page(*words)),
        settings_text=asked("settings", core.settings_text),
        chance=asked("chance", core.chance),
    )
