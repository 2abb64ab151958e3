"""What a model is told of skills in the head of a conversation, within a number of bytes; and which skills fit words.

Pure. As many as there is room for stand with what they are for, the most relevant first; of the others the names, and
of what does not fit even so, how many there are. All are found by search.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from quintet.domain.base.lazy_regex import regex
from quintet.domain.base.safe_text import on_one_line
from quintet.domain.base.wording import SMALL_WORDS
from quintet.features.skills.skill import Skill

INTRO = (
    "Skills: instructions for kinds of work. Where one fits the task, read it first: use_skill NAME, in toolset assist."
)
MOST_DESCRIBED = 240  # characters of one description
FEWEST_BYTES = 200  # below this nothing is told
_WORD = regex(r"[^\W_]+")
_ORIGIN_ORDER = {"project": 0, "home": 2, "built-in": 3}


def relevance(skill: Skill, used: Mapping[str, int]) -> tuple[int, int, str]:
    """What was used most comes first, then the project's own, then the user's, then those of Quintet's own."""
    return (-used.get(skill.name, 0), _ORIGIN_ORDER.get(skill.origin, 1), skill.name)


def head_text(skills: Iterable[Skill], budget: int, used: Mapping[str, int]) -> str:
    """Empty if there is nothing to tell, or no room for it."""
    found = sorted((one for one in skills if one.by_model), key=lambda one: relevance(one, used))
    if not found or budget < FEWEST_BYTES:
        return ""
    lines = [INTRO]
    room = budget - _size(INTRO) - 1
    names_room = min(room // 4, sum(_size(one.name) + 2 for one in found)) + 60  # for the rest, by name
    placed = 0
    for skill in found:
        line = line_of(skill)
        last = placed == len(found) - 1
        if _size(line) + 1 > room - (0 if last else names_room):
            break
        lines.append(line)
        room -= _size(line) + 1
        placed += 1
    if rest := found[placed:]:
        lines.append(_others([one.name for one in rest], room))
    return "\n".join(lines)


def line_of(skill: Skill) -> str:
    about = on_one_line(skill.description)
    short = about if len(about) <= MOST_DESCRIBED else f"{about[: MOST_DESCRIBED - 1].rstrip()}…"
    return f"- {skill.name}: {short}"


def _others(names: list[str], room: int) -> str:
    opening, search = "More skills: ", " find_skills searches them."
    said = ""
    left = list(names)
    while left:
        further = f"{said}, {left[0]}" if said else left[0]
        more = f" and {len(left) - 1} more." if left[1:] else "."
        if _size(opening) + _size(further) + _size(more) + _size(search) > room:
            break
        said = further
        left.pop(0)
    more = f" and {len(left)} more" if left and said else f"{len(left)}" if left else ""
    return f"{opening}{said}{more}.{search}"


def _size(text: str) -> int:
    return len(text.encode("utf-8", "replace"))


def matching(skills: Iterable[Skill], words: Sequence[str]) -> list[Skill]:
    """Those that fit, best first: by name before by description."""
    wanted = [word for phrase in words for word in _words(phrase) if word not in SMALL_WORDS]
    scored = [(_fit(one, wanted), one) for one in skills]
    return [one for fit, one in sorted(scored, key=lambda pair: (-pair[0], pair[1].name)) if fit]


def _fit(skill: Skill, wanted: Sequence[str]) -> int:
    name, about = frozenset(_words(skill.name)), frozenset(_words(skill.description))
    hits = [4 * (word in name) + 2 * any(one.startswith(word) for one in name) + (word in about) for word in wanted]
    return sum(hits) if wanted and 2 * sum(map(bool, hits)) >= len(wanted) else 0


def _words(text: str) -> list[str]:
    return _WORD.findall(text.lower())
