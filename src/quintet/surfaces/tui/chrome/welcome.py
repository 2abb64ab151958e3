"""The first words on the screen where no model is configured."""

from __future__ import annotations

from collections.abc import Sequence

from quintet.domain.journal.describe import Line

OFFLINE = "rename, replace, find, summarise, test, lint, move files and use git"


def welcome(found: Sequence[str], tour: str, *, first_time: bool) -> list[Line]:
    """All of it the first time, one line after that."""
    if not first_time:
        return [Line("  offline rules: no model is configured · quintet models list", "dim")]
    here = ", ".join(found) if found else "no API key, no local server, no AI CLI"
    lines = [
        Line("  No model is configured.", "warning"),
        Line(f"  Found here: {here}."),
        Line(f"  Without one, the offline rules can {OFFLINE}."),
        Line("  quintet models list   how to connect a model", "dim"),
    ]
    if tour:
        lines.append(Line(f"  {tour:<21} a minute's tour on a small repository", "dim"))
    return [*lines, Line("  ?                     every key", "dim")]
