"""A session's forensics as lines for a terminal: one line an entry, the reason below each decision that had one."""

from __future__ import annotations

from collections.abc import Iterator

from quintet.domain.base.safe_text import visible
from quintet.domain.base.text_table import table
from quintet.domain.base.wording import counted
from quintet.domain.journal.describe import Line
from quintet.engine.reports import accounts
from quintet.engine.reports.activities import span
from quintet.engine.reports.forensics import CallEntry, Entry, Forensics, NoteEntry, RequestEntry
from quintet.engine.reports.session_report import TurnRow, report_lines

HEADING = ("AFTER", "EVENT", "WHAT", "IN", "OUT", "COST", "SECONDS", "OUTCOME", "ABOUT")
NUMBERS = (0, 1, 3, 4, 5, 6)
LEAST_ABOUT = 24  # columns; on a narrower terminal the line wraps
OUTCOME_ROLES = {"error": "error", "denied": "warning", "interrupted": "warning", "retry": "warning"}


NAMES = {
    "dials_turned": "dials",
    "command_ran": "command",
    "question_asked": "question",
    "model_failed": "failed",
    "delivery_checked": "delivery",
    "qa_reported": "review",
    "report_made": "report",
    "history_compacted": "compacted",
    "user_messaged": "to the user",
    "session_taken": "continued",
    "hook_ran": "hook",
    "noticed": "notice",
    "todo_moved": "todo",
    "phase_moved": "phase",
    "rule_made": "rule",
}


def forensics_lines(found: Forensics, width: int = 0) -> list[Line]:
    """Totals, then each turn with its entries; lines are cut to `width` columns, or not at all if it is 0."""
    lines = [
        Line(visible(line), "" if "  " in line else "bold") for line in report_lines(found.report, over_time=False)
    ]
    began = began_at(found)
    rows = [_cells(entry, began) for entry in found.entries]
    shown = iter(table(rows, heading=HEADING, right=NUMBERS))
    about = table([HEADING[:-1], *(row[:-1] for row in rows)], right=NUMBERS)
    room = max(width - len(about[0]) - 4, LEAST_ABOUT) if width else 0
    if rows:
        lines += [Line(""), Line(f"  {next(shown)}", "dim")]
    if found.left_out:
        lines.append(Line(f"  … {found.left_out:,} older entries are not shown; --turn N shows one turn", "dim"))
    turn = None
    for entry, row in zip(found.entries, shown, strict=True):
        if entry.turn != turn:
            turn = entry.turn
            lines += [Line(""), Line(_cut(turn_words(found, turn), width), "bold")]
        whole = len(about[0]) + 4 + room
        lines.append(Line(_cut(f"  {row}".rstrip(), whole if width else 0), _role(entry)))
        lines += [Line(_cut(f"  {line}", width), "dim") for line in _why(entry)]
    return lines


def began_at(found: Forensics) -> str:
    """The moment that times are counted from."""
    turns = found.report.turns
    return turns[0].at if found.first_turn > 1 and turns else found.report.began


def turn_words(found: Forensics, number: int) -> str:
    turn = turn_of(found, number)
    if turn is None:
        return "before the first turn"
    parts = [counted(turn.steps, "step"), f"{accounts.seconds(turn.seconds)} s", f"{turn.cost:.4f}"]
    text = visible(" ".join(turn.text.split())) or "(continued)"
    return f"turn {number}  {turn.status} · {' · '.join(parts)}   {turn.badge}   {text}"


def turn_of(found: Forensics, number: int) -> TurnRow | None:
    place = number - found.first_turn
    return found.report.turns[place] if 0 <= place < len(found.report.turns) else None


def after(began: str, at: str) -> str:
    """How long after the beginning, as h:mm:ss.t without leading zeros."""
    whole = span(began, at)
    minutes, seconds = divmod(whole, 60)
    hours, minutes = divmod(int(minutes), 60)
    if hours:
        return f"{hours}:{minutes:02}:{seconds:04.1f}"
    return f"{minutes}:{seconds:04.1f}" if minutes else f"{seconds:.1f}"


def words_of(kind: str) -> str:
    """A type of event in a word or two."""
    return NAMES.get(kind, kind.replace("_", " "))


def outcome(entry: Entry) -> str:
    match entry:
        case RequestEntry(request=line) if line:
            return line.code if line.outcome == "error" else f"{line.outcome} {line.code}".rstrip()
        case CallEntry():
            return entry.status
        case _:
            return ""


def _cells(entry: Entry, began: str) -> tuple[str, ...]:
    head = (after(began, entry.at), str(entry.seq))
    match entry:
        case RequestEntry(request=line) if line:
            numbers = (f"{line.usage.input_tokens:,}", f"{line.usage.output_tokens:,}", f"{line.cost:.4f}")
            calls = f" → {', '.join(entry.calls)}" if entry.calls else ""
            about = f"{line.model}{f', attempt {line.attempt}' if line.attempt > 1 else ''}{calls}"
            return (*head, line.stage, *numbers, accounts.seconds(line.seconds), outcome(entry), visible(about))
        case CallEntry():
            took = accounts.seconds(entry.seconds)
            return (*head, f"  {visible(entry.tool)}", "", "", "", took, outcome(entry), _flat(entry.subject))
        case NoteEntry():
            return (*head, words_of(entry.what), "", "", "", "", "", _flat(entry.text))
    return (*head, "", "", "", "", "", "", "")


def _why(entry: Entry) -> Iterator[str]:
    """The decision behind a call, where it was more than letting it read."""
    if isinstance(entry, CallEntry) and entry.verdict and (entry.verdict != "allow" or {*entry.effects} - {"read"}):
        rule = f" · rule {entry.rule}" if entry.rule else ""
        effects = ", ".join(entry.effects) or "no effects"
        yield f"         {entry.verdict}: {_flat(entry.reason)} · {effects} · {entry.badge}{rule}"


def _role(entry: Entry) -> str:
    match entry:
        case RequestEntry(request=line) if line:
            return OUTCOME_ROLES.get(line.outcome, "")
        case CallEntry():
            return OUTCOME_ROLES.get(entry.status, "accent")
        case NoteEntry():
            return entry.role
    return ""


def _flat(text: str) -> str:
    return visible(" ".join(text.split()))


def _cut(text: str, width: int) -> str:
    return text if not width or len(text) <= width else f"{text[: width - 1]}…"
