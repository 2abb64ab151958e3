"""`quintet models`: what is configured, built in and found here, and whether it answers; and a run over each wire."""

import json

import pytest

from quintet.adapters.models import discovery
from quintet.domain.models.presets import BY_NAME
from tests.adapters.model_server import MODEL, SIGNATURE, Reply
from tests.loopback import Answer, Asked, serving
from tests.surfaces.program import Model, Program, call

WIRES = ("openai", "anthropic")

TWO = """
[models.large]
base_url = "https://api.anthropic.com/v1/"
model = "large-model"
api_key_env = "MY_KEY"
wire = "anthropic"
[models.eyes]
base_url = "http://127.0.0.1:9/v1"
model = "seeing"
[routing]
smart = "large"
vision = "eyes"
"""


def test_models_are_listed_with_their_wire_their_route_and_their_key(quintet: Program) -> None:
    quintet.settings(TWO)
    keys = {"MY_KEY": "secret", "ANTHROPIC_API_KEY": "secret", "GROQ_API_KEY": "secret"}
    listed = quintet.run("models", "--json", **keys).clean(0)
    assert "secret" not in listed.out
    rows = {row["name"]: row for row in listed.json()}
    assert list(rows)[:3] == ["large", "eyes", "builtin"]
    large = rows["large"]
    assert (large["wire"], large["model"], large["base_url"]) == (
        "anthropic",
        "large-model",
        "https://api.anthropic.com/v1/",
    )
    assert (large["routed"], large["key"]) == (["fast", "smart", "deep"], {"variable": "MY_KEY", "set": True})
    assert (rows["eyes"]["routed"], rows["eyes"]["key"], rows["eyes"]["wire"]) == (["vision"], None, "openai")
    assert (rows["builtin"]["routed"], rows["builtin"]["source"]) == ([], "built in")
    assert (rows["groq"]["source"], rows["groq"]["how"]) == ("found", "GROQ_API_KEY is set")
    assert "anthropic" not in rows  # that address is configured

    shown = quintet.run("models", "list").clean(0).out
    assert "MY_KEY NOT SET" in shown
    assert "large-model" in shown


def test_a_route_to_a_model_that_is_not_there_is_an_error(quintet: Program) -> None:
    quintet.settings(TWO.replace('vision = "eyes"', 'vision = "eyse"'))
    refused = quintet.run("models").clean(2).err
    assert 'routing.vision = "eyse"' in refused
    assert "eyes" in refused


def test_what_is_not_needed_by_a_wire_is_not_asked_for(quintet: Program) -> None:
    quintet.settings('[models.g]\nmodel = "google:a-model"\nwire = "pydantic-ai"\n')
    assert [row["wire"] for row in quintet.run("models", "--json").clean(0).json()][:1] == ["pydantic-ai"]
    quintet.settings('[models.g]\nmodel = "a-model"\nwire = "anthropic"\n')
    assert "models.g has no base_url" in quintet.run("models").clean(2).err
    quintet.settings('[models.g]\nbase_url = "http://127.0.0.1:9"\nmodel = "m"\nwire = "antropic"\n')
    assert "not one of openai, anthropic, responses, gemini, pydantic-ai" in quintet.run("models").clean(2).err


@pytest.mark.parametrize("wire", WIRES)
def test_a_model_is_tried_with_one_request(quintet: Program, model: Model, wire: str) -> None:
    server = model(Reply(text="ok"), more=f'wire = "{wire}"\n[models.gone]\nbase_url="http://127.0.0.1:9"\nmodel="x"')
    tried = quintet.run("models", "test", "m", "--json").clean(0).json()
    assert [(one["name"], one["ok"], one["input_tokens"], one["output_tokens"]) for one in tried] == [
        ("m", True, 10, 5)
    ]
    assert len(server.server.requests) == 1

    both = quintet.run("models", "test").clean(1).out
    assert "LLM_HTTP_ERROR" in both
    assert "models.gone.base_url" in both
    assert [line.split()[1] for line in both.splitlines()[1:]] == ["ok", "LLM_HTTP_ERROR"]
    assert "Did you mean" in quintet.run("models", "test", "gon").clean(1).err


def test_a_model_without_its_key_is_not_asked(quintet: Program, model: Model) -> None:
    server = model(Reply(text="ok"), more='api_key_env = "NO_SUCH_KEY"')
    (tried,) = quintet.run("models", "test", "--json").clean(1).json()
    assert tried["code"] == "SETTINGS_INVALID"
    assert "NO_SUCH_KEY" in tried["error"]
    assert server.server.requests == []


@pytest.mark.parametrize("wire", WIRES)
def test_a_run_with_tools_over_each_wire(quintet: Program, model: Model, wire: str) -> None:
    prices = "price_input = 100000\nprice_cached = 10000\nprice_output = 1000000"
    server = model(
        call("Read", file_path="tally/count.py"), Reply(text="An answer."), more=f'wire = "{wire}"\n{prices}'
    )
    done = quintet.run("-p", "read it", "--output-format", "json").clean(0).json()
    assert done["answer"] == "An answer."
    assert done["usage"] == {"input_tokens": 20, "output_tokens": 10, "cached_tokens": 8}
    assert done["cost"] == pytest.approx(2 * (0.6 + 0.04 + 5.0))
    assert "def words" in json.dumps(server.server.requests[1].body["messages"])


def test_signed_thinking_goes_back_with_the_results_also_after_a_resume(quintet: Program, model: Model) -> None:
    thought = Reply(thinking=["let me look"], calls=[{"id": "a", "name": "Read", "arguments": '{"file_path":"x"}'}])
    server = model(
        thought,
        Reply(text="one"),
        Reply(text="two"),
        more='wire = "anthropic"\nthinking_tokens = 2000\nmax_tokens = 9000',
    )
    quintet.run("-p", "read it").clean(0)
    quintet.run("-p", "again", "--resume").clean(0)
    first, second, third = (request.body for request in server.server.requests)
    assert first["thinking"] == second["thinking"] == {"type": "enabled", "budget_tokens": 2000}
    assert (first["model"], first["max_tokens"]) == (MODEL, 9000)
    for later in (second, third):
        assert later["messages"][1]["content"] == [
            {"type": "thinking", "thinking": "let me look", "signature": SIGNATURE},
            {"type": "tool_use", "id": "a", "name": "Read", "input": {"file_path": "x"}},
        ]
        assert later["messages"][2]["content"][0]["tool_use_id"] == "a"


def test_a_local_server_is_found_by_its_list_of_models() -> None:
    def answer(asked: Asked) -> Answer:
        return Answer({"data": [{"id": "small"}, {"id": "big"}, 7]} if asked.path == "/v1/models" else {})

    with serving(answer) as server:
        around = {"OLLAMA_HOST": f"127.0.0.1:{server.port}"}
        (found,) = discovery.servers(around, [BY_NAME["ollama"]], seconds=60.0)  # however slow the machine is
    assert (found.name, found.models, found.base_url) == ("ollama", ("small", "big"), f"{server.url}/v1")
    assert found.offer.command == "quintet models use ollama"
    assert discovery.servers(around, [BY_NAME["ollama"]], seconds=60.0) == []


def test_a_port_that_lists_no_models_is_not_taken_for_a_model_server() -> None:
    with serving(lambda asked: Answer("<html>a page</html>")) as server:
        around = {"OLLAMA_HOST": f"127.0.0.1:{server.port}"}
        assert discovery.servers(around, [BY_NAME["ollama"]], seconds=60.0) == []
