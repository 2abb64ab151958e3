"""A recording: everything that came into the engine from outside, in the order it came.

A file of JSON lines. Each time a session is opened or taken up it goes on with a `Header`: what holds from the start.
Then follow entries: values the engine asked for (the time, an id, the user's rules) and ends of what it waited for (a
part of a reply, a tool's result, a write). An exported recording begins with the session's events.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cache
from hashlib import blake2b
from typing import Any

import msgspec
from msgspec import Struct, field

from quintet.domain.base import errors
from quintet.domain.base.errors import QuintetError, Unplayable
from quintet.domain.dials.axes import PermissionProfile
from quintet.domain.input.slash_line import CommandUsage
from quintet.domain.journal.protocol import Event, Recorded
from quintet.domain.permission.effects import Effect
from quintet.domain.permission.gate import Terms
from quintet.domain.ports.ports import Lease
from quintet.domain.settings.settings import Settings
from quintet.domain.turn.messages import (
    CallPart,
    EndPart,
    Message,
    Original,
    OriginalPart,
    Part,
    Request,
    Role,
    TextPart,
    ThinkingPart,
    ToolCall,
)
from quintet.domain.turn.tool_spec import ToolSpec

FORMAT = 1
CANCELLED = "CancelledError"
UNRECORDED = "unrecorded"  # kind of the last entry where something could not be written down: it says what
ENDED_EARLY = "RECORDING_ENDED"  # code of the notice that says so in the session


class OwnTool(Struct, frozen=True):
    """A user's own tool as the engine knows it; what it makes of arguments is in the recording."""

    name: str
    description: str
    profile: PermissionProfile
    effects: tuple[Effect, ...]
    parameters: dict[str, Any]
    needs: tuple[str, ...]
    toolset: str
    confined: bool
    asks: bool = False
    pauses: bool = False
    cut_short: str = ""


class Header(Struct, frozen=True, tag_field="type", tag="begin"):
    """What an owner of the session starts with."""

    format: int
    program: str  # the version of Quintet
    events: int  # the version of the events' shape
    project: str
    lease: Lease
    after: int  # the number of the last event before
    reason: str  # why the session was taken up; empty for a new one
    opening: tuple[Event, ...]  # what the person is told at the start
    settings: Settings
    terms: Terms
    person: bool
    answer_schema: dict[str, Any] | None = None
    agents_page: str = ""
    keeps_images: bool = False  # whether pictures that an input names are taken along
    looks_around: bool = False  # whether the surroundings are looked at before a turn
    finds_pages: bool = False  # whether pages for agents are looked for where calls touch files
    recalls: bool = False  # whether what fits an input is looked for
    learns: bool = False  # whether what a run shows may be kept
    agent: str = ""  # that is entered at the start
    own_tools: tuple[OwnTool, ...] = ()
    pages: dict[str, str] = field(default_factory=dict)  # prompts of the project's own
    shipped: dict[str, str] = field(default_factory=dict)  # digests of the others
    commands: tuple[CommandUsage, ...] = ()  # slash commands of features
    names_skills: bool = False  # whether it is asked what skill a slash command may be
    sees_work: bool = False  # whether commands tell of the whole project's work
    integrates: bool = False  # whether its units are in a worktree of their own
    widens: bool = False  # whether it claims what it writes, as a helper


class Past(Struct, frozen=True, tag_field="type", tag="event"):
    """An event of the session, in an exported recording."""

    seq: int
    at: str
    event: Event


class RaisedError(Struct, frozen=True, omit_defaults=True):
    """An error as it was raised, to be raised again."""

    kind: str  # the name of its class
    message: str = ""
    hint: str = ""
    code: str = ""
    retryable: bool = False
    retry_after: float | None = None
    errno: int | None = None  # of an OSError, with the next
    path: str = ""


class RecordEntry(Struct, frozen=True, array_like=True):
    kind: str
    value: Any = None
    fault: RaisedError | None = None


class RequestDigest(Struct, frozen=True):
    """A model request by its digests: enough to tell what of it is another."""

    system: str
    tools: str
    messages: str
    count: int  # of the messages
    said: str  # what the user said last


def own_tool(spec: ToolSpec) -> OwnTool:
    return OwnTool(
        spec.name,
        spec.description,
        spec.profile,
        tuple(sorted(spec.effects)),
        spec.schema(),
        spec.needs,
        spec.toolset,
        spec.confined,
        spec.asks,
        spec.course.pauses,
        spec.course.cut_short,
    )


# ── errors


def fault_of(error: BaseException) -> RaisedError:
    known = next((c.__name__ for c in type(error).__mro__ if getattr(errors, c.__name__, None) is c), "")
    if isinstance(error, QuintetError):
        retryable, after = getattr(error, "retryable", False), getattr(error, "retry_after", None)
        return RaisedError(known, error.message, error.hint, error.code, retryable, after)
    if isinstance(error, OSError):
        return RaisedError("OSError", error.strerror or str(error), errno=error.errno, path=str(error.filename or ""))
    return RaisedError(type(error).__name__, str(error))


def error_of(fault: RaisedError) -> Exception:
    """The error again; one that is none of ours has its name and its words."""
    known = getattr(errors, fault.kind, None)
    if known is not None:
        words = (fault.code, fault.message) if known is errors.RunFailed else (fault.message,)
        error: Exception = known(*words, hint=fault.hint)
        for name in ("code", "retryable", "retry_after"):
            if getattr(error, name, None) != getattr(fault, name):
                setattr(error, name, getattr(fault, name))
        return error
    if fault.kind == "OSError":
        return OSError(fault.errno, fault.message, fault.path or None) if fault.errno else OSError(fault.message)
    made: Exception = type(fault.kind, (Exception,), {})(fault.message)
    return made


# ── digests


def digest(data: bytes | str) -> str:
    return blake2b(data.encode("utf-8", "replace") if isinstance(data, str) else data, digest_size=8).hexdigest()


class Digests:
    """Digests of requests. Each message and each set of tools is taken once: a long conversation costs no more."""

    def __init__(self) -> None:
        self._messages: list[Message] = []  # of the last request, each with the digest of all up to it
        self._chain: list[bytes] = []
        self._tools: dict[tuple[str, ...], str] = {}
        self._encode = msgspec.json.Encoder().encode

    def asked(self, request: Request) -> RequestDigest:
        system, messages = request.messages[0], list(request.messages[1:])
        said = next((m.text for m in reversed(messages) if m.role is Role.USER), "")
        names = (request.tool_choice, *[tool.name for tool in request.tools])
        if names not in self._tools:
            self._tools[names] = digest(self._encode([request.tool_choice, request.tools]))
        whole = self._whole(messages)
        return RequestDigest(digest(system.text), self._tools[names], whole.hex(), len(messages), digest(said))

    def _whole(self, messages: list[Message]) -> bytes:
        known = len(self._messages)
        while messages[:known] != self._messages[:known]:
            known -= 1
        del self._messages[known:], self._chain[known:]
        for message in messages[known:]:
            before = self._chain[-1] if self._chain else b""
            self._messages.append(message)
            self._chain.append(blake2b(before + self._encode(message), digest_size=8).digest())
        return self._chain[-1] if self._chain else b""


# ── lines


class Segment(Struct):
    """One owner's part of a recording."""

    header: Header
    entries: list[RecordEntry]


class Recording(Struct):
    segments: list[Segment]
    events: list[Recorded]  # empty unless exported


_encode = msgspec.json.Encoder().encode
_Format = msgspec.defstruct("_Format", [("format", int, FORMAT), ("events", int, 0), ("program", str, "")])


@cache
def _decoder(kind: Any) -> Callable[[bytes], Any]:
    """Made when first used: who writes a recording reads none."""
    return msgspec.json.Decoder(kind).decode


def line(value: Header | Past | RecordEntry) -> bytes:
    return _encode(value) + b"\n"


def read(data: bytes, name: str, version: int) -> Recording:
    """A recording from its bytes, `version` being that of this program's events. A last line cut short is left out."""
    recording = Recording([], [])
    lines = data.split(b"\n")
    if not data.startswith(b'{"type":'):
        raise Unplayable(f"{name}: this is not a Quintet recording")
    for number, text in enumerate(lines[:-1], 1):
        try:
            _take(recording, text, version)
        except Unplayable as error:
            raise Unplayable(f"{name}: {error.message}", hint=error.hint) from None
        except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
            raise Unplayable(f"{name}: line {number} is damaged ({error})") from None
    if not recording.segments:
        raise Unplayable(f"{name}: the recording contains no run: it ends before one starts")
    return recording


def _take(recording: Recording, text: bytes, version: int) -> None:
    if not text.startswith(b"{"):
        if not recording.segments:
            raise Unplayable("the recording does not say how its run started")
        recording.segments[-1].entries.append(_decoder(RecordEntry)(text))
        return
    if text.startswith(b'{"type":"begin"'):
        found: Any = _decoder(_Format)(text)
        if (found.format, found.events) != (FORMAT, version):
            raise Unplayable(
                f"recorded by Quintet {found.program or 'of another version'} in another format "
                f"({found.format}.{found.events}; this program reads {FORMAT}.{version})",
                hint="Replay it with the version that recorded it.",
            )
    other = _decoder(Header | Past)(text)
    if isinstance(other, Past):
        recording.events.append(Recorded(other.seq, other.at, other.event))
    else:
        recording.segments.append(Segment(other, []))


def streams(entries: Iterable[RecordEntry]) -> Iterable[tuple[RequestDigest, list[RecordEntry]]]:
    """The model requests of a recording, each with the entries of its reply."""
    asked: tuple[RequestDigest, list[RecordEntry]] | None = None
    for entry in entries:
        if entry.kind == "ask":
            asked = msgspec.convert(entry.value, RequestDigest), []
        elif entry.kind.startswith("reply.") and asked:
            asked[1].append(entry)
            if entry.kind == "reply.over":
                yield asked
                asked = None


def part_of(entry: RecordEntry) -> Part:
    """A part of a reply, from its entry."""
    match entry.kind:
        case "reply.text":
            return TextPart(entry.value)
        case "reply.thinking":
            return ThinkingPart(entry.value)
        case "reply.call":
            return CallPart(msgspec.convert(entry.value, ToolCall))
        case "reply.original":
            return OriginalPart(msgspec.convert(entry.value, Original))
        case _:
            return msgspec.convert(entry.value, EndPart)
