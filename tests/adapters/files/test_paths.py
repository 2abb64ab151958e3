"""Where Quintet's own files are, as the variables say."""

from pathlib import Path

import pytest

from quintet.adapters.files.paths import config_home, state_folder


def test_a_folder_named_by_way_of_another_is_the_one_it_leads_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "project").mkdir()
    monkeypatch.setenv("XDG_CONFIG_HOME", f"{tmp_path}/project/../config")
    monkeypatch.setenv("XDG_STATE_HOME", f"{tmp_path}/project/../state")
    assert (config_home(), state_folder()) == (f"{tmp_path}/config", f"{tmp_path}/state/quintet")
