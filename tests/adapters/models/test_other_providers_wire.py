"""Providers through pydantic-ai, where the extra that brings it is not installed."""

import sys

import pytest

from quintet.adapters.models.registry import Models
from quintet.domain.base.errors import SettingsError
from quintet.domain.settings.settings import ModelSettings, Settings


def test_a_missing_extra_is_named_with_its_cure(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.partition(".")[0] == "pydantic_ai"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "pydantic_ai", None)  # as Python marks a package that is not there
    other = ModelSettings("", "google:a-model", wire="pydantic-ai")
    with pytest.raises(SettingsError, match=r"models\.other\.wire .* not installed") as caught:
        Models(Settings(models={"other": other})).get("other")
    assert "pip install 'quintet[providers]'" in caught.value.hint
