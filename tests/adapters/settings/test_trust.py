"""Which folders are trusted: a file of the user's, out of the project's reach."""

import json
import os
from pathlib import Path

import pytest

from quintet.adapters.files.paths import locate
from quintet.adapters.settings.trust import set_trust, trust_of, trusted_folders
from quintet.domain.base.errors import SettingsError, StoreUnwritable


@pytest.fixture
def file(tmp_path: Path) -> str:
    return str(tmp_path / "config/quintet/trusted.json")


def test_no_folder_is_trusted_until_the_user_says_so(file: str) -> None:
    assert not trust_of(file, "/a").trusted
    assert not trust_of(file, "/a").decided
    assert trusted_folders(file) == []


def test_trust_is_given_listed_and_taken_back(file: str) -> None:
    assert set_trust(file, "/b", True)
    assert set_trust(file, "/a", True)
    assert not set_trust(file, "/a", True), "it was trusted before"
    assert trusted_folders(file) == ["/a", "/b"]
    assert set_trust(file, "/a", False)
    assert trusted_folders(file) == ["/b"]
    assert not trust_of(file, "/a").trusted


def test_a_no_is_remembered_so_that_it_is_not_asked_again(file: str) -> None:
    set_trust(file, "/a", False)
    assert trust_of(file, "/a").decided
    assert not trust_of(file, "/a").trusted


def test_trust_in_a_folder_is_not_trust_in_what_lies_below_or_above(file: str) -> None:
    set_trust(file, "/a/b", True)
    assert not trust_of(file, "/a/b/c").trusted
    assert not trust_of(file, "/a").trusted


def test_trust_belongs_to_the_real_folder_whatever_link_led_there(tmp_path: Path, file: str) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    set_trust(file, locate(str(tmp_path / "link")).root, True)
    assert trust_of(file, str(tmp_path / "real")).trusted


@pytest.mark.parametrize("text", ["{", "[]", '{"/a": "yes"}', '{"/a": 1}', '{"/a": {"content": 3}}', "\0"])
def test_a_file_that_makes_no_sense_trusts_nobody_and_is_named(file: str, text: str) -> None:
    Path(file).parent.mkdir(parents=True)
    Path(file).write_text(text)
    with pytest.raises(SettingsError) as caught:
        trust_of(file, "/a")
    assert file in str(caught.value)
    with pytest.raises(SettingsError):
        set_trust(file, "/a", True)
    assert Path(file).read_text() == text, "it is left for the user to mend"


def test_a_place_that_cannot_be_written_is_a_clear_error(tmp_path: Path) -> None:
    (tmp_path / "occupied").write_text("a file, not a folder")
    with pytest.raises(StoreUnwritable) as caught:
        set_trust(str(tmp_path / "occupied/quintet/trusted.json"), "/a", True)
    assert "XDG_CONFIG_HOME" in caught.value.hint


def test_the_file_is_replaced_whole_and_nothing_is_left_beside_it(file: str) -> None:
    set_trust(file, "/a", True)
    set_trust(file, "/b", True)
    assert os.listdir(os.path.dirname(file)) == ["trusted.json"]
    assert json.loads(Path(file).read_text()) == {"/a": {}, "/b": {}}
