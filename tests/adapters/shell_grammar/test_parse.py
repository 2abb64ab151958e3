"""The shell grammar: what it finds in a line, and that it admits what it does not understand. No line here is run."""

import subprocess
import sys

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from quintet.adapters.shell_grammar.fast_path import flat
from quintet.adapters.shell_grammar.parse import LONGEST, BashGrammar
from quintet.domain.permission.effects import Effect
from quintet.domain.shell.judge import judge
from quintet.domain.shell.syntax import Redirect, Script, ShellAssignment, ShellCommand, Word

GRAMMAR = BashGrammar()


def commands(line: str) -> list[list[str]]:
    script = GRAMMAR.parse(line)
    assert script.problem == ""
    return [[word.text for word in command.words] for command in script.commands]


@pytest.mark.parametrize(
    "line",
    [
        "rm x",
        "ls; rm x",
        "ls\nrm x",
        "ls & rm x",
        "ls && rm x",
        "ls || rm x",
        "ls | rm x",
        "ls |& rm x",
        "! rm x",
        "(rm x)",
        "{ rm x; }",
        "{ rm x; } > y",
        "echo $(rm x)",
        "echo `rm x`",
        'echo "a $(rm x) b"',
        'echo "$(echo "$(rm x)")"',
        "echo ${y:-$(rm x)}",
        "echo ${y//a/$(rm x)}",
        "echo $((1 + $(rm x)))",
        "cat <(rm x)",
        "tee >(rm x)",
        "ls > >(rm x)",
        "cat <<< $(rm x)",
        "cat <<EOF\n$(rm x)\nEOF",
        "cat <<EOF | rm x\ny\nEOF",
        "cat <<EOF && rm x\ny\nEOF",
        "cat <<EOF\ny\nEOF\nrm x",
        "if rm x; then ls; fi",
        "if ls; then ls; elif ls; then ls; else rm x; fi",
        "while ls; do rm x; done",
        "until rm x; do ls; done",
        "for y in a; do rm x; done",
        "for y in $(rm x); do ls; done",
        "for ((i=0; i<3; i++)); do rm x; done",
        "select y in a; do rm x; done",
        "case a in a) rm x ;; esac",
        "case $(rm x) in a) ls ;; esac",
        "f() { rm x; }",
        "function f { rm x; }",
        "y=$(rm x)",
        "y=$(rm x) ls",
        "y=(a $(rm x))",
        "y[$(rm x)]=1",
        "export y=$(rm x)",
        "[ -f $(rm x) ]",
        "[[ a == $(rm x) ]]",
        "ls # no comment\nrm x",
        "r''m x",
        'r"m" x',
        "r\\m x",
        "rm \\\n  x",
        ">y rm x",
        "rm >y x",
        "ls >y; rm x",
    ],
)
def test_a_command_is_found_wherever_it_stands(line: str) -> None:
    assert ["rm", "x"] in commands(line)


@pytest.mark.parametrize(
    "line",
    [
        "coproc rm x",
        "coproc a { rm x; }",
        "{rm,-rf,x}",
        "ls ;; ; rm",
        "echo 'open",
        'echo "open',
        "echo $(ls",
        "echo a\\\nb",
        'echo $"a"',
        "cat <<EOF\n`rm x`\nEOF",
        "cat <<EOF\n${x:-`rm x`}\nEOF",
        "cat <<EOF\na\\\nEOF\nb\nEOF",
        "cat <<A <<B\n1\nA\n2\nB",
        "cat <<EOF\nno end",
        "echo ${x%%`rm x`}",
        "echo ${!x}",
        "echo ${x@P}",
        "echo \"${x:-'$(rm x)'}\"",
        "echo `echo \\`rm x\\``",
        "ls {fd}>x",
        "ls\rrm x",
        "ls\x00rm x",
        "ls\x0brm",
        "ls \udcff",
        "[ a > b ]",
        "exec 3<>x",
        "if ls; then ls; fi > a b",
        "f\n()\n{ ls; }",
        "echo a=(b)",
        "}",
        "a" * (LONGEST + 1),
    ],
)
def test_what_is_not_understood_is_said_to_be(line: str) -> None:
    assert GRAMMAR.parse(line).problem


@pytest.mark.parametrize(
    ("line", "word"),
    [
        ("x a", Word("a")),
        ("x 'a b'", Word("a b")),
        ('x "a b"', Word("a b")),
        ("x a\\ b", Word("a b")),
        ('x "a\\"\\$\\x"', Word('a"$\\x')),
        ("x a'b'\"c\"", Word("abc")),
        ("x ''", Word("")),
        ("x $'a'", Word("a")),
        ("x $'\\x61\\n'", Word("a\n")),
        ("x $a", Word("$", dynamic=True, parts=("", "a", ""))),
        ("x a$b'c'", Word("a$c", dynamic=True, parts=("a", "b", "c"))),
        ('x "${a}$1"', Word("$$", dynamic=True, parts=("", "a", "", "1", ""))),
        ("x ${a%b}", Word("$", dynamic=True, parts=("", "", ""))),
        ("x '$a'", Word("$a")),
        ("x a$", Word("a$")),
        ("x $((1 + 2))", Word("0", dynamic=True, parts=("", "", ""))),
        ("x {a,$b}", Word("{a,$}", dynamic=True, parts=("{a,", "b", "}"))),
        ("x {a,{b,c}}", Word("{a,{b,c}}", dynamic=True)),
        ("x a{1..3}", Word("a{1..3}", dynamic=True)),
        ("x '{a,b}'", Word("{a,b}")),
        ("x {}", Word("{}")),
        ("x HEAD@{1}", Word("HEAD@{1}")),
        ("x *.py", Word("*.py", glob=True)),
        ("x '*'.py", Word("*.py")),
        ("x [ab]c", Word("[ab]c", glob=True)),
        ("x ~/a", Word("~/a")),
        ("x é'ü'", Word("éü")),
        ("x 'a\nb'", Word("a\nb")),
        ("x a\u00a0b", Word("a\u00a0b")),
        ("x a#b", Word("a#b")),
        ("x !!", Word("!!")),
        ("x a=b", Word("a=b")),
    ],
)
def test_a_word_is_what_bash_would_make_of_it(line: str, word: Word) -> None:
    assert GRAMMAR.parse(line) == Script((ShellCommand((Word("x"), word)),), expands=bool(word.parts))


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("x a{b,c}d", ["x", "abd", "acd"]),
        ("x a{,.bak}", ["x", "a", "a.bak"]),
        ("x {a,b}{c,d}", ["x", "ac", "ad", "bc", "bd"]),
        ("x {,a}", ["x", "a"]),
    ],
)
def test_plain_braces_are_the_words_they_stand_for(line: str, words: list[str]) -> None:
    program, *others = map(Word, words)
    assert GRAMMAR.parse(line) == Script((ShellCommand((program, *(Word(word.text, glob=True) for word in others))),))


@pytest.mark.parametrize(
    ("line", "command"),
    [
        ("a=b x", ShellCommand((Word("x"),), (ShellAssignment("a", Word("b")),))),
        ('PAGER="rm x" x', ShellCommand((Word("x"),), (ShellAssignment("PAGER", Word("rm x")),))),
        ("a+=$b x", ShellCommand((Word("x"),), (ShellAssignment("a", Word("$", True, parts=("", "a", "", "b", ""))),))),
        ("x >f", ShellCommand((Word("x"),), (), (Redirect(">", Word("f")),))),
        ("x 2>&1", ShellCommand((Word("x"),), (), (Redirect(">&", Word("1")),))),
        ("x >f y", ShellCommand((Word("x"), Word("y")), (), (Redirect(">", Word("f")),))),
        ("x <<EOF y\nz\nEOF", ShellCommand((Word("x"), Word("y")), (), (Redirect("<<", Word("z\n")),))),
        (
            "x <<'EOF' >f\n$(z)\nEOF",
            ShellCommand((Word("x"),), (), (Redirect(">", Word("f")), Redirect("<<", Word("$(z)\n")))),
        ),
        ("x <<-EOF\n\tz\n\tEOF", ShellCommand((Word("x"),), (), (Redirect("<<", Word("z\n\t")),))),
        ("x <<< y", ShellCommand((Word("x"),), (), (Redirect("<<<", Word("y")),))),
        (">f", ShellCommand((), (), (Redirect(">", Word("f")),))),
        ("export a=b c", ShellCommand((Word("export"), Word("c")), (ShellAssignment("a", Word("b")),))),
        ("for a in b; do :; done", ShellCommand((Word("for"), Word("b")), (ShellAssignment("a", Word("")),))),
    ],
)
def test_assignments_and_redirections_stay_with_their_command(line: str, command: ShellCommand) -> None:
    script = GRAMMAR.parse(line)
    assert script.problem == ""
    assert script.commands[0] == command


@pytest.mark.parametrize(
    ("line", "follows"),
    [
        ("cd a && b && c", [False, True, True]),
        ("cd a; b", [False, False]),
        ("cd a || b", [False, False]),
        ("x || cd a && b", [False, False, False]),
        ("(cd a) && b", [False, False]),
        ("cd a | x && b", [False, False, False]),
        ("echo $(cd a) && b", [False, False, False]),
        ("cd a && b | c", [False, True, False]),
    ],
)
def test_what_runs_only_after_success_is_marked(line: str, follows: list[bool]) -> None:
    assert [command.follows for command in GRAMMAR.parse(line).commands] == follows


@pytest.mark.parametrize("line", ["((x))", "echo $((x + 1))", "echo ${a[x]}", "[[ x -eq 1 ]]", "echo ${x:y:1}"])
def test_arithmetic_over_variables_is_marked(line: str) -> None:
    assert GRAMMAR.parse(line).evaluates


def test_arithmetic_over_numbers_is_not() -> None:
    assert not GRAMMAR.parse("echo $((1 + 2)) ${a[0]}").evaluates


@pytest.mark.parametrize(
    "line", ["$(" * 5000, "(" * 5000, "echo " + "$(echo " * 3000 + ")" * 3000, "a && " * 3000 + "a", "! " * 5000 + "a"]
)
def test_deep_nesting_is_read_or_refused(line: str) -> None:
    judge(GRAMMAR.parse(line))


def test_the_grammar_is_loaded_when_the_first_line_that_needs_it_is_read() -> None:
    script = (
        "import sys; from quintet.adapters.shell_grammar.parse import BashGrammar; g = BashGrammar(); "
        "assert 'tree_sitter' not in sys.modules; g.parse('ls | wc'); "
        "assert 'tree_sitter' not in sys.modules; g.parse('(ls)'); assert 'tree_sitter' in sys.modules"
    )
    subprocess.run([sys.executable, "-c", script], check=True)


PIECES = (
    "ls rm x y a=b $x $(ls) `ls` ${x:-y} $((1+x)) 'q' \"d $x\" $'z' {a,b} {} ~/x *.py [a] ; & | && || ( ) { } < > >> "
    "2>&1 <<E <<< \\ # ! [[ ]] [ ] if then fi for in do done case esac while E \n \t cd env sudo git find sed -i -exec "
    "xargs \" ' ` $ (( )) = += :"
)
WORDS = st.lists(st.sampled_from(PIECES.split(" ")), max_size=14)
SHELLISH = WORDS.map(" ".join) | WORDS.map("".join)


@settings(deadline=None)  # the first line loads the grammar
@given(st.text() | SHELLISH | st.binary().map(lambda data: data.decode("utf-8", "surrogateescape")))
def test_any_text_gives_an_answer(line: str) -> None:
    touch = judge(GRAMMAR.parse(line), "sub")
    assert touch.effects


@settings(deadline=None)  # the first line loads the grammar
@given(SHELLISH, SHELLISH)
@example("$((1+x))", "a=ba=b")
def test_a_line_does_no_less_than_its_parts(first: str, second: str) -> None:
    one, two, both = (GRAMMAR.parse(line) for line in (first, second, f"{first} ; {second}"))
    swallowed = "#" in first  # a comment goes on to the end of the line
    if not swallowed and not one.problem and not two.problem and not both.problem:
        parts = judge(one).effects | judge(two).effects
        done = judge(both).effects
        # To read is also what doing nothing is called; and arithmetic that executes may turn out to destroy instead.
        less = {Effect.READ, Effect.EXECUTE} if Effect.DESTROY in done else {Effect.READ}
        assert parts - less <= done


PLAIN = (
    "ls rm cat x 'y z' \"$x\" a$x b=1 .env ../a cd sub && || | ; >f 2>&1 <f >>'g' \n for y in if then else "
    "elif fi while do done "
    "{} \\; *.py ~/x $1 echo xargs git --a=b \"'\" '\"' # time export"
)


@settings(deadline=None, max_examples=300)
@given(st.lists(st.sampled_from(PLAIN.split(" ")), max_size=12).map(" ".join))
def test_a_plain_line_is_read_as_the_grammar_would(line: str) -> None:
    plain, whole = flat(line), GRAMMAR.parse_tree(line)
    if plain is not None and not whole.problem:
        one, two = judge(plain), judge(whole)
        assert (one.effects, set(one.reads), set(one.writes)) == (two.effects, set(two.reads), set(two.writes))
