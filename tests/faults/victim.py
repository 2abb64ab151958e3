"""A process to be killed: runs the scripted session on a project and reports on stdout, line by line as JSON.

python tests/faults/victim.py PROJECT [TAG [short]]. It says {"ready": true} before it opens the store, then each event
and submission when it has been acknowledged and each call when it begins, and {"done": true} at the end.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from typing import Any

from crash_session import SCRIPT, SHORT, Person, ReportingStore, reporting_session

from quintet.adapters.files.paths import locate
from quintet.adapters.processes.system import RandomIds, SystemClock, process_start


def report(what: dict[str, Any]) -> None:
    os.write(1, json.dumps(what).encode() + b"\n")


async def main(project: str, tag: str = "", length: str = "") -> None:
    report({"ready": True})
    store = ReportingStore(locate(project).database, report)
    started = process_start(os.getpid())
    async with reporting_session(project, store, report, SystemClock(), RandomIds(), started, tag) as session:
        person = Person(session, tag=tag)
        try:
            await person.run(SHORT if length else SCRIPT)
        finally:
            await person.leave()
    report({"done": True})


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
