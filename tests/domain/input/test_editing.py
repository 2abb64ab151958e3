"""What is killed and yanked, and which line a backslash continues."""

from hypothesis import given
from hypothesis import strategies as st

from quintet.domain.input.editing import MOST_KILLS, KillRing, continued


def test_kills_in_a_row_are_one_text_as_it_stood() -> None:
    ring = KillRing()
    ring.kill("two ", before=True)
    ring.kill("one ", before=True)
    ring.kill("three", before=False)
    assert ring.yank() == "one two three"
    ring.other()
    ring.kill("alone", before=True)
    assert [ring.yank(), ring.rotate(), ring.rotate()] == ["alone", "one two three", "alone"]


def test_nothing_killed_is_nothing_yanked_and_the_oldest_go() -> None:
    ring = KillRing()
    ring.kill("", before=True)
    assert (ring.yank(), ring.rotate()) == ("", "")
    for number in range(MOST_KILLS + 1):
        ring.other()
        ring.kill(str(number), before=True)
    assert [ring.yank(), *(ring.rotate() for _ in range(MOST_KILLS - 1))][-1] == "1"


@given(st.text("a\\ "), st.booleans())
def test_an_odd_number_of_backslashes_continues_a_line(line: str, shell: bool) -> None:
    longer = continued(line, shell=shell)
    odd = (len(line) - len(line.rstrip("\\"))) % 2 == 1
    assert (longer is not None) == odd
    if longer is not None:
        assert longer == (line if shell else line[:-1]) + "\n"
