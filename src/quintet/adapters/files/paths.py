"""Where things are: the project's root, its state outside the project, and the user's configuration."""

from __future__ import annotations

import contextlib
import os

from msgspec import Struct

from quintet.adapters.files.private_files import private_folder
from quintet.adapters.files.real_path import real_path
from quintet.adapters.processes.host_programs import stay_out_of
from quintet.domain.base.errors import UsageError
from quintet.domain.base.safe_text import on_one_line


class Places(Struct, frozen=True):
    root: str  # real path of the git root, or of the folder
    state: str  # the project's own state folder
    config: str  # the user's configuration folder
    opened: str = ""  # the folder that was named, if it is not the root
    passed_over: str = ""  # a folder above it whose `.git` is another user's
    worktree_of: str = ""  # the project's root, where a task is done in a worktree of its own
    pages_elsewhere: bool = False  # whether the pages of tasks lie on another machine: their rows say all

    @property
    def name(self) -> str:
        return os.path.basename(self.root) or self.root

    def holds(self, path: str) -> bool:
        """Whether a path, or what it leads to, lies in the project."""
        return any(one.startswith(self.root.rstrip("/") + "/") for one in (path, real_path(path)))

    @property
    def tasks_root(self) -> str:
        """Where the pages of tasks lie: in the project itself."""
        return self.worktree_of or self.root

    @property
    def _own(self) -> str:
        """State of this work tree alone."""
        return os.path.join(self.state, "worktrees", os.path.basename(self.root)) if self.worktree_of else self.state

    def make_own(self) -> tuple[str, str]:
        """State and settings, which are made where they lie in the project, so that no command does: what is there is
        covered, and what is new is moved aside."""
        for path in filter(self.holds, (self.config, os.path.dirname(self.state))):
            private_folder(path)
        return self.state, self.config

    @property
    def database(self) -> str:
        return os.path.join(self.state, "state.db")

    @property
    def history(self) -> str:
        """The words of the journal, for searching; it can be deleted at any time."""
        return os.path.join(self.state, "history.db")

    @property
    def inputs(self) -> str:
        """What was typed at the prompt."""
        return os.path.join(self.state, "inputs.jsonl")

    @property
    def draft_mark(self) -> str:
        """Which draft in `.quintet/task.md` was saved from here."""
        return os.path.join(self.state, "draft")

    @property
    def library(self) -> str:
        """The documents you added, with their text."""
        return os.path.join(self.state, "library.db")

    @property
    def log(self) -> str:
        return os.path.join(self.state, "quintet.log")

    @property
    def user_settings(self) -> str:
        return os.path.join(self.config, "settings.toml")

    @property
    def project_settings(self) -> str:
        return os.path.join(self.root, ".quintet", "settings.toml")

    @property
    def user_tools(self) -> str:
        return os.path.join(self.config, "tools")

    @property
    def project_tools(self) -> str:
        return os.path.join(self.root, ".quintet", "tools")

    @property
    def user_agents(self) -> str:
        return os.path.join(self.config, "agents")

    @property
    def project_agents(self) -> tuple[str, ...]:
        """Quintet's own folder first, then those of other agents."""
        return tuple(os.path.join(self.root, folder, "agents") for folder in (".quintet", ".agents", ".claude"))

    @property
    def trust_file(self) -> str:
        return os.path.join(self.config, "trusted.json")

    @property
    def rules_file(self) -> str:
        return os.path.join(self.config, "rules.json")

    @property
    def outputs(self) -> str:
        return os.path.join(self.state, "outputs")

    @property
    def runs(self) -> str:
        return os.path.join(self.state, "runs")

    @property
    def checkpoints(self) -> str:
        return os.path.join(self._own, "checkpoints")

    @property
    def plans(self) -> str:
        """Pages of planners, until they are tasks."""
        return os.path.join(self.state, "plans")

    @property
    def crash_records(self) -> str:
        """For every project: what stood there while commands ran, as long as they do."""
        return os.path.join(os.path.dirname(self.state), "unsettled")

    @property
    def writes(self) -> str:
        """In which folders of the project files are being written, of each process."""
        return os.path.join(self._own, "writes")

    @property
    def scratch(self) -> str:
        return os.path.join(self._own, "scratch")

    def worktree(self, name: str) -> Places:
        """The places of a worktree of this project: its files and snapshots are its own, all else is the project's."""
        folder = os.path.join(worktree_folder(), os.path.basename(self.state), name)
        return Places(
            folder, self.state, self.config, worktree_of=self.tasks_root, pages_elsewhere=self.pages_elsewhere
        )

    @property
    def helper_trees(self) -> str:
        """Where the worktrees of helpers lie, apart from those of tasks."""
        return os.path.join(worktree_folder(), f"{os.path.basename(self.state)}.helpers")

    def helper_tree(self, name: str) -> Places:
        """The places of a helper's worktree."""
        folder = os.path.join(self.helper_trees, name)
        return Places(folder, self.state, self.config, worktree_of=self.tasks_root)


def locate(path: str = ".") -> Places:
    """The places of the project that `path` belongs to."""
    start = real_path(path)
    if not os.path.isdir(start):
        raise UsageError(f"{path}: no such folder")
    root, passed_over = repository_above(start)
    if not root.isprintable() and root != root.encode("utf-8", "replace").decode():
        hint = "Rename it, or use a copy with another name: Quintet cannot record anything about this one."
        raise UsageError(f"{on_one_line(root)}: the name of the project's folder is not UTF-8", hint=hint)
    stay_out_of(root)
    home_folder()
    folder = "".join(c if c.isalnum() or c in "._-" else "_" for c in os.path.basename(root))[:40]
    return Places(
        root,
        os.path.join(state_folder(), f"{folder}-{key_of(root)}"),
        os.path.join(config_home(), "quintet"),
        start if start != root else "",
        passed_over,
    )


def home_folder() -> str:
    """The user's home."""
    home = os.path.expanduser("~")
    if not os.path.isabs(home):
        raise UsageError(f"HOME is a relative path ({home})", hint="Set HOME to the full path of your home folder.")
    return home


def config_home() -> str:
    """Where programs keep the user's settings."""
    return _base("XDG_CONFIG_HOME", ".config")


def state_folder() -> str:
    """Where the state of every project is kept."""
    return os.path.join(_base("XDG_STATE_HOME", ".local/state"), "quintet")


def worktree_folder() -> str:
    """Where the worktrees of every project lie: beside the state, which no command sees."""
    return os.path.join(_base("XDG_STATE_HOME", ".local/state"), "quintet-worktrees")


def clone_folder() -> str:
    """Where workers keep clones of repositories that they were given by their addresses."""
    return os.path.join(_base("XDG_STATE_HOME", ".local/state"), "quintet-clones")


def evals_folder() -> str:
    """Where the workspaces of trials and the results of evals lie: beside the state, which no command sees."""
    return os.path.join(_base("XDG_STATE_HOME", ".local/state"), "quintet-evals")


def cache_folder() -> str:
    """Where what can be had again is kept, for every project."""
    return os.path.join(_base("XDG_CACHE_HOME", ".cache"), "quintet")


def own_paths(places: Places) -> list[str]:
    """Settings and state of Quintet's own, wherever they really lie: dotfiles often keep what a link leads to."""
    paths = [places.config, os.path.dirname(places.state)]
    with contextlib.suppress(OSError), os.scandir(places.config) as entries:
        paths += [entry.path for entry in entries if entry.is_symlink()]
    return list(dict.fromkeys([*paths, *map(real_path, paths)]))


def home_links() -> list[tuple[str, str]]:
    """The links among the start-up and settings files of the home, relative to it, and where they lead: dotfiles are
    often kept in a repository."""
    home = real_path(home_folder())
    found: list[tuple[str, str]] = []
    for folder in ("", ".config", ".local/bin", "bin"):
        with contextlib.suppress(OSError), os.scandir(os.path.join(home, folder)) as entries:
            counted = [
                one for one in entries if one.is_symlink() and (folder or one.name[0] == "." or one.name == "bin")
            ]
            found += [(os.path.join(folder, one.name), real_path(one.path)) for one in counted]
    return found


def key_of(path: str) -> str:
    """Sixteen letters that tell paths of the same name apart (FNV-1a; hashlib would cost every start 4 ms)."""
    value = 0xCBF29CE484222325
    for byte in os.fsencode(path):
        value = ((value ^ byte) * 0x100000001B3) & 0xFFFFFFFFFFFFFFFF
    return f"{value:016x}"


def _base(variable: str, under_home: str) -> str:
    """A relative value does not count, as the XDG base directory specification says: it would name whatever folder
    somebody stands in, and so a repository's files for the user's own. One with `..` counts as the folder that it leads
    to: paths are compared by their letters."""
    named = os.environ.get(variable, "")
    if not os.path.isabs(named):
        return os.path.join(home_folder(), under_home)
    return real_path(named) if ".." in named.split("/") else named


def repository_above(start: str) -> tuple[str, str]:
    """The root of the project that a folder lies in, and a folder above whose `.git` does not count, if there is.

    A `.git` above counts by git's own rule: it and its folder belong to whoever runs this, or `safe.directory` of the
    user's settings names the folder. What belongs to the owner of the folder itself, with all folders between, counts
    too: it gives nobody anything. Otherwise anybody could make `/tmp/.git`, and so all below `/tmp` one project.
    """
    folder = start
    while not os.path.exists(os.path.join(folder, ".git")):
        parent = os.path.dirname(folder)
        if parent == folder:
            return start, ""
        folder = parent
    return (folder, "") if folder == start or _counts(folder, start) else (start, folder)


def _counts(top: str, start: str) -> bool:
    above = {os.lstat(path).st_uid for path in (top, os.path.join(top, ".git"))}
    between, folder = set[int](), start
    while folder != top:
        between.add(os.stat(folder).st_uid)
        folder = os.path.dirname(folder)
    return above <= _mine() or (len(above) == 1 and above == between) or _is_safe(top)


def _mine() -> set[int]:
    """Whoever runs this; for root under sudo, as git has it, also who called it."""
    uid, caller = os.geteuid(), os.environ.get("SUDO_UID", "")
    return {uid, int(caller)} if uid == 0 and caller.isascii() and caller.isdigit() else {uid}


def _is_safe(top: str) -> bool:
    """Whether the user's settings of git name this folder. Git is asked only for what is another user's."""
    from quintet.adapters.git.run_git import safe_folders  # which imports this module

    safe = False
    for value in safe_folders():
        folder = real_path(os.path.expanduser(value.removesuffix("/*"))) if value else ""
        below = value.endswith("/*") and top.startswith(folder.rstrip("/") + "/")
        # An empty value takes back what came before.
        safe = bool(value) and (safe or value == "*" or below or folder == top)
    return safe
