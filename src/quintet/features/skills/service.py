"""What a session holds of skills: finding one, using one, and the commands that are their names. See ports.offers."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any, Literal

import msgspec
from msgspec import Struct, structs

from quintet.adapters.files.real_path import real_path
from quintet.domain.base.errors import NotFound, ToolFailed, UsageError
from quintet.domain.base.safe_text import on_one_line
from quintet.domain.dials.axes import Axes
from quintet.domain.input.slash_line import CommandUsage
from quintet.domain.skills.use import BegunBySkill, SkillUse
from quintet.domain.turn.tool_spec import Touch
from quintet.features.skills.book import SkillBook
from quintet.features.skills.contents import SkillContents, look
from quintet.features.skills.conversation_head import line_of, matching
from quintet.features.skills.filled import filled, shell_lines
from quintet.features.skills.shelf import SkillShelf
from quintet.features.skills.skill import MUTATES, Skill, SkillKind

ALIAS = "skill:"  # /skill:NAME, where a command has the name
MOST_FILES_TOLD = 40
MOST_ABOUT = 120  # characters of a description, where commands are offered


class LoadedSkill(Struct, frozen=True):
    """A skill as it is handed over: its words with the arguments, and what its use comes to."""

    text: str
    use: SkillUse


class Skills:
    def __init__(
        self,
        shelf: SkillShelf,
        axes: Callable[[], Axes],
        book: SkillBook,
        root: str,
        servers: Callable[[], Any] = lambda: None,
    ) -> None:
        """`servers` opens the session's MCP servers; None where there is no such feature."""
        self.shelf = shelf
        self._axes = axes
        self.book = book
        self._root = root
        self._servers = servers

    async def close(self) -> None:
        self.book.close()

    # ── a model's

    def matching(self, words: Sequence[str]) -> tuple[str, ...]:
        return tuple(line_of(one).removeprefix("- ") for one in self._found(words))

    def _found(self, words: Sequence[str]) -> list[Skill]:
        return matching((one for one in self.shelf.usable().values() if one.by_model), words)

    def touched(self, touch: Touch) -> Touch:
        """What using a skill takes: its own least profile; and what is not for a model is refused."""
        skill = self.shelf.usable().get(touch.server or "")
        if skill is None:
            return touch  # the call itself says what there is
        if skill.side_effects == MUTATES:
            why = f"{skill.name} changes production: only the user starts it, with /{skill.name}"
            return structs.replace(touch, refused=why)
        if not skill.model_invocable:
            return structs.replace(touch, refused=f"{skill.name} is for the user alone, as /{skill.name}")
        return structs.replace(touch, least=skill.profile)

    def for_model(self, name: str, arguments: str) -> LoadedSkill:
        try:
            skill = self.shelf.find(name.removeprefix("/"))
            if skill.problem or not skill.by_model:
                raise ToolFailed(f"{skill.name}: {skill.problem or 'it is for the user alone'}")
            return self._loaded(skill, arguments, "model")
        except (NotFound, UsageError) as error:
            near = [one.name for one in self._found([name])][:5]
            said = f" Skills that match: {', '.join(near)}." if near else " find_skills finds one by words."
            raise ToolFailed(f"{error.message}{'' if error.message.endswith('?') else said}") from None

    # ── the user's

    def usage(self, name: str) -> CommandUsage | None:
        skill = self._named(name)
        return CommandUsage(name, skill.usage, on_one_line(skill.description), skill=True) if skill else None

    def usages(self) -> tuple[CommandUsage, ...]:
        return usages_of(self.shelf)

    def _named(self, name: str) -> Skill | None:
        wanted = name.removeprefix(ALIAS)
        return next((one for one in self.shelf.usable().values() if one.by_user and one.name.lower() == wanted), None)

    async def begin(self, name: str, text: str) -> BegunBySkill:
        skill = self._named(name)
        if skill is None:
            raise UsageError(f"there is no skill {name}")
        here = self._axes().permission_profile
        if skill.profile and skill.profile.rank > here.rank:
            raise UsageError(f"it needs profile {skill.profile} or above; this is {here}")
        loaded = self._loaded(skill, text, "user")
        return BegunBySkill(loaded.text, loaded.use)

    # ── both

    def _loaded(self, skill: Skill, arguments: str, by: Literal["user", "model"]) -> LoadedSkill:
        body = self.shelf.read(skill)
        contents = look(skill.folder) if skill.folder else SkillContents()
        if flaw := contents.input_flaw(arguments):
            raise UsageError(flaw)
        folder = real_path(skill.folder) if skill.folder else ""
        outside = folder if folder and not self._has(folder) and self._may_show(folder) else ""
        narrowing = skill.narrowing
        use = SkillUse(skill.name, skill.origin, by, outside, narrowing.tools, narrowing.lines, contents.items)
        self.book.count_use(skill.name)
        text = filled(body, arguments, folder or os.path.dirname(skill.file), numbered=skill.numbered)
        told = (_opening(skill, folder), text, *_told(contents, body), self._brought(skill, folder, contents))
        return LoadedSkill("\n\n".join(filter(None, told)), use)

    def _brought(self, skill: Skill, folder: str, contents: SkillContents) -> str:
        """What is said of the servers that come with a skill. Nothing is started here, nor allowed."""
        if not contents.servers:
            return ""
        pool = self._servers()
        if pool is None:
            return f"Its MCP servers are not started here: {', '.join(contents.servers)}."
        came = pool.bring(f"skill {skill.name}", folder, contents.servers)
        usable = [one.name for one in came if not one.problem]
        lines = [f"Its MCP servers are there for mcp_tool now: {', '.join(usable)}."] if usable else []
        lines += [
            f"Its MCP server {on_one_line(one.name)[:60]} cannot be used: {one.problem}." for one in came if one.problem
        ]
        return "\n".join(lines)

    def _has(self, folder: str) -> bool:
        """Whether a folder is part of the work tree; a skill of the project is not, in a worktree beside it."""
        return f"{folder}/".startswith(f"{real_path(self._root)}/")

    def _may_show(self, folder: str) -> bool:
        """Not a folder that holds the project or the home, whatever a link says."""
        home = real_path(os.path.expanduser("~"))
        return not any(f"{inner}/".startswith(f"{folder.rstrip('/')}/") for inner in (home, real_path(self._root)))


def _opening(skill: Skill, folder: str) -> str:
    if skill.kind is SkillKind.COMMAND:
        return f"The command {skill.name}, from {skill.file}:"
    return f"The skill {skill.name} ({skill.origin}); its files are in {folder}:"


def _told(contents: SkillContents, body: str) -> list[str]:
    told = []
    if contents.files:
        shown = contents.files[:MOST_FILES_TOLD]
        more = f" and {len(contents.files) - len(shown)} more" if len(contents.files) > len(shown) else ""
        told.append(f"Files of the skill, to be read where its text says so: {', '.join(shown)}{more}.")
    if contents.items:
        listed = "\n".join(f"- {item}" for item in contents.items)
        told.append(
            "The result has to show each of these. They are on your list of todos: TodoStart, then TodoClaim with the "
            f"evidence.\n{listed}"
        )
    if "output" in contents.schemas:
        schema: Any = contents.schemas["output"]
        told.append(
            f"The result is a JSON object that fits this schema; check_skill_result tests it:\n{_compact(schema)}"
        )
    if lines := shell_lines(body):
        told.append(f"Run these first, where the text needs their output: {'; '.join(lines)}")
    return told


def _compact(value: Any) -> str:
    return msgspec.json.encode(value).decode()


def usages_of(shelf: SkillShelf) -> tuple[CommandUsage, ...]:
    """The skills that the user may call, as commands."""
    return tuple(
        CommandUsage(one.name.lower(), one.usage, on_one_line(one.description)[:MOST_ABOUT], skill=True)
        for one in shelf.usable().values()
        if one.by_user
    )
