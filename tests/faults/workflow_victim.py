"""A process that follows a workflow of ten steps and kills itself, as `kill -9` would, behind its n-th durable event.

python tests/faults/workflow_victim.py PROJECT [N]. The first starts the run; a later one takes up the session and goes
on. The model is a function of the conversation: it writes the step's file, again if it was told that the outcome of a
call is unknown, and then says that the step is done.
"""

from __future__ import annotations

import asyncio
import re
import sys

from mortal import FOR_EVER, opened

from quintet.domain.dials.axes import Axes, ModelMode, PermissionProfile, RunControl, Surface, WorkMode
from quintet.domain.journal.protocol import Recorded, TurnFinished
from quintet.domain.turn.messages import CallPart, Part, Request, Role
from quintet.testing import ScriptedModel, call

STEPS = 10
AXES = Axes(WorkMode.BUILD, RunControl.AUTONOMOUS, PermissionProfile.TRUSTED, ModelMode.SMART, Surface.RPC)
FLAT = {"tools.presentation": "flat", "runs.qa_review": False}


def follows(request: Request) -> str | list[Part]:
    step, written, names = 0, False, dict[str, str]()
    for message in request.messages:
        if message.role is Role.USER and (found := re.fullmatch(r"Do (\d+)\.", message.text)):
            step, written = int(found[1]), False
        names.update({made.id: made.name for made in message.calls})
        if message.role is Role.TOOL and names[message.call_id] == "Write":
            written = not message.text.startswith(("interrupted", "not run"))
    count = len(names)
    if "complete: every step" in request.messages[-1].text:
        return "all of it is done"
    made: CallPart = (
        call("finish_step", f"c{count}", result=f"did {step}")
        if written
        else call("Write", f"c{count}", file_path=f"out/{step}.txt", content=f"{step}\n")
    )
    return [made]


async def main(project: str, events: int) -> None:
    model = ScriptedModel([follows] * 1000)
    session, _ = await opened(project, events, AXES, FLAT, agent="crew", model=model)
    state = session.state
    if not state.turns.open and not state.turns.waiting:
        await session.say("/resume" if state.runs.known else "tally")
    async for item in session.events(session.since):
        if isinstance(item, Recorded) and isinstance(item.event, TurnFinished) and not session.state.runs.active:
            break
    await session.close()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], int(sys.argv[2]) if sys.argv[2:] else FOR_EVER))
