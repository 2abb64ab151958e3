"""What opens a session from the command line: on a screen, line by line, headless; one command, one call.

A surface is loaded when it is chosen.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import sys
from argparse import Namespace
from collections.abc import Mapping
from typing import Any

from quintet.app import open as app
from quintet.app.lookups import looks
from quintet.app.open import LATEST, open_session
from quintet.cli.parsing import turned
from quintet.domain.base.errors import UsageError
from quintet.domain.base.json_schema import unusable
from quintet.domain.base.safe_text import exactly
from quintet.domain.dials.axes import RunControl, Surface
from quintet.package import load
from quintet.surfaces.one_command import OneCall, one_command
from quintet.surfaces.terminal import told_to_end

BEGUN_BY = re.compile(r"[\w.-]{1,40}")


def run(parsed: Namespace) -> int:
    """A session as the flags of the command line want it."""
    text = getattr(parsed, "text", None)
    if parsed.fork and not parsed.resume:
        raise UsageError("--fork goes with --resume ID")
    if parsed.input_id and (text is None or not parsed.resume or parsed.fork):
        raise UsageError('--input-id goes with an input to a session: quintet -p "…" --resume ID --input-id NAME')
    if parsed.begun_by and (text is None or parsed.resume):
        raise UsageError('--begun-by goes with a new headless session: quintet -p "…"')
    if parsed.held and (text is None or parsed.resume):
        raise UsageError('--held goes with a new headless session: quintet -p "…"')
    if parsed.json_schema and text is None:
        raise UsageError('--json-schema goes with a headless run: quintet -p "…"')
    if text is not None:
        return asyncio.run(_headless(parsed, _stdin_text() if text == "-" else text))
    return asyncio.run(_tui(parsed) if not parsed.plain and _at_a_screen() else _plain(parsed))


async def _headless(parsed: Namespace, text: str) -> int:
    if not text.strip() and not (parsed.agent or parsed.resume):  # to an agent it says: the menu, please
        raise UsageError("nothing to do: the input is empty")
    if any("\udc80" <= char <= "\udcff" for char in text):
        raise UsageError("the input is not text: it is not UTF-8")
    schema = _schema(parsed.json_schema) if parsed.json_schema else None
    options = {**_options(parsed), "json_schema": schema}
    if turned(parsed).run_control is not RunControl.AUTONOMOUS or schema is not None:
        options["settings"]["cycle.from_input"] = False  # one input is one turn, unless more was asked for
    async with open_session(parsed.directory, surface=Surface.HEADLESS, **options) as session:
        if schema is not None and not session.owned_here:
            raise UsageError("--json-schema: another process runs this session and would answer there; try --fork")
        if not text.strip() and session.state.runs.agent is None:
            raise UsageError("nothing to do: the input is empty, and no agent is active")
        headless = load("surfaces.headless:Headless")(session, parsed.output_format, parsed=schema is not None)
        return int(await headless.run(text, parsed.input_id))


def _schema(given: str) -> dict[str, Any]:
    """A schema given as itself or as the name of its file."""
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
    around = load("app.terminal_ui:surroundings")(parsed.directory, _options(parsed))
    around.first = getattr(parsed, "first", "")
    return int(await load("surfaces.tui.app:run")(around))


async def _plain(parsed: Namespace) -> int:
    if sys.stdin is None:
        raise UsageError("nothing to do: there is no standard input to read from")
    person = sys.stdin.isatty()
    if person:
        load("app.trust_question:ask_for_trust")(parsed.directory)
        await load("app.model_dialogue:offer_model")(parsed.directory, _options(parsed)["settings"])
    options, first = _options(parsed), getattr(parsed, "first", "")
    while True:
        code, wanted = await _plainly(parsed, options, first, person=person)
        if not wanted:
            return code
        options, first = {**options, "resume": wanted, "fork": False, "axes": None}, ""


async def _plainly(parsed: Namespace, options: dict[str, Any], first: str, *, person: bool) -> tuple[int, str]:
    """One session line by line: its exit code, and the session that was asked for in its place."""
    with told_to_end() as told:
        async with open_session(parsed.directory, surface=Surface.TUI, person=person, **options) as session:
            plain = load("surfaces.plain:Plain")(
                session,
                *looks(session, parsed.directory),
                markdown=lambda: load("surfaces.tui.transcript.markdown:MarkdownLines")(indent=""),
                past=load("app.terminal_ui:past_inputs")(parsed.directory) if person else None,
            )
            return int(await plain.run(told, first)), str(plain.wanted)


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
    named = {
        "resume": parsed.resume,
        "fork": parsed.fork,
        "agent": parsed.agent,
        "begun_by": _begun_by(parsed),
        "held": parsed.held,
    }
    return {"axes": turned(parsed), "settings": flags, **named}


def _begun_by(parsed: Namespace) -> str:
    name: str = getattr(parsed, "begun_by", "")
    if name and not BEGUN_BY.fullmatch(name):
        raise UsageError(f"--begun-by {exactly(name[:60])}: use letters, digits, dots and dashes, at most 40")
    return name


def _stdin_text() -> str:
    if sys.stdin is None or sys.stdin.isatty():
        raise UsageError('nothing to do: give the input, for example quintet -p "…", or pipe it in')
    data = sys.stdin.buffer.read()
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise UsageError(f"standard input is not text: byte {error.start} is not UTF-8") from None
    if "\0" in text:
        raise UsageError(f"standard input is not text: a NUL at character {text.index(chr(0))}")
    return text


def fork(arguments: Namespace) -> int:
    forked = asyncio.run(app.fork(arguments.directory, arguments.id, arguments.at))
    sys.stdout.write(f'{{"session": "{forked}"}}\n' if arguments.json else f"{forked}\n")
    return 0


def rewind(arguments: Namespace) -> int:
    words: list[str] = arguments.words
    session = words.pop(0) if words and not words[0].isdecimal() else ""
    line = " ".join(("/rewind", *(words[:1] if arguments.preview else words)))
    spelled = {"/rewind": f"quintet rewind {session}".rstrip(), "/memory forget": "quintet memory forget"}
    return said_in(arguments, session or LATEST, line, spelled)


def said_in(arguments: Namespace, session: str, line: str, spelled: Mapping[str, str]) -> int:
    """A slash command in a session that was there, whoever runs it."""

    async def said() -> int:
        async with open_session(arguments.directory, surface=Surface.HEADLESS, resume=session) as opened:
            return await one_command(opened, line, as_json=arguments.json, spelled=spelled)

    return asyncio.run(said())


def call(parsed: Namespace, name: str, arguments: str) -> int:
    """One call of a tool by the user's own hand, at the dials that were given."""

    async def made() -> int:
        person = sys.stdin is not None and sys.stdin.isatty()
        dials = turned(parsed)
        async with open_session(parsed.directory, surface=Surface.HEADLESS, person=person, axes=dials) as session:
            return await OneCall(session, as_json=parsed.json, known=("OWN_TOOLS",)).run(name, arguments)

    return asyncio.run(made())
