"""The events of checkpoints: what was kept, what a call changed, and what was taken back."""

from __future__ import annotations

from quintet.domain.base.wire_struct import Tagged
from quintet.domain.journal.file_changes import FileChange


class CheckpointTaken(Tagged, frozen=True, kw_only=True, gc=False):
    """The project's files were kept as they are, before a turn or a rewind changes any of them."""

    point: str  # the turn or the rewind
    tree: str = ""  # of all files; empty where only the files that tools write are kept
    lacking: tuple[str, ...] = ()  # what it does not cover: repositories inside the project, secrets, files too large


class FilesChanged(Tagged, frozen=True, kw_only=True, gc=False):
    """A call changed files: those that differ between two trees, and those told one by one."""

    point: str
    call: str
    before: str = ""  # tree
    after: str = ""  # tree
    files: tuple[FileChange, ...] = ()
    paths: tuple[str, ...] = ()  # the first of them, to be shown
    count: int = 0
    added: int = 0  # lines
    removed: int = 0
    unsure: bool = False  # what was ignored came into view, so nobody knows whether a new file is new


class Rewound(Tagged, frozen=True, kw_only=True, gc=False):
    """The user went back to before a turn: its files, its conversation, or both."""

    point: str  # of this rewind, so that it can be taken back
    to: str  # the turn or the rewind before which everything is again
    files: bool
    conversation: bool
    restored: int = 0
    left: tuple[str, ...] = ()  # the first of the files that were left alone
