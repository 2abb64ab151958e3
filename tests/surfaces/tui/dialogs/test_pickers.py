"""The pickers: settings, model, session, rewind, agents, past inputs; by keyboard alone, filtered, honest."""

import asyncio
import os
import re
from pathlib import Path
from typing import Any

import pytest
from textual.widgets import Input

from quintet.app.open import open_session
from quintet.app.terminal_ui import at_hand
from quintet.domain.dials.axes import AxesChange, PermissionProfile, Surface, WorkMode
from quintet.domain.journal import protocol as p
from quintet.surfaces.tui.dialogs.model_dialogs import ADD
from quintet.surfaces.tui.dialogs.picker import Picker, PickList, aligned
from quintet.testing import ScriptedModel, call
from tests.surfaces.tui.watching import Person, watch

BUILD = AxesChange(work_mode=WorkMode.BUILD, permission_profile=PermissionProfile.TRUSTED)


def picker(person: Person) -> Picker:
    assert isinstance(person.ui.screen, Picker)
    return person.ui.screen


def shown(person: Person) -> list[str]:
    return [row.id for row in picker(person)._shown]


async def opened(person: Person, *keys: str) -> None:
    await person.press(*keys)
    await person.wait(lambda: isinstance(person.ui.screen, Picker), "a picker")
    await person.wait(lambda: picker(person)._rows is not None and picker(person).is_mounted, "its rows")
    await person.wait(lambda: "looking…" not in person.text, "its rows in sight")
    await person.settles()


async def filters(person: Person, text: str) -> None:
    picker(person).query_one("#filter", Input).value = text
    await person.settles()


async def closed(person: Person) -> None:
    await person.wait(lambda: not isinstance(person.ui.screen, Picker), "the screen below")
    await person.rests()


def look(repo: Path, script: Any, *replies: Any, **more: Any) -> None:
    watch(repo, script, *replies, at_hand=at_hand(str(repo)), **more)


def user_file() -> Path:
    return Path(os.environ["XDG_CONFIG_HOME"], "quintet", "settings.toml")


# ── every picker


def test_arrows_ctrl_n_and_p_and_in_the_list_j_and_k_move_the_highlight(repo: Path) -> None:
    async def script(person: Person) -> None:
        await opened(person, "ctrl+s")
        found = picker(person).query_one(PickList)
        at = []
        for keys in (("down",), ("ctrl+n",), ("up",), ("ctrl+p",), ("tab", "j"), ("j",), ("k",), ("G",), ("g",)):
            await person.press(*keys)
            at.append(found.highlighted)
        last = len(shown(person)) - 1
        assert at == [1, 2, 1, 0, 1, 2, 1, last, 0]
        await person.press("r", "o")  # typing at the list filters
        await person.press("pagedown", "pageup")
        assert all("ro" in " ".join(row.cells).lower() for row in picker(person)._shown)
        await person.press("escape")
        await closed(person)
        assert person.ui.prompt.has_focus_within

    look(repo, script)


def test_nothing_that_matches_is_said(repo: Path) -> None:
    async def script(person: Person) -> None:
        await opened(person, "ctrl+s")
        await filters(person, "no such setting")
        assert "nothing matches" in person.text
        await person.press("enter")
        assert isinstance(person.ui.screen, Picker)

    look(repo, script)


def test_at_sixty_columns_rows_are_cut_and_stand_below_each_other(repo: Path) -> None:
    async def script(person: Person) -> None:
        await opened(person, "ctrl+s")
        lines = person.text.splitlines()
        assert all(len(line) <= 60 for line in lines)
        rows = [line for line in lines if "dials." in line]
        assert len(rows) >= 4
        await filters(person, "permission_profile")
        await person.sees("permission profile of a new session")
        await person.sees("Enter changes it · Ctrl+X resets · Esc closes ")
        await person.press("escape")
        await opened(person, "alt+r")
        await person.sees("Enter both · Ctrl+F files · Ctrl+O conversation ")

    look(repo, script, size=(60, 24))


@pytest.mark.parametrize("width", [10, 40, 200])
def test_columns_give_way_from_the_widest(width: int) -> None:
    rows = [("key", "a very long value indeed", "default"), ("longer.key", "1", "here")]
    lines = aligned(rows, width)
    assert all(len(line) <= max(width, 10) for line in lines)
    if width == 200:
        assert lines == ["key         a very long value indeed  default", "longer.key  1                         here"]


# ── settings


def test_a_setting_is_changed_in_the_users_file_and_its_comments_stay(repo: Path) -> None:
    user_file().parent.mkdir()
    user_file().write_text("# mine\n[limits] # of a run\nmax_turns = 7 # few\n")

    async def script(person: Person) -> None:
        await opened(person, "ctrl+s")
        await filters(person, "limits.max_turns")
        await person.sees("model requests in one turn", "set in your own file")
        assert re.search(r"limits\.max_turns +7 +your file\b", person.text)
        await person.press("enter")
        value = picker(person).query_one("#value", Input)
        assert value.value == "7"
        value.value = "nine"
        await person.press("enter")
        await person.sees("wanted a whole number, found text")
        assert user_file().read_text().count("7 # few") == 1
        value.value = "9"
        await person.press("enter")
        await person.sees("used from the next start")
        assert user_file().read_text() == "# mine\n[limits] # of a run\nmax_turns = 9 # few\n"
        await person.press("ctrl+x")
        await person.wait(lambda: "max_turns" not in user_file().read_text(), "the line gone")
        assert "# mine" in user_file().read_text()

    look(repo, script)


def test_up_and_down_go_through_the_choices_of_a_setting(repo: Path) -> None:
    async def script(person: Person) -> None:
        await opened(person, "ctrl+s")
        await filters(person, "prompt.enter")
        await person.press("enter", "down", "enter")
        await person.sees("used from the next start")
        assert user_file().read_text() == '[prompt]\nenter = "newline"\n'
        await person.press("enter", "escape")
        assert isinstance(person.ui.screen, Picker)

    look(repo, script)


def test_a_setting_that_something_else_wins_over_says_so(repo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("QUINTET_LIMITS_MAX_CALLS", "12")

    async def script(person: Person) -> None:
        await opened(person, "ctrl+s")
        await filters(person, "limits.max_calls")
        await person.sees("set by QUINTET_LIMITS_MAX_CALLS, which overrides your own file")

    look(repo, script)


def test_s4_who_executes_is_chosen_from_those_that_are_installed_and_holds_at_once(
    repo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", f"{program_folder(tmp_path, 'codex')}{os.pathsep}{os.environ['PATH']}")

    async def script(person: Person) -> None:
        await opened(person, "ctrl+s")
        await filters(person, "cycle.executor")
        await person.sees("one of native, codex")
        await person.press("enter")
        value = picker(person).query_one("#value", Input)
        value.value = "nobody"
        await person.press("enter")
        await person.sees("nobody is not installed")
        assert not user_file().exists() and person.ui.state.executors.executor == ""
        value.value = "native"
        await person.press("down", "enter")
        await person.sees("and used from now on")
        assert user_file().read_text() == '[cycle]\nexecutor = "codex"\n'
        await person.wait(lambda: person.ui.state.executors.executor == "codex", "the choice")
        await person.press("ctrl+x")
        await person.wait(lambda: person.ui.state.executors.executor == "native", "the choice taken back")

    look(repo, script)


def program_folder(above: Path, name: str) -> Path:
    """A folder for PATH with a program of that name, which says its version."""
    folder = above / "programs"
    folder.mkdir()
    (folder / name).write_text("#!/bin/sh\necho 1.0\n")
    (folder / name).chmod(0o755)
    return folder


# ── model


def test_without_a_configured_model_it_says_what_there_is_and_how_to_connect_one(repo: Path) -> None:
    async def script(person: Person) -> None:
        await opened(person, "alt+m")
        assert shown(person) == ["auto", "builtin", ADD]
        await person.sees("No model is configured.")
        await person.press("down", "enter")
        await closed(person)
        await person.wait(lambda: person.ui.state.dials.model == "builtin", "the model")
        await opened(person, *"/model", "enter")
        assert "• builtin" in person.text

    look(repo, script)


def test_a_model_without_its_key_says_so(repo: Path) -> None:
    user_file().parent.mkdir()
    user_file().write_text(
        '[models.big]\nbase_url = "http://127.0.0.1:1/v1"\nmodel = "large"\napi_key_env = "BIG_KEY"\n'
        '[routing]\ndeep = "big"\n'
    )

    async def script(person: Person) -> None:
        await opened(person, "alt+m")
        assert shown(person) == ["auto", "big", "builtin", ADD]
        await filters(person, "big")
        await person.sees("BIG_KEY is not set")

    look(repo, script)


# ── sessions


async def another(repo: Path, text: str, surface: Surface = Surface.TUI) -> str:
    """A session of before, with one turn."""
    model = ScriptedModel(["said"])
    async with open_session(str(repo), surface=surface, model=model) as session:
        await session.say(text)
        async for item in session.events():
            if isinstance(item, p.Recorded) and isinstance(item.event, p.TurnFinished):
                return session.id
    raise AssertionError


def test_another_session_is_gone_on_with_and_a_copy_of_one(repo: Path) -> None:
    async def script(person: Person) -> None:
        assert person.ui.session
        mine = person.ui.session.id
        other = await another(repo, "an earlier request")
        await opened(person, "alt+s")
        assert set(shown(person)) == {mine, other}
        await filters(person, "earlier")
        await person.sees(other)
        await person.press("enter")
        await person.wait(lambda: person.ui.session and person.ui.session.id == other, "the other session")
        await person.sees("an earlier request")
        await opened(person, "alt+s")
        await filters(person, "earlier")
        await person.press("ctrl+f")
        await person.wait(lambda: person.ui.session and person.ui.session.id not in (mine, other), "a copy")
        await person.sees("an earlier request")

    look(repo, script)


def test_a_key_goes_on_with_the_newest_other_session(repo: Path) -> None:
    async def script(person: Person) -> None:
        await person.press("alt+l")
        await person.sees("no other session in this project yet")
        other = await another(repo, "an earlier request")
        run = await another(repo, "a nightly run", Surface.HEADLESS)
        await opened(person, "alt+s")
        assert shown(person).index(other) < shown(person).index(run)
        await person.press("escape")
        await closed(person)
        await person.press("alt+l")
        await person.wait(lambda: person.ui.session and person.ui.session.id == other, "the other session")
        await person.sees("an earlier request")

    look(repo, script)


def test_a_session_that_is_asked_for_while_one_is_opening_is_opened_after_it(repo: Path) -> None:
    async def script(person: Person) -> None:
        other = await another(repo, "an earlier request")
        await asyncio.gather(person.ui.attach(""), person.ui.attach(other))
        assert person.ui.session and person.ui.session.id == other
        await person.sees("an earlier request")

    look(repo, script)


def test_the_commands_for_sessions_open_the_picker_and_another_session(repo: Path) -> None:
    async def script(person: Person) -> None:
        other = await another(repo, "an earlier request")
        await person.type("/sessions")
        await opened(person)
        assert other in shown(person)
        await person.press("escape")
        await closed(person)
        await person.type(f"/sessions {other}")
        await person.wait(lambda: person.ui.session and person.ui.session.id == other, "the other session")
        await person.sees("an earlier request")
        await person.type("/copy")
        await person.wait(lambda: person.ui.clipboard == "said", "the clipboard")

    look(repo, script)


# ── rewind


def test_rewind_shows_what_it_would_do_and_does_it(repo: Path) -> None:
    replies = ([call("Write", file_path="made.txt", content="one\ntwo\n")], "written")

    async def script(person: Person) -> None:
        await opened(person, "alt+r")
        await person.sees("there is no turn to rewind yet")
        await person.press("escape")
        await closed(person)
        await person.type("make a file")
        await person.sees("written")
        await person.rests()
        assert (repo / "made.txt").exists()
        await opened(person, *"/rewind", "enter")
        await person.sees("1 path to restore", "remove", "made.txt", "the conversation goes from")
        await person.press("enter")
        await closed(person)
        await person.sees("rewound to before 1: 1 file restored, conversation shortened")
        assert not (repo / "made.txt").exists()

    look(repo, script, *replies, axes=BUILD)


@pytest.mark.parametrize(("key", "what"), [("ctrl+f", "files"), ("ctrl+o", "conversation")])
def test_rewind_takes_back_only_the_files_or_only_the_conversation(repo: Path, key: str, what: str) -> None:
    async def script(person: Person) -> None:
        await person.type("hello")
        await person.sees("good morning")
        await person.rests()
        await opened(person, "alt+r")
        await person.press(key)
        await closed(person)
        await person.sees("rewound to before 1: " + ("0 files restored" if what == "files" else "files unchanged"))

    look(repo, script, "good morning")


# ── agents and past inputs


def test_an_input_that_is_not_clear_to_the_menu_asks_which_item_is_meant(repo: Path) -> None:
    async def script(person: Person) -> None:
        await person.type("/agents planner")
        await person.wait(lambda: person.ui.state.runs.agent, "the agent")
        await opened(person, *"change", "enter")
        assert picker(person)._why == "change: several menu items match"  # type: ignore[attr-defined]
        assert shown(person) == ["3", "5"]
        await person.press("escape")
        await closed(person)
        await person.sees("› change")
        assert person.ui.state.turns.count == 0
        await opened(person, *"change", "enter")
        await person.press("5", "enter")
        await closed(person)
        await person.sees("it touches nothing")
        assert person.ui.state.turns.count == 1

    look(repo, script, "it touches nothing")


def test_an_agent_is_entered_and_left(repo: Path) -> None:
    async def script(person: Person) -> None:
        await opened(person, *"/agents", "enter")
        assert set(shown(person)) >= {"planner", "reviewer", "release"}
        await filters(person, "planner")
        await person.press("enter")
        await closed(person)
        await person.wait(
            lambda: person.ui.state.runs.agent and person.ui.state.runs.agent.id == "planner", "the agent"
        )
        await opened(person, "alt+a")
        assert "• planner" in person.text
        await filters(person, "leave")
        await person.press("enter")
        await closed(person)
        await person.wait(lambda: person.ui.state.runs.agent is None, "no agent")

    look(repo, script)


def test_ctrl_r_finds_a_past_input_and_puts_it_into_the_prompt(repo: Path) -> None:
    async def script(person: Person) -> None:
        await opened(person, "ctrl+r")
        await person.sees("no inputs in this project yet")
        await person.press("escape")
        await closed(person)
        for text in ("fix the parser", "write a test", "fix the parser"):
            await person.type(text)
        await person.rests()
        person.ui.prompt.text = "pars"
        await opened(person, "ctrl+r")
        assert shown(person) == ["fix the parser"]
        await person.press("enter")
        await closed(person)
        await person.wait(lambda: person.ui.typed == "fix the parser", "the past input")

    look(repo, script)


@pytest.mark.parametrize(("height", "words"), [(24, "turn"), (24, "the s"), (12, "session"), (14, "")])
def test_a_filtered_list_stays_in_its_columns_also_beside_a_scrollbar(repo: Path, height: int, words: str) -> None:
    async def script(person: Person) -> None:
        await opened(person, "f2")
        await filters(person, words)
        found = picker(person).query_one(PickList)
        assert found.virtual_size.height == found.option_count, person.text

    look(repo, script, size=(60, height))


def test_settings_show_the_dials_that_a_new_session_has(repo: Path) -> None:
    async def script(person: Person) -> None:
        await opened(person, "ctrl+s")
        await filters(person, "dials.")
        await person.sees("chat", "assisted; with -p autonomous", "normal; with -p restricted", "smart")
        assert "(default)" not in person.text
        await filters(person, "run_control")
        await person.press("enter")
        assert picker(person).query_one("#value", Input).value == ""

    look(repo, script, size=(110, 30))


def test_what_is_explained_below_a_list_is_in_sight_in_it(repo: Path) -> None:
    user_file().parent.mkdir(parents=True, exist_ok=True)
    user_file().write_text('[display]\ntheme = "light"\n')

    async def script(person: Person) -> None:
        await opened(person, "ctrl+s")
        await person.sees("of the terminal UI: auto", "• display.theme")

    look(repo, script, size=(80, 24))


def test_a_choice_is_shown_without_quotes_where_it_is_changed(repo: Path) -> None:
    user_file().parent.mkdir(parents=True, exist_ok=True)
    user_file().write_text('[display]\ntheme = "light"\n')

    async def script(person: Person) -> None:
        await opened(person, "ctrl+s")
        await filters(person, "display.theme")
        await person.press("enter")
        assert picker(person).query_one("#value", Input).value == "light"

    look(repo, script)
