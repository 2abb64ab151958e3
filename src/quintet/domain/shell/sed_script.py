"""Whether a script of sed's runs a program: the command `e`, or the flag `e` of a substitution."""

from __future__ import annotations

from quintet.domain.base.lazy_regex import regex

_ADDRESS = regex(r"[0-9$]+(?:~[0-9]+)?|[+~][0-9]+")
_BRACKETS = regex(r"\[\^?\]?(?:\[[:.=][^\]]*[:.=]\]|[^\]])*\]")
_BETWEEN = regex(r"[\s;{}]*")
_FLAGS = regex(r"[gpimIMe0-9]*")
_TO_THE_END = frozenset("aicrRwWvF:")  # the rest of the line is theirs, or names a file
_LABELLED = frozenset("btT")
_ALONE = frozenset("dDgGhHlnNpPqQxz=#")


def runs_a_program(script: str) -> bool:
    """A script that is not understood may."""
    if "e" not in script:
        return False
    at = 0
    while (at := _BETWEEN.match(script, at).end()) < len(script):  # type: ignore[union-attr]
        at = _after_addresses(script, at)
        if at < 0 or at >= len(script):
            return True
        command, at = script[at], at + 1
        if command in "sy":
            mark = script[at : at + 1]
            at = _after_delimiter(script, _after_delimiter(script, at + 1, mark, pattern=command == "s"), mark)
            flags = _FLAGS.match(script, at).group() if at > 0 else "e"  # type: ignore[union-attr]
            if "e" in flags:
                return True
            at += len(flags)
            if script[at : at + 1] == "w":
                at = _end_of_line(script, at)
        elif command in _TO_THE_END or command == "#":
            at = _end_of_line(script, at)
        elif command in _LABELLED:
            while at < len(script) and script[at] not in ";}\n":
                at += 1
        elif command in "lLqQ":
            while at < len(script) and script[at] in " 0123456789":
                at += 1
        elif command not in _ALONE and command not in "{}":
            return True
    return False


def _after_addresses(script: str, at: int) -> int:
    """Where the command begins; -1 if that cannot be told."""
    while at < len(script):
        if script[at] in "/\\":
            custom = script[at] == "\\"
            mark = script[at + 1 : at + 2] if custom else "/"
            at = _after_delimiter(script, at + 1 + custom, mark, pattern=True)
            if at < 0:
                return -1
            while script[at : at + 1] in ("I", "M"):
                at += 1
        elif found := _ADDRESS.match(script, at):
            at = found.end()
        elif script[at] in ",! \t":
            at += 1
        else:
            break
    return at


def _after_delimiter(script: str, at: int, mark: str, *, pattern: bool = False) -> int:
    """Behind the next delimiter that no backslash is before; -1 if there is none.

    Whether one in the brackets of a pattern counts differs from sed to sed, so it cannot be told either.
    """
    if at < 0 or not mark:
        return -1
    while at < len(script):
        if script[at] == "\\":
            at += 2
        elif script[at] == mark:
            return at + 1
        elif pattern and script[at] == "[":
            found = _BRACKETS.match(script, at)
            if not found or mark in found.group() or "\\]" in found.group():
                return -1
            at = found.end()
        else:
            at += 1
    return -1


def _end_of_line(script: str, at: int) -> int:
    """Behind the text of a command; a backslash before a line's end goes on."""
    while at < len(script) and script[at] != "\n":
        at += 2 if script[at] == "\\" else 1
    return at
