"""Whether what a program could not open is hidden by its sandbox: it stands on this machine, and no mount shows it.

Asked only when a program has failed, and only about paths that it named. Of places that may hold secrets, and of
Quintet's own, nothing is said: that would tell that they are there.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence

from quintet.adapters.files.real_path import real_path
from quintet.adapters.git.git_folders import read_plain
from quintet.adapters.sandbox.host_mounts import below, home
from quintet.domain.permission.hidden_paths import (
    MOST_TOLD,
    interpreters,
    named_in,
    note,
    says_missing,
    shown_as,
    tried,
)
from quintet.domain.permission.judged_places import KERNEL
from quintet.domain.permission.protected_paths import Protection

HOOKS = ("pre-commit", "prepare-commit-msg", "commit-msg", "post-commit", "pre-push", "post-checkout")
MOST_SCRIPT = 16_384  # bytes of a hook
MOST_BYTES = 512  # of a script that are read for its interpreter


def hidden_notes(
    argv: Sequence[str],
    text: str,
    cwd: str,
    root: str,
    own: Sequence[str],
    protection: Protection,
    gits: Sequence[str] = (),
) -> tuple[str, ...]:
    """What to say of a program that bubblewrap started by `argv`, and that printed `text`; mostly nothing.

    `gits`: the git folders that it could write. What their hooks name counts as tried, where something was missing.
    """
    if not says_missing(text):
        return ()
    found: dict[str, str] = {}
    mounts = _mounts(argv)
    for path in (*tried(text, cwd, home()), *_named_in_hooks(gits)):
        for one in (path, *_started_by(path, mounts)):
            secret = protection.is_secret(one) or any(below(one, place) for place in (*own, *KERNEL, root))
            if not secret and _stands(one) and not _visible(one, mounts):
                entry = _entry(one)
                if not protection.is_secret(entry) and not below(home(), entry):
                    found.setdefault(shown_as(entry, home()), shown_as(one, home()))
    return tuple(note(path, entry) for entry, path in list(found.items())[:MOST_TOLD])


def _named_in_hooks(gits: Sequence[str]) -> Iterator[str]:
    """A hook that finds its program gone may not say where it looked for it: pre-commit's names its Python inside."""
    for git in gits:
        for name in HOOKS:
            if script := read_plain(os.path.join(git, "hooks", name), MOST_SCRIPT):
                yield from named_in(script.decode("utf-8", "replace"))


def _mounts(argv: Sequence[str]) -> list[tuple[str, str]]:
    """What stands where in the sandbox, the last on top: destination and source, no source for an empty folder."""
    mounts: list[tuple[str, str]] = []
    words = iter(argv)
    for word in words:
        if word in ("--ro-bind", "--bind", "--symlink"):
            source, destination = next(words, ""), next(words, "")
            mounts.append((destination, source if word != "--symlink" else destination))
        elif word == "--tmpfs":
            mounts.append((next(words, ""), ""))
        elif word == "--":
            break
    return mounts


def _visible(path: str, mounts: Sequence[tuple[str, str]]) -> bool:
    """Whether a path of this machine is there in the sandbox, as the same thing."""
    for destination, source in reversed(mounts):
        if below(path, destination):
            return bool(source) and os.path.lexists(source + path[len(destination.rstrip("/")) :])
    return False


def _stands(path: str) -> bool:
    """On this machine, as a folder or a file; a device or a socket is nothing to show."""
    return os.path.isfile(path) or os.path.isdir(path)


def _started_by(path: str, mounts: Sequence[tuple[str, str]]) -> tuple[str, ...]:
    """What a script is started by, where that is what is missing; and what a link leads to."""
    if not _visible(path, mounts):
        return ()
    real = real_path(path)
    ends = () if real == path else (real,)
    try:
        with open(real, "rb") as file:
            return (*ends, *interpreters(file.read(MOST_BYTES)))
    except OSError:
        return ends


def _entry(path: str) -> str:
    """The place to show: the environment or package that a file belongs to, else its folder; not the home itself."""
    folder = path if os.path.isdir(path) else os.path.dirname(path)
    above = folder
    while above not in ("/", home()):
        if os.path.exists(os.path.join(above, "pyvenv.cfg")) or os.path.basename(above) == "node_modules":
            return above
        above = os.path.dirname(above)
    cache = os.path.join(home(), ".cache")
    if below(folder, cache) and folder != cache:
        return os.path.join(cache, os.path.relpath(folder, cache).split("/")[0])
    return path if folder == home() or below(home(), folder) else folder
