"""What an ACP agent's stream means: what it is asked before its assignment, what it spends, and how it really ended."""

import json
from typing import Any

import pytest

from quintet.domain.dials.axes import PermissionProfile
from quintet.domain.permission.effects import Grant
from quintet.domain.permission.gate import Sandbox
from quintet.domain.tasks.executors import (
    Assignment,
    CallBegan,
    CallEnded,
    ExecutorFailure,
    ExecutorPart,
    Printed,
    Spent,
)
from quintet.domain.tasks.roles import ExecutorRole
from quintet.domain.turn.messages import Usage
from quintet.features.ai_clis.acp import AcpAgent
from quintet.features.ai_clis.dialect import Start
from quintet.features.ai_clis.settings import ExecutorSettings

OLDER = {
    "modes": {"currentModeId": "default", "availableModes": [{"id": "plan", "name": "P"}, {"id": "yolo", "name": "Y"}]},
    "models": {"currentModelId": "auto", "availableModels": [{"modelId": "auto"}, {"modelId": "m-1", "name": "One"}]},
}
NEWER = {
    "configOptions": [
        {"id": "how", "category": "mode", "currentValue": "ask", "options": [{"value": "full-access", "name": "F"}]},
        {
            "id": "who",
            "category": "model",
            "currentValue": "a/b",
            "options": [{"value": "claude-opus-4-5", "name": "O"}],
        },
    ]
}


class Talk:
    """A client and an agent whose every word is in the test."""

    def __init__(
        self, walls: Sandbox = Sandbox.BWRAP, *, model: str = "", writes: bool = True, role: str = "execute"
    ) -> None:
        asked = Assignment("mine", ExecutorRole(role), "Do it.", Grant(), PermissionProfile.NORMAL)
        settings = ExecutorSettings(command="x", model=model)
        self.agent = AcpAgent(Start(asked, settings, "/r", walls, writes, "/p", {}, "/h"))
        self.agent.opening()
        self.parts: list[ExecutorPart] = []

    def hears(self, **event: Any) -> list[dict[str, Any]]:
        """What the agent is told after an event."""
        self.parts += self.agent.take(event)
        return [json.loads(line) for line in self.agent.reply().splitlines()]

    def opened(self, **session: Any) -> list[tuple[str, Any]]:
        """Methods and values of what is asked of a new session, each answered."""
        self.hears(id=1, result={"protocolVersion": 1})
        said = self.hears(id=2, result={"sessionId": "s", **session})
        asked = []
        while said:
            (one,) = said
            asked.append(
                (one["method"], one["params"].get("modeId", one["params"].get("modelId", one["params"].get("value"))))
            )
            said = self.hears(id=one["id"], result={}) if one["method"] != "session/prompt" else []
        return asked

    def update(self, what: str, /, **update: Any) -> None:
        self.hears(method="session/update", params={"update": {"sessionUpdate": what, **update}})

    def says(self, text: str) -> None:
        self.update("agent_message_chunk", content={"type": "text", "text": text})

    def call(self, status: str, output: str = "") -> None:
        content = [{"type": "content", "content": {"type": "text", "text": output}}]
        self.update("tool_call", toolCallId=str(len(self.parts)), kind="execute", status=status, content=content)

    def ends(self, **usage: int) -> tuple[bool, ExecutorFailure | None, str]:
        self.hears(id=3, result={"stopReason": "end_turn", "usage": usage})
        assert self.agent.outcome
        return self.agent.outcome.ok, self.agent.outcome.failure, self.agent.outcome.problem


PROMPT = ("session/prompt", None)


def test_behind_our_walls_it_is_let_go_of_its_own() -> None:
    assert Talk().opened(**OLDER) == [("session/set_mode", "yolo"), PROMPT]
    assert Talk().opened(**NEWER) == [("session/set_config_option", "full-access"), PROMPT]
    assert Talk().opened() == [PROMPT]


def test_without_our_walls_it_keeps_its_own_and_one_that_only_reads_is_asked_to() -> None:
    assert Talk(Sandbox.NONE).opened(**OLDER) == [PROMPT]
    assert Talk(Sandbox.NONE, writes=False).opened(**OLDER) == [("session/set_mode", "plan"), PROMPT]


def test_a_mode_that_it_refuses_is_no_failure() -> None:
    talk = Talk()
    talk.hears(id=1, result={"protocolVersion": 1})
    (mode,) = talk.hears(id=2, result={"sessionId": "s", **OLDER})
    (prompt,) = talk.hears(id=mode["id"], error={"code": -1, "message": "not for root"})
    assert (prompt["method"], talk.agent.outcome) == ("session/prompt", None)


def test_the_model_of_the_settings_is_chosen_by_its_value_or_name() -> None:
    assert Talk(Sandbox.NONE, model="one").opened(**OLDER) == [("session/set_model", "m-1"), PROMPT]
    assert Talk(Sandbox.NONE, model="auto").opened(**OLDER) == [PROMPT], "it is that already"
    chosen = Talk(Sandbox.NONE, model="claude-opus-4-5").opened(**NEWER)
    assert chosen == [("session/set_config_option", "claude-opus-4-5"), PROMPT]
    talk = Talk(model="none")
    assert talk.opened(**OLDER) == [] and talk.agent.outcome
    assert talk.agent.outcome.failure is ExecutorFailure.REFUSED
    assert "it does not offer the model none; it has: auto, m-1" in talk.agent.outcome.problem


def test_what_it_says_its_session_cost_is_counted_once() -> None:
    talk = Talk()
    talk.opened()
    for amount in (0.5, 0.5, 1.25):
        talk.update("usage_update", used=1, size=2, cost={"amount": amount, "currency": "USD"})
    talk.ends(inputTokens=10, outputTokens=5)
    spent = [(part.usage, part.cost) for part in talk.parts if isinstance(part, Spent)]
    assert spent == [(Usage(), 0.5), (Usage(), 0.75), (Usage(10, 5), 0.0)]


def test_without_a_word_about_cost_tokens_count_by_the_price_of_a_known_model() -> None:
    talk = Talk(Sandbox.NONE, model="claude-opus-4-5")
    talk.opened(**NEWER)
    talk.ends(inputTokens=1_000_000, outputTokens=0)
    (spent,) = [part for part in talk.parts if isinstance(part, Spent)]
    assert spent.cost > 1
    unknown = Talk()
    unknown.opened()
    unknown.ends(inputTokens=1_000_000)
    assert [part.cost for part in unknown.parts if isinstance(part, Spent)] == [0.0]


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        ({"command": "echo hi"}, "echo hi"),
        ({"command": ["bash", "-lc", "echo hi"], "cwd": "/r"}, "echo hi"),
        ({"command": ["echo", "hi"]}, "echo hi"),
    ],
)
def test_a_call_is_named_by_its_command_also_where_that_comes_later(given: dict[str, Any], shown: str) -> None:
    talk = Talk()
    talk.opened()
    talk.update("tool_call", toolCallId="c", kind="execute", title="Terminal", status="pending", rawInput={})
    assert talk.parts == []
    talk.update("tool_call_update", toolCallId="c", rawInput={"cwd": "/r"}, status="in_progress")
    assert talk.parts == []
    talk.update("tool_call_update", toolCallId="c", rawInput=given)
    talk.update("tool_call_update", toolCallId="c", status="completed", rawOutput="hi")
    assert talk.parts == [CallBegan("c", "execute", shown), CallEnded("c", True, "hi")]


def test_a_call_is_named_when_it_asks_for_permission() -> None:
    talk = Talk()
    talk.opened()
    talk.update("tool_call", toolCallId="c", kind="execute", title="Terminal", status="pending")
    call = {"toolCallId": "c", "rawInput": {"command": "make"}}
    talk.hears(id=9, method="session/request_permission", params={"toolCall": call, "options": []})
    assert talk.parts == [CallBegan("c", "execute", "make")]


@pytest.mark.parametrize(
    "answer",
    [
        "API Error: 401 Invalid API key",
        "Ran into this error: Request failed: 429 Too Many Requests",
        "Error: connect ECONNREFUSED 127.0.0.1:9",
    ],
)
def test_an_answer_that_is_an_error_is_a_failure(answer: str) -> None:
    talk = Talk()
    talk.opened()
    talk.says(answer)
    ok, failure, problem = talk.ends()
    assert (ok, failure, problem) == (False, None, answer), "its words say of which kind"


def test_an_error_after_words_about_its_attempts_is_a_failure() -> None:
    talk = Talk()
    talk.opened()
    talk.says("Info: Request failed due to a transient API error. Retrying...")
    talk.says("Error: Authentication failed with provider at http://127.0.0.1:9/v1 (HTTP 401).")
    ok, failure, problem = talk.ends()
    assert (ok, failure) == (False, None)
    assert problem.startswith("Error: Authentication failed")
    streams = Talk()
    streams.opened()
    for word in ("Done; it now says ", "Error", ": 401"):
        streams.says(word)
    assert streams.ends()[0], "an answer that ends in such words is an answer"


@pytest.mark.parametrize("answer", ["Error handling now covers 401 and 429.", "I fixed the error: 429 is retried."])
def test_an_answer_about_errors_after_work_is_an_answer(answer: str) -> None:
    talk = Talk()
    talk.opened()
    talk.call("completed")
    talk.says(answer)
    assert talk.ends()[0]


def test_work_of_which_every_call_failed_is_not_done() -> None:
    talk = Talk()
    talk.opened()
    talk.call("failed", "bwrap: No permissions to create a new namespace")
    talk.says("DONE")
    ok, failure, problem = talk.ends()
    assert (ok, failure) == (False, ExecutorFailure.CRASHED)
    assert problem == "every call it made failed; last: bwrap: No permissions to create a new namespace"
    other = Talk()
    other.opened()
    other.call("failed", "1 test failed")
    other.call("completed")
    assert other.ends()[0]
    verifier = Talk(role="verify")
    verifier.opened()
    verifier.call("failed", "1 test failed")
    assert verifier.ends()[0], "a check that fails is what a verifier looks for"


def test_nothing_is_the_tasks_doing_before_the_agent_has_its_work() -> None:
    talk = Talk()
    talk.hears(id=1, result={"protocolVersion": 1})
    assert not talk.agent.has_its_work
    talk.hears(id=2, result={"sessionId": "s"})
    assert talk.agent.has_its_work


def test_silence_while_it_waits_for_its_model_is_its_services() -> None:
    talk = Talk()
    assert not talk.agent.waits_for_model, "it has not even answered us"
    talk.opened()
    assert talk.agent.waits_for_model
    talk.call("in_progress")
    assert not talk.agent.waits_for_model


def test_a_thread_that_it_calls_broken_is_a_failure_of_the_kind_that_its_last_words_say() -> None:
    talk = Talk()
    talk.opened()
    talk.says("Warning: Model metadata not found.\n\n")
    talk.update("session_info_update", _meta={"codex": {"threadStatus": {"type": "systemError"}}})
    talk.says("exceeded retry limit, last status: 429 Too Many Requests\n\n")
    ok, failure, problem = talk.ends()
    assert (ok, failure) == (False, None), "its words say of which kind"
    assert problem == "exceeded retry limit, last status: 429 Too Many Requests"
    vague = Talk()
    vague.opened()
    vague.update("session_info_update", _meta={"codex": {"threadStatus": {"type": "systemError"}}})
    vague.says("Something went wrong.")
    assert vague.ends() == (False, ExecutorFailure.UNREACHABLE, "Something went wrong.")
    mended = Talk()
    mended.opened()
    for status in ("systemError", "active"):
        mended.update("session_info_update", _meta={"codex": {"threadStatus": {"type": status}}})
    mended.says("DONE")
    assert mended.ends()[0], "it went on"


def test_what_it_tries_again_is_told_and_a_refused_key_is_not_tried_again() -> None:
    talk = Talk()
    talk.hears(id=1, result={"protocolVersion": 1})
    talk.hears(id=2, result={"sessionId": "s"})
    again = {"type": "system", "subtype": "api_retry", "attempt": 1, "error": "rate_limit", "error_status": 429}
    talk.hears(method="_claude/sdkMessage", params={"sessionId": "s", "message": again})
    assert talk.parts == [Printed("rate_limit (status 429), attempt 1")]
    assert talk.agent.outcome is None
    refused = {**again, "error": "authentication_failed", "error_status": 401}
    talk.hears(method="_claude/sdkMessage", params={"sessionId": "s", "message": refused})
    assert talk.agent.outcome and talk.agent.outcome.hopeless
    assert (talk.agent.outcome.status, talk.agent.outcome.problem) == (401, "authentication_failed (status 401)")


def test_words_of_claude_about_its_retries_are_asked_for_when_a_session_begins() -> None:
    (new,) = Talk().hears(id=1, result={"protocolVersion": 1})
    wanted = [{"type": "system", "subtype": "api_retry"}]
    assert new["params"]["_meta"] == {"claudeCode": {"emitRawSDKMessages": wanted}}


@pytest.mark.parametrize("kind", ["agent_message_chunk", "agent_thought_chunk", "tool_call"])
def test_only_work_shows_that_its_tries_are_over(kind: str) -> None:
    talk = Talk()
    talk.opened()
    for _ in range(2):
        talk.update("session_info_update", _meta={"codex": {"error": {"message": "Reconnecting... 1/5"}}})
        talk.update("session_info_update", _meta={"codex": {"threadStatus": {"type": "active"}}})
        assert talk.agent.trying
        talk.update(kind, toolCallId="c", content={"type": "text", "text": "On."})
        assert not talk.agent.trying


def test_codex_says_what_it_reconnects_after() -> None:
    talk = Talk()
    talk.opened()
    error = {"message": "Reconnecting... 1/5", "additionalDetails": "high demand", "willRetry": True}
    talk.update("session_info_update", _meta={"codex": {"error": error}})
    assert talk.parts == [Printed("Reconnecting... 1/5: high demand")]
    talk.update("tool_call", toolCallId="c", kind="execute", title="make", status="in_progress")
    output = {"terminal_output_delta": {"data": "make: not found", "terminal_id": "c"}}
    talk.update("tool_call_update", toolCallId="c", status="failed", _meta=output)
    assert talk.parts[-1] == CallEnded("c", False, "make: not found")
