"""argv → settings → surface. Cheap: what a command does not need is not imported."""

from __future__ import annotations

import gc
import os
import sys

from quintet import __version__
from quintet.cli.parsing import dial_flags, make_parser, turned

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from typing import Any

DESCRIPTION = "A coding agent you steer by five dials."
COMMANDS = """\
commands:
  quintet                     a session here, on a screen; --plain: line by line
  quintet -p "…"              one headless turn, the answer on stdout (- or nothing: read stdin)
  quintet headless "…"        the same, by its long name
  quintet flow "…"|FILE       plan, execute and verify (also: headless autonomous "…")
  quintet tour                a minute's tour on a small repository
  quintet status              where this project's newest session stands
  quintet sessions list | show ID [--events] | fork ID | purge ID
  quintet rewind [ID] [N] [files|conversation|both]   back to before a turn
  quintet models list | test [NAME]        the models you can route to
  quintet agents list | show NAME | check | new NAME     personas with menus
  quintet route --agent NAME -- "…"        which command an input would be there
  quintet tools list | show NAME | doctor  what there is, and what is missing here
  quintet tools call NAME --args JSON      one call by your own hand, through the gate
  quintet permit --tool NAME --args JSON   what the gate would decide about a call
  quintet rules list | add | revoke ID     what you allow unasked, or never
  quintet policy --stage STAGE             tools, prompts and reasoning of a stage
  quintet prompts show STAGE               what a model would be told, part by part
  quintet tasks list | show ID | add FILE… | move ID STATUS   what is to be done
  quintet secrets list | set NAME | remove NAME   what is kept from models, and given to commands
  quintet doctor [fix]        what is wrong here, and mend what can be
  quintet aside [move|keep|back PATH]  files that were kept out of the project
  quintet report [ID]         what a session did, changed, asked and cost
  quintet cost [--by day|model|stage|…]    tokens and money
  quintet logs [--follow]     every model request, and how it ended
  quintet replay RUN [--export FILE]       a recorded session again, compared event by event
  quintet why EVENT           what stands behind a decision or a transition
  quintet settings            every setting, and where it came from
  quintet plugins             features that were installed beside it
  quintet trust               let this folder's own settings loosen things, and load its own tools
"""
EXIT_CODES = """
exit codes: 0 done, 1 error, 2 usage, 3 blocked or needs approval, 4 limit, 130 interrupted
"""


def main(argv: list[str] | None = None) -> int:
    arguments = sys.argv[1:] if argv is None else argv
    if arguments[:1] in (["--version"], ["-V"]):
        sys.stdout.write(f"quintet {__version__}\n")
        return 0
    gc.set_threshold(50_000)  # what a start makes stays: looking through it again and again for garbage finds none
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
    from quintet.domain.base.errors import QuintetError
    from quintet.surfaces.tables import complain

    if debug or not isinstance(error, QuintetError | OSError):
        import traceback

        traceback.print_exception(error)
    if isinstance(error, QuintetError):
        complain(f"quintet: {error}")
        return error.exit_code
    if isinstance(error, OSError):
        _let_stdout_go()
        where = f"{error.filename}: " if error.filename else ""
        complain(f"quintet: {where}{error.strerror or error}")
    return 1


def _let_stdout_go() -> None:
    """The reader of our output is gone: nothing more can be said there, and Python must not try at exit."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())


def _dispatch(arguments: list[str]) -> int:
    if arguments[:1] in (["-C"], ["--directory"]) and len(arguments) > 2 and not arguments[2].startswith("-"):
        arguments = _in_place(arguments)
    name = arguments[0] if arguments and not arguments[0].startswith("-") else ""
    if not name:
        return _session(_main_parser().parse_args(arguments))
    from quintet.cli import commands

    command = commands.find(name)
    if command is None:
        from quintet.domain.base.errors import UsageError
        from quintet.domain.base.wording import did_you_mean

        raise UsageError(
            f"{name} is not a command.{did_you_mean(name, commands.names())}",
            hint=f'To give it as a request: quintet -p "{" ".join(arguments)[:60]}"',
        )
    return command(arguments[1:])


def _in_place(arguments: list[str]) -> list[str]:
    """`-C DIR command action …` as `command action -C DIR …`."""
    flag, name, rest = arguments[:2], arguments[2], arguments[3:]
    has_action = bool(rest) and not rest[0].startswith("-")
    action = rest[:1] if has_action else []
    return [name, *action, *flag, *rest[len(action) :]]


def _main_parser() -> ArgumentParser:
    parser = make_parser("", DESCRIPTION)
    parser.epilog = _epilog()
    parser.add_argument("-V", "--version", action="version", version=f"quintet {__version__}")
    parser.add_argument(
        "-p", "--print", nargs="?", const="-", default=None, metavar="TEXT", dest="text", help="headless"
    )
    parser.add_argument("--plain", action="store_true", help="line by line, for any terminal")
    _session_flags(parser)
    return parser


def _epilog() -> str:
    from quintet.features.registry import features

    more = "".join(f"  {line}\n" for feature in features() for line in feature.usage)
    return COMMANDS + more + EXIT_CODES


def _session_flags(parser: ArgumentParser) -> None:
    dial_flags(parser)
    session = parser.add_argument_group("session")
    session.add_argument("--resume", nargs="?", const="latest", default="", metavar="ID", help="go on with a session")
    session.add_argument("--agent", default="", metavar="NAME|FILE", help="enter an agent's session")
    session.add_argument("--fork", action="store_true", help="with --resume: go on in a copy")
    session.add_argument("--model", default="", metavar="NAME", help="one of your models, builtin, or replay:FILE")
    session.add_argument("--reasoning", action="store_true", help="show the agent's reasoning")
    session.add_argument("--max-turns", type=int, metavar="N", help="model requests at most")
    session.add_argument("--max-cost", type=float, metavar="MONEY", help="money at most")
    session.add_argument(
        "--swe", action="store_true", help="keep the run to SWE phases, each with its tools and budget"
    )
    session.add_argument(
        "--output-format", choices=("text", "json", "stream-json"), default="text", help="of a headless run"
    )
    session.add_argument(
        "--json-schema", metavar="FILE|JSON", help="of a headless run: the answer is JSON of this schema"
    )
    session.add_argument("--debug", action="store_true", help="show a stack trace when something fails")


def headless(arguments: list[str]) -> int:
    if arguments[:1] == ["autonomous"]:
        from quintet.cli.flow import flow

        return flow(arguments[1:], "headless autonomous")
    parser = make_parser("headless", "One headless turn.")
    parser.add_argument("text", nargs="?", default="-", help="the input; - or nothing reads stdin")
    _session_flags(parser)
    return _session(parser.parse_args(arguments))


def _session(parsed: Namespace) -> int:
    text = getattr(parsed, "text", None)
    if parsed.fork and not parsed.resume:
        from quintet.domain.base.errors import UsageError

        raise UsageError("--fork goes with --resume ID")
    if parsed.json_schema and text is None:
        from quintet.domain.base.errors import UsageError

        raise UsageError('--json-schema goes with a headless run: quintet -p "…"')
    import asyncio

    if text is not None:
        return asyncio.run(_headless(parsed, _stdin_text() if text == "-" else text))
    return asyncio.run(_tui(parsed) if not parsed.plain and _at_a_screen() else _plain(parsed))


async def _headless(parsed: Namespace, text: str) -> int:
    from quintet.app.open import open_session
    from quintet.domain.base.errors import UsageError
    from quintet.domain.dials.axes import Surface
    from quintet.surfaces.headless import Headless

    if not text.strip() and not (parsed.agent or parsed.resume):  # to an agent it says: the menu, please
        raise UsageError("nothing to do: the input is empty")
    if any("\udc80" <= char <= "\udcff" for char in text):
        raise UsageError("the input is not text: it is not UTF-8")
    schema = _schema(parsed.json_schema) if parsed.json_schema else None
    options = {**_options(parsed), "json_schema": schema}
    options["settings"]["cycle.from_input"] = False  # one input is one turn here; `quintet flow` is for more
    async with open_session(parsed.directory, surface=Surface.HEADLESS, **options) as session:
        if schema is not None and not session.owned_here:
            raise UsageError("--json-schema: another process runs this session, and it answers there; try --fork")
        if not text.strip() and session.state.runs.agent is None:
            raise UsageError("nothing to do: the input is empty, and no agent is active")
        return await Headless(session, parsed.output_format, parsed=schema is not None).run(text)


def _schema(given: str) -> dict[str, Any]:
    """A schema given as itself or as the name of its file."""
    import json

    from quintet.domain.base.errors import UsageError
    from quintet.domain.base.json_schema import unusable

    text, where = given, "--json-schema"
    if not given.lstrip().startswith("{"):
        where = f"--json-schema {given}"
        try:
            with open(given, encoding="utf-8") as file:
                text = file.read()
        except OSError as error:
            raise UsageError(f"{where}: cannot be read ({error.strerror})") from None
        except UnicodeError:
            raise UsageError(f"{where}: not UTF-8 text") from None
    try:
        schema = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{where}: not JSON: {error}") from None
    if problem := unusable(schema):
        raise UsageError(f"{where}: {problem}")
    found: dict[str, Any] = schema
    return found


def _at_a_screen() -> bool:
    """Whether somebody sits at a terminal that can show a screen."""
    streams = (sys.stdin, sys.stdout, sys.stderr)
    return all(stream is not None and stream.isatty() for stream in streams) and os.environ.get("TERM") not in (
        None,
        "",
        "dumb",
    )


async def _tui(parsed: Namespace) -> int:
    from quintet.app.tui_wiring import surroundings
    from quintet.surfaces.tui.app import run

    return await run(surroundings(parsed.directory, _options(parsed)))


async def _plain(parsed: Namespace) -> int:
    from quintet.app.open import looks, open_session
    from quintet.app.trust_question import ask_for_trust
    from quintet.domain.base.errors import UsageError
    from quintet.domain.dials.axes import Surface
    from quintet.surfaces.plain import Plain
    from quintet.surfaces.terminal import told_to_end

    if sys.stdin is None:
        raise UsageError("nothing to do: there is no standard input to read from")
    person = sys.stdin.isatty()
    if person:
        ask_for_trust(parsed.directory)
    with told_to_end() as told:
        async with open_session(parsed.directory, surface=Surface.TUI, person=person, **_options(parsed)) as session:
            return await Plain(session, *looks(parsed.directory)).run(told)


def _options(parsed: Namespace) -> dict[str, Any]:
    flags: dict[str, object] = {}
    if parsed.max_turns is not None:
        flags["limits.max_turns"] = parsed.max_turns
    if parsed.max_cost is not None:
        flags["limits.max_cost"] = parsed.max_cost
    if parsed.reasoning:
        flags["runs.reasoning"] = True
    if parsed.model:
        flags.update({f"routing.{model_mode}": parsed.model for model_mode in ("fast", "smart", "deep")})
    if parsed.swe:
        flags["tools.swe_phases"] = True
    named = {"resume": parsed.resume, "fork": parsed.fork, "agent": parsed.agent}
    return {"axes": turned(parsed), "settings": flags, **named}


def _stdin_text() -> str:
    from quintet.domain.base.errors import UsageError

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


def tour(arguments: list[str]) -> int:
    make_parser("tour", "A minute's tour on a small repository in a temporary folder.").parse_args(arguments)
    import asyncio

    from quintet.app import open as app

    return asyncio.run(app.tour())
