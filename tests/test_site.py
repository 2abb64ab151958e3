"""The documentation as a site, in a real browser: every page fits a phone and a desk, and it is searched offline."""

import mimetypes
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, Request, expect

from tests.browsers import chromium
from tests.loopback import Answer, Asked, serving
from tests.places import ROOT

pytestmark = pytest.mark.system("chromium")
MILLISECONDS = 60_000.0
WIDTHS = {390: 844, 1440: 900}
PYTHON = ROOT / os.environ.get("QUINTET_VENV_DIR", "") / ".venv-site/bin/python"
# What stands beyond the edge of the window and is in nothing that scrolls or cuts it off.
OVER = """() => {
  const held = e => e && (getComputedStyle(e).overflowX !== "visible" || held(e.parentElement));
  const over = [...document.querySelectorAll("article *")].filter(
    e => e.getBoundingClientRect().right > innerWidth + 1 && e.getClientRects().length && !held(e.parentElement));
  if (document.documentElement.scrollWidth > innerWidth) over.unshift(document.documentElement);
  return over.map(e => `${e.tagName} ${e.textContent.trim().slice(0, 40)}`);
}"""
BROKEN = "() => [...document.images].filter(i => i.complete && !i.naturalWidth).map(i => i.src)"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if not PYTHON.exists():
        pytest.skip("needs what builds the site (scripts/test --system sets it up)")
    made = tmp_path_factory.mktemp("site")
    done = subprocess.run(
        [PYTHON, ROOT / "docs/site.py", made], capture_output=True, text=True, env={**os.environ, "HOME": str(made)}
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    return made


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as launched:
        yield launched


@pytest.fixture
def asked(context: BrowserContext) -> list[Request]:
    """What the pages asked for."""
    found: list[Request] = []
    context.on("request", lambda one: found.append(one))
    return found


@pytest.fixture
def context(browser: Browser) -> Iterator[BrowserContext]:
    with browser.new_context() as opened:
        opened.set_default_timeout(MILLISECONDS)
        problems: list[str] = []
        opened.on("weberror", lambda error: problems.append(str(error.error)))
        yield opened
        assert problems == []


@pytest.fixture(params=["from disk", "served"])
def address(request: pytest.FixtureRequest, site: Path) -> Iterator[str]:
    def page(asked: Asked) -> Answer:
        file = site / asked.path.lstrip("/")
        kind = mimetypes.guess_type(file.name)[0] or "application/octet-stream"
        return Answer(file.read_bytes(), headers={"content-type": kind}) if file.is_file() else Answer(status=404)

    if request.param == "from disk":
        yield site.as_uri()
    else:
        with serving(page) as server:
            yield server.url


@pytest.mark.parametrize("width", WIDTHS)
def test_the_search_finds_a_page_and_opens_it(
    context: BrowserContext, asked: list[Request], address: str, width: int
) -> None:
    page = context.new_page()
    page.set_viewport_size({"width": width, "height": WIDTHS[width]})
    page.goto(f"{address}/docs/tutorial.html")
    if width < 1000:
        page.locator("label.md-header__button[for=__search]").click()
    else:
        page.locator(".md-search__input").click()
    page.keyboard.type("worktree of a task")
    first = page.locator(".md-search-result__item a.md-search-result__link").first
    expect(first).to_be_visible(timeout=MILLISECONDS)
    expect(page.locator(".md-search-result__meta")).to_contain_text("matching document")
    hits = page.locator(".md-search-result__item h1").all_inner_texts()
    assert "Do several tasks at once" in hits, hits
    # Hits are drawn anew for each letter, so what is found at one moment may be gone at the next.
    fits = "() => { const box = document.querySelector('.md-search-result__link')?.getBoundingClientRect(); "
    page.wait_for_function(f"{fits} return box && box.x >= 0 && box.width && box.right <= {width} }}")
    page.locator(".md-search-result__item a", has_text="Do several tasks at once").first.click()
    expect(page.locator("article h1")).to_contain_text("Do several tasks at once", timeout=MILLISECONDS)
    assert [one.url for one in asked if not one.url.startswith((address, "data:", "blob:", "about:"))] == []


def test_what_is_nowhere_has_no_hits(context: BrowserContext, site: Path) -> None:
    page = context.new_page()
    page.goto((site / "index.html").as_uri())
    page.locator(".md-search__input").click()
    page.keyboard.type("xyzzyplugh")
    expect(page.locator(".md-search-result__meta")).to_contain_text("No matching documents", timeout=MILLISECONDS)


def test_every_page_fits_and_loads_nothing_from_elsewhere(
    context: BrowserContext, asked: list[Request], site: Path
) -> None:
    pages = sorted(path for path in site.rglob("*.html"))
    assert len(pages) > 100
    wrong, page = [], context.new_page()
    for path in pages:
        page.goto(path.as_uri())
        for width, height in WIDTHS.items():
            page.set_viewport_size({"width": width, "height": height})
            found = [*page.evaluate(OVER), *page.evaluate(BROKEN)]
            wrong += [(path.relative_to(site).as_posix(), width, one) for one in found]
    assert wrong == []
    assert [one.url for one in asked if not one.url.startswith((site.as_uri(), "data:", "blob:", "about:"))] == []
    assert [one.url for one in asked if one.failure] == []


@pytest.mark.parametrize(("width", "forms", "room"), [(390, 200, 170), (1440, 500, 400)])
def test_a_commands_forms_leave_room_for_what_it_does(
    context: BrowserContext, site: Path, width: int, forms: int, room: int
) -> None:
    page = context.new_page()
    page.set_viewport_size({"width": width, "height": 844})
    page.goto((site / "docs/reference/commands.html").as_uri())
    widths = "cells => cells.map(cell => cell.offsetWidth)"
    assert max(page.locator("article table").first.locator("td:first-child").evaluate_all(widths)) < forms
    assert min(page.locator("article table").first.locator("td.long").evaluate_all(widths)) > room
