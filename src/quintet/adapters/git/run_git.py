"""Git as Quintet itself runs it: by its absolute path, and without any program that a repository could name.

A repository is looked at through a git folder of our own, made for the look and gone after it: HEAD is copied, refs and
objects are links, and of the configuration only what `plain_git` lists is taken over. So there is no filter, hook,
monitor, helper, pager or remote to run, whatever the repository's configuration, attributes or submodules say.
"""

from __future__ import annotations

import contextlib
import os
import stat
import subprocess
import threading
from collections.abc import Iterator, Sequence
from contextvars import ContextVar
from functools import lru_cache
from shutil import rmtree

from quintet.adapters.files.paths import config_home, repository_above
from quintet.adapters.files.temporary_folders import temporary_folder
from quintet.adapters.git.git_folders import GitFolders, git_folders, is_plain, read_plain
from quintet.adapters.processes.host_programs import host_path, program
from quintet.domain.base.errors import ToolFailed
from quintet.domain.git.plain_git import config_text, is_head, read_listed, taken_over

SECONDS = 20.0
FLAGS = ("--no-pager", "--no-optional-locks")
# Nothing that a user has set for every repository is in force either: a filter of theirs would run on these contents.
ALONE = {
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_ATTR_NOSYSTEM": "1",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_ALLOW_PROTOCOL": "none",
    "GIT_PROTOCOL_FROM_USER": "0",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_PAGER": "cat",
    "PAGER": "cat",
    "GIT_EDITOR": ":",
    "GIT_ASKPASS": "",
    "SSH_ASKPASS": "",
    "LC_ALL": "C.UTF-8",
}
CONFIG = (
    ("core.repositoryformatversion", "1"),
    ("core.bare", "false"),
    ("core.hookspath", os.devnull),
    ("core.fsmonitor", "false"),
    ("core.untrackedcache", "false"),
    ("core.safecrlf", "false"),
    ("core.logallrefupdates", "false"),
    ("color.ui", "never"),
    ("diff.autorefreshindex", "false"),
    ("gc.auto", "0"),
    ("maintenance.auto", "false"),
)
_COPIED = ("ORIG_HEAD", "FETCH_HEAD", "MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD", "MERGE_MSG", "shallow")
_SHARED = ("objects", "refs", "packed-refs", "reftable", "info/exclude", "info/attributes", "logs/refs")
_RECURSING = ("status", "diff")  # would run git in submodules, by the configuration that is there


class GitStopped(ToolFailed):
    """Nobody waits any more for what git was asked."""


class GitStop:
    """Ends the git processes of one piece of work, and lets it start no more."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._running: set[subprocess.Popen[bytes]] = set()
        self._stopped = False

    def now(self) -> None:
        with self._lock:
            self._stopped = True
            for process in self._running:
                process.kill()

    @contextlib.contextmanager
    def watch(self, process: subprocess.Popen[bytes]) -> Iterator[None]:
        with self._lock:
            self._running.add(process)
            if self._stopped:
                process.kill()
        try:
            yield
        finally:
            with self._lock:
                self._running.discard(process)

    def check(self) -> None:
        if self._stopped:
            raise GitStopped("interrupted")


STOP: ContextVar[GitStop] = ContextVar("git_stop", default=GitStop())  # noqa: B039  nobody stops that one


def git_program() -> str:
    """The absolute path of git; empty if there is none."""
    return program("git")


def environment(**own: str) -> dict[str, str]:
    """What git gets from us, and nothing else: none of the user's variables redirects it."""
    return {"PATH": host_path(), "HOME": "/", **ALONE, **own}


class RepositoryView:
    """A repository as Quintet looks at it. `folder` is the git folder of the look, `variables` lead git there."""

    def __init__(self, folder: str, root: str, found: GitFolders, seconds: float) -> None:
        self.folder = folder
        self.root = root
        self._seconds = seconds
        index = os.path.join(found.own, "index")
        self.variables = environment(
            HOME=folder,
            GIT_DIR=folder,
            GIT_WORK_TREE=root,
            GIT_INDEX_FILE=index if is_plain(index) else os.path.join(folder, "index"),
        )

    def argv(self, arguments: Sequence[str]) -> tuple[str, ...]:
        """How to ask for something."""
        words = list(arguments)
        if words[0] in _RECURSING and not any(word.startswith("--ignore-submodules") for word in words):
            words.insert(1, "--ignore-submodules=dirty")
        return (_there(), *FLAGS, *words)

    def ask(self, *arguments: str, given: bytes = b"", accept: Sequence[int] = (0,)) -> bytes:
        """What git prints; ToolFailed unless it ends as is accepted. Blocks."""
        return git_output(self.argv(arguments), self.variables, self.root, given, accept, seconds=self._seconds)


@contextlib.contextmanager
def repository_view(root: str, seconds: float = SECONDS) -> Iterator[RepositoryView | None]:
    """A look at the repository whose work tree is `root`; None if there is none that can be trusted, or no git."""
    found = git_folders(root)
    head = read_plain(os.path.join(found.own, "HEAD"), 4096) if found else b""
    if found is None or not is_head(head.decode("utf-8", "surrogateescape")) or not git_program():
        yield None
        return
    folder = temporary_folder()
    try:
        _fill(folder, found, head)
        yield RepositoryView(folder, root, found, seconds)
    finally:
        _remove(folder)


@contextlib.contextmanager
def looking_from(folder: str) -> Iterator[RepositoryView]:
    """A look at the repository that a folder belongs to, which holds all it shows; ToolFailed if there is none."""
    root, _ = repository_above(folder)
    if (found := git_folders(root)) and (problem := borrowing(os.path.join(found.common, "objects"))):
        raise ToolFailed(problem)
    with repository_view(root) as view:
        if view is None:
            raise ToolFailed(f"{folder}: not a git repository, or one that cannot be read without a sandbox")
        yield view


def borrowing(objects: str) -> str:
    """Why a folder of objects may hold another repository's; empty if it holds its own alone."""
    if os.path.lexists(os.path.join(objects, "info", "alternates")):
        return "this repository borrows objects from another one, which is not read without a sandbox"
    for folder in (objects, os.path.join(objects, "pack"), os.path.join(objects, "info")):
        with contextlib.suppress(FileNotFoundError), os.scandir(folder) as entries:
            if any(entry.is_symlink() for entry in entries):
                return "the objects of this repository contain a link, which is not read without a sandbox"
    return ""


def _fill(folder: str, found: GitFolders, head: bytes) -> None:
    os.mkdir(os.path.join(folder, "info"))
    os.mkdir(os.path.join(folder, "logs"))
    own, common = found.own, found.common
    _write(folder, "HEAD", head)
    _write(folder, "config", config_text(settings_for(common)).encode("utf-8", "surrogateescape"))
    for name in _COPIED:
        if data := read_plain(os.path.join(common if name == "shallow" else own, name)):
            _write(folder, name, data)
    for name in _SHARED:
        _link(folder, common, name)
    for name in ("logs/HEAD", *(name for name in os.listdir(own) if name.startswith("sharedindex."))):
        _link(folder, own, name)


def _write(folder: str, name: str, data: bytes) -> None:
    with open(os.path.join(folder, name), "wb", buffering=0) as file:
        file.write(data)


def _link(folder: str, above: str, name: str) -> None:
    """A part as it is there; one that is a link itself, or would not end, is not there."""
    path = os.path.join(above, name)
    with contextlib.suppress(OSError):
        kind = os.lstat(path).st_mode
        if stat.S_ISDIR(kind) or stat.S_ISREG(kind):
            os.symlink(path, os.path.join(folder, name))


def _remove(folder: str) -> None:
    """Quickly, for it is made at every look; links are removed and not followed."""
    with contextlib.suppress(OSError):
        for above in (os.path.join(folder, "info"), os.path.join(folder, "logs"), folder):
            for name in os.listdir(above):
                os.unlink(os.path.join(above, name))
            os.rmdir(above)
        return
    rmtree(folder, ignore_errors=True)


def settings_for(common: str) -> list[tuple[str, str]]:
    """The configuration of a look: ours, and what is taken over of the user's and the repository's."""
    theirs = settings_in(read_plain(os.path.join(common, "config"))) if common else ()
    return [*user_settings(), *taken_over(theirs or ()), *CONFIG]


def settings_in(config: bytes) -> tuple[tuple[str, str], ...] | None:
    """The names and values of a configuration as git reads it, without what it includes; None if it cannot be read."""
    try:
        return _read_by(_there(), config)
    except ToolFailed:
        return None


@lru_cache(maxsize=64)
def _read_by(git: str, config: bytes) -> tuple[tuple[str, str], ...]:
    words = (git, "config", "--file", "-", "--no-includes", "--list", "-z")
    return tuple(read_listed(git_output(words, environment(GIT_DIR=os.devnull), "/", config)))


def user_settings() -> list[tuple[str, str]]:
    """What is taken over of the user's own configuration, and where their patterns are."""
    usual = os.path.join(config_home(), "git")
    found = {
        "core.excludesfile": os.path.join(usual, "ignore"),
        "core.attributesfile": os.path.join(usual, "attributes"),
    }
    for name, value in taken_over(_listed_of_user(_where()), of_the_user=True):
        found[name] = os.path.expanduser(value)
    return list(found.items())


def _where() -> tuple[tuple[str, str], ...]:
    return tuple(
        (name, os.environ[name]) for name in ("HOME", "XDG_CONFIG_HOME") if os.path.isabs(os.environ.get(name, ""))
    )


def user_paths() -> tuple[tuple[str, str], ...]:
    """What the user's own configuration has git take hooks and settings from in every repository: names and paths."""
    return tuple(
        (name, value)
        for name, value in _listed_of_user(_where())
        if name in ("core.hookspath", "init.templatedir") or (name.startswith("include") and name.endswith(".path"))
    )


def user_config() -> tuple[tuple[str, str], ...]:
    """Names and values of the user's own configuration, with what it includes, as it is now."""
    return _listed_of_user.__wrapped__(_where())


def safe_folders() -> tuple[str, ...]:
    """The folders of others that the user's own configuration has git work in."""
    return tuple(value for name, value in _listed_of_user(_where()) if name == "safe.directory")


@lru_cache(maxsize=8)
def _listed_of_user(where: tuple[tuple[str, str], ...]) -> tuple[tuple[str, str], ...]:
    variables = environment(GIT_DIR=os.devnull, **dict(where))
    for name in ("GIT_CONFIG_NOSYSTEM", "GIT_CONFIG_GLOBAL"):
        del variables[name]
    try:
        return tuple(read_listed(git_output((_there(), "config", "--includes", "--list", "-z"), variables, "/")))
    except ToolFailed:
        return ()


def git_output(
    argv: Sequence[str],
    variables: dict[str, str],
    cwd: str,
    given: bytes = b"",
    accept: Sequence[int] = (0,),
    handles: Sequence[int] = (),
    seconds: float = SECONDS,
) -> bytes:
    """What git prints; ToolFailed unless it ends as is accepted. Blocks."""
    name = " ".join(argv[1:])[:60]
    stop = STOP.get()
    stop.check()
    try:
        with (
            subprocess.Popen(
                argv,
                cwd=cwd,
                env=variables,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                pass_fds=tuple(handles),
            ) as process,
            stop.watch(process),
        ):
            try:
                out, err = process.communicate(given, timeout=seconds)
            except BaseException:
                process.kill()
                raise
    except (OSError, subprocess.TimeoutExpired) as error:
        raise ToolFailed(f"git {name}: {error}") from error
    stop.check()
    if process.returncode not in accept:
        said = err.decode("utf-8", "replace").strip().partition("\n")[0]
        raise ToolFailed(f"git {name}: {said or f'ended with {process.returncode}'}")
    return out


def _there() -> str:
    found = git_program()
    if not found:
        raise ToolFailed("git is not installed here")
    return found
