"""The commands that only look, put together without an event loop so that they start fast.

Each takes the parsed arguments and returns an exit code; each has a table and a `--json` form.
"""

from __future__ import annotations

import os
import sys
import time
from argparse import Namespace
from typing import TYPE_CHECKING, Any

import msgspec

from quintet.adapters import config
from quintet.adapters.places import Places, locate
from quintet.adapters.proc import process_start
from quintet.adapters.sqlite.database import clear_errors, connect, connect_to_read
from quintet.adapters.sqlite.rows import Rows
from quintet.adapters.trust import set_trust, trusted_folders
from quintet.domain import badge
from quintet.domain.axes import INTERACTIVE, AxesChange
from quintet.domain.errors import NotFound, UsageError
from quintet.domain.ports import SessionRow
from quintet.engine import queries
from quintet.engine.leases import owner_lives
from quintet.surfaces.tables import say, say_json, table

if TYPE_CHECKING:
    from quintet.domain.toolspec import ToolSpec


def _rows(places: Places) -> Rows | None:
    """The project's store, if there is one yet."""
    if not os.path.exists(places.database):
        return None
    return Rows(connect_to_read(places.database), places.database)


def _needed(places: Places) -> Rows:
    rows = _rows(places)
    if rows is None:
        raise NotFound(
            "there is no session in this project yet", hint="`quintet` opens one; `quintet sessions list` shows them."
        )
    return rows


def _lives(row: SessionRow) -> bool:
    return owner_lives(row, time.time(), process_start)


def status(arguments: Namespace) -> int:
    places = locate(arguments.directory)
    loaded = config.load(places)
    rows = _rows(places)
    with clear_errors(places.database):
        if arguments.session:
            newest: SessionRow | None = _needed(places).find_session(arguments.session)
        else:
            newest = next(iter(rows.sessions(1)), None) if rows else None
    dials = loaded.settings.dials
    chosen = AxesChange(dials.work_mode, dials.run_control, dials.permission_profile, dials.model_mode)
    answer = queries.status(
        newest,
        project=places.root,
        name=places.name,
        settings=loaded.settings,
        axes=chosen.applied_to(INTERACTIVE),
        trusted=loaded.trusted,
        sandbox="none",
        owner_lives=_lives,
    )
    for warning in loaded.warnings:
        sys.stderr.write(f"{warning}\n")
    if arguments.json:
        say_json(answer)
    else:
        say(queries.status_lines(answer))
    return 0


def sessions_list(arguments: Namespace) -> int:
    places = locate(arguments.directory)
    rows = _rows(places)
    with clear_errors(places.database):
        found = rows.sessions() if rows else []
    answers = []
    for row in found:
        summary = queries.summary_of(row)
        live = _lives(row)
        gone = summary.status in ("running", "waiting", "paused") and not live
        answers.append(
            {
                "session": row.id,
                "updated": row.updated,
                "created": row.created,
                "status": "interrupted" if gone else summary.status,
                "live": live,
                "turns": summary.turns,
                "cost": summary.cost,
                "axes": msgspec.to_builtins(summary.axes),
                "parent": row.parent,
                "title": row.title,
            }
        )
    if arguments.json:
        say_json(answers)
    elif not answers:
        say(["no sessions in this project yet"])
    else:
        heading = ("SESSION", "UPDATED", "STATUS", "AXES", "TURNS", "TITLE")
        lines = [
            (
                str(a["session"]),
                str(a["updated"])[:16].replace("T", " "),
                str(a["status"]) + (" (live)" if a["live"] else ""),
                badge.full(queries.summary_of(row).axes),
                str(a["turns"]),
                str(a["title"]),
            )
            for a, row in zip(answers, found, strict=True)
        ]
        say(table(lines, heading=heading))
    return 0


def sessions_show(arguments: Namespace) -> int:
    from quintet.surfaces.transcript import transcript

    places = locate(arguments.directory)
    rows = _needed(places)
    with clear_errors(places.database):
        row = rows.find_session(arguments.id)
        events = rows.read(row.id)
    if arguments.events or arguments.json:
        from quintet.domain.protocol import as_json

        for recorded in events:
            sys.stdout.write(msgspec.json.encode(as_json(recorded)).decode() + "\n")
        return 0
    summary = queries.summary_of(row)
    forked = f"   forked from {row.parent} after event {row.forked_after}" if row.parent else ""
    say(
        [
            f"{row.id}  {badge.full(summary.axes)}  {summary.status}{forked}",
            f"created {row.created}, updated {row.updated}",
        ]
    )
    say(transcript(events))
    return 0


def sessions_purge(arguments: Namespace) -> int:
    places = locate(arguments.directory)
    rows = _needed(places)
    with clear_errors(places.database):
        row = rows.find_session(arguments.id)
        if _lives(row):
            raise UsageError(f"session {row.id} is open in process {row.owner_pid}; leave it there first")
        writer = Rows(connect(places.database), places.database)
        count = writer.count(row.id)
        if not arguments.yes:
            raise UsageError(f"this deletes session {row.id} and its {count} events for good; say it with --yes")
        with writer.connection:
            writer.purge(row.id)
    say([f"purged {row.id}, {count} events"])
    return 0


def settings(arguments: Namespace) -> int:
    places = locate(arguments.directory)
    loaded = config.load(places)
    rows = config.shown(loaded)
    for warning in loaded.warnings:
        sys.stderr.write(f"{warning}\n")
    if arguments.json:
        say_json([{"key": key, "value": value, "source": source} for key, value, source in rows])
        return 0
    say(config.as_lines(loaded))
    say(
        [
            "",
            f"yours      {places.user_settings}{_absent(places.user_settings)}",
            f"project's  {places.project_settings}{_absent(places.project_settings)}",
            "variables  QUINTET_SECTION_KEY, for example QUINTET_LIMITS_MAX_COST=5",
        ]
    )
    return 0


def _absent(path: str) -> str:
    return "" if os.path.exists(path) else "  (not there)"


def trust(arguments: Namespace) -> int:
    places = locate(arguments.directory)
    if arguments.list:
        folders = trusted_folders(places.trust_file)
        if arguments.json:
            say_json(folders)
        else:
            say(folders or ["no folder is trusted"])
        return 0
    changed = set_trust(places.trust_file, places.root, not arguments.revoke)
    state = "no longer trusted" if arguments.revoke else "trusted"
    if arguments.json:
        say_json({"folder": places.root, "trusted": not arguments.revoke, "changed": changed})
    else:
        say([f"{places.root} {'is now' if changed and not arguments.revoke else 'is'} {state}"])
    return 0


def tools_list(arguments: Namespace) -> int:
    from quintet.tools.registry import ALL

    if arguments.json:
        say_json([_tool(spec) for spec in ALL])
        return 0
    heading = ("TOOL", "TOOLSETS", "PROFILE", "EFFECTS")
    rows = [
        (tool["name"], " ".join(tool["toolsets"]) or "everywhere", tool["profile"], " ".join(tool["effects"]) or "none")
        for tool in map(_tool, ALL)
    ]
    say(table(rows, heading=heading))
    return 0


def tools_show(arguments: Namespace) -> int:
    from quintet.domain.nearest import did_you_mean
    from quintet.tools.registry import BY_NAME

    if arguments.name not in BY_NAME:
        raise NotFound(f"there is no tool {arguments.name}.{did_you_mean(arguments.name, BY_NAME)}")
    tool = _tool(BY_NAME[arguments.name])
    if arguments.json:
        say_json(tool)
        return 0
    needed = tool["parameters"].get("required", ())
    parameters = [
        (name + ("" if name in needed else "?"), str(body.get("type", "choice")), body.get("description", ""))
        for name, body in tool["parameters"]["properties"].items()
    ]
    toolsets = " ".join(tool["toolsets"]) or "visible everywhere"
    effects = ", ".join(tool["effects"]) or "no effects"
    head = f"{tool['name']}  {toolsets} · profile {tool['profile']} · {effects}"
    say([head, tool["description"], *(line.rstrip() for line in table(parameters))])
    return 0


def permit(arguments: Namespace, dials: AxesChange) -> int:
    """The gate's decision on a call that is not made."""
    from quintet.adapters.shell_grammar import BashGrammar
    from quintet.domain import gate
    from quintet.domain.errors import ToolFailed
    from quintet.domain.nearest import did_you_mean
    from quintet.domain.shell_effects import with_lines
    from quintet.tools.registry import BY_NAME

    spec = BY_NAME.get(arguments.tool)
    if spec is None:
        raise UsageError(f"there is no tool {arguments.tool}.{did_you_mean(arguments.tool, BY_NAME)}")
    try:
        touch = with_lines(spec.touch(spec.bind(arguments.args)), BashGrammar().parse)
    except ToolFailed as error:
        raise UsageError(error.message) from None
    axes, root = dials.applied_to(INTERACTIVE), locate(arguments.directory).root
    sandbox = gate.Sandbox(arguments.sandbox)
    decision = gate.decide(spec, touch, axes, root=root, person=arguments.person, sandbox=sandbox)
    answer = {
        "decision": decision.verdict,
        "reason": decision.reason,
        "effects": list(decision.effects),
        "axes": msgspec.to_builtins(axes),
        "grant": msgspec.to_builtins(decision.grant),
    }
    if arguments.json:
        say_json(answer)
    else:
        effects = ", ".join(decision.effects) or "none"
        say([f"{decision.verdict:<9}{decision.reason}", f"effects  {effects}", f"axes     {badge.full(axes)}"])
    return 0


def _tool(spec: ToolSpec) -> dict[str, Any]:
    from quintet.domain.grants import ordered
    from quintet.domain.tool_menu import toolsets_of

    return {
        "name": spec.name,
        "toolsets": toolsets_of(spec.name),
        "profile": spec.profile,
        "effects": list(ordered(spec.effects)),
        "description": spec.description,
        "parameters": spec.schema(),
    }


def why(arguments: Namespace) -> int:
    from quintet.engine import reasons

    places = locate(arguments.directory)
    rows = _needed(places)
    with clear_errors(places.database):
        session, recorded = rows.event(arguments.event)
    lines, answer = reasons.why(recorded)
    if arguments.json:
        say_json(answer)
    else:
        say([*lines, f"event    {recorded.seq} of session {session}, {recorded.at}"])
    return 0
