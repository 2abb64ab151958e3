"""The badge: the axes as text, never cut, never wider than its host but for full labels that wrap."""

from itertools import product

from hypothesis import given
from hypothesis import strategies as st

from quintet.domain.dials import badge
from quintet.domain.dials.axes import Axes, ModelMode, PermissionProfile, RunControl, WorkMode
from tests.domain.dials.test_axes import AXES

BUILD = Axes(WorkMode.BUILD, RunControl.AUTONOMOUS, PermissionProfile.TRUSTED, ModelMode.SMART)
REVIEW = Axes(WorkMode.REVIEW, RunControl.ASSISTED, PermissionProfile.NORMAL, ModelMode.DEEP)


def test_s3_8_1_the_full_form() -> None:
    assert badge.full(BUILD) == "build │ autonomous │ trusted │ smart"
    assert badge.full(BUILD, paused=True) == "build │ autonomous │ trusted │ smart ‖"


def test_s3_8_2_the_compact_form() -> None:
    assert badge.compact(BUILD) == "[B][A][T][S]"
    assert badge.compact(BUILD, paused=True) == "[B][A][T][S]‖"
    assert badge.compact(Axes(WorkMode.PLAN, RunControl.ASSISTED, PermissionProfile.UNRESTRICTED, ModelMode.FAST)) == (
        "[P][As][U][F]"
    )


def test_s3_8_2_a_narrow_terminal_gets_the_compact_form() -> None:
    assert badge.lines(BUILD, 80) == ["build │ autonomous │ trusted │ smart"]
    assert badge.lines(BUILD, 79) == ["[B][A][T][S]"]


def test_s3_8_3_review_and_repair_show_full_labels_at_any_width() -> None:
    assert badge.lines(REVIEW, 60) == ["review │ assisted │ normal │ deep"]
    assert badge.lines(REVIEW, 20) == ["review │ assisted", "normal │ deep"]
    assert badge.lines(REVIEW, 3) == ["review", "assisted", "normal", "deep"]


def test_s3_8_4_the_title() -> None:
    assert badge.title(BUILD, "invoicer") == "Quintet[build|A|trusted|smart] invoicer"
    assert badge.title(BUILD, "invoicer", paused=True) == "Quintet[build|A|trusted|smart]‖ invoicer"


def test_s3_8_6_every_value_has_a_colour_and_they_are_the_specified_ones() -> None:
    assert {word: badge.ROLES[word] for word in ("chat", "plan", "build", "review", "repair", "research")} == {
        "chat": "dim",
        "plan": "accent",
        "build": "success",
        "review": "warning",
        "repair": "error",
        "research": "info",
    }
    assert {word: badge.ROLES[word] for word in ("manual", "assisted", "autonomous")} == {
        "manual": "dim",
        "assisted": "warning",
        "autonomous": "success",
    }
    assert {word: badge.ROLES[word] for word in PermissionProfile} == {
        "restricted": "success",
        "normal": "dim",
        "trusted": "warning",
        "unrestricted": "error",
    }


@given(AXES, st.integers(1, 300), st.booleans())
def test_the_badge_never_exceeds_its_width_and_never_cuts_a_label(axes: Axes, width: int, paused: bool) -> None:
    lines = badge.lines(axes, width, paused=paused)
    critical = axes.work_mode in badge.CRITICAL
    for line in lines:
        words = [word for word in line.replace("│", " ").split() if word != "‖"]
        assert len(line) <= width or (critical and len(words) == 1)
    if critical:
        shown = " ".join(lines).replace("│", " ").replace("‖", " ").split()
        assert shown == list(badge.labels(axes))
    assert ("‖" in "".join(lines)) is paused


def test_no_two_values_share_a_box_whatever_their_dials() -> None:
    """But for work modes that are always written out."""
    written_out = {str(work_mode) for work_mode in badge.CRITICAL}
    boxes: dict[str, set[str]] = {}
    for axes in (Axes(*values) for values in product(WorkMode, RunControl, PermissionProfile, ModelMode)):
        for word, box in zip(badge.labels(axes), badge.boxes(axes), strict=True):
            if word not in written_out:
                boxes.setdefault(box, set()).add(word)
    assert all(len(words) == 1 for words in boxes.values()), boxes
    assert len(boxes) == 4 + 3 + 4 + 3
