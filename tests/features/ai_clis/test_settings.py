"""The settings of AI CLIs."""

from pathlib import Path

import pytest

from quintet.adapters.files.paths import locate
from quintet.adapters.settings import layers
from quintet.domain.base.errors import SettingsError


def test_an_acp_agent_of_your_own_needs_a_command(tmp_path: Path) -> None:
    places = locate(str(tmp_path))
    path = Path(places.user_settings)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text('[executors.codex]\nhome = "/c"\n[executors.mine]\ncommand = "mine --acp"\n')
    assert layers.load(places, {}).settings.features["executors"]["mine"].command == "mine --acp"
    path.write_text('[executors.other]\nmodel = "m"\n')
    with pytest.raises(SettingsError, match=r"executors\.other has no command") as raised:
        layers.load(places, {})
    assert str(path) in str(raised.value)
