"""The popup above the prompt: files for `@`, commands for `/`, an agent's menu; its keys and states."""

import asyncio
from pathlib import Path

import pytest

from quintet.surfaces.tui.prompt.popup import PopupState
from tests.surfaces.tui.typing import Typist, at_prompt


def run(coroutine: object) -> None:
    asyncio.run(coroutine)  # type: ignore[arg-type]


async def shows(typist: Typist) -> None:
    await typist.until(lambda: typist.popup.state in (PopupState.SHOWING, PopupState.NO_MATCHES))


# ── files


@pytest.mark.parametrize("key", ["tab", "enter"])
def test_s4_a_file_takes_the_place_of_its_token(repo: Path, key: str) -> None:
    async def scenario() -> None:
        async with at_prompt(repo) as typist:
            await typist.types("read @tcount")
            await shows(typist)
            assert typist.offered == ["tests/test_count.py", "tally/count.py"]
            await typist.press(key)
            assert typist.prompt.text == "read tests/test_count.py "
            assert typist.popup.state is PopupState.HIDDEN
            await typist.types("and")
            await typist.press("enter")
            assert typist.app.submitted == ["read tests/test_count.py and"]

    run(scenario())


def test_s4_at_most_eight_files_and_none_that_git_ignores(repo: Path) -> None:
    async def scenario() -> None:
        for number in range(12):
            (repo / f"note {number:02}.txt").write_text("")
        (repo / "note.log").write_text("")
        (repo / ".gitignore").write_text("*.log\n")
        async with at_prompt(repo) as typist:
            await typist.types("@note")
            await shows(typist)
            assert typist.offered == [f"note {number:02}.txt" for number in range(8)]
            await typist.press("enter")
            assert typist.prompt.text == "'note 00.txt' "

    run(scenario())


def test_arrows_and_ctrl_n_and_p_select_around_the_ends(repo: Path) -> None:
    async def scenario() -> None:
        async with at_prompt(repo) as typist:
            await typist.types("@init")
            await shows(typist)
            assert typist.offered == ["tally/__init__.py", "tests/__init__.py"]
            selected = []
            for key in ("down", "down", "up", "ctrl+n", "ctrl+p"):
                await typist.press(key)
                selected.append(typist.popup.selected)
            assert selected == [1, 0, 1, 0, 1]
            await typist.press("enter")
            assert typist.prompt.text == "tests/__init__.py "

    run(scenario())


def test_escape_closes_it_until_the_text_changes(repo: Path) -> None:
    async def scenario() -> None:
        async with at_prompt(repo) as typist:
            await typist.types("@cou")
            await shows(typist)
            await typist.press("escape")
            assert typist.popup.state is PopupState.HIDDEN
            await typist.press("left", "right")
            assert typist.popup.state is PopupState.HIDDEN
            await typist.types("n")
            await shows(typist)
            assert typist.offered

    run(scenario())


def test_while_it_looks_it_says_so_and_takes_no_keys(repo: Path) -> None:
    async def scenario() -> None:
        async with at_prompt(repo) as typist:
            typist.popup.load()
            await typist.settles()
            assert any("looking…" in row for row in typist.rows())
            assert not typist.popup.takes_keys

    run(scenario())


def test_no_matches_are_said_and_take_no_keys(repo: Path) -> None:
    async def scenario() -> None:
        async with at_prompt(repo) as typist:
            await typist.types("@zzzz")
            await typist.until(lambda: typist.popup.state is PopupState.NO_MATCHES)
            assert any("no matches" in row for row in typist.rows())
            await typist.press("enter")
            assert typist.app.submitted == ["@zzzz"]

    run(scenario())


def test_s4_an_email_address_opens_nothing(repo: Path) -> None:
    async def scenario() -> None:
        async with at_prompt(repo) as typist:
            await typist.types("write to ada@example.com")
            assert typist.popup.state is PopupState.HIDDEN

    run(scenario())


def test_s4_results_of_an_older_search_are_dropped(repo: Path) -> None:
    async def scenario() -> None:
        async with at_prompt(repo) as typist:
            offers = typist.prompt._completions
            await typist.types("@count")
            old = offers._generation
            await typist.types("x")
            offers._show_files(["stale.py"], old)
            await typist.until(lambda: typist.popup.state is PopupState.NO_MATCHES)
            assert typist.offered == []

    run(scenario())


def test_a_file_that_was_made_meanwhile_is_found(repo: Path) -> None:
    async def scenario() -> None:
        async with at_prompt(repo) as typist:
            finder = typist.prompt._at_hand.finder  # type: ignore[union-attr]
            await finder.find("", 8)
            finder._listing.made -= 60  # type: ignore[attr-defined]
            (repo / "brand_new.py").write_text("")
            await typist.types("@brand")
            await typist.until(lambda: typist.offered == ["brand_new.py"])

    run(scenario())


# ── commands


def test_a_slash_offers_commands_with_their_help(repo: Path) -> None:
    async def scenario() -> None:
        async with at_prompt(repo, size=(100, 24)) as typist:
            await typist.types("/per")
            assert typist.offered == ["/permission-profile", "/helpers"]
            assert any("what runs without approval" in row for row in typist.rows())
            await typist.press("enter")
            assert typist.prompt.text == "/permission-profile "
            assert typist.offered == ["restricted", "normal", "trusted", "unrestricted"]
            await typist.types("tr")
            await typist.press("enter")
            assert typist.app.submitted == ["/permission-profile trusted"]

    run(scenario())


def test_tab_completes_a_command_and_enter_submits_one_that_needs_no_more(repo: Path) -> None:
    async def scenario() -> None:
        async with at_prompt(repo) as typist:
            await typist.types("/stat")
            await typist.press("tab")
            assert (typist.prompt.text, typist.app.submitted) == ("/status", [])
            await typist.press("enter")
            assert typist.app.submitted == ["/status"]
            await typist.types("/stat")
            await typist.press("enter")
            assert typist.app.submitted == ["/status", "/status"]
            await typist.types("/tasks")  # it could be followed by something, and need not be
            await typist.press("enter")
            assert typist.app.submitted[2:] == ["/tasks"]

    run(scenario())


def test_a_misspelt_command_is_shown_the_nearest(repo: Path) -> None:
    async def scenario() -> None:
        async with at_prompt(repo) as typist:
            await typist.types("/moed")
            assert typist.offered[0] == "/mode"
            assert any("/moed is not a command; nearest:" in row for row in typist.rows())

    run(scenario())


@pytest.mark.parametrize("typed", ["/stp", "/modle", "/remote", "/tsaks", "/st", "/mode ", "/mode r", "/"])
def test_enter_runs_no_command_that_was_neither_typed_nor_chosen(repo: Path, typed: str) -> None:
    async def scenario() -> None:
        async with at_prompt(repo) as typist:
            await typist.types(typed)
            await typist.press("enter")
            assert typist.app.submitted == [typed.strip()]

    run(scenario())


@pytest.mark.parametrize(
    ("typed", "keys", "sent"),
    [
        ("/stp", ("tab", "enter"), "/stop"),
        ("/stp", ("down", "up", "enter"), "/stop"),
        ("/stat", ("enter",), "/status"),
        ("/mode", ("enter",), "/mode"),
        ("/mode b", ("enter",), "/mode build"),
    ],
)
def test_a_command_is_run_that_was_chosen_or_is_the_only_one_begun(
    repo: Path, typed: str, keys: tuple[str, ...], sent: str
) -> None:
    async def scenario() -> None:
        async with at_prompt(repo) as typist:
            await typist.types(typed)
            await typist.press(*keys)
            assert (typist.app.submitted, typist.prompt.text) == ([sent], "")

    run(scenario())


def test_a_file_can_be_named_in_a_commands_argument(repo: Path) -> None:
    async def scenario() -> None:
        async with at_prompt(repo) as typist:
            await typist.types("/mode ")
            assert typist.offered[0] == "chat"
            await typist.types("@tallycount")
            await typist.until(lambda: typist.offered == ["tally/count.py"])
            await typist.press("tab")
            assert typist.prompt.text == "/mode tally/count.py "

    run(scenario())


def test_a_recalled_command_opens_nothing_so_that_one_can_go_on_walking(repo: Path) -> None:
    async def scenario() -> None:
        async with at_prompt(repo) as typist:
            await typist.types("first")
            await typist.press("enter")
            await typist.types("/status")
            await typist.press("enter", "up")
            assert (typist.prompt.text, typist.popup.state) == ("/status", PopupState.HIDDEN)
            await typist.press("up")
            assert typist.prompt.text == "first"

    run(scenario())


def test_a_click_takes_a_row(repo: Path) -> None:
    async def scenario() -> None:
        async with at_prompt(repo) as typist:
            await typist.types("/mode ")
            row = 1 + typist.offered.index("build")  # below the note
            await typist.pilot.click(typist.popup, offset=(4, row))
            await typist.settles()
            assert typist.app.submitted == ["/mode build"]

    run(scenario())


# ── an agent's menu


def test_s2_with_an_agent_a_slash_offers_its_numbered_menu_and_a_digit_takes_an_item(repo: Path) -> None:
    async def scenario() -> None:
        async with at_prompt(repo, agent="planner") as typist:
            await typist.types("/")
            assert typist.offered[:3] == ["1", "2", "3"]
            assert "/mode" in typist.offered
            await typist.press("2")
            assert typist.app.submitted == ["2"]
            await typist.types("1")
            assert typist.offered == ["1"]
            await typist.press("enter")
            assert typist.app.submitted == ["2", "1"]

    run(scenario())


def test_without_an_agent_a_number_is_a_number(repo: Path) -> None:
    async def scenario() -> None:
        async with at_prompt(repo) as typist:
            await typist.types("1")
            assert typist.popup.state is PopupState.HIDDEN

    run(scenario())


# ── narrow


def test_at_sixty_columns_no_row_is_wider_and_long_paths_keep_their_end(repo: Path) -> None:
    async def scenario() -> None:
        deep = repo / "a_folder_with_a_long_name" / "and_another_one_inside" / "of_it"
        deep.mkdir(parents=True)
        (deep / "needle_in_it.py").write_text("")
        async with at_prompt(repo, size=(60, 20)) as typist:
            await typist.types("@needle")
            await shows(typist)
            (row,) = [row for row in typist.rows() if "needle_in_it" in row]
            assert row.startswith(" › …") and row.endswith("of_it/needle_in_it.py")
            await typist.press("escape")
            typist.prompt.text = ""
            await typist.types("/")
            assert all(len(row) <= 60 for row in typist.rows())
            assert sum(row.lstrip(" ›").startswith("/") for row in typist.rows()) >= 8

    run(scenario())
