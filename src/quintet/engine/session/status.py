"""Where a session and its project stand: what `/status` and `quintet status` say, as a value and as text."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct, structs

from quintet.domain.agents.run import RunMetadata
from quintet.domain.base.safe_text import on_one_line
from quintet.domain.base.wording import counted
from quintet.domain.dials import badge
from quintet.domain.dials.axes import Axes
from quintet.domain.dials.transitions import Transition
from quintet.domain.journal.session_summary import CycleBrief, SessionStatus, SessionSummary
from quintet.domain.permission.effects import PARTIAL_LEAVES, Sandbox
from quintet.domain.permission.opened_places import NOTHING_OPENED, OpenedPlaces
from quintet.domain.settings.settings import Settings
from quintet.domain.tasks.board import by_status
from quintet.domain.tasks.cycle_phases import TERMINAL
from quintet.domain.tasks.cycle_phases import WORDS as PHASE_WORDS
from quintet.domain.tasks.health import Finding, by_severity
from quintet.domain.tasks.limits import LimitUse, limit_uses, limit_words
from quintet.domain.tasks.order import next_task
from quintet.domain.tasks.roles import CycleRoles, roles_in_use
from quintet.domain.tasks.task import Task
from quintet.domain.turn.messages import Usage
from quintet.engine.session.queries import status_of


class StatusModel(Struct):
    in_use: str
    fast: str
    smart: str
    deep: str


class StatusRun(Struct):
    turns: int  # of the session
    steps: int  # model requests of the turn that is under way
    paused: bool
    active: RunMetadata | None  # a run of an agent's workflow, or a cycle


class NextTask(Struct):
    id: str
    title: str


class StatusTasks(Struct):
    counts: dict[str, int]  # how many tasks there are of each status that some have
    next: NextTask | None


class StatusLimits(Struct):
    """The settings `limits.*` as they are; 0 is no limit."""

    max_turns: int
    max_cost: float
    max_calls: int
    max_seconds: float
    input_bytes: int
    retries: int | None
    retry_seconds: float
    used: dict[str, LimitUse]  # by the name of the setting, those of `cycle.*` among them


class StatusCheckpoint(Struct):
    enabled: bool
    last: str | None  # the turn or rewind before which the newest was taken


class StatusAnswer(Struct):
    """Where a project and its foremost session stand."""

    project: str  # its folder
    name: str
    session: str | None
    status: SessionStatus
    live: bool  # a process owns it
    axes: Axes
    badge: str
    model: StatusModel
    sandbox: str
    loopback: str  # this machine's own ports, for commands with a network: open or closed
    trust: bool
    agent: str | None
    run: StatusRun
    cycle: CycleBrief | None  # the newest of the session
    roles: CycleRoles
    tasks: StatusTasks
    pending: tuple[Transition, ...]  # dials that wait to turn
    limits: StatusLimits
    health: dict[str, int]  # findings of a glance by severity; `quintet doctor` looks at everything
    checkpoint: StatusCheckpoint
    cost: float
    usage: Usage
    waiting: tuple[str, ...]  # the texts of open questions
    skipped: int  # calls of the newest run that nobody could approve
    trust_changes: tuple[str, ...] = ()  # what is new or changed since the folder was trusted
    opened: OpenedPlaces = NOTHING_OPENED  # what sandbox.show and sandbox.give open, and what of them is refused


def status(
    summary: SessionSummary,
    *,
    session: str | None,
    live: bool,
    project: str,
    name: str,
    settings: Settings,
    trusted: bool,
    sandbox: str,
    loopback_open: bool,
    tasks: Sequence[Task],
    findings: Sequence[Finding],
    opened: OpenedPlaces = NOTHING_OPENED,
) -> StatusAnswer:
    routing, cycle, following = settings.routing, summary.cycle, next_task(tasks)
    roles = roles_in_use(summary.executors, settings.cycle)
    if cycle and cycle.phase not in TERMINAL:
        roles = CycleRoles(cycle.planner, cycle.executor, cycle.verifier)
    return StatusAnswer(
        project=project,
        name=name,
        session=session,
        status=status_of(summary, live) if session else summary.status,
        live=live,
        axes=summary.axes,
        badge=badge.full(summary.axes, paused=summary.paused),
        model=StatusModel(
            routing.model(summary.axes.model_mode, summary.model),
            routing.model("fast"),
            routing.smart,
            routing.model("deep"),
        ),
        sandbox=sandbox,
        loopback="open" if loopback_open else "closed",
        trust=trusted,
        agent=summary.agent or None,
        run=StatusRun(summary.turns, summary.steps, summary.paused, summary.run),
        cycle=cycle,
        roles=roles,
        tasks=StatusTasks(by_status(tasks), NextTask(following.id, following.title) if following else None),
        pending=summary.pending,
        limits=StatusLimits(
            **structs.asdict(settings.limits), used={use.name: use for use in limit_uses(summary, settings)}
        ),
        health=by_severity(findings),
        checkpoint=StatusCheckpoint(settings.checkpoints.enabled, summary.checkpoint or None),
        cost=summary.cost,
        usage=summary.usage,
        waiting=summary.waiting,
        skipped=summary.skipped,
        opened=opened,
    )


def status_lines(answer: StatusAnswer) -> list[str]:
    limits, model, usage = answer.limits, answer.model, answer.usage
    budget = f" of {limits.max_cost:g}" if limits.max_cost else ""
    session = f"{answer.session}  {answer.status}" if answer.session else "none yet"
    session += " (live)" if answer.live else ""
    rows = [
        ("session", f"{session}  turns {answer.run.turns}"),
        ("model", f"{_model_words(model.in_use)}   fast {model.fast} · smart {model.smart} · deep {model.deep}"),
        ("roles", " · ".join(f"{role} {who}" for role, who in structs.asdict(answer.roles).items())),
        ("cost", f"{answer.cost:.4f}{budget}   {usage.input_tokens} tokens in, {usage.output_tokens} out"),
        ("limits", limit_words(list(limits.used.values()))),
        ("tasks", _task_words(answer.tasks)),
        ("health", _health_words(answer.health)),
        ("sandbox", f"{sandbox_words(answer.sandbox)}   trust {_trust_words(answer)}"),
        *([("opened", words)] if (words := opened_words(answer.opened)) else []),
        ("network", network_words(answer.loopback == "open")),
        ("waiting", "; ".join(answer.waiting) or "nothing"),
    ]
    if answer.skipped:
        many = counted(answer.skipped, "call")
        rows.append(("skipped", f"{many} that nobody could approve; quintet sessions show {answer.session}"))
    if answer.agent:
        run = answer.run.active
        following = f"   run {run.run_id}, {run.workflow_ref}, {run.phase}" if run else ""
        rows.append(("agent", f"{answer.agent}{following}"))
    if answer.cycle:
        rows.append(("cycle", cycle_line(answer.cycle, paused=answer.run.paused)))
    rows += [("pending", f"{', '.join(t.change.values().values())}  {t.scope}") for t in answer.pending]
    head = f"{on_one_line(answer.name)}  {on_one_line(answer.project)}   {answer.badge}"
    return [head, *(f"{name:<10}{value}" for name, value in rows)]


def _task_words(tasks: StatusTasks) -> str:
    counts = " · ".join(f"{number} {status}" for status, number in tasks.counts.items())
    return (counts or "none") + (f"   next {tasks.next.id} {tasks.next.title}" if tasks.next else "")


def _health_words(health: dict[str, int]) -> str:
    words = {"error": "error", "warning": "warning", "info": "note"}
    found = [counted(number, words[severity]) for severity, number in health.items() if number]
    return f"{', '.join(found) or 'no problems found'} · quintet doctor checks everything"


def _trust_words(answer: StatusAnswer) -> str:
    changed = len(answer.trust_changes)
    return f"yes, except {changed} new or changed" if changed else "yes" if answer.trust else "no"


def sandbox_words(kind: str) -> str:
    """Which one, and what it leaves open to a command that was approved."""
    return f"{kind} ({PARTIAL_LEAVES})" if kind == Sandbox.PARTIAL else kind


def opened_words(opened: OpenedPlaces) -> str:
    """What the user's settings show and give to sandboxed programs, and what of that is not followed."""
    return " · ".join(filter(None, (opened.words(), *opened.warnings())))


def network_words(loopback_open: bool) -> str:
    """What a command that may use the network reaches here."""
    state = "open" if loopback_open else "closed"
    return f"this machine's own ports (localhost) are {state} for commands with network access"


def cycle_line(cycle: CycleBrief, *, paused: bool = False) -> str:
    """Where a cycle stands, in a line."""
    unit = f"task {cycle.current}/{cycle.total} {cycle.title}" if cycle.task else ""
    phase = PHASE_WORDS[cycle.phase]
    status = "paused" if paused and cycle.status == "running" else cycle.status
    state = ", ".join(dict.fromkeys((status, phase, f"iteration {cycle.iteration}")))
    why = cycle.reason.partition("\n")[0]
    return "   ".join(part for part in (state, unit, counted(cycle.units, "attempt"), why) if part)


def _model_words(name: str) -> str:
    return "offline rules (builtin)" if name == "builtin" else name
