"""A git repository of Quintet's own, beside the project's: trees of the project's files, whatever git the project has.

Its folder, index and configuration are its own; the project's repository is only read, as a source of objects and of a
first index. Nothing of the user's or the project's configuration is in force, so no hook, filter or monitor runs, and
contents are kept byte by byte. Whoever works here holds the lock, and so do the processes they start.
"""

from __future__ import annotations

import contextlib
import contextvars
import fcntl
import os
import re
import shutil
import stat
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property

from quintet.adapters.files.temporary_folders import temporary
from quintet.adapters.git.file_states import LooseObjects, state_of
from quintet.adapters.git.git_folders import git_folders, is_plain, read_plain
from quintet.adapters.git.run_git import (
    SECONDS,
    STOP,
    GitStopped,
    environment,
    git_output,
    git_program,
    repository_view,
    settings_for,
    user_settings,
)
from quintet.domain.base.errors import ToolFailed
from quintet.domain.permission.protected_paths import PROTECTION, Protection

LARGEST_FILE = 100_000_000
RULES = b".gitignore"
MOST_FOLDERS = 200  # newly ignored ones that are looked into at once
MOST_HIDDEN = 20_000
LARGE_INDEX = 200_000  # bytes: some 2,000 files
MOST_NAMED = 100  # paths on one command line
MANY_FILES = 1_000
FILES_A_LOOK = 500  # between two looks whether it is still wanted
FILES_AT_ONCE = 10_000  # so that it can be said how far it is
UPDATE_SECONDS = 300.0  # a first snapshot reads everything; it can be left at any moment
MOST_FILES, MOST_BYTES = 300_000, 1_000_000_000  # that one snapshot takes in
SMALLER = "open a smaller folder, or exclude files with .gitignore"
# Contents as they are: no attribute of the project's converts anything. `!` where git takes no plain no.
ATTRIBUTES = "* -text -crlf !eol -ident -filter !working-tree-encoding\n"
CONFIG = """\
[core]
\trepositoryformatversion = {version}
\tbare = false
\tlogAllRefUpdates = false
\thooksPath = /dev/null
\tfsmonitor = false
\tautocrlf = false
\tsafecrlf = false
\tlooseCompression = 1
\texcludesFile = {excludes}
[gc]
\tauto = 0
[extensions]
\tobjectFormat = {algorithm}
"""
_CONVERTING = ("text", "crlf", "eol", "ident", "filter", "working-tree-encoding")
_PLAIN = (b"unspecified", b"unset")


class ProjectGit:
    """Where the project's own repository keeps things; found without running git."""

    def __init__(self, root: str) -> None:
        found = git_folders(root)
        self.folder = found.own if found else ""
        self.common = found.common if found else ""
        config = read_plain(os.path.join(self.common, "config")).decode("utf-8", "replace") if found else ""
        self.algorithm = "sha256" if re.search(r"^\s*objectformat\s*=\s*sha256", config, re.M | re.I) else "sha1"

    @property
    def objects(self) -> str:
        return os.path.join(self.common, "objects") if self.common else ""

    @property
    def index(self) -> str:
        return os.path.join(self.folder, "index") if self.folder else ""

    @property
    def exclude(self) -> str:
        return os.path.join(self.common, "info", "exclude") if self.common else ""


class SnapshotTooLarge(ToolFailed):
    """More than is kept of a project at once."""


class ShadowGit:
    """Blocking: to be called from a thread. `commands_run` says whether a command may change the project meanwhile."""

    def __init__(
        self,
        folder: str,
        root: str,
        protection: Protection = PROTECTION,
        commands_run: Callable[[], bool] = lambda: True,
    ) -> None:
        self.folder = folder
        self._commands_run = commands_run
        self.root = root
        self._protection = protection
        self.objects = os.path.join(folder, "objects")
        self.project = ProjectGit(root)
        self._index = os.path.join(folder, "index")
        self.progress = 0, 0  # files that an update has taken in, of how many
        self._made = False
        self._ruled_anew = ""  # the tree since which an ignore file was changed

    @property
    def there(self) -> bool:
        """Whether there is a git to work with."""
        return bool(git_program())

    @contextlib.contextmanager
    def locked(self, name: str = "lock", *, wait: bool = True) -> Iterator[int]:
        """Hold the lock; its handle goes to every process that works under it. BlockingIOError if not to wait."""
        os.makedirs(self.folder, mode=0o700, exist_ok=True)
        handle = os.open(os.path.join(self.folder, name), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
            yield handle
        finally:
            os.close(handle)

    def run(
        self, lock: int, *arguments: str, given: bytes = b"", accept: Sequence[int] = (0,), seconds: float = SECONDS
    ) -> bytes:
        """One git command of the shadow's own; ToolFailed unless it ends as is accepted."""
        words = (git_program() or "git", *arguments)
        return git_output(words, self.environment(), self.root, given, accept, (lock,), seconds)

    def environment(self) -> dict[str, str]:
        own = {"GIT_DIR": self.folder, "GIT_WORK_TREE": self.root, "GIT_INDEX_FILE": self._index}
        return environment(HOME=self.folder, **own)

    # ── trees

    def tree(self, lock: int, since: str = "") -> tuple[str, list[str]]:
        """The tree of the project's files as they are, and what it does not cover.

        What the rules of the tree `since` do not ignore is in it, whatever rules there are now.
        """
        self._make(lock)
        try:
            return self._tree(lock, since)
        except (GitStopped, SnapshotTooLarge):
            raise
        except ToolFailed:  # an index that is damaged, or that another program's features are in: once more without
            with contextlib.suppress(FileNotFoundError):
                os.unlink(self._index)
            return self._tree(lock, since)

    def rules_of(self, lock: int, tree: str) -> OldRules:
        return OldRules(self, lock, tree)

    def _tree(self, lock: int, since: str) -> tuple[str, list[str]]:
        changed: list[bytes] = []
        lacking: list[bytes] = []
        for number, name in enumerate(dict.fromkeys(self._differing(lock).split(b"\0")[:-1])):
            if number % FILES_A_LOOK == 0:
                STOP.get().check()
            (lacking if name.endswith(b"/") or self._left_out(name) else changed).append(name)
        self._check_budget(changed)
        self._take_in(lock, changed)
        if since and (since == self._ruled_anew or are_rules(changed)):
            self._ruled_anew = since  # after the update: what stands where a file was is not listed before
            hidden = [name for name in self.rules_of(lock, since).hidden()[0] if not self._left_out(name)]
            self._take_in(lock, hidden)
            changed += hidden
        known = "" if changed else self._known_tree()
        if not known:
            known = self.run(lock, "write-tree").decode().strip()
            self._note_tree(known)
        return known, [os.fsdecode(name) for name in lacking]

    def _differing(self, lock: int) -> bytes:
        """The paths of what is not as in the index. For many files two git at once: one of them looks in threads."""
        if not os.path.exists(self._index) or os.path.getsize(self._index) < LARGE_INDEX:
            return self.run(lock, "ls-files", "-z", "--others", "--modified", "--deleted", "--exclude-standard")
        with ThreadPoolExecutor(1) as beside:
            others = beside.submit(
                contextvars.copy_context().run, self.run, lock, "ls-files", "-z", "--others", "--exclude-standard"
            )
            known = self.run(lock, "diff-files", "-z", "--name-only", "--no-renames", "--ignore-submodules=all")
            return known + others.result()

    def _take_in(self, lock: int, names: list[bytes]) -> None:
        swappable = self._commands_run()
        self._update(lock, names)
        if names and (swappable or self._commands_run()):
            self._look_again(lock, names)

    def _look_again(self, lock: int, names: list[bytes]) -> None:
        """git reads through a link that a command puts in the place of a folder in between. What it took in has to be
        what stands there when no link is followed; else that is taken in, or nothing."""
        own = LooseObjects(self.objects, self.project.algorithm)
        given = b""
        found = self.held(lock, [os.fsdecode(name) for name in names]).items()
        for number, (path, (bits, name, _)) in enumerate(found):
            if number % FILES_A_LOOK == 0:
                STOP.get().check()
            if self._content(path, own.name)[1] == name:
                continue
            kind, content = self._content(path, own.keep)
            if len(content) == len(name):
                bits = kind if kind == "120000" else "100755" if int(kind, 8) & 0o100 else "100644"
            else:
                bits, content = "0", "0" * len(name)
            given += f"{bits} {content}\t".encode() + os.fsencode(path) + b"\0"
        if given:
            self.run(lock, "update-index", "-z", "--index-info", given=given)

    def _content(self, path: str, name: Callable[[bytes], str]) -> tuple[str, str]:
        """Access bits and name of what stands there; nothing if it changes at this moment."""
        try:
            kind, _, content = state_of(self.root, path, name).partition(" ")
        except OSError:
            return "", ""
        return kind, content

    def _update(self, lock: int, names: list[bytes]) -> None:
        if names:
            self._check_attributes(names)
            # Many go into one pack as they are read: a file each takes a hundred times the room.
            packed = ("-c", "core.bigFileThreshold=1") if len(names) >= MANY_FILES else ()
            words = (*packed, "update-index", "-z", "--add", "--remove", "--replace", "--stdin")
            try:
                for begin in range(0, len(names), FILES_AT_ONCE):
                    self.progress = begin, len(names)
                    some = names[begin : begin + FILES_AT_ONCE]
                    self.run(lock, *words, given=b"".join(name + b"\0" for name in some), seconds=UPDATE_SECONDS)
            finally:
                self.progress = 0, 0

    def _check_attributes(self, names: list[bytes]) -> None:
        """git reads the attributes of every folder above a file, and would wait for ever for those in a pipe."""
        folders = {b""}
        for name in names:
            while (name := os.path.dirname(name)) not in folders:
                folders.add(name)
        for folder in folders:
            path = os.path.join(os.fsencode(self.root), folder, b".gitattributes")
            with contextlib.suppress(OSError):
                if not (stat.S_ISREG(bits := os.lstat(path).st_mode) or stat.S_ISLNK(bits) or stat.S_ISDIR(bits)):
                    shown = os.fsdecode(os.path.join(folder, b".gitattributes"))
                    raise ToolFailed(f"{shown} is not an ordinary file, and git would wait for it: delete it")

    def _check_budget(self, names: list[bytes]) -> None:
        """SnapshotTooLarge, before anything is added, if keeping these would fill the disk."""
        if len(names) > MOST_FILES:
            raise SnapshotTooLarge(
                f"{len(names):,} files are new or changed, and the limit is {MOST_FILES:,}; {SMALLER}"
            )
        size, root = 0, os.fsencode(self.root)
        for number, name in enumerate(names):
            if number % FILES_A_LOOK == 0:
                STOP.get().check()
            with contextlib.suppress(OSError):
                size += os.lstat(os.path.join(root, name)).st_size
        if size > MOST_BYTES:
            raise SnapshotTooLarge(
                f"{size / 1e9:.1f} GB are new or changed, and the limit is {MOST_BYTES / 1e9:g} GB; {SMALLER}"
            )

    def _left_out(self, name: bytes) -> bool:
        return self._protection.is_secret(os.fsdecode(name)) or self._too_large(name)

    def _too_large(self, name: bytes) -> bool:
        try:
            path = os.path.join(os.fsencode(self.root), name)
            return os.lstat(path).st_size > LARGEST_FILE or not (os.path.islink(path) or os.access(path, os.R_OK))
        except OSError:
            return False

    def _known_tree(self) -> str:
        """The tree of the index, if it was noted of this very index."""
        with contextlib.suppress(OSError, ValueError), open(f"{self._index}.tree", encoding="ascii") as file:
            tree, stamp = file.read().split()
            return tree if stamp == self._stamp() else ""
        return ""

    def _note_tree(self, tree: str) -> None:
        with open(f"{self._index}.tree", "w", encoding="ascii") as file:
            file.write(f"{tree} {self._stamp()}")

    def _stamp(self) -> str:
        info = os.stat(self._index)
        return f"{info.st_ino}-{info.st_mtime_ns}-{info.st_size}"

    def refresh(self, lock: int) -> None:
        """Look at files that were touched and not changed, so that they need not be read every time."""
        if os.path.exists(self._index) and (tree := self._known_tree()):
            self.run(lock, "update-index", "-q", "--refresh", accept=(0, 1))
            self._note_tree(tree)

    def difference(self, lock: int, before: str, after: str) -> list[tuple[str, str, str, int, int]]:
        """What differs between two trees: path, state before and after, lines added and removed."""
        said = self.run(
            lock, "diff-tree", "-r", "-z", "--no-renames", "--raw", "--numstat", "--no-abbrev", before, after
        )
        fields = said.split(b"\0")
        states: dict[bytes, tuple[str, str]] = {}
        counts: dict[bytes, tuple[int, int]] = {}
        at = 0
        while at < len(fields) - 1:
            field = fields[at]
            if field.startswith(b":"):
                old, new, was, now, _ = field[1:].decode("ascii").split(" ")
                states[fields[at + 1]] = (_state(old, was), _state(new, now))
                at += 2
            else:
                added, removed, name = field.split(b"\t", 2)
                counts[name] = (0, 0) if added == b"-" else (int(added), int(removed))
                at += 1
        return [(os.fsdecode(name), *pair, *counts.get(name, (0, 0))) for name, pair in states.items()]

    def contents(self, lock: int, names: Iterable[str]) -> dict[str, bytes]:
        """Contents by their names; those that are lost are left out."""
        wanted = list(dict.fromkeys(names))
        if not wanted or not self.there:
            return {}
        said = self.run(lock, "cat-file", "--batch", given="\n".join([*wanted, ""]).encode())
        found, at = {}, 0
        while at < len(said):
            end = said.index(b"\n", at)
            name, kind, *size = said[at:end].decode("ascii").split(" ")
            at = end + 1
            if kind != "missing":
                found[name] = said[at : at + int(size[0])]
                at += int(size[0]) + 1
        return found

    def held(self, lock: int, paths: Collection[str]) -> dict[str, tuple[str, str, int]]:
        """Those of these paths that the newest tree holds: access bits, name and size of a content that is there."""
        some = [f":(literal){path}" for path in paths] if len(paths) <= MOST_NAMED else []
        wanted = {os.fsencode(path) for path in paths}
        listed = self.run(lock, "ls-files", "-z", "-s", "--", *some).split(b"\0")[:-1] if wanted else []
        found: dict[str, tuple[str, str]] = {}
        for line in listed:
            about, _, path = line.partition(b"\t")
            if path in wanted:
                bits, name, _ = about.decode("ascii").split(" ")
                found[os.fsdecode(path)] = bits, name
        if not found:
            return {}
        given = "".join(f"{name}\n" for _, name in found.values()).encode()
        said = self.run(lock, "cat-file", "--batch-check=%(objecttype) %(objectsize)", given=given).splitlines()
        sizes = [int(line[5:]) if line.startswith(b"blob ") else -1 for line in said]
        known = zip(found.items(), sizes, strict=True)
        return {path: (*state, size) for (path, state), size in known if size >= 0}

    # ── the beginning

    def _make(self, lock: int) -> None:
        """What is not there yet, once a process; and what a killed one left."""
        with contextlib.suppress(FileNotFoundError):
            os.unlink(f"{self._index}.lock")  # no other process works here: we hold the lock
        if self._made:
            return
        for name in ("objects/info", "objects/pack", "refs", "info"):
            os.makedirs(os.path.join(self.folder, name), mode=0o700, exist_ok=True)
        version = int(self.project.algorithm != "sha1")
        excludes = dict(user_settings())["core.excludesfile"].replace("\\", "\\\\").replace('"', '\\"')
        config = CONFIG.format(version=version, excludes=f'"{excludes}"', algorithm=self.project.algorithm)
        self._write("HEAD", "ref: refs/heads/none\n")
        self._write("config", config if version else config.partition("[extensions]")[0])
        self._write("info/attributes", ATTRIBUTES)
        self._write("objects/info/alternates", f"{self.project.objects}\n" if self.project.objects else "")
        excluded = read_plain(self.project.exclude) if self.project.exclude else b""
        self._write("info/exclude", excluded.decode("utf-8", "surrogateescape"))
        if not os.path.exists(self._index):
            with contextlib.suppress(ToolFailed, OSError):
                self._seed(lock)
        self._drop_secrets(lock)
        self._made = True

    def _drop_secrets(self, lock: int) -> None:
        """Secrets that the project's own repository tracks, or that were taken in when they were not known for such."""
        known = repr(self._protection)
        with contextlib.suppress(OSError), open(os.path.join(self.folder, "secrets"), encoding="utf-8") as file:
            if file.read() == known:
                return
        listed = self.run(lock, "ls-files", "-z").split(b"\0")[:-1] if os.path.exists(self._index) else []
        if secret := [name for name in listed if self._protection.is_secret(os.fsdecode(name))]:
            given = b"".join(name + b"\0" for name in secret)
            self.run(lock, "update-index", "-z", "--force-remove", "--stdin", given=given)
        self._write("secrets", known)

    def _write(self, name: str, text: str) -> None:
        with open(os.path.join(self.folder, name), "w", encoding="utf-8", errors="surrogateescape") as file:
            file.write(text)

    def _seed(self, lock: int) -> None:
        """Begin with the project's index, whose stat cache saves reading every file.

        What it says of a file holds for us only if the file is kept as it is: an entry with an attribute that converts,
        or one that git is told not to look at, is looked at again.
        """
        if not is_plain(self.project.index):
            return
        beside = f"{self._index}.seed"
        shutil.copyfile(self.project.index, beside, follow_symlinks=False)
        for name in os.listdir(self.project.folder):
            if name.startswith("sharedindex.") and is_plain(source := os.path.join(self.project.folder, name)):
                shutil.copyfile(source, os.path.join(self.folder, name), follow_symlinks=False)
        converted = dict(settings_for(self.project.common)).get("core.autocrlf", "").lower()
        os.replace(beside, self._index)
        entries = [_entry(line) for line in self.run(lock, "ls-files", "-z", "-s", "-v").split(b"\0")[:-1]]
        asked = b"".join(path + b"\0" for *_, path in entries)
        with repository_view(self.root) as view:
            answer = view.ask("check-attr", "-z", "--stdin", *_CONVERTING, given=asked) if view else b""
        said = answer.split(b"\0")
        doubtful = {path for path, value in zip(said[::3], said[2::3], strict=False) if value not in _PLAIN}
        everything = converted in ("true", "input") or len(said) // 3 < len(entries) * len(_CONVERTING)
        lines = []
        for tag, bits, content, stage, path in entries:
            if bits == b"160000" or stage != b"0":
                lines.append(b"0 %s\t%s\0" % (b"0" * len(content), path))
            elif everything or tag != b"H" or path in doubtful:
                lines.append(b"%s %s\t%s\0" % (bits, content, path))
        if lines:
            self.run(lock, "update-index", "-z", "--index-info", given=b"".join(lines))
            self.run(lock, "update-index", "-q", "--refresh", accept=(0, 1))


def _state(bits: str, name: str) -> str:
    return "" if bits == "000000" else f"{bits} {name}"


def _entry(line: bytes) -> tuple[bytes, bytes, bytes, bytes, bytes]:
    """Tag, access bits, name, stage and path of an index entry."""
    about, _, path = line.partition(b"\t")
    tag, bits, name, stage = about.split(b" ")
    return tag, bits, name, stage, path


class OldRules:
    """What the ignore rules of an older tree say of files: one line in a .gitignore hides nothing that was made since.

    The rules are laid out in a folder of our own, and git is asked there. A .gitignore that hides itself stands in no
    tree, and may be as old as the project: what it hides is never taken for new, but can be named. Blocking, and only
    under the lock of the shadow repository.
    """

    def __init__(self, shadow: ShadowGit, lock: int, tree: str) -> None:
        self._shadow = shadow
        self._lock = lock
        self._tree = tree

    def ignored(self, names: Iterable[bytes]) -> set[bytes]:
        """Those of these paths that the rules ignore; a folder's ends with a slash."""
        asked = list(dict.fromkeys(names))
        if not asked:
            return set()
        with temporary() as laid:
            for name, content in self._rules:
                self._put(laid, name, content)
            for name in asked:
                if name.endswith(b"/"):
                    with contextlib.suppress(OSError):
                        os.makedirs(os.path.join(os.fsencode(laid), name), exist_ok=True)
            own = {"GIT_WORK_TREE": laid, "GIT_INDEX_FILE": os.path.join(laid, ".no-index")}
            said = git_output(
                (git_program() or "git", "check-ignore", "-z", "--stdin", "--no-index"),
                {**self._shadow.environment(), **own},
                laid,
                b"".join(b"./%b\0" % name for name in asked),
                (0, 1),
                (self._lock,),
            )
        return {name[2:] for name in said.split(b"\0")[:-1]}

    def hidden(self) -> tuple[list[bytes], list[bytes]]:
        """What is ignored now and was not by these rules: files, and folders that ignore themselves, with a slash."""
        said = self._others("--ignored", "--exclude-standard", "--directory")
        found = set(said) - self.ignored(said)
        folders = sorted(name for name in found if name.endswith(b"/"))[:MOST_FOLDERS]
        files = {name for name in found if not name.endswith(b"/")}
        if folders:
            inner = self._others("--", *(f":(literal){os.fsdecode(name)}" for name in folders))
            files |= {name for name in set(inner) - self.ignored(inner) if not name.endswith(b"/")}
        hiding = {name.rpartition(b"/")[0] for name in files if name.rpartition(b"/")[2] == RULES}
        sure = sorted(name for name in files if not any(above in hiding for above in _above(name)))
        return sure[:MOST_HIDDEN], sorted(b"%b/" % folder for folder in hiding)

    def _others(self, *words: str) -> list[bytes]:
        return self._shadow.run(self._lock, "ls-files", "-z", "--others", *words).split(b"\0")[:-1]

    @cached_property
    def _rules(self) -> list[tuple[bytes, bytes]]:
        names: dict[bytes, str] = {}
        for line in self._shadow.run(self._lock, "ls-tree", "-r", "-z", self._tree).split(b"\0")[:-1]:
            about, _, path = line.partition(b"\t")
            bits, _, name = about.split(b" ")
            if path.rpartition(b"/")[2] == RULES and bits.startswith(b"100"):
                names[path] = name.decode("ascii")
        contents = self._shadow.contents(self._lock, names.values())
        if lost := set(names.values()) - contents.keys():
            raise ToolFailed(f"the checkpoint has lost ignore rules: {', '.join(sorted(lost))}")
        return [(path, contents[name]) for path, name in names.items()]

    def _put(self, laid: str, name: bytes, content: bytes) -> None:
        path = os.path.join(os.fsencode(laid), name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as file:
            file.write(content)


def are_rules(names: Iterable[bytes]) -> bool:
    return any(name.rpartition(b"/")[2] == RULES for name in names)


def _above(name: bytes) -> list[bytes]:
    """The folders that a path lies in, the project itself as an empty one."""
    parts = name.split(b"/")[:-1]
    return [b"/".join(parts[:depth]) for depth in range(len(parts) + 1)]
