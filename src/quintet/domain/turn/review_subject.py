"""What a review looks at: the changed files of a working tree, range, branch or pull request; how a model gets to them.

The diff itself is not handed over: the request names the tools that show it.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from quintet.domain.base.safe_text import visible
from quintet.domain.base.wording import counted

WORKING_TREE = "working-tree"
MOST_FILES = 200  # named in a request


class ChangedFile(Struct, frozen=True):
    """A changed file with the lines it gained and lost; neither is known of a binary or an untracked one."""

    path: str
    added: int | None = None
    removed: int | None = None
    where: str = ""  # staged, unstaged or untracked; empty in a range


class Subject(Struct, frozen=True):
    name: str  # as the user called it
    changes: tuple[ChangedFile, ...]
    target: str = ""  # what git_diff is called with; empty for the working tree
    revision: str = ""  # the commit it ends at; empty: the files as they are
    pull: int = 0  # of a pull request that is not here, its number; `repo` is then its repository
    repo: str = ""


def read_numstat(text: str, where: str = "") -> list[ChangedFile]:
    """The changes that `git diff --numstat -z` printed."""
    return list(_numstat(iter(text.split("\0")), where))


def _numstat(fields: Iterator[str], where: str) -> Iterator[ChangedFile]:
    for field in fields:
        parts = field.split("\t", 2)
        if len(parts) < 3:
            continue
        added, removed, path = parts
        if not path:  # a rename: the old name and the new one follow
            next(fields, "")
            path = next(fields, "")
        yield ChangedFile(path, _count(added), _count(removed), where)


def _count(text: str) -> int | None:
    return int(text) if text.isdecimal() else None


def size(subject: Subject) -> str:
    added, removed = (sum(getattr(change, side) or 0 for change in subject.changes) for side in ("added", "removed"))
    files = len({change.path for change in subject.changes})
    return f"{counted(files, 'file')}, +{added} -{removed}"


def as_request(subject: Subject) -> str:
    """What the model is asked: the subject, the tools that show it, and the changed files."""
    tools = _tools(subject)
    shown = [_line(change) for change in subject.changes[:MOST_FILES]]
    more = len(subject.changes) - MOST_FILES
    shown += [f"- … {more} more; see the diff"] if more > 0 else []
    then = " Untracked files are not in a diff: Read them." if _untracked(subject) else ""
    head = f"Review {subject.name}: {size(subject)}. Use {tools} to see the change.{then}"
    return "\n".join([head, "", *shown])


def _tools(subject: Subject) -> str:
    if subject.pull:
        return (
            f'git_view_pr with repo "{subject.repo}" and pull_number {subject.pull}; its files are not in this project'
        )
    return f'git_diff with target "{subject.target}"' if subject.target else "git_diff_unstaged and git_diff_staged"


def _line(change: ChangedFile) -> str:
    counts = "" if change.where == "untracked" else " binary" if change.added is None else _counts(change)
    return f"- {visible(' '.join(change.path.splitlines()))}{counts} {change.where}".rstrip()


def _counts(change: ChangedFile) -> str:
    return f" +{change.added} -{change.removed}"


def _untracked(subject: Subject) -> bool:
    return any(change.where == "untracked" for change in subject.changes)
