"""Work mode repair: what the doctor finds is the work, a todo each.

What can be fixed by rule is fixed first. What is left goes to the model, in a turn that ends when the doctor finds
nothing more (`engine/turn/turn.py`); a request of the user's own stands before it, and ends the turn as any other.
Health before and after is told.
"""

from __future__ import annotations

from msgspec import structs

from quintet.domain.base.wording import counted
from quintet.domain.journal.protocol import Noticed, TodoMoved
from quintet.domain.tasks.health import Finding, compared, named, to_fix
from quintet.domain.turn.reports import Order
from quintet.domain.turn.todos import Todo, TodoStatus
from quintet.engine.cycle.doctor import WELL, fix_all
from quintet.engine.session.core import Core
from quintet.engine.session.journal import Journal
from quintet.engine.turn.gatekeeper import Blocked
from quintet.engine.turn.turn import Turn
from quintet.engine.turn.turn_runner import StepResult, Turns, TurnWork

GONE = "the doctor no longer finds it"


async def repair(core: Core, journal: Journal, turns: Turns, work: TurnWork) -> None:
    """One turn: begun by `/repair`, or by an input in that work mode."""
    repairing = Repairing(core, journal)
    left = await repairing.fix_by_rule()
    staged = core.turn.models.staged(journal.state.dials)
    if work.text or (left and staged):
        text = "\n\n".join(filter(None, (work.text, told(left) if staged else "")))
        still_wrong = None if work.text else repairing.fix_by_rule
        order = Order("repair", "" if work.text else named(left))
        if staged:
            repairing.list_todos(left)
        await turns.run(structs.replace(work, text=text, order=order, still_wrong=still_wrong))
        return

    async def step(turn: Turn) -> StepResult[None]:
        if left:
            raise Blocked(f"the offline rules cannot fix anything else. {told(left)}")
        return StepResult(WELL, None)

    await turns.run_step(work, step)


class Repairing:
    """The findings of one repair, from its beginning on."""

    def __init__(self, core: Core, journal: Journal) -> None:
        self._core = core
        self._journal = journal
        self._before: list[Finding] | None = None
        self._said = ""
        self._todos: dict[str, str] = {}  # a finding → the id of its todo

    async def fix_by_rule(self) -> list[Finding]:
        """Fix what can be fixed by rule; returns what is left."""
        cycle = self._core.cycle
        left = to_fix(await cycle.look().examined(thorough=True))
        if self._before is None:
            self._before = left
        if any(finding.fixable for finding in left):
            done, found = await fix_all(cycle.look, cycle.tasks(), self._core.store)
            for line in done:
                self._journal.post(Noticed(level="info", code="MENDED", text=f"fixed    {line}"))
            left = to_fix(found)
        self._verify_todos(left)
        said = compared(self._before, left)
        if self._before and said != self._said:
            self._said = said
            self._journal.post(Noticed(level="info", code="HEALTH", text=f"health {said}"))
        return left

    def list_todos(self, left: list[Finding]) -> None:
        """A todo for each finding that is left to the model."""
        first = 1 + max(map(int, self._journal.state.work.todos), default=0)
        for number, finding in enumerate(left, first):
            self._todos[_name(finding)] = str(number)
            todo = Todo(str(number), f"{_name(finding)}: {finding.told}")
            self._journal.post(TodoMoved(before="", todo=todo))

    def _verify_todos(self, left: list[Finding]) -> None:
        still = {_name(finding) for finding in left}
        for name, number in list(self._todos.items()):
            todo = self._journal.state.work.todos[number]
            if name not in still and todo.status is not TodoStatus.VERIFIED:
                over = structs.replace(todo, status=TodoStatus.VERIFIED, explanation=GONE, evidence=GONE)
                self._journal.post(TodoMoved(before=todo.status, todo=over))
                del self._todos[name]


def _name(finding: Finding) -> str:
    return f"{finding.code} {finding.subject}"


def told(findings: list[Finding]) -> str:
    """The findings as a turn is told of them; empty if there are none."""
    if not findings:
        return ""
    lines = [f"- {one.code} ({one.severity}, {one.scope}): {one.told}" for one in findings]
    return "\n".join([f"The doctor finds {counted(len(findings), 'problem')}:", *lines])
