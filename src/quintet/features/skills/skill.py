"""A skill as it is read: what stands at the top of its page, in the words of the Agent Skills standard and our own.

Pure. Unknown keys are kept and noted, never an error. What a page says can only narrow what its use may do.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import Any

from msgspec import Struct

from quintet.domain.base.lazy_regex import regex
from quintet.domain.base.wording import listed
from quintet.domain.dials.axes import PermissionProfile
from quintet.domain.skills.use import LinePattern

STANDARD = ("name", "description", "license", "compatibility", "metadata", "allowed-tools")
OWN = ("user-invocable", "model-invocable", "side-effects", "permission-profile")
ELSEWHERE = ("argument-hint", "disable-model-invocation", "when_to_use")  # of another agent's pages, and followed here
NOT_FOLLOWED = ("model", "context", "agent", "hooks", "tools", "paths")  # known, without effect here
KNOWN = (*STANDARD, *OWN, *ELSEWHERE)
MUTATES = "production-mutation"
SIDE_EFFECTS = ("none", "code-edits", MUTATES)
# Tools by the names that other agents have for them.
_OURS: dict[str, tuple[str, ...]] = {
    "bash": ("bash", "bash_output", "kill_shell", "wait"),
    "shell": ("bash", "bash_output", "kill_shell", "wait"),
    "read": ("Read",),
    "write": ("Write",),
    "edit": ("Edit",),
    "multiedit": ("Edit",),
    "glob": ("glob",),
    "grep": ("grep",),
    "search": ("grep", "glob"),
    "ls": ("fs_list_directory",),
    "webfetch": ("web_get_contents",),
    "websearch": ("web_search",),
    "bashoutput": ("bash_output",),
    "killshell": ("kill_shell",),
    "killbash": ("kill_shell",),
    "todowrite": ("TodoCreate", "TodoRead", "TodoStart", "TodoClaim", "TodoVerify"),
    "todoread": ("TodoRead",),
    "skill": ("use_skill",),
    "task": ("run_helpers",),
    "agent": ("run_helpers",),
    "askuserquestion": ("message_user",),
}
_TOOL = regex(r"([^\s,()]+)(?:\(([^()]*)\))?")


class SkillKind(StrEnum):
    SKILL = "skill"
    COMMAND = "command"  # a page of a folder of commands


class ToolNarrowing(Struct, frozen=True):
    """What `allowed-tools` comes to here."""

    tools: tuple[str, ...] | None = None  # None: nothing is said
    lines: tuple[LinePattern, ...] | None = None
    unknown: tuple[str, ...] = ()


class SkillFacts(Struct, frozen=True, omit_defaults=True):
    """What a page says for people, and nothing here goes by."""

    license: str = ""
    compatibility: str = ""
    metadata: dict[str, str] = {}


class Skill(Struct, frozen=True, omit_defaults=True):
    name: str
    description: str
    file: str  # the page
    folder: str = ""  # of its own; a command has none
    origin: str = ""  # project, home, built-in, or a folder of the settings
    kind: SkillKind = SkillKind.SKILL
    facts: SkillFacts = SkillFacts()
    allowed_tools: tuple[str, ...] | None = None  # as they are written
    user_invocable: bool = True
    model_invocable: bool = True
    side_effects: str = ""
    profile: PermissionProfile | None = None  # the least it is used at
    argument_hint: str = ""
    unknown: tuple[str, ...] = ()  # keys that nobody here knows
    notes: tuple[str, ...] = ()  # what is not followed, and why
    problem: str = ""  # why it cannot be used; empty if it can

    @property
    def narrowing(self) -> ToolNarrowing:
        return narrowed(self.allowed_tools)

    @property
    def by_model(self) -> bool:
        """Whether a model may use it by itself. What changes production never is, whatever its page says."""
        return self.model_invocable and self.side_effects != MUTATES and not self.problem

    @property
    def by_user(self) -> bool:
        return self.user_invocable and not self.problem

    @property
    def numbered(self) -> bool:
        """Whether $1 to $9 in its text are the words that it is given: in a command, or where a hint says which."""
        return self.kind is SkillKind.COMMAND or bool(self.argument_hint)

    @property
    def usage(self) -> str:
        return f"/{self.name} {self.argument_hint}".strip()


def made(
    fields: Mapping[str, Any],
    body: str,
    *,
    file: str,
    folder: str,
    beside: str,
    kind: SkillKind,
    notes: Iterable[str] = (),
) -> Skill:
    """A skill of the fields of its page; `beside` is the name that its folder or file has."""
    noted = list(notes)
    name = _text(fields.get("name")) if kind is SkillKind.SKILL else ""
    if kind is SkillKind.SKILL and name != beside:
        noted.append(f'its name is "{name}", its folder {beside}' if name else f"it has no name: {beside} is used")
    if not usable_name(name):
        name = beside
    described_by = (_text(fields.get(key)) for key in ("description", "when_to_use"))
    description = " ".join(word for text in described_by for word in text.split())
    problem, described = "", True
    if not description and kind is SkillKind.COMMAND:
        description = _first_words(body)
    elif not description:
        description = _first_words(body) or name
        noted.append("it has no description: only you can use it")
        described = False
    if not usable_name(name):
        problem = f'"{name[:40]}" cannot be a skill\'s name: a letter or digit, then letters, digits, - _ . and :'
    side_effects = _text(fields.get("side-effects"))
    if side_effects and side_effects not in SIDE_EFFECTS:
        noted.append(f'side-effects "{side_effects[:40]}" is not one of {", ".join(SIDE_EFFECTS)}')
    profile, wrong = _profile(_text(fields.get("permission-profile")))
    problem = problem or wrong
    ignored = [key for key in fields if key in NOT_FOLLOWED]
    if ignored:
        noted.append(f"{listed(ignored)}: not followed here")
    unknown = tuple(str(key) for key in fields if key not in KNOWN and key not in NOT_FOLLOWED)
    if unknown:
        noted.append(f"{listed(list(unknown))}: not known here, kept")
    allowed = _tool_words(fields.get("allowed-tools"))
    strange = narrowed(allowed).unknown
    if strange:
        noted.append(f"allowed-tools names what is no tool here: {listed(list(strange))}")
    invocable = _flag(fields, "model-invocable", True, noted)
    if _flag(fields, "disable-model-invocation", False, noted):
        invocable = False
    metadata = fields.get("metadata")
    return Skill(
        name=name,
        description=description,
        file=file,
        folder=folder,
        kind=kind,
        facts=SkillFacts(
            _text(fields.get("license")),
            _text(fields.get("compatibility")),
            {str(k): _text(v) for k, v in metadata.items()} if isinstance(metadata, Mapping) else {},
        ),
        allowed_tools=allowed,
        user_invocable=_flag(fields, "user-invocable", True, noted),
        model_invocable=invocable and described,
        side_effects=side_effects,
        profile=profile,
        argument_hint=_text(fields.get("argument-hint")),
        unknown=unknown,
        notes=tuple(noted),
        problem=problem,
    )


_NAME = re.compile(r"[^\W_][\w.:-]{0,99}")


def usable_name(name: str) -> bool:
    """Whether a name can be typed after a slash."""
    return bool(_NAME.fullmatch(name)) and not name.endswith(":")


def narrowed(allowed: tuple[str, ...] | None) -> ToolNarrowing:
    """What a skill's tools are called here. Whatever is not known allows nothing."""
    if allowed is None:
        return ToolNarrowing()
    tools: dict[str, None] = {}
    lines: list[LinePattern] = []
    unknown: list[str] = []
    any_line = False
    for word in allowed:
        found = _TOOL.fullmatch(word)
        name, pattern = (found[1], found[2]) if found else (word, None)
        if name == "*":
            return ToolNarrowing()
        ours = ("mcp_tool",) if name.startswith("mcp__") else _OURS.get(name.lower().replace("_", ""))
        if ours is None and not _is_ours(name):
            unknown.append(word)
            continue
        tools |= dict.fromkeys(ours or (name,))
        if "bash" in (ours or (name,)):
            if pattern is None or pattern.strip() in ("", "*"):
                any_line = True
            else:
                lines.append(_pattern(pattern.strip()))
    limits = None if any_line or "bash" not in tools else tuple(lines)
    return ToolNarrowing(tuple(tools), limits, tuple(unknown))


def _is_ours(name: str) -> bool:
    """A tool of ours has a name with an underscore or in the form of TodoCreate; whether it is there, the gate says."""
    return "_" in name and name.isascii() and name.replace("_", "").isalnum()


def _pattern(text: str) -> LinePattern:
    """`git commit:*` and `git commit *` are all that begin so; anything else is the command itself."""
    for end in (":*", " *", "*"):
        if text.endswith(end):
            return LinePattern(" ".join(text[: -len(end)].split()), begins=True)
    return LinePattern(" ".join(text.split()))


def _tool_words(value: Any) -> tuple[str, ...] | None:
    if value is None or value == "":
        return None
    if isinstance(value, list | tuple):
        return tuple(_text(one) for one in value if _text(one))
    return tuple(found[0] for found in _TOOL.finditer(_text(value).strip("[]")))


def _profile(word: str) -> tuple[PermissionProfile | None, str]:
    if not word:
        return None, ""
    try:
        return PermissionProfile(word), ""
    except ValueError:
        return None, f'permission-profile "{word[:40]}": not one of {", ".join(PermissionProfile)}'


def _flag(fields: Mapping[str, Any], key: str, default: bool, noted: list[str]) -> bool:
    """What cannot be read as yes or no counts as the more careful of the two."""
    value = fields.get(key)
    if value is None:
        return default
    word = _text(value).lower()
    if word in ("true", "yes", "on"):
        return True
    if word not in ("false", "no", "off"):
        noted.append(f'{key} "{word[:20]}" is neither true nor false')
        return key == "disable-model-invocation"
    return False


def _first_words(body: str) -> str:
    line = next((line.strip(" #*") for line in body.splitlines() if line.strip(" #*")), "")
    return line[:200]


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return "" if value is None else value.strip() if isinstance(value, str) else str(value)
