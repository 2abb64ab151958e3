"""Which file is meant by a few letters."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quintet.domain.input.file_rank import ranked, score


@pytest.mark.parametrize(
    ("query", "best", "others"),
    [
        ("main", "src/main.py", ["src/domain.py", "main/other.py", "src/maintenance.py"]),
        ("exp", "tests/test_export.py", ["tests/test_reexport.py", "experiments/a/b.py"]),
        ("tc", "src/test_count.py", ["src/attic.py"]),
        ("src/m", "src/main.py", ["lib/src_m.py", "src/sub/main.py"]),
        ("README", "README.md", ["docs/readme.md"]),
        ("conf", "conf.py", ["src/deep/down/conf.py"]),
    ],
)
def test_the_meant_file_comes_first(query: str, best: str, others: list[str]) -> None:
    assert ranked(query, [*others, best], 8)[0] == best


def test_s4_best_score_first_then_by_the_alphabet() -> None:
    assert ranked("a", ["b/a.py", "a/a.py", "c/a.py"], 8) == ["a/a.py", "b/a.py", "c/a.py"]
    assert ranked("", ["z.py", "a/b.py", "a.py"], 8) == ["a.py", "z.py", "a/b.py"]


def test_a_capital_letter_wants_a_capital_one() -> None:
    assert ranked("Read", ["README.md", "Reader.py", "read.py"], 8) == ["Reader.py"]
    assert set(ranked("read", ["README.md", "Reader.py", "x.py"], 8)) == {"README.md", "Reader.py"}


PATHS = st.text(alphabet="ab/._Ä", min_size=1, max_size=12)


@given(st.text(alphabet="abÄ", max_size=4), PATHS)
def test_a_path_fits_exactly_when_it_has_the_letters_in_their_order(query: str, path: str) -> None:
    letters = iter(path.lower() if query == query.lower() else path)
    assert (score(query, path) is not None) == all(letter in letters for letter in query)


@given(st.text(alphabet="ab", max_size=3), st.lists(PATHS, unique=True, max_size=12), st.integers(1, 8))
def test_the_order_does_not_depend_on_how_they_came(query: str, paths: list[str], most: int) -> None:
    assert ranked(query, paths, most) == ranked(query, paths[::-1], most)
