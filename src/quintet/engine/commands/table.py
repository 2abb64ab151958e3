"""The slash-command table: one row a command, the same on every surface; `context` says what a handler is."""

from __future__ import annotations

from collections.abc import Awaitable, Iterable
from importlib import import_module

from quintet.domain.base.errors import UsageError
from quintet.domain.base.wording import nearest
from quintet.domain.dials.axes import AXIS_WORDS, Surface
from quintet.domain.input import slash_line as command_line
from quintet.domain.input.slash_line import CommandLine, CommandUsage
from quintet.domain.journal.state import SessionState
from quintet.engine.commands import agents, queued, work
from quintet.engine.commands import cycle as cycles
from quintet.engine.commands import dials as turns
from quintet.engine.commands import rewind as rewinds
from quintet.engine.commands import run as runs
from quintet.engine.session.command_context import (
    BeginWork,
    Below,
    CommandContext,
    CommandOutcome,
    Handler,
    SlashCommand,
)
from quintet.engine.session.core import FeatureCommands

NO_FEATURES = FeatureCommands()
AXIS_VALUED = frozenset(AXIS_WORDS)
AXIS_SWITCHES = frozenset({"autonomous"})


def _help(context: CommandContext, line: CommandLine) -> CommandOutcome:
    if line.words:
        command = find(line.words[0].lstrip("/"), features=context.core.commands.features)
        return CommandOutcome(f"{command.usage}\n{command.help}")
    shown = usages(context.core.commands.features)
    width = max(len(command.name) for command in shown)
    lines = [f"/{command.name:<{width}}  {command.help}" for command in shown]
    return CommandOutcome(
        "\n".join([*lines, "", "/help COMMAND shows its arguments. A line that begins with ! runs in the shell."])
    )


_AXES = "[--autonomous] [--permission-profile P] [--model-mode M]"
_FLAGS = f"{_AXES} [SCOPE]"


def _later(name: str) -> Handler:
    """The handler `module:function` of this room, loaded when first given: most sessions never do."""
    module, _, function = name.partition(":")

    def handler(context: CommandContext, line: CommandLine) -> CommandOutcome | Awaitable[CommandOutcome]:
        loaded: Handler = getattr(import_module(f"quintet.engine.commands.{module}"), function)
        return loaded(context, line)

    return handler


def _dial(name: str, usage: str, about: str, handler: Handler, below: Below = Below.NEXT) -> SlashCommand:
    return SlashCommand(name, usage, about, handler, AXIS_VALUED, AXIS_SWITCHES, below=below)


TABLE: tuple[SlashCommand, ...] = (
    _dial(
        "mode",
        f"/mode chat|plan|build|review|repair|research {_FLAGS}",
        "what kind of work",
        turns.axis_command("mode"),
    ),
    _dial(
        "control", "/control manual|assisted|autonomous [SCOPE]", "who advances the work", turns.axis_command("control")
    ),
    _dial(
        "permission-profile",
        "/permission-profile restricted|normal|trusted|unrestricted [SCOPE]",
        "what runs without approval",
        turns.axis_command("permission-profile"),
    ),
    _dial(
        "model-mode", "/model-mode fast|smart|deep [SCOPE]", "speed, cost, reasoning", turns.axis_command("model-mode")
    ),
    _dial(
        "autonomous",
        "/autonomous [SCOPE]",
        "continue the open work until it is done, blocked or at a limit (/control autonomous)",
        cycles.autonomous,
        Below.REFUSED,
    ),
    SlashCommand("next", "/next", "do one open task, then pause (/control assisted)", cycles.next_unit),
    SlashCommand(
        "steer",
        "/steer DIAL VALUE [now|after-current-tool|after-current-unit|next-milestone|for-next-unit] | drop DIAL",
        "change a dial at a chosen time; drop cancels a pending change",
        turns.steer,
        below=Below.NEXT,
    ),
    SlashCommand(
        "review",
        "/review [working-tree|RANGE|BRANCH|PULL]",
        "inspect a change in work mode review, and write a report of findings",
        work.review,
        below=Below.OWN,
    ),
    SlashCommand(
        "research",
        "/research QUESTION",
        "research a question in work mode research, and write a report with citations",
        work.research,
        prose=True,
    ),
    _dial(
        "repair",
        f"/repair [TEXT] {_AXES}",
        "fix what the doctor finds, in work mode repair; autonomous continues until no problem is left",
        work.repair,
        Below.OWN,
    ),
    SlashCommand(
        "plan",
        "/plan TEXT|FILE",
        "make tasks from a request in work mode plan; autonomous builds them too",
        cycles.plan,
        prose=True,
    ),
    _dial("accept", f"/accept {_AXES}", "accept the proposed plan, and build it", cycles.accept, Below.REFUSED),
    SlashCommand(
        "arrange",
        "/arrange ID… | edit ID TEXT",
        "change the proposed plan: keep these tasks in this order and remove the others, or change the text of one",
        cycles.arrange,
        prose=True,
    ),
    _dial(
        "implement",
        f"/implement {_AXES}",
        "build the proposed plan, or the open tasks",
        cycles.implement,
        Below.REFUSED,
    ),
    SlashCommand("retry", "/retry", "retry now, without waiting", cycles.retry),
    SlashCommand("reset", "/reset [yes]", "clear task.md and archive the done tasks", cycles.reset),
    SlashCommand("agents", "/agents [NAME|FILE]", "list the agents, or open one", agents.agents),
    SlashCommand("menu", "/menu", "show the agent's menu; choose with a number or a name", agents.menu),
    SlashCommand("dismiss", "/dismiss", "leave the agent; its run can be resumed", agents.dismiss),
    SlashCommand("pause", "/pause", "pause the run at its next step; nothing is lost", runs.pause),
    SlashCommand(
        "resume",
        "/resume [RUN]",
        "continue after /pause or an interrupt, or resume this project's latest run",
        runs.resume,
    ),
    SlashCommand(
        "queued",
        "/queued [drop N|all | edit N TEXT | run]",
        "show the queued inputs; change or remove one, or start held ones",
        queued.queued,
        prose=True,
    ),
    SlashCommand("stop", "/stop", "cancel the run and pending transitions", runs.stop),
    SlashCommand(
        "model",
        "/model [NAME|PRESET/MODEL|auto]",
        "choose a model for this session",
        runs.choose_model,
        below=Below.NEXT,
    ),
    *(
        SlashCommand(
            name,
            f"/{name} [native|codex|claude|gemini|NAME|acp:COMMAND|auto]",
            f"who {does} in this session; without a name, list the choices",
            _later("executors:choose"),
            below=Below.NEXT,
        )
        for name, does in (("planner", "plans"), ("executor", "carries out the tasks"), ("verifier", "verifies"))
    ),
    SlashCommand("reasoning", "/reasoning [on|off]", "show the agent's reasoning", runs.reasoning, below=Below.NEXT),
    SlashCommand("qa", "/qa", "show the report of the newest review", runs.qa),
    SlashCommand(
        "compact",
        "/compact [WHAT TO KEEP]",
        "replace the older messages with a summary; your last requests stay",
        runs.compact,
        prose=True,
    ),
    *(
        SlashCommand(
            name,
            f"/{name}",
            "start a new conversation in this session; journal, dials and files stay",
            _later("conversation:clear"),
            below=Below.NEXT,
        )
        for name in ("clear", "new")
    ),
    SlashCommand("context", "/context", "show what fills the model's context window", _later("context:context")),
    SlashCommand(
        "tasks",
        "/tasks [STATUS…] | show ID | move ID STATUS | end SHELL",
        ("show what is running or open: tasks, shells, questions, sessions, cost; show one, move a task, end a shell"),
        _later("tasks:tasks"),
    ),
    SlashCommand("queue", "/queue", "list open tasks in their order, and what each depends on", _later("tasks:queue")),
    SlashCommand(
        "doctor",
        "/doctor [preview|fix|heal]",
        "check for problems; fix what can be fixed by rule, or see what would be; heal is /repair",
        _later("tasks:doctor"),
    ),
    SlashCommand(
        "status",
        "/status",
        "show the status of this session and its project: limits, tasks, health, roles, questions",
        _later("reports:status"),
    ),
    SlashCommand(
        "cost",
        "/cost [--by day|model|stage|mode|session|run]",
        "show tokens and cost so far",
        _later("reports:cost"),
        frozenset({"by"}),
    ),
    SlashCommand(
        "logs",
        "/logs [--level info|warning|error] [--stage STAGE] [--kind turn|request|call|question|dial|task|…]",
        "show the last 20 log lines of this session: turns, requests, calls, questions, dials, tasks",
        _later("reports:logs"),
        frozenset({"level", "stage", "kind"}),
    ),
    SlashCommand(
        "session-report",
        "/session-report",
        "report what this session did, changed, asked and cost",
        _later("reports:session_report"),
    ),
    SlashCommand(
        "forensics",
        "/forensics [--turn N]",
        "write this session step by step as a page with charts, and show its path",
        _later("reports:forensics"),
        frozenset({"turn"}),
    ),
    SlashCommand("rate", "/rate 1-5 [WORDS]", "rate the last turn", _later("reports:rate"), below=Below.OWN),
    SlashCommand(
        "rewind",
        "/rewind [N [files|conversation|both]]",
        "rewind to before a turn: list them, show what N would do, or do it",
        rewinds.rewind,
    ),
    SlashCommand(
        "undo",
        "/undo [yes]",
        "restore the files of the last turn that changed any: show it first, then do it",
        rewinds.undo,
    ),
    SlashCommand(
        "diff",
        "/diff [last|N]",
        "show the changes of this session, of its last turn, or since before turn N",
        _later("diff:diff"),
    ),
    SlashCommand(
        "why", "/why [N]", "explain a decision about a call: the last one, or by its number", _later("why:why")
    ),
    SlashCommand(
        "fork", "/fork [N]", "start a new session with a copy of this one's finished turns, up to N", rewinds.fork
    ),
    SlashCommand(
        "rules",
        "/rules [show ID | revoke ID]",
        "list what you always allow or deny, in this project and in this session",
        _later("rules:rules"),
    ),
    SlashCommand(
        "sessions",
        "/sessions [ID]",
        "list this project's sessions; with an id, open that session here",
        _later("sessions:sessions"),
    ),
    SlashCommand(
        "init",
        "/init",
        "write AGENTS.md, with the model or, without one, from facts about the project; asks first",
        _later("init:init"),
    ),
    SlashCommand("copy", "/copy", "copy the last answer to the terminal's clipboard", _later("conversation:copy")),
    SlashCommand(
        "export",
        "/export [FILE] [--html]",
        "write the conversation as Markdown or HTML, to a new file",
        _later("conversation:export"),
        switches=frozenset({"html"}),
    ),
    SlashCommand("settings", "/settings", "show every setting, and where it comes from", _later("reports:settings")),
    SlashCommand("theme", "/theme [NAME]", "change the colours of the screen", turns.theme),
    SlashCommand("help", "/help [COMMAND]", "show this list", _help),
    SlashCommand("quit", "/quit", "leave", runs.leave),
    SlashCommand("exit", "/exit", "leave, as /quit", runs.leave),
)
_BY_NAME = {command.name: command for command in TABLE}


def usages(features: FeatureCommands) -> tuple[CommandUsage, ...]:
    """Every command, as far as typing it goes."""
    return (*(CommandUsage(one.name, one.usage, one.help) for one in TABLE), *features.usages)


def known(name: str) -> bool:
    return name in _BY_NAME


def find(name: str, others: Iterable[str] = (), features: FeatureCommands = NO_FEATURES) -> SlashCommand:
    """A command by its name; `others` are names that might have been meant instead."""
    command = _BY_NAME.get(name)
    if command is None and ":" in name and (usage := features.skill(name)):  # before every other /A:B
        return SlashCommand(usage.name, usage.usage, usage.help, _begun_by_skill, prose=True)
    if command is None and (usage := features.find(name)):
        run = _begun_by_feature if usage.begins else _of_feature
        below = Below.OWN if usage.begins else Below.REFUSED
        return SlashCommand(usage.name, usage.usage, usage.help, run, own_flags=usage.own_flags, below=below)
    if command is None and (usage := features.skill(name)):
        return SlashCommand(usage.name, usage.usage, usage.help, _begun_by_skill, prose=True)
    if command is None:
        others = [*others, *(one.name for one in features.usages)]
        close = nearest(name, [*_BY_NAME, *others])
        listed = ", ".join(f"/{n}" for n in close)
        raise UsageError(
            f"/{name} is not a command.{f' Nearest: {listed}.' if close else ''} /help lists all commands."
        )
    return command


async def _of_feature(context: CommandContext, line: CommandLine) -> CommandOutcome:
    return CommandOutcome(await context.core.commands.features.run(line.name, line.words))


async def _begun_by_feature(context: CommandContext, line: CommandLine) -> CommandOutcome:
    """The turn begins with the line as it was typed; what the feature made of it comes along, as somebody else's."""
    quoted = await context.core.commands.features.start(line.name, line.words)
    typed = command_line.format_command(line)
    return CommandOutcome(f"begins with {typed}", begins=BeginWork(typed, quoted=quoted))


async def _begun_by_skill(context: CommandContext, line: CommandLine) -> CommandOutcome:
    """The turn begins with the line as it was typed; the words of the skill come along."""
    said = "\n".join(part for part in (*line.words, line.details) if part)
    begun = await context.core.commands.features.use(line.name, said)
    typed = f"/{line.name} {said}".strip()
    return CommandOutcome(f"begins with skill {begun.use.name}", begins=BeginWork(typed, None, begun.quoted, begun.use))


def parse(
    text: str, others: Iterable[str] = (), features: FeatureCommands = NO_FEATURES
) -> tuple[SlashCommand, CommandLine]:
    """The command a text's first line names, parsed by that command's own flags."""
    name = command_line.command_name(text)
    if name is None:
        raise UsageError(f"not a command: {text[:40]}")
    command = find(name, others, features)
    if command.prose:
        return command, command_line.parse_prose(text)
    if command.own_flags:
        return command, command_line.parse_words(text)
    line = command_line.parse(text, valued=command.valued, switches=command.switches)
    _refuse_more(command, line)
    return command, line


def _refuse_more(command: SlashCommand, line: CommandLine) -> None:
    """Nothing that was typed is dropped in silence: words that a command takes none of, and lines below it."""
    most = command_line.most_words(command.usage)
    if most is not None and len(line.words) > most:
        takes = "one word" if most else "no words"
        raise UsageError(f'{command.usage} takes {takes}; leave out "{" ".join(line.words[most:])}"')
    below = line.details.strip()
    if not below or command.below is Below.OWN:
        return
    if command.below is Below.REFUSED:
        raise UsageError(f"/{command.name} is one line, and nothing was done; send what is below it on its own")
    if command_line.command_name(below):
        raise UsageError(f"/{command.name} is followed by another command, and nothing was done; send one at a time")


def command_in(state: SessionState, text: str, surface: Surface, features: FeatureCommands = NO_FEATURES) -> str:
    """The slash command that a text is; empty if it is the input of a turn.

    With an agent a `/word` of no table may be an item of its menu. With a run `*stop` and its like are commands, and
    wait for nothing.
    """
    name = command_line.command_name(text)
    if name is None or not (known(name) or features.find(name)):
        if state.runs.agent:
            from quintet.domain.agents.route import CommandKind, resolve  # most sessions have no agent
            from quintet.domain.agents.words import input_line

            kind = resolve(text, state.runs.agent, surface, bool(state.runs.active)).kind
            if kind not in (CommandKind.CHAT, CommandKind.CONTINUE_RUN):
                return f"/{input_line(text).line}" if state.runs.active else ""
        return text if name is not None else ""
    return text
