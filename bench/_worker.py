"""A model that works like a coding agent for as long as it is asked to, on a project made of this program's own source.

Of twenty steps eight read a part of a file, five change one, three search, one writes a whole file, one runs a command
and two keep the list of what is to do. What it says and does differs from step to step and is the same in every run.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import AsyncIterator

import quintet
from quintet.domain.turn.messages import CallPart, EndPart, Finish, Part, Request, TextPart, ToolCall, Usage

SOURCE = os.path.dirname(quintet.__file__)
ROOMS = ("domain", "engine", "tools")
SETTINGS = {
    "tools.presentation": "flat",
    "runs.delivery_check": False,
    "runs.qa_review": False,
    "limits.max_turns": 0,
    "limits.max_calls": 0,
}
KINDS = (
    *("read", "read", "grep", "edit", "read", "todo", "read", "edit", "read", "write"),
    *("grep", "edit", "read", "edit", "bash", "read", "grep", "edit", "read", "start"),
)
WORDS = (
    *("the reader", "this function", "the caller", "the test", "the state", "the journal", "the limit", "the path"),
    *("the first branch", "the new field", "the old name", "the message", "the error", "the loop", "the cache"),
)
VERBS = (
    "returns",
    "keeps",
    "passes on",
    "still names",
    "never sees",
    "holds",
    "checks",
    "gives up",
    "writes",
    "counts",
)


def make_project(root: str) -> list[str]:
    """Copy the source to work on; returns its files, relative to the root."""
    found = []
    for room in ROOMS:
        for folder, _, names in os.walk(os.path.join(SOURCE, room)):
            for name in sorted(names):
                if name.endswith(".py"):
                    path = os.path.join(folder, name)
                    relative = os.path.relpath(path, SOURCE)
                    os.makedirs(os.path.dirname(os.path.join(root, relative)), exist_ok=True)
                    shutil.copy(path, os.path.join(root, relative))
                    found.append(relative)
    return sorted(found)


class Worker:
    """Port `Model`: `steps` calls to a turn, then an answer."""

    def __init__(self, root: str, files: list[str], steps: int, start: int = 0) -> None:
        self.name = "worker"
        self._root, self._files, self._steps = root, files, steps
        self._number = start
        self._left = steps

    async def stream(self, request: Request) -> AsyncIterator[Part]:
        if request.tool_choice == "none" or not request.tools:
            yield TextPart(self._words(6))
            yield EndPart(Finish.STOP, Usage(1, 1))
            return
        self._number += 1
        if not self._left:
            self._left = self._steps
            yield TextPart(self._words(5))
            yield EndPart(Finish.STOP, Usage(0, 0))
            return
        self._left -= 1
        name, arguments = self._call()
        yield TextPart(self._words(2))
        yield CallPart(ToolCall(f"call_{self._number:08d}", name, json.dumps(arguments)))
        yield EndPart(Finish.TOOL_CALLS, Usage(0, 0))

    async def close(self) -> None:
        """Nothing is held open."""

    def _words(self, sentences: int) -> str:
        picked = []
        for at in range(sentences):
            number = self._number * 7919 + at * 104_729
            first, verb = WORDS[number % len(WORDS)], VERBS[number // 31 % len(VERBS)]
            picked.append(f"{first.capitalize()} {verb} {WORDS[number // 97 % len(WORDS)]} in step {number % 9973}.")
        return " ".join(picked)

    def _file(self) -> tuple[str, list[str]]:
        path = self._files[self._number * 6_151 % len(self._files)]
        with open(os.path.join(self._root, path), encoding="utf-8") as file:
            return path, file.read().splitlines(keepends=True)

    def _call(self) -> tuple[str, dict[str, object]]:
        number = self._number
        path, lines = self._file()
        at = number * 31 % max(len(lines), 1)
        match KINDS[number % len(KINDS)]:
            case "read":
                return "Read", {"file_path": path, "offset": at + 1, "limit": 40 + number % 120}
            case "grep":
                word = WORDS[number % len(WORDS)].split()[-1]
                return "grep", {"pattern": word, "path": path.split("/")[0], "output_mode": "content", "head_limit": 40}
            case "edit":
                old = "".join(lines[at : at + 12])
                if not old.strip():
                    return "Read", {"file_path": path}
                new = old.replace("\n", f"  # {number}\n", 1)
                return "Edit", {"file_path": path, "old_string": old, "new_string": new, "replace_all": True}
            case "write":
                return "Write", {
                    "file_path": f"notes/{number % 50}.py",
                    "content": f"# {number}\n" + "".join(lines[:200]),
                }
            case "bash":
                return "bash", {"command": f"wc -l {path} && head -{5 + number % 40} {path}"}
            case "todo":
                return "TodoCreate", {"todos": [{"content": f"look at {path} in step {number}"}]}
            case _:
                return "TodoStart", {"id": number // len(KINDS) + 1}


def text_bytes(*texts: str) -> int:
    return sum(len(text.encode("utf-8", "replace")) for text in texts)
