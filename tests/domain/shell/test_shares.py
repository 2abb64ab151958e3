"""A list and what changed share the rows of a screen: never more than there are, and what is cut is counted."""

from hypothesis import given
from hypothesis import strategies as st

from quintet.domain.permission.trusted_content import shares

COUNT = st.integers(0, 5_000)


@given(st.integers(3, 200), COUNT, COUNT)
def test_what_is_shown_fits_and_uses_the_room_there_is(rows: int, listed: int, changed: int) -> None:
    of_list, of_changes = shares(rows, listed, changed)
    assert 0 <= of_list <= listed and 0 <= of_changes <= changed
    used = of_list + (of_list < listed) + of_changes + (of_changes < changed)
    assert used <= rows
    if listed + changed <= rows:
        assert (of_list, of_changes) == (listed, changed)
    elif changed and rows > 8:
        assert of_changes >= min(changed, 3)
