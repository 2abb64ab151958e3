"""The project's repository, with what features add that can be reviewed."""

from __future__ import annotations

from quintet.adapters.git.repository import GitRepository
from quintet.app.services import Opening
from quintet.domain.ports.ports import Repository
from quintet.features.registry import features


def repository(opening: Opening) -> Repository:
    found: Repository = GitRepository(opening.processes, opening.files)
    for feature in features():
        if feature.subjects:
            found = feature.load(feature.subjects)(opening, found)
    return found
