"""/memory: the words of `quintet memory`, in a session."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import msgspec

from quintet.adapters.processes.system import SystemClock
from quintet.cli.parsing import read_or_help, typed_word
from quintet.features.memory.memory import opened
from quintet.features.memory.words import WORDS, MemoryScene, parsed

if TYPE_CHECKING:
    from quintet.app.services import Opening

ONLY_IN_TERMINALS = ("export", "import")


async def memory(opening: Opening, words: tuple[str, ...]) -> str:
    action, rest = typed_word("memory", words, WORDS, ONLY_IN_TERMINALS)
    given = read_or_help(lambda: parsed(action, rest, at_terminal=False))
    if isinstance(given, str):
        return given
    scene = MemoryScene(opened(opening), SystemClock().now())
    answer = await asyncio.to_thread(WORDS[action].run, scene, given)
    if given.json:
        return msgspec.json.format(msgspec.json.encode(answer.data), indent=1).decode()
    return "\n".join(answer.lines)
