"""Settings from their layers: which wins, where a value came from, and what a wrong one says."""

from pathlib import Path
from typing import Annotated, get_args

import pytest
from msgspec import Meta, Struct

from quintet.adapters.files.paths import Places, locate
from quintet.adapters.settings import layers as config
from quintet.adapters.settings.checks import SETTINGS_IGNORED, SETTINGS_UNKNOWN, settings_are_taken
from quintet.adapters.settings.checkup import Checkup
from quintet.domain.base.errors import SettingsError
from quintet.domain.dials.axes import PermissionProfile, RunControl, WorkMode
from quintet.domain.settings.meta import setting
from quintet.domain.settings.settings import ModelSettings, Settings
from quintet.domain.settings.tables import Tables
from quintet.features.registry import tables
from tests.trusted import trust_now

MODEL = '[models.mine]\nbase_url = "http://127.0.0.1:1/v1"\nmodel = "m"\n'


class Project:
    """A folder with settings files in both places."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir()
        self.folder = folder
        self.places: Places = locate(str(folder))

    def user(self, text: str) -> str:
        return _written(self.places.user_settings, text)

    def own(self, text: str) -> str:
        return _written(self.places.project_settings, text)

    def trust(self) -> None:
        trust_now(self.folder)

    def load(self, **flags: object) -> config.LoadedSettings:
        return config.load(self.places, {key.replace("__", "."): value for key, value in flags.items()})

    def error(self) -> str:
        with pytest.raises(SettingsError) as caught:
            self.load()
        assert caught.value.exit_code == 2
        assert caught.value.code == "SETTINGS_INVALID"
        return str(caught.value)


def _written(path: str, text: str) -> str:
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    Path(path).write_text(text)
    return path


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path / "project")


# ── layers


def test_with_nothing_set_every_value_is_its_default(project: Project) -> None:
    loaded = project.load()
    assert loaded.settings == Settings()
    assert loaded.warnings == []
    assert {source for _, _, source in config.shown(loaded)} == {"default"}


def test_flags_win_over_variables_over_the_project_over_the_user_over_defaults(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    def now(**flags: object) -> tuple[int, str]:
        loaded = project.load(**flags)
        value, source = loaded.values.get("limits.max_turns", (50, "default"))
        assert loaded.settings.limits.max_turns == value
        return value, source

    assert now() == (50, "default")
    user = project.user("[limits]\nmax_turns = 40\n")
    assert now() == (40, user)
    own = project.own("[limits]\nmax_turns = 30\n")
    assert now() == (30, own)
    monkeypatch.setenv("QUINTET_LIMITS_MAX_TURNS", "20")
    assert now() == (20, "QUINTET_LIMITS_MAX_TURNS")
    assert now(limits__max_turns=10) == (10, "flag")


def test_each_layer_sets_only_what_it_names(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    project.user("[limits]\nmax_turns = 40\nmax_cost = 2\n")
    project.own("[limits]\nmax_turns = 30\n")
    monkeypatch.setenv("QUINTET_LIMITS_RETRIES", "0")
    limits = project.load(limits__max_seconds=9.5).settings.limits
    assert (limits.max_turns, limits.max_cost, limits.retries, limits.max_seconds) == (30, 2.0, 0, 9.5)


@pytest.mark.parametrize(
    ("variable", "text", "key", "value"),
    [
        ("QUINTET_LIMITS_MAX_COST", "0.5", "limits.max_cost", 0.5),
        ("QUINTET_DIALS_WORK_MODE", "build", "dials.work_mode", WorkMode.BUILD),
        ("QUINTET_DIALS_ABORT_ACTIVE_TOOL", "true", "dials.abort_active_tool", True),
        ("QUINTET_DISPLAY_COLOR", "never", "display.color", "never"),
    ],
)
def test_a_variable_is_read_as_the_kind_of_value_its_setting_has(
    project: Project, monkeypatch: pytest.MonkeyPatch, variable: str, text: str, key: str, value: object
) -> None:
    monkeypatch.setenv(variable, text)
    assert project.load().values[key] == (value, variable)


def test_models_and_routes_of_both_files_come_together(project: Project) -> None:
    other = '[models.other]\nwire = "pydantic-ai"\nmodel = "google:a"\n'
    project.user(MODEL + f'timeout = 5\n{other}[routing]\nsmart = "mine"\n')
    project.own('[models.mine]\neffort = "high"\n[models.other]\nmodel = "google:b"\n[routing]\ndeep = "other"\n')
    project.trust()
    settings = project.load().settings
    assert settings.models == {
        "mine": ModelSettings("http://127.0.0.1:1/v1", "m", timeout=5.0, effort="high"),
        "other": ModelSettings("", "google:b", wire="pydantic-ai"),
    }
    assert (settings.routing.smart, settings.routing.deep) == ("mine", "other")


@pytest.mark.parametrize(
    "line",
    [
        'base_url = "http://evil.example/v1"',
        'api_key_env = "AWS_SECRET_ACCESS_KEY"',
        'api_key_command = ["./steal"]',
        'api_key_command = "sh steal"',
        'headers = { authorization = "x" }',
        'query = { key = "x" }',
    ],
)
def test_where_a_model_is_and_its_key_are_never_a_projects_to_say_trusted_or_not(project: Project, line: str) -> None:
    project.user(MODEL)
    path = project.own(f"[models.mine]\n{line}\n")
    for _ in range(2):
        loaded = project.load()
        assert loaded.settings.models == {"mine": ModelSettings("http://127.0.0.1:1/v1", "m")}
        key = f"models.mine.{line.partition(' ')[0]}"
        assert loaded.warnings == [f"{path}:2: {key} is ignored: only your own settings may set this"]
        project.trust()


OTHER = '[models.other]\nwire = "pydantic-ai"\nmodel = "google:a"\n'


@pytest.mark.parametrize(
    ("own", "ignored"),
    [
        ('[models.other]\nmodel = "groq:a"\n', "models.other.model"),
        ('[models.other]\nmodel = "a"\n', "models.other.model"),
        ('[models.other]\nwire = "openai"\n', "models.other.wire"),
        ('[models.mine]\nwire = "pydantic-ai"\n', "models.mine.wire"),
        ('[models.new]\nwire = "pydantic-ai"\nmodel = "groq:a"\n[routing]\nsmart = "new"\n', "models.new.wire"),
        ('[models.new]\nmodel = "groq:a"\nwire = "pydantic-ai"\n', "models.new.wire"),
    ],
)
def test_which_provider_pydantic_ai_asks_is_never_a_projects_to_say_trusted_or_not(
    project: Project, own: str, ignored: str
) -> None:
    project.user(MODEL + OTHER)
    project.own(own)
    before = {
        "mine": ModelSettings("http://127.0.0.1:1/v1", "m"),
        "other": ModelSettings("", "google:a", wire="pydantic-ai"),
    }
    for trusted in (False, True):
        loaded = project.load()
        assert (loaded.settings.models, loaded.settings.routing.smart) == (before, "builtin")
        assert not trusted or f"{ignored} is ignored: only your own settings may set this" in loaded.warnings[0]
        project.trust()


def test_a_trusted_projects_model_without_an_address_of_yours_is_left_out_and_said(project: Project) -> None:
    path = project.own(MODEL + 'effort = "low"\n[routing]\nsmart = "mine"\n')
    project.trust()
    loaded = project.load()
    assert loaded.settings == Settings()
    assert loaded.warnings == [
        f"{path}:2: models.mine.base_url is ignored: only your own settings may set this",
        f"{path}: models.mine, routing.smart are ignored: your own settings set no address for mine",
    ]


def test_every_setting_is_shown_with_its_value_and_source(project: Project) -> None:
    path = project.user(MODEL + "[limits]\nmax_cost = 2.5\n")
    loaded = project.load()
    rows = {key: (value, source) for key, value, source in config.shown(loaded)}
    assert {key for key in tables().catalogue() if ".NAME." not in key} <= set(rows)
    assert rows["limits.max_cost"] == (2.5, path)
    assert rows["models.mine.model"] == ("m", path)
    assert rows["limits.max_turns"] == (50, "default")
    assert f"limits.max_cost            2.5                      {path}".split() in [
        line.split() for line in config.as_lines(loaded)
    ]


# ── what is wrong


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("[limits]\nmax_turns 3\n", 2),
        ("[limits]\nmax_turns = 3\n[limits\n", 3),
        ('a = "never closed\n', 1),
        ("[limits]\nmax_turns = 1\nmax_turns = 2\n", 3),
    ],
    ids=["no equals sign", "no bracket", "open string", "set twice"],
)
def test_a_syntax_error_names_file_and_line(project: Project, text: str, line: int) -> None:
    path = project.user(text)
    assert project.error().startswith(f"{path}:{line}: ")


@pytest.mark.parametrize(
    ("text", "line", "key"),
    [
        ('# a comment\n\n[limits]\nretries = 1\nmax_turns = "many"\n', 5, "limits.max_turns"),
        ('[limits] # what stops a run\nmax_turns = "many"\n', 2, "limits.max_turns"),
        ('[ limits ]\n"max_turns" = "many"\n', 2, "limits.max_turns"),
        ("[limits]\n'max_turns' = \"many\"\n", 2, "limits.max_turns"),
        ('limits.max_turns = "many"\n', 1, "limits.max_turns"),
        ('\nlimits = { max_turns = "many" }\n', 2, "limits.max_turns"),
        ("[limits]\nmax_turns = 1.5\n", 2, "limits.max_turns"),
        ("[limits]\nmax_turns = true\n", 2, "limits.max_turns"),
        ("[dials]\nabort_active_tool = 1\n", 2, "dials.abort_active_tool"),
        ("[dials]\nwork_mode = 3\n", 2, "dials.work_mode"),
        (MODEL.replace('"m"', "7"), 3, "models.mine.model"),
        ("limits = 4\n", 1, "limits"),
    ],
)
def test_a_value_of_the_wrong_type_names_file_line_and_key(project: Project, text: str, line: int, key: str) -> None:
    path = project.user(text)
    assert project.error().startswith(f"{path}:{line}: {key} = ")


def test_a_misspelt_dial_is_answered_with_the_choices_and_the_nearest(project: Project) -> None:
    path = project.user('[dials]\npermission_profile = "trused"\n')
    assert project.error() == (
        f'{path}:2: dials.permission_profile = "trused": '
        "not one of restricted, normal, trusted, unrestricted. Did you mean trusted?"
    )


def test_a_colour_setting_is_one_of_three(project: Project) -> None:
    path = project.user('[display]\ncolor = "blue"\n')
    said = project.error()
    assert said.startswith(f"{path}:2: display.color = ")
    assert "auto, always" in said


def test_a_wrong_variable_is_named(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("QUINTET_LIMITS_MAX_TURNS", "many")
    assert project.error().startswith("QUINTET_LIMITS_MAX_TURNS: limits.max_turns = ")


@pytest.mark.parametrize(
    ("text", "line", "meant"),
    [
        ("[limits]\nmax_turn = 3\n", 2, "limits.max_turns"),
        ('[dials]\nworkmode = "build"\n', 2, "dials.work_mode"),
        (MODEL + 'base_ulr = "x"\n', 4, "models.NAME.base_url"),
    ],
)
def test_an_unknown_key_is_a_warning_with_the_nearest_name(project: Project, text: str, line: int, meant: str) -> None:
    path = project.user(text)
    (warning,) = project.load().warnings
    assert warning.startswith(f"{path}:{line}: ")
    assert f"Did you mean {meant}?" in warning


def test_an_unknown_variable_is_a_warning_with_the_nearest_name(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("QUINTET_LIMITS_MAX_TURN", "3")
    (warning,) = project.load().warnings
    assert warning == "QUINTET_LIMITS_MAX_TURN: limits.max_turn is not a setting. Did you mean limits.max_turns?"


def test_a_route_to_a_model_that_is_not_there_is_an_error(project: Project) -> None:
    path = project.user(MODEL + '[routing]\nsmart = "mime"\n')
    said = project.error()
    assert said.startswith(path)
    assert 'routing.smart = "mime": not one of mine, builtin. Did you mean mine?' in said


def test_a_model_without_an_address_names_the_file_it_stands_in(project: Project) -> None:
    path = project.user('[models.mine]\nmodel = "m"\n')
    said = project.error()
    assert said.startswith(path)
    assert "models.mine has no base_url" in said


def test_a_settings_file_that_is_no_text_or_no_file_is_named(project: Project) -> None:
    path = project.user("")
    Path(path).write_bytes(b"\xff\xfe[limits]")
    assert project.error().startswith(f"{path}: not UTF-8 text")
    Path(path).unlink()
    Path(path).mkdir()
    assert project.error().startswith(f"{path}: cannot be read")


# ── trust


@pytest.mark.parametrize(
    "text",
    [
        '[dials]\npermission_profile = "trusted"\n',
        '[dials]\nrun_control = "autonomous"\n',
        '[dials]\nwork_mode = "build"\n',
        "[limits]\nmax_turns = 0\n",
        "[limits]\nmax_turns = 51\n",
        "[limits]\ninput_bytes = 0\n",
        MODEL,
        '[routing]\nsmart = "builtin"\n',
    ],
)
def test_an_untrusted_project_cannot_loosen_anything(project: Project, text: str) -> None:
    path = project.own(text)
    loaded = project.load()
    assert loaded.settings == Settings()
    assert not loaded.trusted
    said = ("until you trust this folder", "only your own settings may set this")
    assert all(w.startswith(f"{path}:") and any(words in w for words in said) for w in loaded.warnings)
    assert loaded.warnings


def test_an_untrusted_project_may_tighten(project: Project) -> None:
    project.user('[dials]\npermission_profile = "trusted"\nrun_control = "autonomous"\n[limits]\nmax_cost = 5\n')
    project.own(
        '[dials]\npermission_profile = "normal"\nrun_control = "assisted"\n[limits]\nmax_cost = 1\nmax_seconds = 60\n'
    )
    loaded = project.load()
    assert loaded.warnings == []
    assert loaded.settings.dials.permission_profile is PermissionProfile.NORMAL
    assert loaded.settings.dials.run_control is RunControl.ASSISTED
    assert (loaded.settings.limits.max_cost, loaded.settings.limits.max_seconds) == (1.0, 60.0)


def test_an_untrusted_project_cannot_undo_what_the_user_tightened(project: Project) -> None:
    project.user("[limits]\nmax_cost = 1\nmax_turns = 5\n")
    project.own("[limits]\nmax_cost = 2\nmax_turns = 6\n")
    loaded = project.load()
    assert (loaded.settings.limits.max_cost, loaded.settings.limits.max_turns) == (1.0, 5)
    assert len(loaded.warnings) == 1 and "limits.max_cost, limits.max_turns are ignored" in loaded.warnings[0]


def test_a_trusted_project_may_loosen(project: Project) -> None:
    project.own('[dials]\npermission_profile = "trusted"\nwork_mode = "build"\n[limits]\nmax_turns = 0\n')
    project.trust()
    loaded = project.load()
    assert loaded.trusted
    assert loaded.warnings == []
    assert loaded.settings.dials.permission_profile is PermissionProfile.TRUSTED
    assert loaded.settings.dials.work_mode is WorkMode.BUILD
    assert loaded.settings.limits.max_turns == 0


@pytest.mark.parametrize("text", ['"models.a.headers.model" = "x"', '[models."a.base_url"]\nwire = "openai"'])
def test_a_name_with_a_dot_cannot_pass_for_a_key_of_another_table(text: str) -> None:
    with pytest.raises(SettingsError, match="may not contain a dot"):
        config.from_text(text, "settings.toml")


class Bounded(Struct, frozen=True):
    count: Annotated[int, Meta(ge=1), setting("how many")] = 2


def test_a_value_out_of_its_bounds_is_an_error_that_names_the_setting() -> None:
    info = Tables(lambda: ({"mine": lambda: Bounded}, {})).catalogue(["mine"])["mine.count"]
    assert (info.kind, info.about) == (int, "how many")
    with pytest.raises(SettingsError, match=r"here: mine\.count = 0: wanted a whole number, at least 1"):
        config.checked(config.Leaf("mine.count", 0, "here", "here"), info)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[compression]\n\nshare = nan\n", r":3: compression\.share = nan: wanted a number, at least 0"),
        ("[compression]\nmax_tokens = -1\n", r":2: compression\.max_tokens = -1: wanted a whole number, at least 0"),
        ("[limits]\nmax_seconds = inf\n", r":2: limits\.max_seconds = inf: expected a finite number"),
        ("[models.m]\nbody = {top_p = nan}\n", r":2: models\.m\.body = .*: expected a finite number"),
        (f"[limits]\nmax_cost = 1\nmax_turns = {'9' * 5000}\n", r":3: max_turns: the number is too long"),
    ],
)
def test_a_number_that_nothing_can_be_counted_with_is_named_with_its_place(
    project: Project, text: str, says: str
) -> None:
    _written(project.places.user_settings, text)
    with pytest.raises(SettingsError, match=says):
        config.load(project.places)


def test_every_number_among_the_settings_has_a_least_value() -> None:
    for info in Tables().catalogue().values():
        if {int, float} & {info.kind, *get_args(info.kind)}:
            with pytest.raises(SettingsError, match=info.key):
                config.checked(config.Leaf(info.key, -2, "here", "here"), info)
            if info.default is not None:
                assert config.checked(config.Leaf(info.key, info.default, "here", "here"), info) == info.default


def test_the_doctor_tells_what_is_ignored_from_what_is_no_setting_whatever_the_folder_is_called(tmp_path: Path) -> None:
    project = Project(tmp_path / "is not a setting")
    project.own('[dials]\npermission_profile = "unrestricted"\n[limits]\nmax_truns = 7\n')
    found = [finding.code for finding in settings_are_taken(Checkup(project.places, project.load()))]
    assert found == [SETTINGS_UNKNOWN.code, SETTINGS_IGNORED.code]
