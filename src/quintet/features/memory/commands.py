"""The words of `quintet memory` carried out at a terminal."""

from __future__ import annotations

import os
from argparse import Namespace

from msgspec import structs

from quintet.adapters.files.paths import locate
from quintet.adapters.files.project_files import ProjectFiles
from quintet.adapters.files.real_path import real_path
from quintet.adapters.processes.system import SystemClock
from quintet.adapters.secrets.vault import Vault
from quintet.adapters.settings import layers as config
from quintet.adapters.settings.gate_terms import make_terms
from quintet.adapters.settings.trust import leads_out
from quintet.domain.base.errors import UsageError
from quintet.domain.base.safe_text import on_one_line
from quintet.domain.permission.protected_paths import inside
from quintet.features.memory import pages
from quintet.features.memory.memory import ProjectMemory, memory_of
from quintet.features.memory.values import NewMemory
from quintet.features.memory.words import WORDS, MemoryScene, as_data, parsed
from quintet.surfaces.tables import say, say_json

MOST_PAGE = 10_000_000  # bytes


def memory_at(directory: str) -> ProjectMemory:
    places = locate(directory)
    settings = config.load(places).settings
    files = ProjectFiles(places.root, make_terms(places, settings).protection)
    return memory_of(places.state, files, settings, Vault(places, settings).text)


def word(action: str, arguments: list[str]) -> int:
    words = parsed(action, arguments)
    answer = WORDS[action].run(MemoryScene(memory_at(words.directory), SystemClock().now()), words)
    if words.json:
        say_json(answer.data)
    else:
        say(answer.lines)
    return 0


def export(words: Namespace) -> int:
    memory = memory_at(words.directory)
    entries = memory.looked_at(memory.do(lambda store: store.entries())) if memory.exists else []
    page = pages.written(entries)
    if words.file:
        target = os.path.join(words.directory, words.file)
        _check_own(locate(words.directory).root, target)
        try:
            with open(target, "w", encoding="utf-8") as file:
                file.write(page)
        except OSError as error:
            raise UsageError(f"{on_one_line(words.file)}: cannot be written ({error.strerror})") from error
    kept = [one for one in entries if not one.stale]
    if words.json:
        say_json({"file": words.file, "memories": [as_data(one) for one in kept]})
    elif words.file:
        left = len(entries) - len(kept)
        verbs = "that no longer holds was" if left == 1 else "that no longer hold were"
        say([f"wrote {words.file}: {memories(len(kept))}{f'; {left} {verbs} left out' if left else ''}"])
    else:
        say(page.splitlines())
    return 0


def take_in(words: Namespace) -> int:
    memory = memory_at(words.directory)
    path = os.path.join(words.directory, words.file)
    try:
        if os.path.getsize(path) > MOST_PAGE:
            raise UsageError(f"{on_one_line(words.file)}: it has more than {MOST_PAGE:,} bytes")
        with open(path, encoding="utf-8") as file:
            found = pages.read(file.read())
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise UsageError(f"{on_one_line(words.file)}: cannot be read ({why})") from error
    clean = [_cleaned(memory, one) for one in found]
    source = f"{on_one_line(words.file)}, which you imported"
    kept = memory.do(lambda store: store.add(clean, source, SystemClock().now()))
    if words.json:
        say_json([as_data(one) for one in kept])
    else:
        say([f"imported {memories(len(kept))} from {words.file}"])
    return 0


def _check_own(root: str, path: str) -> None:
    """A file of the project is written where its name says: a link that came with it would have another one written."""
    folder = os.path.dirname(os.path.abspath(path))
    through = os.path.islink(path) or leads_out(root, folder)
    if through and inside(os.path.abspath(path), os.path.abspath(root)) is not None:
        raise UsageError(
            f"{on_one_line(path)}: a link of this project leads to {on_one_line(real_path(path))}",
            hint="Remove the link, or name another file.",
        )


def memories(count: int) -> str:
    return "1 memory" if count == 1 else f"{count} memories"


def _cleaned(memory: ProjectMemory, new: NewMemory) -> NewMemory:
    return structs.replace(new, text=memory.clean(new.text), evidence=memory.clean(new.evidence))
