"""Eight helpers at once beside one after another, by the clock on the wall, on a model that takes its time.

python bench/helpers.py [--helpers 8] [--seconds 0.5] [--json]. Each helper makes three requests, and each request takes
--seconds; the rest is Quintet's own. Both runs have to come to the same report, and what the helpers used has to add up
to what their parent is charged.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
import tempfile
from collections.abc import AsyncIterator
from pathlib import Path
from time import monotonic
from typing import Any

from _table import say, table, verdict

from quintet.adapters.files.paths import locate
from quintet.app.lookups import needed
from quintet.app.open import open_session
from quintet.domain.dials.axes import AxesChange, PermissionProfile, RunControl, Surface, WorkMode
from quintet.domain.journal import protocol as p
from quintet.domain.turn.messages import CallPart, EndPart, Finish, Part, Request, Role, TextPart, ToolCall, Usage
from quintet.features.helpers.stored import stored_helpers
from quintet.testing import call

MOST_RATIO = 0.3
READS = ("a.txt", "b.txt")  # of each helper, before it reports
PRICE = 3.0  # of a million tokens
AXES = AxesChange(WorkMode.BUILD, RunControl.AUTONOMOUS, PermissionProfile.NORMAL)


class SlowModel:
    """The session starts the helpers and answers; each helper reads two files and reports."""

    name = "slow"

    def __init__(self, helpers: int, seconds: float) -> None:
        self._helpers = helpers
        self._seconds = seconds
        self._calls = 0

    async def stream(self, request: Request) -> AsyncIterator[Part]:
        replies = sum(message.role is Role.ASSISTANT for message in request.messages)
        part: Part
        if "You are a helper" in request.messages[0].text:
            await asyncio.sleep(self._seconds)
            part = call("Read", file_path=READS[replies]) if replies < len(READS) else TextPart("read both files")
        elif replies == 0:
            tasks = [{"role": "explorer", "task": f"part {number}"} for number in range(self._helpers)]
            part = call("run_helpers", helpers=tasks)
        else:
            part = TextPart("done")
        if isinstance(part, CallPart):
            self._calls += 1
            part = CallPart(ToolCall(f"call-{self._calls}", part.call.name, part.call.arguments))
        yield part
        finish = Finish.TOOL_CALLS if isinstance(part, CallPart) else Finish.STOP
        yield EndPart(finish, Usage(1000 + 100 * replies, 50))

    async def close(self) -> None:
        """Nothing is held open."""


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--helpers", type=int, default=8, metavar="N", help="at once, beside one after another (8)")
    parser.add_argument("--seconds", type=float, default=0.5, metavar="S", help="that each request takes (0.5)")
    parser.add_argument("--json", action="store_true", help="print JSON")
    wanted = parser.parse_args()
    one, several = (measure(wanted.helpers, at_once, wanted.seconds) for at_once in (1, wanted.helpers))
    ratio = several["seconds"] / one["seconds"]
    summary = {
        "helpers": wanted.helpers,
        "one": one,
        "several": several,
        "ratio": round(ratio, 3),
        "met": ratio <= MOST_RATIO,
        "same_report": one["report"] == several["report"],
        "adds_up": all(run["helpers_used"] == run["charged"] for run in (one, several)),
    }
    rows = [
        (
            str(run["at_once"]),
            f"{run['seconds']:.2f}",
            str(run["charged"][0]),
            str(run["charged"][1]),
            f"{run['cost']:.6f}",
        )
        for run in (one, several)
    ]
    text = [
        table(("at once", "seconds", "tokens in", "tokens out", "cost"), rows),
        "",
        f"ratio {ratio:.2f}, most {MOST_RATIO}: {verdict(bool(summary['met']))}",
        f"the same report: {verdict(bool(summary['same_report']))}; "
        f"tokens and cost of the helpers add up to the parent's: {verdict(bool(summary['adds_up']))}",
    ]
    say("\n".join(text), summary, wanted.json)
    return 0


def measure(helpers: int, at_once: int, seconds: float) -> dict[str, Any]:
    with tempfile.TemporaryDirectory(prefix="quintet-bench-") as folder:
        root = Path(os.path.realpath(folder)) / "project"
        root.mkdir()
        for name in READS:
            (root / name).write_text(f"{name}\n")
        for name in ("HOME", "XDG_STATE_HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME"):
            os.environ[name] = f"{folder}/{name.lower()}"
            os.mkdir(os.environ[name])
        return asyncio.run(_measured(str(root), helpers, at_once, seconds))


async def _measured(root: str, helpers: int, at_once: int, seconds: float) -> dict[str, Any]:
    settings = {
        "tools.presentation": "flat",
        "runs.delivery_check": False,
        "helpers.at_once": at_once,
        "models.slow.base_url": "http://127.0.0.1:9/v1",
        "models.slow.model": "slow",
        "models.slow.price_input": PRICE,
        "models.slow.price_output": PRICE,
        "routing.smart": "slow",
    }
    model = SlowModel(helpers, seconds)
    async with open_session(root, surface=Surface.HEADLESS, axes=AXES, settings=settings, model=model) as session:
        began = monotonic()
        report, charged, cost = "", [0, 0], 0.0
        async for item in session.follow(await session.say("look")):
            event = item.event if isinstance(item, p.Recorded) else None
            if isinstance(event, p.ToolFinished):
                report = event.content
            elif isinstance(event, p.ModelConsulted):
                charged[0] += event.usage.input_tokens
                charged[1] += event.usage.output_tokens
                cost += event.cost
        taken = monotonic() - began
    rows = needed(locate(root))
    stored = stored_helpers(rows, session.id)
    rows.close()
    used = [sum(one.usage.input_tokens for one in stored), sum(one.usage.output_tokens for one in stored)]
    assert abs(sum(one.cost for one in stored) - cost) < 1e-9, "the cost does not add up"
    return {
        "at_once": at_once,
        "seconds": round(taken, 3),
        "report": report,
        "helpers_used": used,
        "charged": charged,
        "cost": round(cost, 9),
    }


if __name__ == "__main__":
    sys.exit(main())
