"""JSON schemas: what fits, what does not and where, and which schemas are refused."""

import json
from typing import Any

import pytest

from quintet.domain.base.json_schema import flaw, misfit, unusable, wanted

PERSON = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "minLength": 1},
        "age": {"type": "integer", "minimum": 0, "maximum": 150},
    },
    "required": ["name"],
    "additionalProperties": False,
}
TREE = {
    "$ref": "#/$defs/node",
    "$defs": {"node": {"type": "object", "properties": {"next": {"$ref": "#/$defs/node"}, "n": {"type": "number"}}}},
}
MAYBE = {"anyOf": [{"type": "null"}, {"type": "string", "maxLength": 2}]}


@pytest.mark.parametrize(
    ("value", "schema"),
    [
        ({"name": "Ada"}, PERSON),
        ({"name": "Ada", "age": 36}, PERSON),
        ({"name": "Ada", "age": 36.0}, PERSON),
        ([1, 2.5], {"type": "array", "items": {"type": "number"}, "maxItems": 2}),
        (None, {"type": ["string", "null"]}),
        (None, MAYBE),
        ("ab", MAYBE),
        ("b", {"enum": ["a", "b"]}),
        ({"next": {"next": {"n": 1}}}, TREE),
        ({"anything": 1}, {}),
        ({"x": 1}, {"additionalProperties": {"type": "integer"}}),
        (1, {"const": 1, "title": "one", "description": "a note", "default": 1}),
    ],
)
def test_what_fits(value: Any, schema: Any) -> None:
    assert unusable(schema) == ""
    assert flaw(json.dumps(value), schema) == ""


@pytest.mark.parametrize(
    ("text", "schema", "problem"),
    [
        ("Sure! {}", PERSON, "not JSON: "),
        ("", PERSON, "not JSON: "),
        ("NaN", {"type": "number"}, "not JSON: NaN is not a JSON number"),
        ("[" * 100_000, {}, "the schema refers to itself, or the answer is nested too deep"),
        ("[]", PERSON, "$: object is expected, found array"),
        ("{}", PERSON, "$.name is missing"),
        ('{"name": ""}', PERSON, "$.name: at least 1 characters expected, found 0"),
        ('{"name": "A", "age": "x"}', PERSON, "$.age: integer is expected, found string"),
        ('{"name": "A", "age": true}', PERSON, "$.age: integer is expected, found boolean"),
        ('{"name": "A", "age": 1.5}', PERSON, "$.age: integer is expected, found number"),
        ('{"name": "A", "age": -1}', PERSON, "$.age: at least 0 is expected, found -1"),
        ('{"name": "A", "age": 151}', PERSON, "$.age: at most 150 is expected, found 151"),
        ('{"name": "A", "x": 1}', PERSON, "$.x: not allowed"),
        ("[1, null]", {"items": {"type": "number"}}, "$[1]: number is expected, found null"),
        ("[1]", {"minItems": 2}, "$: at least 2 entries expected, found 1"),
        ("[1, 2]", {"maxItems": 1}, "$: at most 1 entries expected, found 2"),
        ('"c"', {"enum": ["a", "b"]}, '$: "c" is not one of "a", "b"'),
        ("true", {"enum": [1]}, "$: true is not one of 1"),
        ("2", {"const": 1}, "$: 1 is expected, found 2"),
        ("0", {"exclusiveMinimum": 0}, "$: more than 0 is expected, found 0"),
        ("9", {"exclusiveMaximum": 9}, "$: less than 9 is expected, found 9"),
        ('"abc"', MAYBE, "$: matches none of the 2 choices; the first: $: null is expected, found string"),
        ('{"next": {"n": "x"}}', TREE, "$.next.n: number is expected, found string"),
        ("1", {"$ref": "#"}, "the schema refers to itself"),
    ],
)
def test_what_does_not_fit_is_said_with_its_place(text: str, schema: Any, problem: str) -> None:
    assert unusable(schema) == ""
    assert flaw(text, schema).startswith(problem)


@pytest.mark.parametrize(
    ("schema", "problem"),
    [
        ([], "a schema is a JSON object"),
        ("string", "a schema is a JSON object"),
        ({"type": "text"}, "$.type: not one of object, array"),
        ({"propertees": {}}, "$.propertees: not supported"),
        ({"properties": {"a": {"oneOf": []}}}, "$.properties.a.oneOf: not supported"),
        ({"properties": []}, "$.properties: an object of schemas is expected"),
        ({"properties": {"a": 1}}, "$.properties.a: a schema must be an object, true or false"),
        ({"required": "name"}, "$.required: a list of names is expected"),
        ({"enum": "a"}, "$.enum: a list is expected"),
        ({"anyOf": {}}, "$.anyOf: a list of schemas is expected"),
        ({"minimum": "1"}, "$.minimum: a number is expected"),
        ({"minItems": 1.5}, "$.minItems: a number is expected"),
        ({"$ref": "#/$defs/none"}, "$.$ref: '#/$defs/none' is not among the schema's own definitions"),
        ({"$ref": "http://x/y"}, "$.$ref: 'http://x/y' is not among"),
        ({"items": {"type": 1}}, "$.items.type: not one of"),
    ],
)
def test_a_schema_we_cannot_hold_an_answer_to_is_refused(schema: Any, problem: str) -> None:
    assert unusable(schema).startswith(problem)


# ── schemas of strangers


@pytest.mark.parametrize(
    ("schema", "value", "said"),
    [
        ({"properties": {"a": {"type": "string", "pattern": "^x"}}}, {"a": "y"}, ""),
        ({"properties": {"a": {"$ref": "#/properties/b"}}}, {"a": 1}, ""),
        ({"properties": {"a": {"$ref": "http://elsewhere.example/schema"}}}, {"a": 1}, ""),
        ({"patternProperties": {"^x": {}}, "additionalProperties": False}, {"y": 1}, ""),
        (
            {"properties": {"text": {}}, "additionalProperties": False},
            {"txt": 1},
            "it.txt: not allowed. Did you mean text?",
        ),
        ({"required": ["a"]}, {}, "it.a is missing"),
        ({"properties": {"a": {"type": "sheep"}}}, {"a": 1}, "its schema is not valid (KeyError: 'sheep')"),
        ({"required": 3}, {}, "its schema is not valid (TypeError: 'int' object is not iterable)"),
        ({"properties": {"a": 3}}, {"a": 1}, "its schema is not valid (TypeError: argument of type 'int'"),
        ([], {}, "its schema is not a JSON object"),
        ({"$ref": "#"}, {}, "its schema cannot be checked: it refers to itself without end"),
    ],
)
def test_a_value_is_held_to_what_is_understood_of_a_strangers_schema(schema: Any, value: Any, said: str) -> None:
    assert misfit(value, schema, "it").startswith(said) and bool(said) == bool(misfit(value, schema, "it"))


def test_a_strangers_schema_that_doubles_at_every_step_is_given_up() -> None:
    levels = {f"d{n}": {"anyOf": [{"$ref": f"#/$defs/d{n + 1}"}] * 2} for n in range(60)}
    schema = {"$ref": "#/$defs/d0", "$defs": {**levels, "d60": {"type": "string"}}}
    assert misfit(1, schema, "it") == "its schema cannot be checked: it refers to itself without end"


def test_the_names_an_object_takes_are_told_in_a_line() -> None:
    assert wanted({"properties": {"a": {}, "b": {}}, "required": ["b"]}) == "a?, b"
    assert wanted({"properties": {}}) == wanted({"properties": 3}) == wanted(None) == "nothing"


def test_what_a_strangers_schema_has_a_default_for_may_be_left_out_though_it_is_required() -> None:
    schema = {"type": "object", "properties": {"a": {"default": 1}, "b": {}}, "required": ["a", "b"]}
    assert misfit({"b": 2}, schema, "x") == ""
    assert misfit({"a": 2}, schema, "x") == "x.b is missing"
    assert wanted(schema) == "a?, b"
    assert flaw('{"b": 2}', schema) == "$.a is missing"
