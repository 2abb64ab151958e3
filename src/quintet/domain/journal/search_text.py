"""What of a journal is worth searching: what people and models said, what calls were about, files, reports.

A tool's output is left out: it is the project's own text, and the project has better ways to be searched.
"""

from __future__ import annotations

from collections.abc import Sequence

from quintet.domain.base.errors import UsageError
from quintet.domain.base.safe_text import brief
from quintet.domain.journal import protocol as p
from quintet.domain.permission.gate import Verdict

LENGTH = 100_000  # characters of one event, at most
SUBJECT = 2000
KINDS = (
    "input_received",
    "command_ran",
    "model_replied",
    "turn_finished",
    "turn_rated",
    "tool_started",
    "tool_finished",
    "call_decided",
    "question_asked",
    "question_answered",
    "user_messaged",
    "report_made",
    "qa_reported",
    "todo_moved",
)  # the types of events that may have something


def text_of(event: p.Event) -> tuple[str, str]:
    """What kind of text an event has, in a word, and the text; empty if there is none worth finding."""
    what, text = _text(event)
    return what, text[:LENGTH]


def _text(event: p.Event) -> tuple[str, str]:
    match event:
        case p.InputReceived(text=text):
            return "you", text
        case p.CommandRan(line=line):
            return "you", line
        case p.QuestionAnswered(note=text) | p.TurnRated(note=text):
            return "you", text
        case p.ModelReplied(text=text, aside=False) if event.calls or event.partial:
            return "said", text  # a last reply is the turn's answer
        case p.TurnFinished(answer=answer, reason=reason):
            return "answer", "\n".join(filter(None, (answer, reason)))
        case p.UserMessaged(text=text):
            return "said", text
        case p.ToolStarted(tool=tool, arguments=arguments):
            return "call", f"{tool} {brief(arguments, SUBJECT)}"
        case p.CallDecided(verdict=Verdict.DENY, tool=tool, arguments=arguments, reason=reason):
            return "not run", f"{tool} {brief(arguments, SUBJECT)}\n{reason}"
        case p.ToolFinished(changed=changed):
            return "changed", "\n".join(changed)
        case p.QuestionAsked(text=text):
            return "question", text
        case p.ReportMade(kind=kind, subject=subject, path=path):
            return "report", f"{kind} of {subject}\n{path}"
        case p.QaReported(report=report):
            issues = [f"{issue.file} {issue.text}" for issue in report.issues]
            return "review", "\n".join([report.summary, *issues, *report.suggestions])
        case p.TodoMoved(before="", todo=todo):
            return "todo", todo.content
    return "", ""


def query(words: Sequence[str]) -> tuple[str, str]:
    """The words as full-text queries, one that wants all of them and one that takes any.

    A word of several is a phrase, one that ends in * the beginning of a word; nothing else in it has a meaning.
    """
    terms = []
    for word in words:
        clean = word.encode("utf-8", "replace").decode().rstrip("*")
        if any(char.isalnum() for char in clean):
            literal = clean.replace('"', '""')
            terms.append(f'"{literal}"{"*" if word.endswith("*") else ""}')
    if not terms:
        raise UsageError(f'"{" ".join(words)}" has no letter and no digit to search for')
    return " AND ".join(terms), " OR ".join(terms)
