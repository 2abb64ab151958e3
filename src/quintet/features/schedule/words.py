"""The words of `quintet schedule` and `/schedule`: one set of parsers, one set of answers."""

from __future__ import annotations

import shlex
from argparse import ArgumentParser, Namespace
from collections.abc import Callable
from typing import Any

import msgspec
from msgspec import Struct

from quintet.cli.parsing import dial_flags, turned, word_parser
from quintet.domain.base.errors import UsageError
from quintet.domain.base.safe_text import on_one_line
from quintet.domain.base.text_table import table
from quintet.domain.dials.axes import Axes, PermissionProfile
from quintet.features.schedule.book import ScheduleBook, ScheduleView
from quintet.features.schedule.times import at_zone, iso
from quintet.features.schedule.values import DueRun, DueStatus, MissedRuns, Schedule, ScheduledWork, ScheduleState

EXAMPLE = 'quintet schedule add "weekdays 07:30" --tz Europe/Berlin -- "summarise what changed since yesterday"'
SHOWN_TEXT = 60
LATELY = 180  # seconds: a timer looks each minute
UNWATCHED = "Nothing looks at the clock yet, so nothing will run: quintet schedule install, or quintet schedule work"
SHARED = "No machine runs these schedules yet: quintet worker --schedule, or quintet schedule work"


class ScheduleAnswer(Struct, frozen=True):
    lines: list[str]
    data: Any
    code: int = 0


class ScheduleScene(Struct, frozen=True):
    """Where the words are said: which project, at what time, and how dials that were not given stand there."""

    book: ScheduleBook
    project: str
    directory: str
    now: int
    timer: bool  # whether one is installed that looks at the clock
    work: Callable[[Namespace, str], ScheduledWork]  # from the flags and the text
    shared: bool = False  # whether any machine of several may run them


Answering = Callable[[ScheduleScene, Namespace], ScheduleAnswer]


def add(scene: ScheduleScene, words: Namespace) -> ScheduleAnswer:
    when = " ".join(words.when)
    if not when:
        raise UsageError("the time is missing: say when it runs", hint=f"For example {EXAMPLE}")
    if not words.text:
        raise UsageError(
            "the text of the request is missing: give it after --", hint=f"For example {_meant(words.when)}"
        )
    missed = _missed(words.missed) if words.missed else None
    made = scene.book.add(
        when,
        scene.work(words, words.text),
        scene.now,
        project=scene.project,
        zone=words.tz,
        name=words.name,
        missed=missed,
        until=words.until,
    )
    one = made.schedule
    lines = [
        f"{one.name}   {one.when} ({one.zone}): {_short(one.work.text)}",
        f"first   {at_zone(made.at, one.zone)}",
        f"dials   {dials(one.work)}",
    ]
    if one.work.permission_profile is PermissionProfile.UNRESTRICTED:
        lines.append("It runs unattended at profile unrestricted: nobody is asked before it does anything.")
    if not watched(scene):
        lines.append(SHARED if scene.shared else UNWATCHED)
    return ScheduleAnswer(lines, {**_schedule_data(one), "next": iso(made.at)})


def _meant(words: list[str]) -> str:
    """The command as somebody may have meant it who left the dashes out: the last word in quotes is the text."""
    *when, text = words
    sentence = when and any(char.isspace() for char in text)
    return f"quintet schedule add {shlex.join(when)} -- {shlex.quote(text)}" if sentence else EXAMPLE


def listed(scene: ScheduleScene, words: Namespace) -> ScheduleAnswer:
    views = scene.book.views("" if words.all else scene.project)
    data = [_view_data(view) for view in views]
    if not views:
        where = "" if words.all else " in this project; --all shows every project"
        return ScheduleAnswer([f"nothing is scheduled{where}. For example {EXAMPLE}"], data)
    rows = [
        (one.name, one.when, one.zone, _next(view), _last(view), _short(one.work.text))
        for view in views
        for one in [view.schedule]
    ]
    lines = table(rows, heading=("NAME", "WHEN", "ZONE", "NEXT", "LAST", "TEXT"))
    if any(view.schedule.state is ScheduleState.ACTIVE for view in views) and not watched(scene):
        lines.append(SHARED if scene.shared else UNWATCHED)
    return ScheduleAnswer(lines, data)


def watched(scene: ScheduleScene) -> bool:
    """Whether something runs what is due: a timer, or a worker that has looked at the clock lately."""
    seen = scene.book.store.seen()
    return scene.timer or (seen is not None and scene.now - seen < LATELY)


def coming(scene: ScheduleScene, words: Namespace) -> ScheduleAnswer:
    found = scene.book.coming("" if words.all else scene.project, words.number)
    data = [
        {"name": one.schedule.name, "at": iso(one.at), "local": at_zone(one.at, one.schedule.zone)} for one in found
    ]
    if not found:
        return ScheduleAnswer(["nothing is to come"], data)
    rows = [(at_zone(one.at, one.schedule.zone), one.schedule.zone, one.schedule.name) for one in found]
    return ScheduleAnswer(
        table([(*row, _short(one.schedule.work.text)) for row, one in zip(rows, found, strict=True)]), data
    )


def paused(scene: ScheduleScene, words: Namespace) -> ScheduleAnswer:
    one = scene.book.pause(words.name)
    return ScheduleAnswer(
        [f"paused {one.name}; quintet schedule resume {one.name}"], {"name": one.name, "state": "paused"}
    )


def resumed(scene: ScheduleScene, words: Namespace) -> ScheduleAnswer:
    found = scene.book.resume(words.name, scene.now)
    one = found.schedule
    return ScheduleAnswer(
        [f"resumed {one.name}; next {at_zone(found.at, one.zone)}"],
        {"name": one.name, "state": "active", "next": iso(found.at)},
    )


def removed(scene: ScheduleScene, words: Namespace) -> ScheduleAnswer:
    scene.book.remove(words.name)
    return ScheduleAnswer(
        [f"removed {on_one_line(words.name)} and its history"], {"name": words.name, "state": "removed"}
    )


def put_due(scene: ScheduleScene, words: Namespace) -> ScheduleAnswer:
    run = scene.book.put_due(words.name, scene.now)
    line = f"{run.schedule} is due; the next worker runs it: quintet schedule work --once"
    return ScheduleAnswer([line], _run_data(run))


def history(scene: ScheduleScene, words: Namespace) -> ScheduleAnswer:
    runs = scene.book.history(words.name, "" if words.all else scene.project, words.number)
    data = [_run_data(run) for run in runs]
    if not runs:
        return ScheduleAnswer(["nothing has run yet"], data)
    zones = {one.name: one.zone for one in scene.book.store.schedules()}
    rows = [
        (
            run.schedule,
            at_zone(run.due_at, zones.get(run.schedule, "UTC")),
            zones.get(run.schedule, "UTC"),
            outcome(run),
            f"{run.consumed_at - run.dispatched_at} s" if run.consumed_at and run.dispatched_at else "",
            run.session,
            on_one_line(run.reason),
        )
        for run in runs
    ]
    return ScheduleAnswer(table(rows, heading=("NAME", "DUE", "ZONE", "RESULT", "TOOK", "SESSION", "REASON")), data)


def work_of(words: Namespace, text: str, directory: str, axes: Axes) -> ScheduledWork:
    return ScheduledWork(
        text=text,
        directory=directory,
        work_mode=axes.work_mode,
        run_control=axes.run_control,
        permission_profile=axes.permission_profile,
        model_mode=axes.model_mode,
        control_given=turned(words).run_control is not None,
        agent=words.agent,
        model=words.model,
        max_turns=words.max_turns,
        max_cost=words.max_cost,
    )


# ── what they take


def _takes_add(parser: ArgumentParser) -> None:
    parser.usage = '%(prog)s WHEN [flags] -- "TEXT or /command"'
    parser.epilog = f"for example: {EXAMPLE}"
    parser.add_argument("when", nargs="*", metavar="WHEN", help="weekdays 07:30, every 30m, in 2h, a cron line, …")
    parser.add_argument("--tz", default="", metavar="ZONE", help="time zone, as Europe/Berlin (default: the system's)")
    parser.add_argument("--name", default="", help="what to call it (default: s1, s2, …)")
    parser.add_argument("--missed", default="", metavar="POLICY", help="passed times: skip, once (default) or all")
    parser.add_argument("--until", default="", metavar="DATE", help="the last date it runs on")
    dial_flags(parser)
    parser.add_argument("--agent", default="", metavar="NAME|FILE", help="in an agent's session")
    parser.add_argument("--model", default="", metavar="NAME", help="one of your models, PRESET/MODEL or builtin")
    parser.add_argument("--max-turns", type=int, metavar="N", help="maximum number of model requests")
    parser.add_argument("--max-cost", type=float, metavar="MONEY", help="maximum cost")


def _takes_name(parser: ArgumentParser) -> None:
    parser.add_argument("name", metavar="NAME", help="as `quintet schedule list` shows it")


def _takes_all(parser: ArgumentParser) -> None:
    parser.add_argument("--all", action="store_true", help="of every project")


def _takes_number(parser: ArgumentParser) -> None:
    parser.add_argument("number", metavar="N", nargs="?", type=int, default=10, help="how many (default: 10)")
    _takes_all(parser)


def _takes_history(parser: ArgumentParser) -> None:
    parser.add_argument(
        "name", metavar="NAME", nargs="?", default="", help="of one schedule (default: of this project)"
    )
    parser.add_argument("-n", "--number", metavar="N", type=int, default=20, help="how many (default: 20)")
    _takes_all(parser)


class ScheduleWord(Struct, frozen=True):
    about: str
    run: Answering
    takes: Callable[[ArgumentParser], None]


WORDS: dict[str, ScheduleWord] = {
    "add": ScheduleWord("Run a request or a command at a set time.", add, _takes_add),
    "list": ScheduleWord("What is scheduled, its next time, and its last result.", listed, _takes_all),
    "next": ScheduleWord("The next times, of all schedules in order.", coming, _takes_number),
    "pause": ScheduleWord("Pause a schedule until it is resumed.", paused, _takes_name),
    "resume": ScheduleWord("Resume a paused schedule, with its next time.", resumed, _takes_name),
    "run": ScheduleWord("Run it now, in addition to its times.", put_due, _takes_name),
    "remove": ScheduleWord("Remove a schedule and its history.", removed, _takes_name),
    "history": ScheduleWord("What has run, when, how it ended, and in which session.", history, _takes_history),
}


def parsed(action: str, arguments: list[str], *, at_terminal: bool = True) -> Namespace:
    """The arguments of an action; the text of `add` is everything behind `--`."""
    word = WORDS[action]
    parser = word_parser(f"schedule {action}", word.about, at_terminal=at_terminal)
    word.takes(parser)
    parser.add_argument("--own", action="store_true", help="in this machine's own file, though a database is chosen")
    at = arguments.index("--") if "--" in arguments else len(arguments)
    found: Namespace = parser.parse_intermixed_args(arguments[:at])
    behind = arguments[at + 1 :]
    if behind and action != "add":
        raise UsageError(f"schedule {action} takes nothing behind --")
    found.text = " ".join(behind)
    return found


# ── how it is shown


def dials(work: ScheduledWork) -> str:
    return f"{work.work_mode} · {work.run_control} · {work.permission_profile} · {work.model_mode}"


def outcome(run: DueRun) -> str:
    """How a run went, in a word."""
    if run.status is DueStatus.DISPATCHED:
        return "running"
    if run.status is not DueStatus.CONSUMED:
        return str(run.status)
    return run.result if not run.exit_code else f"{run.result} (exit {run.exit_code})"


def _short(text: str) -> str:
    line = on_one_line(text)
    return line if len(line) <= SHOWN_TEXT else f"{line[: SHOWN_TEXT - 1]}…"


def _next(view: ScheduleView) -> str:
    if view.schedule.state is not ScheduleState.ACTIVE:
        return str(view.schedule.state)
    return at_zone(view.next, view.schedule.zone) if view.next is not None else ""


def _last(view: ScheduleView) -> str:
    return "running" if view.running else outcome(view.last) if view.last else ""


def _missed(word: str) -> MissedRuns:
    try:
        return MissedRuns(word.lower())
    except ValueError:
        raise UsageError(f"--missed {on_one_line(word)}: not one of {', '.join(MissedRuns)}") from None


def _schedule_data(one: Schedule) -> dict[str, Any]:
    found: dict[str, Any] = msgspec.to_builtins(one)
    return found | {"created": iso(one.created)}


def _view_data(view: ScheduleView) -> dict[str, Any]:
    last, running = view.last, view.running
    return {
        **_schedule_data(view.schedule),
        "next": iso(view.next) if view.next is not None else None,
        "last": _run_data(last) if last else None,
        "running": _run_data(running) if running else None,
    }


def _run_data(run: DueRun) -> dict[str, Any]:
    found: dict[str, Any] = msgspec.to_builtins(run)
    for key in ("due_at", "dispatched_at", "consumed_at", "expires_at"):
        found[key] = iso(found[key]) if found[key] else None
    return found
