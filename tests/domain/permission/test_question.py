"""What a question says of the walls: what holds a call, for every kind of sandbox."""

from __future__ import annotations

import itertools

import pytest

from quintet.domain.permission.effects import Effect, Grant, Sandbox
from quintet.domain.permission.question import OUTSIDE, UNCONTAINED, access

ROOT = "/work/app"
EDITS = Grant((Effect.EDIT,), (ROOT,))
READS = Grant((Effect.READ,))
LOOKS = Grant((Effect.READ,), read_roots=("/srv/data",))
INSTALLS = Grant((Effect.INSTALL,), (ROOT,), network=True)
LEAVES = Grant((Effect.OUTSIDE,), (ROOT,))
LEFT_OPEN = "partial sandbox: can write .git and protected files, can read secret files"


@pytest.mark.parametrize(
    ("grant", "sandbox", "said"),
    [
        (EDITS, Sandbox.BWRAP, "writes the project · network off"),
        (READS, Sandbox.BWRAP, "writes nothing · network off"),
        (LOOKS, Sandbox.BWRAP, "writes nothing · reads /srv/data · network off"),
        (INSTALLS, Sandbox.BWRAP, "writes the project · network on for this call"),
        (LEAVES, Sandbox.BWRAP, OUTSIDE),
        (LEAVES, Sandbox.PARTIAL, OUTSIDE),
        (EDITS, Sandbox.PARTIAL, f"writes the project · network off · {LEFT_OPEN}"),
        (
            READS,
            Sandbox.PARTIAL,
            "writes nothing · network off · partial sandbox: can read secret files of the project",
        ),
        (EDITS, Sandbox.NONE, UNCONTAINED),
        (READS, Sandbox.NONE, UNCONTAINED),
        (LEAVES, Sandbox.NONE, UNCONTAINED),
    ],
)
def test_a_command_is_said_to_have_what_the_sandbox_leaves_it(grant: Grant, sandbox: Sandbox, said: str) -> None:
    assert access(grant, sandbox, ROOT, command=True) == said


def test_a_wall_is_only_named_where_it_stands() -> None:
    for effect, sandbox, network in itertools.product(Effect, Sandbox, (True, False)):
        said = access(Grant((effect,), (ROOT,), network), sandbox, ROOT, command=True)
        walled = sandbox is not Sandbox.NONE and effect is not Effect.OUTSIDE
        assert ("network off" in said) == (walled and not network)
        assert ("with your rights" in said) != walled


def test_a_tool_that_runs_no_command_keeps_to_its_grant_without_a_sandbox() -> None:
    assert access(EDITS, Sandbox.NONE, ROOT, command=False) == "writes the project · network off"
