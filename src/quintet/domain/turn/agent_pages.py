"""Pages for agents: AGENTS.md or another agent's page, of a folder and of all below it, and what a page imports.

A page is a person's words to an agent and goes to a model unasked, so whose words they are is settled by where a page
lies: not in a dependency, and not in a repository within the project.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable

from msgspec import Struct

from quintet.domain.base.lazy_regex import regex
from quintet.domain.base.safe_text import exactly, on_one_line

NAMES = ("AGENTS.md", "CLAUDE.md", "GEMINI.md")  # of one folder the first that is there
ROOT_NAMES = (".github/copilot-instructions.md", ".cursorrules")  # of the root, where it has none of those
LOCAL_NAME = "CLAUDE.local.md"  # one person's own, beside the page of a folder
CURSOR_RULES = ".cursor/rules"  # of the root, or of a folder below it
RULES = {CURSOR_RULES: (".mdc", "/RULE.md"), ".github/instructions": (".instructions.md",)}  # and how they end
EVERY_FILE = frozenset({"**", "**/*"})
MOST_ABOUT = 300  # characters of what a rule says it is for
RULES_TO_READ = "Read one of these rules before work that it is for:"
MOST_RULES = 50
MOST_BYTES = 64_000  # of a page with all that it imports
MOST_IMPORTS = 50  # of one page
MOST_DEPTH = 5  # of imports of imports
MOST_AT_ONCE = 5  # nested pages after one step
# What lies below these was written elsewhere, and came with a command.
_FOREIGN = frozenset(
    {
        *("node_modules", "bower_components", "site-packages", "dist-packages", ".venv", "venv", ".tox", ".nox"),
        *("vendor", "third_party", "Pods", ".git"),
    }
)
_FENCE = regex(r"^ {0,3}(`{3,}|~{3,})")
_IMPORT = regex(r"^\s*@(\S+)\s*$")
_FRAME = regex(r"^[^\w\n]*From\b.*:[^\w\n]*$", re.I | re.M)  # what a page of somebody else's begins with
_EMOJI = "\ufe0f"  # after a sign: shown in colour. Pages are full of it, and it hides nothing.


class AgentsPage(Struct, frozen=True, omit_defaults=True, gc=False):
    """A page as it was found: its place, relative to the project, and its text with what it imports."""

    place: str
    text: str

    @property
    def told(self) -> str:
        return framed(self.place, self.text)


def framed(place: str, text: str, whose: str = "") -> str:
    """A page under the line that says where it is from. A line of its own that reads like that one is quoted."""
    note = f" ({whose})" if whose else ""
    quoted = _FRAME.sub(lambda line: f"> {line[0]}", text)
    return f"From {on_one_line(place)}{note}:\n\n{quoted}"


class PageRule(Struct, frozen=True):
    """A page that holds always, for the files that its patterns name, or where it says what it is for (`about`)."""

    text: str
    always: bool = False
    patterns: tuple[str, ...] = ()
    about: str = ""

    def holds_for(self, path: str) -> bool:
        return any(_pattern(pattern).fullmatch(path) for pattern in self.patterns)

    @property
    def to_be_read(self) -> bool:
        """Whether the model decides by its description."""
        return bool(self.about) and not (self.always or self.patterns)


_FIELD = regex(r"(alwaysApply|globs|applyTo|description|excludeAgent)\s*:\s*(.*)")
_LISTS = frozenset({"globs", "applyTo", "excludeAgent"})


def page_rule(text: str) -> PageRule:
    """A rule of Cursor's or Copilot's. What opens it is read by lines: patterns stand there without quotes."""
    head, *lines = text.split("\n")
    end = next((number for number, line in enumerate(lines) if line.strip() == "---"), None)
    if head.strip() != "---" or end is None:
        return PageRule(text.strip(), always=True)
    found: dict[str, list[str]] = {}
    name = ""
    for line in lines[:end]:
        if field := _FIELD.match(line):
            name = field[1]
            found.setdefault(name, []).extend(
                _BETWEEN.split(field[2].strip("[] ")) if name in _LISTS else [field[2]],
            )
        elif name in _LISTS and line.lstrip().startswith("- "):
            found[name].append(line.strip()[2:])
        else:
            name = ""
    fields = {name: [one for word in words if (one := word.strip(" '\""))] for name, words in found.items()}
    if "coding-agent" in fields.get("excludeAgent", ()):
        return PageRule("")
    patterns = (*fields.get("globs", ()), *fields.get("applyTo", ()))
    always = "true" in (word.lower() for word in fields.get("alwaysApply", ()))
    about = on_one_line(" ".join(fields.get("description", ())))[:MOST_ABOUT]
    always = always or not EVERY_FILE.isdisjoint(patterns)
    return PageRule("\n".join(lines[end + 1 :]).strip(), always, patterns, about)


_BETWEEN = regex(r",(?![^{]*\})")
_GLOB = regex(r"\*\*/?|\*|\?|\{[^{}]*\}|.")


def _pattern(glob: str) -> re.Pattern[str]:
    """`*` is within a folder, `**` any folders, `{a,b}` either; a pattern without a folder holds in every one."""
    parts = []
    for part in _GLOB.findall(glob.removeprefix("./")):
        if part.startswith("**"):
            parts.append("(?:.*/)?" if part.endswith("/") else ".*")
        elif part[0] == "{" and len(part) > 1:
            parts.append(
                f"(?:{'|'.join(re.escape(one).replace(chr(92) + '*', '[^/]*') for one in part[1:-1].split(','))})"
            )
        else:
            parts.append({"*": "[^/]*", "?": "[^/]"}.get(part) or re.escape(part))
    return re.compile(("" if "/" in glob else "(?:.*/)?") + "".join(parts))


def foreign(folder: str) -> bool:
    """Whether what lies in a folder of the project is not the project's own."""
    return not _FOREIGN.isdisjoint(folder.split("/"))


def chain(folder: str) -> list[str]:
    """The folders from the root, which is left out, down to this one; nothing if it lies outside."""
    parts = [part for part in posixpath.normpath(folder).split("/") if part not in ("", ".")]
    if folder.startswith("/") or ".." in parts:
        return []
    return ["/".join(parts[: count + 1]) for count in range(len(parts))]


def own_paths(paths: Iterable[str]) -> tuple[str, ...]:
    """Of what a step touched, what a page or rule of the project's may be for."""
    return tuple(dict.fromkeys(path for path in paths if path.strip("/") and not foreign(path)))


def import_of(line: str) -> str:
    """The file that a line imports; empty if it is none."""
    found = _IMPORT.match(line)
    return found[1] if found else ""


def is_mention(target: str) -> bool:
    """Whether `@target` may as well name somebody."""
    return "/" not in target and "." not in target


def unfenced(lines: Iterable[str]) -> Iterable[tuple[str, bool]]:
    """Each line, and whether it stands outside blocks of code."""
    fence = ""
    for line in lines:
        mark = _FENCE.match(line)
        if mark and not fence:
            fence = mark[1]
        elif mark and mark[1].startswith(fence):
            fence = ""
            yield line, False
            continue
        yield line, not fence


def readable(data: bytes) -> str:
    """A page's words; what the eye would not see in them is spelled out, for whoever reads the page sees the same."""
    text = data.decode("utf-8-sig", "replace").replace("\r\n", "\n").strip()
    return _EMOJI.join(exactly(part) for part in text.split(_EMOJI))
