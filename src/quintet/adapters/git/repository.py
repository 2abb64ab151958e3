"""The project's git repository, only read: what changed, as reviews need it, and the branch for people to see.

For reviews git runs contained like every other process and may write nothing; without a whole sandbox it runs none of
the repository's programs. For the branch it runs on the host, and none of them either.
"""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import Iterable
from contextlib import suppress

from quintet.adapters.git.git_folders import branch_name
from quintet.adapters.git.run_git import RepositoryView, repository_view
from quintet.domain.base.errors import QuintetError, ToolFailed, UsageError
from quintet.domain.base.lazy_regex import regex
from quintet.domain.git.plain_git import sizes, touched
from quintet.domain.permission.effects import Effect, Grant
from quintet.domain.ports.ports import Files, Processes
from quintet.domain.turn.review_subject import WORKING_TREE, ChangedFile, Subject, read_numstat

GIT_SECONDS = 20.0
MOST_BYTES = 4_000_000  # of what git prints
_NUMSTAT = ("diff", "--no-ext-diff", "--no-textconv", "--numstat", "-z", "--relative")
_RANGE = regex(r"(.*?)(\.{2,3})(.*)", re.S)
_READS = Grant((Effect.READ,))
BRANCH_SECONDS = 5.0
MOST_FILTERED = 200
_STATUS = ("status", "--porcelain=v2", "-z", "--no-renames", "--untracked-files=no", "--ignore-submodules=all")
_ELSEWHERE = ".invalid"  # what HEAD names where refs are not kept in files
_UNFILTERED = (b"unspecified", b"unset")


class GitRepository:
    def __init__(self, processes: Processes, files: Files) -> None:
        self._processes = processes
        self._files = files

    async def subject(self, wanted: str) -> Subject:
        """What `wanted` names, with its changes; a UsageError if it names nothing that could be reviewed."""
        try:
            await self._git("rev-parse", "--is-inside-work-tree")
        except (QuintetError, OSError) as error:
            raise UsageError(f"/review needs a git repository, and {self._files.root} is not one: {error}") from error
        try:
            return await (self._working_tree() if wanted == WORKING_TREE else self._range(wanted))
        except UsageError:
            raise
        except (QuintetError, OSError) as error:
            raise UsageError(f"{wanted} cannot be reviewed: {error}") from error

    async def _working_tree(self) -> Subject:
        changes = read_numstat(await self._git(*_NUMSTAT, "--cached"), "staged")
        changes += read_numstat(await self._git(*_NUMSTAT), "unstaged")
        new = await self._git("ls-files", "--others", "--exclude-standard", "-z")
        changes += [ChangedFile(path, where="untracked") for path in new.split("\0") if path]
        if not changes:
            raise UsageError(
                "the working tree has no changes; name a range or a branch, for example /review HEAD~1..HEAD"
            )
        return Subject(WORKING_TREE, tuple(changes))

    async def _range(self, wanted: str) -> Subject:
        parts = _RANGE.fullmatch(wanted)
        # A branch is reviewed for what it brings: the changes since it left the current one.
        before, dots, after = (parts[1], parts[2], parts[3]) if parts else ("HEAD", "...", wanted)
        await self._commit(before or "HEAD")
        revision = await self._commit(after or "HEAD")
        target = f"{before or 'HEAD'}{dots}{after or 'HEAD'}"
        changes = read_numstat(await self._git(*_NUMSTAT, target, "--"))
        if not changes:
            other = "" if parts else f"; for what came after it, use /review {wanted}..HEAD"
            raise UsageError(f"{target} has no changes{other}")
        return Subject(wanted, tuple(changes), target, revision)

    def is_secret(self, path: str) -> bool:
        return self._files.protection.is_secret(path)

    async def holds(self, *commits: str) -> bool:
        """Whether all of these commits are here."""
        try:
            for commit in commits:
                await self._git("cat-file", "-e", f"{commit}^{{commit}}")
        except ToolFailed:
            return False
        return True

    async def remote(self) -> str:
        """Where the project's repository is on the forge: the address of `upstream`, else of `origin`."""
        for name in ("upstream", "origin"):
            with suppress(ToolFailed):
                return (await self._git("config", "--get", f"remote.{name}.url")).strip()
        return ""

    async def _commit(self, name: str) -> str:
        try:
            if name.startswith("-"):
                raise ToolFailed("expected a name")
            return (await self._git("rev-parse", "--verify", "--quiet", f"{name}^{{commit}}")).strip()
        except ToolFailed:
            raise UsageError(
                f'"{name}" is not a branch, tag or commit of this repository; nothing was started'
            ) from None

    async def line_counts(self, paths: Iterable[str], revision: str) -> dict[str, int | None]:
        """The lines of each of these files that there is, as they are or as they were at `revision`; None: a secret."""
        places: dict[str, str] = {}
        for path in paths:
            with suppress(ToolFailed):  # outside the project: none of its files
                places[path] = self._files.relative(path.replace("\0", ""))
        secret: dict[str, int | None] = {path: None for path in places if self._files.protection.is_secret(path)}
        places = {path: place for path, place in places.items() if path not in secret}
        if not places:
            return secret
        counts = await self._lines_at(revision, places.values()) if revision else self._lines(places.values())
        return secret | {path: counts[place] for path, place in places.items() if place in counts}

    async def _lines_at(self, revision: str, places: Iterable[str]) -> dict[str, int]:
        """Against nothing at all, every line of a file is an added one."""
        nothing = (await self._git("hash-object", "-t", "tree", "/dev/null")).strip()
        wanted = {f":(literal){place}" for place in places}
        found = await self._git(*_NUMSTAT, "--no-renames", nothing, revision, "--", *sorted(wanted))
        return {change.path: change.added or 0 for change in read_numstat(found)}

    def _lines(self, places: Iterable[str]) -> dict[str, int]:
        counts = {}
        for place in places:
            with suppress(ToolFailed, OSError):
                data = self._files.read(place)
                has_open_end = bool(data) and not data.endswith(b"\n")
                counts[place] = data.count(b"\n") + (1 if has_open_end else 0)
        return counts

    async def _git(self, *arguments: str) -> str:
        done = await self._processes.git(
            arguments, cwd=self._files.root, grant=_READS, timeout=GIT_SECONDS, keep=MOST_BYTES
        )
        if done.exit_code or done.timed_out:
            raise ToolFailed(done.output.strip().partition("\n")[0] or f"git ended with {done.exit_code}")
        return done.output


async def branch(root: str) -> str:
    """The branch, with a star where something is changed, as `main*`; empty outside a repository.

    A file that a filter would convert, as those of git-lfs, cannot be compared, for no filter runs; it counts as
    changed when its size is another than when git last looked.
    """
    return await asyncio.to_thread(_branch, root)


def _branch(root: str) -> str:
    name = branch_name(root)
    if not name:
        return ""
    try:
        with repository_view(root, BRANCH_SECONDS) as view:
            if view is None:
                return name
            if name == _ELSEWHERE:
                name = view.ask("rev-parse", "--abbrev-ref", "HEAD").decode("utf-8", "replace").strip()
            return f"{name}*" if _changed(view) else name
    except (ToolFailed, OSError):
        return name


def _changed(view: RepositoryView) -> bool:
    paths = touched(view.ask(*_STATUS))
    if not paths:
        return paths is None
    said = view.ask("check-attr", "-z", "--stdin", "filter", given=b"\0".join(paths) + b"\0").split(b"\0")
    filtered = {path for path, value in zip(said[::3], said[2::3], strict=False) if value not in _UNFILTERED}
    if len(filtered) < len(paths) or len(paths) > MOST_FILTERED:
        return True
    named = (f":(literal){os.fsdecode(path)}" for path in paths)
    before = sizes(view.ask("ls-files", "-z", "--debug", "--", *named))
    return any(before.get(path) != os.lstat(os.path.join(os.fsencode(view.root), path)).st_size for path in paths)
