"""No bad line goes where nothing contains it; behind bubblewrap it meets the wall that the corpus names."""

from itertools import product

import pytest

from quintet.domain.dials.axes import PermissionProfile, WorkMode
from quintet.domain.permission.effects import Effect
from quintet.domain.permission.gate import Sandbox, Verdict
from tests.domain.hostile_lines import (
    CORPORA,
    WAITS,
    bad,
    counted,
    decided,
    due,
    good,
    harmful,
    harmless,
    in_session,
    rows,
    too_soon,
)

BOUNDED = {Effect.READ, Effect.EDIT, Effect.EXECUTE, Effect.BUILD}  # effects that open nothing but the project


def test_the_corpus_is_large_and_well_formed() -> None:
    assert len(bad()) >= 290 and len(good()) >= 80
    assert len({row["line"] for row in rows()}) >= len(rows()) - 5  # a few are both
    assert {row["wall"] for row in bad()} == {"gate", "sandbox"}


@pytest.mark.parametrize("sandbox", [Sandbox.PARTIAL, Sandbox.NONE])
def test_without_a_whole_sandbox_no_bad_line_goes_at_any_setting(sandbox: Sandbox) -> None:
    went = [
        (row["line"], profile, work_mode)
        for row, profile, work_mode in product(bad(), PermissionProfile, WorkMode)
        if decided(row["line"], profile, sandbox, work_mode).verdict is Verdict.ALLOW
    ]
    assert went == []


def test_without_a_sandbox_plan_at_restricted_denies_every_bad_line() -> None:
    for row in bad():
        assert decided(row["line"], "restricted", Sandbox.NONE, WorkMode.PLAN).verdict is Verdict.DENY, row


def test_a_bad_line_meets_the_wall_the_corpus_names() -> None:
    for row in bad():
        went = [decided(row["line"], profile).verdict is Verdict.ALLOW for profile in ("normal", "trusted")]
        assert ("sandbox" if any(went) else "gate") == row["wall"], row


def test_what_goes_has_a_grant_that_opens_nothing_but_the_project() -> None:
    lines = [row["line"] for row in (*bad(), *rows("attacks.jsonl")) if row.get("wall") == "sandbox"]
    assert len(lines) > 60
    for line, profile, work_mode in product(lines, PermissionProfile, WorkMode):
        decision = decided(line, profile, work_mode=work_mode)
        if decision.verdict is Verdict.ALLOW:
            grant = decision.grant
            assert not grant.network and not grant.read_roots and not grant.secrets, line
            assert set(grant.effects) <= BOUNDED and set(grant.write_roots) <= {"/project"}, line
            if set(grant.effects) <= {Effect.READ}:
                assert grant.write_roots == (), line


def test_good_lines_go_as_far_as_the_corpus_says() -> None:
    for row in good():
        got = {profile: str(decided(row["line"], profile).verdict) for profile in ("normal", "trusted")}
        assert got == {profile: row[profile] for profile in got}, row["line"]


@pytest.mark.parametrize("profile", WAITS)
@pytest.mark.parametrize("corpus", CORPORA)
def test_what_developers_type_goes_without_a_question(corpus: str, profile: str) -> None:
    lines = due(harmless(corpus), profile)
    asked = [row["line"] for row in lines if row not in counted(lines, profile, kept=True)]
    assert len(asked) <= 0.08 * len(lines), asked


@pytest.mark.parametrize("corpus", CORPORA)
def test_no_harmful_line_goes_below_its_need(corpus: str) -> None:
    assert [row["line"] for row in harmful(corpus) if too_soon(row)] == []


@pytest.mark.parametrize("corpus", CORPORA)
def test_a_harmless_line_is_granted_no_more_than_its_effects(corpus: str) -> None:
    """What it opens beyond the project it needs: a network, or the repository."""
    for row in harmless(corpus):
        decision = in_session(row["line"], "trusted")
        if decision.verdict is Verdict.ALLOW:
            assert not decision.grant.network or {"install", "network"} & set(row["effects"]), row
            opened = Effect.COMMIT in decision.grant.effects
            assert not opened or "commit" in row["effects"] or row["line"].startswith("git "), row


def test_the_lines_of_developers_are_well_formed() -> None:
    lines = rows("developer_lines.jsonl")
    assert (len(harmless("developer_lines.jsonl")), len(harmful("developer_lines.jsonl"))) == (150, 40)
    assert len({row["line"] for row in lines}) == len(lines)
    assert {effect for row in lines for effect in row.get("effects", ())} <= {str(effect) for effect in Effect}
    assert {row["needs"] for row in harmful("developer_lines.jsonl")} <= {*PermissionProfile, "never"}
