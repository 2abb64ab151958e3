"""argv → settings → surface. Cheap: what a command does not need is not imported."""

from __future__ import annotations

import os
import sys

from quintet import __version__

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import ArgumentParser, HelpFormatter, Namespace
    from collections.abc import Callable
    from typing import Any

    from quintet.domain.axes import AxesChange

DESCRIPTION = "A coding agent you steer by five dials."
EPILOG = """\
commands:
  quintet                     a session here, line by line
  quintet -p "…"              one headless turn, the answer on stdout (- or nothing: read stdin)
  quintet headless "…"        the same, by its long name
  quintet tour                a minute's tour on a small repository
  quintet status              where this project's newest session stands
  quintet sessions list | show ID [--events] | fork ID | purge ID
  quintet tools list | show NAME
  quintet permit --tool NAME --args JSON   what the gate would decide about a call
  quintet why EVENT           what stands behind a decision or a transition
  quintet settings            every setting, and where it came from
  quintet trust               let this folder's own settings loosen anything

exit codes: 0 done, 1 error, 2 usage, 3 blocked or needs approval, 4 limit, 130 interrupted
"""


def main(argv: list[str] | None = None) -> int:
    arguments = sys.argv[1:] if argv is None else argv
    if arguments[:1] in (["--version"], ["-V"]):
        sys.stdout.write(f"quintet {__version__}\n")
        return 0
    if sys.stdout is None:  # closed before we began: there is nobody to say anything to
        sys.stdout = open(os.devnull, "w")  # noqa: SIM115
    debug = "--debug" in arguments or bool(os.environ.get("QUINTET_DEBUG"))
    arguments = [argument for argument in arguments if argument != "--debug"]
    try:
        code = _dispatch(arguments)
        sys.stdout.flush()
        return code
    except BrokenPipeError:
        _let_stdout_go()
        return 1
    except KeyboardInterrupt:
        return 130
    except Exception as error:
        return _failed(error, debug)
    except BaseException as error:
        if type(error).__name__ == "CancelledError":  # a second interrupt; asyncio is not imported to name it
            return 130
        raise


def _failed(error: Exception, debug: bool) -> int:
    from quintet.domain.errors import QuintetError

    if debug or not isinstance(error, QuintetError | OSError):
        import traceback

        traceback.print_exception(error)
    if isinstance(error, QuintetError):
        sys.stderr.write(f"quintet: {error}\n")
        return error.exit_code
    if isinstance(error, OSError):
        _let_stdout_go()
        where = f"{error.filename}: " if error.filename else ""
        sys.stderr.write(f"quintet: {where}{error.strerror or error}\n")
    return 1


def _let_stdout_go() -> None:
    """The reader of our output is gone: nothing more can be said there, and Python must not try at exit."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())


def _dispatch(arguments: list[str]) -> int:
    if arguments[:1] in (["-C"], ["--directory"]) and len(arguments) > 2 and arguments[2] in COMMANDS:
        arguments = [arguments[2], *arguments[:2], *arguments[3:]]
    name = arguments[0] if arguments and not arguments[0].startswith("-") else ""
    if not name:
        return _session(_main_parser().parse_args(arguments))
    command = COMMANDS.get(name)
    if command is None:
        from quintet.domain.errors import UsageError
        from quintet.domain.nearest import did_you_mean

        raise UsageError(
            f"{name} is not a command.{did_you_mean(name, COMMANDS)}",
            hint=f'To give it as a request: quintet -p "{" ".join(arguments)[:60]}"',
        )
    return command(arguments[1:])


# ── parsers


def _parser(name: str, about: str) -> ArgumentParser:
    from argparse import ArgumentParser

    parser = ArgumentParser(
        prog=f"quintet {name}".strip(), description=about, allow_abbrev=False, formatter_class=_formatter
    )
    parser.add_argument("-C", "--directory", default=".", metavar="DIR", help="the project, if not this folder")
    return parser


def _formatter(prog: str) -> HelpFormatter:
    """Told its width, argparse does not import shutil and what that brings."""
    from argparse import RawDescriptionHelpFormatter

    try:
        width = os.get_terminal_size().columns
    except OSError:
        width = 100
    return RawDescriptionHelpFormatter(prog, width=min(width, 110) - 2)


def _main_parser() -> ArgumentParser:
    parser = _parser("", DESCRIPTION)
    parser.epilog = EPILOG
    parser.add_argument("-V", "--version", action="version", version=f"quintet {__version__}")
    parser.add_argument(
        "-p", "--print", nargs="?", const="-", default=None, metavar="TEXT", dest="text", help="headless"
    )
    parser.add_argument("--plain", action="store_true", help="line by line, for any terminal")
    _session_flags(parser)
    return parser


def _dial_flags(parser: ArgumentParser) -> None:
    dials = parser.add_argument_group("dials")
    dials.add_argument("--mode", metavar="MODE", help="chat, plan, build, review, repair or research")
    dials.add_argument("--control", metavar="CONTROL", help="manual, assisted or autonomous")
    dials.add_argument("--autonomous", action="store_true", help="the same as --control autonomous")
    dials.add_argument("--permission-profile", metavar="P", help="restricted, normal, trusted or unrestricted")
    dials.add_argument("--model-mode", metavar="M", help="fast, smart or deep")


def _session_flags(parser: ArgumentParser) -> None:
    _dial_flags(parser)
    session = parser.add_argument_group("session")
    session.add_argument("--resume", nargs="?", const="latest", default="", metavar="ID", help="go on with a session")
    session.add_argument("--fork", action="store_true", help="with --resume: go on in a copy")
    session.add_argument("--max-turns", type=int, metavar="N", help="model requests at most")
    session.add_argument("--max-cost", type=float, metavar="MONEY", help="money at most")
    session.add_argument(
        "--swe", action="store_true", help="keep the run to SWE phases, each with its tools and budget"
    )
    session.add_argument(
        "--output-format", choices=("text", "json", "stream-json"), default="text", help="of a headless run"
    )
    session.add_argument("--debug", action="store_true", help="show a stack trace when something fails")


def _lookup(name: str, about: str, add: Callable[[ArgumentParser], object] | None = None) -> Callable[[list[str]], int]:
    def run(arguments: list[str]) -> int:
        parser = _parser(name, about)
        parser.add_argument("--json", action="store_true", help="as JSON")
        if add:
            add(parser)
        parsed = parser.parse_args(arguments)
        from quintet import lookups

        code: int = getattr(lookups, name.replace(" ", "_"))(parsed)
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


# ── sessions


def _tools(arguments: list[str]) -> int:
    actions = {
        "list": _lookup("tools list", "Every tool: its toolsets, least profile and effects."),
        "show": _lookup("tools show", "One tool, with its parameters.", lambda p: p.add_argument("name")),
    }
    return _action("tools", actions, arguments)


def _permit(arguments: list[str]) -> int:
    parser = _parser("permit", "What the gate would decide about a call; nothing is run.")
    parser.add_argument("--tool", required=True, metavar="NAME", help="the tool")
    parser.add_argument("--args", default="{}", metavar="JSON", help="its arguments")
    _dial_flags(parser)
    parser.add_argument("--person", action="store_true", default=True, help="somebody is attached (the default)")
    parser.add_argument("--no-person", action="store_false", dest="person", help="nobody is attached")
    parser.add_argument(
        "--sandbox", choices=("bwrap", "partial", "none"), default="none", help="what contains commands"
    )
    parser.add_argument("--json", action="store_true", help="as JSON")
    parsed = parser.parse_args(arguments)
    from quintet import lookups

    return lookups.permit(parsed, _dials(parsed))


def _fork(arguments: list[str]) -> int:
    parser = _parser("sessions fork", "A new session that begins with another's finished turns.")
    _id(parser)
    parser.add_argument("--json", action="store_true", help="as JSON")
    parsed = parser.parse_args(arguments)
    import asyncio

    from quintet.app import fork

    forked = asyncio.run(fork(parsed.directory, parsed.id))
    sys.stdout.write(f'{{"session": "{forked}"}}\n' if parsed.json else f"{forked}\n")
    return 0


def _headless_command(arguments: list[str]) -> int:
    parser = _parser("headless", "One headless turn.")
    parser.add_argument("text", nargs="?", default="-", help="the input; - or nothing reads stdin")
    _session_flags(parser)
    return _session(parser.parse_args(arguments))


def _session(parsed: Namespace) -> int:
    text = getattr(parsed, "text", None)
    if parsed.fork and not parsed.resume:
        from quintet.domain.errors import UsageError

        raise UsageError("--fork goes with --resume ID")
    import asyncio

    if text is not None:
        return asyncio.run(_headless(parsed, _stdin_text() if text == "-" else text))
    return asyncio.run(_plain(parsed))


async def _headless(parsed: Namespace, text: str) -> int:
    from quintet.app import open_session
    from quintet.domain.axes import Surface
    from quintet.domain.errors import UsageError
    from quintet.surfaces.headless import Headless

    if not text.strip():
        raise UsageError("nothing to do: the input is empty")
    if any("\udc80" <= char <= "\udcff" for char in text):
        raise UsageError("the input is not text: it is not UTF-8")
    async with open_session(parsed.directory, surface=Surface.HEADLESS, **_options(parsed)) as session:
        return await Headless(session, parsed.output_format).run(text)


async def _plain(parsed: Namespace) -> int:
    from quintet.app import ask_for_trust, looks, open_session
    from quintet.domain.axes import Surface
    from quintet.domain.errors import UsageError
    from quintet.surfaces.plain import Plain

    if sys.stdin is None:
        raise UsageError("nothing to do: there is no standard input to read from")
    person = sys.stdin.isatty()
    if person:
        ask_for_trust(parsed.directory)
    async with open_session(parsed.directory, surface=Surface.TUI, person=person, **_options(parsed)) as session:
        return await Plain(session, *looks(parsed.directory)).run()


def _dials(parsed: Namespace) -> AxesChange:
    """The dials the flags turn."""
    from quintet.domain.axes import AxesChange, RunControl, merge, parse_axis

    changes = [
        parse_axis(word, value)
        for word in ("mode", "control", "permission-profile", "model-mode")
        if (value := getattr(parsed, word.replace("-", "_")))
    ]
    if parsed.autonomous:
        changes.append(AxesChange(run_control=RunControl.AUTONOMOUS))
    return merge(changes)


def _options(parsed: Namespace) -> dict[str, Any]:
    flags: dict[str, object] = {}
    if parsed.max_turns is not None:
        flags["limits.max_turns"] = parsed.max_turns
    if parsed.max_cost is not None:
        flags["limits.max_cost"] = parsed.max_cost
    if parsed.swe:
        flags["tools.swe_phases"] = True
    return {"axes": _dials(parsed), "settings": flags, "resume": parsed.resume, "fork": parsed.fork}


def _stdin_text() -> str:
    from quintet.domain.errors import UsageError

    if sys.stdin is None or sys.stdin.isatty():
        raise UsageError('nothing to do: give the input, as in quintet -p "…", or pipe it in')
    data = sys.stdin.buffer.read()
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise UsageError(f"standard input is not text: byte {error.start} is not UTF-8") from None
    if "\0" in text:
        raise UsageError(f"standard input is not text: a NUL at character {text.index(chr(0))}")
    return text


def _tour(arguments: list[str]) -> int:
    _parser("tour", "A minute's tour on a small repository in a temporary folder.").parse_args(arguments)
    import asyncio

    from quintet.app import tour

    return asyncio.run(tour())


COMMANDS: dict[str, Callable[[list[str]], int]] = {
    "status": _lookup(
        "status",
        "Where this project's newest session stands.",
        lambda p: p.add_argument("--session", default="", metavar="ID", help="another session than the newest"),
    ),
    "sessions": _sessions,
    "tools": _tools,
    "permit": _permit,
    "settings": _lookup("settings", "Every setting, its value, and where it came from."),
    "trust": _lookup(
        "trust",
        "Trust this folder: its own settings may then loosen things.",
        lambda p: (
            p.add_argument("--revoke", action="store_true", help="take the trust back"),
            p.add_argument("--list", action="store_true", help="list the trusted folders"),
        ),
    ),
    "why": _lookup(
        "why", "What stands behind an event.", lambda p: p.add_argument("event", type=int, help="its number")
    ),
    "headless": _headless_command,
    "tour": _tour,
}
