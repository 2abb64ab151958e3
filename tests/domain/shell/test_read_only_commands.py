"""The closed table of lines that read unasked without a sandbox: what is in it, and that nothing gets around it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quintet.adapters.shell_grammar.parse import BashGrammar
from quintet.domain.shell.judge import with_lines
from quintet.domain.shell.read_only_commands import plain_paths
from quintet.domain.turn.tool_spec import Touch

PLAIN = {
    "ls": "",
    "ls -la src": "src",
    "cat a.py b.py": "a.py b.py",
    "head -n 20 README.md": "README.md",
    "head -20 README.md": "README.md",
    "tail -n5 a.log": "a.log",
    "wc -l a b": "a b",
    "grep -n 'x|y' a.py | head -5 | sort -rn": "a.py",
    'grep "def main" src/a.py': "src/a.py",
    "grep 'a$' 'b c.txt'": "b c.txt",
    "cut -d: -f1 a | sort -u | uniq -c": "a",
    "find src -name '*.py' -maxdepth 2 -type f": "src",
    "echo hello": "",
    "date +%F": "",
    "pwd": "",
    "stat a": "a",
    "sort -t, -k2 a.csv": "a.csv",
}
# Each of these is one step away from a plain line.
NOT_PLAIN = [
    "cat $x",
    "cat `id`",
    "cat $(id)",
    'cat "$x"',
    'cat "`id`"',
    'cat "a\\b"',
    "cat a > b",
    "cat a >> b",
    "cat < a",
    "cat <<< a",
    "cat <(ls)",
    "cat *.py",
    "cat a?",
    "cat [ab]",
    "cat {a,b}",
    "cat ~/a",
    "cat ~",
    "cat /etc/passwd",
    "cat ../a",
    "cat a/../../b",
    "cat src/..",
    "cat 'a'b",
    "cat a'b'",
    "cat a\\ b",
    "cat a; id",
    "cat a && id",
    "cat a & id",
    "cat a\nid",
    "cat a\tb",
    "cat a\u00a0b",
    "cat \u2028a",
    "cat é",
    "x=1 cat a",
    "x=1",
    "cat() { id; }",
    "! cat a",
    "(cat a)",
    "{ cat a; }",
    "cat a #b",
    "cat -",
    "cat --show-all a",
    "cat ''",
    "",
    " ",
    "|",
    "cat a |",
    "cat a | | cat",
    "cat a || id",
    "cat a |& cat",
    "ls | sh",
    "ls | xargs cat",
    "cat a | tee b",
    "./cat a",
    "/bin/cat a",
    "'cat' a | /bin/sh",
    "git status",
    "git log",
    "python --version",
    "node --version",
    "env",
    "printenv",
    "test -v a",
    "[ -f a ]",
    "read x",
    "let x=1",
    "declare -i x=1",
    "sed -n 1p a",
    "awk 1 a",
    "jq . a",
    "less a",
    "rg x",
    "grep -r x .",
    "grep -R x .",
    "grep -rn x",
    "grep -f a b",
    "grep -e x a",
    "grep --file=a b",
    "grep '-f' a",
    "sort -o a b",
    "sort '-oa' b",
    "sort --compress-program=x a",
    "sort -S1 a",
    "sort -T. a",
    "uniq a b",
    "uniq a",
    "head -n x a",
    "head -n",
    "tail -f a",
    "wc --files0-from=a",
    "date -s x",
    "date 0101",
    "date -f a",
    "find . -exec id +",
    "find . -delete",
    "find . -fprint a",
    "find . -name",
    "find -L . -name a",
    "find -files0-from a",
    "find '(' -name a",
    "file -f a",
    "file -z a",
    "du --files0-from=a",
    "sha256sum -c a",
    "cd src",
    "diff a b",
    "cmp a /etc/b",
    "echo a > /dev/tcp/127.0.0.1/80",
    "tree -o a",
    "hostname x",
    "cat a" + "a" * 5000,
]


@pytest.mark.parametrize(("line", "paths"), PLAIN.items())
def test_a_plain_line_reads_the_paths_it_names(line: str, paths: str) -> None:
    found = plain_paths(line)
    assert found is not None
    assert " ".join(found) == paths


@pytest.mark.parametrize("line", NOT_PLAIN)
def test_one_step_away_from_plain_is_not_plain(line: str) -> None:
    assert plain_paths(line) is None


META = "$`;&<>(){}[]*?!~#\\\n\t\r^\x00\x1b\u00a0\u2028é"


@given(st.sampled_from(list(PLAIN)), st.sampled_from(META), st.data())
def test_no_line_with_a_metacharacter_outside_quotes_is_plain(line: str, mark: str, data: st.DataObject) -> None:
    unquoted = [
        place for place in range(len(line) + 1) if line[:place].count("'") % 2 == line[:place].count('"') % 2 == 0
    ]
    place = data.draw(st.sampled_from(unquoted))
    assert plain_paths(line[:place] + mark + line[place:]) is None


@given(st.text(max_size=60) | st.text(alphabet=META + "'\"|- =a.catlsgrep", max_size=60))
def test_any_text_is_plain_or_not_and_never_more_than_words_and_pipes(line: str) -> None:
    if plain_paths(line) is not None:
        bare, quote = "", ""
        for char in line:
            if quote:
                quote = "" if char == quote else quote
            elif char in "'\"":
                quote = char
            else:
                bare += char
        assert not quote
        assert not set(bare) & set(META)


@given(st.sampled_from(list(PLAIN)))
def test_what_is_plain_is_judged_to_read_and_no_more(line: str) -> None:
    touch, lines = with_lines(Touch(frozenset(), lines=(line,)), BashGrammar().parse)
    assert lines.plain and set(touch.effects) == {"read"}
    assert set(plain_paths(line) or ()) <= set(touch.reads)


def test_a_line_typed_into_a_shell_that_was_told_something_before_is_not_plain() -> None:
    assert not with_lines(Touch(frozenset(), lines=("ls",)), BashGrammar().parse, fresh=False)[1].plain


def test_every_line_of_a_call_has_to_be_plain() -> None:
    assert not with_lines(Touch(frozenset(), lines=("ls", "git log")), BashGrammar().parse)[1].plain


def test_what_the_paths_lead_to_is_read_too() -> None:
    touch = Touch(frozenset(), lines=("cat a",), folder="sub")
    links = {"sub/a": "/home/me/.ssh/id_rsa"}
    meant, _ = with_lines(touch, BashGrammar().parse, lambda path: links.get(path, path))
    assert meant.reads == ("sub/a", "/home/me/.ssh/id_rsa")
