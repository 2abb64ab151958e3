"""The model's checklist: TodoCreate, TodoRead, TodoStart, TodoClaim, TodoVerify."""

from __future__ import annotations

from typing import Any

from quintet.domain.base.errors import QuintetError
from quintet.domain.base.wording import counted
from quintet.domain.permission.effects import Effect
from quintet.domain.ports.ports import PullRequests, Workbench
from quintet.domain.turn import todos as checklist
from quintet.domain.turn.todos import Check, Criterion, Draft, Todo, TodoStatus
from quintet.domain.turn.tool_spec import CallStatus, ToolResult, Touch
from quintet.tools.declare import tool

COMMAND_SECONDS = 30.0
LONGEST_FINDING = 300  # characters of a command's last line


@tool(effects=set())
async def TodoCreate(bench: Workbench, todos: tuple[Draft, ...]) -> ToolResult:
    """Put todos on your checklist. Give each criteria that show it is done; TodoVerify checks them.

    :todos: what is to be done, each with its content and criteria
    """
    made = checklist.create(bench.turn.todos, todos)
    return ToolResult(checklist.listed(made), summary=counted(len(made), "todo"), todos=made)


@tool(effects=set())
async def TodoRead(bench: Workbench) -> ToolResult:
    """Show your checklist: each todo with its status, criteria and findings."""
    text = checklist.listed(bench.turn.todos.values()) or "there are no todos yet; create them with TodoCreate"
    return ToolResult(text, summary=counted(len(bench.turn.todos), "todo"))


@tool(effects=set(), wire={"todo_id": "id"})
async def TodoStart(bench: Workbench, todo_id: str | int) -> ToolResult:
    """Begin a pending todo.

    :id: its number
    """
    return _moved(checklist.start(bench.turn.todos, str(todo_id)))


@tool(effects=set(), wire={"todo_id": "id"})
async def TodoClaim(bench: Workbench, todo_id: str | int, explanation: str, evidence: str = "") -> ToolResult:
    """Say that a todo in progress is done. A claim is not done yet: TodoVerify checks it.

    :id: its number
    :explanation: what was done and what shows it, at least 20 characters
    :evidence: output, paths or commits that show it
    """
    return _moved(checklist.claim(bench.turn.todos, str(todo_id), explanation, evidence))


def _verifies(arguments: dict[str, Any]) -> Touch:
    return Touch(frozenset(), verifies=str(arguments["todo_id"]))


@tool(effects=set(Effect), touch=_verifies, wire={"todo_id": "id"}, needs=("bash",))
async def TodoVerify(bench: Workbench, todo_id: str | int) -> ToolResult:
    """Check a claimed todo against its criteria: it is verified if all of them hold, else it stays claimed.

    :id: its number
    """
    todo = checklist.claimed(bench.turn.todos, str(todo_id))
    checks = [await _checked(bench, criterion) for criterion in todo.criteria]
    after = checklist.verified(todo, tuple(checks))
    if after.status is TodoStatus.VERIFIED:
        text, status = f"todo {todo.id} is verified", CallStatus.OK
    elif checks:
        text, status = f"todo {todo.id} stays claimed: fix what fails, then verify it again", CallStatus.ERROR
    else:
        text, status = f"todo {todo.id} stays claimed: it has no criteria to verify it by", CallStatus.ERROR
    held = sum(check.held for check in checks)
    return ToolResult(
        "\n".join([text, *map(str, checks)]), status, summary=f"{held} of {len(checks)} passed", todos=(after,)
    )


def _moved(todo: Todo) -> ToolResult:
    return ToolResult(f"todo {todo.id} is {todo.status}: {todo.content}", summary=todo.status, todos=(todo,))


async def _checked(bench: Workbench, criterion: Criterion) -> Check:
    try:
        held, finding = await _found(bench, criterion)
    except FileNotFoundError:
        held, finding = False, "there is no such file"
    except QuintetError as error:
        held, finding = False, str(error)
    except OSError as error:
        held, finding = False, error.strerror or str(error)
    return Check(criterion, held, finding)


async def _found(bench: Workbench, criterion: Criterion) -> tuple[bool, str]:
    """Whether a criterion holds, and what shows it."""
    match criterion.type:
        case "command_exit_zero":
            return await _exits_zero(bench, criterion.command)
        case "file_exists":
            return True, f"a {bench.files.info(criterion.path).kind} is there"
        case "file_contains":
            held = criterion.text in bench.files.read(criterion.path).decode("utf-8", "replace")
            return held, "the text is there" if held else "the text is not in it"
        case "pr_exists":
            forge: PullRequests = bench.service("forge")
            return True, await forge.pull_request(criterion.repo, criterion.pull_number, bench.progress)
        case _:
            return False, checklist.unknown_type(criterion)


async def _exits_zero(bench: Workbench, command: str) -> tuple[bool, str]:
    done = await bench.processes.run(
        ("bash", "-c", command),
        cwd=bench.root,
        grant=bench.grant,
        timeout=COMMAND_SECONDS,
        on_output=bench.progress,
    )
    if done.timed_out:
        return False, f"killed after {COMMAND_SECONDS:g} s"
    last = done.output.rstrip().rpartition("\n")[2][-LONGEST_FINDING:]
    return done.exit_code == 0, f"exit {done.exit_code}{f': {last}' if last else ''}"
