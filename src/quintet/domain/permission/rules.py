"""The user's standing rules: what to allow without asking, and what to deny always.

An allow rule lifts a question, and only for the effects it names; a deny rule stops a call whatever else holds. No rule
allows outside or publish, and none turns a deny into an allow. A rule is for a call as it is written, or for every line
that is one plain command and begins with its words; one with a session holds there and nowhere else.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any, Literal

from msgspec import Struct

from quintet.domain.base.lazy_regex import regex
from quintet.domain.base.safe_text import patched_files
from quintet.domain.permission.effects import Effect, ordered
from quintet.domain.permission.prefixes import begins_with

ANY = "*"
SERVER_TOOLS = "mcp_tool"
NEVER_LIFTED = frozenset({Effect.OUTSIDE, Effect.PUBLISH})  # what no rule allows
_CALLS = "call_tool"  # another command of mcp_tool's does something else with the server, whatever tool it names
_SUBJECTS = ("file_path", "path", "source", "repo_path", "pattern", "urls", "query", "repo")
_EXACTLY = regex(r"\[[*?[]\]")  # a character of a pattern that stands for itself
_OUTSIDE = "anything it names outside the project still needs approval, unless `read` is one of its effects"
_WHOLE = ("source", "repo_path", "repo")  # say only where: what the call does there is in its other arguments


class Rule(Struct, frozen=True, gc=False):
    id: str
    verdict: Literal["allow", "deny"]
    tool: str  # a tool's name, or * for any
    pattern: str = ANY  # of what the call is about: its shell line or path; * stands for anything
    effects: tuple[Effect, ...] = ()  # what an allow rule lifts
    project: str = ""  # the folder it holds in; empty: everywhere
    created: str = ""
    words: tuple[str, ...] = ()  # what the command begins with, instead of a pattern: `pytest …`
    session: str = ""  # the session it holds in; empty: all of them
    reason: str = ""  # why it was made: the question it answered

    def fits(self, tool: str, subject: str, project: str, simple: Sequence[str] = ()) -> bool:
        """`simple`: the words of the call's line, if that is one plain command and nothing else."""
        if self.tool not in (ANY, tool) or self.project not in ("", project):
            return False
        if self.words:
            return begins_with(simple, self.words)
        return self.pattern == ANY or fnmatchcase(subject, self.pattern)


def subject_of(arguments: Mapping[str, Any], lines: Sequence[str] = ()) -> str:
    """What a call is about, as rules and questions name it: its shell lines and their folder, a path, `server:tool`."""
    if arguments.get("server") and arguments.get("tool_name") and arguments.get("command", _CALLS) == _CALLS:
        return f"{arguments['server']}:{arguments['tool_name']}"
    if lines:
        folder = str(arguments.get("exec_dir", ""))
        folder = folder.rstrip("/") or folder[:1]  # the root of all is not the project's
        return "; ".join((f"cd {folder}", *lines) if folder not in ("", ".") else lines)
    name = next((name for name in _SUBJECTS if arguments.get(name)), "")
    if not name and arguments.get("patch"):
        return patched_files(str(arguments["patch"]))
    words = [_written(arguments[name])] if name else []
    if name in _WHOLE or not name:
        words += [f"{other}={_written(value)}" for other, value in arguments.items() if value and other != name]
    return " ".join(words)


def _written(value: Any) -> str:
    return " ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)


def denying(rules: Iterable[Rule], tool: str, subject: str, project: str, commands: Sequence[str] = ()) -> Rule | None:
    """The rule that says no: to the call as it is written, or to one of the commands its lines would run."""
    return next(
        (
            rule
            for rule in rules
            if rule.verdict == "deny" and any(rule.fits(tool, about, project) for about in (subject, *commands))
        ),
        None,
    )


def allowing(
    rules: Iterable[Rule],
    tool: str,
    subject: str,
    project: str,
    effects: frozenset[Effect],
    simple: Sequence[str] = (),
) -> Rule | None:
    """The rule that covers all of these effects; what cannot be taken back only one that is narrow."""
    return next(
        (
            rule
            for rule in rules
            if rule.verdict == "allow"
            and effects <= set(rule.effects)
            and (Effect.DESTROY not in effects or is_narrow(rule))
            and rule.fits(tool, subject, project, simple)
        ),
        None,
    )


def names_both(tool: str, pattern: str) -> bool:
    """Whether a rule for one tool names a server and which of its tools, be it all of them: `server:*`."""
    server, colon, name = pattern.partition(":")
    named = name if tool == SERVER_TOOLS else name.strip("*?")
    return tool != ANY and bool(colon and server.strip("*?") and named)


def exactly(text: str) -> str:
    """A pattern that fits this text and no other."""
    return "".join(f"[{char}]" if char in "*?[" else char for char in text)


def is_narrow(rule: Rule) -> bool:
    """Whether a rule is for one tool, and for one call as it is written or for the beginning of a line."""
    return bool(rule.words and rule.tool != ANY) or is_exact(rule)


def is_exact(rule: Rule) -> bool:
    """Whether a rule is for one call as it is written: whoever made it saw all that it names."""
    return rule.tool != ANY and not rule.words and set("*?[").isdisjoint(_EXACTLY.sub("", rule.pattern))


def without_effect(rules: Sequence[Rule], is_there: Callable[[str], bool]) -> Iterator[tuple[Rule, str]]:
    """The rules that can never match, each with the reason; `is_there` says whether a folder exists."""
    for rule in rules:
        if rule.project and not is_there(rule.project):
            yield rule, f"it holds in {rule.project}, which no longer exists"
        elif rule.verdict == "allow" and not set(rule.effects) - NEVER_LIFTED:
            yield rule, "no rule allows what its effects name"
        elif rule.verdict == "allow" and (other := next((one for one in rules if _denies_all(one, rule)), None)):
            yield rule, f"rule {other.id} denies everything that it allows"


def _denies_all(deny: Rule, rule: Rule) -> bool:
    """Whether a deny rule covers all that another one is for."""
    everywhere = deny.project in ("", rule.project) and deny.session in ("", rule.session)
    whole = not deny.words and deny.pattern in (ANY, rule.pattern) and (deny.pattern == ANY or not rule.words)
    return deny.verdict == "deny" and deny.tool in (ANY, rule.tool) and everywhere and whole


def about(rule: Rule) -> str:
    """What a rule is about: the beginning of a line, a pattern, or anything."""
    return f"{' '.join(rule.words)} …" if rule.words else rule.pattern


def explain(rule: Rule) -> list[tuple[str, str]]:
    """What a rule covers, which effects, where, and why it was made, as labels and words."""
    does = "does not run" if rule.verdict == "deny" else "runs without approval"
    if rule.words:
        covers = f"a line that is one plain command and begins with `{' '.join(rule.words)}`, in the project's folder"
        limit = "only in a full sandbox; anything it names outside the project still needs approval"
    elif rule.pattern == ANY:
        covers, limit = "every call", _OUTSIDE
    else:
        exact = is_exact(rule)
        shown = _EXACTLY.sub(lambda found: found[0][1], rule.pattern) if exact else rule.pattern
        covers, limit = f"{'exactly' if exact else 'what matches'} `{shown}`", "" if exact else _OUTSIDE
    if rule.verdict == "deny" or Effect.READ in rule.effects:
        limit = limit if rule.words else ""
    tool = "any tool" if rule.tool == ANY else rule.tool
    where = f"session {rule.session}" if rule.session else rule.project or "everywhere"
    rows = [("covers", f"{tool}: {covers} {does}"), ("limits", limit), ("effects", ", ".join(rule.effects))]
    return [row for row in (*rows, ("where", where), ("made", rule.created), ("because", rule.reason)) if row[1]]


def describe(rule: Rule) -> str:
    what = "" if rule.pattern == ANY and not rule.words else f" {about(rule)}"
    effects = f" ({', '.join(ordered(frozenset(rule.effects)))})" if rule.effects else ""
    return f"{rule.verdict} {rule.tool}{what}{effects}"
