"""argv → a command. A command is named in a table and imported when it is run."""

from __future__ import annotations

import os
import sys
from argparse import ArgumentParser, Namespace

from quintet import __version__
from quintet.cli.parsing import Command, dial_flags, make_parser
from quintet.domain.base.errors import UsageError
from quintet.domain.base.wording import did_you_mean
from quintet.features import registry
from quintet.package import load

DESCRIPTION = "A coding agent that you control with five dials."
COMMANDS = """\
commands:
  quintet                     a session here, full screen; --plain: line by line
  quintet -p "…"              one headless turn, the answer on stdout (- or nothing: read stdin)
  quintet headless "…"        the same
  quintet flow "…"|FILE       plan, execute and verify (also: headless autonomous "…")
  quintet FILE                a session that starts with a plan for what the file says
  quintet tour                1-minute tour on a small repository
  quintet status              status of this project: its live session, limits, tasks, health
  quintet sessions list | show ID [--events] | fork ID | purge ID
  quintet rewind [ID] [N] [files|conversation|both]   rewind to before a turn
  quintet models list | use PRESET [MODEL] | add | remove NAME | test [NAME]   connect a model
  quintet agents list | show NAME | check | new NAME     personas with menus
  quintet route --agent NAME -- "…"        how an agent would interpret an input
  quintet tools list | show NAME | doctor  all tools, and what is missing here
  quintet tools call NAME --args JSON      call a tool manually, with approval as in a session
  quintet permit --tool NAME --args JSON   whether a call would run, or need approval
  quintet permit --file LINES              the same for a file of shell lines
  quintet rules list | show ID | add | revoke ID   what you allow without approval, or never
  quintet policy --stage STAGE             tools, prompts and reasoning of a stage
  quintet prompts show STAGE               what a model would get, part by part
  quintet tasks [list | show ID | add FILE… | move ID STATUS]   what is running, and the tasks
  quintet secrets list | set NAME | remove NAME   what is hidden from models and exposed to commands
  quintet doctor [fix|heal]   what is wrong here; fix what can be fixed, by rule or with a model
  quintet aside [move|keep|back PATH]  files that were moved out of the project, or that a killed session left
  quintet report [ID]         what a session did, changed, asked and cost
  quintet cost [--by day|model|stage|…]    tokens and money
  quintet metrics [--prometheus]   what was measured: asks, requests, tokens, retries, verdicts
  quintet logs [--follow]     what was done: turns, requests, calls, questions, dials, tasks
  quintet replay RUN [--export FILE]       replay a recorded session and compare each event
  quintet why [EVENT]         why a decision or a transition was made
  quintet explain [CODE]      cause and cure of an error, a notice or a finding, by its code
  quintet settings            every setting, and where it comes from
  quintet plugins             installed plugins
  quintet install [PART…]     optional parts: webui, acp, browser …; without a name, the list
  quintet update              how to update this installation
  quintet completion bash|zsh|fish         completion for your shell
  quintet trust               allow this folder's own settings to loosen things, and load its tools
"""
EXIT_CODES = """
exit codes: 0 done, 1 error or not delivered, 2 usage, 3 blocked or needs approval, 4 a limit or a loop, 130 interrupted
"""

# Of slash commands that a shell has under another name.
IN_A_SHELL = {
    "undo": "quintet rewind",
    "fork": "quintet sessions fork ID",
    "export": "quintet sessions export ID",
    "session-report": "quintet report",
    "resume": "quintet --resume [ID]",
    "plan": 'quintet flow "…"',
    "implement": "quintet flow --resume",
    "queue": "quintet tasks",
    "help": "quintet --help",
    "repair": "quintet doctor heal",
    "new": "quintet",
    "init": 'quintet -p "/init"',
    "mode": "quintet --mode MODE",
    "control": "quintet --control CONTROL",
    "permission-profile": "quintet --permission-profile PROFILE",
    "model-mode": "quintet --model-mode MODE",
    "model": "quintet --model NAME",
}
# Every command of the core, and where it is; a command is imported when it is run.
TABLE = {
    "headless": "commands:headless",
    "flow": "flow:flow",
    "tour": "commands:tour",
    "status": "sessions:STATUS",
    "sessions": "sessions:SESSIONS",
    "rewind": "sessions:REWIND",
    "models": "models:MODELS",
    "agents": "agents:AGENTS",
    "route": "agents:ROUTE",
    "tools": "tools:TOOLS",
    "permit": "tools:permit",
    "rules": "rules:RULES",
    "tasks": "tasks:tasks",
    "aside": "aside:ASIDE",
    "secrets": "secrets:SECRETS",
    "install": "plugins:INSTALL",
    "plugins": "plugins:PLUGINS",
    "update": "program.update:UPDATE",
    "policy": "policy:policy_command",
    "prompts": "policy:PROMPTS_COMMAND",
    "settings": "settings:SETTINGS",
    "trust": "settings:TRUST",
    "doctor": "doctor:DOCTOR",
    "logs": "reports:LOGS",
    "cost": "reports:COST",
    "report": "reports:REPORT",
    "metrics": "reports:METRICS",
    "forensics": "reports:FORENSICS",
    "replay": "replay:REPLAY",
    "why": "sessions:WHY",
    "explain": "program.explain:EXPLAIN",
    "completion": "completion.scripts:completion",
}

# What other programs call it, and what it is here.
ELSEWHERE = {
    **dict.fromkeys(("login", "auth", "setup", "connect"), "quintet models use"),
    "config": "quintet settings",
    "upgrade": "quintet update",
    "continue": "quintet --resume",
    "exec": "quintet -p",
}


def dispatch(arguments: list[str]) -> int:
    if arguments[:1] in (["-C"], ["--directory"]) and len(arguments) > 2 and not arguments[2].startswith("-"):
        arguments = _in_place(arguments)
    name = arguments[0] if arguments and not arguments[0].startswith("-") else ""
    if not name:
        return _flags_first(arguments)
    command = find(name)
    if command is None and os.path.isfile(name):
        return _with_file(name, arguments[1:])
    if command is None and _is_page(name):
        raise UsageError(f"{name}: no such file")
    if command is None:
        raise _no_command(name, " ".join(arguments))
    return command(arguments[1:])


def _no_command(name: str, typed: str) -> UsageError:
    if load("engine.commands.table:known")(name):
        here = IN_A_SHELL.get(name, f'quintet -p "/{name}" --resume ID')
        return UsageError(f"/{name} is a command in a session, not in a shell.", hint=f"In a shell: {here}")
    meant = f" Use {ELSEWHERE[name]}." if name in ELSEWHERE else did_you_mean(name, names())
    return UsageError(f"{name} is not a command.{meant}", hint=f'To send it as a request: quintet -p "{typed[:60]}"')


def _flags_first(arguments: list[str]) -> int:
    """A session, or a file that comes behind the flags; a command cannot, since its flags are its own."""
    parser = main_parser()
    more = parser.parse_known_args(arguments)[1]
    if len(more) == 1 and os.path.isfile(more[0]):
        at = len(arguments) - 1 - arguments[::-1].index(more[0])
        return _with_file(more[0], [*arguments[:at], *arguments[at + 1 :]])
    if len(more) == 1 and _is_page(more[0]):
        raise UsageError(f"{more[0]}: no such file")
    if more and more[0] in names():
        raise UsageError(f"put {more[0]} first, then its flags: quintet {more[0]} …")
    return _run(parser.parse_args(arguments))


def _is_page(name: str) -> bool:
    return bool(load("domain.tasks.request_split:names_a_page")(name))


def _in_place(arguments: list[str]) -> list[str]:
    """`-C DIR command action …` as `command action -C DIR …`."""
    flag, name, rest = arguments[:2], arguments[2], arguments[3:]
    has_action = bool(rest) and not rest[0].startswith("-")
    action = rest[:1] if has_action else []
    return [name, *action, *flag, *rest[len(action) :]]


def main_parser() -> ArgumentParser:
    parser = make_parser("", DESCRIPTION)
    parser.epilog = _epilog()
    parser.add_argument("-V", "--version", action="version", version=f"quintet {__version__}")
    parser.add_argument(
        "-p", "--print", nargs="?", const="-", default=None, metavar="TEXT", dest="text", help="headless"
    )
    parser.add_argument("--plain", action="store_true", help="line by line, works in any terminal")
    _session_flags(parser)
    return parser


def _epilog() -> str:
    more = "".join(f"  {line}\n" for feature in registry.features() for one in feature.commands if (line := one.usage))
    return COMMANDS + more + EXIT_CODES


def _session_flags(parser: ArgumentParser) -> None:
    dial_flags(parser)
    session = parser.add_argument_group("session")
    session.add_argument("--resume", nargs="?", const="latest", default="", metavar="ID", help="resume a session")
    session.add_argument("--agent", default="", metavar="NAME|FILE", help="open an agent's session")
    session.add_argument("--fork", action="store_true", help="with --resume: continue in a copy")
    session.add_argument(
        "--model", default="", metavar="NAME", help="one of your models, PRESET/MODEL, builtin, or replay:FILE"
    )
    session.add_argument("--reasoning", action="store_true", help="show the agent's reasoning")
    session.add_argument("--max-turns", type=int, metavar="N", help="maximum number of model requests")
    session.add_argument("--max-cost", type=float, metavar="MONEY", help="maximum cost")
    session.add_argument("--swe", action="store_true", help="use SWE phases, each with its tools and budget")
    session.add_argument(
        "--output-format", choices=("text", "json", "stream-json"), default="text", help="for a headless run"
    )
    session.add_argument(
        "--json-schema", metavar="FILE|JSON", help="for a headless run: the answer is JSON that matches this schema"
    )
    session.add_argument(
        "--begun-by",
        metavar="NAME",
        default="",
        help="with -p: what begins the session, as ci; a bare --resume passes over it",
    )
    session.add_argument("--held", action="store_true", help="with -p: nobody turns a dial above where it begins")
    session.add_argument(
        "--input-id",
        metavar="NAME",
        default="",
        help="with -p and --resume: an id for the input; sent twice, it counts once",
    )
    session.add_argument("--debug", action="store_true", help="show a stack trace when something fails")


def headless(arguments: list[str]) -> int:
    if arguments[:1] == ["autonomous"]:
        return int(load("cli.flow:flow")(arguments[1:], "headless autonomous"))
    parser = make_parser("headless", "One headless turn.")
    parser.add_argument("text", nargs="?", default="-", help="the input; - or no input: read stdin")
    _session_flags(parser)
    return _run(parser.parse_args(arguments))


def _with_file(path: str, arguments: list[str]) -> int:
    """A session that begins with what a file says is to be done; with nobody at a terminal, `quintet flow FILE`."""
    if not sys.stdin or not sys.stdin.isatty():
        return int(load("cli.flow:flow")([path, *arguments]))
    parsed = main_parser().parse_args(arguments)
    if parsed.text is not None:
        raise UsageError(f"{path} and -p both give a request: use one of them")
    parsed.first = load("cli.flow:line_of")(path)
    return _run(parsed)


def _run(parsed: Namespace) -> int:
    return int(load("cli.session:run")(parsed))


def tour(arguments: list[str]) -> int:
    make_parser("tour", "A 1-minute tour on a small repository in a temporary folder.").parse_args(arguments)
    return int(load("app.tour:run")())


def find(name: str) -> Command | None:
    """A command of the core, or of a feature."""
    if name in TABLE:
        command: Command = load(f"cli.{TABLE[name]}")
        return command
    return registry.command(name)


def names() -> list[str]:
    return [*TABLE, *(one.name for feature in registry.features() for one in feature.commands)]
