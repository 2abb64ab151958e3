"""A request as a plan: each piece that the rules understand is a task, in the order and by the check it names."""

from __future__ import annotations

from quintet.adapters.offline_rules.intents import AddFile, DeleteFile, GitCommit, Intent, MoveFile, Rename, Replace
from quintet.adapters.offline_rules.phrasing import parse
from quintet.domain.tasks.plan import as_text
from quintet.domain.tasks.request_split import Piece, pieces
from quintet.domain.tasks.task import Mutation, TaskText

MOST_TITLE = 80
_CHANGING = (AddFile, DeleteFile, GitCommit, MoveFile, Rename, Replace)


def plan(request: str) -> str | None:
    """The plan as text; None if any piece is none of ours: half a request is not planned."""
    texts: list[TaskText] = []
    for number, piece in enumerate(pieces(request), 1):
        intents = parse(piece.text)
        if intents is None:
            return None
        before = texts[-1].id if piece.then and texts else ""
        texts.append(_task(f"task-{number:03}", piece, intents, before))
    return as_text(texts) if texts else None


def _task(id: str, piece: Piece, intents: list[Intent], before: str) -> TaskText:
    title = " ".join(piece.text.split())
    changes = any(isinstance(intent, _CHANGING) for intent in intents)
    return TaskText(
        id,
        title if len(title) <= MOST_TITLE else f"{title[: MOST_TITLE - 1]}…",
        depends_on=(before,) if before else (),
        mutation=Mutation.PROJECT if changes else Mutation.NONE,
        verification=piece.verification,
        body=f"{piece.text}\n",
    )
