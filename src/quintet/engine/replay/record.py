"""Records a session: the same core, its ports writing down what comes through them, so that the run can be replayed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import TypeVar, cast

from msgspec import structs

from quintet import __version__
from quintet.domain.journal.protocol import VERSION, Event, Noticed
from quintet.domain.journal.recording import ENDED_EARLY, FORMAT, Header, digest, own_tool
from quintet.domain.ports.ports import Lease
from quintet.domain.settings.settings import Settings
from quintet.engine.replay import ports
from quintet.engine.replay.models import RecordedModels
from quintet.engine.replay.ports import recorded_port
from quintet.engine.replay.recorder import Recorder
from quintet.engine.replay.store import RecordedStore
from quintet.engine.replay.tools import RecordedToolAccess, recorded_tool
from quintet.engine.replay.typed_lines import RecordedTypedLines
from quintet.engine.session.core import CommandParts, Core, CycleParts, FeatureCommands
from quintet.engine.session.journal import Journal
from quintet.engine.turn.toolbox import ToolAccess

T = TypeVar("T")


def header(core: Core, lease: Lease, after: int, reason: str, opening: Sequence[Event], agent: str) -> Header:
    """What the owner of this core starts with."""
    toolbox = core.turn.toolbox
    pages, shipped = core.turn.prompts.in_use()
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
        settings=_without_secrets(core.settings),
        terms=toolbox.terms,
        person=core.person,
        answer_schema=core.turn.answer_schema,
        agents_page=core.turn.agents_page,
        keeps_images=core.turn.keep_images is not None,
        looks_around=core.turn.look_around is not None,
        finds_pages=core.turn.nested_pages is not None,
        recalls=core.turn.recall is not None,
        learns=core.turn.lessons is not None,
        own_tools=tuple(own_tool(spec) for spec in toolbox.specs.values() if spec.toolset),
        pages=pages,
        shipped={name: digest(text) for name, text in shipped.items()},
        commands=core.commands.features.usages,
        names_skills=True,
        sees_work=core.commands.under_way is not None,
        integrates=core.cycle.integration is not None,
        widens=core.turn.widen is not None,
    )


def recording_ended(why: str) -> Noticed:
    text = f"the recording of this session ends here: {why}; the session continues, a replay does not"
    return Noticed(level="warning", code=ENDED_EARLY, text=text)


def saying_so(journal: Journal) -> Callable[[str], None]:
    """What tells the session why its recording ended."""

    def say(why: str) -> None:
        if not journal.broken:
            journal.post(recording_ended(why))

    return say


def _without_secrets(settings: Settings) -> Settings:
    """Settings without what may hold secrets: features' tables, and what models are sent beside a conversation."""
    models = {name: structs.replace(one, headers={}, query={}, body={}) for name, one in settings.models.items()}
    return structs.replace(settings, models=models, features={})


def recorded(core: Core, recorder: Recorder, session: str) -> Core:
    """The same core; what comes through its ports is written down."""

    def asked(kind: str, function: Callable[..., T]) -> Callable[..., T]:
        return lambda *words: recorder.asked(kind, lambda: function(*words))

    store = RecordedStore(core.store, recorder, session)
    specs = {name: recorded_tool(s, recorder) if s.toolset else s for name, s in core.turn.toolbox.specs.items()}
    access = cast(ToolAccess, RecordedToolAccess(core.turn.toolbox.outside, recorder))
    hooks, commands, look = core.turn.hook_runner, core.commands, core.turn.look_around
    nested, recall, lessons, widen = core.turn.nested_pages, core.turn.recall, core.turn.lessons, core.turn.widen
    turn = structs.replace(
        core.turn,
        models=structs.replace(
            core.turn.models,
            make=RecordedModels(core.turn.models.make, recorder).get,
            chance=asked("chance", core.turn.models.chance),
            direct=asked("direct_model", core.turn.models.direct),
            found={},
        ),
        toolbox=core.turn.toolbox.with_access(access, specs),
        rule_book=recorded_port(core.turn.rule_book, ports.RULE_BOOK, recorder),
        repository=recorded_port(core.turn.repository, ports.REPOSITORY, recorder),
        hook_runner=recorded_port(hooks, ports.HOOKS, recorder) if hooks else None,
        keep_artifact=asked("artifact", core.turn.keep_artifact),
        keep_images=asked("images", core.turn.keep_images) if core.turn.keep_images else None,
        look_around=asked("surroundings", look) if look else None,
        nested_pages=asked("nested_pages", nested) if nested else None,
        recall=recorded_port(recall, ports.RECALL, recorder) if recall else None,
        lessons=recorded_port(lessons, ports.LESSONS, recorder) if lessons else None,
        widen=(lambda paths: recorder.awaited("widen", widen(paths))) if widen else None,
    )
    integration = core.cycle.integration
    cycle = CycleParts(
        plans=recorded_port(core.cycle.plans, ports.PLANS, recorder),
        executors=cache(lambda: recorded_port(core.cycle.executors(), ports.EXECUTORS, recorder)),
        tasks=cache(lambda: recorded_port(core.cycle.tasks(), ports.TASKS, recorder)),
        look=lambda: recorded_port(core.cycle.look(), ports.LOOK, recorder),
        integration=recorded_port(integration, ports.INTEGRATION, recorder) if integration else None,
    )
    return structs.replace(
        core,
        store=store,
        clock=recorded_port(core.clock, ports.CLOCK, recorder),
        ids=recorded_port(core.ids, ports.IDS, recorder),
        checkpoints=recorded_port(core.checkpoints, ports.CHECKPOINTS, recorder),
        agents=recorded_port(core.agents, ports.AGENTS, recorder),
        turn=turn,
        cycle=cycle,
        commands=CommandParts(
            features=FeatureCommands(
                commands.features.usages,
                lambda *words: recorder.awaited("command", commands.features.run(*words)),
                lambda *words: recorder.awaited("command_start", commands.features.start(*words)),
                commands.features.more,
                asked("command_named", commands.features.named),
                lambda *words: recorder.awaited("skill_use", commands.features.use(*words)),
            ),
            keep_page=lambda *words: recorder.awaited("page", commands.keep_page(*words)),
            settings_text=asked("settings", commands.settings_text),
            sessions_text=asked("sessions", commands.sessions_text),
            find_session=asked("find_session", commands.find_session),
            project_facts=asked("facts", commands.project_facts),
            export=lambda *words: recorder.awaited("export", commands.export(*words)),
            board_rows=asked("board_rows", commands.board_rows),
            under_way=asked("under_way", commands.under_way) if commands.under_way else None,
        ),
        ownership=structs.replace(
            core.ownership,
            durable=store.durable,
            settled=recorder.settled,
            on_close=lambda: recorder.come_in_at_last("close"),
            open_elsewhere=asked("open_elsewhere", core.ownership.open_elsewhere),
            typed_lines=RecordedTypedLines(core.ownership.typed_lines, recorder),
        ),
    )
