"""How large the store is beside the text of its conversations: what was asked, said, called with and given back.

python bench/journal_size.py [--sessions 50] [--steps 200] [--folder DIR] [--json]. Whole sessions of the engine, one
after the other, with a model that works like a coding agent. Recordings are kept for the newest sessions only
(`runs.keep_recordings`), and are told beside.
"""

from __future__ import annotations

import os
import sys
from collections import Counter
from typing import Any

from _table import measured_in_a_folder, table, verdict
from _worker import SETTINGS, Worker, make_project, text_bytes

import quintet
from quintet.adapters.files.paths import locate
from quintet.adapters.sqlite.database import connect_to_read
from quintet.adapters.sqlite.rows import Rows
from quintet.domain.dials.axes import AxesChange, PermissionProfile, RunControl, WorkMode
from quintet.domain.journal.protocol import ModelReplied, Recorded, ToolFinished, TurnFinished, TurnStarted

BUILD = AxesChange(WorkMode.BUILD, RunControl.AUTONOMOUS, PermissionProfile.TRUSTED)
STEPS_OF_A_TURN = 25
TARGET = 2.0


def main() -> int:
    return measured_in_a_folder(__doc__, _measure, _text, sessions=(50, "how many"), steps=(200, "calls of each"))


async def _measure(folder: str, sessions: int, steps: int) -> dict[str, Any]:
    root = os.path.join(folder, "project")
    os.environ |= {"XDG_STATE_HOME": os.path.join(folder, "state"), "XDG_CONFIG_HOME": folder}
    files = make_project(root)
    settings = {**SETTINGS, "checkpoints.enabled": False}
    for number in range(sessions):
        worker = Worker(root, files, STEPS_OF_A_TURN, start=number * 100_003)
        async with quintet.open(root, model=worker, axes=BUILD, settings=settings) as session:
            for turn in range(max(steps // STEPS_OF_A_TURN, 1)):
                submission = await session.say(f"Session {number}, part {turn}: continue with the next files.")
                followed = session.follow(submission)
                async for _ in followed:
                    pass
                ended = followed.outcome.event
                assert isinstance(ended, TurnFinished) and ended.status == "done", ended
    return _sizes(root)


def _sizes(root: str) -> dict[str, Any]:
    places = locate(root)
    connection = connect_to_read(places.database)
    rows = Rows(connection, places.database)
    text = calls = events = 0
    for row in rows.sessions(100_000):
        for one in rows.pieces(row.id):
            events += 1
            text += _text_of(one)
            calls += isinstance(one.event, ToolFinished)
    kinds: Counter[str] = Counter()
    for kind, size in connection.execute("SELECT type, sum(length(data)) FROM journal GROUP BY type"):
        kinds[str(kind)] = int(str(size))
    connection.close()
    store = os.path.getsize(places.database)  # closed, so its log is merged
    recordings = sum(
        os.path.getsize(os.path.join(folder, name)) for folder, _, names in os.walk(places.runs) for name in names
    )
    return {
        "calls": calls,
        "events": events,
        "text_bytes": text,
        "store_bytes": store,
        "ratio": round(store / text, 2),
        "recording_bytes": recordings,
        "rows": dict(kinds.most_common(8)),
    }


def _text_of(one: Recorded) -> int:
    match one.event:
        case TurnStarted(text=said):
            return text_bytes(said)
        case ModelReplied(text=said, thinking=thought, calls=made):
            return text_bytes(said, thought, *[call.arguments for call in made])
        case ToolFinished(content=content):
            return text_bytes(content)
    return 0


def _text(figures: dict[str, Any]) -> str:
    calls = max(figures["calls"], 1)
    return table(
        ["", "MB", "bytes a call", "ratio", "target", ""],
        [
            _row("text of the conversations", figures["text_bytes"], calls, "1.00", "", ""),
            _row(
                *("state.db", figures["store_bytes"], calls, f"{figures['ratio']:.2f}", f"≤ {TARGET:g}"),
                verdict(figures["ratio"] <= TARGET),
            ),
            _row("recordings that are kept", figures["recording_bytes"], calls, "", "", ""),
            *[_row(f"  rows {kind}", size, calls, "", "", "") for kind, size in figures["rows"].items()],
        ],
    )


def _row(name: str, size: int, calls: int, *rest: str) -> list[str]:
    return [name, f"{size / 1e6:.1f}", f"{size / calls:.0f}", *rest]


if __name__ == "__main__":
    sys.exit(main())
