"""Connecting a model on the screen: what was found on one key, the model picker, and the dialogue that adds one."""

import math
import os
from collections.abc import Iterator
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

import pytest
from textual.widgets import Input

from quintet.adapters.models import discovery
from quintet.app.open import open_session
from quintet.app.terminal_ui import at_hand
from quintet.domain.dials.axes import AxesChange, Surface, WorkMode
from quintet.engine.session.session import Session
from quintet.surfaces.tui.dialogs import ask
from quintet.surfaces.tui.dialogs.ask_text import AskText
from quintet.surfaces.tui.dialogs.model_dialogs import ADD, ListedPicker, PresetPicker
from tests.loopback import Server
from tests.provider import AFTER, CLAUDES, OLLAMAS, provider
from tests.surfaces.tui.dialogs.test_pickers import closed, filters, opened, picker, shown
from tests.surfaces.tui.watching import PLAIN, Person, watch

KEY = "sk-ant-typed-unseen"
BUILD = AxesChange(work_mode=WorkMode.BUILD)


@pytest.fixture
def anthropic(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    with provider(CLAUDES) as server:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", server.url)
        yield server


@pytest.fixture
def ollama(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    with provider(OLLAMAS) as server:
        monkeypatch.setenv("OLLAMA_HOST", f"127.0.0.1:{server.port}")
        monkeypatch.setattr(discovery, "SECONDS", 60.0)  # a busy machine has not answered in a third of one
        monkeypatch.setattr(discovery, "MOST_SECONDS", 60.0)
        yield server


def settings_text() -> str:
    path = Path(os.environ["XDG_CONFIG_HOME"], "quintet", "settings.toml")
    return path.read_text() if path.exists() else ""


def at_screen(repo: Path, script: Any, **more: Any) -> None:
    """The screen as the program makes it: the models are those of the settings."""

    def opening(session: str) -> AbstractAsyncContextManager[Session]:
        dials = None if session else BUILD
        return open_session(str(repo), surface=Surface.TUI, person=True, resume=session, axes=dials, settings=PLAIN)

    watch(repo, script, at_hand=at_hand(str(repo)), own_open=opening, **more)


async def edits(person: Person, repo: Path) -> None:
    await person.type("rename words to tokens")
    await person.sees("words is tokens now")
    assert AFTER in (repo / "tally/count.py").read_text()


def test_the_first_screen_offers_a_key_that_was_found_and_one_key_uses_it(
    repo: Path, anthropic: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)

    async def script(person: Person) -> None:
        await person.sees("Connected", CLAUDES[1])
        assert "offline rules" not in person.status
        await edits(person, repo)

    at_screen(repo, script, first_keys=(f"sends your key to 127.0.0.1:{anthropic.port}", "1"))
    assert 'smart = "anthropic"' in settings_text()


def test_a_key_hit_before_the_offer_could_be_read_sends_nothing_anywhere(
    repo: Path, anthropic: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    monkeypatch.setattr(ask, "GUARD_SECONDS", math.inf)  # however slow the machine is, it is too soon

    async def script(person: Person) -> None:
        assert anthropic.asked == []
        assert settings_text() == ""

    async def too_soon(person: Person) -> None:
        await person.sees("sends your key")
        await person.press("1", "n", "1")
        await person.sees("sends your key")
        await person.press("escape")

    at_screen(repo, script, first=too_soon)


def test_the_first_screen_offers_an_ollama_and_one_key_uses_it(repo: Path, ollama: Server) -> None:
    async def script(person: Person) -> None:
        await person.sees("Connected", "qwen2.5-coder:7b")
        await edits(person, repo)

    at_screen(repo, script, first_keys=("a local Ollama", "1"))


def test_who_declines_has_the_offline_rules_and_is_not_asked_again(repo: Path, ollama: Server) -> None:
    async def script(person: Person) -> None:
        await person.sees("use Alt+M to connect one")
        assert settings_text() == ""

    at_screen(repo, script, first_keys=("a local Ollama", "escape"))
    at_screen(repo, script)


def test_a_refusal_on_the_first_screen_says_what_to_do_and_the_session_opens(
    repo: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tests.loopback import Answer

    refusal = Answer({"error": {"type": "authentication_error", "message": "no"}}, 401)
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    with provider(answer=lambda asked: refusal) as server:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", server.url)

        async def script(person: Person) -> None:
            await person.sees("refuses the key from ANTHROPIC_API_KEY", "continues with the offline rules")
            assert settings_text() == ""

        at_screen(repo, script, first_keys=("sends your key", "1"))


def test_the_picker_has_what_was_found_and_what_is_chosen_holds_at_once(repo: Path, ollama: Server) -> None:
    async def script(person: Person) -> None:
        await opened(person, "alt+m")
        assert shown(person) == ["auto", "builtin", *(f"use:ollama/{name}" for name in OLLAMAS), ADD]
        await filters(person, "llama3.2")
        await person.press("enter")
        await person.sees("Connected", "llama3.2:latest")
        await edits(person, repo)
        await opened(person, "alt+m")
        assert "ollama" in shown(person)
        assert "use:ollama/llama3.2:latest" not in shown(person)

    at_screen(repo, script, first_keys=("a local Ollama", "n"))
    assert {one.json["model"] for one in ollama.asked if one.method == "POST"} == {"llama3.2:latest"}


def test_add_a_model_asks_for_the_key_unseen_and_lists_the_models(
    repo: Path, anthropic: Server, tmp_path: Path
) -> None:
    async def script(person: Person) -> None:
        await opened(person, "alt+m")
        await filters(person, "add a model")
        await person.press("enter")
        await person.wait(lambda: isinstance(person.ui.screen, PresetPicker) and picker(person)._rows, "presets")
        assert len(shown(person)) == 17
        await filters(person, "anthropic")
        await person.press("enter")
        await person.wait(lambda: isinstance(person.ui.screen, AskText), "the question for the key")
        await person.sees(f"Sends your key to 127.0.0.1:{anthropic.port}")
        assert anthropic.asked == []
        person.ui.screen.query_one("#answer", Input).value = KEY
        await person.settles()
        assert KEY not in person.text
        await person.press("enter")
        await person.wait(lambda: isinstance(person.ui.screen, ListedPicker) and picker(person)._rows, "models")
        await filters(person, "haiku")
        await person.press("enter")
        await closed(person)
        await person.sees("Connected", CLAUDES[0])
        await edits(person, repo)

    at_screen(repo, script)
    assert f'model = "{CLAUDES[0]}"' in settings_text()
    kept = [path for path in tmp_path.rglob("*") if path.is_file() and KEY.encode() in path.read_bytes()]
    assert [path.name for path in kept] == [".env"]


def test_a_server_of_ones_own_is_added_by_its_address(repo: Path) -> None:
    async def script(person: Person) -> None:
        await opened(person, "alt+m")
        await filters(person, "add a model")
        await person.press("enter")
        await person.wait(lambda: isinstance(person.ui.screen, PresetPicker) and picker(person)._rows, "presets")
        await filters(person, "your own server")
        await person.press("enter")
        await person.wait(lambda: isinstance(person.ui.screen, AskText), "the question for the address")
        person.ui.screen.query_one("#answer", Input).value = f"127.0.0.1:{server.port}"
        await person.press("enter")
        await person.wait(lambda: isinstance(person.ui.screen, ListedPicker) and picker(person)._rows, "models")
        await filters(person, OLLAMAS[0])
        await person.press("enter")
        await closed(person)
        await person.sees("Connected")

    with provider(OLLAMAS) as server:
        at_screen(repo, script)
    assert f"[models.127-0-0-1-{server.port}]" in settings_text()
    assert f'base_url = "http://127.0.0.1:{server.port}/v1"' in settings_text()
