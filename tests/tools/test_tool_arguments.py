"""What a model gets wrong in a call comes back as a result it can act on."""

import json

import pytest
from msgspec import structs

from quintet.app.tool_registry import ALL, tools_for
from quintet.domain.dials.axes import Axes, PermissionProfile, WorkMode
from quintet.domain.permission.gate import Verdict
from quintet.domain.settings.settings import Settings
from quintet.domain.turn.stage_policy import CallContext
from quintet.domain.turn.tool_spec import CallStatus, ToolResult
from quintet.engine.turn.toolbox import Prepared
from tests.tools.calling import Caller


def refused(tools: Caller, tool: str, arguments: str) -> str:
    result = tools.prepare(tool, arguments)
    assert isinstance(result, ToolResult), "the call was taken"
    assert result.status is CallStatus.ERROR
    return result.content


@pytest.mark.parametrize(
    ("tool", "arguments", "said"),
    [
        ("Read", "{}", ["Read", "file_path", "Its arguments: file_path, offset?, limit?."]),
        ("Read", '{"file_path": "a", "offset": "three"}', ["Read", "int", "offset"]),
        ("Read", '{"file_path": null}', ["Read", "str", "file_path"]),
        ("Read", '{"file": "a"}', ["Read", "file_path", "Its arguments: file_path"]),
        ("Edit", '{"file_path": "a", "old_string": "b", "new_strin": "c"}', ["Did you mean new_string?"]),
        ("grep", '{"pattern": "a", "output_mode": "lines"}', ["grep", "lines", "output_mode"]),
        ("grep", '{"pattern": "a", "ignore_case": true}', ["grep", "ignore_case", "-i?"]),
        ("bash", "ls -la", ["bash", "not JSON"]),
        ("bash", '{"command": "ls"', ["bash", "not JSON"]),
        ("bash", '["ls"]', ["bash", "object", "Its arguments: command"]),
        ("bash", "null", ["bash", "object", "Its arguments: command"]),
        ("bash", '"ls"', ["bash", "object", "Its arguments: command"]),
        ("bash", '{"command": "\\ud800"}', ["bash", "not JSON"]),
    ],
)
def test_wrong_arguments_are_answered_with_what_is_wanted(
    tools: Caller, tool: str, arguments: str, said: list[str]
) -> None:
    text = refused(tools, tool, arguments)
    assert [word for word in said if word not in text] == []
    assert "\n" not in text.strip()


def test_arguments_that_no_encoding_can_carry_are_refused_like_others(tools: Caller) -> None:
    assert "not JSON" in refused(tools, "bash", '{"command": "\udcff"}')


@pytest.mark.everything
def test_an_unknown_tool_is_answered_with_the_nearest_or_with_all(tools: Caller) -> None:
    assert refused(tools, "read", "{}") == "there is no tool read. Nearest: Read, TodoRead, recall"
    everything = refused(tools, "launch_rocket", "{}")
    assert all(spec.name in everything for spec in ALL)


def test_no_arguments_at_all_are_an_empty_object(tools: Caller) -> None:
    assert isinstance(tools.prepare("git_status", ""), Prepared)


def test_every_tool_tells_a_model_all_it_needs(tools: Caller) -> None:
    for spec in ALL:
        schema = spec.schema()
        assert schema["type"] == "object"
        assert schema["additionalProperties"] is False, spec.name
        assert len(spec.description) > 20, spec.name
        assert ":" not in spec.description.split()[-1]
        for name in schema.get("required", ()):
            assert schema["properties"][name].get("description"), f"{spec.name}.{name} has no description"


def test_a_tool_above_the_profile_is_hidden_and_denied_when_called(tools: Caller) -> None:
    axes = Axes(WorkMode.BUILD, permission_profile=PermissionProfile.RESTRICTED)
    shown = {schema.name for schema in tools.toolbox.schemas(tools.toolbox.plan(CallContext(axes)).tools)}
    assert {"Read", "grep", "git_status"} <= shown
    assert not {"Edit", "Write"} & shown
    assert tools.verdict("Write", axes, file_path="new.txt", content="x") is Verdict.DENY


@pytest.mark.everything
def test_schemas_are_plain_json_as_they_are_sent() -> None:
    specs = tools_for(Settings()).values()
    assert len(specs) > 70
    for spec in specs:
        shown = spec.shown().parameters
        assert json.loads(json.dumps(shown)) == shown, spec.name


def test_a_tuple_in_a_schema_is_sent_as_an_array() -> None:
    spec = next(iter(tools_for(Settings()).values()))
    tuples = {"type": "object", "properties": {"a": {"enum": ("x", "y")}}, "required": ("a",)}
    shown = structs.replace(spec, schema=lambda: tuples).shown().parameters
    assert shown == {"type": "object", "properties": {"a": {"enum": ["x", "y"]}}, "required": ["a"]}
