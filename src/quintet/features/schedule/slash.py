"""/schedule: the words of `quintet schedule`, in a session."""

from __future__ import annotations

import contextlib
from argparse import Namespace
from typing import TYPE_CHECKING

import msgspec

from quintet.cli.parsing import read_or_help, turned, typed_word
from quintet.domain.base.errors import UsageError
from quintet.domain.dials.axes import Axes, Surface, tightens
from quintet.features.schedule.book import ScheduleBook
from quintet.features.schedule.install import has_timer
from quintet.features.schedule.settings import ScheduleSettings
from quintet.features.schedule.store import open_schedules
from quintet.features.schedule.values import ScheduledWork
from quintet.features.schedule.words import WORDS, ScheduleScene, parsed, work_of

if TYPE_CHECKING:
    from quintet.app.services import Opening

ONLY_IN_TERMINALS = ("work", "install", "uninstall")


async def schedule(opening: Opening, words: tuple[str, ...]) -> str:
    action, rest = typed_word("schedule", words, WORDS, ONLY_IN_TERMINALS)
    given = read_or_help(lambda: parsed(action, rest, at_terminal=False))
    if isinstance(given, str):
        return given
    places = opening.places
    own = opening.settings.table("schedule", ScheduleSettings)

    def work(flags: Namespace, text: str) -> ScheduledWork:
        return _work(opening.attach(Surface.RPC).state.axes, flags, text, places.opened or places.root)

    with contextlib.closing(open_schedules(places, own=given.own, make=action == "add")) as store:
        book = ScheduleBook(store, own, store.owner)
        where = places.opened or places.root
        scene = ScheduleScene(
            book, places.root, where, int(store.epoch()), has_timer() and not store.shared, work, store.shared
        )
        answer = WORDS[action].run(scene, given)
    if given.json:
        return msgspec.json.format(msgspec.json.encode(answer.data), indent=1).decode()
    return "\n".join(answer.lines)


def _work(here: Axes, flags: Namespace, text: str, directory: str) -> ScheduledWork:
    """The session's own dials where none are given, and never above them: whoever may say this may say no more."""
    wanted = turned(flags).applied_to(here)
    if tightens(wanted, here):
        hint = "Turn the session's dials first, or use quintet schedule add in a terminal."
        now = f"{here.run_control} and {here.permission_profile}"
        raise UsageError(f"a session schedules nothing above its own dials, which are {now}", hint=hint)
    return work_of(flags, text, directory, wanted)
