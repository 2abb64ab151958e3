"""The project's repository with the pull requests that are on its forge. Only reads.

A pull request whose commits are here is reviewed here, as a range; one whose commits are not, as the forge shows it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING
from urllib.parse import quote

from quintet.adapters.git.repository import GitRepository
from quintet.domain.base.errors import QuintetError, UsageError
from quintet.domain.turn.review_subject import ChangedFile, Subject
from quintet.features.forge.github import GitHub, NotOnForge
from quintet.features.forge.pull_request import elsewhere, named, repo_of

if TYPE_CHECKING:
    from quintet.app.services import Opening

AWAY = "forge:"  # before owner/name@commit, for a commit that is not here
RAW = "application/vnd.github.raw+json"


def _unheard(text: str) -> None:
    """Nobody listens while a command looks."""


class ForgeRepository:
    def __init__(self, here: GitRepository, forge: GitHub) -> None:
        self._here = here
        self._forge = forge

    async def subject(self, wanted: str) -> Subject:
        pull = named(wanted)
        if not pull:
            return await self._here.subject(wanted)
        repo, number = pull
        address = wanted if repo else await self._here.remote()
        if other := elsewhere(address, self._forge.host):
            raise UsageError(f"{wanted} is on {other}, but the forge in use is {self._forge.host} (setting forge.url)")
        repo = repo or repo_of(address)
        if not repo:
            raise UsageError(f"{wanted}: this project has no remote with pull requests; give the full address")
        try:
            return await self._pull(self._forge, repo, number)
        except UsageError:
            raise
        except (QuintetError, OSError) as error:
            raise UsageError(f"pull request {repo}#{number} cannot be reviewed: {error}") from error

    async def _pull(self, forge: GitHub, repo: str, number: int) -> Subject:
        path, name = f"repos/{quote(repo)}/pulls/{number}", f"{repo}#{number}"
        pull = await forge.read(path, _unheard)
        base, head = pull["base"]["sha"], pull["head"]["sha"]
        if await self._here.holds(base, head):
            found = await self._here.subject(f"{base}...{head}")
            return Subject(name, found.changes, found.target, found.revision)
        files = await forge.pages(f"{path}/files", _unheard)
        if not files:
            raise UsageError(f"pull request {name} has no changes")
        changes = tuple(ChangedFile(f["filename"], f.get("additions"), f.get("deletions")) for f in files)
        return Subject(name, changes, "", f"{AWAY}{repo}@{head}", number, repo)

    async def line_counts(self, paths: Iterable[str], revision: str) -> dict[str, int | None]:
        if not revision.startswith(AWAY):
            return await self._here.line_counts(paths, revision)
        repo, _, commit = revision.removeprefix(AWAY).rpartition("@")
        counts: dict[str, int | None] = {}
        for path in paths:
            if self._here.is_secret(path):
                counts[path] = None
                continue
            if path.startswith("/") or ".." in path.split("/") or "\0" in path:
                continue
            try:
                where = f"repos/{quote(repo)}/contents/{quote(path)}?ref={commit}"
                text = await self._forge.text(where, _unheard, RAW)
            except NotOnForge:
                pass
            else:
                counts[path] = text.count("\n") + (not text.endswith("\n") and bool(text))
        return counts


def open_subjects(opening: Opening, here: GitRepository) -> ForgeRepository:
    return ForgeRepository(here, opening.services["forge"])
