"""A folder that nobody trusts turns no dial, moves no key, stops no record: its settings file is a stranger's."""

import os
from pathlib import Path

import pytest

from quintet.adapters.files.paths import locate
from quintet.adapters.settings import layers as config
from quintet.domain.settings.meta import setting
from quintet.domain.settings.settings import FREE, TIGHTEN, Settings, is_tighter
from quintet.features.registry import tables

# Everything a stranger may set, and why that is harmless. A new setting is in neither list until somebody has thought.
HARMLESS = {
    "display.color",  # whether the plain surface prints in colours
    "display.theme",  # one of our own themes: each shows every word, and questions by more than a colour
}
STRICTER = {  # what a stranger may only lower, or add to
    *("dials.work_mode", "dials.run_control", "dials.permission_profile"),
    *("limits.max_turns", "limits.max_cost", "limits.max_calls", "limits.max_seconds", "limits.input_bytes"),
    *("limits.retries", "limits.retry_seconds", "sandbox.file_bytes", "protect.secrets", "checkpoints.enabled"),
    *("cycle.max_iterations", "cycle.max_units", "cycle.max_tokens", "cycle.max_cost", "cycle.max_seconds"),
    *("cycle.max_retries", "cycle.verify_seconds", "cycle.silence_seconds", "cycle.executor_seconds"),
    *("retry.max_attempts", "web.max_bytes", "web.seconds", "web.redirects", "browser.timeout"),
    *("forge.seconds", "forge.wait_seconds", "forge.checks_seconds"),
}


def test_only_these_are_a_strangers_to_set() -> None:
    of = {
        reach: {key for key, info in tables().catalogue().items() if info.reach == reach} for reach in (FREE, TIGHTEN)
    }
    assert of[FREE] == HARMLESS
    assert of[TIGHTEN] == STRICTER


def test_a_new_setting_is_not_free_by_default() -> None:
    assert (setting("anything").extra or {})["reach"] != FREE


def loaded(folder: Path, text: str, users: str = "") -> config.LoadedSettings:
    places = locate(str(folder))
    for path, content in ((places.project_settings, text), (places.user_settings, users)):
        os.makedirs(os.path.dirname(path), exist_ok=True)
        Path(path).write_text(content)
    return config.load(places)


@pytest.mark.parametrize(
    "text",
    [
        '[keys]\npermission_profile = "up"\n',
        '[keys]\nautonomous = "ctrl+c"\n',
        '[keys]\ninterrupt = "f12"\n',
        '[keys]\ninterrupt = ""\n',
        '[keys]\nanswer = "space"\n',
        '[keys]\nleave = ""\n',
        '[keys]\nline_up = "y"\n',
        "[runs]\nrecord = false\n",
        "[runs]\nkeep_recordings = 1\n",
        "[runs]\ndelivery_check = false\n",
        "[runs]\nqa_review = false\n",
        "[runs]\nqa_modes = []\n",
        '[dials]\nmodel_mode = "deep"\n',
        "[dials]\nabort_active_tool = true\n",
        "[prompt]\nrapid_paste = false\n",
        '[prompt]\nenter = "newline"\n',
        "[display]\nbell = false\n",
        "[limits]\nretries = 1000000\n",
        "[limits]\nmax_turns = -1\n",
        "[limits]\nmax_cost = nan\n",
        "[compression]\nmax_messages = 1\nkeep_messages = 0\n",
        '[compression]\nby = "model"\n',
        '[tools]\npresentation = "flat"\n',
        "[cycle]\nverify_seconds = 1e9\n",
        "[cycle]\nsilence_seconds = 0\n",
        "[cycle]\nfrom_input = false\n",
        "[retry]\nmax_attempts = 1000000\n",
        "[retry]\nbase_seconds = 0\n",
        "[forge]\npoll_seconds = 0.001\n",
        "[browser]\ntimeout = 1e9\n",
        "[doctor]\nfree_bytes = 0\n",
    ],
)
def test_a_stranger_turns_nothing(tmp_path: Path, text: str) -> None:
    found = loaded(tmp_path, text)
    assert found.settings == Settings()
    assert len(found.warnings) == 1 and "ignored until you trust this folder" in found.warnings[0]
    table = text.partition("]")[0].removeprefix("[")
    names = [line.partition(" ")[0] for line in text.splitlines()[1:]]
    assert all(f"{table}.{name}" in found.warnings[0] for name in names)


def test_a_stranger_takes_no_name_of_a_secret_away(tmp_path: Path) -> None:
    found = loaded(tmp_path, '[protect]\nsecrets = ["theirs.*"]\n', '[protect]\nsecrets = ["mine.*"]\n')
    assert found.settings.protect.secrets == ("mine.*", "theirs.*")


@pytest.mark.parametrize("value", [0, -1, -0.5, float("nan"), False, ()])
def test_what_switches_a_limit_off_is_never_tighter(value: object) -> None:
    assert not is_tighter("limits.any", value, ("mine",) if isinstance(value, tuple) else 5)
