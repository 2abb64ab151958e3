"""Runs turns, one at a time: the beginning, the work, the end however it comes, and the dials that land around it."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from typing import Generic, TypeVar

from msgspec import UNSET, Struct, UnsetType, structs

from quintet.domain.base.errors import QuintetError
from quintet.domain.base.wording import listed
from quintet.domain.dials.axes import Axes, Surface
from quintet.domain.dials.transitions import Boundary
from quintet.domain.input.image_paths import image_paths
from quintet.domain.journal.protocol import ErrorInfo, Event, Noticed, TurnFinished, TurnStarted
from quintet.domain.journal.reasons import EndCause
from quintet.domain.journal.state import SessionState
from quintet.domain.memory.shown import RunShown
from quintet.domain.skills.use import SkillUse
from quintet.domain.tasks.health import Finding
from quintet.domain.turn.delivery import DeliveryState
from quintet.domain.turn.messages import EndStatus, KeptImage, Role
from quintet.domain.turn.reports import Order
from quintet.domain.turn.surroundings import Surroundings
from quintet.engine.agents import runs
from quintet.engine.checkpoints.keeper import CheckpointKeeper
from quintet.engine.session import dials
from quintet.engine.session.core import Core
from quintet.engine.session.journal import Journal
from quintet.engine.session.questions import Questions
from quintet.engine.turn.gatekeeper import Blocked
from quintet.engine.turn.model_request import error_info
from quintet.engine.turn.recall import learn
from quintet.engine.turn.time_limit import LimitReached, time_limit
from quintet.engine.turn.turn import Turn

T = TypeVar("T")
WHICH_IMAGES = (
    "Images can be PNG, JPEG, GIF or WebP files of at most 5 MB, in the project; or anywhere, if "
    "you type, paste or drop the path at the prompt of the process that runs the session."
)


class TurnWork(Struct, frozen=True):
    """What a turn is about."""

    text: str
    surface: Surface
    submission: str = ""
    order: Order | None = None
    run: str = ""  # the run it belongs to
    own: tuple[str, str] | None = None  # a call of the person's own: tool and arguments
    opening: tuple[Event, ...] = ()
    alone: bool = True  # a unit by itself; a turn of a cycle leaves its run and the dials to the cycle
    in_any_mode: bool = False  # what is ordered is done in every work mode
    quoted: str = ""  # somebody else's words that come with the text
    skill: SkillUse | None = None  # that the user began it by
    typed: bool = False  # it is a shell line that the person typed at this process's terminal
    said: str = ""  # the user's own words that began it: the input, or the line of a command
    still_wrong: Callable[[], Awaitable[list[Finding]]] | None = None  # what is left to fix; done when nothing is


class StepResult(Struct, Generic[T], frozen=True):
    """What a step of a cycle came to, as the answer of its turn and as a value."""

    answer: str
    value: T
    failure: str = ""  # why the turn has failed; empty: it is done


class TurnResult(Struct, Generic[T], frozen=True):
    """How a turn ended, and the value of the step that was carried out in it."""

    finished: TurnFinished
    refused: bool = False  # by the model, or tried in vain: its answer says why
    value: T | None = None


class Turns:
    def __init__(
        self, core: Core, journal: Journal, questions: Questions, keeper: CheckpointKeeper, go: asyncio.Event
    ) -> None:
        self._core = core
        self._journal = journal
        self._questions = questions
        self._keeper = keeper
        self._go = go
        self.current: Turn | None = None
        self.ending = EndStatus.INTERRUPTED  # how a cancelled turn ends
        self._asked = ""  # by the newest turn, of the user
        self.ended = False  # the last one: its end goes on record, and nothing comes after

    @property
    def _state(self) -> SessionState:
        return self._journal.state

    async def run(self, work: TurnWork) -> TurnResult[None]:
        """The turn from its beginning to its end, which is on record when this returns. Cancelling it ends it."""

        async def carry(turn: Turn, axes: Axes) -> tuple[TurnFinished, None]:
            order = work.order
            if order and order.kind == "compact":
                return await turn.compact(order.subject), None
            if order and order.kind != axes.work_mode and not work.in_any_mode:
                # The user turned the dial back, or dropped its turning.
                why = f"a {order.kind} needs work mode {order.kind}; this is {axes.work_mode}"
                return turn.finished(EndStatus.CANCELLED, reason=why), None
            if work.own:
                return await turn.run_own(*work.own, work.surface if work.typed else None), None
            return await turn.run(), None

        return await self._run(work, carry)

    async def run_step(self, work: TurnWork, step: Callable[[Turn], Awaitable[StepResult[T]]]) -> TurnResult[T]:
        """As `run`, the turn doing `step` instead of what turns do."""

        async def carry(turn: Turn, axes: Axes) -> tuple[TurnFinished, T]:
            done = await step(turn)
            if done.failure:
                return turn.finished(EndStatus.FAILED, done.answer, done.failure), done.value
            return turn.finished(EndStatus.DONE, done.answer), done.value

        return await self._run(work, carry)

    async def _run(
        self, work: TurnWork, carry: Callable[[Turn, Axes], Awaitable[tuple[TurnFinished, T]]]
    ) -> TurnResult[T]:
        core, journal = self._core, self._journal
        self.ended = False
        turn_id = core.ids.new("turn")
        told = work.text or self._last_text()
        turn = Turn(core, journal, self._questions, self._keeper, self._go, turn_id, told, work.still_wrong)
        self.current = turn
        if work.alone and (landed := dials.reach(self._state, Boundary.UNIT_START)):
            journal.post(*landed)
        run, axes = work.run or core.ids.new("run"), self._state.axes.on(work.surface)
        begun = TurnStarted(
            turn=turn_id,
            run=run,
            submission=work.submission,
            text=work.text,
            axes=axes,
            order=work.order,
            surroundings=self._looked_around(),
            images=self._named_images(work),
            quoted=work.quoted or UNSET,
            skill=work.skill or UNSET,
        )
        started = journal.append(*work.opening, begun)
        turn.go_on_with(self._state.turns.cut_off)
        value: T | None = None
        try:
            await started
            if work.alone and (moved := runs.begin(core, self._state, run)):
                journal.post(*moved)
            async with time_limit(core.clock, core.settings.limits.max_seconds):
                ending, value = await carry(turn, axes)
        except asyncio.CancelledError:
            reason = "stopped by /stop" if self.ending is EndStatus.CANCELLED else EndCause.INTERRUPTED
            ending = turn.finished(self.ending, reason=reason)
        except Blocked as block:
            ending = turn.finished(EndStatus.BLOCKED, reason=str(block))
        except LimitReached as limit:
            ending = turn.finished(EndStatus.LIMIT, reason=str(limit))
        except QuintetError as error:
            ending = turn.finished(EndStatus.FAILED, reason=error.message, error=error_info(error))
        except Exception as error:
            crash = ErrorInfo("UNKNOWN", f"{type(error).__name__}: {error}")
            ending = turn.finished(EndStatus.FAILED, reason=crash.message, error=crash)
            core.log.crash(error)
        finally:
            self.current = None
        with contextlib.suppress(asyncio.CancelledError):  # the turn is over: how it ended has to be written
            await self._keeper.settle()
        self._keeper.rest()
        if notices := core.turn.toolbox.put_right():  # after a shell in the background
            journal.post(*notices)
        if not work.alone:
            ending = structs.replace(ending, cycle=work.run)
        moved = runs.end(core, self._state, ending) if work.alone else []
        landed = dials.reach(self._state, Boundary.UNIT_END) if work.alone else []
        learnt: list[Noticed] = []
        with contextlib.suppress(asyncio.CancelledError):
            learnt = await self._learnt(work, turn, ending)
        self.ended = True
        await journal.append(*moved, *learnt, ending, *landed)
        return TurnResult(ending, turn.refused, value)

    async def _learnt(self, work: TurnWork, turn: Turn, ending: TurnFinished) -> list[Noticed]:
        """What is kept of a turn of the user's; a cycle says what it has to say of its own."""
        asked, self._asked = self._asked, ending.answer if turn.waits else ""
        if not (work.alone and work.said) or work.own or self._state.helper or ending.status is not EndStatus.DONE:
            return []
        shown = RunShown(
            session=self._state.session,
            turn=turn.id,
            text=work.said,
            asked=asked,
            status=ending.status,
            delivery=DeliveryState(ending.delivery),
            calls=turn.ran,
            skipped=len(turn.skipped),
            files=turn.changed,
        )
        return await learn(self._core, shown)

    def _looked_around(self) -> Surroundings | UnsetType:
        """The surroundings, where they are other than the model was last told."""
        look = self._core.turn.look_around
        try:
            staged = look is not None and self._core.turn.models.staged(self._state.dials)
        except QuintetError:  # a model that cannot be had: the turn fails by it, and says so
            staged = False
        if look is None or not staged:
            return UNSET
        found = structs.replace(look(), date=self._core.clock.now()[:10])
        return found if found != self._state.conversation.seen else UNSET

    def _named_images(self, work: TurnWork) -> tuple[KeptImage, ...] | UnsetType:
        """The pictures that an input of the user's names."""
        keep = self._core.turn.keep_images
        paths = image_paths(work.text) if keep and work.submission and not work.own else ()
        kept = keep(paths, work.submission) if keep and paths else ()
        shown = [path for path, image in zip(paths, kept, strict=True) if image]
        missed = [path for path, image in zip(paths, kept, strict=True) if not image]
        if shown:
            self._journal.post(Noticed(level="info", code="IMAGE", text=f"shown to the model: {listed(shown)}"))
        if missed:
            text = f"not shown to the model: {listed(missed)}. {WHICH_IMAGES}"
            self._journal.post(Noticed(level="warning", code="IMAGE", text=text))
        return tuple(image for image in kept if image) or UNSET

    def _last_text(self) -> str:
        """What a turn that goes on was begun with."""
        spoken = [message.text for message in self._state.conversation.messages if message.role is Role.USER]
        return spoken[-1] if spoken else ""
