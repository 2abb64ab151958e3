"""The five axes: independent, named, and turned only by what names them."""

import itertools
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quintet.domain.base.errors import UsageError
from quintet.domain.dials.axes import (
    INTERACTIVE,
    UNATTENDED,
    Axes,
    AxesChange,
    ModelMode,
    PermissionProfile,
    RunControl,
    Surface,
    WorkMode,
    merge,
    parse_axis,
    tightens,
)

AXES = st.builds(
    Axes,
    st.sampled_from(WorkMode),
    st.sampled_from(RunControl),
    st.sampled_from(PermissionProfile),
    st.sampled_from(ModelMode),
    st.sampled_from(Surface),
)
CHANGES = st.builds(
    AxesChange,
    st.none() | st.sampled_from(WorkMode),
    st.none() | st.sampled_from(RunControl),
    st.none() | st.sampled_from(PermissionProfile),
    st.none() | st.sampled_from(ModelMode),
)
FIELDS = Axes.__struct_fields__
TURNED = AxesChange.__struct_fields__


def test_s3_2_there_are_864_combinations() -> None:
    assert len(list(itertools.product(WorkMode, RunControl, PermissionProfile, ModelMode, Surface))) == 864


def test_the_defaults_are_the_designs() -> None:
    assert INTERACTIVE == Axes(WorkMode.CHAT, RunControl.ASSISTED, PermissionProfile.NORMAL, ModelMode.SMART)
    assert UNATTENDED == Axes(
        WorkMode.CHAT, RunControl.AUTONOMOUS, PermissionProfile.RESTRICTED, ModelMode.SMART, Surface.HEADLESS
    )


@given(AXES, st.lists(CHANGES, max_size=20))
def test_s3_2_3_any_sequence_of_changes_keeps_the_axes_independent(start: Axes, changes: list[AxesChange]) -> None:
    axes = start
    for change in changes:
        after = change.applied_to(axes)
        for name in FIELDS:
            asked: Any = change.values().get(name)
            assert getattr(after, name) == (asked if asked is not None else getattr(axes, name))
        axes = after
    # Each axis ends where the last change that named it put it, whatever the others did.
    for name in FIELDS:
        named = [change.values()[name] for change in changes if name in change.values()]
        assert getattr(axes, name) == (named[-1] if named else getattr(start, name))


@given(AXES, CHANGES)
def test_a_change_undone_at_once_leaves_no_trace(before: Axes, change: AxesChange) -> None:
    after = change.applied_to(before)
    assert change.undone(before, after).applied_to(after) == before


@given(AXES, CHANGES, CHANGES)
def test_undoing_leaves_alone_what_was_turned_since(before: Axes, loan: AxesChange, since: AxesChange) -> None:
    lent = loan.applied_to(before)
    now = since.applied_to(lent)
    back = loan.undone(before, now).applied_to(now)
    for name in FIELDS:
        if getattr(now, name) != getattr(lent, name):
            assert getattr(back, name) == getattr(now, name)


@given(st.lists(CHANGES, max_size=5), AXES)
def test_merged_changes_do_what_they_do_one_by_one(changes: list[AxesChange], axes: Axes) -> None:
    """Or, where two want an axis elsewhere, nothing: that is an error which names both."""
    one_by_one = axes
    for change in changes:
        one_by_one = change.applied_to(one_by_one)
    wanted = [{value for change in changes if (value := getattr(change, name)) is not None} for name in TURNED]
    if all(len(values) < 2 for values in wanted):
        assert merge(changes).applied_to(axes) == one_by_one
    else:
        with pytest.raises(UsageError, match="contradict each other"):
            merge(changes)


@pytest.mark.parametrize(
    ("word", "value", "change"),
    [
        ("mode", "build", AxesChange(work_mode=WorkMode.BUILD)),
        ("control", "Autonomous", AxesChange(run_control=RunControl.AUTONOMOUS)),
        ("permission-profile", " trusted ", AxesChange(permission_profile=PermissionProfile.TRUSTED)),
        ("model-mode", "deep", AxesChange(model_mode=ModelMode.DEEP)),
    ],
)
def test_an_axis_is_parsed_by_its_word(word: str, value: str, change: AxesChange) -> None:
    assert parse_axis(word, value) == change


def test_an_unknown_value_names_the_choices_and_the_nearest() -> None:
    with pytest.raises(UsageError) as error:
        parse_axis("permission-profile", "trused")
    assert str(error.value) == (
        'permission-profile "trused": not one of restricted, normal, trusted, unrestricted. Did you mean trusted?'
    )


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        (INTERACTIVE, AxesChange(permission_profile=PermissionProfile.RESTRICTED), True),
        (INTERACTIVE, AxesChange(permission_profile=PermissionProfile.TRUSTED), False),
        (INTERACTIVE, AxesChange(run_control=RunControl.MANUAL), True),
        (INTERACTIVE, AxesChange(work_mode=WorkMode.BUILD, model_mode=ModelMode.DEEP), False),
    ],
)
def test_tightening_is_told_from_profile_and_control(before: Axes, after: AxesChange, expected: bool) -> None:
    assert tightens(before, after.applied_to(before)) is expected
