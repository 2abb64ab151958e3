"""A script of sed's that runs a program is found out, however it is written."""

import pytest

from quintet.domain.shell.sed_script import runs_a_program

RUNS = [
    "e",
    "1e rm x",
    "1erm x",
    "$!e rm x",
    "/x/e rm x",
    r"\,x,e rm x",
    "0~3e x",
    "/a/,/b/e x",
    "1,3{p;e x\n}",
    "p;e x",
    "s/a/b/e",
    "s/a/b/ge",
    "s|a|b|;s#c#d#e",
    "s/a/b/w f\ne x",
    "a\\\ntext\ne x",
    "s/[/]/p;#/e",  # with the delimiter in brackets, as newer ones take it
    r"s/[\]/p;#/e",
    "s/a/e",
    "?e",
]
READS = [
    *("p", "10q", "$d", "=", "n;d", "l 5", "w out", "r f", "1~2d", "/x/Id", "/a/!d", "1,5p", "$!N;P;D", "/error/p"),
    *("s/a/b/", "s/e/e/g", "s/a/b/I", r"s/a\/e/b/", r"s/[a-e]\+ e/b e/", "s/[^]e]/x/", "s/x/y/w e", "y/abc/def/"),
    *("/^e/d;s/x/y/;p", "a\\\ne hello", "i e text", ":a;N;$!ba;s/\\n/ /g", "/start/,/end/{/x/d;s/a/b/g}"),
    *("s,a,b,;t end;p;:end", r"\|e|d", "2!{s/a/b/}", "# e x", ""),
]


@pytest.mark.parametrize("script", RUNS)
def test_a_script_that_may_run_a_program(script: str) -> None:
    assert runs_a_program(script)


@pytest.mark.parametrize("script", READS)
def test_a_script_that_runs_none(script: str) -> None:
    assert not runs_a_program(script)
