"""Helpers as people see them: line by line at a terminal, and in a script."""

from __future__ import annotations

import json

import pytest

from tests.surfaces.program import Program

pytestmark = pytest.mark.filterwarnings("ignore:.*forkpty:DeprecationWarning")


def calling(role: str, task: str) -> str:
    return f"!!run_helpers {json.dumps({'helpers': [{'role': role, 'task': task}]})}"


def test_a_script_is_told_how_far_they_are_beside_the_answer(quintet: Program) -> None:
    done = quintet.run("-p", calling("explorer", "find the definition of words")).clean(0)
    assert done.out.startswith("## explorer-1: done\ndefinition of words: 1 place")
    told = [line.strip() for line in done.err.splitlines() if line.strip().startswith("explorer-1: ")]
    assert told[0].startswith("explorer-1: working · 1 request, 0 calls")
    assert "explorer-1: working · grep" in "\n".join(told)
    assert told[-1].startswith("explorer-1: ended · done · ")


def test_at_a_terminal_a_helper_works_asks_by_its_name_and_reports(quintet: Program) -> None:
    terminal = quintet.plain()
    terminal.sees("› ")
    terminal.types(calling("tester", "run the tests"))
    terminal.sees("tester-1: working", "tester-1: Run: ", "no, with feedback")
    terminal.types("y")
    terminal.sees("tester-1: ended · done", "## tester-1: done", "› ")
    terminal.types("/helpers")
    terminal.sees("HELPER", "tester-1", "done")
