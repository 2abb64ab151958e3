"""Why a line counts as `destroy`: code that nobody read, files that it names, or something else."""

import pytest

from quintet.adapters.shell_grammar.parse import BashGrammar
from quintet.domain.permission.effects import Effect, JudgedLines
from quintet.domain.shell.judge import with_lines
from quintet.domain.turn.tool_spec import Touch

PARSE = BashGrammar().parse


def meant(line: str, folder: str = "") -> tuple[Touch, JudgedLines]:
    return with_lines(Touch(frozenset(), lines=(line,), folder=folder), PARSE)


@pytest.mark.parametrize(
    "line",
    [
        "python3 -c 'print(1)'",
        "python3 - <<'EOF'\nprint(1)\nEOF",
        "node -e 'console.log(1)'",
        "source .venv/bin/activate",
        ". .venv/bin/activate && ls",
        "$EDITOR x",
        'bash -c "ls $x"',
        "echo ls | sh",
        "perl -pi -e s/a/b/ x",
        "vim -es x",
        "PATH=bin:$PATH ls",
        "CC=clang make",
        'mkdir -p "$OUT"',
        'echo x > "$out"',
        "echo $((x))",
        "git -c core.pager=cat log",
        "ls() { :; }; ls",
        "echo ${!x}",
        "watch 'ls | wc -l'",
        "zsh -c ls",
        "sh -c '[[ a || ./x ]]'",  # a plainer shell runs ./x
        "dash <<< '((./x))'",
        "sh -c \"echo \\$'a'\"",
        "bash <<EOF\necho \\\\'; ./x #'\nEOF",  # a here-document takes a backslash away
        "bash -c -e 'git push'",  # flags may follow -c
        "bash -c -- 'rm x'",
        "eval -- 'git push'",
    ],
)
def test_code_that_nobody_read_is_opaque_and_nothing_worse(line: str) -> None:
    touch, lines = meant(line)
    if line == "echo $((x))":
        assert (lines.opaque, touch.effects) == (False, {Effect.READ, Effect.EXECUTE})
        return
    assert lines.opaque and not lines.destroys and not lines.deletes
    assert Effect.DESTROY in touch.effects  # until a sandbox says less


@pytest.mark.parametrize(
    ("line", "effects"),
    [
        ("bash -c ls", "read"),
        ("bash -lc 'git status && ls'", "read"),
        ("/bin/sh -ec 'echo x > y'", "read edit"),
        ("sh -c 'git push'", "commit network publish"),
        ("bash -c 'bash -c \"git push\"'", "commit network publish"),
        ("eval ls -l", "read"),
        ("eval 'git push'", "commit network publish"),
        ("bash <<'EOF'\ngit push\nEOF", "commit network publish"),
        ("sh -s <<< 'pytest -q'", "build"),
        ("xargs sh -c 'git push'", "commit network publish"),
        ("timeout 5 bash -c 'pip install x'", "install"),
        ("sh -c 'cd src && ls -l > a.txt'", "read edit"),
        ("bash -c '[[ -f x ]] && git push'", "read commit network publish"),
    ],
)
def test_what_is_written_out_inside_a_line_is_judged_as_itself(line: str, effects: str) -> None:
    touch, lines = meant(line)
    assert touch.effects == {Effect(effect) for effect in effects.split()}
    assert not lines.opaque and not lines.destroys


def test_lines_inside_lines_have_an_end() -> None:
    line = "ls"
    for _ in range(8):
        line = "bash -c " + "'" + line.replace("'", "'\\''") + "'"
    assert meant(line)[1].opaque


def test_the_folder_of_a_line_is_that_of_the_lines_inside_it() -> None:
    touch, lines = meant("cd src && bash -c 'rm a; cat ../b'", "sub")
    assert lines.deletes == ("sub/src/a",)
    assert set(touch.reads) == {"sub/src", "sub/src/a", "sub/b"}


@pytest.mark.parametrize(
    ("line", "deletes"),
    [
        ("rm x.tmp", ["x.tmp"]),
        ("rm -rf build dist", ["build", "dist"]),
        ("rm -- -x", ["-x"]),
        ("rm *.tmp src/?.py", ["*.tmp", "src/?.py"]),
        ("rm {a,b}.txt", ["a.txt", "b.txt"]),
        ("rm '{a,b}.txt'", ["{a,b}.txt"]),
        ("cd src && rm a", ["src/a"]),
        ("truncate -s 0 x", ["0", "x"]),
        ("find . -name '*.pyc' -delete", ["./**/*.pyc"]),
        ("find src tests -type f -name x -delete", ["src/**/x", "tests/**/x"]),
        ("find . -name a -o -name b -delete", ["."]),
        ("find src -not -name a -delete", ["src"]),
        ("find src -delete", ["src"]),
        ("find a.txt -delete", ["a.txt"]),  # which is no folder
        ("find src/x -name x -delete", ["src/x/**/x", "src/x"]),
        ("find src -delete -name x", ["src"]),  # all of it, before a name is looked at
        ("find src -wholename '*' -newer -name -delete", ["src", "-name"]),
        ("find . -name '*.o' -exec rm {} +", ["./**/*.o"]),
        ("find . -name b -type d -prune -exec rm -rf {} \\;", ["./**/b"]),
        ("find src -exec rm -f {} +", ["src"]),
        ("find src -exec rm {} + -name x", ["src"]),
        ("rm link/../x", ["link/../x"]),  # what lies above a link is not what the words say
        ("cd link && rm ../x", ["link/../x"]),
        ("for d in a b; do rm -f $d/x; done", ["a/x", "b/x"]),
        ("eval 'cd sub'; rm x", ["x", "sub/x"]),
        ("bash -c 'cd sub'; rm x", ["x"]),
        ("bash -c 'rm x'", ["x"]),
        ("for f in a b; do rm $f; done", ["a", "b"]),
    ],
)
def test_a_line_that_deletes_says_all_that_it_deletes(line: str, deletes: list[str]) -> None:
    touch, lines = meant(line)
    assert sorted(lines.deletes) == sorted(deletes)
    assert not lines.destroys and not lines.opaque and Effect.DESTROY in touch.effects


@pytest.mark.parametrize(
    "line", ["git restore a.py", "git restore -s HEAD~1 a b", "git checkout -- a.py", "git restore -W a"]
)
def test_git_that_puts_files_back_deletes_them_and_writes_its_index(line: str) -> None:
    touch, lines = meant(line)
    assert lines.deletes and not lines.destroys
    assert touch.effects == {Effect.EDIT, Effect.COMMIT, Effect.DESTROY}


@pytest.mark.parametrize(
    "line",
    [
        "git reset --hard",
        "git clean -fdx",
        "git clean -fd",
        "git branch -D x",
        "git gc --prune=now",
        "git gc",
        "git repack -a -d",
        "git read-tree -u --reset HEAD",
        "git read-tree -m -u HEAD~1",
        "git update-ref refs/heads/main HEAD~1",
        "git prune-packed",
        "git checkout HEAD~1 -- a",
        "git checkout -- '*.py'",
        "git checkout -f main",
        "git restore --staged --worktree a",
        "git restore ':/'",
        "git restore -p a",
        "git -C sub restore a",
        "git stash drop",
        "rm $x",
        'rm -rf "$DIR"/build',
        "find . -exec rm {}/x +",
        "find . -exec rm -f a{} +",
        "find . -exec unlink {} +",
        "find $d -name x -delete",
        "find . -name $x -delete",
        "find -files0-from list -name x -delete",
        "find . -name x -delete -exec rm -i {} +",
        "for d in a b; do (cd $d && rm -f x); done",
        "while cd sub; do rm x; done",
        "f() { cd sub; rm x; }; f; f",
        "git restore a -- -q",
        "zip -m a.zip b",
        "zip -mR a.zip '*.txt'",
        "find -L . -name x -delete",
        "ls | xargs rm",
        "dd if=a of=b",
        "shred x",
        "nice --foo rm x",
        "env -S 'rm x'",
        ":(){ :|:& };:",
        "pytest --basetemp=src",
        "rsync --delete a/ b/",
    ],
)
def test_what_cannot_be_taken_back_stays_so(line: str) -> None:
    touch, lines = meant(line)
    assert lines.destroys and Effect.DESTROY in touch.effects


@pytest.mark.parametrize(
    "line",
    [
        "ln -s ign q; rm q/secret.bin",
        "ln -s ign q && rm -r q/*",
        "rm -r empty; ln -s ign empty; rm empty/secret.bin",
        "mv ign q; rm -r q",
        "gzip x.tmp; rm x.tmp.gz",
        "python3 -c 'x'; rm a",
        "source x && rm a",
        "make && rm a",
        "echo x > y; rm a",
        "bash -c 'mv a b; rm b'",
        "mv a b; bash -c 'rm b'",
        "for i in 1 2; do rm q; mv a q; done",
        "while rm q; do mv a q; done",
        "rm q & mv a q",
        "rm q | tee a",
        "f() { rm q; }; f; mv a q; f",
        "rmdir -p src/up/e",
        "find logs/* -name '*.log' -delete",
        "find '{x,y}.tmp' -name x.tmp -delete",
        "find i?n -name ign -delete",
    ],
)
def test_what_is_deleted_may_not_have_been_made_or_moved_by_the_same_line(line: str) -> None:
    assert meant(line)[1].destroys


@pytest.mark.parametrize(
    "line", ["rm -rf build && make", "rm a; python3 -c 'x'", "rm a && mv b a 2>&1", "rm a | wc -l"]
)
def test_what_comes_after_a_deletion_does_not_matter(line: str) -> None:
    _, lines = meant(line)
    assert lines.deletes and not lines.destroys


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("pytest -q tests", ["pytest", "-q", "tests"]),
        ("pytest 'a b'", ["pytest", "a b"]),
        ("rm *.tmp", ["rm", "*.tmp"]),
        ("pytest; ls", []),
        ("pytest && ls", []),
        ("pytest | tail", []),
        ("pytest > x", []),
        ("A=b pytest", []),
        ("pytest $x", []),
        ("pytest $(ls)", []),
        ("pytest &", ["pytest"]),
        ("(pytest)", ["pytest"]),
        ("if true; then pytest; fi", []),
        ("pytest <(ls)", []),
        ("f() { pytest; }", []),
    ],
)
def test_a_simple_line_is_one_command_with_its_words(line: str, words: list[str]) -> None:
    assert list(meant(line)[1].simple) == words


def test_what_is_deleted_may_not_have_been_moved_by_an_earlier_line_of_the_same_call() -> None:
    def lines(*given: str) -> JudgedLines:
        return with_lines(Touch(frozenset(), lines=given), PARSE)[1]

    assert lines("mv ign q", "rm -r q").destroys and lines("python3 -c x", "rm q").destroys
    assert not lines("ls", "rm q").destroys and not lines("rm q", "mv a q").destroys
    assert not lines("rm a", "rm b").destroys
