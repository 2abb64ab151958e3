"""Events as lines of text with colour roles: one voice for every surface that prints."""

from __future__ import annotations

from msgspec import Struct, json, structs

from quintet.domain.agents.agent import headline, numbered
from quintet.domain.agents.run import RunPhase
from quintet.domain.base.errors import ModelContextOverflow
from quintet.domain.base.safe_text import brief, exactly, on_one_line, visible
from quintet.domain.base.wording import counted, few, first_line
from quintet.domain.dials import badge
from quintet.domain.dials.transitions import REMOTE
from quintet.domain.edits.numbered_diff import numbered_files
from quintet.domain.journal import describe_cycle as cycle_words
from quintet.domain.journal import protocol as p
from quintet.domain.journal.reasons import Refuser, refusal_of, refuser_of
from quintet.domain.journal.turn_state import skipped_call
from quintet.domain.permission import rules
from quintet.domain.permission.gate import Verdict
from quintet.domain.permission.protection_notices import PUT_RIGHT
from quintet.domain.permission.question import split_detail
from quintet.domain.tasks.executors import STARTING
from quintet.domain.tasks.task import TaskStatus
from quintet.domain.turn import delivery
from quintet.domain.turn.messages import EndStatus
from quintet.domain.turn.skipped import SkippedCall, held_up, sentence
from quintet.domain.turn.swe_phases import PHASE_TOOLS
from quintet.domain.turn.todos import TodoStatus
from quintet.domain.turn.tool_menu import FINISH_STEP, META_TOOLS
from quintet.domain.turn.tool_spec import CallStatus

# A model finding its way, its last word, which the turn's end shows, and moves, which speak for themselves.
CHOICES_COLUMNS = 76
FEW_LINES = 12  # of a question, until what is said of it stands at its end once more
QUIET = frozenset({*META_TOOLS, *PHASE_TOOLS, FINISH_STEP, "TodoCreate", "TodoRead", "TodoStart", "TodoClaim"}) - {
    "analyze_test_failure"
}
# What a command did has an event that says it.
SPOKEN_FOR = frozenset({"axes", "pending", "compacted", "agent", "task", "shell"})
DIFF_ROLES = {"+": "success", "-": "error", "@": "info"}
MOST_LINES = 60  # of one tool's output


class Line(Struct, frozen=True):
    text: str
    role: str = ""  # dim, accent, success, warning, error, info, or none


def describe(recorded: p.Recorded) -> list[Line]:
    """What a person should see of an event; nothing for those that only matter to the journal."""
    return [Line(visible(line.text), line.role) for line in _words(recorded)]


def _words(recorded: p.Recorded) -> list[Line]:
    match recorded.event:
        case p.DialsTurned() as e:
            return [Line(f"{badge.full(e.after)}   {turned(e)}", badge.ROLES[e.after.work_mode])]
        case p.TransitionPending() as e:
            return [Line(f"pending  {badge.full(e.change.applied_to(e.axes))}   {e.scope}, by {e.actor}", "dim")]
        case p.TransitionDropped() as e:
            return [Line(f"removed  a pending transition: {e.reason}", "dim")]
        case p.CommandRan(line="interrupt", ok=True):
            return []  # the end of what it interrupts says it
        case p.CommandRan(data={"diff": _}) as e:
            return [Line(line, DIFF_ROLES.get(line[:1], "")) for line in e.text.split("\n")]
        case p.CommandRan() as e:
            text = e.text.partition("\n")[2] if SPOKEN_FOR & e.data.keys() else e.text
            return _lines(text, "" if e.ok else "error")
        case p.CallDecided() as e if call := skipped_call(e):
            return [Line(f"{sentence(call)} · quintet why {recorded.seq}", "warning")]
        case p.CallDecided() as e if e.verdict is Verdict.DENY:
            return [
                Line(f"not run  {e.tool} {brief(e.arguments)}", "warning"),
                Line(f"         {e.reason}", "warning"),
                Line(f"         dials {badge.full(e.axes)} · quintet why {recorded.seq}", "dim"),
            ]
        case p.ReasoningSwitched():
            return []  # the command that did it has spoken
        case p.Corrected() as e:
            return [Line(f"asked again  {e.kind.replace('_', ' ')}", "dim")]
        case p.AgentsPageTold() as e:
            return [Line(f"page     {on_one_line(e.path)}", "dim")]
        case p.Recalled() as e:
            return [Line(f"recalled {few([on_one_line(one) for one in e.sources], 3)}", "dim")]
        case p.DeliveryChecked() as e:
            return [Line(delivery.check_line(e.state, e.reason), "success" if e.state == "DONE" else "warning")]
        case p.QaReported() as e:
            return [Line(f"review   {e.report.heading} · /qa shows it", "dim")]
        case p.ReportMade() as e:
            return _report(e)
        case p.RuleMade() as e:
            back = (
                f"for this session, /rules revoke {e.rule.id}"
                if e.rule.session
                else f"quintet rules revoke {e.rule.id}"
            )
            return [Line(f"rule     {rules.describe(e.rule)} · {back}", "dim")]
        case p.RuleRevoked() as e:
            return [Line(f"rule     {e.rule} is revoked", "dim")]
        case p.ToolStarted(tool=tool) if tool in QUIET:
            return []
        case p.ToolStarted(tool=tool) as e if tool == STARTING:
            about = json.decode(e.arguments)
            again = f", attempt {about['attempt']}" if about["attempt"] > 1 else ""
            return [Line(f"▸ {about['executor']}: {about['role']}{again}", "accent")]
        case p.ToolStarted() as e:
            return [Line(f"▸ {e.tool} {brief(e.arguments)}{with_rights(e)}", "accent")]
        case p.ToolFinished() as e:
            return _finished(e)
        case p.ModelFailed() as e if e.error.code == ModelContextOverflow.code and e.retry_in is not None:
            return []  # the compaction that follows says it
        case p.ModelFailed() as e:
            again = f"; retrying in {e.retry_in:g} s" if e.retry_in is not None else ""
            return [Line(f"{e.error.code}: {e.error.message}{again}", "warning" if again else "error")]
        case p.QuestionAnswered() as e if e.closed:
            return [Line(f"question closed: {e.by}", "dim")]
        case p.QuestionAnswered(by=by) as e if by.startswith(REMOTE):
            return [Line(f"answered {e.choice}, by {by}", "dim")]
        case p.InputsHeld(submissions=held) as e:
            first = ", /resume first continues the interrupted turn" if e.reason == EndStatus.INTERRUPTED else ""
            return [Line(f"held     {counted(len(held), 'queued input')}; /queued run starts them{first}", "dim")]
        case p.RunPaused() | p.RunResumed():
            return []
        case p.TurnFinished() as e if e.status != EndStatus.DONE and not e.cycle:
            hint = _lines(e.error.hint, "dim") if e.error and e.error.hint else []
            return [Line(f"{e.status}: {e.reason}" if e.reason not in ("", e.status) else e.status, "warning"), *hint]
        case p.TodoMoved() as e:
            return _todo(e)
        case p.TaskMoved(run="") as e:
            return [Line(task_moved(e), "info")]
        case p.PhaseMoved() as e:
            return [Line(f"phase  {e.before or 'none'} → {e.after or 'none'}  {e.reason}", "info")]
        case p.HookRan() as e if e.blocked:
            return _lines(f"hook     {e.place} blocks: {e.reason}", "warning")
        case p.UserMessaged() as e:
            return _lines(e.text)
        case p.HistoryCompacted() as e:
            by = "" if e.shortened else f", by {e.by}"
            return [Line(f"compact  {compacted(e)}{by} ({e.reason})", "dim")]
        case p.AgentEntered() as e:
            return _entered(e)
        case p.AgentDismissed() as e:
            return [Line(f"{e.agent} was dismissed", "info")]
        case p.HelperAssigned() as e:
            return [Line(f"helper   {e.helper} of {e.parent}, for call {e.call}", "dim")]
        case p.DataLoaded() as e:
            return [Line(f"data     {e.path} ({e.format}), {len(e.text)} characters", "dim")]
        case p.RunStarted() | p.RunTaken() as e:
            word = "started" if isinstance(e, p.RunStarted) else "resumed"
            return [Line(f"run      {e.run.run_id} {word}: {e.run.workflow_ref}", "info")]
        case p.RunMoved(after=RunPhase.WAITING_USER):
            return [Line("run      needs your input · /pause pauses it, /stop ends it", "dim")]
        case p.RunMoved() as e if e.after is not RunPhase.RUNNING:
            over = e.after is RunPhase.COMPLETED  # what it ended with has said why
            why = f"{e.error.code}: {e.error.message}" if e.error else "" if over else e.reason
            role = "success" if over else "warning"
            return [Line(f"run      {e.run} {e.after}{f'  {first_line(why)}' if why else ''}", role)]
        case p.StepBegun() as e:
            return [Line(f"step     {e.title}{f' · {e.agent.name}' if e.agent else ''}", "info")]
        case p.Noticed() as e:
            return _lines(e.text, {"warning": "warning", "error": "error"}.get(e.level, "dim"))
        case e:
            return [Line(text, role) for text, role in cycle_words.words(e)]


def _entered(event: p.AgentEntered) -> list[Line]:
    agent = event.agent
    head = f"{agent.icon} {headline(agent)}".strip()
    menu = numbered(event.menu)
    about = "\n".join(filter(None, (agent.persona.role, agent.persona.identity.partition("\n\n")[0])))
    return [Line(head, "accent"), *_lines(about, "dim"), *_lines(menu)]


def turned(event: p.DialsTurned) -> str:
    """The log line of a transition: what changed, by whom, when."""
    names = ("work_mode", "run_control", "permission_profile", "model_mode")
    moves = [
        f"{getattr(event.before, name)} → {getattr(event.after, name)}"
        for name in names
        if getattr(event.before, name) != getattr(event.after, name)
    ]
    return f"{', '.join(moves) or 'unchanged'}, by {event.actor}, {event.scope} ({event.reason})"


def task_moved(event: p.TaskMoved) -> str:
    why = f": {event.reason}" if event.after in (TaskStatus.BLOCKED, TaskStatus.FAILED) and event.reason else ""
    return f"task {event.task}  {event.before} → {event.after}  {event.title}{why}"


def compacted(event: p.HistoryCompacted) -> str:
    """How much smaller the conversation became."""
    if event.shortened:
        many = counted(len(event.shortened), "output")
        return f"{many} shortened, about {event.before_tokens} → {event.after_tokens} tokens"
    return (
        f"{event.before_messages} → {event.kept + 1} messages, "
        f"about {event.before_tokens} → {event.after_tokens} tokens"
    )


def nothing_to_compact(held: int) -> str:
    return f"nothing to compact: {counted(held, 'message')} in the conversation, and all of them are needed"


def question(event: p.QuestionAsked) -> list[Line]:
    """What Quintet says of it first, and again at the end where what a model wrote is long."""
    choices = _rows_of([f"[{choice.key}] {choice.label}" for choice in event.choices])
    roles = {"+ ": "success", "- ": "error"}
    own, rest = split_detail(event.detail)
    told = [Line(f"  {line}", "dim") for line in own]
    shown = [Line(f"  {line}", roles.get(line[:2], "dim")) for line in rest]
    again = told if len(rest) > FEW_LINES else []
    head = exactly(event.text).split("\n")
    return [
        Line(f"? {head[0]}", "warning"),
        *told,
        *(Line(f"  {line}", "warning") for line in head[1:]),
        *shown,
        *again,
        *(Line(f"  {row}", "accent") for row in choices),
    ]


def _rows_of(choices: list[str]) -> list[str]:
    """The choices side by side, as many in a row as fit."""
    rows = [""]
    for choice in choices:
        wider = f"{rows[-1]}   {choice}" if rows[-1] else choice
        if len(wider) > CHOICES_COLUMNS and rows[-1]:
            rows.append(choice)
        else:
            rows[-1] = wider
    return rows


def with_rights(started: p.ToolStarted) -> str:
    """What to say behind a call that runs with the user's rights."""
    return " · with your rights" if started.rights else ""


def _finished(event: p.ToolFinished) -> list[Line]:
    if event.tool in QUIET and event.status is CallStatus.OK:
        return []
    if event.status is CallStatus.DENIED:
        return [Line(f"  {event.content}", "warning")] if refuser_of(event.content) is Refuser.USER else []
    took = f" · {event.seconds:.1f} s" if event.seconds >= 0.1 else ""
    if event.status is CallStatus.INTERRUPTED:  # the end of the turn says that it was
        return [Line(f"  {event.content.removeprefix('interrupted, ')}{took}", "warning")]
    role = "error" if event.status is CallStatus.ERROR else "dim"
    head = Line(f"  {event.summary or event.status}{took}", role)
    if event.changed:
        return [head, *diff_lines(event.content)]
    if role == "error" and event.tool != STARTING:  # why that failed, its task or its cycle says
        return [head, *_lines(event.content, "error", 6)]
    return [head]


def _report(event: p.ReportMade) -> list[Line]:
    found = " · ".join(f"{count} {severity}" for severity, count in event.findings.items() if count)
    about = [found or "no findings"] if event.kind == "review" else []
    places = f"{counted(event.unresolved, 'place')} unresolved" if event.unresolved else ""
    head = "   ".join(filter(None, [f"report   {event.kind} of {event.subject}", *about, places]))
    return [Line(" ".join(head.splitlines()), "info"), Line(f"         {event.path}", "dim")]


def _todo(event: p.TodoMoved) -> list[Line]:
    todo = event.todo
    if event.before == todo.status:
        failed = sum(not check.held for check in todo.checks)
        why = f"{failed} of {len(todo.checks)} criteria failed" if todo.checks else "it has no criteria"
        return [Line(f"todo {todo.id}  stays {todo.status}: {why}  {todo.content}", "warning")]
    moved = f"{event.before} → {todo.status}" if event.before else todo.status
    role = "success" if todo.status is TodoStatus.VERIFIED else "info"
    return [Line(f"todo {todo.id}  {moved}  {todo.content}", role)]


def diff_lines(diff: str) -> list[Line]:
    body = numbered_files(diff)
    shown = [Line(f"    {line}", DIFF_ROLES.get(line[:1], "")) for line in body[:MOST_LINES]]
    more = [Line(f"    … {len(body) - MOST_LINES} more lines", "dim")] if len(body) > MOST_LINES else []
    return shown + more


def _lines(text: str, role: str = "", most: int = 0) -> list[Line]:
    lines = text.split("\n") if text else []
    shown = lines[-most:] if most else lines
    return [Line(line, role) for line in shown]


def _named(ended: p.ToolFinished) -> dict[str, str]:
    """The summary of a call that failed, with its tool."""
    fails = ended.status is CallStatus.ERROR and ended.tool != STARTING
    return {"summary": f"{ended.tool}: {ended.summary or ended.status}"} if fails else {}


class RepeatFilter:
    """Shown every event of a session in order, gives each as it is to be described: nothing is said twice.

    Why a call was refused is not said again at the end of its turn, nor what was put right after a command. A call
    that failed below no line of its own, since it was never begun, says which tool it is of.
    """

    def __init__(self) -> None:
        self._refused = ""  # why the newest refused call of the turn was not run
        self._put_right: list[str] = []  # in the turn, in order
        self._skipped: list[SkippedCall] = []  # in the turn
        self._begun: set[str] = set()  # calls that have a line of their own

    def __call__(self, recorded: p.Recorded) -> p.Recorded:
        match recorded.event:
            case p.TurnStarted():
                self._refused, self._put_right, self._skipped = "", [], []
            case p.CallDecided() as decided if call := skipped_call(decided):
                self._skipped.append(call)
            case p.Noticed(code=code, text=text) if code == PUT_RIGHT:
                self._put_right.append(text)
            case p.ToolFinished(status=CallStatus.DENIED, content=content):
                self._refused = refusal_of(content)
            case p.ToolStarted() as started if started.tool not in QUIET:
                self._begun.add(started.call)
            case p.ToolFinished() as ended:
                named = {} if ended.call in self._begun else _named(ended)
                self._begun.discard(ended.call)
                content = self._without(ended.content) if self._put_right else ended.content
                if named or self._put_right:
                    return structs.replace(recorded, event=structs.replace(ended, content=content, **named))
            case p.TurnFinished(reason=reason) as ending if self._refused and self._says_again(reason):
                return structs.replace(recorded, event=structs.replace(ending, reason=""))
            case p.TurnFinished() as ending if self._put_right:
                return structs.replace(recorded, event=structs.replace(ending, answer=self._without(ending.answer)))
        return recorded

    def _says_again(self, reason: str) -> bool:
        alone = len(self._skipped) == 1 and reason == held_up(self._skipped)
        return alone or reason.endswith(self._refused)

    def _without(self, text: str) -> str:
        for told in reversed(self._put_right):
            text = text.removesuffix(f"\n{told}")
        return text
