"""What stands at the paths that a command names: the files, links and folders that it could delete or overwrite.

A shell pattern stands for more than bash makes of it: every wildcard for any text, names that begin with a dot and
other cases included, whatever options are set. What a checkpoint cannot put back is said as `NotCovered`. Blocking.
"""

from __future__ import annotations

import contextlib
import os
import re
import stat
from collections.abc import Iterable, Iterator

from msgspec import Struct, field

from quintet.adapters.files.real_path import real_path
from quintet.adapters.git.file_states import folders_above, umask
from quintet.adapters.git.shadow_git import LARGEST_FILE
from quintet.domain.base.safe_text import on_one_line
from quintet.domain.journal.file_changes import FOLDER
from quintet.domain.permission.protected_paths import Protection, is_write_protected

MOST_ENTRIES = 20_000  # at and below the paths
MOST_SEEN = 50_000  # while a pattern is matched
MOST_BYTES = 500_000_000
NOT_BACK = "so /rewind could not restore it"
TOO_MUCH = f"there is too much at {{}} to save before the command, {NOT_BACK}"
_WILD = re.compile(r"[*?\[]")
_EXTENDED = re.compile(r"[?*+@!]\(")
_ABOVE = re.compile(r"\.|.*[(|]\.", re.DOTALL)  # a dot at the beginning has to be written
_OPAQUE = re.compile(r"[$`\\\0]|\{[^{}]*(?:,|\.\.)|^~")  # what the shell makes of it is not known before it runs


class NotCovered(Exception):
    """What a command deletes could not be put back; `str` says why."""

    def __init__(self, path: str, why: str) -> None:
        shown = on_one_line(path.encode("utf-8", "replace").decode())
        super().__init__(f"{shown} {why}, {NOT_BACK}")


class TooMuch(NotCovered):
    def __init__(self, path: str) -> None:
        Exception.__init__(self, TOO_MUCH.format(on_one_line(path.encode("utf-8", "replace").decode())))


class Standing(Struct):
    """What stands at some paths and below, relative to the project's root."""

    files: dict[str, os.stat_result] = field(default_factory=dict)  # and links
    folders: dict[str, str] = field(default_factory=dict)  # states of those that are empty or not as a new one is
    missing: list[str] = field(default_factory=list)  # named, and not there
    tops: set[str] = field(default_factory=set)  # folders that were named
    walked: set[str] = field(default_factory=set)
    plain: bool = True  # no folder is among the paths
    entries: int = 0
    bytes: int = 0

    def topmost(self, path: str, held: Iterable[str]) -> str:
        """The outermost folder, at or below one that was named, that holds the path and nothing that is held."""
        others = {folder for one in held for folder in folders_above(one)}
        for folder in folders_above(path):
            named = any(top == "." or f"{folder}/".startswith(f"{top}/") for top in self.tops)
            if named and folder not in others:
                return f"{folder}/"
        return path


class Surveyor:
    """Looks at one project, once."""

    def __init__(self, root: str, protection: Protection, most: int = 0) -> None:
        self._root = root
        self._protection = protection
        self._most = most or MOST_ENTRIES
        self._new_folder = 0o777 & ~umask()
        self._device = os.lstat(root).st_dev
        self._seen = 0
        self._own = os.geteuid()

    def survey(self, paths: Iterable[str]) -> Standing:
        found = Standing()
        for path in paths:
            try:
                for one in self._expanded(path):
                    self._take(one, found)
                    if link := self._led_to(one):
                        self._take(link, found)
            except RecursionError as error:
                raise TooMuch(path) from error
        return found

    # ── from a path to names

    def _expanded(self, path: str) -> Iterator[str]:
        if _OPAQUE.search(path):
            raise NotCovered(path, "is not known before the command runs")
        steps = self._steps(path)
        if not _WILD.search(path) and not _EXTENDED.search(path):
            yield self._plain(path, steps)
            return
        literal = "/".join(steps)
        if ".." not in steps and os.path.lexists(os.path.join(self._root, literal)):  # a quoted one
            yield self._plain(path, steps)
        yield from self._matching(path, "", steps)

    def _steps(self, path: str) -> list[str]:
        if path.startswith("/"):
            prefix = self._root.rstrip("/") + "/"
            if not f"{path}/".startswith(prefix):
                raise NotCovered(path, "is outside the project")
            path = path[len(prefix) :]
        return [step for step in path.split("/") if step not in ("", ".")]

    def _plain(self, path: str, steps: list[str]) -> str:
        """A path without `..`, through folders alone."""
        above: list[str] = []
        for number, step in enumerate(steps):
            if step == "..":
                if not above:
                    raise NotCovered(path, "is outside the project")
                above.pop()
                continue
            above.append(step)
            more = number < len(steps) - 1
            if more and os.path.islink(os.path.join(self._root, *above)):
                raise NotCovered(path, "is behind a link")
        return "/".join(above) or "."

    def _matching(self, path: str, folder: str, steps: list[str], *, deep_in: bool = False) -> Iterator[str]:
        first, rest = steps[0], steps[1:]
        deep = "**" in first
        if first == ".." or (not _WILD.search(first) and not _EXTENDED.search(first)):
            if deep_in and not os.path.lexists(os.path.join(self._root, folder, first)):
                return  # `**` stands for folders that have it
            yield from self._through(path, self._plain(path, [*folder.split("/"), first] if folder else [first]), rest)
            return
        fits = _pattern(first)
        if _ABOVE.match(first) and fits.fullmatch(".."):
            raise NotCovered(path, "may refer to the parent folder")
        for name, is_link, is_folder in self._listed(path, folder):
            own = f"{folder}/{name}" if folder else name
            if deep:
                if is_folder:
                    yield from self._matching(path, own, steps)
                if rest:
                    continue
            if fits.fullmatch(name):
                if rest and is_link and os.path.isdir(os.path.join(self._root, own)):
                    raise NotCovered(own, "is a link to another folder")
                if not rest or is_folder:
                    yield from self._through(path, own, rest)
        if deep:
            yield from self._matching(path, folder, rest, deep_in=True) if rest else (folder or ".",)

    def _through(self, path: str, own: str, rest: list[str]) -> Iterator[str]:
        if not rest:
            yield own
            return
        where = os.path.join(self._root, own)
        if os.path.islink(where) and os.path.isdir(where):
            raise NotCovered(own, "is a link to another folder")
        yield from self._matching(path, "" if own == "." else own, rest)

    def _listed(self, path: str, folder: str) -> list[tuple[str, bool, bool]]:
        try:
            with os.scandir(os.path.join(self._root, folder)) as entries:
                found = [(e.name, e.is_symlink(), e.is_dir(follow_symlinks=False)) for e in entries]
        except (FileNotFoundError, NotADirectoryError):
            return []
        except OSError as error:
            raise NotCovered(folder or path, "cannot be read") from error
        self._seen += len(found)
        if self._seen > MOST_SEEN:
            raise TooMuch(path)
        return found

    def _led_to(self, path: str) -> str:
        """What writing to a link inside the project would write to instead; empty if it is no link."""
        where = os.path.join(self._root, path)
        if not os.path.islink(where):
            return ""
        real, prefix = real_path(where), self._root.rstrip("/") + "/"
        if not real.startswith(prefix):
            raise NotCovered(path, "is a link that leads out of the project")
        return real[len(prefix) :]

    # ── what stands there

    def _take(self, path: str, found: Standing) -> None:
        try:
            info = os.lstat(os.path.join(self._root, path))
        except (FileNotFoundError, NotADirectoryError):
            self._check_name(path)
            found.missing.append(path)
            return
        except OSError as error:
            raise NotCovered(path, "cannot be inspected") from error
        if stat.S_ISDIR(info.st_mode):
            found.tops.add(path)
        waiting = [(path, info)]
        while waiting:
            one, info = waiting.pop()
            if one in found.files or one in found.walked:
                continue
            found.entries += 1
            if found.entries > self._most:
                raise TooMuch(path)
            self._check_name(one)
            if stat.S_ISDIR(info.st_mode):
                found.plain = False
                found.walked.add(one)
                waiting += self._below(one, info, found)
            else:
                self._check_file(one, info)
                found.bytes += info.st_size
                if found.bytes > MOST_BYTES:
                    raise TooMuch(path)
                found.files[one] = info

    def _below(self, folder: str, info: os.stat_result, found: Standing) -> list[tuple[str, os.stat_result]]:
        if info.st_dev != self._device:
            raise NotCovered(f"{folder}/", "is on another file system")
        try:
            with os.scandir(os.path.join(self._root, folder)) as entries:
                names = sorted((e.name, e.stat(follow_symlinks=False)) for e in entries)
        except OSError as error:
            raise NotCovered(f"{folder}/", "cannot be read") from error
        here = "" if folder == "." else f"{folder}/"
        if here and any(name == ".git" for name, _ in names):
            raise NotCovered(here, "is a separate repository, which is not saved")
        bits = stat.S_IMODE(info.st_mode)
        if here and (not names or bits != self._new_folder):
            found.folders[folder] = FOLDER if bits == self._new_folder else f"{info.st_mode:o}"
        return [(here + name, below) for name, below in names]

    def _check_name(self, path: str) -> None:
        if ".git" in path.lower().split("/"):
            raise NotCovered(path, "belongs to git")
        if not _is_text(path):
            raise NotCovered(path, "has a name that is not UTF-8")

    def _check_file(self, path: str, info: os.stat_result) -> None:
        if stat.S_ISLNK(info.st_mode):
            return
        if not stat.S_ISREG(info.st_mode):
            raise NotCovered(path, "is not an ordinary file")
        if self._protection.is_secret(path):
            raise NotCovered(path, "may contain secrets and is not saved")
        if is_write_protected(path) or self._protection.asks(path):
            raise NotCovered(path, "is protected")
        if info.st_size > LARGEST_FILE:
            raise NotCovered(path, f"is larger than {LARGEST_FILE // 1_000_000} MB")
        if info.st_nlink > 1:
            raise NotCovered(path, "is a hard link to a file that has other names")
        if info.st_uid != self._own:
            raise NotCovered(path, "belongs to another user")
        if not os.access(os.path.join(self._root, path), os.R_OK):
            raise NotCovered(path, "cannot be read")


def within(root: str, folders: Iterable[str], most: int, most_bytes: int) -> list[str]:
    """The paths of all that is in some folders; none if that is too much, or belongs to git."""
    found: list[str] = []
    size = 0
    waiting = list(folders)
    while waiting:
        folder = waiting.pop()
        with contextlib.suppress(OSError), os.scandir(os.path.join(root, folder)) as entries:
            for entry in entries:
                path = f"{folder}/{entry.name}"
                found.append(path)
                size += entry.stat(follow_symlinks=False).st_size
                if len(found) > most or size > most_bytes or entry.name == ".git" or not _is_text(path):
                    return []
                if entry.is_dir(follow_symlinks=False):
                    waiting.append(path)
    return found


def _is_text(path: str) -> bool:
    return path.encode("utf-8", "replace").decode() == path


def _pattern(step: str) -> re.Pattern[str]:
    """Fits every name that bash could take a step of a pattern for, and more: brackets are any text."""
    if _EXTENDED.search(step):
        return re.compile(".+", re.DOTALL)
    fixed, bracket, rest = step.partition("[")
    pieces = [fixed, rest.rpartition("]")[2] if "]" in rest else ""] if bracket else [fixed]
    parts = [re.escape(part) for piece in pieces for part in re.split(r"[*?]+", piece)]
    return re.compile(".*".join(parts), re.DOTALL | re.IGNORECASE)
