"""The skills there are: in the project where it is trusted, in the user's home, in folders of the settings, and ours.

Looked for each time they are asked for, so that a page that is changed is the one that is used; what has not changed
since is not read again. Of two skills with one name the first place has it: project, home, settings, built in.
A project's page counts only as the user has trusted it; what is used is checked again, with all that lies beside it.
"""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Callable, Iterator

import msgspec
from msgspec import Struct, structs

from quintet.adapters.files.paths import Places, cache_folder, home_folder
from quintet.adapters.files.private_files import private, private_folder
from quintet.adapters.files.real_path import real_path
from quintet.adapters.settings.trust import files_below, leads_out, read_bytes
from quintet.domain.base.errors import NotFound, UsageError
from quintet.domain.base.wording import did_you_mean
from quintet.domain.permission.trusted_content import SKILLS, Trust, digest
from quintet.features.skills.page import parted, read_page
from quintet.features.skills.settings import SkillSettings
from quintet.features.skills.skill import Skill, SkillKind
from quintet.package import FOLDER

PAGES = ("SKILL.md", "skill.md")
PROJECT, HOME, BUILT_IN = "project", "home", "built-in"
OWN_FOLDER = os.path.join(FOLDER, "skills")  # what comes with Quintet
MOST_SKILLS = 2_000
MOST_DEPTH = 3  # of folders of folders
MOST_FOLDERS = 20_000  # that are looked into below one root
KEPT = "skills.json"
FORMAT = 1  # of what is kept
FEW = 20  # pages that are as soon read as looked up


class SkillRoot(Struct, frozen=True):
    """A folder of skills, or of commands."""

    path: str
    origin: str
    kind: SkillKind = SkillKind.SKILL


class _Page(Struct, frozen=True, array_like=True):
    """A page as it was read, as long as it is the same file."""

    stamp: tuple[int, int, int, int]
    skill: Skill
    digest: str = ""  # of a project's page


class _Kept(Struct):
    format: int
    pages: dict[str, _Page]


class SkillShelf:
    def __init__(
        self, places: Places, settings: SkillSettings, trust: Callable[[], Trust], *, cached: bool = True
    ) -> None:
        self._project = places.worktree_of or places.root  # whose files the user has trusted
        self._settings = settings
        self._trust = trust
        self._cache = os.path.join(cache_folder(), KEPT) if cached else ""
        self._pages: dict[str, _Page] | None = None

    def listed(self) -> list[Skill]:
        """Every skill, also those that cannot be used, each with its reason; one that another one hides comes last."""
        before = self._known()
        seen: dict[str, _Page] = {}
        named: dict[str, Skill] = {}
        hidden: list[Skill] = []
        trust = self._trust()
        for skill in self._read(before, seen, trust):
            if skill.name in named:
                first = named[skill.name].file
                hidden.append(structs.replace(skill, problem=skill.problem or f"another one has its name: {first}"))
            else:
                named[skill.name] = skill
        if seen.keys() != before.keys() or any(before[path] is not page for path, page in seen.items()):
            self._pages = seen
            self._keep(seen)
        return [*named.values(), *hidden]

    def usable(self) -> dict[str, Skill]:
        found: dict[str, Skill] = {}
        for one in self.listed():
            if not one.problem:
                found.setdefault(one.name, one)
        return found

    def find(self, name: str) -> Skill:
        """By its name, usable or not; NotFound says what may have been meant."""
        listed = self.listed()
        found = [one for one in listed if one.name == name] or [
            one for one in listed if one.name.lower() == name.lower()
        ]
        if not found:
            near = did_you_mean(name, [one.name for one in listed])
            raise NotFound(f"there is no skill {name[:60]}.{near}", hint="`quintet skills list` shows them.")
        return found[0]

    def read(self, skill: Skill) -> str:
        """The words of a skill, as they are now. UsageError if a project's are not the trusted ones."""
        data = read_bytes(skill.file)
        if data is None:
            raise UsageError(f"{skill.file} cannot be read")
        if skill.origin == PROJECT:
            self._check_trust(skill, data)
        try:
            return parted(data)[1].strip()
        except ValueError as error:
            raise UsageError(f"{skill.file}: {error}") from None

    def _check_trust(self, skill: Skill, data: bytes) -> None:
        """All that lies in the folder of a skill is trusted, or none of it is used."""
        root, trust = self._project, self._trust()
        name = os.path.relpath(skill.file, root)
        there = files_below(root, os.path.relpath(skill.folder, root)) if skill.folder else {}
        there[name] = data
        wrong = [one for one, content in sorted(there.items()) if not trust.covers(one, content)]
        if wrong:
            raise UsageError(
                f"{wrong[0]} is new or changed since you trusted this folder",
                hint="`quintet trust --check` shows it, `quintet trust` accepts it.",
            )

    # ── looking

    def roots(self) -> Iterator[SkillRoot]:
        project = self._project
        for name in SKILLS:
            kind = SkillKind.COMMAND if name.endswith("commands") else SkillKind.SKILL
            yield SkillRoot(os.path.join(project, name), PROJECT, kind)
        home = home_folder()
        if real_path(home) != project:
            for name in SKILLS:
                kind = SkillKind.COMMAND if name.endswith("commands") else SkillKind.SKILL
                yield SkillRoot(os.path.join(home, name), HOME, kind)
        for folder in self._settings.folders:
            path = os.path.expanduser(folder)
            if os.path.isabs(path):
                yield SkillRoot(path, path)
        if self._settings.built_in:
            yield SkillRoot(OWN_FOLDER, BUILT_IN)

    def _read(self, before: dict[str, _Page], seen: dict[str, _Page], trust: Trust) -> Iterator[Skill]:
        off = {real_path(os.path.expanduser(one)) for one in self._settings.off if os.sep in one}
        for root in self.roots():
            for file, folder, name in _found(root, self._project if root.origin == PROJECT else ""):
                if len(seen) >= MOST_SKILLS:
                    return
                if folder and off and real_path(folder) in off:
                    continue
                page = self._page(root, file, folder, name, before.get(file))
                if page is None:
                    continue
                seen[file] = page
                yield self._judged(page, root.origin, trust)

    def _page(self, root: SkillRoot, file: str, folder: str, name: str, known: _Page | None) -> _Page | None:
        try:
            stamp = _stamp(os.stat(file))
        except OSError:
            return None
        if known and known.stamp == stamp and known.skill.origin == root.origin:
            return known
        data = read_bytes(file)
        if data is None:
            return None
        skill = read_page(data, file=file, folder=folder, beside=name, kind=root.kind)
        skill = structs.replace(skill, origin=root.origin)
        return _Page(stamp, skill, digest(data) if root.origin == PROJECT else "")

    def _judged(self, page: _Page, origin: str, trust: Trust) -> Skill:
        skill = page.skill
        if skill.name in self._settings.off:
            return structs.replace(skill, problem="turned off in your settings (skills.off)")
        if origin != PROJECT:
            return skill
        if not trust.trusted:
            return structs.replace(skill, problem="this folder is not trusted; `quintet trust` would load it")
        name = os.path.relpath(skill.file, self._project)
        if (trust.content or {}).get(name) != page.digest:
            why = "new or changed since you trusted this folder; `quintet trust --check` shows it"
            return structs.replace(skill, problem=why)
        return skill

    # ── what is kept between starts

    def _known(self) -> dict[str, _Page]:
        if self._pages is None:
            self._pages = {}
            with contextlib.suppress(OSError, msgspec.MsgspecError), open(self._cache or os.devnull, "rb") as file:
                kept = msgspec.json.decode(file.read() or b"{}", type=_Kept)
                self._pages = kept.pages if kept.format == FORMAT else {}
        return self._pages

    def _keep(self, pages: dict[str, _Page]) -> None:
        """What cannot be written is read again next time."""
        if len(pages) < FEW or not self._cache:
            return
        with contextlib.suppress(OSError):
            private_folder(os.path.dirname(self._cache))
            beside = f"{self._cache}.{os.getpid()}"
            with open(beside, "wb", opener=private) as file:
                file.write(msgspec.json.encode(_Kept(FORMAT, pages)))
            os.replace(beside, self._cache)


def _stamp(info: os.stat_result) -> tuple[int, int, int, int]:
    """Nobody but root sets the time of a change of the inode."""
    return info.st_mtime_ns, info.st_ctime_ns, info.st_size, info.st_ino


def _found(root: SkillRoot, project: str) -> Iterator[tuple[str, str, str]]:
    """Page, folder and name of each; of a project nothing that a link leads out to."""
    if project and leads_out(project, root.path):
        return
    walk = _commands if root.kind is SkillKind.COMMAND else _skills
    for file, folder, name in walk(root.path, MOST_DEPTH, _Looking(project)):
        if project and (os.path.islink(file) or os.path.islink(folder)) and leads_out(project, file):
            continue
        yield file, folder, name


class _Looking:
    """The folders that were looked into: links may lead to one again and again. In a project none that a link on the
    way leads out to."""

    def __init__(self, project: str) -> None:
        self._project = project
        self._looked: set[tuple[int, int]] = set()

    def into(self, path: str) -> bool:
        if self._project and os.path.islink(path) and leads_out(self._project, path):
            return False
        info = os.stat(path)
        place = info.st_dev, info.st_ino
        if place in self._looked or len(self._looked) >= MOST_FOLDERS:
            return False
        self._looked.add(place)
        return True


def _skills(path: str, depth: int, looked: _Looking) -> Iterator[tuple[str, str, str]]:
    for name, is_folder in _entries(path, looked):
        if not is_folder:
            continue
        folder = os.path.join(path, name)
        page = next((file for one in PAGES if _is_file(file := os.path.join(folder, one))), "")
        if page:
            yield page, folder, name
        elif depth > 1:
            yield from _skills(folder, depth - 1, looked)


def _commands(path: str, depth: int, looked: _Looking, above: str = "") -> Iterator[tuple[str, str, str]]:
    for name, is_folder in _entries(path, looked):
        whole = os.path.join(path, name)
        if is_folder and depth > 1:
            yield from _commands(whole, depth - 1, looked, f"{above}{name}:")
        elif name.endswith(".md") and _is_file(whole):
            yield whole, "", f"{above}{name.removesuffix('.md')}"


def _entries(path: str, looked: _Looking) -> list[tuple[str, bool]]:
    """What a folder has, and which of it are folders; nothing where it was looked into before. Links come last: what
    has several names is known by its own."""
    try:
        if not looked.into(path):
            return []
        with os.scandir(path) as entries:
            found = [(one.is_symlink(), one.name, one.is_dir()) for one in entries if not one.name.startswith(".")]
    except OSError:
        return []
    return [(name, is_folder) for _, name, is_folder in sorted(found)]


def _is_file(path: str) -> bool:
    try:
        return stat.S_ISREG(os.stat(path).st_mode)
    except OSError:
        return False
