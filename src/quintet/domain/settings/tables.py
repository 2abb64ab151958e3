"""Every table of settings there is, the core's and those of features, and every setting in them by its dotted key."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import cached_property, reduce
from operator import or_
from types import UnionType
from typing import Annotated, Any, Union, get_args, get_origin, get_type_hints

import msgspec
from msgspec import Struct

from quintet.domain.settings.settings import ModelSettings, Settings

CORE = tuple(name for name in Settings.__struct_fields__ if name != "features")
_CORE_NAMED: dict[str, type[Struct]] = {"models": ModelSettings}
Load = Callable[[], type[Struct]]


class SettingInfo(Struct, frozen=True):
    key: str  # dotted, as in the file
    kind: Any
    bounded: Any  # the kind with the bounds of its values
    default: Any
    about: str
    reach: str


class Tables:
    """`more` gives the features' tables, and those whose tables the user names, each with what loads its Struct."""

    def __init__(self, more: Callable[[], tuple[Mapping[str, Load], Mapping[str, Load]]] = lambda: ({}, {})) -> None:
        self._find = more

    @cached_property
    def _more(self) -> tuple[Mapping[str, Load], Mapping[str, Load]]:
        return self._find()

    @cached_property
    def sections(self) -> tuple[str, ...]:
        """The tables of the file: `mcp`, not `mcp.servers`."""
        plain, named = self._more
        return tuple(dict.fromkeys((*CORE, *plain, *(key.partition(".")[0] for key in named))))

    @cached_property
    def named(self) -> tuple[str, ...]:
        """The tables of things that the user names."""
        return (*_CORE_NAMED, *self._more[1])

    def catalogue(self, sections: Iterable[str] | None = None) -> dict[str, SettingInfo]:
        """Every setting by its dotted key; those of what the user names are listed under `models.NAME` and the like.

        With `sections` only theirs: to find out all of the types costs as much as a command that looks.
        """
        infos: dict[str, SettingInfo] = {}
        for section in self.sections if sections is None else sections:
            prefixes = {f"{key}.NAME": key for key in self._named_in(section)}
            if section not in prefixes.values() and self._is_there(section):
                prefixes = {section: section, **prefixes}
            for prefix, table in prefixes.items():
                kind = self.struct_of(table)
                for name, hint in get_type_hints(kind, include_extras=True).items():
                    if (key := f"{prefix}.{name}") not in self.named:
                        meta = _meta(hint)
                        about, reach = meta.description or "", meta.extra["reach"]
                        infos[key] = SettingInfo(key, _kind(hint), hint, default_of(kind, name), about, reach)
        return infos

    def build(self, tree: Mapping[str, Any]) -> Settings:
        """Settings from tables by section; the sections that are not there stand at their defaults."""
        made = {section: msgspec.convert(table, self._section(section)) for section, table in tree.items()}
        core = {section: table for section, table in made.items() if section in CORE}
        return Settings(**core, features={section: table for section, table in made.items() if section not in CORE})

    def pattern(self, key: str) -> str:
        """The catalogue's key for a setting: a name of the user's stands as NAME."""
        for table in self._named_in(key.partition(".")[0]):
            name, dot, rest = key.removeprefix(f"{table}.").rpartition(".")
            if dot and name and key.startswith(f"{table}."):
                return f"{table}.NAME.{rest}"
        return key

    def _named_in(self, section: str) -> list[str]:
        if section in CORE:  # looked up without a look at the features
            return [section] if section in _CORE_NAMED else []
        return [key for key in self.named if key.partition(".")[0] == section]

    def _is_there(self, section: str) -> bool:
        return section in CORE or section in self._more[0]

    def struct_of(self, table: str) -> type[Struct]:
        """The Struct of a table, or of each of those that the user names in it."""
        if table in _CORE_NAMED:
            return _CORE_NAMED[table]
        if table in CORE:
            return type(default_of(Settings, table))
        plain, named = self._more
        return (named[table] if table in named else plain[table])()

    def _section(self, section: str) -> Any:
        """The type of a section's table."""
        return dict[str, self.struct_of(section)] if section in self._named_in(section) else self.struct_of(section)  # type: ignore[misc]


def _kind(hint: Any) -> Any:
    """What kind of value it has, without the bounds."""
    kind = get_args(hint)[0]
    bare = [get_args(one)[0] if get_origin(one) is Annotated else one for one in get_args(kind)]
    return reduce(or_, bare) if isinstance(kind, UnionType) or get_origin(kind) is Union else kind


def _meta(hint: Any) -> Any:
    """What `setting` says of it; bounds may stand beside."""
    assert get_origin(hint) is Annotated
    return next(one for one in get_args(hint)[1:] if one.extra)


def default_of(table: type[Struct], name: str) -> Any:
    fields = table.__struct_fields__
    defaults = table.__struct_defaults__
    offset = len(fields) - len(defaults)
    index = fields.index(name) - offset
    found: Any = defaults[index] if index >= 0 else None
    return found.factory() if hasattr(found, "factory") else found  # a table, empty if nothing is set
