"""Calls that nobody can approve: when they end a run, what is said of them, which flags would let them run."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quintet.domain.dials.axes import Axes, PermissionProfile, RunControl, WorkMode
from quintet.domain.permission.effects import Effect, Sandbox
from quintet.domain.turn.skipped import (
    IN_ALL,
    SAME_KIND,
    SkippedCall,
    allowed_by,
    end_of_run,
    held_up,
    reason_kind,
    sentence,
    told,
)

E = Effect
PUSH = SkippedCall(
    "bash", "git push --force", "publishing always needs approval (git push: publishes with --force)", (E.PUBLISH,)
)
TESTS = SkippedCall(
    "bash",
    "pytest",
    "building needs approval in profile normal (pytest: tests)",
    (E.BUILD,),
    "--permission-profile trusted",
)
HOSTS = SkippedCall("Read", "/etc/shadow", "/etc/shadow is outside the project", (E.READ,))


def other(number: int) -> SkippedCall:
    return SkippedCall("bash", f"line {number}", "some reason " + "x" * number, (E.NETWORK,))


@pytest.mark.parametrize(
    ("calls", "ends"),
    [
        ([], False),
        ([PUSH], False),
        ([PUSH, PUSH], False),
        ([PUSH, PUSH, PUSH], True),
        ([PUSH, TESTS, PUSH, HOSTS], False),
        ([PUSH, TESTS, PUSH, HOSTS, PUSH], True),
        (
            [
                PUSH,
                SkippedCall(
                    "bash", "git push x", "publishing always needs approval (git push: publishes)", (E.PUBLISH,)
                ),
            ]
            * 2,
            True,
        ),
        ([PUSH, PUSH, SkippedCall("bash", "npm publish", PUSH.reason, (E.PUBLISH, E.DESTROY))], False),
        ([PUSH, PUSH, SkippedCall("forge", "x", PUSH.reason, (E.PUBLISH,))], False),
        ([PUSH, PUSH, SkippedCall("bash", "git push", "your hook says: not now", (E.PUBLISH,))], False),
        ([other(n) for n in range(IN_ALL - 1)], False),
        ([other(n) for n in range(IN_ALL)], True),
    ],
)
def test_a1_three_refusals_of_a_kind_or_ten_in_all_end_a_run(calls: list[SkippedCall], ends: bool) -> None:
    reason = end_of_run(calls)
    assert bool(reason) is ends
    if ends:
        named = [call for call in calls if call.kind == calls[-1].kind] if "same kind" in reason else calls
        assert all(call.name in reason for call in named)


CALLS = st.lists(
    st.builds(
        SkippedCall,
        tool=st.sampled_from(["bash", "Read", "Edit"]),
        line=st.text(max_size=20),
        reason=st.sampled_from([PUSH.reason, TESTS.reason, HOSTS.reason, "your hook `x`: why?"]),
        effects=st.lists(st.sampled_from(list(Effect)), max_size=2, unique=True).map(tuple),
    ),
    max_size=60,
)


@given(CALLS)
def test_a_run_is_ended_by_the_tenth_call_at_the_latest_and_never_goes_on_again(calls: list[SkippedCall]) -> None:
    ended = [bool(end_of_run(calls[:count])) for count in range(len(calls) + 1)]
    assert ended == sorted(ended)
    assert not any(ended[:SAME_KIND])
    assert all(ended[IN_ALL:])


@given(CALLS, st.randoms())
def test_the_order_of_the_effects_and_of_the_calls_does_not_matter(calls: list[SkippedCall], chance: object) -> None:
    turned = [SkippedCall(c.tool, c.line, c.reason, tuple(reversed(c.effects))) for c in reversed(calls)]
    assert bool(end_of_run(turned)) is bool(end_of_run(calls))


@pytest.mark.parametrize(
    ("one", "two", "same"),
    [
        ("/etc/hosts is outside the project", "../x.csv is outside the project", True),
        ("deleting always needs approval (rm: deletes)", "deleting always needs approval (git reset: discards)", True),
        ("deleting always needs approval", "publishing always needs approval", False),
        ("building needs approval in profile normal", "Building needs approval in profile normal", False),
        ("in chat every change needs approval", "in chat every change needs approval (make: builds)", True),
        ("Running tests needs approval in profile normal.", "Running tests needs approval in profile normal", True),
    ],
)
def test_a_reason_is_of_the_same_kind_whatever_it_names(one: str, two: str, same: bool) -> None:
    assert (reason_kind(one) == reason_kind(two)) is same


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (
            PUSH,
            "Skipped: git push --force publishes, which always needs approval, and this run is non-interactive.",
        ),
        (
            TESTS,
            "Skipped: pytest needs approval (building needs approval in profile normal (pytest: tests)), and this run "
            "is non-interactive. To allow it: --permission-profile trusted",
        ),
        (
            HOSTS,
            "Skipped: Read /etc/shadow needs approval (/etc/shadow is outside the project), and this run is "
            "non-interactive.",
        ),
        (
            SkippedCall("bash", "a\nb\nc", "x", (E.DESTROY,)),
            "Skipped: a b c cannot be undone, which needs approval, and this run is non-interactive.",
        ),
    ],
)
def test_a_skipped_call_is_one_plain_line(call: SkippedCall, words: str) -> None:
    assert sentence(call) == words


def test_a_long_line_is_cut_in_a_sentence() -> None:
    assert len(sentence(SkippedCall("bash", "x" * 10_000, "y", (E.PUBLISH,)))) < 400


def test_the_model_is_told_which_call_why_and_what_to_do_instead() -> None:
    words = told(PUSH)
    assert words.startswith(
        "publishing always needs approval (git push: publishes with --force). The call was bash git push --force. "
    )
    assert "Nobody can approve calls in this run" in words
    assert "a way that needs no approval" in words and "separate calls" in words and "leave it out" in words


def test_the_end_names_each_call_once_and_the_flag_that_would_have_let_it_run() -> None:
    assert held_up([PUSH]).endswith(
        ": git push --force: publishing always needs approval (git push: publishes with --force)"
    )
    assert held_up([PUSH, TESTS, TESTS]).startswith("3 calls skipped, because nobody can approve")
    assert held_up([PUSH, TESTS, TESTS]).endswith(". To allow pytest: --permission-profile trusted")
    assert held_up([PUSH, TESTS, TESTS]).count("building needs approval") == 1
    wider = SkippedCall(
        "bash",
        "curl x",
        "using the network needs approval in profile normal",
        (E.NETWORK,),
        "--permission-profile unrestricted",
    )
    assert held_up([TESTS, wider]).endswith(". To allow all of them: --permission-profile unrestricted")


def at(work_mode: str, profile: str, control: str = "autonomous") -> Axes:
    return Axes(WorkMode(work_mode), RunControl(control), PermissionProfile(profile))


@pytest.mark.parametrize(
    ("effects", "axes", "flags"),
    [
        ([E.BUILD], at("build", "normal"), "--permission-profile trusted"),
        ([E.EDIT], at("build", "restricted"), "--permission-profile normal"),
        ([E.EDIT], at("chat", "normal"), "--mode build"),
        ([E.BUILD], at("chat", "restricted"), "--mode build --permission-profile trusted"),
        ([E.NETWORK], at("build", "trusted"), "--permission-profile unrestricted"),
        ([E.BUILD], at("build", "normal", "manual"), "--control autonomous --permission-profile trusted"),
        ([E.READ], at("chat", "restricted", "manual"), "--control autonomous"),
        ([E.BUILD], at("review", "normal"), ""),
        ([E.PUBLISH], at("build", "normal"), ""),
        ([E.OUTSIDE], at("build", "normal"), ""),
        ([E.EDIT, E.DESTROY], at("build", "normal"), ""),
        ([E.BUILD, E.NETWORK], at("build", "normal"), ""),
        ([E.BUILD, E.COMMIT], at("build", "normal"), ""),
        ([], at("build", "normal"), ""),
    ],
)
def test_the_flags_that_would_let_a_call_run(effects: list[Effect], axes: Axes, flags: str) -> None:
    assert allowed_by(effects, axes, Sandbox.BWRAP) == flags


@pytest.mark.parametrize("sandbox", [Sandbox.PARTIAL, Sandbox.NONE])
def test_no_flag_replaces_a_sandbox(sandbox: Sandbox) -> None:
    assert allowed_by([E.BUILD], at("build", "normal"), sandbox) == ""
    assert allowed_by([E.EDIT], at("build", "restricted"), sandbox) == "--permission-profile normal"
