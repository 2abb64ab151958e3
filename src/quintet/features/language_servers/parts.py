"""Which language servers there are for the languages of a project."""

from __future__ import annotations

import os
from collections import Counter

from quintet.app.machine_parts import PartSources
from quintet.domain.base.errors import ToolFailed
from quintet.domain.turn.tool_spec import MachinePart
from quintet.features.language_servers import registry as languages

MOST_FILES = 20_000  # looked at for the languages of a project
NOT_THEIRS = frozenset({"node_modules", "venv", "__pycache__", "site-packages", "target", "build", "dist", "vendor"})


def language_server(around: PartSources) -> MachinePart:
    """For the languages of the project; ready if the one with the most files has a server."""
    search = languages.folders(around.root, around.contained)
    found, missing, ready = [], [], True
    for place, language in enumerate(_languages(around.root)):
        try:
            server, where = languages.choose(language, search, around.own_code, around.root)
            found.append(f"{language.name}: {server.argv[0]} ({where})")
        except ToolFailed as error:
            ready = ready and place > 0
            missing.append(f"{error.message}. {error.hint}")
    nothing = "" if found or missing else "no language of this project has one"
    return MachinePart("language server", ready, "; ".join(found) or nothing, "; ".join(missing))


def _languages(root: str) -> list[languages.Language]:
    """The languages of the project's files that have servers, the most used one first."""
    counts: Counter[str] = Counter()
    seen = 0
    for _, folders, names in os.walk(root):
        folders[:] = sorted(name for name in folders if name not in NOT_THEIRS and not name.startswith("."))
        counts.update(os.path.splitext(name)[1] for name in names)
        seen += len(names) + len(folders)
        if seen > MOST_FILES:
            break
    files = {language.name: sum(counts[suffix] for suffix in language.ids) for language in languages.LANGUAGES}
    here = [language for language in languages.LANGUAGES if files[language.name]]
    return sorted(here, key=lambda language: -files[language.name])
