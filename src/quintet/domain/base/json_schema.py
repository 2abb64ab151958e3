"""JSON Schema, as much of it as answers need: does a value fit, and is a schema one we can hold an answer to.

A word of the language that is not known here is refused, not skipped: an answer is never called fitting because part
of its schema was overlooked. References go to the schema's own definitions. A schema of a stranger's is another matter:
`misfit` holds a value to what of it is understood, in a bounded number of steps.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from quintet.domain.base.wording import did_you_mean

Schema = dict[str, Any]

TYPES = {
    "object": dict,
    "array": list,
    "string": str,
    "boolean": bool,
    "null": type(None),
    "number": (int, float),
    "integer": int,
}
SCHEMAS = ("items", "additionalProperties")
TABLES = ("properties", "$defs", "definitions")
NUMBERS = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum")
COUNTS = ("minLength", "maxLength", "minItems", "maxItems")
CHECKS = {*SCHEMAS, *TABLES, *NUMBERS, *COUNTS, "type", "enum", "const", "required", "anyOf", "$ref"}
MOST_STEPS = 300_000  # of a check by a stranger's schema
NOTES = {"$schema", "$id", "$comment", "title", "description", "default", "examples", "format", "deprecated"}


class _TooMuch(Exception):
    """Checking takes more steps than anything sensible does."""


class _Root:
    """The whole schema, and how many steps its check may still take."""

    def __init__(self, schema: Schema, steps: int = 0) -> None:
        self.schema = schema
        self.lenient = bool(steps)  # a stranger's: what has a default may be left out, though it is called required
        self._left = steps  # 0 for any number

    def spend(self) -> None:
        if self._left:
            self._left -= 1
            if not self._left:
                raise _TooMuch


def unusable(schema: Any) -> str:
    """Why no answer can be held to this schema; empty if one can."""
    if not isinstance(schema, dict):
        return "a schema is a JSON object"
    return next(_unusable(schema, schema, "$"), "")


def flaw(text: str, schema: Schema) -> str:
    """What is wrong with an answer; empty if it is JSON of this schema."""
    try:
        value = json.loads(text, parse_constant=_no_number)
        return next(_flaws(value, schema, _Root(schema), "$"), "")
    except ValueError as error:
        return f"not JSON: {error}"
    except RecursionError:
        return "the schema refers to itself, or the answer is nested too deep"


def misfit(value: Any, schema: Any, name: str, steps: int = MOST_STEPS) -> str:
    """What is wrong with a value that is called `name`, by a schema that nobody has looked at; empty if nothing is."""
    if not isinstance(schema, dict):
        return "its schema is not a JSON object"
    try:
        return next(_flaws(value, schema, _Root(schema, steps), name), "")
    except (RecursionError, _TooMuch):
        return "its schema cannot be checked: it refers to itself without end"
    except (TypeError, KeyError, AttributeError, ValueError) as error:
        return f"its schema is not valid ({type(error).__name__}: {error})"


def wanted(schema: Any) -> str:
    """The names that an object of this schema takes; those that may be left out have a question mark."""
    properties = schema.get("properties") if isinstance(schema, dict) else None
    if not isinstance(properties, dict) or not properties:
        return "nothing"
    required = schema.get("required")
    needed = {str(one) for one in required} if isinstance(required, list) else set()
    needed -= {name for name, one in properties.items() if _has_default(one)}
    return ", ".join(f"{name}{'' if name in needed else '?'}" for name in properties)


def _no_number(word: str) -> None:
    raise ValueError(f"{word} is not a JSON number")


def _unusable(schema: Any, root: Schema, at: str) -> Iterator[str]:
    if isinstance(schema, bool):
        return
    if not isinstance(schema, dict):
        yield f"{at}: a schema must be an object, true or false"
        return
    for word, value in schema.items():
        here = f"{at}.{word}"
        if word not in CHECKS and word not in NOTES:
            yield f"{here}: not supported; supported: {', '.join(sorted(CHECKS))}"
        elif word == "type" and not set(_names(value)) <= set(TYPES):
            yield f"{here}: not one of {', '.join(TYPES)}"
        elif word == "enum" and not isinstance(value, list):
            yield f"{here}: a list is expected"
        elif word == "required" and not (isinstance(value, list) and all(isinstance(one, str) for one in value)):
            yield f"{here}: a list of names is expected"
        elif (word in NUMBERS and not _is(value, "number")) or (word in COUNTS and not _is(value, "integer")):
            yield f"{here}: a number is expected"
        elif word == "$ref" and _definition(value, root) is None:
            yield f"{here}: {value!r} is not among the schema's own definitions"
        elif word in SCHEMAS:
            yield from _unusable(value, root, here)
        elif word == "anyOf":
            if not isinstance(value, list):
                yield f"{here}: a list of schemas is expected"
                return
            for number, part in enumerate(value):
                yield from _unusable(part, root, f"{here}[{number}]")
        elif word in TABLES:
            if not isinstance(value, dict):
                yield f"{here}: an object of schemas is expected"
                return
            for name, part in value.items():
                yield from _unusable(part, root, f"{here}.{name}")


def _flaws(value: Any, schema: Any, root: _Root, at: str) -> Iterator[str]:
    root.spend()
    if isinstance(schema, bool):
        if not schema:
            yield f"{at}: not allowed"
        return
    if "$ref" in schema:
        target = _definition(schema["$ref"], root.schema)
        if target is not None:  # a usable schema has it; a stranger's may point anywhere
            yield from _flaws(value, target, root, at)
    names = _names(schema.get("type", []))
    if names and not any(_is(value, name) for name in names):
        yield f"{at}: {' or '.join(names)} is expected, found {_kind(value)}"
        return
    if "enum" in schema and not any(_same(value, one) for one in schema["enum"]):
        yield f"{at}: {_shown(value)} is not one of {', '.join(_shown(one) for one in schema['enum'])}"
    if "const" in schema and not _same(value, schema["const"]):
        yield f"{at}: {_shown(schema['const'])} is expected, found {_shown(value)}"
    if "anyOf" in schema:
        tries = [next(_flaws(value, part, root, at), "") for part in schema["anyOf"]]
        if all(tries):
            yield (
                f"{at}: matches none of the {len(tries)} choices; the first: {tries[0] if tries else 'there is none'}"
            )
    if isinstance(value, dict):
        yield from _object_flaws(value, schema, root, at)
    elif isinstance(value, list):
        yield from _size_flaws(len(value), schema, "Items", "entries", at)
        for number, one in enumerate(value):
            yield from _flaws(one, schema.get("items", True), root, f"{at}[{number}]")
    elif isinstance(value, str):
        yield from _size_flaws(len(value), schema, "Length", "characters", at)
    elif _is(value, "number"):
        yield from _number_flaws(value, schema, at)


def _object_flaws(value: dict[str, Any], schema: Schema, root: _Root, at: str) -> Iterator[str]:
    named = schema.get("properties", {})
    for name in schema.get("required", ()):
        if name not in value and not (root.lenient and _has_default(named.get(name))):
            yield f"{at}.{name} is missing"
    others = True if "patternProperties" in schema else schema.get("additionalProperties", True)
    for name, one in value.items():
        if name in named:
            yield from _flaws(one, named[name], root, f"{at}.{name}")
        elif others is False:
            yield f"{at}.{name}: not allowed.{did_you_mean(name, named)}".removesuffix(".")
        else:
            yield from _flaws(one, others, root, f"{at}.{name}")


def _has_default(schema: Any) -> bool:
    return isinstance(schema, dict) and "default" in schema


def _size_flaws(size: int, schema: Schema, what: str, unit: str, at: str) -> Iterator[str]:
    least, most = schema.get(f"min{what}", 0), schema.get(f"max{what}", size)
    if not least <= size <= most:
        wanted = f"at least {least}" if size < least else f"at most {most}"
        yield f"{at}: {wanted} {unit} expected, found {size}"


def _number_flaws(value: float, schema: Schema, at: str) -> Iterator[str]:
    words = {
        "minimum": (value >= schema.get("minimum", value), "at least"),
        "maximum": (value <= schema.get("maximum", value), "at most"),
        "exclusiveMinimum": ("exclusiveMinimum" not in schema or value > schema["exclusiveMinimum"], "more than"),
        "exclusiveMaximum": ("exclusiveMaximum" not in schema or value < schema["exclusiveMaximum"], "less than"),
    }
    for word, (fits, said) in words.items():
        if not fits:
            yield f"{at}: {said} {schema[word]} is expected, found {value}"


def _definition(reference: Any, root: Schema) -> Any:
    if reference == "#":
        return root
    parts = reference.split("/") if isinstance(reference, str) else []
    if len(parts) != 3 or parts[0] != "#" or parts[1] not in ("$defs", "definitions"):
        return None
    table = root.get(parts[1])
    return table.get(parts[2].replace("~1", "/").replace("~0", "~")) if isinstance(table, dict) else None


def _names(kinds: Any) -> list[str]:
    return [str(kind) for kind in kinds] if isinstance(kinds, list) else [str(kinds)]


def _is(value: Any, name: str) -> bool:
    if isinstance(value, bool):  # Python counts with it; JSON does not
        return name == "boolean"
    if name == "integer" and isinstance(value, float):
        return value.is_integer()
    return isinstance(value, TYPES[name])  # type: ignore[arg-type]


def _same(one: Any, other: Any) -> bool:
    return bool(one == other) and isinstance(one, bool) == isinstance(other, bool)


def _kind(value: Any) -> str:
    return next(name for name in ("integer", *TYPES) if _is(value, name))


def _shown(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 60 else text[:59] + "…"
