"""How a tool is declared: a plain async function, with its effects and least profile beside it.

The signature is the schema and the docstring the description; lines `:name: text` at its end describe parameters.
Declaring registers nothing: `tools.registry` lists the tools.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Iterable
from enum import StrEnum
from typing import Annotated, Any, TypeVar

import msgspec

from quintet.domain.base import wire_json
from quintet.domain.base.errors import ToolFailed, UsageError
from quintet.domain.base.wording import did_you_mean
from quintet.domain.dials.axes import PermissionProfile
from quintet.domain.permission.effects import Effect
from quintet.domain.turn.tool_menu import TOOLSETS
from quintet.domain.turn.tool_spec import CallCourse, ToolResult, ToolSpec, Touch

TEXTS = frozenset({"content", "old_string", "new_string", "patch"})  # may hold any character
Function = Callable[..., Awaitable[ToolResult]]
Choice = TypeVar("Choice", bound=StrEnum)
MOST_ARGUMENTS = 1_000_000  # characters of one call: every later request repeats them
LONGEST_NAME = 64  # what model servers take


def tool(
    *,
    effects: Iterable[str],
    profile: str = PermissionProfile.RESTRICTED,
    touch: Callable[[dict[str, Any]], Touch] | None = None,
    wire: dict[str, str] | None = None,
    needs: tuple[str, ...] = (),
    toolset: str = "",
    confined: bool = False,
    asks: bool = False,
    service: str = "",
    pauses: bool = False,
    steps: bool = False,
    cut_short: str = "",
    fits: Callable[..., None] | None = None,
) -> Callable[[Function], ToolSpec]:
    """Make a ToolSpec of an async function `(bench, **arguments)`.

    `effects` are the most a call may do, `profile` the least it is any use in; `touch` tells from the arguments what
    one call would do; without it, all of that, and every text among them may be a path it reads. `wire` maps names
    Python cannot spell, `needs` names outside parts it does not work without, `toolset` is the place of a user's own.
    A `confined` one cannot reach outside the project: there is no use in asking about it. One that `asks` may ask a
    model, and is not begun when the money is spent. The `service` of a feature may know more of what a call touches.
    One that `pauses` may ask the person something in the middle, by `bench.ask`; with `steps` every surface shows the
    lines of its progress, not only those that show output as it comes; `cut_short` is what the model is told
    of a call that was stopped, where more is known than that its outcome is not. `fits` takes what the function takes
    and raises what the call would fail with: nobody is asked to approve what cannot be done.
    """
    frozen = frozenset(_one_of(Effect, "effect", word) for word in effects)
    least = _one_of(PermissionProfile, "profile", profile)
    if toolset and toolset not in TOOLSETS:
        raise UsageError(_unknown("toolset", toolset, TOOLSETS))

    def make(function: Function) -> ToolSpec:
        _check(function)
        parameters = _Parameters(function, wire or {})
        return ToolSpec(
            name=function.__name__,
            description=parameters.description,
            profile=least,
            effects=frozen,
            schema=parameters.schema,
            bind=parameters.bind,
            touch=touch or (lambda arguments: Touch(frozen, _maybe_paths(arguments) if frozen else ())),
            run=function,
            needs=needs,
            toolset=toolset,
            confined=confined,
            asks=asks,
            service=service,
            course=CallCourse(pauses, steps, cut_short),
            fits=fits,
        )

    return make


def _maybe_paths(arguments: dict[str, Any]) -> tuple[str, ...]:
    """Every text of one line: nobody said which are paths, and the gate has to know those that lead outside."""
    values = [v for value in arguments.values() for v in (value if isinstance(value, list | tuple) else (value,))]
    return tuple(value for value in values if isinstance(value, str) and value and "\n" not in value)


def _one_of(kind: type[Choice], what: str, word: str) -> Choice:
    try:
        return kind(word)
    except ValueError:
        raise UsageError(_unknown(what, word, kind)) from None


def _unknown(what: str, word: str, choices: Iterable[str]) -> str:
    return f'{what} "{word}": not one of {", ".join(choices)}.{did_you_mean(word, choices)}'


def _check(function: Function) -> None:
    """Whether a tool can be made of it; said so that the person who wrote it can fix it."""
    name, code = function.__name__, function.__code__
    if not code.co_flags & inspect.CO_COROUTINE:
        raise UsageError(f"{name} is not async: a tool must be an `async def`")
    if code.co_varnames[:1] != ("bench",):
        raise UsageError(f"{name}: the first parameter of a tool must be `bench`")
    if not (name.isascii() and len(name) <= LONGEST_NAME):
        raise UsageError(f"{name}: a tool's name may have at most {LONGEST_NAME} letters, digits and _")


class _Parameters:
    """A function's parameters as a JSON schema and as a check of JSON arguments; made when first needed."""

    def __init__(self, function: Function, wire: dict[str, str]) -> None:
        # From 3.13 on Python strips a docstring's indentation itself.
        lines = [line.strip() for line in (function.__doc__ or "").splitlines()]
        self.description = " ".join(line for line in lines if line and not line.startswith(":"))
        self._notes = dict(_note(line) for line in lines if line.startswith(":"))
        self._function = function
        self._wire = wire
        self._struct: type[msgspec.Struct] | None = None
        self._schema: dict[str, Any] = {}

    def struct(self) -> type[msgspec.Struct]:
        if self._struct is None:
            signature = inspect.signature(self._function, eval_str=True)
            fields: list[Any] = []
            for name, parameter in list(signature.parameters.items())[1:]:
                kind: Any = parameter.annotation
                if kind is parameter.empty or parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
                    raise UsageError(f"{self._function.__name__}: parameter {parameter} needs a name and a type")
                if note := self._notes.get(self._wire.get(name, name)):
                    kind = Annotated[kind, msgspec.Meta(description=note)]
                has_default = parameter.default is not inspect.Parameter.empty
                fields.append((name, kind, parameter.default) if has_default else (name, kind))
            self._struct = msgspec.defstruct(
                self._function.__name__, fields, rename=self._wire, forbid_unknown_fields=True, kw_only=True
            )
        return self._struct

    def schema(self) -> dict[str, Any]:
        if not self._schema:
            made = msgspec.json.schema(self.struct())
            self._schema = _whole(made["$defs"][self._function.__name__], made["$defs"])
        return self._schema

    def bind(self, arguments: str) -> dict[str, Any]:
        """Keyword arguments from JSON text; what is wrong with it is said so that a model can fix it."""
        name = self._function.__name__
        if len(arguments) > MOST_ARGUMENTS:
            raise ToolFailed(
                f"{name}: the arguments have {len(arguments)} characters; the limit is {MOST_ARGUMENTS}: use "
                "several smaller calls"
            )
        try:
            values = wire_json.decode(arguments or "{}")
        except msgspec.DecodeError as error:
            raise ToolFailed(f"{name}: the arguments are not JSON ({error})") from None
        try:
            bound = msgspec.convert(values, self.struct())
        except msgspec.ValidationError as error:
            raise ToolFailed(f"{name}: {error}.{self._hint(values)} {self._wanted()}") from None
        found = {field: getattr(bound, field) for field in bound.__struct_fields__}
        for field, value in found.items():
            if isinstance(value, str) and "\0" in value and field not in TEXTS:
                raise ToolFailed(f"{name}: {field} contains a NUL character, which is not allowed in a path or command")
        return found

    def _hint(self, values: Any) -> str:
        names = self.struct().__struct_encode_fields__
        unknown = [key for key in values if key not in names] if isinstance(values, dict) else []
        return did_you_mean(unknown[0], names) if unknown else ""

    def _wanted(self) -> str:
        schema = self.schema()
        required = set(schema.get("required", ()))
        listed = ", ".join(f"{key}{'' if key in required else '?'}" for key in schema["properties"])
        return f"Its arguments: {listed}."


def _whole(part: Any, definitions: dict[str, Any]) -> Any:
    """The schema with its references written out, which not every model's server follows, and with nothing in it that
    says nothing: names and words of our own types, and lists and defaults that are empty."""
    if isinstance(part, list):
        return [_whole(item, definitions) for item in part]
    if not isinstance(part, dict):
        return part
    if reference := part.get("$ref"):
        named = {k: v for k, v in definitions[reference.rpartition("/")[2]].items() if k != "description"}
        part = {**named, **{k: v for k, v in part.items() if k != "$ref"}}
    return {key: _whole(value, definitions) for key, value in part.items() if not _says_nothing(key, value)}


def _says_nothing(key: str, value: Any) -> bool:
    if key == "default":
        return value is False or value in ("", None, [], (), 0, ".")
    return (key == "title" and isinstance(value, str)) or (key == "required" and not value)


def _note(line: str) -> tuple[str, str]:
    name, _, text = line.lstrip(":").partition(":")
    return name.strip(), " ".join(text.split())
