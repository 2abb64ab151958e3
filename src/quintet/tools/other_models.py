"""Other models: one question to the deep one, and one about images to the one that sees."""

from __future__ import annotations

import binascii
from typing import Any

from quintet.domain.base.errors import ToolFailed
from quintet.domain.base.wording import counted
from quintet.domain.permission.effects import Effect
from quintet.domain.ports.ports import Workbench
from quintet.domain.turn.messages import Finish, Image
from quintet.domain.turn.tool_spec import Advice, Advisers, ToolResult, Touch
from quintet.tools.declare import tool
from quintet.tools.images import IMAGE_BYTES, media_type

MOST_CHARACTERS = 30_000
QUESTION_CHARACTERS = 100_000
MOST_IMAGES = 8


@tool(effects=set(), needs=("deep model",), asks=True)
async def ask_smart_friend(bench: Workbench, question: str) -> ToolResult:
    """Ask the strongest model one question. It sees only the question: include everything it needs.

    :question: the question, with the code, errors and facts it takes to answer it
    """
    _check(question)
    advice = await _advisers(bench).ask("friend", "deep", question, tell=bench.progress)
    return _told(advice)


def _looks(arguments: dict[str, Any]) -> Touch:
    return Touch(frozenset({Effect.READ}), tuple(arguments["images"]))


@tool(effects={Effect.READ}, touch=_looks, needs=("vision model",), asks=True)
async def visual_checker(bench: Workbench, question: str, images: tuple[str, ...] = ()) -> ToolResult:
    """Have a model that can see look at image files: screenshots, diagrams, pictures. PNG, JPEG, WebP or GIF.

    :question: what you want to know about them
    :images: paths of the image files
    """
    _check(question)
    if not 1 <= len(images) <= MOST_IMAGES:
        raise ToolFailed(f"visual_checker: {counted(len(images), 'image')}; 1 to {MOST_IMAGES} are allowed")
    shown = [_image(path, bench.files.read(path)) for path in images]
    names = "\n".join(f"Image {number}: {path}" for number, path in enumerate(images, 1))
    advice = await _advisers(bench).ask("vision", "vision", f"{names}\n\n{question}", shown, bench.progress)
    return _told(advice)


def _advisers(bench: Workbench) -> Advisers:
    if bench.advisers is None:
        raise ToolFailed("there is no other model to ask")
    return bench.advisers


def _check(question: str) -> None:
    if not question.strip():
        raise ToolFailed("expected a question")
    if len(question) > QUESTION_CHARACTERS:
        raise ToolFailed(f"the question has {len(question)} characters; the limit is {QUESTION_CHARACTERS}")


def _image(path: str, data: bytes) -> Image:
    if len(data) > IMAGE_BYTES:
        raise ToolFailed(f"{path}: {len(data)} bytes; the limit is {IMAGE_BYTES}: make it smaller")
    kind = media_type(data)
    if not kind:
        raise ToolFailed(f"{path}: not a PNG, JPEG, WebP or GIF")
    return Image(kind, binascii.b2a_base64(data, newline=False).decode())


def _told(advice: Advice) -> ToolResult:
    text = advice.text or "(empty reply)"
    if (over := len(text) - MOST_CHARACTERS) > 0:
        text = f"{text[:MOST_CHARACTERS]}\n… {over} characters omitted …"
    if advice.finish is Finish.LENGTH:
        text += "\n(the answer was truncated at its length limit)"
    if advice.finish is Finish.REFUSED:
        text += "\n(it declined to continue)"
    return ToolResult(text, summary=f"by {advice.consulted.model}", consulted=(advice.consulted,))
