"""What Quintet did to a project's files after a command, in words: the same notice for the user and for the model.

One notice a command. It says what was done and why, names at most `MOST_NAMED` paths, says where they are, and how to
take one back.
"""

from __future__ import annotations

import posixpath
import shlex
from collections.abc import Sequence

from msgspec import Struct

from quintet.domain.base.safe_text import brief, exactly
from quintet.domain.base.wording import few, listed

PUT_RIGHT = "PUT_RIGHT"  # the code of the notice
MOST_NAMED = 5
MOST_COMMAND = 60


class MovedAside(Struct, frozen=True):
    """Something protected that a command made, and where it was moved."""

    path: str  # in the project
    now: str = ""  # empty: it could not be moved
    wrong: str = ""  # why not


class KeptFromGit(Struct, frozen=True):
    """Something protected that git brought from what it held before, and that stays."""

    path: str


Note = MovedAside | KeptFromGit | str


def notices(command: Sequence[str], notes: Sequence[Note], home: str = "") -> list[str]:
    """The notices about one command; without words of its own, it is one that ran in the background."""
    said, moved = list[str](), list[MovedAside]()
    brought = list(dict.fromkeys(note.path for note in notes if isinstance(note, KeptFromGit)))
    for note in notes:
        if isinstance(note, str):
            said.append(note)
        elif isinstance(note, MovedAside) and note not in moved:
            moved.append(note)
    out = [one for one in moved if one.now]
    stuck = [one for one in moved if not one.now]
    who = command_in_words(command)
    found = [_about_moved(who, out, home)] if out else []
    if stuck:
        why = ", ".join(dict.fromkeys(one.wrong for one in stuck))
        found.append(
            f"{who} made {path_list([one.path for one in stuck])}, which other programs run. It could not "
            f"be moved out of the project ({why}): remove it."
        )
    if brought:
        found.append(
            f"{who}: git brought {path_list(brought)}. Other programs run what these files name: check "
            "them before you open the project with another program. Quintet loads them only after you "
            "trust them."
        )
    return [*found, *said]


def _about_moved(who: str, moved: Sequence[MovedAside], home: str) -> str:
    first = moved[0]
    folder = first.now[: -len(first.path) - 1] if first.now.endswith(f"/{first.path}") else ""
    together = folder and all(one.now == f"{folder}/{one.path}" for one in moved)
    at_home = first.path[:1] == "/"
    place = "your home" if at_home else "the project"
    lines = [
        (f"{who} made {path_list([one.path for one in moved])}. Files that other programs run may not be in {place}.")
    ]
    if together:
        lines.append(f"{'It is' if len(moved) == 1 else 'They are'} now in")
        lines.append(f"  {_short(folder, home)}")
    else:
        lines += [f"  {_named(one.path)} is now {_short(one.now, home)}" for one in moved[:MOST_NAMED]]
    lines += ["To restore it, in your shell:" if len(moved) == 1 else "To restore one, in your shell:"]
    back = shlex.quote(_named(first.path))
    known = together and not at_home
    lines.append(f"  quintet aside back {back}" if known else f"  mv {_short(first.now, home)} {back}")
    return "\n".join(lines)


def command_in_words(command: Sequence[str]) -> str:
    """A command in a few words."""
    line = command[2] if tuple(command[:2]) == ("bash", "-c") and len(command) == 3 else ""
    words = line or posixpath.basename(command[0] if command else "")
    text = brief(words, MOST_COMMAND) if words else ""
    return f"`{text}`" if text else "A command in the background"


def path_list(paths: Sequence[str]) -> str:
    """The first few of them, and how many more there are."""
    shown = [_named(path) for path in paths]
    return few(shown, MOST_NAMED) if len(shown) > MOST_NAMED else listed(shown)


def _named(path: str) -> str:
    text = path.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    return exactly(text).replace("\n", "␊").replace("\t", "␉")


def _short(path: str, home: str) -> str:
    """With `~`, where a shell takes it."""
    if home and path.startswith(f"{home}/") and shlex.quote(path) == path:
        return f"~{path[len(home) :]}"
    return shlex.quote(_named(path))
