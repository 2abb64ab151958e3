"""A scripted reply as OpenAI's Responses API and Google's API stream it, for the loopback model server."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tests.adapters.model_server import Reply

ENCRYPTED = "gAAAAABo-encrypted=="
THOUGHT_SIGNATURE = "EjQKMgG2c2lnbmVk"


def _texts(reply: Reply) -> list[str]:
    return [reply.text] if isinstance(reply.text, str) else list(reply.text)


def _line(chunk: dict[str, Any]) -> str:
    return json.dumps(chunk, ensure_ascii=False, separators=(",", ":"))


def response_items(reply: Reply) -> list[dict[str, Any]]:
    """The output items of a whole reply; reasoning is encrypted."""
    items: list[dict[str, Any]] = []
    if reply.thinking:
        summary = [{"type": "summary_text", "text": "".join(reply.thinking)}]
        items.append({"id": "rs_1", "type": "reasoning", "summary": summary, "encrypted_content": ENCRYPTED})
    if texts := _texts(reply):
        content = [{"type": "output_text", "text": "".join(texts), "annotations": []}]
        items.append({"id": "msg_1", "type": "message", "role": "assistant", "status": "completed", "content": content})
    for index, call in enumerate(reply.calls):
        given = {"call_id": call.get("id", f"call_{index}"), "name": call["name"]}
        arguments = call.get("arguments", "{}")
        items.append(
            {"id": f"fc_{index}", "type": "function_call", "status": "completed", **given, "arguments": arguments}
        )
    return items


def response_events(reply: Reply) -> list[bytes]:
    """response.completed, or response.incomplete with the reason in `reply.finish`, included."""
    whole: dict[str, Any] = {
        "id": "resp_1",
        "object": "response",
        "created_at": 1,
        "model": "test-model",
        "status": "in_progress",
        "output": [],
        "tools": [],
        "tool_choice": "auto",
        "parallel_tool_calls": True,
    }
    chunks: list[dict[str, Any]] = [{"type": "response.created", "response": whole}]
    items = response_items(reply)
    for place, item in enumerate(items):
        at: dict[str, Any] = {"output_index": place, "item_id": item["id"]}
        begun = {**item, **({"arguments": ""} if "arguments" in item else {})}
        chunks.append({"type": "response.output_item.added", "output_index": place, "item": begun})
        if item["type"] == "reasoning":
            name, pieces = "response.reasoning_summary_text.delta", list(reply.thinking)
            at["summary_index"] = 0
            part = {"type": "summary_text", "text": ""}
            chunks.append({"type": "response.reasoning_summary_part.added", **at, "part": part})
        elif item["type"] == "message":
            name, pieces = "response.output_text.delta", _texts(reply)
            at |= {"content_index": 0, "logprobs": []}
        else:
            half = len(item["arguments"]) // 2
            name = "response.function_call_arguments.delta"
            pieces = [item["arguments"][:half], item["arguments"][half:]]
        chunks += [{"type": name, **at, "delta": piece} for piece in pieces]
        chunks.append({"type": "response.output_item.done", "output_index": place, "item": item})
    whole = {**whole, "status": "completed", "output": items}
    if reply.finish:
        whole |= {"status": "incomplete", "incomplete_details": {"reason": reply.finish}}
    details = {"cached_tokens": 4, "cache_write_tokens": 2}
    written = {"output_tokens": 5, "output_tokens_details": {"reasoning_tokens": 2}, "total_tokens": 15}
    whole["usage"] = {"input_tokens": 10, "input_tokens_details": details, **written}
    chunks.append({"type": f"response.{whole['status']}", "response": whole})
    numbered = [{"type": chunk["type"], "sequence_number": number, **chunk} for number, chunk in enumerate(chunks)]
    return [f"event: {chunk['type']}\ndata: {_line(chunk)}\n\n".encode() for chunk in numbered]


def content_events(reply: Reply) -> list[bytes]:
    """generateContent's chunks: thoughts, words, calls with the first one signed, then finishReason and usage."""
    pieces: list[dict[str, Any]] = [{"text": text, "thought": True} for text in reply.thinking]
    pieces += [{"text": text} for text in _texts(reply)]
    for index, call in enumerate(reply.calls):
        called = {"name": call["name"], "args": json.loads(call.get("arguments", "{}")), "id": call["id"]}
        signed = {"thoughtSignature": THOUGHT_SIGNATURE} if reply.thinking and index == 0 else {}
        pieces.append({"functionCall": called, **signed})
    chunks: list[dict[str, Any]] = [
        {"candidates": [{"content": {"role": "model", "parts": [piece]}, "index": 0}]} for piece in pieces
    ]
    usage = {"promptTokenCount": 10, "candidatesTokenCount": 3, "thoughtsTokenCount": 2, "cachedContentTokenCount": 4}
    end = {"content": {"role": "model", "parts": [{"text": ""}]}, "finishReason": reply.finish or "STOP", "index": 0}
    chunks.append({"candidates": [end], "usageMetadata": usage, "modelVersion": "test-model"})
    return [f"data: {_line(chunk)}\r\n\r\n".encode() for chunk in chunks]
