"""The model's own checklist: pending → in_progress → claimed → verified, one step at a time.

A claim is not done: only criteria that were checked, and held, make a todo verified. Each function returns the todo as
it is after its move, or fails with what to do instead.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import Annotated

from msgspec import Meta, Struct, structs

from quintet.domain.base.errors import ToolFailed

SHORTEST_EXPLANATION = 20  # characters


class TodoStatus(StrEnum):
    PENDING = "pending"
    IN_PROGRESS = "in_progress"
    CLAIMED = "claimed"
    VERIFIED = "verified"


SHOWN = frozenset({TodoStatus.CLAIMED, TodoStatus.VERIFIED})  # with an explanation and evidence
# What each criterion has to say. A type that is not here is kept as it is, and fails when it is checked.
NEEDS: dict[str, tuple[str, ...]] = {
    "command_exit_zero": ("command",),
    "file_exists": ("path",),
    "file_contains": ("path", "text"),
    "pr_exists": ("repo", "pull_number"),
}
_TYPES = ", ".join(f"{kind} ({', '.join(needs)})" for kind, needs in NEEDS.items())
_NEXT = {TodoStatus.PENDING: "TodoStart", TodoStatus.IN_PROGRESS: "TodoClaim", TodoStatus.CLAIMED: "TodoVerify"}


class Criterion(Struct, frozen=True, gc=False, omit_defaults=True):
    """One thing that has to hold; its type says which of the other fields it needs."""

    type: str
    command: str = ""
    path: str = ""
    text: str = ""
    repo: str = ""
    pull_number: int = 0

    def __str__(self) -> str:
        values = [str(getattr(self, name)) for name in NEEDS.get(self.type, ())]
        return f"{self.type} {' '.join(values)}".strip()


class Check(Struct, frozen=True, gc=False):
    """What came out when a criterion was checked."""

    criterion: Criterion
    held: bool
    finding: str

    def __str__(self) -> str:
        return f"{'holds' if self.held else 'fails'}: {self.criterion}: {self.finding}"


class Todo(Struct, frozen=True, gc=False):
    id: str
    content: str
    status: TodoStatus = TodoStatus.PENDING
    criteria: tuple[Criterion, ...] = ()
    explanation: str = ""  # of the claim
    evidence: str = ""
    checks: tuple[Check, ...] = ()  # of the latest verification


class Draft(Struct, frozen=True, forbid_unknown_fields=True):
    """A todo as a model asks for it."""

    content: Annotated[str, Meta(description="what is to be done")]
    criteria: Annotated[tuple[Criterion, ...], Meta(description=f"what has to hold when it is done: {_TYPES}")] = ()


def create(todos: Mapping[str, Todo], drafts: Iterable[Draft]) -> tuple[Todo, ...]:
    first = 1 + max((int(known) for known in todos), default=0)
    made = tuple(
        Todo(str(number), draft.content, criteria=draft.criteria) for number, draft in enumerate(drafts, first)
    )
    if not made:
        raise ToolFailed("todos is empty: give at least one, with content and criteria")
    for place, todo in enumerate(made, 1):
        if not todo.content.strip():
            raise ToolFailed(f"todo {place} of {len(made)} has no content: say what to do")
        for criterion in todo.criteria:
            _check_form(criterion, f"todo {place} of {len(made)}")
    return made


def _check_form(criterion: Criterion, place: str) -> None:
    for name in NEEDS.get(criterion.type, ()):
        value = getattr(criterion, name)
        if not value:
            raise ToolFailed(f"{place}: criterion {criterion.type} needs {name}")
        if name != "text" and "\0" in str(value):
            raise ToolFailed(f"{place}: {name} contains a NUL character, which is not allowed in a path or command")


def start(todos: Mapping[str, Todo], todo_id: str) -> Todo:
    return structs.replace(_at(todos, todo_id, TodoStatus.PENDING), status=TodoStatus.IN_PROGRESS)


def claim(todos: Mapping[str, Todo], todo_id: str, explanation: str, evidence: str) -> Todo:
    todo = _at(todos, todo_id, TodoStatus.IN_PROGRESS)
    if len(explanation.strip()) < SHORTEST_EXPLANATION:
        raise ToolFailed(
            f"the explanation has {len(explanation.strip())} characters; at least {SHORTEST_EXPLANATION} "
            "are needed: say what was done and what shows it"
        )
    return structs.replace(todo, status=TodoStatus.CLAIMED, explanation=explanation, evidence=evidence)


def claimed(todos: Mapping[str, Todo], todo_id: str) -> Todo:
    """The todo, if it is the turn of its verification."""
    return _at(todos, todo_id, TodoStatus.CLAIMED)


def verified(todo: Todo, checks: tuple[Check, ...]) -> Todo:
    """The claimed todo with what was found: verified if there were criteria and all held, else still claimed."""
    held = bool(checks) and all(check.held for check in checks)
    return structs.replace(todo, status=TodoStatus.VERIFIED if held else TodoStatus.CLAIMED, checks=checks)


def _at(todos: Mapping[str, Todo], todo_id: str, wanted: TodoStatus) -> Todo:
    todo = todos.get(todo_id)
    if todo is None:
        there = f"todos: {', '.join(todos)}" if todos else "there are none yet; create them with TodoCreate"
        raise ToolFailed(f"there is no todo {todo_id}; {there}")
    if todo.status is not wanted:
        order = list(TodoStatus)
        early = order.index(todo.status) < order.index(wanted)
        following = _NEXT.get(todo.status)
        what_now = f"{following} comes {'first' if early else 'next'}" if following else "nothing is left to do"
        raise ToolFailed(f"todo {todo_id} is {todo.status}: {what_now}")
    return todo


def listed(todos: Iterable[Todo]) -> str:
    """The checklist as a model reads it."""
    lines: list[str] = []
    for todo in todos:
        lines.append(f"{todo.id}  {todo.status}  {todo.content}")
        lines += [f"     {check}" for check in todo.checks]
        if not todo.checks:
            lines += [f"     {criterion}{_warned(criterion)}" for criterion in todo.criteria]
        if todo.explanation:
            lines.append(f"     claim: {todo.explanation}")
        if todo.evidence:
            lines.append(f"     evidence: {todo.evidence}")
    return "\n".join(lines)


def unknown_type(criterion: Criterion) -> str:
    return f"there is no criterion {criterion.type}; use one of {', '.join(NEEDS)}"


def _warned(criterion: Criterion) -> str:
    return "" if criterion.type in NEEDS else f"  (will fail: {unknown_type(criterion)})"
