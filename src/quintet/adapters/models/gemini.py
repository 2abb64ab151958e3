"""The wire of Google's own API: POST {base_url}/models/MODEL:streamGenerateContent?alt=sse.

A reply that holds thought signatures is kept as it came, part by part, and goes back unchanged to the model that signed
it. The terminal marker is a finishReason in a body that ended properly.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any
from urllib.parse import quote

from quintet.adapters.files.loose_json import as_count, as_dict, as_list, as_object, as_text, decoded, encoded, sendable
from quintet.adapters.models.http_model import HttpModel, MessageCache, StreamedReply
from quintet.adapters.models.keys import Key
from quintet.domain.base.lazy_regex import regex
from quintet.domain.models.model_facts import BUDGET
from quintet.domain.settings.settings import ModelSettings
from quintet.domain.turn import messages
from quintet.domain.turn.messages import Finish, Message, Part, Request, Role
from quintet.domain.turn.streamed_call import StreamedCall

BUDGETS = {"low": 1024, "medium": 8192, "high": 24_576}  # for models that take tokens, not a level
UNSIGNED = "skip_thought_signature_validator"  # the API's own word for a call that another model made
_OLDER = regex(r"gemini-(1|2)\b")  # they know no pictures in a result, and no call that has to be signed
_FINISH = {"STOP": Finish.STOP, "MAX_TOKENS": Finish.LENGTH}
_BROKEN = frozenset(
    [
        "MALFORMED_FUNCTION_CALL",
        "UNEXPECTED_TOOL_CALL",
        "TOO_MANY_TOOL_CALLS",
        "MALFORMED_RESPONSE",
        "MISSING_THOUGHT_SIGNATURE",
        "OTHER",
    ]
)

Piece = dict[str, Any]  # a `part` of the API's


class GenerateContent(HttpModel):
    """A model behind Google's API; on Vertex AI with a token of a command's in place of a key."""

    def __init__(self, settings: ModelSettings, api_key: Key | str, name: str) -> None:
        super().__init__(settings, api_key, name)
        self._written: dict[str, MessageCache[list[Piece]]] = {}  # by origin: what is signed goes back to its own model

    def _path(self, request: Request) -> str:
        model = (request.model or self.name).removeprefix("models/")
        return f"/models/{quote(model, safe='')}:streamGenerateContent?alt=sse"

    def _own_headers(self) -> dict[str, str]:
        if not self._key:
            return {}
        token = self._host.endswith("aiplatform.googleapis.com") and self._source_is_command()
        return {"authorization": f"Bearer {self._key}"} if token else {"x-goog-api-key": self._key}

    def _reply(self, request: Request) -> StreamedReply:
        return _Reply(request, self._failures, self._origin(request))

    def _origin(self, request: Request) -> str:
        return f"gemini:{request.model or self.name}"

    def _body(self, request: Request) -> dict[str, Any]:
        origin, older = self._origin(request), bool(_OLDER.search(request.model or self.name))
        body = dict(request.options)
        if told := "\n\n".join(m.text for m in request.messages if m.role is Role.SYSTEM and m.text.strip()):
            body["systemInstruction"] = {"parts": [{"text": sendable(told)}]}
        written = self._written.setdefault(origin, MessageCache(lambda message: _pieces(message, origin, older)))
        body["contents"] = _contents(request.messages, written, older)
        written.keep_to(request.messages)
        if request.tools:
            body["tools"] = [{"functionDeclarations": [_declared(tool) for tool in request.tools]}]
            if config := self._calling(request):
                body["toolConfig"] = {"functionCallingConfig": config}
        if generation := self._generation(request):
            body["generationConfig"] = generation
        return body

    def _calling(self, request: Request) -> dict[str, Any]:
        allowed = self._allowed(request)
        if request.tool_choice == "none" or allowed == ():
            return {"mode": "NONE"}
        # VALIDATED leaves the choice between words and calls; ANY would force a call.
        return {"mode": "VALIDATED", "allowedFunctionNames": list(allowed)} if allowed else {}

    def _generation(self, request: Request) -> dict[str, Any]:
        wanted: dict[str, Any] = {
            "maxOutputTokens": self._settings.max_tokens or None,
            "temperature": self._settings.temperature,
            "stopSequences": list(request.stop) or None,
            "thinkingConfig": self._thinking(request) or None,
        }
        if request.json_schema:
            wanted |= {"responseMimeType": "application/json", "responseJsonSchema": request.json_schema}
        return {name: value for name, value in wanted.items() if value is not None}

    def _thinking(self, request: Request) -> dict[str, Any]:
        effort, tokens = self._effort(request), self._settings.thinking_tokens
        shown = {"includeThoughts": True} if self.facts.efforts or effort or tokens else {}
        if tokens:
            return {**shown, "thinkingBudget": tokens}
        if effort and self.facts.thinking == BUDGET:
            return {**shown, "thinkingBudget": BUDGETS[effort]}
        return {**shown, "thinkingLevel": effort.upper()} if effort else shown


class _Reply(StreamedReply):
    def __init__(self, request: Request, failures: Any, origin: str) -> None:
        super().__init__(request, failures)
        self._origin = origin
        self._pieces: list[Piece] = []
        self._refused = False

    def take(self, chunk: dict[str, Any]) -> Iterator[Part]:
        if error := chunk.get("error"):
            raise self.failures.of_event(error)
        self.served(chunk.get("modelVersion"), chunk.get("responseId"))
        if usage := as_dict(chunk.get("usageMetadata")):
            read = as_count(usage.get("promptTokenCount")) + as_count(usage.get("toolUsePromptTokenCount"))
            written = as_count(usage.get("candidatesTokenCount")) + as_count(usage.get("thoughtsTokenCount"))
            self.usage = messages.Usage(read, written, as_count(usage.get("cachedContentTokenCount")))
        if reason := as_text(as_dict(chunk.get("promptFeedback")).get("blockReason")):
            self.begun, self.finish, self._refused = True, reason, True
        candidate = as_dict(next(iter(as_list(chunk.get("candidates"))), None))
        self.begun = self.begun or bool(candidate)
        for piece in map(as_dict, as_list(as_dict(candidate.get("content")).get("parts"))):
            text = as_text(piece.get("text"))
            if text:
                yield messages.ThinkingPart(text) if piece.get("thought") else messages.TextPart(text)
            if call := as_dict(piece.get("functionCall")):  # it comes whole, and others may follow
                streamed = StreamedCall(sum("functionCall" in kept for kept in self._pieces))
                yield from streamed.add(as_text(call.get("name")), encoded(as_dict(call.get("args"))))
            self._keep(piece)
        if finish := as_text(candidate.get("finishReason")):
            self.finish = finish
            if finish in _BROKEN:
                why = as_text(candidate.get("finishMessage")) or finish
                raise self.failures.of_reply(f"the model's reply is incomplete: {why}", again=True)

    def _keep(self, piece: Piece) -> None:
        """Words without a signature are put together; what is signed stays as it is."""
        signed = "thoughtSignature" in piece
        if piece.get("thought") and not signed:
            return  # a summary, which is not wanted back
        before = self._pieces[-1] if self._pieces else {}
        if set(piece) == {"text"} and set(before) == {"text"}:
            self._pieces[-1] = {"text": before["text"] + as_text(piece["text"])}
        elif piece != {"text": ""}:
            self._pieces.append(piece)

    def last(self) -> Iterator[Part]:
        called = any("functionCall" in piece for piece in self._pieces)
        finish = _FINISH.get(self.finish, Finish.STOP if not self.finish else Finish.REFUSED)
        finish = Finish.TOOL_CALLS if finish is Finish.STOP and called else finish
        finish = Finish.REFUSED if self._refused else finish
        if finish is not Finish.REFUSED:  # what a filter has cut down is not to be acted on
            yield from self._calls(finish)
        yield messages.EndPart(finish, self.usage)

    def _calls(self, finish: Finish) -> Iterator[Part]:
        """The calls in order, which come whole here, and the reply as it came if it is signed."""
        kept: list[Piece] = []
        for position, piece in enumerate(self._pieces):
            if call := as_dict(piece.get("functionCall")):
                name, sent = as_text(call.get("name")), as_text(call.get("id"))
                if not name:
                    raise self.failures.of_reply("the model called a tool without naming it", again=True)
                identity = self.fresh_id(sent, position)
                arguments = encoded(as_dict(call.get("args")))
                yield messages.CallPart(messages.ToolCall(identity, name, arguments))
                piece = {**piece, "functionCall": {**call, "id": identity}} if sent else piece
            kept.append(piece)
        if finish is not Finish.LENGTH and any("thoughtSignature" in piece for piece in kept):
            original = messages.Original(self._origin, encoded(kept))
            yield messages.OriginalPart(original)


def _declared(tool: messages.ToolSchema) -> dict[str, Any]:
    return {"name": tool.name, "description": tool.description, "parametersJsonSchema": tool.parameters}


def _contents(conversation: Iterable[Message], written: MessageCache[list[Piece]], older: bool) -> list[dict[str, Any]]:
    """Messages as they are sent: roles take turns, and each result names the call that it answers."""
    sent: list[dict[str, Any]] = []
    names: dict[str, str] = {}
    identified: set[str] = set()  # calls that the model itself gave an id
    for message in conversation:
        if message.role is Role.SYSTEM or not (pieces := written(message)):
            continue
        names |= {call.id: call.name for call in message.calls}
        identified |= {as_text(as_dict(piece.get("functionCall")).get("id")) for piece in pieces}
        if message.role is Role.TOOL:
            answered: Piece = {"name": names.get(message.call_id, "tool")}
            answered |= {"id": message.call_id} if message.call_id in identified else {}
            pieces = [_answer(pieces[0], answered), *pieces[1:]]
        role = "model" if message.role is Role.ASSISTANT else "user"
        if sent and sent[-1]["role"] == role:
            sent[-1]["parts"] += pieces
        else:
            sent.append({"role": role, "parts": [*pieces]})
    if older:  # pictures stand after all results of their step
        for content in sent:
            if any("functionResponse" in piece for piece in content["parts"]):
                content["parts"].sort(key=lambda piece: "functionResponse" not in piece)
    return sent


def _answer(piece: Piece, answered: Piece) -> Piece:
    return {"functionResponse": {**answered, **piece["functionResponse"]}}


def _pieces(message: Message, origin: str, older: bool) -> list[Piece]:
    if message.original and message.original.origin == origin:
        return as_list(decoded(message.original.data))
    text: list[Piece] = [{"text": sendable(message.text)}] if message.text.strip() else []
    shown: list[Piece] = [{"inlineData": {"mimeType": i.media_type, "data": i.data}} for i in message.images]
    if message.role is Role.TOOL:
        result: Piece = {"response": {"output": sendable(message.text)}}
        if shown and not older:
            return [{"functionResponse": {**result, "parts": shown}}]
        return [{"functionResponse": result}, *shown]
    calls: list[Piece] = [{"functionCall": {"name": c.name, "args": as_object(c.arguments)}} for c in message.calls]
    if calls and not older:
        calls[0]["thoughtSignature"] = UNSIGNED
    return [*shown, *text, *calls]
