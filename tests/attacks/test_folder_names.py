"""A folder whose very name steers a terminal: no surface passes it on, the question whether to trust it last."""

import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

from quintet.adapters.files.paths import locate
from quintet.app.opening_notes import at_home
from quintet.app.trust_question import trust_question
from quintet.domain.dials.axes import Axes
from quintet.domain.dials.badge import title
from tests.trusted import trust_now

NAME = "p\x1b]0;PWN\x07\x1b[2J\nTrusted already.\u202eq\x9bz"
STEERS = ("\x1b]0;P", "\x07", "\x1b[2J", "\x9b", "\u202e", "\nTrusted already")
LOOKS = (
    ["status"],
    ["doctor"],
    ["tasks"],
    ["settings"],
    ["trust", "--check"],
    ["trust"],
    ["trust", "--revoke"],
    ["agents"],
    ["mcp"],
    ["tools"],
    ["-p", "hello"],
)


@pytest.fixture
def hostile(tmp_path: Path) -> Path:
    root = tmp_path / NAME
    (root / ".quintet/tools").mkdir(parents=True)
    (root / ".quintet/settings.toml").write_text('[dials]\nmodel_mode = "deep"\n')
    (root / ".quintet/tools/t.py").write_text("x = 1\n")
    return root


def program(*words: str) -> tuple[str, ...]:
    return (sys.executable, "-c", "import sys; from quintet.cli.main import main; sys.exit(main())", *words)


def steering(text: str) -> list[str]:
    return [sign for sign in STEERS if sign in text.replace("\r", "")]


def test_the_question_whether_to_trust_it_shows_its_name_on_one_line(hostile: Path) -> None:
    places = locate(str(hostile))
    first = trust_question(places)
    trust_now(hostile)
    (hostile / ".quintet/settings.toml").write_text('[dials]\nmodel_mode = "smart"\n')
    again = trust_question(places)
    assert first and again
    for question in (first, again):
        assert steering(question.text) == steering("\n".join(question.fitted(100, 30))) == []
        assert "␛]0;PWN␇␛[2J␊Trusted already.\\u202eq\\x9bz" in question.text


def test_the_notice_about_a_project_that_holds_the_home_does_too(
    hostile: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(hostile))
    assert "␛]0;PWN" in (said := at_home(locate(str(hostile))))
    assert steering(said) == []


def test_a_title_is_one_line() -> None:
    assert "\n" not in title(Axes(), "a\nb")


def test_the_plain_surface_at_a_terminal(hostile: Path) -> None:
    ours, theirs = pty.openpty()
    run = subprocess.Popen(program("--plain"), cwd=hostile, stdin=theirs, stdout=theirs, stderr=theirs)
    os.close(theirs)
    said = b""
    try:
        while b"[y/N]" not in said:
            said += os.read(ours, 65536)
    finally:
        run.kill()
        run.wait()
        os.close(ours)
    assert steering(said.decode("utf-8", "surrogateescape")) == []


@pytest.mark.parametrize("words", LOOKS, ids=" ".join)
def test_commands_that_look(hostile: Path, words: list[str]) -> None:
    done = subprocess.run(program(*words), cwd=hostile, input=b"", capture_output=True, timeout=60)
    said = (done.stdout + done.stderr).decode("utf-8", "surrogateescape")
    assert [sign for sign in steering(said) if sign != "\nTrusted already"] == []
