"""Every code that a person can meet has a cause and a cure, and what the cures name exists."""

import ast
import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from quintet.app.health.checks import every_kind
from quintet.cli import commands
from quintet.cli.program.explain import known
from quintet.domain.agents.run import RunErrorCode
from quintet.domain.base.remedies import Remedy, remedies, where_to_read
from quintet.engine.commands.table import TABLE
from quintet.features.registry import features, tables
from tests.adapters.model_server import Reply
from tests.conftest import Model
from tests.surfaces.program import Program

SRC = Path(__file__).parent.parent / "src" / "quintet"
CODE = re.compile(r"[A-Z]+(?:_[A-Z]+)*")
PAGE = (SRC / "pages/troubleshooting.md").read_text()
FIRST = {"_tell", "RunFailed"}  # what takes a code as its first argument


def codes_in(path: Path) -> Iterator[str]:
    """The codes that a file gives to errors and notices; the doctor declares its own."""
    tree = ast.parse(path.read_text())
    named = {
        target.id: node.value.value
        for node in tree.body
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef):
            yield from (_value(part) for part in node.body if _is_code(part))
        elif isinstance(node, ast.Call):
            called = node.func.id if isinstance(node.func, ast.Name) else getattr(node.func, "attr", "")
            given = [one.value for one in node.keywords if one.arg == "code"] + (
                node.args[:1] if called in FIRST else []
            )
            for value in given:
                if isinstance(value, ast.Constant) and isinstance(value.value, str):
                    yield value.value
                elif isinstance(value, ast.Name) and isinstance(named.get(value.id), str):
                    yield named[value.id]
    if path.name == "opening_notes.py":
        yield from (key.value for node in ast.walk(tree) if isinstance(node, ast.Dict) for key in node.keys)


def _is_code(part: ast.stmt) -> bool:
    return (
        isinstance(part, ast.Assign) and ast.unparse(part.targets[0]) == "code" and isinstance(part.value, ast.Constant)
    )


def _value(part: ast.stmt) -> str:
    assert isinstance(part, ast.Assign) and isinstance(part.value, ast.Constant)
    return str(part.value.value)


@pytest.mark.everything
def test_every_code_has_a_cause_and_a_cure() -> None:
    met = {code for path in SRC.rglob("*.py") if SRC / "skills" not in path.parents for code in codes_in(path)}
    met = {code for code in met if CODE.fullmatch(code)} | set(RunErrorCode) | {"SYSTEM", "INTERNAL"}
    imported = {
        "LEARNT",
        "RECORDING_ENDED",
        "PUT_RIGHT",
        "SHELL_ENDED",
        "INTERRUPTED",
        "NOT_BEGUN",
    }  # constants of other files
    assert len(met) > 60 and {"LLM_TIMEOUT", "REMOTE_DOWN", "CHECKPOINT", "HOME", "HOOK"} <= met
    assert met | imported == remedies(PAGE).keys(), "write an entry in src/quintet/pages/troubleshooting.md"
    found = {kind.code for kind in every_kind()}
    assert {"SANDBOX_WEAK", "SKILL_UNUSABLE"} <= found
    assert known().keys() == found | remedies(PAGE).keys()
    assert [code for code, one in known().items() if not (one.cause and one.cure)] == []


def test_an_entry_that_is_not_whole_is_no_entry() -> None:
    page = "# T\n\n## A part\n\n### A_B\nCause: c.\nCure: d.\n\n### C_D\nCause: c.\n"
    assert remedies(page) == {"A_B": Remedy("A_B", "A part", "c.", "d.")}


def test_every_heading_of_the_page_is_a_whole_entry() -> None:
    assert re.findall(r"^### (.*)$", PAGE, re.M) == list(remedies(PAGE))


@pytest.mark.everything
def test_a_cure_names_only_commands_and_settings_that_there_are() -> None:
    cures = " ".join(one.cure for one in known().values())
    words = set(re.findall(r"`quintet ([a-z]+)", cures))
    assert words - set(commands.names()) == set()
    slash = {command.name for command in TABLE} | {one.name for feature in features() for one in feature.slash}
    assert set(re.findall(r"`/([a-z-]+)\b", cures)) - slash - {"skill"} == set()
    keys = {re.sub(r"\.NAME\.", ".", key) for key in re.findall(r"`([a-z]+\.(?:NAME\.)?[a-z_]+)`", cures)}
    sections = {key.partition(".")[0] for key in tables().catalogue()}
    named = {re.sub(r"\.[^.]*\.", ".", key) for key in tables().catalogue()} | set(tables().catalogue())
    assert {key for key in keys if key.partition(".")[0] in sections} - named == set()


def test_explain_prints_an_entry_and_lists_them_all(quintet: Program) -> None:
    printed = quintet.run("explain", "store_newer").out
    assert printed.startswith("STORE_NEWER\ncause    A newer Quintet wrote this state.")
    assert {one["code"] for one in json.loads(quintet.run("explain", "--json").out)} == known().keys()
    refused = quintet.run("explain", "STORE_NEWR")
    assert refused.code == 2 and "STORE_NEWER" in refused.err


def test_the_message_of_an_error_leads_to_its_entry(quintet: Program) -> None:
    (Path(quintet.root) / ".quintet").mkdir(exist_ok=True)
    (Path(quintet.root) / ".quintet/settings.toml").write_text("limits = 3\n")
    refused = quintet.run("settings")
    assert refused.code == 2 and refused.err.endswith("more: quintet explain SETTINGS_INVALID\n")
    assert where_to_read("USAGE") == "" and "explain" not in quintet.run("nonsense").err


def test_the_end_of_a_failed_run_leads_to_its_entry(quintet: Program, model: Model) -> None:
    model(Reply(status=401))
    failed = quintet.run("-p", "hello").clean(1)
    assert failed.err.endswith("\nmore: quintet explain LLM_AUTH_FAILED\n") and failed.err.count("LLM_AUTH_FAILED") == 1
