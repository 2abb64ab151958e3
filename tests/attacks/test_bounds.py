"""Input without an end: arguments, answers and files nested or long beyond sense are errors, and the run goes on."""

import json
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from quintet.adapters.files.loose_json import as_object, decoded
from quintet.adapters.settings.layers import from_text
from quintet.app.tool_registry import ALL, BY_NAME
from quintet.domain.base.errors import SettingsError, ToolFailed
from quintet.domain.base.safe_text import brief
from quintet.domain.journal import protocol as p
from quintet.domain.journal.recording import Unplayable, read
from quintet.domain.turn.compaction import _arguments
from quintet.domain.turn.messages import CallPart, ToolCall
from quintet.domain.turn.reports import read_qa_report
from quintet.domain.turn.tool_spec import CallStatus
from quintet.features.ai_clis.lines import event_in
from quintet.testing import ScriptedModel
from quintet.tools.declare import MOST_ARGUMENTS
from tests.engine.driving import Driver, drive

DEEP = [
    "[" * 100_000,
    "[" * 900 + "]" * 900,
    '{"command":' * 100_000,
    '{"command": ' + "[" * 500 + "]" * 500 + "}",
    '{"tool_args": ' + '{"a":' * 950 + "1" + "}" * 951,
    '{"file_path": "a", "b": ' + "[" * 60_000,
]


@pytest.mark.parametrize("arguments", DEEP)
@pytest.mark.parametrize("tool", ["bash", "Read", "mcp_tool", "grep"])
def test_arguments_nested_without_an_end_are_an_error_the_model_can_act_on(tool: str, arguments: str) -> None:
    with pytest.raises(ToolFailed, match=tool):
        BY_NAME[tool].bind(arguments)


def test_arguments_without_an_end_are_an_error_too() -> None:
    with pytest.raises(ToolFailed, match=f"the limit is {MOST_ARGUMENTS}"):
        BY_NAME["bash"].bind('{"command": "' + "x" * MOST_ARGUMENTS + '"}')


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.tuples(st.sampled_from('[]{}":,\\1 '), st.integers(1, 2_000)), max_size=10))
def test_whatever_the_arguments_are_a_tool_takes_them_or_says_what_is_wrong(parts: list[tuple[str, int]]) -> None:
    text = "".join(char * times for char, times in parts)
    for spec in ALL[:6]:
        try:
            spec.bind(text)
        except ToolFailed as error:
            assert spec.name in str(error)
    brief(text), _arguments(ToolCall("1", "bash", text)), as_object(text), read_qa_report(text), event_in(text.encode())


def test_a_run_goes_on_after_a_call_nested_without_an_end(repo: Path) -> None:
    async def script(driver: Driver) -> None:
        await driver.turn("go")

    calls = [CallPart(ToolCall(f"c{number}", "bash", text)) for number, text in enumerate(DEEP)]
    driver = drive(repo, script, ScriptedModel([calls, "done"]))
    finished = driver.of(p.ToolFinished)
    assert [one.status for one in finished] == [CallStatus.ERROR] * len(DEEP)
    assert driver.of(p.TurnFinished)[-1].status == "done"


@pytest.mark.parametrize("text", DEEP)
def test_no_reader_of_what_others_wrote_raises(text: str) -> None:
    assert decoded(text) is None
    assert event_in(text.encode()) is None
    assert "invalid" in as_object(text)
    assert brief(text)
    assert read_qa_report(f"{text} {text}}}")
    assert _arguments(ToolCall("1", "bash", text)) == {}


@pytest.mark.parametrize("text", ["a = " + "[" * 20_000, "a = " + "{b = " * 5_000, "[" + "a." * 3_000 + "b]\nc = 1"])
def test_settings_nested_without_an_end_are_a_settings_error(text: str) -> None:
    with pytest.raises(SettingsError, match="settings"):
        from_text(text, "settings.toml")


def test_a_recording_nested_without_an_end_is_no_recording() -> None:
    with pytest.raises(Unplayable):
        read(b'{"type":"begin","x":' + b"[" * 100_000 + b"\n", "made.jsonl", 1)


def test_a_page_that_reads_json_gives_the_same_as_before() -> None:
    assert decoded(json.dumps({"a": [1, {"b": "[{"}]})) == {"a": [1, {"b": "[{"}]}
