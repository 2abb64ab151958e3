"""The pages in a real browser: a person's walk, two browsers at once, a server that dies, keys alone, and axe."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, expect

from tests.adapters.model_server import Reply, answer
from tests.browsers import chromium
from tests.conftest import Model
from tests.features.web_ui.serving import Web, end, serving
from tests.surfaces.program import Program, call
from tests.surfaces.tmux import QUINTET, Tmux

pytestmark = pytest.mark.system("chromium")
MILLISECONDS = 60_000.0
EDIT = "replace words with terms in tally/count.py"
expect.set_options(timeout=MILLISECONDS)


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as launched:
        yield launched


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


def test_enter_begins_a_session_and_shift_enter_is_a_new_line(page: Page, own_web: Web) -> None:
    page.goto(own_web.link)
    page.click(".rows a")
    page.wait_for_load_state()  # the page's script is there
    page.click("#first")
    page.keyboard.type("find words")
    page.keyboard.press("Shift+Enter")
    assert page.input_value("#first") == "find words\n"
    page.keyboard.press("Backspace")
    page.keyboard.press("Enter")
    says(page, "#status", "ready")
    says(page, "main", "find words")


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
    page.reload()  # its link can be kept
    says(page, "#why", "in chat every change needs approval")
    page.keyboard.press("Escape")
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


def test_a_question_is_answered_from_an_empty_prompt_and_never_from_a_line_that_is_typed(
    page: Page, own_web: Web
) -> None:
    begin(page, own_web, EDIT)  # it changes the project
    says(page, "#question h2", "Edit")
    expect(page.locator("#text")).to_be_focused()
    page.wait_for_timeout(500)  # keys right after it appears are not taken for an answer
    page.keyboard.type("hmy")  # h means nothing to the question, and what follows belongs to it
    expect(page.locator("#text")).to_have_value("hmy")
    page.keyboard.press("Escape")  # out of the prompt, and nothing is interrupted
    expect(page.locator("#text")).not_to_be_focused()
    expect(page.locator("#question [data-question]")).to_be_visible()
    page.fill("#text", "")
    page.keyboard.press("y")
    says(page, "#status", "ready")
    expect(page.locator("#text")).to_have_value("")
    assert page.locator(".diff .add mark").first.inner_text() == "terms"
    assert "interrupted" not in page.inner_text("#transcript")


def test_an_answer_that_lasts_is_confirmed_by_a_second_press(page: Page, own_web: Web) -> None:
    begin(page, own_web, EDIT)  # it changes the project
    says(page, "#question h2", "Edit")
    lasting = page.locator("#question button.lasts")
    expect(lasting.first).to_contain_text("Accept edits for this session")
    lasting.first.dblclick()
    expect(lasting.first).to_contain_text("again to confirm")
    page.wait_for_timeout(500)  # keys right after it appears are not taken for an answer
    page.keyboard.press("b")
    expect(lasting.nth(1)).to_contain_text("again to confirm")
    expect(lasting.first).not_to_contain_text("again to confirm")
    says(page, "#dial-mode summary", "chat")
    page.wait_for_timeout(400)
    page.keyboard.press("Enter")
    says(page, "#dial-mode summary", "build")
    says(page, "#status", "ready")


AT_END = (
    "(() => { const s = document.getElementById('scroll'); return s.scrollHeight - s.scrollTop - s.clientHeight; })()"
)


def is_at_end(page: Page) -> None:
    until = time.monotonic() + MILLISECONDS / 1000
    while page.evaluate(AT_END) >= 60:  # the page's policy lets no polling function in
        assert time.monotonic() < until
        page.wait_for_timeout(50)


def test_a_page_begins_at_the_end_and_stays_there_until_somebody_scrolls_up(page: Page, web: Web) -> None:
    path = begin(page, web).removeprefix(web.url.rstrip("/"))
    for _ in range(15):  # more than a screen of blocks, each higher than it is taken for before it is drawn
        web.post(f"{path}say", text="find " + "<" * 3000)
    expect(page.locator("#transcript .answer")).to_have_count(15)
    says(page, "#status", "ready")
    url = page.url
    page.goto("about:blank")
    page.goto(url)
    page.locator("#transcript .answer").nth(14).wait_for()
    is_at_end(page)
    page.wait_for_timeout(300)  # blocks above get their height as they are drawn
    assert page.evaluate(AT_END) < 60
    assert page.locator("#follow").is_hidden()
    page.locator("#scroll").hover()
    page.mouse.wheel(0, -600)
    page.locator("#follow:not([hidden])").wait_for()
    page.focus("#text")
    page.keyboard.type("/mode plan\n")
    says(page, "#follow", "new ↓")
    page.click("#follow")
    is_at_end(page)


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
    page.click("text=Start held inputs")
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


@pytest.mark.system("tmux")
def test_a_terminal_and_two_browsers_share_a_session_and_the_first_answer_counts(
    page: Page, browser: Browser, own_web: Web, quintet: Program, tmp_path: Path
) -> None:
    url = begin(page, own_web, EDIT)
    terminal = Tmux(tmp_path, quintet.root)
    try:
        with browser.new_context() as context:
            other = context.new_page()
            other.set_default_timeout(MILLISECONDS)
            other.goto(own_web.link)
            other.goto(url)
            says(page, "#question h2", "Edit")
            terminal.open("t", columns=120, rows=40)
            terminal.type("t", f"{QUINTET} --resume {url.rstrip('/').rpartition('/')[2]}", "Enter")
            terminal.sees("t", "[n] no")
            page.wait_for_timeout(500)  # keys right after it appears are not taken for an answer
            terminal.type("t", "n")
            for one in (page, other):
                says(one, "#question .answered", "no · in a terminal")
                says(one, "#status", "ready")
            other.fill("#text", EDIT)
            other.keyboard.press("Enter")
            says(page, "#question h2", "Edit")
            terminal.sees("t", "[n] no")
            late = page.locator("#question input[name=question]").get_attribute("value") or ""
            page.click("#question .yes")
            says(other, "#question .answered", "yes · in a browser")
            says(other, "#status", "ready")
            assert page.locator("#question .answered").count() == 0  # it said so itself
            terminal.sees("t", "→ y")
            assert "[n] no" not in terminal.screen("t")
            path = url.partition(own_web.below)[2]
            assert own_web.post(f"{path}answer", question=late, choice="n").status == 409
            assert blocks(page) == blocks(other)
    finally:
        terminal.close()
    assert "terms" in (quintet.root / "tally/count.py").read_text()


def test_a_server_that_dies_in_mid_stream_loses_and_doubles_nothing(page: Page, quintet: Program, model: Model) -> None:
    halves = Reply(text=["The first half ", "and the second."])
    cut = answer(halves).index(b"and the second") - 50
    more = "[runs]\ndelivery_check = false\nqa_review = false"
    model(Reply(text=halves.text, only=cut, then="hang"), Reply(text="It is whole now."), more=more)
    process = quintet.start("web", "--json")
    assert process.stdout
    web = Web(json.loads(process.stdout.readline()))
    begin(page, web, "say it")
    says(page, "#transcript .answer", "The first half")
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
        page.fill("#text", "/resume")
        page.keyboard.press("Enter")
        says(page, "#transcript .answer", "It is whole now.")
        says(page, "#status", "ready")
        live = blocks(page)
        assert sum("say it" in block for block in live) == sum("whole" in block for block in live) == 1
        page.reload()
        says(page, "#transcript .answer", "It is whole now.")
        assert blocks(page) == live
    finally:
        end(again)


HOSTILE = "<img src=x onerror=alert(1)>"
MARKUP = f"{HOSTILE}</td></pre><script>alert(2)</script><svg onload=alert(3)></svg>"


def test_markup_in_file_names_changes_and_answers_is_text_wherever_it_is_shown(
    page: Page, quintet: Program, model: Model
) -> None:
    said: list[str] = []
    page.on("dialog", lambda dialog: (said.append(dialog.message), dialog.dismiss()))
    name = f"{HOSTILE}.svg".replace("/", "_")
    other = "<svg onload=alert(5)>.txt"
    (quintet.root / other).touch()
    answer = f"{MARKUP} ![]({HOSTILE}) [a](javascript:alert(4)) `{HOSTILE}`"
    model(call("Write", file_path=name, content=f"{MARKUP}\n"), Reply(text=answer), more="[runs]\nqa_review = false")
    with serving(quintet) as web:
        begin(page, web, f"write {MARKUP}")
        says(page, "#question h2", name)
        wrong = "img, script, svg, [onerror], [onload], a[href^=javascript]"
        assert page.locator(f"#question :is({wrong})").count() == 0
        page.click("#question .yes")
        says(page, "#transcript .answer", HOSTILE)
        says(page, "#transcript .diff", MARKUP)
        page.locator("#text").press_sequentially("@onload")
        page.locator("#offers li", has_text=other).wait_for()
        assert page.locator(f"#transcript :is({wrong}), #offers :is({wrong})").count() == 0
        for screen in ("", "tasks"):
            page.goto(f"{web.url.rstrip('/')}{web.project}{screen}")
            assert page.locator(f"main :is({wrong})").count() == 0
    assert (quintet.root / name).read_text() == f"{MARKUP}\n"
    assert said == []


def test_a_plan_is_arranged_by_arrows_dragging_and_words_and_then_accepted_to_run_by_itself(
    page: Page, own_web: Web
) -> None:
    begin(page, own_web, "/plan\n- find alpha\n- find beta\n- find gamma\n- find delta")

    def order(*words: str) -> None:
        expect(page.locator(".planned .what")).to_contain_text([f"find {word}" for word in words])

    order("alpha", "beta", "gamma", "delta")
    page.focus("#plan-down-0")
    page.keyboard.press("Enter")
    order("beta", "alpha", "gamma", "delta")
    expect(page.locator("#plan-down-1")).to_be_focused()  # it went with the task
    card = page.locator("#question .plan[data-question]")
    before = card.get_attribute("data-question") or ""
    page.click("#plan-strike-3")
    order("beta", "alpha", "gamma")
    expect(card).not_to_have_attribute("data-question", before)  # it is asked again, and the card made anew
    rows = page.locator(".planned > li")
    rows.nth(2).drag_to(rows.nth(0), target_position={"x": 60, "y": 3})
    order("gamma", "beta", "alpha")
    page.click("#reword-2 summary")
    page.fill('#reword-2 input[name="words"]', "find terms")
    page.keyboard.press("Enter")
    order("gamma", "beta", "terms")
    page.click("#accept summary")
    page.check('.accept input[value="autonomous"]')
    page.select_option('.accept select[name="profile"]', "trusted")
    page.select_option('.accept select[name="model"]', "deep")
    page.click(".accept button")
    says(page, "#dial-control summary", "autonomous")
    says(page, "#dial-permission-profile summary", "trusted")
    says(page, "#dial-model-mode summary", "deep")
    says(page, "#side", "task-003 find terms")


def test_letters_that_are_typed_into_a_plan_never_answer_the_question_about_it(page: Page, own_web: Web) -> None:
    begin(page, own_web, "/plan\n- find alpha\n- find beta")
    card = page.locator("#question .plan[data-question]")
    expect(page.locator(".planned .what")).to_contain_text(["find alpha", "find beta"])
    page.wait_for_timeout(500)  # keys right after it appears are not taken for an answer
    page.click("#reword-0 summary")
    words = page.locator('#reword-0 input[name="words"]')
    expect(words).to_be_focused()
    page.keyboard.press("End")
    page.keyboard.type(" a")
    expect(words).to_have_value("find alpha a")
    page.focus("#reword-0 summary")  # the editor is still open
    page.keyboard.type("a")
    page.focus("#scroll")
    page.keyboard.type("a")
    words.focus()
    page.keyboard.press("Escape")  # closes what was opened, and nothing else
    expect(words).not_to_be_visible()
    for control in ("#reword-0 summary", "#plan-down-0", "#accept summary", "#dial-mode summary"):
        page.focus(control)
        page.keyboard.type("a")
    expect(card).to_be_visible()
    expect(page.locator("#dial-control summary")).not_to_contain_text("autonomous")
    page.focus("#question button[name=choice]")
    page.keyboard.type("a")
    says(page, "#dial-control summary", "autonomous")


def test_what_a_plan_opens_by_itself_does_not_stay_open_and_keep_its_keys_from_it(page: Page, own_web: Web) -> None:
    begin(page, own_web, "/plan\n- find alpha\n- find beta\n- find gamma")
    expect(page.locator(".plan[data-question] .what")).to_contain_text(["alpha", "beta", "gamma"])
    page.evaluate("Object.assign(document.getElementById('accept'), { open: true }).dataset.opens = ''")  # as unasked
    page.click("#plan-strike-2")
    expect(page.locator(".plan[data-question] .what")).to_contain_text(["alpha", "beta"])
    expect(page.locator("#accept")).not_to_have_attribute("open", "")
    page.click("#accept summary")
    page.click("#plan-strike-1")
    expect(page.locator(".plan[data-question] .what")).to_contain_text(["alpha"])
    expect(page.locator("#accept")).to_have_attribute("open", "")  # somebody opened it
    page.click("#accept summary")
    page.wait_for_timeout(500)  # keys right after it appears are not taken for an answer
    page.focus("#scroll")
    page.keyboard.press("a")
    says(page, "#dial-control summary", "autonomous")


def test_a_plan_shows_no_order_that_it_would_not_run_in(page: Page, own_web: Web) -> None:
    begin(page, own_web, "/plan replace words with terms in tally/count.py, then run the tests")
    what = page.locator(".planned .what")
    expect(what).to_contain_text(["replace", "run the tests"])
    for arrow in ("#plan-up-1", "#plan-down-0"):
        expect(page.locator(arrow)).to_be_disabled()
        expect(page.locator(arrow)).to_have_attribute("title", "task-002 depends on task-001 and runs after it")
    rows = page.locator(".planned > li")
    rows.nth(1).drag_to(rows.nth(0), target_position={"x": 60, "y": 3})
    says(page, "#transcript", "task-002 (run the tests) depends on task-001")
    expect(what).to_contain_text(["replace", "run the tests"])


def test_a_task_is_moved_on_the_board_by_dragging_and_by_its_menu(page: Page, own_web: Web, quintet: Program) -> None:
    (quintet.root / "one.md").write_text("---\nid: one\ntitle: the first\n---\nDo it.\n")
    quintet.run("tasks", "add", "one.md").clean(0)
    page.goto(own_web.link)
    page.goto(f"{own_web.url.rstrip('/')}{own_web.project}tasks")
    page.locator('.task[data-task="one"]').drag_to(page.locator('.board [data-status="paused"]'))
    page.locator('[data-status="paused"] .task[data-task="one"]').wait_for()
    page.locator(".move summary").focus()
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    page.locator('[data-status="todo"] .task[data-task="one"]').wait_for()
    page.click(".views a")
    page.locator("table.tasks .move summary").click()
    page.locator('.move button[value="cancelled"]').click()
    page.locator(".board section", has_text="Done").locator(".task", has_text="cancelled").wait_for()
    moves = quintet.run("tasks", "show", "one", "--json").json()["moves"]
    assert [move["after"] for move in moves] == ["todo", "paused", "todo", "cancelled"]


def test_on_a_phone_sessions_and_tasks_are_tabs(browser: Browser, web: Web) -> None:
    with browser.new_context(viewport={"width": 390, "height": 844}, has_touch=True) as context:
        phone = context.new_page()
        phone.set_default_timeout(MILLISECONDS)
        begin(phone, web, EDIT)
        says(phone, "#question h2", "Edit")
        came = phone.locator("#question .asked .add").first.bounding_box()
        choices = phone.locator("#question .choices").bounding_box()
        assert came and choices
        assert came["y"] + came["height"] <= choices["y"]  # the change is not behind the buttons
        no = phone.locator("#question .choices > .no").bounding_box()
        feedback = phone.locator("#question .feedback summary").bounding_box()
        assert no and feedback
        assert min(no["height"], feedback["height"]) >= 44  # each is hit by a thumb
        assert feedback["width"] >= no["width"]
        expect(phone.locator("#text")).to_have_attribute("placeholder", "Type a request")  # more would be cut
        assert not phone.locator(".left").is_visible()
        phone.tap("[data-tab=sessions]")
        expect(phone.locator(".left")).to_be_visible()
        expect(phone.locator("#text")).not_to_be_visible()
        phone.keyboard.press("ArrowRight")
        expect(phone.locator("#side")).to_be_visible()
        phone.tap("[data-tab=session]")
        expect(phone.locator("#text")).to_be_visible()


def test_a_change_that_waits_is_shown_at_its_chip_and_taken_back_there(page: Page, web: Web) -> None:
    begin(page, web)
    page.keyboard.type("! sleep 60\n")
    page.locator(".stop").wait_for()
    page.keyboard.type("/mode build after-current-unit\n")
    says(page, "#dial-mode summary", "→ build after current unit")
    page.click("#dial-mode summary")
    page.click('#dial-mode button[value="/steer drop mode"]')
    says(page, "#transcript", "mode is unchanged")
    assert "→" not in page.inner_text("#dial-mode summary")
    page.keyboard.press("Escape")


def test_a_viewer_sees_the_session_and_has_nothing_to_press(page: Page, web: Web) -> None:
    path = web.new(EDIT)
    page.goto(web.viewer_link)
    page.goto(web.url.rstrip("/") + path)
    says(page, "#question h2", "Edit")
    assert page.locator("#prompt").count() == 0
    assert not page.locator("#question .choices").is_visible()


LOOKS: tuple[tuple[int, Any], ...] = ((390, "dark"), (1440, "light"), (390, "light"), (1440, "dark"))


def test_axe_finds_nothing_serious_on_any_screen(page: Page, own_web: Web, quintet: Program) -> None:
    (quintet.root / "one.md").write_text("---\nid: one\ntitle: the first\n---\nDo it.\n")
    quintet.run("tasks", "add", "one.md").clean(0)
    project, plan, asked = own_web.project, own_web.new(f"/plan\n- {EDIT}\n- find terms"), own_web.new(EDIT)
    page.goto(own_web.link)
    screens = ("", "tasks", "tasks?as=list", "tasks/one", "agents", "cost", "models", "remote", "settings")
    for where in ("/", *(f"{project}{screen}" for screen in screens), plan, asked):
        page.goto(own_web.url.rstrip("/") + where)
        if where in (plan, asked):
            page.locator("#question h2").wait_for()
        for width, scheme in LOOKS if where in (plan, asked) else LOOKS[:2]:
            page.set_viewport_size({"width": width, "height": 900})
            page.emulate_media(color_scheme=scheme)
            found = Axe().run(page).response["violations"]
            grave = [
                (one["id"], one["nodes"][0]["html"][:200]) for one in found if one["impact"] in ("serious", "critical")
            ]
            assert grave == [], (where, width, scheme)
            overflow = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
            assert overflow <= 0, (where, width)


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


DROP = """([name, content]) => {
  const data = new DataTransfer();
  data.items.add(new File([content], name, { type: "text/plain" }));
  document.getElementById("prompt").dispatchEvent(new DragEvent("drop", { dataTransfer: data, bubbles: true }));
}"""


def test_a_file_that_is_dropped_goes_by_its_name_if_it_is_the_projects_else_as_its_text(page: Page, web: Web) -> None:
    begin(page, web)
    page.evaluate(DROP, ["count.py", "whatever"])
    expect(page.locator("#text")).to_have_value("@tally/count.py ")
    page.evaluate(DROP, ["log.txt", "it broke"])
    expect(page.locator("#text")).to_have_value("@tally/count.py \nlog.txt:\n~~~\nit broke\n~~~\n")
    page.evaluate(DROP, ["x.bin", "a\0b"])
    says(page, "#transcript", "x.bin: not text")


AWAY = """
  window.told = [];
  window.Notification = class { constructor(heading, more) { told.push(`${heading}: ${more.body}`); } };
  Notification.permission = "granted";
  Object.defineProperty(document, "visibilityState", { get: () => "hidden" });
"""


def test_somebody_who_looks_elsewhere_is_told_that_it_needs_them_and_that_it_is_done(page: Page, web: Web) -> None:
    page.add_init_script(AWAY)
    begin(page, web)
    page.keyboard.type(f"{EDIT}\n")
    says(page, "#question h2", "Edit")
    page.click("#question .no >> nth=0")
    says(page, "#status", "ready")
    told = page.evaluate("told")
    assert told[0] == "Quintet needs your input: Edit tally/count.py?"
    assert told[-1].startswith("Quintet is done here")


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
