"""What is remembered of models between starts, beside the projects' state: how the last test of each went, and what was
offered and not wanted.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from quintet.adapters.files import private_files
from quintet.adapters.files.paths import state_folder
from quintet.domain.base.errors import QuintetError

FIELDS = ("ok", "code", "error", "hint", "seconds")
TESTS, DECLINED = "tests", "declined"


def last_test(name: str, base_url: str) -> dict[str, Any] | None:
    """The last test of a model, if it was made of this address."""
    found = last_tests().get(name)
    return found if found and found.get("base_url") == base_url else None


def last_tests() -> dict[str, dict[str, Any]]:
    found = _read().get(TESTS)
    return {name: row for name, row in found.items() if isinstance(row, dict)} if isinstance(found, dict) else {}


def keep_tests(results: Sequence[Mapping[str, Any]], at: str, addresses: Mapping[str, str]) -> None:
    """`addresses` are where each model was when it was tried: a test says nothing of another one."""
    rows = {
        one["name"]: {"at": at, "base_url": addresses.get(one["name"], ""), **{field: one[field] for field in FIELDS}}
        for one in results
    }
    _write(lambda state: {**state, TESTS: {**last_tests(), **rows}})


def declined() -> frozenset[str]:
    """The offers that a person has said no to."""
    found = _read().get(DECLINED)
    return frozenset(name for name in found if isinstance(name, str)) if isinstance(found, list) else frozenset()


def decline(names: Sequence[str]) -> None:
    _write(lambda state: {**state, DECLINED: sorted({*declined(), *names})})


def _read() -> dict[str, Any]:
    with suppress(QuintetError):
        found = private_files.read_json(_path(), "until then no model is remembered")
        return found if isinstance(found, dict) else {}
    return {}


def _write(change: Any) -> None:
    """Where it cannot be written, nothing is lost but a convenience."""
    with suppress(QuintetError), private_files.locked(_path()):
        private_files.write_json(_path(), change(_read()))


def _path() -> str:
    return os.path.join(state_folder(), "models.json")
