"""The commands that look, each with its parser, and their neighbours; what they do is imported when one is run."""

from __future__ import annotations

import sys

from quintet.flags import dial_flags, make_parser, turned

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Callable

CALLS = "tool_lookups"  # the module of those that look at tools, permission and rules
MODELS = "model_lookups"
REPORTS = "report_lookups"


def _lookup(
    name: str, about: str, add: Callable[[ArgumentParser], object] | None = None, module: str = "lookups"
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
        "purge": _lookup(
            "sessions purge",
            "Delete a session and its journal for good.",
            lambda p: (_id(p), p.add_argument("--yes", action="store_true", help="do it")),
        ),
        "fork": _fork,
    }
    return _action("sessions", actions, arguments)


def _action(command: str, actions: dict[str, Callable[[list[str]], int]], arguments: list[str]) -> int:
    """Run one of a command's actions; `list` if none is named."""
    action = arguments[0] if arguments and arguments[0] != "--json" else "list"
    if action in ("-h", "--help"):
        sys.stdout.write(f"usage: quintet {command} {{{','.join(actions)}}} …; each takes --help\n")
        return 0
    if action not in actions:
        from quintet.domain.errors import UsageError

        raise UsageError(f'{command} "{action}": not one of {", ".join(actions)}')
    return actions[action](arguments[1:] if arguments[:1] == [action] else arguments)


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

    from quintet.tool_lookups import checked

    checked(parsed)
    return asyncio.run(_made(parsed))


async def _made(parsed: Namespace) -> int:
    from quintet.app import open_session
    from quintet.domain.axes import Surface
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
    from quintet.tool_lookups import permit

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
    from quintet.policy_lookups import show_policy

    return show_policy(parsed, turned(parsed))


def _prompts(arguments: list[str]) -> int:
    return _action("prompts", {"show": _prompts_show}, arguments)


def _prompts_show(arguments: list[str]) -> int:
    parser = make_parser("prompts show", "Exactly what a model would be told in a stage, part by part.")
    parser.add_argument("stage", help="warmup, act, tool_followup, micro_step, delivery_check or qa_review")
    parser.add_argument("--input", default="", metavar="TEXT", help="the user's input, where a part speaks of it")
    _stage_flags(parser)
    parsed = parser.parse_args(arguments)
    from quintet.policy_lookups import show_prompts

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


def _fork(arguments: list[str]) -> int:
    parser = make_parser("sessions fork", "A new session that begins with another's finished turns.")
    _id(parser)
    parser.add_argument("--json", action="store_true", help="as JSON")
    parsed = parser.parse_args(arguments)
    import asyncio

    from quintet.app import fork

    forked = asyncio.run(fork(parsed.directory, parsed.id))
    sys.stdout.write(f'{{"session": "{forked}"}}\n' if parsed.json else f"{forked}\n")
    return 0


def _logs(parser: ArgumentParser) -> None:
    from quintet.engine.accounts import LEVELS

    parser.add_argument("--session", default="", metavar="ID", help="of one session, not of the whole project")
    parser.add_argument("--follow", action="store_true", help="go on with new ones as they end; JSON one a line")
    parser.add_argument("--level", choices=tuple(LEVELS), default="info", help="this one and above")
    parser.add_argument("--stage", default="", metavar="STAGE", help="only this stage's, for example act")
    parser.add_argument("-n", type=int, default=None, metavar="N", dest="lines", help="the last N only")


def _by(parser: ArgumentParser) -> None:
    from quintet.engine.accounts import GROUPINGS

    parser.add_argument("--by", choices=GROUPINGS, default="model", help="what to add up by; a day is one of UTC")


def _replay(parser: ArgumentParser) -> None:
    parser.add_argument("run", help="a session's id or the beginning of one, or an exported file")
    parser.add_argument(
        "--turn", type=int, default=0, metavar="N", help="only this turn of the session; 1 is the first"
    )
    parser.add_argument("--export", default="", metavar="FILE", help="write it as one file that can be shared")


LOOKUPS: dict[str, Callable[[list[str]], int]] = {
    "status": _lookup(
        "status",
        "Where this project's newest session stands.",
        lambda p: p.add_argument("--session", default="", metavar="ID", help="another session than the newest"),
    ),
    "sessions": _sessions,
    "models": _models,
    "tools": _tools,
    "permit": _permit,
    "rules": _rules,
    "policy": _policy,
    "prompts": _prompts,
    "settings": _lookup("settings", "Every setting, its value, and where it came from."),
    "trust": _lookup(
        "trust",
        "Trust this folder: its own settings may then loosen things, and its own tools are loaded.",
        lambda p: (
            p.add_argument("--revoke", action="store_true", help="take the trust back"),
            p.add_argument("--list", action="store_true", help="list the trusted folders"),
        ),
    ),
    "logs": _lookup("logs", "Every model request: when, for what, at which axes, its cost and end.", _logs, REPORTS),
    "cost": _lookup("cost", "Tokens and money, over all sessions of this project.", _by, REPORTS),
    "report": _lookup(
        "report",
        "One session: its axes, turns, requests, tools, approvals, files, cost and ratings.",
        lambda p: p.add_argument("id", nargs="?", default="", help="its id or the beginning of one; else the newest"),
        REPORTS,
    ),
    "replay": _lookup(
        "replay",
        "Run a recorded session again without a model, a tool or a process; exit code 1 at the first difference.",
        _replay,
        "replay_lookups",
    ),
    "why": _lookup(
        "why", "What stands behind an event.", lambda p: p.add_argument("event", type=int, help="its number")
    ),
}
