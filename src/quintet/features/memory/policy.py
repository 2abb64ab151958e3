"""When something may be written, and what: decided from what a run shows, without a model.

Only two things open the memory: work that was delivered with evidence, and a decision that the user took. Nothing is
taken from what tools gave back, from pages or from the model's answer. A command is named only if it is a plain line,
and a file only if its name is one word, so that neither carries a sentence of somebody else's.
"""

from __future__ import annotations

from enum import StrEnum

from quintet.domain.base.lazy_regex import regex
from quintet.domain.base.safe_text import on_one_line
from quintet.domain.base.wording import counted, few, first_line, word_set
from quintet.domain.memory.shown import PlanShown, RunShown, TaskShown
from quintet.domain.permission.effects import Effect
from quintet.domain.tasks.roles import NATIVE
from quintet.domain.turn.delivery import DeliveryState, RanCall, evidence
from quintet.domain.turn.messages import EndStatus
from quintet.domain.turn.swe_phases import masks_failure, names_test
from quintet.domain.turn.tool_spec import CallStatus
from quintet.features.memory.values import CommandCheck, MemoryCheck, NewMemory, PathCheck, Tier

SHELL = "bash"
MOST_LINE = 120  # characters of a command that is a fact
MOST_SAID = 160  # of a request, or of a question and its answer
MOST_TITLES = 6
MOST_EVIDENCE = 3
MOST_PLAIN = 12  # words of it
MOST_BARE = 4  # of those after the first that are letters alone
MOST_NAME = 120  # characters of a file's path
_PLAIN = regex(r"[\w./:=@%+,-]+(?: [\w./:=@%+,-]+)*")
_BARE = regex(r"[^\W\d_]+,?")
_NAME = regex(r"[\w./@%+,-]+")
_PROSE = word_set(  # no command has them for a word of its own
    "always approval approved are as be been because can decided does ever ignore is it may must need needs never no "
    "not our remember said says should so that the this user was when which who will without you your"
)
_CHANGING = frozenset({Effect.EDIT, Effect.DESTROY, Effect.INSTALL, Effect.COMMIT, Effect.PUBLISH})


class Occasion(StrEnum):
    """What lets something be written."""

    DELIVERED = "delivered"  # a turn, with evidence
    VERIFIED = "verified"  # a task of a cycle, with evidence
    ACCEPTED = "accepted"  # a plan, by the user
    ANSWERED = "answered"  # a question, by the user


def occasions(shown: RunShown) -> tuple[Occasion, ...]:
    """Empty: nothing is written."""
    if shown.plan:
        return (Occasion.ACCEPTED,) if shown.plan.titles else ()
    if shown.task:
        return (Occasion.VERIFIED,) if shown.task.command or shown.task.files else ()
    if shown.status is not EndStatus.DONE:
        return ()
    delivered = shown.delivery is DeliveryState.DONE and not shown.skipped and bool(evidence(shown.calls))
    failed = shown.delivery is DeliveryState.NEEDS_WORK
    found = [
        Occasion.DELIVERED if delivered else None,
        Occasion.ANSWERED if shown.asked.strip() and shown.text.strip() and not failed else None,
    ]
    return tuple(one for one in found if one)


def proposed(shown: RunShown) -> list[NewMemory]:
    """What the occasions let be written of a run."""
    found: list[NewMemory] = []
    for occasion in occasions(shown):
        match occasion:
            case Occasion.DELIVERED:
                found += [*map(_command, _checks(shown.calls)), _outcome(shown)]
            case Occasion.VERIFIED if shown.task:
                found += _of_task(shown.task)
            case Occasion.ACCEPTED if shown.plan:
                found.append(_of_plan(shown.plan))
            case Occasion.ANSWERED:
                text = f'asked "{_short(shown.asked)}", the user answered "{_short(shown.text)}"'
                found.append(NewMemory(Tier.DECISION, text, "the user's answer"))
    return found


def _checks(calls: tuple[RanCall, ...]) -> list[str]:
    """The lines that build or test, whose latest run succeeded."""
    latest = {call.about: call for call in calls if call.tool == SHELL}
    return [line for line, call in latest.items() if _proves(line, call)]


def _proves(line: str, call: RanCall) -> bool:
    effects = set(call.effects)
    checks = Effect.BUILD in effects or (Effect.EXECUTE in effects and names_test(line))
    worked = call.status is CallStatus.OK and not call.background
    return worked and checks and not effects & _CHANGING and is_plain(line)


def is_plain(line: str) -> bool:
    """Whether a line is short, and words and nothing else: no quotes, no joints, no variables, and no sentence."""
    short = len(line) <= MOST_LINE and len(line.split()) <= MOST_PLAIN
    return short and not masks_failure(line) and _PLAIN.fullmatch(line) is not None and not _is_sentence(line)


def _is_sentence(line: str) -> bool:
    bare = [word.rstrip(",").lower() for word in line.split()[1:] if _BARE.fullmatch(word)]
    return len(bare) > MOST_BARE or any(word in _PROSE for word in bare)


def is_name(path: str) -> bool:
    """Whether a path is one word, and not long."""
    return len(path) <= MOST_NAME and _NAME.fullmatch(path) is not None


def _command(line: str) -> NewMemory:
    does = "tests" if names_test(line) else "builds or checks"
    return NewMemory(Tier.FACT, f"`{line}` {does} the project", f"bash {line}: exit 0", CommandCheck(line))


def _outcome(shown: RunShown) -> NewMemory:
    tests = _checks(shown.calls)
    parts = [_short(shown.text), _changed(shown.files), f"checked with `{tests[-1]}`" if tests else ""]
    lines = [line if is_plain(line) else line.partition(" ")[0] for line in evidence(shown.calls)]
    return NewMemory(Tier.OUTCOME, "; ".join(filter(None, parts)), few(lines, MOST_EVIDENCE), _path(shown.files))


def _of_task(task: TaskShown) -> list[NewMemory]:
    plain = bool(task.command) and is_plain(task.command)
    by = "Quintet" if task.by == NATIVE else task.by
    verified = f"verified with `{task.command}`" if plain else f"verified by {by}"
    named = f"task {task.id}: {_short(task.title)}" if task.title else f"task {task.id}"
    parts = [named, _changed(task.files), verified]
    outcome = NewMemory(Tier.OUTCOME, "; ".join(filter(None, parts)), f"task_verified {task.id}", _path(task.files))
    return [_command(task.command), outcome] if plain and names_test(task.command) else [outcome]


def _of_plan(plan: PlanShown) -> NewMemory:
    titles = few([_short(title) for title in plan.titles], MOST_TITLES)
    return NewMemory(Tier.DECISION, f"plan accepted: {titles}"[:500], f"plan_accepted {plan.milestone}")


def _is_compiled(path: str) -> bool:
    return "__pycache__" in path.split("/")


def _changed(files: tuple[str, ...]) -> str:
    """What a run changed; a file whose name could say something is only counted, and what Python compiles is not."""
    files = tuple(one for one in files if not _is_compiled(one))
    named = [one for one in files if is_name(one)]
    shown = named[:MOST_EVIDENCE]
    if not shown:
        return f"changed {counted(len(files), 'file')}" if files else ""
    return f"changed {', '.join(shown)}" + (f" and {len(files) - len(shown)} more" if len(files) > len(shown) else "")


def _path(files: tuple[str, ...]) -> MemoryCheck | None:
    return next((PathCheck(one) for one in files if is_name(one) and not _is_compiled(one)), None)


def _short(text: str) -> str:
    line = on_one_line(first_line(text))
    return line if len(line) <= MOST_SAID else f"{line[: MOST_SAID - 1]}…"
