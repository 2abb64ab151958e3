"""The slash commands on durable tasks and health: loaded when one of them is given."""

from __future__ import annotations

from msgspec import structs

from quintet.domain.base.errors import QuintetError, UsageError
from quintet.domain.base.wording import did_you_mean
from quintet.domain.dials.transitions import Scope
from quintet.domain.input.slash_line import CommandLine
from quintet.domain.journal.describe import task_moved
from quintet.domain.journal.protocol import Noticed
from quintet.domain.journal.session_summary import summarise
from quintet.domain.journal.turn_state import SHELL_ENDED
from quintet.domain.tasks.board import UnderWay, board, board_lines, last_lines, moment, seen_here
from quintet.domain.tasks.limits import costs_of
from quintet.domain.tasks.order import blocked_by
from quintet.engine.commands.work import repair
from quintet.engine.cycle import task_tables as shown
from quintet.engine.cycle.context import task_moved as task_moved_event
from quintet.engine.cycle.doctor import fix_all, health_lines, preview_lines
from quintet.engine.session.command_context import CommandContext, CommandOutcome

SHELL_LINES = 40  # of what a shell printed, the last
NOTHING_PRINTED = "no output yet"


async def tasks(context: CommandContext, line: CommandLine) -> CommandOutcome:
    match line.words:
        case ("move", *words):
            return await _move(context, words)
        case ("show", *words):
            return _show(context, words)
        case ("end", *words):
            return await _end(context, words)
        case () if context.core.commands.under_way:
            return CommandOutcome(_board(context, context.core.commands.under_way()))
    wanted = [shown.parse_status(word) for word in line.words]
    keeper = context.core.cycle.tasks()
    every = keeper.look().tasks
    tasks = shown.chosen(every, wanted)
    lines = shown.list_lines(every, tasks, shown.reasons_of(tasks, keeper.moves))
    return CommandOutcome("\n".join(lines) or shown.nothing_shown(every, wanted))


def _board(context: CommandContext, stored: UnderWay) -> str:
    """Everything that is under way, as this session sees it."""
    core, state = context.core, context.state
    here = seen_here(stored, state.session, state.questions.values(), core.turn.toolbox.outside.shells())
    costs = costs_of(summarise(state), core.settings)
    rows = core.commands.board_rows()
    view = board(here, state.session, costs=costs, checkpoint=_last_checkpoint(context), of_features=rows)
    there = any(not task.put_away for task in stored.tasks)
    lines = board_lines(view)
    if not there:
        gap = [""] if view.entries or view.costs else []
        lines = [shown.nothing_shown(stored.tasks, ()), *gap, *lines]
    return "\n".join(lines)


def _last_checkpoint(context: CommandContext) -> str:
    store, session = context.core.store, context.state.session
    newest = store.last_of_type(session, "checkpoint_taken")
    taken = store.read(session, newest - 1, newest) if newest else []
    return moment(taken[0].at) if taken else ""


def _shells(context: CommandContext) -> list[str]:
    return [shell.name for shell in context.core.turn.toolbox.outside.shells()]


def _show(context: CommandContext, words: list[str]) -> CommandOutcome:
    if len(words) != 1:
        raise UsageError(
            "/tasks show ID, for example /tasks show task-001; ID can also be the number of a background shell"
        )
    keeper, wanted = context.core.cycle.tasks(), words[0]
    every = keeper.look().tasks
    task = next((task for task in every if task.id == wanted), None)
    if task:
        moves, waits_for = keeper.moves(task.id), blocked_by(every).get(task.id, ())
        return CommandOutcome("\n".join(shown.show_lines(task, moves, waits_for, keeper.holder(task.id))))
    if wanted in _shells(context):
        printed = last_lines(context.core.turn.toolbox.outside.shell_log(wanted), SHELL_LINES)
        return CommandOutcome("\n".join(printed) or NOTHING_PRINTED)
    known = [*(task.id for task in every), *_shells(context)]
    raise UsageError(f"there is no task or shell {wanted}.{did_you_mean(wanted, known)}")


async def _end(context: CommandContext, words: list[str]) -> CommandOutcome:
    """End a background shell of this session."""
    running = _shells(context)
    if len(words) != 1:
        raise UsageError("/tasks end SHELL, for example /tasks end 1")
    if words[0] not in running:
        there = f"running: {', '.join(running)}" if running else "none is running"
        raise UsageError(f"there is no shell {words[0]}; {there}")
    await context.core.turn.toolbox.end_shell(words[0], "ended by the user")
    said = f"background shell {words[0]} was ended by /tasks end"
    ended = Noticed(level="info", code=SHELL_ENDED, text=said, shell=words[0])
    return CommandOutcome(said, [ended], data={"shell": words[0]})


async def _move(context: CommandContext, words: list[str]) -> CommandOutcome:
    if len(words) != 2:
        raise UsageError("/tasks move ID STATUS, for example /tasks move task-001 paused")
    try:
        after = shown.parse_status(words[1])
        task, move = await context.core.cycle.tasks().move(words[0], after, "/tasks move", scope=Scope.NOW)
    except UsageError:
        raise
    except QuintetError as error:  # nothing of the session's is wrong: it is the command that cannot be done
        raise UsageError(error.message, hint=error.hint) from error
    event = task_moved_event(task, move)
    return CommandOutcome(task_moved(event), [event], data={"task": task.id})


def queue(context: CommandContext, line: CommandLine) -> CommandOutcome:
    every = context.core.cycle.tasks().look().tasks
    return CommandOutcome("\n".join(shown.queue_lines(every)) or ("no task is open" if every else shown.NONE_YET))


async def doctor(context: CommandContext, line: CommandLine) -> CommandOutcome:
    """Inspect, show what a fix would do, or fix by rule; `heal` is `/repair`."""
    cycle = context.core.cycle
    match line.words:
        case ("heal",):
            return repair(context, structs.replace(line, words=()))
        case ("fix",):
            done, left = await fix_all(cycle.look, cycle.tasks(), context.core.store)
            return CommandOutcome("\n".join([*done, *health_lines(left)]))
        case ("preview",):
            return CommandOutcome("\n".join(preview_lines(await cycle.look().examined(thorough=True))))
        case ():
            return CommandOutcome("\n".join(health_lines(await cycle.look().examined(thorough=True))))
    raise UsageError("/doctor [preview|fix|heal]")
