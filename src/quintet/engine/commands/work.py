"""The slash commands that begin work of one kind: the user's own request turns the work mode and asks for a report."""

from __future__ import annotations

from collections.abc import Sequence

from quintet.domain.base.errors import UsageError
from quintet.domain.dials.axes import AxesChange, WorkMode, merge
from quintet.domain.dials.transitions import Scope
from quintet.domain.input.slash_line import CommandLine
from quintet.domain.turn import review_subject as subjects
from quintet.domain.turn.reports import Order
from quintet.engine.commands.dials import flag_changes, turn_dials
from quintet.engine.session.command_context import BeginWork, CommandContext, CommandOutcome


async def review(context: CommandContext, line: CommandLine) -> CommandOutcome:
    if len(line.words) > 1:
        raise UsageError("/review takes one word: working-tree, a range like main..HEAD, a branch, or a pull request")
    wanted = line.words[0] if line.words else subjects.WORKING_TREE
    subject = await context.core.turn.repository.subject(wanted)
    order = Order("review", subject.name, subject.revision)
    said = f"review of {subject.name}: {subjects.size(subject)}"
    request = "\n\n".join(filter(None, (subjects.as_request(subject), line.details.strip())))
    return begin_work(context, WorkMode.REVIEW, said, BeginWork(request, order))


def research(context: CommandContext, line: CommandLine) -> CommandOutcome:
    question = "\n".join(filter(None, (*line.words, line.details.strip())))
    if not question:
        raise UsageError("/research QUESTION: say what to find out")
    beginning = BeginWork(question, Order("research", question))
    return begin_work(context, WorkMode.RESEARCH, "research starts", beginning)


def repair(context: CommandContext, line: CommandLine) -> CommandOutcome:
    """What the doctor finds is the work; with words, they are, beside it."""
    text = "\n".join(filter(None, (" ".join(line.words), line.details.strip())))
    beginning = BeginWork(text, Order("repair", ""))
    return begin_work(context, WorkMode.REPAIR, "repair starts", beginning, flag_changes(line))


def begin_work(
    context: CommandContext,
    work_mode: WorkMode,
    said: str,
    beginning: BeginWork,
    changes: Sequence[AxesChange] = (),
) -> CommandOutcome:
    """The work mode, and other dials with it, turn before the turn begins: at once, or when the one that runs ends."""
    wanted = merge([AxesChange(work_mode=work_mode), *changes])
    there = wanted.applied_to(context.state.axes) == context.state.axes and not context.state.dials.pending
    outcome = CommandOutcome() if there else turn_dials(context, wanted, Scope.AFTER_CURRENT_UNIT, f"/{work_mode}")
    outcome.text = f"{outcome.text}\n{said}".lstrip("\n")
    outcome.begins = beginning
    return outcome
