"""A wrong verdict fails instead of succeeding: bad lines, run for real in the sandbox that their verdict builds.

A bad line of the corpus runs as if it had been judged to read, and one that the gate lets go runs in its own grant.
Nothing outside is touched, no secret read, no port reached; nothing in the project either, where it only reads. The
suite runs every sixth line; `scripts/faults products` runs them all, as `scripts/faults lines` does with all corpora.
"""

import asyncio
from pathlib import Path

import pytest

from quintet.domain.dials.axes import PermissionProfile
from quintet.domain.permission.effects import Grant
from quintet.domain.permission.gate import Verdict
from tests.domain.hostile_lines import bad, decided, rows
from tests.faults.second_wall import Field
from tests.products import some

PARTS = 2
EVERY = 6
SECONDS = 1.0  # then a line that waits for something is ended


@pytest.fixture
def field(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Field:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    return Field(tmp_path)


def reached(field: Field, line: str, grant: Grant) -> str:
    return asyncio.run(field.attack(line, kept=False, grant=grant, seconds=SECONDS))


@pytest.mark.system("bwrap")
@pytest.mark.parametrize("part", range(PARTS))
def test_a_bad_line_that_is_taken_for_reading_touches_nothing(field: Field, part: int) -> None:
    lines = some([row["line"] for row in bad() if not row.get("bomb")], EVERY)
    try:
        assert asyncio.run(field.read_together(lines[part::PARTS], at_once=8, seconds=SECONDS)) == []
    finally:
        field.close()


@pytest.mark.system("bwrap")
@pytest.mark.parametrize("part", range(PARTS))
def test_a_bad_line_that_goes_touches_nothing_beyond_its_grant(field: Field, part: int) -> None:
    lines = some([row["line"] for row in (*bad(), *rows("attacks.jsonl")) if row.get("wall") == "sandbox"], EVERY)
    found = []
    try:
        for line in lines[part::PARTS]:
            decisions = [decided(line, profile, root=str(field.project)) for profile in PermissionProfile]
            grants = {decision.grant for decision in decisions if decision.verdict is Verdict.ALLOW}
            assert len(grants) == 1, line
            if touched := reached(field, line, grants.pop()):
                found.append(f"{line!r}: {touched}")
        assert found == []
    finally:
        field.close()


@pytest.mark.system("bwrap")
@pytest.mark.parametrize(
    "line", ["sed '1e touch y' src/x.txt", "read x < payload; let y=x", "awk 'BEGIN{print 1 > \"y\"}'"]
)
def test_the_lines_do_what_they_say_where_they_may(field: Field, line: str) -> None:
    try:
        assert reached(field, line, Grant((), (str(field.project),))) == ""
        assert (field.project / "y").exists()
    finally:
        field.close()
