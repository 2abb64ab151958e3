"""What fills a model's window: how much a conversation may hold, what it does hold, and old outputs made short.

Pure and deterministic. Sizes are estimates at four characters a token, scaled by what the provider counted for the
last request. An output is shortened once, in the journal's order, so that what is sent stays the same in between.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import msgspec
from msgspec import Struct, structs

from quintet.domain.settings.settings import CompressionSettings, Settings
from quintet.domain.turn.messages import Message, Request, Role

DEFAULT_WINDOW = 128_000  # tokens of a model whose window nobody knows
LEAST_ROOM = 1_000  # tokens that messages have, however long what stands before them is
MOST_SCALE = 400  # percent: a script with a token for each character
IMAGE_CHARACTERS = 6000  # that an image counts for: providers take some 1500 tokens for one of usual size
OLD_OUTPUT = 1_200  # characters that an old output is shortened to
LEFT_OUT = (
    "[… {lines} lines, {characters} characters omitted to save space; the journal has them. Call again to see them.]"
)


class Measured(Struct, frozen=True, gc=False):
    """What the provider counted for the newest request, and how many messages of the conversation that one had."""

    tokens: int
    messages: int


class ContextLimits(Struct, frozen=True, gc=False):
    """What makes compression of a conversation due; tokens at four characters each, 0 for any number."""

    messages: int = 0
    tokens: int = 0
    keep: int = 20  # newest messages that stay as they are
    said: str = ""  # where `tokens` is from


def tokens(messages: Iterable[Message]) -> int:
    """An estimate: four characters a token."""
    return sum(map(characters, messages)) // 4


def characters(message: Message) -> int:
    if message.original:
        return len(message.original.data)
    calls = sum(len(call.name) + len(call.arguments) for call in message.calls)
    return len(message.text) + calls + IMAGE_CHARACTERS * len(message.kept)


def tool_tokens(request: Request) -> int:
    return len(msgspec.json.encode(request.tools)) // 4 if request.tools else 0


def head_tokens(request: Request) -> int:
    """Of what stands before the messages: tools and system message."""
    return tool_tokens(request) + tokens(request.messages[:1])


def scale(measured: Measured | None, head: int, messages: Sequence[Message]) -> int:
    """Tokens as the provider counts them for a hundred of ours; never less, so that an odd count does no harm."""
    if measured is None or measured.messages > len(messages):
        return 100
    estimated = head + tokens(messages[: measured.messages])
    return min(max(100 * measured.tokens // max(estimated, 1), 100), MOST_SCALE)


def percent_used(measured: Measured | None, messages: Sequence[Message], window: int) -> float:
    """How much of a window a conversation fills."""
    return round(100 * tokens_used(measured, messages) / window, 1)


def tokens_used(measured: Measured | None, messages: Sequence[Message]) -> int:
    """What a conversation takes of a window: as the provider counted it, and what came since as we do."""
    known = measured if measured and measured.messages <= len(messages) else None
    counted, since = (known.tokens, known.messages) if known else (0, 0)
    return counted + tokens(messages[since:])


def window_of(settings: Settings, name: str) -> int:
    """Tokens that a model can read, as its settings say; 0 if nobody knows."""
    model = settings.models.get(name)
    return model.context_window if model else 0


def limits(
    settings: CompressionSettings,
    window: int = 0,
    *,
    head: int = 0,
    reply: int = 0,
    scale: int = 100,
    overflowed: int = 0,
) -> ContextLimits:
    """What a conversation may hold with a model that reads `window` tokens and writes `reply` of them.

    `head` tokens stand before the messages; at `overflowed` tokens of messages the server has said that it is too much.
    What the user set in tokens holds as it is, and none at all if they set 0.
    """
    own, held, said = settings.max_tokens, 0, ""
    share = int((window or DEFAULT_WINDOW) * min(max(settings.share, 0.0), 1.0))
    if share and own != 0:
        left = window - reply if 0 < reply <= window // 2 else share
        held = max(min(share, left) * 100 // scale - head, LEAST_ROOM)
        said = f"compression.share = {settings.share:g} of {window or DEFAULT_WINDOW}"
    if own and not (window and held and held < own):
        held, said = own, f"compression.max_tokens = {own}"
    most = overflowed * 3 // 4
    if most and not 0 < held <= most:
        held, said = most, f"the server refused {overflowed} as too many"
    return ContextLimits(settings.max_messages, held, settings.keep_messages, said)


# ── old outputs


def shortened(text: str, most: int) -> str:
    """The first and last lines of an output, about `most` characters of it, and what is left out between."""
    if len(text) <= most + len(LEFT_OUT):
        return text
    head, tail = text[: most * 2 // 3], text[-(most // 3) :]
    head = head[: head.rfind("\n")] if "\n" in head else head
    tail = tail[tail.find("\n") + 1 :] if "\n" in tail else tail
    out = text[len(head) : len(text) - len(tail)]
    lines = out.strip("\n").count("\n") + 1
    return f"{head}\n{LEFT_OUT.format(lines=lines, characters=len(out))}\n{tail}"


def with_shortened(messages: Sequence[Message], places: Mapping[int, int]) -> list[Message]:
    """The messages, with the outputs at these places shortened to so many characters."""
    return [_short(message, places[place]) if place in places else message for place, message in enumerate(messages)]


def _short(message: Message, most: int) -> Message:
    if message.role is not Role.TOOL:
        return message
    return structs.replace(message, text=shortened(message.text, most), images=())


def long_outputs(messages: Sequence[Message], start: int, end: int, most: int = OLD_OUTPUT) -> dict[int, int]:
    """The places of the outputs in `messages[start:end]` that become shorter at `most` characters."""
    return {
        place: most
        for place in range(start, end)
        if messages[place].role is Role.TOOL
        and (messages[place].images or len(messages[place].text) > most + len(LEFT_OUT))
    }


# ── the picture


class ContextPart(Struct, frozen=True, gc=False):
    name: str
    tokens: int


KINDS = {
    Role.USER: "your messages and attachments",
    Role.ASSISTANT: "answers and calls",
    Role.TOOL: "outputs of tools",
}


def parts(request: Request, *, summarised: bool, scale: int = 100) -> list[ContextPart]:
    """What fills a request, by kind, in the order it is sent."""
    head, *messages = request.messages
    summary = messages[:1] if summarised else []
    found = [
        ("system message", tokens([head])),
        ("tools", tool_tokens(request)),
        ("summary", tokens(summary)),
        *((name, tokens(m for m in messages[len(summary) :] if m.role is role)) for role, name in KINDS.items()),
    ]
    return [ContextPart(name, held * scale // 100) for name, held in found]
