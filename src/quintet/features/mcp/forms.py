"""What a server asks the user to fill in, as questions: one a field, by its schema, with its defaults. Pure.

The server's words come after Quintet's own, which say who asks. What may be a secret is never asked for: an answer is
kept in the journal, and the server's page in a browser is the place for it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from msgspec import Struct

from quintet.domain.base.json_schema import misfit
from quintet.domain.base.safe_text import on_one_line
from quintet.domain.permission.exposure import may_be_secret
from quintet.domain.permission.question import BETWEEN, labelled
from quintet.domain.turn.tool_spec import CallChoice, CallQuestion, CallReply

YES, DECLINE, TEXT, DEFAULT, REST = "y", "n", "t", "d", "r"
KEYS = "123456789abcefghijklmopqsuvwxz"  # of options: none of the keys above
MOST_FIELDS = 20
MOST_TEXT = 4_000  # characters of a server's message
MOST_NAME = 60
MOST_STEPS = 1_000  # of a check: a field is a text, a number, or a choice
_SECRET_WORDS = (
    "password",
    "passwort",
    "passphrase",
    "secret",
    "token",
    "api key",
    "apikey",
    "credit card",
    "pin code",
)


class FormField(Struct, frozen=True):
    name: str
    schema: dict[str, Any]
    required: bool = False

    @property
    def title(self) -> str:
        return _line(str(self.schema.get("title") or self.name))

    @property
    def has_default(self) -> bool:
        return "default" in self.schema and not misfit(self.schema["default"], self.plain, "x", MOST_STEPS)

    @property
    def plain(self) -> dict[str, Any]:
        """The schema as far as values are held to it."""
        named = {key: value for key, value in self.schema.items() if key not in ("oneOf", "enumNames")}
        if self.many:
            return named
        return {**named, "enum": [value for value, _ in self.options]} if self.options else named

    @property
    def many(self) -> bool:
        return self.schema.get("type") == "array"

    @property
    def options(self) -> list[tuple[Any, str]]:
        """The values to choose from, each with its label."""
        if self.schema.get("type") == "boolean":
            return [(True, "yes"), (False, "no")]
        source = self.schema.get("items", {}) if self.many else self.schema
        source = source if isinstance(source, dict) else {}
        titled = source.get("oneOf") or source.get("anyOf")
        if isinstance(titled, list):
            pairs = [(one.get("const"), one.get("title")) for one in titled if isinstance(one, dict)]
            return [(value, _line(str(label or value))) for value, label in pairs]
        values = source.get("enum")
        if not isinstance(values, list):
            return []
        names = source.get("enumNames")
        labels = names if isinstance(names, list) and len(names) == len(values) else values
        return [(value, _line(str(label))) for value, label in zip(values, labels, strict=True)]


def fields_of(schema: Any) -> list[FormField]:
    """The fields of a form; a ValueError where there is no form that a person could fill in."""
    properties = schema.get("properties") if isinstance(schema, dict) else None
    if not isinstance(properties, dict) or not all(isinstance(one, dict) for one in properties.values()):
        raise ValueError("its form has no fields that could be shown")
    if len(properties) > MOST_FIELDS:
        raise ValueError(f"its form has {len(properties)} fields; the limit is {MOST_FIELDS}")
    needed = schema.get("required")
    required = set(map(str, needed)) if isinstance(needed, list) else set()
    return [FormField(str(name), one, str(name) in required) for name, one in properties.items()]


def secret_field(fields: Iterable[FormField], patterns: Iterable[str] = ()) -> str:
    """The name of a field that may ask for a secret; empty if there is none."""
    for field in fields:
        said = " ".join(str(field.schema.get(key, "")) for key in ("title", "description", "format")).lower()
        if may_be_secret(field.name, patterns) or any(word in said for word in _SECRET_WORDS):
            return field.name
    return ""


def consent(server: str, origin: str, message: str) -> CallQuestion:
    """Of a form without fields: yes or no."""
    choices = (CallChoice(YES, "yes"), CallChoice(DECLINE, "decline"))
    return CallQuestion(f"MCP server {server} asks for your consent", choices, _detail(server, origin, message))


def page(server: str, origin: str, message: str, url: str) -> CallQuestion:
    """A page that the server wants the user to open."""
    detail = _detail(server, origin, message, f"page       {url}")
    choices = (CallChoice(YES, "I opened it"), CallChoice(DECLINE, "decline"))
    return CallQuestion(f"MCP server {server} asks you to open a page in your browser", choices, detail)


def question(
    server: str, origin: str, message: str, fields: list[FormField], number: int, again: str = ""
) -> CallQuestion:
    """About the field of that number."""
    field = fields[number]
    choices: list[CallChoice] = []
    lines: list[str] = []
    about = " ".join(str(field.schema.get("description", "")).split())
    lines += [about[:MOST_TEXT]] if about else []
    if field.options and not field.many and len(field.options) <= len(KEYS):
        choices += [CallChoice(key, label) for key, (_, label) in zip(KEYS, field.options, strict=False)]
    else:
        lines += [f"{place}. {label}" for place, (_, label) in enumerate(field.options, 1)]
        choices.append(CallChoice(TEXT, "numbers, with commas" if field.options else "type an answer", takes_text=True))
    if field.has_default:
        choices.append(CallChoice(DEFAULT, f"default: {_line(_shown(field.schema['default']))}"))
    elif not field.required:
        choices.append(CallChoice(DEFAULT, "leave it out"))
    rest = fields[number + 1 :]
    if rest and choices[-1].key == DEFAULT and all(one.has_default or not one.required for one in rest):
        choices.append(CallChoice(REST, "use the defaults for the rest"))
    choices.append(CallChoice(DECLINE, "decline"))
    place = f" ({number + 1} of {len(fields)})" if len(fields) > 1 else ""
    detail = _detail(server, origin, message if number == 0 else "", *lines, again=again)
    return CallQuestion(f"MCP server {server} asks{place}: {field.title}", tuple(choices), detail)


def value_of(field: FormField, reply: CallReply) -> tuple[Any, str]:
    """What the reply says of a field, and what is wrong with it; None for one that is left out."""
    if reply.choice in (DEFAULT, REST):
        return field.schema["default"] if field.has_default else None, ""
    if reply.choice != TEXT:
        found = dict(zip(KEYS, [value for value, _ in field.options], strict=False))
        return found.get(reply.choice), "" if reply.choice in found else "that is not one of the choices"
    try:
        value = _typed(field, reply.note.strip())
    except ValueError as error:
        return None, str(error)
    return value, misfit(value, field.plain, field.title, MOST_STEPS)


def defaults(fields: Iterable[FormField]) -> dict[str, Any]:
    return {field.name: field.schema["default"] for field in fields if field.has_default}


def _typed(field: FormField, text: str) -> Any:
    kind = field.schema.get("type")
    if field.options:
        chosen = [_option(field, word.strip()) for word in text.split(",") if word.strip()]
        return chosen if field.many else chosen[0] if chosen else ""
    if kind in ("number", "integer"):
        try:
            return int(text) if kind == "integer" or text.lstrip("+-").isdigit() else float(text)
        except ValueError:
            raise ValueError(f"{field.title}: a number is expected") from None
    if not text and field.required:
        raise ValueError(f"{field.title}: an answer is expected")
    return text


def _option(field: FormField, word: str) -> Any:
    options = field.options
    if word.isdigit() and 1 <= int(word) <= len(options):
        return options[int(word) - 1][0]
    for value, label in options:
        if word.lower() in (str(value).lower(), label.lower()):
            return value
    raise ValueError(f"{field.title}: {_line(word)} is not one of the choices")


def _detail(server: str, origin: str, message: str, *lines: str, again: str = "") -> tuple[str, ...]:
    own = [labelled("Again", again)] if again else []
    own.append(labelled("Server", f"{server} ({origin}) asks this, not Quintet"))
    own.append(labelled("Goes to", f"{server}, and this session's journal: do not type secrets"))
    return (*own, BETWEEN, *(message[:MOST_TEXT].splitlines() if message else ()), *lines)


def _shown(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def _line(text: str) -> str:
    return on_one_line(" ".join(text.split()))[:MOST_NAME]


def accepted(fields: Iterable[FormField], values: Mapping[str, Any]) -> dict[str, Any]:
    """The filled-in form: what was left out is not in it."""
    return {field.name: values[field.name] for field in fields if values.get(field.name) is not None}
