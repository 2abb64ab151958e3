"""/skills: the words of `quintet skills`, in a session."""

from __future__ import annotations

from typing import TYPE_CHECKING

from quintet.domain.base.errors import UsageError
from quintet.domain.dials.axes import Surface
from quintet.features.skills.check_skill import checked
from quintet.features.skills.conversation_head import matching
from quintet.features.skills.drafting.command import WORDS, carried_out
from quintet.features.skills.listing import listed, page
from quintet.features.skills.service import Skills

if TYPE_CHECKING:
    from quintet.app.services import Opening


async def _drafts(opening: Opening, service: Skills, words: tuple[str, ...]) -> str:
    action, id = (*words, "", "")[:2]
    if action and action not in WORDS:
        raise UsageError(f"{action[:40]}: not one of {', '.join(WORDS)}")
    axes = opening.attach(Surface.RPC).state.axes
    lines, _ = await carried_out(opening.places, opening.loaded, service.book, action or "list", id, axes)
    return "\n".join(lines)


async def skills(opening: Opening, words: tuple[str, ...]) -> str:
    service: Skills = opening.services["skills"]
    action, rest = (words[0], words[1:]) if words else ("", ())
    if action == "show":
        if len(rest) != 1:
            raise UsageError("show NAME: one skill")
        skill = service.shelf.find(rest[0])
        body = "" if skill.problem else service.shelf.read(skill)
        return "\n".join(page(skill, body))
    if action == "check":
        found = [service.shelf.find(name) for name in rest] or service.shelf.listed()
        lines = []
        for one in map(checked, found):
            lines += [f"{one.name}: {problem}" for problem in one.problems]
            lines += [f"{one.name}: {note} (note)" for note in one.notes]
        return "\n".join([*lines, f"skills read: {len(found)}"])
    if action == "drafts":
        return await _drafts(opening, service, rest)
    if action == "list" and not rest:
        action = ""
    found = matching(service.shelf.listed(), words) if action else service.shelf.listed()
    if action and not found:
        raise UsageError(f"no skill matches {' '.join(words)}; /skills lists all")
    return "\n".join([*listed(found), "/NAME uses one, /skills show NAME shows it"])
