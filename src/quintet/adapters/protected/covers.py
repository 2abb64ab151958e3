"""What is laid over files of the project: how files that may hold secrets look to a command, and covers that were lost.

A secret file is shown as it is, empty, or closed. What git tracks, and is as git has it, a command can read from git's
objects: to hide the file would break git and the project's tests, and keep nothing. What git ignores, or what lies in
no repository, is empty, so that a program that loads it goes on. Anything else is closed: `git add` fails, and puts no
empty file into the repository.
"""

from __future__ import annotations

import os
from collections.abc import Sequence

from msgspec import Struct

from quintet.adapters.git.git_folders import git_folders, read_plain
from quintet.adapters.git.run_git import RepositoryView, git_output, repository_view
from quintet.adapters.protected.nofollow import stat_nofollow
from quintet.adapters.sandbox.host_mounts import below
from quintet.adapters.sandbox.sandbox_init import COVER, EMPTY, READ_ONLY
from quintet.domain.base.errors import ToolFailed
from quintet.domain.git.protected_entries import blob_of

_REFUSED = ("ermission denied", "EACCES", "Errno 13")
_ADVICE = 'If it contains none, say so in your settings: not_secrets = ["%s"] under [protect]'
MOST_BYTES = 1_000_000  # a larger one is closed without being compared
Cover = tuple[str, str, str]  # how, the absolute path, the file's device and number
_COULD = {COVER: "read", EMPTY: "read", READ_ONLY: "change"}


class Covers(Struct, frozen=True):
    """Absolute paths. What is in neither is not covered."""

    closed: tuple[str, ...] = ()
    empty: tuple[str, ...] = ()


def closed_files_met(closed: Sequence[str], output: str) -> list[str]:
    """What to say to somebody whose command could not open one of these."""
    if not any(word in output for word in _REFUSED):
        return []
    met = [name for name in closed if name in output]
    return [f"{name} is closed to commands: it may contain secrets. {_ADVICE % name}" for name in met[:3]]


class SecretCovers:
    """Asks git only when a secret file, the index, or what git ignores has changed since."""

    def __init__(self, root: str) -> None:
        self._root = root
        self._stamp: object = None
        self._known = Covers()

    def of(self, secrets: Sequence[str], repositories: Sequence[str]) -> Covers:
        """`repositories` are the `.git` of the project, folders or files."""
        if not secrets:
            return Covers()
        tops = [os.path.dirname(git) for git in repositories]
        stamp = tuple(self._look(path) for path in (*secrets, *_deciding(tops)))
        if stamp != self._stamp:
            self._known = self._asked(secrets, tops)
            self._stamp = stamp
        return self._known

    def _look(self, path: str) -> tuple[str, int, int, int]:
        found = stat_nofollow(self._root, os.path.relpath(path, self._root)) if below(path, self._root) else None
        if found is None:
            try:
                found = os.stat(path, follow_symlinks=False)
            except OSError:
                return path, 0, 0, 0
        return path, found.st_ino, found.st_ctime_ns, found.st_size

    def _asked(self, secrets: Sequence[str], tops: Sequence[str]) -> Covers:
        closed, empty = [], []
        for top in ("", *tops):
            ours = [path for path in secrets if _innermost(path, tops) == top]
            files = [path for path in ours if os.path.isfile(path) and not os.path.islink(path)]
            closed += [path for path in ours if path not in files]
            if not top:
                empty += files
            elif files:
                tracked, ignored = _sorted_by_git(top, files)
                empty += ignored
                closed += [path for path in files if path not in tracked and path not in ignored]
        return Covers(tuple(closed), tuple(empty))


def _deciding(tops: Sequence[str]) -> list[str]:
    """The files that decide what git tracks and ignores."""
    paths = []
    for top in tops:
        found = git_folders(top)
        paths += [os.path.join(top, ".gitignore")]
        paths += [os.path.join(found.own, "index"), os.path.join(found.common, "info/exclude")] if found else []
    return paths


def _innermost(path: str, tops: Sequence[str]) -> str:
    return max((top for top in tops if below(path, top)), key=len, default="")


def _sorted_by_git(top: str, files: Sequence[str]) -> tuple[set[str], list[str]]:
    """Those that are as git has them, and those that it ignores; none of either if git cannot say."""
    with repository_view(top) as view:
        if view is None:
            return set(), []
        names = {os.path.relpath(path, top): path for path in files}
        try:
            return _as_tracked(view, names), _ignored(view, names)
        except ToolFailed:
            return set(), []


def _as_tracked(view: RepositoryView, names: dict[str, str]) -> set[str]:
    literal = {**view.variables, "GIT_LITERAL_PATHSPECS": "1"}
    listed = git_output(view.argv(("ls-files", "-s", "-z", "--", *names)), literal, view.root)
    found = set()
    for entry in listed.decode("utf-8", "surrogateescape").split("\0"):
        about, _, name = entry.partition("\t")
        if name in names and about.split()[1] == _object_name(names[name], about.split()[1]):
            found.add(names[name])
    return found


def _object_name(path: str, like: str) -> str:
    """The name that git gives this content, by the digest of `like`; empty for one too large to compare."""
    data = read_plain(path, MOST_BYTES)
    if not data and os.path.getsize(path):
        return ""
    return blob_of(data, like)


def _ignored(view: RepositoryView, names: dict[str, str]) -> list[str]:
    given = "\0".join(names).encode("utf-8", "surrogateescape")
    said = view.ask("check-ignore", "-z", "--stdin", given=given, accept=(0, 1))
    return [names[name] for name in said.decode("utf-8", "surrogateescape").split("\0") if name in names]


class ActiveCovers:
    """The covers in the sandboxes that run now; notices those that were lost.

    What is laid lies on the very file that was there. When that file is replaced by another of its name on this
    machine, as an editor saves and as git writes its settings, the kernel takes the cover away in every sandbox. Nobody
    can put it back from outside; so it is reported, at the next command and when the command that had it is over.
    """

    def __init__(self, root: str) -> None:
        self._root = root
        self._laid: dict[int, tuple[tuple[Cover, ...], set[Cover]]] = {}  # by identity; the second: reported

    def watch(self, words: Sequence[str]) -> tuple[Cover, ...]:
        """The covers among what is laid (words for sandbox_init.py, four each), watched until they are `over`."""
        each = zip(words[0::4], words[1::4], words[2::4], words[3::4], strict=True)
        covers = tuple((how, os.path.join(base, name), number) for how, base, name, number in each if how in _COULD)
        if covers:
            self._laid[id(covers)] = (covers, set())
        return covers

    def over(self, covers: tuple[Cover, ...]) -> list[str]:
        """The covers that a finished sandbox lost, unless reported before."""
        laid = self._laid.pop(id(covers), None)
        return self._fallen(*laid, "this command") if laid else []

    def fallen(self) -> list[str]:
        """The covers that running sandboxes lost, unless reported before."""
        running = list(self._laid.values())  # others end meanwhile, in threads of their own
        return [line for covers, told in running for line in self._fallen(covers, told, "a command that still runs")]

    def _fallen(self, covers: tuple[Cover, ...], told: set[Cover], who: str) -> list[str]:
        lines = []
        for cover in covers:
            how, path, number = cover
            if cover not in told and _number(path) not in (number, ""):
                told.add(cover)
                name = os.path.relpath(path, self._root)
                lines.append(f"{name} was replaced in the meantime: since then {who} could {_COULD[how]} it; check it")
        return lines


def _number(path: str) -> str:
    try:
        found = os.lstat(path)
    except OSError:
        return ""
    return f"{found.st_dev}:{found.st_ino}"
