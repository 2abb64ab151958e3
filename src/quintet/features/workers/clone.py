"""The clone that a worker has for itself, and the remote that it was started with: fetched from, and pushed to if the
worker may.

Git runs as Quintet's own: nothing that the repository names is run, and its address is the one the worker was given,
never what a row or the clone's settings say. To reach the remote it uses the user's own git settings and keys. Pushed
are branches `quintet/*` only, and only from where a worker has left them.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
from collections.abc import Collection, Iterator
from shutil import rmtree

from quintet.adapters.files.paths import clone_folder, key_of
from quintet.adapters.files.private_files import private_folder
from quintet.adapters.files.real_path import real_path
from quintet.adapters.git.run_git import RepositoryView, environment, git_output, git_program, repository_view
from quintet.adapters.git.worktrees import PREFIX
from quintet.adapters.stores.chosen import plain_address
from quintet.domain.base.errors import ToolFailed, UsageError
from quintet.domain.base.safe_text import visible

SECONDS = 600.0
REMOTE = "refs/quintet/remote/"  # the remote's branches, as they were fetched last
MOST_SLOTS = 64  # clones of one repository on one machine, one for each worker
_FROM_THE_USER = (
    *("HOME", "USER", "LOGNAME", "XDG_CONFIG_HOME", "SSH_AUTH_SOCK", "GIT_SSH_COMMAND", "GIT_SSH"),
    *("http_proxy", "https_proxy", "no_proxy", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "SSL_CERT_FILE"),
)


class Clone:
    """Of one worker, held by a lock that ends with its process. Every method but the properties blocks on git."""

    def __init__(self, address: str, *, pushes: bool = False) -> None:
        self._address = checked_address(address)
        self.pushes = pushes
        self.name = plain_address(self._address)
        self.root, self._held = self._free_slot()

    def another(self) -> Clone:
        """A second one of the same repository."""
        return Clone(self._address)

    @property
    def about(self) -> str:
        """What a worker's status says of it."""
        does = f"pushes {PREFIX}* there and nothing else" if self.pushes else "pushes nothing"
        return f"clone of {visible(self.name)}; {does}"

    def close(self) -> None:
        os.close(self._held)

    def _free_slot(self) -> tuple[str, int]:
        folder = "".join(c if c.isalnum() or c in "._-" else "_" for c in os.path.basename(self.name))[:40]
        above = os.path.join(clone_folder(), f"{folder}-{key_of(self.name)}")
        private_folder(above)
        for number in range(1, MOST_SLOTS + 1):
            handle = os.open(os.path.join(above, f"{number}.lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return os.path.join(real_path(above), str(number), folder or "project"), handle
            except BlockingIOError:
                os.close(handle)
        raise UsageError(f"{MOST_SLOTS} workers already have a clone of {visible(self.name)} on this machine")

    def make(self, target: str = "") -> str:
        """The clone at the newest commit of a branch, of the remote's own if none is named; returns its name."""
        target = target or self._head()
        if not os.path.isdir(os.path.join(self.root, ".git")):
            rmtree(self.root, ignore_errors=True)
            os.makedirs(self.root)
            self._git("init", "-q", "--template=", "-b", target, self.root)
            config = os.path.join(self.root, ".git", "config")
            self._git("config", "--file", config, "remote.origin.url", _without_secrets(self._address))
        with open(os.path.join(self.root, ".git", "HEAD"), "w", encoding="utf-8") as file:
            file.write(f"ref: refs/heads/{target}\n")
        self.update(target)
        return target

    def update(self, target: str) -> None:
        """Fetch, and move the clone's branch and files to where the remote's are."""
        wanted = (f"+refs/heads/{target}:{REMOTE}{target}", f"+refs/heads/{PREFIX}*:{REMOTE}{PREFIX}*")
        with self._reaching() as view:
            view.ask("check-ref-format", "--branch", target)
            flags = ("--no-tags", "--no-write-fetch-head", "--no-recurse-submodules", "--prune")
            try:
                view.ask("fetch", "-q", *flags, "--", self._address, *wanted)
            except ToolFailed as error:
                raise self._told(error) from error
            at = view.ask("rev-parse", "--verify", f"{REMOTE}{target}^{{commit}}").decode().strip()
            view.ask("update-ref", f"refs/heads/{target}", at)
            view.variables["GIT_INDEX_FILE"] = os.path.join(self.root, ".git", "index")
            view.ask("read-tree", "--reset", "-u", at)

    def fetched(self, branch: str) -> str:
        """The commit that a branch of the remote was at when it was fetched; empty if it was not there."""
        with self._reaching() as view:
            asked = ("rev-parse", "--verify", "--quiet", f"{REMOTE}{branch}^{{commit}}")
            return view.ask(*asked, accept=(0, 1)).decode().strip()

    def push(self, branch: str, commit: str, ours: Collection[str]) -> None:
        """Publish a commit as a task's branch. `ours` is where workers may have left it: from elsewhere it is not
        moved."""
        if not self.pushes or not branch.startswith(PREFIX):
            raise ToolFailed(f"{branch}: this worker was not started to push it")
        ref = f"refs/heads/{branch}"
        with self._reaching() as view:
            try:
                said = view.ask("ls-remote", "--refs", "--", self._address, ref).decode()
                there = said.split("\t")[0].strip()
                if there == commit:
                    return
                if there and there not in ours:
                    raise ToolFailed(f"{branch} is at {there[:12]} there, where no worker put it; rename that branch")
                lease = f"--force-with-lease={ref}:{there}"
                view.ask("push", "-q", "--no-verify", lease, "--", self._address, f"{commit}:{ref}")
            except ToolFailed as error:
                raise self._told(error) from error

    def _head(self) -> str:
        """The branch that the remote's HEAD names."""
        try:
            said = self._git("ls-remote", "--symref", "--", self._address, "HEAD").decode()
        except ToolFailed as error:
            raise self._told(error) from error
        named = next((line for line in said.splitlines() if line.startswith("ref: refs/heads/")), "")
        if not named:
            raise UsageError(f"{visible(self.name)} names no branch; say which one: --onto BRANCH")
        return named.split("\t")[0].removeprefix("ref: refs/heads/")

    def _git(self, *words: str) -> bytes:
        if not git_program():
            raise UsageError("git is not installed here")
        own = environment() if words[0] == "init" else environment(GIT_DIR=os.devnull)
        return git_output((git_program(), *words), _variables(own), "/", seconds=SECONDS)

    @contextlib.contextmanager
    def _reaching(self) -> Iterator[RepositoryView]:
        """A look at the clone that may also reach the remote."""
        with repository_view(self.root, SECONDS) as view:
            if view is None:
                raise ToolFailed(f"{self.root}: the clone no longer exists or cannot be used")
            view.variables = _variables(view.variables)
            yield view

    def _told(self, error: ToolFailed) -> ToolFailed:
        """What git says, without what the address holds."""
        said = error.message.replace(self._address, _without_secrets(self._address))
        return ToolFailed(said if self.name in said else f"{visible(self.name)}: {said}")


def checked_address(address: str) -> str:
    """An address that git reaches by a way of its own; a folder of this machine by its whole path."""
    if not address or address.startswith("-") or "::" in address or not address.isprintable():
        raise UsageError(
            f"--repository {visible(address) or '(nothing)'}: not the address of a git repository",
            hint="Use https://HOST/PATH, ssh://USER@HOST/PATH, USER@HOST:PATH, or a folder.",
        )
    if "://" not in address and ":" not in address.partition("/")[0]:
        return real_path(address)
    return address


def _without_secrets(address: str) -> str:
    scheme, found, rest = address.partition("://")
    if not found:
        return address
    host, slash, path = rest.partition("/")
    user, at, name = host.rpartition("@")
    return f"{scheme}://{user.partition(':')[0]}{at}{name}{slash}{path}"


def _variables(own: dict[str, str]) -> dict[str, str]:
    """With the user's own settings and keys, and every way to a remote that runs no program of its choice."""
    kept = {name: value for name, value in own.items() if name not in ("GIT_CONFIG_GLOBAL", "GIT_CONFIG_NOSYSTEM")}
    theirs = {name: os.environ[name] for name in _FROM_THE_USER if name in os.environ}
    return {**kept, **theirs, "GIT_ALLOW_PROTOCOL": "file:git:http:https:ssh"}
