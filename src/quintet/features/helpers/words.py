"""The helpers of a session as lines of text."""

from __future__ import annotations

from collections.abc import Sequence

from quintet.domain.base.safe_text import on_one_line, visible
from quintet.domain.base.text_table import table
from quintet.features.helpers.stored import StoredHelper
from quintet.features.helpers.values import TASK_SHOWN

HEADING = ("HELPER", "STATUS", "REQUESTS", "CALLS", "IN", "OUT", "COST", "SESSION", "TASK")


def helper_lines(found: Sequence[StoredHelper], session: str, *, reports: bool = False) -> list[str]:
    if not found:
        return [f"session {session} has started no helper"]
    rows = [
        (
            "  " * (one.depth - 1) + one.helper,
            one.status,
            str(one.requests),
            str(one.calls),
            str(one.usage.input_tokens),
            str(one.usage.output_tokens),
            f"{one.cost:.4f}",
            one.session,
            on_one_line(one.task)[:TASK_SHOWN],
        )
        for one in found
    ]
    lines = table(rows, heading=HEADING, right=(2, 3, 4, 5, 6))
    if reports:
        for one in found:
            lines += ["", f"{one.helper}: {one.status}", *visible(one.report).splitlines()]
    return lines
