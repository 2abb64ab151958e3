"""Changing the user's own settings: comments stay, a wrong value changes nothing, two writers lose nothing."""

import os
from pathlib import Path

import pytest

from quintet.adapters.files.paths import Places, locate
from quintet.adapters.settings.file import UserSettings
from quintet.domain.base.errors import SettingsError

COMMENTED = """\
# how I like it

[dials]            # at the start
work_mode = "plan" # think first

[limits]
max_turns = 7
# the rest is as it comes
"""


@pytest.fixture
def places(repo: Path) -> Places:
    return locate(str(repo))


def written(places: Places, text: str = COMMENTED) -> Path:
    path = Path(places.user_settings)
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)
    return path


def test_a_change_leaves_every_other_line_as_it_is(places: Places) -> None:
    path = written(places)
    UserSettings(places).change("dials.work_mode", "build")
    assert path.read_text() == COMMENTED.replace('"plan"', '"build"')
    UserSettings(places).change("limits.max_cost", "2.5")
    assert "max_cost = 2.5" in path.read_text()
    assert all(line in path.read_text() for line in ("# how I like it", "# the rest is as it comes", "max_turns = 7"))
    UserSettings(places).unset("limits.max_cost")
    UserSettings(places).unset("limits.max_cost")
    UserSettings(places).unset("prompt.enter")
    assert path.read_text() == COMMENTED.replace('"plan"', '"build"')


@pytest.mark.parametrize(
    ("key", "text", "line"),
    [
        ("prompt.enter", "newline", 'enter = "newline"'),
        ("prompt.enter", '"newline"', 'enter = "newline"'),
        ("runs.reasoning", "true", "reasoning = true"),
        ("limits.max_turns", " 12 ", "max_turns = 12"),
        ("limits.max_cost", "3", "max_cost = 3.0"),
        ("protect.secrets", '["*.key", "token"]', 'secrets = ["*.key", "token"]'),
        ("runs.qa_modes", '["build"]', 'qa_modes = ["build"]'),
        ("keys.find", "ctrl+g", 'find = "ctrl+g"'),
        ("models.big.model", "large", 'model = "large"'),
    ],
)
def test_values_are_written_as_a_person_means_them(places: Places, key: str, text: str, line: str) -> None:
    written(places, '[models.big]\nbase_url = "http://x/v1"\nmodel = "small"\n')
    UserSettings(places).change(key, text)
    assert line in Path(places.user_settings).read_text().splitlines()


def test_the_first_change_makes_the_file(places: Places) -> None:
    UserSettings(places).change("prompt.enter", "newline")
    assert Path(places.user_settings).read_text() == '[prompt]\nenter = "newline"\n'


@pytest.mark.parametrize(
    ("key", "text", "says"),
    [
        ("dials.work_mode", "bild", "not one of chat, plan, build, review, repair, research. Did you mean build?"),
        ("limits.max_turns", "many", "wanted a whole number, found text"),
        ("dials.wrok_mode", "plan", "dials.wrok_mode is not a setting. Did you mean dials.work_mode?"),
        ("routing.smart", "nobody", 'routing.smart = "nobody": not one of builtin'),
        ("protect.secrets", '["open', "wanted a list, found text"),
        ("compression.share", "nan", "compression.share = nan: wanted a number, at least 0.0"),
        ("compression.share", "inf", "compression.share = inf: wanted a number, at most 1.0"),
        ("compression.share", "-5", "compression.share = -5: wanted a number, at least 0.0"),
        ("compression.max_tokens", "-1", "compression.max_tokens = -1: wanted a whole number, at least 0"),
        ("limits.max_cost", "inf", "limits.max_cost = inf: expected a finite number"),
        ("limits.max_cost", '"nan"', "limits.max_cost = 'nan': wanted"),
        ("limits.max_turns", "9" * 5000, "limits.max_turns: the number is too long"),
        ("limits.max_turns", "0x" + "f" * 5000, "limits.max_turns = a very long number: expected"),
        ("limits.max_turns", "9" * 30, "limits.max_turns = a very long number: expected"),
        ("sandbox.show", "[" * 5000, "sandbox.show: nested too deeply"),
    ],
)
def test_what_is_no_value_of_it_is_said_and_nothing_is_written(places: Places, key: str, text: str, says: str) -> None:
    path = written(places)
    with pytest.raises(SettingsError) as caught:
        UserSettings(places).change(key, text)
    assert says in str(caught.value)
    assert path.read_text() == COMMENTED


def test_a_broken_file_is_left_as_it_is(places: Places) -> None:
    path = written(places, "[limits\n")
    with pytest.raises(SettingsError, match="not valid TOML"):
        UserSettings(places).change("prompt.enter", "newline")
    assert path.read_text() == "[limits\n"


def test_a_link_into_somebodys_dotfiles_stays_a_link(places: Places, tmp_path: Path) -> None:
    path = written(places)
    (tmp_path / "dotfiles").mkdir()
    real = tmp_path / "dotfiles" / "quintet.toml"
    path.rename(real)
    path.symlink_to(real)
    UserSettings(places).change("limits.max_turns", "8")
    assert path.is_symlink() and "max_turns = 8" in real.read_text()


def test_each_row_says_its_value_its_source_and_its_choices(places: Places, monkeypatch: pytest.MonkeyPatch) -> None:
    path = written(places)
    monkeypatch.setenv("QUINTET_LIMITS_MAX_TURNS", "3")
    rows = {row.key: row for row in UserSettings(places, {"limits.max_cost": 1.5}).rows()}
    assert (rows["dials.work_mode"].value, rows["dials.work_mode"].source) == ('"plan"', str(path))
    assert (rows["limits.max_turns"].value, rows["limits.max_turns"].own) == ("3", True)
    assert rows["limits.max_turns"].source == "QUINTET_LIMITS_MAX_TURNS"
    assert (rows["limits.max_cost"].value, rows["limits.max_cost"].source) == ("1.5", "flag")
    assert rows["prompt.enter"].choices == ("submit", "newline")
    assert rows["runs.reasoning"].choices == ("true", "false")
    assert rows["limits.retries"].own is False
    assert os.path.exists(path)
