"""Models in the user's own settings file: put there, routed to, taken out, each in one step. Never a project's file."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from quintet.adapters.settings.file import UserSettings
from quintet.domain.base.errors import NotFound, UsageError
from quintet.domain.base.wording import did_you_mean
from quintet.domain.settings.settings import ModelSettings, RoutingSettings

# Not of another model of the same name.
OF_THE_MODEL = (
    "price_input",
    "price_cached",
    "price_output",
    "context_window",
    "max_tokens",
    "vision",
)


def put_models(book: UserSettings, tables: Mapping[str, Mapping[str, Any]], routing: Mapping[str, str]) -> None:
    """Write tables [models.NAME] and rows of [routing]; an empty row is taken out. All else stays as it is."""
    for name in tables:
        check_name(name)

    def change(document: Any) -> None:
        import tomlkit

        models = document.setdefault("models", tomlkit.table(is_super_table=True)) if tables else {}
        for name, values in tables.items():
            table = models.setdefault(name, tomlkit.table())
            if table.get("model", values["model"]) != values["model"]:
                _take(table, OF_THE_MODEL)
            _take(table, (field for field in ("api_key_env", "api_key_command") if field not in values))
            for field, value in values.items():
                if field in ModelSettings.__struct_fields__:  # what a list says beyond that is not kept
                    table[field] = value
        _route(document, routing)

    book.rewrite(change)


def remove_models(book: UserSettings, names: Iterable[str]) -> dict[str, str]:
    """Take models and the routes to them out; returns those routes."""
    names, unrouted = list(names), dict[str, str]()

    def change(document: Any) -> None:
        models = document.get("models", {})
        for name in names:
            if name not in models:
                where = _elsewhere(book, name)
                raise NotFound(where or f"there is no model {name} in {book.path}.{did_you_mean(name, models)}")
            del models[name]
        if not models and "models" in document:
            del document["models"]
        routes = document.get("routing", {})
        unrouted.update({use: routes[use] for use in RoutingSettings.__struct_fields__ if routes.get(use) in names})
        _route(document, dict.fromkeys(unrouted, ""))

    book.rewrite(change)
    return unrouted


def check_name(name: str) -> str:
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_-]*", name, re.ASCII):
        raise UsageError(f"{name}: a model's name may have letters, digits, - and _")
    if name in ("builtin", "auto"):
        raise UsageError(f"{name} is reserved by Quintet; choose another")
    return name


def _route(document: Any, routing: Mapping[str, str]) -> None:
    import tomlkit

    if not routing:
        return
    routes = document.setdefault("routing", tomlkit.table())
    for use, name in routing.items():
        if name:
            routes[use] = name
        else:
            _take(routes, (use,))
    if not routes:
        del document["routing"]


def _take(table: Any, fields: Iterable[str]) -> None:
    for field in fields:
        if field in table:
            del table[field]


def _elsewhere(book: UserSettings, name: str) -> str:
    found = next((row for row in book.rows() if row.key.startswith(f"models.{name}.")), None)
    return f"models.{name} is set by {found.source}, not by your settings: remove it there" if found else ""
