"""The slash commands on durable tasks and health: loaded when one of them is given."""

from __future__ import annotations

from quintet.domain.base.errors import QuintetError, UsageError
from quintet.domain.base.wording import did_you_mean
from quintet.domain.dials.transitions import Scope
from quintet.domain.input.slash_line import CommandLine
from quintet.domain.journal.describe import task_moved
from quintet.domain.tasks.order import blocked_by
from quintet.engine.cycle import task_tables as shown
from quintet.engine.cycle.context import task_moved as task_moved_event
from quintet.engine.cycle.doctor import fix, health_lines
from quintet.engine.session.command_context import CommandContext, CommandOutcome


async def tasks(context: CommandContext, line: CommandLine) -> CommandOutcome:
    if line.words[:1] == ("move",):
        return await _move(context, line.words[1:])
    if line.words[:1] == ("show",):
        return _show(context, line.words[1:])
    wanted = [shown.parse_status(word) for word in line.words]
    every = context.core.cycle.tasks().look().tasks
    lines = shown.list_lines(every, shown.chosen(every, wanted))
    return CommandOutcome("\n".join(lines) or shown.nothing_shown(every, wanted))


def _show(context: CommandContext, words: tuple[str, ...]) -> CommandOutcome:
    if len(words) != 1:
        raise UsageError("/tasks show ID, for example /tasks show task-001")
    keeper = context.core.cycle.tasks()
    every = keeper.look().tasks
    task = next((task for task in every if task.id == words[0]), None)
    if task is None:
        raise UsageError(f"there is no task {words[0]}.{did_you_mean(words[0], [task.id for task in every])}")
    moves, waits_for = keeper.store.moves(task.id), blocked_by(every).get(task.id, ())
    return CommandOutcome("\n".join(shown.show_lines(task, moves, waits_for, keeper.holder(task.id))))


async def _move(context: CommandContext, words: tuple[str, ...]) -> CommandOutcome:
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
    if line.words not in ((), ("fix",)):
        raise UsageError("/doctor [fix]")
    done = await fix(context.core.cycle.look(), context.core.cycle.tasks(), context.core.store) if line.words else []
    findings = await context.core.cycle.look().examined()
    return CommandOutcome("\n".join([*done, *health_lines(findings)]))
