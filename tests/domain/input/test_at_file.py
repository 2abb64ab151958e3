"""`@` in a line of input: what is a token, which file a few letters mean, what replaces it, quoting there and back."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from quintet.domain.input.at_file import AtToken, at_token, completed, quoted, ranked, score, unquoted

PATHS = st.text(st.characters(exclude_categories=["C", "Zl", "Zp"]), min_size=1, max_size=30)
LINES = st.text(alphabet=" \t@ab.'\"\\/", max_size=20)


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("@|", AtToken("", 0, 1)),
        ("@src/m|", AtToken("src/m", 0, 6)),
        ("look at @ma|in.py now", AtToken("main.py", 8, 16)),
        ("look at |@main.py", None),
        ("look at @main.py |", None),
        ("\t@x|", AtToken("x", 1, 3)),
        ("@one @two|", AtToken("two", 5, 9)),
        ("@one| @two", AtToken("one", 0, 4)),
        ("@a@b|", AtToken("a@b", 0, 4)),
        ("@'my fi|", AtToken("my fi", 0, 7)),
        ("@\"it's a|", AtToken("it's a", 0, 8)),
        ("@'my file' and| so on", None),
        ("größe @ä|", AtToken("ä", 6, 8)),
    ],
)
def test_s4_a_token_is_an_at_sign_at_the_beginning_of_a_word_and_what_follows(line: str, found: AtToken | None) -> None:
    assert at_token(line.replace("|", ""), line.index("|")) == found


@pytest.mark.parametrize("line", ["user@example.com", "to ada@example.org please", "a@", "x@y@z", "(@a"])
def test_s4_an_email_address_is_no_token(line: str) -> None:
    assert all(at_token(line, column) is None for column in range(len(line) + 1))


@pytest.mark.parametrize(
    ("path", "written"),
    [
        ("src/main.py", "src/main.py"),
        ("größe/ä.md", "größe/ä.md"),
        ("my file.txt", "'my file.txt'"),
        ("a(1).txt", "'a(1).txt'"),
        ("it's.txt", '"it\'s.txt"'),
        ('it\'s "it".txt', '"it\'s \\"it\\".txt"'),
    ],
)
def test_s4_paths_with_spaces_or_special_characters_are_quoted(path: str, written: str) -> None:
    assert quoted(path) == written


@given(PATHS)
@example("'\"\\")
@example("\\")
def test_quoting_and_back_is_the_same_path(path: str) -> None:
    assert unquoted(quoted(path)) == path


@given(LINES, st.integers(0, 20))
def test_a_token_lies_around_the_cursor_and_begins_a_word(line: str, column: int) -> None:
    token = at_token(line, min(column, len(line)))
    if token:
        assert token.start < min(column, len(line)) <= token.end
        assert line[token.start] == "@"
        assert token.start == 0 or line[token.start - 1].isspace()


@given(LINES, st.integers(0, 20), PATHS)
def test_a_chosen_path_takes_the_tokens_place_with_a_space_behind(line: str, column: int, path: str) -> None:
    token = at_token(line, min(column, len(line)))
    if token:
        written, cursor = completed(line, token, path)
        assert written.startswith(line[: token.start] + quoted(path) + " ")
        assert cursor == token.start + len(quoted(path)) + 1
        assert written[cursor:].lstrip(" ") == line[token.end :].lstrip(" ")


def test_a_space_that_is_there_is_not_doubled() -> None:
    line = "see @ma now"
    token = at_token(line, 6)
    assert token
    assert completed(line, token, "src/main.py") == ("see src/main.py now", 16)


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
