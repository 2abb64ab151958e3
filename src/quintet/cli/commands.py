"""The commands that look, each with its parser, and their neighbours; what they do is imported when one is run."""

from __future__ import annotations

import sys

from quintet.cli import report_parsers as parsers
from quintet.cli.flags import dial_flags, make_parser, turned

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Callable

CALLS = "cli.tools"  # the module of those that look at tools, permission and rules
MODELS = "cli.models"
REPORTS = "cli.reports"
AGENTS = "cli.agents"
SURFACES = ("tui", "web", "headless", "rpc")
TASKS = "cli.tasks"


def _lookup(
    name: str, about: str, add: Callable[[ArgumentParser], object] | None = None, module: str = "cli.sessions"
) -> Callable[[list[str]], int]:
    """A command that only looks: `quintet a b` is the function `a_b` of its module."""

    def run(arguments: list[str]) -> int:
        parser = make_parser(name, about)
        parser.add_argument("--json", action="store_true", help="as JSON")
        if add:
            add(parser)
        parsed = parser.parse_args(arguments)
        from importlib import import_module

        code: int = getattr(import_module(f"quintet.{module}"), name.replace(" ", "_"))(parsed)
        return code

    return run


def _id(parser: ArgumentParser) -> object:
    return parser.add_argument("id", help="the session's id, or the beginning of one")


def _sessions(arguments: list[str]) -> int:
    actions: dict[str, Callable[[list[str]], int]] = {
        "list": _lookup("sessions list", "Sessions of this project, newest first."),
        "show": _lookup(
            "sessions show",
            "One session's journal.",
            lambda p: (_id(p), p.add_argument("--events", action="store_true", help="as JSON lines")),
        ),
        "search": _lookup(
            "sessions search",
            "What was said and done in this project's sessions, by its words, newest first.",
            _search,
            "cli.history_lookups",
        ),
        "purge": _lookup(
            "sessions purge",
            "Delete a session and its journal for good.",
            lambda p: (_id(p), p.add_argument("--yes", action="store_true", help="do it")),
        ),
        "fork": _fork,
    }
    return _action("sessions", actions, arguments)


def _search(parser: ArgumentParser) -> None:
    parser.add_argument(
        "words", nargs="+", help='all of these words; "two words" are a phrase, wor* is the beginning of a word'
    )
    parser.add_argument("--limit", type=int, default=20, metavar="N", help="so many at most; 20")


def _action(command: str, actions: dict[str, Callable[[list[str]], int]], arguments: list[str]) -> int:
    """Run one of a command's actions; `list` if none is named."""
    asked = arguments[:1] in (["-h"], ["--help"])
    action = arguments[0] if arguments and (asked or not arguments[0].startswith("-")) else "list"
    if asked:
        sys.stdout.write(f"usage: quintet {command} {{{','.join(actions)}}} …; each takes --help\n")
        return 0
    if action not in actions:
        from quintet.domain.base.errors import UsageError

        raise UsageError(f'{command} "{action}": not one of {", ".join(actions)}')
    return actions[action](arguments[1:] if arguments[:1] == [action] else arguments)


def _family(command: str, module: str, actions: str) -> Callable[[list[str]], int]:
    """A command whose actions another module knows."""

    def run(arguments: list[str]) -> int:
        from importlib import import_module

        return _action(command, getattr(import_module(f"quintet.{module}"), actions)(_lookup), arguments)

    return run


def _tools(arguments: list[str]) -> int:
    actions = {
        "list": _lookup("tools list", "Every tool: its toolsets, least profile and effects.", None, CALLS),
        "show": _lookup("tools show", "One tool, with its parameters.", lambda p: p.add_argument("name"), CALLS),
        "doctor": _lookup("tools doctor", "Which tools are ready here, and what the others need.", None, CALLS),
        "call": _call,
    }
    return _action("tools", actions, arguments)


def _call(arguments: list[str]) -> int:
    parser = make_parser("tools call", "One call by your own hand: through the gate, in the sandbox, on record.")
    parser.add_argument("name", help="the tool")
    parser.add_argument("--args", default="{}", metavar="JSON", help="its arguments")
    dial_flags(parser)
    parser.add_argument("--json", action="store_true", help="as JSON")
    parsed = parser.parse_args(arguments)
    import asyncio

    from quintet.cli.tools import checked

    checked(parsed)
    return asyncio.run(_made(parsed))


async def _made(parsed: Namespace) -> int:
    from quintet.app.open import open_session
    from quintet.domain.dials.axes import Surface
    from quintet.surfaces.one_call import OneCall

    person = sys.stdin is not None and sys.stdin.isatty()
    async with open_session(parsed.directory, surface=Surface.HEADLESS, person=person, axes=turned(parsed)) as session:
        return await OneCall(session, as_json=parsed.json, known=("OWN_TOOLS",)).run(parsed.name, parsed.args)


def _models(arguments: list[str]) -> int:
    actions = {
        "list": _lookup("models list", "Models: those you configured, the offline rules, what is here.", None, MODELS),
        "test": _lookup(
            "models test",
            "One tiny request to each configured model, or to one; exit code 1 if any fails.",
            lambda p: p.add_argument("name", nargs="?", default="", help="its name in your settings"),
            MODELS,
        ),
    }
    return _action("models", actions, arguments)


def _surface(parser: ArgumentParser) -> object:
    return parser.add_argument("--surface", choices=SURFACES, default="tui", help="whose menu (tui)")


def _agents(arguments: list[str]) -> int:
    actions = {
        "list": _lookup("agents list", "Agents: this project's, yours, and those that come with it.", None, AGENTS),
        "show": _lookup(
            "agents show",
            "One agent: its persona and its numbered menu.",
            lambda p: (p.add_argument("name", metavar="NAME|PATH", help="its id, file or folder"), _surface(p)),
            AGENTS,
        ),
        "check": _lookup(
            "agents check",
            "What is wrong with agents' files, by file, line and field; exit code 1 if any is malformed.",
            lambda p: p.add_argument("paths", nargs="*", metavar="PATH", help="files or folders; else all there are"),
            AGENTS,
        ),
        "new": _lookup(
            "agents new",
            "Write an example to begin with, into .quintet/agents.",
            lambda p: (
                p.add_argument("name", help="what it will be called"),
                p.add_argument("--user", action="store_true", help="into your own folder, for every project"),
            ),
            AGENTS,
        ),
    }
    return _action("agents", actions, arguments)


def _route(parser: ArgumentParser) -> None:
    parser.add_argument("--agent", required=True, metavar="NAME|PATH", help="the agent whose menu it is")
    _surface(parser)
    parser.add_argument("--active-run", action="store_true", help="as if a run were active")
    parser.add_argument("text", nargs="*", metavar="TEXT", help="the input; put -- before it")


def _permit(arguments: list[str]) -> int:
    parser = make_parser("permit", "What the gate would decide about a call; nothing is run.")
    parser.add_argument("--tool", required=True, metavar="NAME", help="the tool")
    parser.add_argument("--args", default="{}", metavar="JSON", help="its arguments")
    dial_flags(parser)
    parser.add_argument("--person", action="store_true", default=True, help="somebody is attached (the default)")
    parser.add_argument("--no-person", action="store_false", dest="person", help="nobody is attached")
    parser.add_argument(
        "--sandbox", choices=("bwrap", "partial", "none"), default="", help="another sandbox than the one here"
    )
    parser.add_argument("--json", action="store_true", help="as JSON")
    parsed = parser.parse_args(arguments)
    from quintet.cli.tools import permit

    return permit(parsed, turned(parsed))


def _stage_flags(parser: ArgumentParser) -> None:
    dial_flags(parser)
    parser.add_argument("--toolset", default="", metavar="NAME", help="the toolset in use; ROOT if left out")
    parser.add_argument("--reasoning", action="store_true", help="with visible reasoning")
    parser.add_argument("--json", action="store_true", help="as JSON")


def _policy(arguments: list[str]) -> int:
    parser = make_parser("policy", "A stage as the policy plans it: its tools, prompts and reasoning.")
    parser.add_argument("--stage", default="act", metavar="STAGE", help="warmup, act, tool_followup, delivery_check …")
    _stage_flags(parser)
    parsed = parser.parse_args(arguments)
    from quintet.cli.policy import show_policy

    return show_policy(parsed, turned(parsed))


def _prompts(arguments: list[str]) -> int:
    return _action("prompts", {"show": _prompts_show}, arguments)


def _prompts_show(arguments: list[str]) -> int:
    parser = make_parser("prompts show", "Exactly what a model would be told in a stage, part by part.")
    parser.add_argument("stage", help="warmup, act, tool_followup, micro_step, delivery_check or qa_review")
    parser.add_argument("--input", default="", metavar="TEXT", help="the user's input, where a part speaks of it")
    _stage_flags(parser)
    parsed = parser.parse_args(arguments)
    from quintet.cli.policy import show_prompts

    return show_prompts(parsed, turned(parsed))


def _rules(arguments: list[str]) -> int:
    def words(parser: ArgumentParser) -> None:
        parser.add_argument("verdict", choices=("allow", "deny"))
        parser.add_argument("tool", help="a tool's name, or * for any")
        parser.add_argument("pattern", nargs="?", default="*", help="of the shell line or path; * stands for anything")
        parser.add_argument("--effects", default="", metavar="LIST", help="what an allow rule lifts: build,network")
        parser.add_argument("--everywhere", action="store_true", help="in every project, not only this one")

    actions = {
        "list": _lookup("rules list", "Your standing rules.", None, CALLS),
        "add": _lookup("rules add", "Allow something unasked, or deny it always.", words, CALLS),
        "revoke": _lookup("rules revoke", "Take a rule back.", _id, CALLS),
    }
    return _action("rules", actions, arguments)


def _task_id(parser: ArgumentParser) -> object:
    return parser.add_argument("id", help="the task's id")


def _tasks(arguments: list[str]) -> int:
    def status(parser: ArgumentParser) -> None:
        about = "only these: todo, running, done …; several with commas"
        parser.add_argument("--status", action="append", default=[], metavar="STATUS", help=about)

    def files(parser: ArgumentParser) -> None:
        parser.add_argument("files", nargs="+", metavar="FILE", help="a page with front matter (id, title) and a body")

    def words(parser: ArgumentParser) -> None:
        _task_id(parser)
        parser.add_argument("status", help="what it becomes, if it can")
        parser.add_argument("--reason", default="", metavar="TEXT", help="why, for the record")

    actions = {
        "list": _lookup("tasks list", "This project's tasks; the next one is marked.", status, TASKS),
        "show": _lookup(
            "tasks show",
            "One task: its page, where it stands, how it came there.",
            _task_id,
            TASKS,
        ),
        "add": _lookup("tasks add", "Tasks from files: all of them, or none if one is wrong.", files, TASKS),
        "move": _lookup("tasks move", "Move a task to another status, its row and its file.", words, TASKS),
    }
    if arguments[:1] and arguments[0].startswith("--status"):
        arguments = ["list", *arguments]
    return _action("tasks", actions, arguments)


def _fork(arguments: list[str]) -> int:
    parser = make_parser("sessions fork", "A new session that begins with another's finished turns.")
    _id(parser)
    parser.add_argument("--at", default="", metavar="N", help="up to turn N; /rewind numbers them")
    parser.add_argument("--json", action="store_true", help="as JSON")
    parsed = parser.parse_args(arguments)
    import asyncio

    from quintet.app.open import fork

    forked = asyncio.run(fork(parsed.directory, parsed.id, parsed.at))
    sys.stdout.write(f'{{"session": "{forked}"}}\n' if parsed.json else f"{forked}\n")
    return 0


def _rewind(arguments: list[str]) -> int:
    parser = make_parser("rewind", "Back to before a turn: lists the turns, shows what N would do, or does it.")
    parser.add_argument(
        "words", nargs="*", metavar="[SESSION] [N] [files|conversation|both]", help="the newest session if left out"
    )
    parser.add_argument("--preview", action="store_true", help="only show what it would do")
    parser.add_argument("--json", action="store_true", help="as JSON")
    parsed = parser.parse_args(arguments)
    words: list[str] = parsed.words
    session = words.pop(0) if words and not words[0].isdecimal() else ""
    import asyncio

    return asyncio.run(_rewound(parsed, session, words[:1] if parsed.preview else words))


async def _rewound(parsed: Namespace, session: str, words: list[str]) -> int:
    from quintet.app.open import LATEST, open_session
    from quintet.domain.dials.axes import Surface
    from quintet.surfaces.one_command import one_command

    line = " ".join(("/rewind", *words))
    async with open_session(parsed.directory, surface=Surface.HEADLESS, resume=session or LATEST) as opened:
        return await one_command(opened, line, as_json=parsed.json)


def _mcp_server(arguments: list[str]) -> int:
    from quintet.features.mcp.parsers import mcp_server

    return mcp_server(arguments)


LOOKUPS: dict[str, Callable[[list[str]], int]] = {
    "status": _lookup(
        "status",
        "Where this project's newest session stands.",
        lambda p: p.add_argument("--session", default="", metavar="ID", help="another session than the newest"),
    ),
    "sessions": _sessions,
    "rewind": _rewind,
    "models": _models,
    "executors": _lookup(
        "executors",
        "Who can plan, carry out and verify: Quintet itself, AI CLIs and ACP agents; their versions, what is missing.",
        module="features.ai_clis.cli",
    ),
    "agents": _agents,
    "route": _lookup("route", "Which command an input would be in an agent's session.", _route, AGENTS),
    "tools": _tools,
    "permit": _permit,
    "rules": _rules,
    "tasks": _tasks,
    "library": _family("library", "features.library.parsers", "library_actions"),
    "aside": _family("aside", "cli.aside", "aside_actions"),
    "secrets": _family("secrets", "cli.secrets", "secret_actions"),
    "mcp": _family("mcp", "features.mcp.parsers", "mcp_actions"),
    "mcp-server": _mcp_server,
    "policy": _policy,
    "prompts": _prompts,
    "settings": _lookup("settings", "Every setting, its value, and where it came from."),
    "trust": _lookup(
        "trust",
        "Show what this folder's own settings, tools and servers would do, ask, and trust it with them.",
        lambda p: (
            p.add_argument("--revoke", action="store_true", help="take the trust back"),
            p.add_argument("--list", action="store_true", help="list the trusted folders"),
            p.add_argument("--check", action="store_true", help="show what is new or changed since you trusted it"),
            p.add_argument("--yes", action="store_true", help="do not ask, at a terminal either"),
        ),
        "trust_lookups",
    ),
    "doctor": _lookup(
        "doctor",
        "What is wrong with this project, its state and its machine; exit code 1 if there is an error.",
        lambda p: p.add_argument("action", nargs="?", choices=("fix",), help="mend what can be mended, and say it"),
        "cli.doctor",
    ),
    "logs": _lookup(
        "logs", "Every model request: when, for what, at which axes, its cost and end.", parsers.logs, REPORTS
    ),
    "cost": _lookup("cost", "Tokens and money, over all sessions of this project.", parsers.by, REPORTS),
    "report": _lookup(
        "report",
        "One session: its axes, turns, requests, tools, approvals, files, cost and ratings.",
        lambda p: p.add_argument("id", nargs="?", default="", help="its id or the beginning of one; else the newest"),
        REPORTS,
    ),
    "forensics": _lookup(
        "forensics", "One session step by step: requests, calls, decisions, axes, cost.", parsers.forensics, REPORTS
    ),
    "replay": _lookup(
        "replay",
        "Run a recorded session again without a model, a tool or a process; exit code 1 at the first difference.",
        parsers.replay,
        "cli.replay",
    ),
    "why": _lookup(
        "why", "What stands behind an event.", lambda p: p.add_argument("event", type=int, help="its number")
    ),
}
