"""The pages in a real browser: a person's walk, two browsers at once, a server that dies, keys alone, and axe."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, expect, sync_playwright

from tests.features.web_ui.serving import Web, end
from tests.surfaces.program import Program

pytestmark = pytest.mark.system("chromium")
MILLISECONDS = 60_000.0
EDIT = "replace words with terms in tally/count.py"


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        yield launched
        launched.close()


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    with browser.new_context(viewport={"width": 1280, "height": 800}) as context:
        opened = context.new_page()
        opened.set_default_timeout(MILLISECONDS)
        problems: list[str] = []
        opened.on("pageerror", lambda error: problems.append(str(error)))
        yield opened
        assert problems == []


def begin(page: Page, web: Web, text: str = "") -> str:
    page.goto(web.link)
    page.goto(web.url.rstrip("/") + web.new(text))
    return page.url


def says(page: Page, part: str, word: str) -> None:
    page.locator(part, has_text=word).first.wait_for()


def test_from_an_empty_state_to_a_change_with_the_mouse(page: Page, own_web: Web) -> None:
    page.goto(own_web.link)
    assert "token" not in page.url
    page.click(".rows a")
    page.fill("#first", EDIT)
    page.click("text=Begin")
    says(page, "#question h2", "Edit")
    assert page.title().startswith("(1) Quintet[chat")
    page.click("#question .yes")
    says(page, "#status", "ready")
    assert page.locator(".diff .add mark").first.inner_text() == "terms"
    page.locator(".change").hover()
    page.locator(".split").click()
    assert page.locator(".diff.two .del").count() == page.locator(".diff.two .add").count() > 0
    page.locator(".split").click()
    assert page.locator(".diff.two").count() == 0
    page.locator(".call", has=page.locator(".diff")).hover()
    page.locator(".call", has=page.locator(".diff")).locator("a.why").click()
    says(page, "#why", "in chat every change needs approval")
    link = page.locator(".prompt .anchor").first.get_attribute("href") or ""
    page.goto(page.url.partition("#")[0] + link)
    page.locator(".prompt.meant", has_text=EDIT).wait_for()


def test_with_keys_alone(page: Page, web: Web) -> None:
    begin(page, web)
    page.keyboard.type("/mode bu")
    page.keyboard.type("ild\n")
    says(page, "#dial-mode summary", "build")
    page.keyboard.press("Shift+Tab")
    says(page, "#dial-mode summary", "review")
    page.keyboard.type("look at @coun")
    page.locator("#offers li", has_text="tally/count.py").wait_for()
    page.keyboard.press("Enter")
    assert page.input_value("#text") == "look at @tally/count.py "
    page.fill("#text", "")
    page.keyboard.type("/mode chat\n")
    says(page, "#dial-mode summary", "chat")
    page.keyboard.type(f"{EDIT}\n")
    says(page, "#question h2", "Edit")
    page.focus("#scroll")
    page.wait_for_timeout(500)  # keys right after it appears are not taken for an answer
    page.keyboard.press("n")
    says(page, "#transcript", "→ n")


def test_each_dial_is_turned_by_its_chip(page: Page, web: Web) -> None:
    begin(page, web)
    for dial, value in (
        ("mode", "build"),
        ("control", "autonomous"),
        ("permission-profile", "restricted"),
        ("model-mode", "deep"),
    ):
        page.click(f"#dial-{dial} summary")
        page.click(f'#dial-{dial} button[value="/{dial} {value}"]')
        says(page, f"#dial-{dial} summary", value)


def test_what_runs_is_stopped_and_what_waits_is_held_changed_and_dropped(page: Page, web: Web) -> None:
    begin(page, web)
    page.keyboard.type("! sleep 60\n")
    page.locator(".stop").wait_for()
    page.keyboard.type("find alpha\n")
    says(page, "#queue", "find alpha")
    page.keyboard.type("find beta\n")
    says(page, "#queue", "find beta")
    page.keyboard.press("Escape")
    says(page, "#status", "interrupted")
    page.locator("#queue .edit").first.click()
    assert page.input_value("#text") == "find alpha"
    page.fill("#text", "find words")
    page.keyboard.press("Enter")
    says(page, "#queue", "find words")
    page.locator("#queue button", has_text="Drop").nth(1).click()
    expect(page.locator("#queue li")).to_have_count(1)
    page.click("text=Start what is held")
    says(page, "#transcript .answer", "words")


def test_two_browsers_see_one_session_and_the_first_answer_wins(page: Page, browser: Browser, web: Web) -> None:
    url = begin(page, web, EDIT)
    with browser.new_context() as context:
        other = context.new_page()
        other.goto(web.link)
        other.goto(url)
        says(other, "#question h2", "Edit")
        says(page, "#question h2", "Edit")
        other.click("#question .no >> nth=0")
        says(page, "#transcript", "→ n")
        page.locator("#question h2").wait_for(state="detached")
        says(other, "#status", "ready")
        assert blocks(page) == blocks(other)


def test_a_server_that_dies_in_the_middle_loses_and_doubles_nothing(page: Page, quintet: Program) -> None:
    process = quintet.start("web", "--json")
    assert process.stdout
    told = json.loads(process.stdout.readline())
    web = Web(told)
    begin(page, web, "find words")
    says(page, "#transcript .answer", "words")
    page.fill("#text", "half a thought")
    process.kill()
    end(process)
    page.locator("#offline:not([hidden])").wait_for()
    again = quintet.start("web", "--json", "--port", web.host.rpartition(":")[2])
    try:
        assert again.stdout
        assert json.loads(again.stdout.readline())["token"] == web.token
        page.locator("#offline").wait_for(state="hidden")
        assert page.input_value("#text") == "half a thought"
        page.fill("#text", "/help")
        page.keyboard.press("Enter")
        says(page, "#transcript .prompt", "/help")
        page.locator("#transcript .lines", has_text="/help").first.wait_for()
        live = blocks(page)
        page.reload()
        page.locator("#transcript .prompt", has_text="/help").wait_for()
        assert blocks(page) == live
    finally:
        end(again)


def test_a_plan_is_accepted_to_run_by_itself(page: Page, own_web: Web) -> None:
    begin(page, own_web, "/plan replace words with terms in tally/count.py and then find terms")
    page.locator(".accept").wait_for()
    page.check('.accept input[value="autonomous"]')
    page.select_option(".accept select", "trusted")
    page.click(".accept button")
    says(page, "#dial-control summary", "autonomous")
    says(page, "#dial-permission-profile summary", "trusted")
    says(page, "#side", "task-001")


def test_a_viewer_sees_the_session_and_has_nothing_to_press(page: Page, web: Web) -> None:
    path = web.new(EDIT)
    page.goto(web.viewer_link)
    page.goto(web.url.rstrip("/") + path)
    says(page, "#question h2", "Edit")
    assert page.locator("#prompt").count() == 0
    assert not page.locator("#question .choices").is_visible()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1440])
def test_axe_finds_nothing_serious_on_any_screen(browser: Browser, web: Web, width: int, scheme: Any) -> None:
    path = web.new(EDIT)
    with browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme) as context:
        opened = context.new_page()
        opened.goto(web.link)
        screens = ("", "tasks", "agents", "cost", "models", "settings") if width == 1440 else ("settings",)
        for where in ("/", *(f"{web.project}{screen}" for screen in screens), path):
            opened.goto(web.url.rstrip("/") + where)
            if where == path:
                opened.locator("#question h2").wait_for()
            found = Axe().run(opened).response["violations"]
            grave = [
                (one["id"], one["nodes"][0]["html"][:200]) for one in found if one["impact"] in ("serious", "critical")
            ]
            assert grave == [], where
            overflow = opened.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
            assert overflow <= 0, where


def blocks(page: Page) -> list[str]:
    """What the transcript says, block by block."""
    return [text.strip() for text in page.locator("#transcript > .b").all_inner_texts()]


PASTE = """() => {
  const bytes = Uint8Array.from(atob("%s"), (one) => one.charCodeAt(0));
  const data = new DataTransfer();
  data.items.add(new File([bytes], "shot.png", { type: "image/png" }));
  document.getElementById("text").dispatchEvent(new ClipboardEvent("paste", { clipboardData: data, bubbles: true }));
}"""
PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="


def test_a_picture_that_is_pasted_goes_with_the_request(page: Page, own_web: Web, quintet: Program) -> None:
    begin(page, own_web)
    page.evaluate(PASTE % PIXEL)
    expect(page.locator("#text")).to_have_value(re.compile(r"/uploads/\w+\.png $"))
    page.locator("#text").press_sequentially("what is this")
    page.keyboard.press("Enter")
    page.locator("#transcript .answer").first.wait_for()
    says(page, "#status", "ready")
    session = page.url.rstrip("/").rpartition("/")[2]
    shown = quintet.run("sessions", "show", session, "--events", "--json").lines()
    (began,) = [one for one in shown if one["type"] == "turn_started"]
    assert [image["media_type"] for image in began["images"]] == ["image/png"]
