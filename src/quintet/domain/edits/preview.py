"""What a call would change, before it is made: every line of it, with the lines' numbers. Pure.

Nothing is left out: a person approves what is here. Where an edit does not fit the file as it is, what was written is
shown without numbers.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence

from quintet.domain.base.errors import ToolFailed
from quintet.domain.edits.edit import Change, edited, patched
from quintet.domain.edits.file_diff import unified
from quintet.domain.edits.numbered_diff import numbered
from quintet.domain.edits.patch import parse

NO_NEWLINE = "(the last line no longer ends with a newline)"
NEWLINE = "(the last line now ends with a newline)"


def preview(arguments: Mapping[str, object], path: str, content: Callable[[str], str]) -> list[str]:
    """`path` is the file that is written, if there is one; `content` gives a file as it is now."""
    if "tool_args" in arguments:
        return _json_lines(arguments["tool_args"] or {})
    if patch := arguments.get("patch"):
        return _of_patch(str(patch), content)
    if "content" in arguments and path:
        return differences(content(path), str(arguments["content"] or ""))
    changes = _changes(arguments)
    try:
        before = content(path) if path and changes else ""
        return differences(before, edited(before, changes).text) if before else _written(changes)
    except ToolFailed:
        return _written(changes)


def preview_together(calls: Sequence[tuple[Mapping[str, object], str]], content: Callable[[str], str]) -> list[str]:
    """What edits that are made one after the other come to: a file's changes below its path.

    Where one does not fit the file as those before it leave it, what was written is shown instead.
    """
    was: dict[str, str] = {}
    becomes: dict[str, str] = {}
    unfit: dict[str, list[str]] = {}
    for arguments, path in calls:
        was.setdefault(path, content(path))
        now = becomes.get(path, was[path])
        try:
            written = str(arguments["content"] or "") if "content" in arguments else None
            becomes[path] = edited(now, _changes(arguments)).text if written is None else written
        except ToolFailed:
            unfit.setdefault(path, []).extend(preview(arguments, path, lambda _, now=now: now))  # type: ignore[misc]
    return [
        line
        for path in was
        for line in (path, *(differences(was[path], becomes[path]) if path in becomes else ()), *unfit.get(path, ()))
    ]


def differences(before: str, after: str) -> list[str]:
    """Lines that begin with their sign and number; the lines around a change have no sign."""
    if all(text.count("\r\n") == text.count("\n") > 0 for text in (before, after)):
        before, after = before.replace("\r\n", "\n"), after.replace("\r\n", "\n")
    body = numbered("\n".join(unified("", _lines(before), _lines(after))))
    if before and after and before.endswith("\n") != after.endswith("\n"):
        body.append(NEWLINE if after.endswith("\n") else NO_NEWLINE)
    return body


def _changes(arguments: Mapping[str, object]) -> tuple[Change, ...]:
    if edits := arguments.get("edits"):
        return tuple(edits)  # type: ignore[arg-type]  # checked against the tool's schema
    old, new = str(arguments.get("old_string") or ""), str(arguments.get("new_string") or "")
    return (Change(old, new, bool(arguments.get("replace_all"))),) if old or new else ()


def _written(changes: Sequence[Change]) -> list[str]:
    """The changes as they were written: what goes, what comes."""
    return [
        line
        for change in changes
        for sign, text in (("-", change.old_string), ("+", change.new_string))
        for line in ([f"{sign} {part}" for part in text.split("\n")] if text else [])
    ]


def _of_patch(patch: str, content: Callable[[str], str]) -> list[str]:
    try:
        files = parse(patch)
        made = [(file.path, content(file.path), file) for file in files]
        shown = [
            (path, differences(before, file.added if file.added is not None else patched(before, file).text))
            for path, before, file in made
        ]
    except ToolFailed:
        return patch.split("\n")
    return [line for path, lines in shown for line in ([path, *lines] if len(shown) > 1 else lines)]


def _lines(text: str) -> list[str]:
    return text.removesuffix("\n").split("\n") if text else []


def _json_lines(value: object) -> list[str]:
    text = value if isinstance(value, str) else json.dumps(value, indent=2, ensure_ascii=False)
    return text.split("\n")
