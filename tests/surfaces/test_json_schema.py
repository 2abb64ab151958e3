"""`--json-schema`: the answer for a headless run is JSON of a schema, or the run fails."""

import json

import pytest

from tests.adapters.model_server import Reply
from tests.surfaces.program import Model, Program, call

SCHEMA = json.dumps({"type": "object", "properties": {"words": {"type": "integer"}}, "required": ["words"]})


def test_the_result_holds_the_answer_as_text_and_its_value(quintet: Program, model: Model) -> None:
    server = model(call("Read", file_path="tally/count.py"), Reply(text='{"words": 3}'))
    (quintet.root / "schema.json").write_text(SCHEMA)
    done = quintet.run("-p", "count", "--json-schema", "schema.json", "--output-format", "json").clean(0)
    result = done.json()
    assert (result["answer"], result["data"], result["turns"]) == ('{"words": 3}', {"words": 3}, 2)
    sent = [request.body["response_format"]["json_schema"]["schema"] for request in server.server.requests]
    assert sent == [json.loads(SCHEMA)] * 2


def test_a_wrong_answer_is_sent_back_once_with_what_is_wrong(quintet: Program, model: Model) -> None:
    server = model(Reply(text="Three words."), Reply(text='{"words": 3}'))
    done = quintet.run("headless", "count", "--json-schema", SCHEMA).clean(0)
    assert done.out == '{"words": 3}\n'
    role, said = server.said[1][-1]
    assert role == "user" and "not JSON" in said and '"required": ["words"]' in said
    assert [event["kind"] for event in quintet.events("corrected")] == ["answer_schema"]


def test_a_second_wrong_answer_fails_the_run_and_stdout_stays_empty(quintet: Program, model: Model) -> None:
    model(Reply(text='{"words": "three"}'), Reply(text='{"words": null}'), Reply(text='{"words": 3}'))
    done = quintet.run("-p", "count", "--json-schema", SCHEMA).clean(1)
    assert done.out == ""
    assert "failed: the answer does not match its schema: $.words: integer is expected, found null" in done.err


def test_a_failed_run_has_no_value(quintet: Program, model: Model) -> None:
    model(Reply(text="no"), Reply(text="no"))
    result = quintet.run("-p", "count", "--json-schema", SCHEMA, "--output-format", "json").clean(1).json()
    assert (result["status"], result["data"], result["answer"]) == ("failed", None, "")


def test_the_delivery_check_is_not_held_to_the_schema(quintet: Program, model: Model) -> None:
    server = model(Reply(text='{"words": 3}'), Reply(text="DONE\nno change was needed"))
    done = quintet.run("-p", "tidy up", "--mode", "build", "--json-schema", SCHEMA).clean(0)
    assert done.out == '{"words": 3}\n'
    assert ["response_format" in request.body for request in server.server.requests] == [True, False]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("missing.json", "--json-schema missing.json: cannot be read (No such file or directory)"),
        ("tally/count.py", "--json-schema tally/count.py: not JSON: "),
        ('{"type": "text"}', "--json-schema: $.type: not one of object"),
        ("{", "--json-schema: not JSON: "),
    ],
)
def test_a_bad_schema_is_a_usage_error_before_anything_is_asked(quintet: Program, given: str, said: str) -> None:
    done = quintet.run("-p", "count", "--json-schema", given).clean(2)
    assert said in done.err and done.out == ""
    assert quintet.sessions() == []


def test_it_needs_a_headless_run(quintet: Program) -> None:
    assert "goes with a headless run" in quintet.run("--json-schema", SCHEMA).clean(2).err
