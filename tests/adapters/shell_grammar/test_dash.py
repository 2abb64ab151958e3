"""`-` before a here-document, which the grammar's tree leaves out, is a word like any other."""

import pytest

from quintet.adapters.shell_grammar.parse import BashGrammar


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("git commit -q -F - <<'EOF'\nParse dates once\nEOF", ["git", "commit", "-q", "-F", "-"]),
        ("python3 - <<E\nprint(1)\nE", ["python3", "-"]),
        ("cat - <<E > x\n - <<F\nE", ["cat", "-"]),
    ],
)
def test_a_dash_before_a_here_document_is_a_word(line: str, words: list[str]) -> None:
    script = BashGrammar().parse(line)
    assert not script.problem
    assert [word.text for word in script.commands[0].words] == words


@pytest.mark.parametrize("line", ["echo '\n - <<E\nx\nE", 'echo "a - <<E\nx\nE"', "echo a-<<E\nx\nE"])
def test_in_quotes_it_is_left_as_it_is(line: str) -> None:
    assert "'-'" not in str(BashGrammar().parse(line))
