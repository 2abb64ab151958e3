"""Paths that no call may write without approval, or at all, and paths that no call may read, whatever the profile.

`PROTECTED` is the one list of what configures git, Quintet, another agent, an editor, a shell or CI, with reasons.
Build files (a Makefile, package.json, conftest.py) are not in it: who runs those expects to run the project.
Nor is a virtual environment with its `activate`: pip has to write there, and to use one is to run the project's code.
Nor are AGENTS.md and CLAUDE.md: they are text that an agent reads, and start nothing.

Works on paths relative to the project root or absolute, `/`-separated; matching is by name, so a path is judged before
it is opened and again by whatever contains the call. What is secret can be added to, and excepted from, by settings.

A containment gets `is_held(folder, name, committing)` for each entry it finds (read-only for a command, and moved aside
if it appears) and `is_repository(names)` for a folder that git takes for a repository. No yes makes one of them
writable for a command: the gate sends what asks to the file tools.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Iterable, Sequence
from enum import StrEnum
from fnmatch import translate
from functools import cached_property
from itertools import pairwise, product
from typing import Literal

from msgspec import Struct, field, structs

from quintet.domain.base.lazy_regex import regex
from quintet.domain.permission.protected_names import (
    READABLE,
    SECRET_FOLDERS,
    SECRET_NAMES,
    SECRET_PATHS,
    folded,
    folded_path,
    long_names,
    short_names,
)

QUINTET_PROTECTED = (
    "settings.toml",
    "prompts",
    "tools",
    "agents",
    "skills",
    "hooks",
    "mcp.json",
    "task.md",
)  # in .quintet


class Hold(StrEnum):
    """Whether a sandboxed command finds a protected path read-only."""

    ALWAYS = "always"
    NOT_FROM_GIT = "not from git"  # a line that is git's may write it
    NEW = "new"  # a command may write what is there, and make none
    NO = "no"


class ProtectedPath(Struct, frozen=True):
    """Up to three names, each in a folder of the one before, at any depth; with a leading `/` only at the root.

    Everything below it is protected too. `*` stands first, for any beginning.
    """

    pattern: str
    reason: str
    kind: Literal["never", "ask"] = "ask"
    hold: Hold = Hold.ALWAYS


_GIT = "git runs programs that these files name; only git may write here"
_OWN = "Quintet loads it with your rights"
_AGENT = "it configures an agent: what the agent starts and what it may do"
_EDITOR = "an editor runs what it names when you open the folder"
_ENTERED = "it runs when a shell or program starts in the folder"
_STARTED = "it runs when you log in, or when a shell or program starts"
_HOOKS = "git runs what it names at your next commit"
_OTHER = "version control runs programs that these files name; only its own program may write here"
_TOOL = "a program runs what it names when you, or an editor, start it here"
_CI = "CI runs it after a push, with the permissions of the repository"


def _each(patterns: str, reason: str, **more: str) -> tuple[ProtectedPath, ...]:
    return tuple(ProtectedPath(pattern, reason, **more) for pattern in patterns.split())  # type: ignore[arg-type]


# `.gitmodules` and `.gitattributes` are free: git runs only what its own configuration names, which is protected.
PROTECTED: tuple[ProtectedPath, ...] = (
    *_each(".git", _GIT, kind="never"),
    *_each(" ".join(f".quintet/{name}" for name in QUINTET_PROTECTED), _OWN, kind="never"),
    *_each(".mcp.json", "the programs it names are started", kind="never"),
    *_each(
        "HEAD", "a folder with HEAD, objects and refs is a repository to git, which runs what it names", hold=Hold.NO
    ),
    *_each(
        ".claude .agents .codex .gemini .cursor .windsurf .cline .clinerules .roo .kilocode .continue .kiro", _AGENT
    ),
    *_each(
        ".opencode opencode.json opencode.jsonc .crush crush.json .crush.json .goose .amp .junie .qwen .trae", _AGENT
    ),
    *_each(
        ".aider.conf.yml .aider .openhands .copilot .github/hooks .github/agents .factory .augment .zencoder", _AGENT
    ),
    *_each(".amazonq .theia .rovodev .codebuddy .warp .claude.json", _AGENT),
    *_each(".vscode *.code-workspace .helix .lazy.lua .neoconf.json .nlsp-settings", _EDITOR),
    *_each(".idea .run .zed .fleet .nova .vs *.sublime-project .devcontainer .devcontainer.json .gitpod.yml", _EDITOR),
    *_each(
        ".exrc .vimrc .gvimrc .nvimrc .nvim.lua .lvimrc .vim .dir-locals.el .dir-locals-2.el .emacs .emacs.d", _EDITOR
    ),
    *_each(".envrc .direnv .autoenv .autoenv.zsh .tool-versions .rtx.toml .gdbinit .lldbinit .pdbrc .irbrc", _ENTERED),
    *_each("mise.toml .mise.toml mise.local.toml .mise.local.toml .mise mise/config.toml .config/mise", _ENTERED),
    *_each(".pryrc .rprofile .renviron .psqlrc .sqliterc .lfsconfig .ripgreprc .tmuxinator.yml", _ENTERED),
    *_each(".tmuxp.yaml .tmuxp.yml .tmuxp.json", _ENTERED),
    *_each(".bashrc .bash_profile .bash_login .bash_logout .bash_aliases .profile .zshrc .zshenv .zprofile", _STARTED),
    *_each(".zlogin .zlogout .kshrc .cshrc .tcshrc .login .inputrc .tmux.conf .screenrc .gitconfig", _STARTED),
    *_each(".xinitrc .xprofile .xsession .xsessionrc .pam_environment .config/git .config/fish .config/nvim", _STARTED),
    *_each(".config/systemd .config/autostart .config/environment.d .config/nushell .local/bin .ssh", _STARTED),
    *_each(".husky .githooks .git-hooks .pre-commit-config.yaml .overcommit.yml .simple-git-hooks.json", _HOOKS),
    *_each("lefthook.yml lefthook.yaml .lefthook.yml .lefthook.yaml lefthook-local.yml .lefthook", _HOOKS),
    *_each("/.github/workflows /.github/actions /.gitlab-ci.yml /.gitlab/ci /.circleci", _CI, hold=Hold.NOT_FROM_GIT),
    *_each("/.travis.yml /azure-pipelines.yml /.azure-pipelines /bitbucket-pipelines.yml", _CI, hold=Hold.NOT_FROM_GIT),
    *_each("/Jenkinsfile /.drone.yml /.woodpecker /.woodpecker.yml /.woodpecker.yaml", _CI, hold=Hold.NOT_FROM_GIT),
    *_each(
        "/.forgejo/workflows /.gitea/workflows /.buildkite /.cirrus.yml /.appveyor.yml", _CI, hold=Hold.NOT_FROM_GIT
    ),
    *_each(".yarnrc.yml .yarn/releases .yarn/plugins .yarn/sdks .pnpmfile.cjs", _TOOL, hold=Hold.NOT_FROM_GIT),
    *_each(".cargo/config .cargo/config.toml", _TOOL, hold=Hold.NOT_FROM_GIT),
    *_each(".hgrc .jjconfig.toml .config/hg .config/jj .config/sapling", _STARTED),
    *_each(".hg/hgrc .hg/hgrc-not-shared .hg/sharedpath .sl/config .sl/hgrc .sl/sharedpath", _OTHER, kind="never"),
    *_each(".jj/repo/config.toml .jj/config.toml .jj/workspace-config.toml .pijul/config", _OTHER, kind="never"),
    *_each(".bzr/branch/branch.conf .bzr/control.conf _darcs/prefs/defaults", _OTHER, kind="never"),
    *_each(".hg .sl .jj .pijul .bzr _darcs", _OTHER, kind="never", hold=Hold.NEW),
    *_each("/appveyor.yml /.semaphore /.teamcity /.builds /.build.yml /cloudbuild.yaml", _CI, hold=Hold.NOT_FROM_GIT),
)


class Protection(Struct, frozen=True, dict=True):
    """What counts as a secret: file names as patterns, and folders all of whose content is."""

    names: tuple[str, ...] = SECRET_NAMES
    readable: tuple[str, ...] = READABLE
    folders: tuple[str, ...] = SECRET_FOLDERS
    private: tuple[str, ...] = ()  # what is Quintet's own inside the project, relative to its root and absolute
    readable_folders: tuple[str, ...] = field(default=(), name="shelves")  # of that, what may be read all the same
    caches: tuple[str, ...] = ()  # what Quintet's helpers run from, inside the project, relative to its root
    secret_paths: tuple[str, ...] = ()  # what a secret of the home links to in the project, relative and absolute
    linked: tuple[str, ...] = ()  # what another start-up or settings file of the home links to, relative
    home: str = ""  # the user's home relative to the project's root, if it is inside; "." if it is the root

    def is_secret(self, path: str) -> bool:
        """Whether reading `path` (relative or absolute) would show a secret."""
        parts = path.lower().split("/")
        if self._closed(path) or self._by_its_folder(parts):
            return True
        name = parts[-1] or path.lower().rstrip("/").rpartition("/")[2]
        return self._fits(name) and not self._excepted(name)

    def is_secret_folder(self, path: str) -> bool:
        """Whether everything in a folder is secret, or what a path leads to is, by the folder that it is in."""
        return self._closed(path) or self._by_its_folder(path.lower().split("/"))

    def _closed(self, path: str) -> bool:
        """Whether a path is secret here, whatever it is called."""
        if self.private and self.is_private(path):
            return True
        return bool(self.secret_paths) and _is_below(path, self.secret_paths)

    def _by_its_folder(self, parts: list[str]) -> bool:
        if self._above.isdisjoint(parts):
            return False
        if any(folder in parts for folder in self.folders):
            return True
        return any(pair in _PAIRS for pair in pairwise(parts)) and not self._excepted(parts[-1])

    def is_private(self, path: str) -> bool:
        """Whether a path leads to Quintet's own settings, rules, trust or state, which no call reads or writes."""
        return _is_below(path, self.private) and not _is_below(path, self.readable_folders)

    def asks(self, path: str) -> str:
        """Why writing `path`, relative to the project root, takes a person's yes; empty if it does not."""
        if self.caches and _is_below(path, self.caches):
            return "Quintet starts programs from it"
        if self.linked and _is_below(path, self.linked):
            return "your home folder links to it"
        return asks(path) or ("it is a start-up or settings file of your home" if self._is_at_home(path) else "")

    def _is_at_home(self, path: str) -> bool:
        below = path if self.home == "." else path.removeprefix(f"{self.home}/") if self.home else ""
        if not self.home or (self.home != "." and below == path):
            return False
        first, _, rest = below.partition("/")
        return first[:1] == "." or first in _PROGRAMS_AT_HOME or (first == "go" and rest.partition("/")[0] == "bin")

    def is_held(self, folder: str, name: str, committing: bool = False) -> bool:
        """The same as `is_held` of this module; in the user's home also everything that configures or is a program."""
        places = ("" if self.home == "." else self.home, posixpath.normpath(f"{self.home}/go")) if self.home else ()
        at_home = folder in places and name not in _PLAIN_AT_HOME and self._is_at_home(posixpath.join(folder, name))
        cached = bool(self.caches or self.linked) and posixpath.join(folder, name) in (*self.caches, *self.linked)
        return at_home or cached or is_held(folder, name, committing)

    def with_home_links(self, root: str, links: Iterable[tuple[str, str]]) -> Protection:
        """With what links of the user's home, relative to it, lead to in a project at `root`: absolute paths."""
        secret: list[str] = []
        linked: list[str] = []
        for name, target in links:
            within = inside(target, root)
            if within and within != "." and (self.is_secret(name) or self.is_secret_folder(name)):
                secret += [within, target]
            elif within and within != ".":
                linked.append(within)
        return structs.replace(self, secret_paths=tuple(secret), linked=tuple(linked))

    @cached_property
    def _fits(self) -> Callable[[str], bool]:
        return _any_of(self.names)

    @cached_property
    def _excepted(self) -> Callable[[str], bool]:
        return _any_of(self.readable)

    @cached_property
    def _above(self) -> frozenset[str]:
        """One of these stands in every path that is secret by its folder."""
        return frozenset((*self.folders, *(parent for parent, _ in _PAIRS)))

    def in_code(self, word: str) -> bool:
        """Whether a word of code names a secret; `event.key` and `config.env` are values there, and no files."""
        return self.is_secret(word) and not _VALUE.fullmatch(word)

    def with_settings(self, secrets: tuple[str, ...], not_secrets: tuple[str, ...]) -> Protection:
        return structs.replace(
            self,
            names=self.names + tuple(name.lower() for name in secrets),
            readable=self.readable + tuple(name.lower() for name in not_secrets),
        )

    def at(
        self, root: str, private: Iterable[str], readable_folders: Iterable[str], home: str, caches: Iterable[str] = ()
    ) -> Protection:
        """For a project at `root`: what of these absolute paths lies inside it."""
        own = [(path, inside(path, root)) for path in private]
        return structs.replace(
            self,
            private=tuple(dict.fromkeys(form for path, within in own if within for form in (within, path))),
            readable_folders=tuple(
                form for path in readable_folders if (within := inside(path, root)) for form in (within, path)
            ),
            caches=tuple(within for path in caches if (within := inside(path, root)) and within != "."),
            home=inside(home, root) or "",
        )


def _is_below(path: str, folders: tuple[str, ...]) -> bool:
    folded = path.lower()
    plain = folded.lstrip("/")
    return any(
        one == folder or one.startswith(f"{folder}/") for folder in map(str.lower, folders) for one in (folded, plain)
    )


def _any_of(patterns: tuple[str, ...]) -> Callable[[str], bool]:
    """Whether a name fits one of the patterns; the gate asks for every word of a line, a scan for every file."""
    plain = [pattern for pattern in patterns if _WILD.isdisjoint(pattern)]
    ends = tuple(p[1:] for p in patterns if p[:1] == "*" and _WILD.isdisjoint(p[1:]))
    starts = tuple(p[:-1] for p in patterns if p[-1:] == "*" and _WILD.isdisjoint(p[:-1]))
    known = {*plain, *(f"*{end}" for end in ends), *(f"{start}*" for start in starts)}
    others = "|".join(translate(pattern) for pattern in patterns if pattern not in known)
    match = re.compile(others or r"(?!)").match
    names = frozenset(plain)
    return lambda name: name in names or name.endswith(ends) or name.startswith(starts) or bool(match(name))


_PROGRAMS_AT_HOME = frozenset({"bin", "anaconda3", "miniconda3", "miniforge3"})  # beside `go/bin` and hidden folders
# Hidden at a home that is a project, and started by nothing, or with rules of their own.
_PLAIN_AT_HOME = frozenset(
    {
        *(".git", ".gitignore", ".gitattributes", ".gitmodules", ".github", ".quintet", ".editorconfig"),
        *(".pytest_cache", ".mypy_cache", ".ruff_cache", ".coverage"),
    }
)
_WILD = frozenset("*?[")
_PAIRS = frozenset(tuple(path.split("/")) for path in SECRET_PATHS)
_VALUE = regex(r"[A-Za-z_$][\w$]*(?:\.[\w$]+)*\.(?:env|key)")
PROTECTION = Protection()


def is_write_protected(path: str) -> bool:
    """Whether `path`, relative to the project root, may never be written by a call."""
    found = protected_by(path)
    return found is not None and found.kind == "never"


def asks(path: str) -> str:
    """Why writing `path`, relative to the project root, takes a person's yes; empty if it does not."""
    found = protected_by(path)
    return found.reason if found and found.kind == "ask" else ""


def protected_by(path: str) -> ProtectedPath | None:
    """What protects `path` from being written: it is on the list, below something that is, or a folder that holds such.

    Moving or replacing a folder would move what is in it, so the folder is protected as what it holds.
    """
    names = folded_path(path)
    if _LAST.isdisjoint(names) and not any("~" in name or name.endswith(_ENDS) for name in names):
        return None  # the usual case, and the gate asks for every path
    asking: ProtectedPath | None = None
    for place, name in enumerate(names):
        found = _at(names[: place + 1])
        if not found and place == len(names) - 1:
            found = _holder(name, place)
        if found and found.kind == "never":
            return found
        asking = asking or found
    return asking


def only_holds(path: str) -> bool:
    """Whether a folder is protected only for what it may come to hold: to make it anew writes nothing that is."""
    return protected_by(path) is not None and protected_by(f"{path}/(new)") is None


def protected_at(path: str) -> ProtectedPath | None:
    """What protects the very file or folder `path`, and not only what lies above or in it."""
    names = folded_path(path)
    return _at(names) if names else None


_WAYS = {  # what a link would lead past, and whether git may make one
    one.pattern.strip("/").split("/")[0].lower(): one.hold is Hold.NOT_FROM_GIT
    for one in reversed(PROTECTED)
    if one.hold in (Hold.ALWAYS, Hold.NOT_FROM_GIT) and "/" in one.pattern[1:]
}


def is_held(folder: str, name: str, committing: bool = False) -> bool:
    """Whether a command finds the entry `name` of `folder` (relative to the root; empty for it) read-only.

    `committing`: the line is git's, which may write what only CI runs.
    """
    found = protected_at(f"{folder}/{name}")
    return found is not None and (found.hold is Hold.ALWAYS or (found.hold is Hold.NOT_FROM_GIT and not committing))


def is_from_git(path: str) -> bool:
    """Whether a line that is git's may write `path`: what only CI runs, or something in it."""
    found = protected_by(path)
    return found is not None and found.hold is Hold.NOT_FROM_GIT


def leads_to_held(name: str, committing: bool = False) -> bool:
    """Whether a link of this name would put what is held in its place: `.config`, for `.config/git`."""
    from_git = [_WAYS[one] for one in long_names(folded(name), _SHORT) if one in _WAYS]
    return any(not (git and committing) for git in from_git)


def may_not_appear(name: str) -> bool:
    """Whether a command may write an entry of this name that is there, and make none: other version control's."""
    return any(one in _NAMED and _NAMED[one].hold is Hold.NEW for one in long_names(folded(name), _SHORT))


def is_repository(names: Iterable[str]) -> bool:
    """Whether git takes a folder with these entries for a repository of its own."""
    there = {folded(name) for name in names}
    return "head" in there and ("commondir" in there or {"objects", "refs"} <= there)


def _at(names: list[str]) -> ProtectedPath | None:
    """The row for the last of these names, each in a folder of the one before."""
    last = names[-3:]
    if not any("~" in name for name in last):
        return _found(last, len(names))
    found = [_found(each, len(names)) for each in product(*(long_names(name, _SHORT) for name in last))]
    return min(filter(None, found), key=lambda one: one.kind != "never", default=None)


def _found(names: Sequence[str], depth: int) -> ProtectedPath | None:
    name = names[-1]
    folder = names[-2] if depth > 1 else ""
    found = _NAMED.get(f"{folder}/{name}") or _NAMED.get(name)
    if not found and depth <= 2:
        found = _NAMED.get(f"/{name}" if depth == 1 else f"/{folder}/{name}")
    if not found and depth > 2 and folder in _MIDDLES:
        found = _NAMED.get("/".join(names))
    return found or next((one for ending, one in _ENDINGS if name.endswith(ending)), None)


def _holder(name: str, depth: int) -> ProtectedPath | None:
    for one in long_names(name, _SHORT):
        if found := _HOLDERS.get(one) or (_HOLDERS.get(f"/{one}") if depth == 0 else None):
            return found
    return None


_NAMED = {one.pattern.lower(): one for one in PROTECTED if one.pattern[0] != "*"}
_MIDDLES = frozenset(one.pattern.lower().split("/")[1] for one in PROTECTED if one.pattern.count("/", 1) == 2)
_ENDINGS = tuple((one.pattern[1:], one) for one in PROTECTED if one.pattern[0] == "*")
_HOLDERS = {one.pattern.rpartition("/")[0].lower(): one for one in reversed(PROTECTED) if "/" in one.pattern[1:]}
_SHORT = short_names(_NAMED)
# One of these names stands in every path that is protected, if it is not by its ending.
_LAST = frozenset(pattern.rpartition("/")[2] for pattern in (*_NAMED, *_HOLDERS))
_ENDS = tuple(ending for ending, _ in _ENDINGS)
# What a pattern of a shell line may stand for; `*.json` is no way to name opencode.json.
GUARDED = tuple(tuple(one.pattern.strip("/").split("/")) for one in PROTECTED if one.pattern.lstrip("/")[0] == ".")


def inside(path: str, root: str) -> str | None:
    """`path` relative to `root` if it names something inside it (`.` for the root itself), else None.

    A path that a shell would begin with somebody's home is never inside.
    """
    first = path[:1]
    if first == "~":
        return None
    if first not in ("/", ".", "") and "/." not in path and "//" not in path and path[-1] != "/":
        return path  # the usual case, and the gate has many of them
    whole = posixpath.normpath(posixpath.join(root, path))
    if whole == root:
        return "."
    prefix = root.rstrip("/") + "/"
    return whole[len(prefix) :] if whole.startswith(prefix) else None
