"""Makes the pictures of the browser in docs/pictures: a real session of the offline rules, in a real browser.

python docs/web_pictures.py. Needs Chromium. The project is the tour's, in a temporary folder.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile

from playwright.sync_api import Browser, Page, sync_playwright

from quintet.app.tour import make

HERE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "pictures")
PLAN = """/plan
- create the file CHANGES.md with "slugify is to_slug now"
- replace "to_slug" with "make_slug" in *.py
- run the tests"""
ASKED = 'replace "slugify" with "to_slug" in *.py'


def keep(page: Page, name: str) -> None:
    page.wait_for_timeout(500)
    page.screenshot(path=os.path.join(HERE, f"{name}.png"))


def main() -> None:
    folder = tempfile.mkdtemp(prefix="q-pictures-")
    root = os.path.join(folder, "slugs")
    os.mkdir(root)
    make(root)
    around = {"HOME": folder, "PATH": os.environ["PATH"], "LANG": "C.UTF-8"}
    words = [sys.executable, "-m", "quintet", "web", "--json"]
    server = subprocess.Popen(words, cwd=root, env=around, stdout=subprocess.PIPE, text=True)
    try:
        assert server.stdout
        told = json.loads(server.stdout.readline())
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
            page = begun(browser, told["link"], ASKED, height=720)
            page.locator("#question h2").wait_for()
            keep(page, "web")
            page.click("#question .yes")
            page.wait_for_timeout(1500)
            plan = begun(browser, told["link"], PLAN, height=640)
            plan.locator(".planned").wait_for()
            keep(plan, "web-plan")
            phone = browser.new_page(viewport={"width": 390, "height": 720}, color_scheme="dark")
            phone.goto(told["link"])
            phone.goto(page.url)
            phone.locator("#transcript .answer").first.wait_for()
            keep(phone, "web-phone")
            browser.close()
    finally:
        server.terminate()
        server.wait()
        shutil.rmtree(folder, ignore_errors=True)


def begun(browser: Browser, link: str, text: str, *, height: int) -> Page:
    """A page with a new session that began with a text."""
    page = browser.new_page(viewport={"width": 1280, "height": height})
    page.goto(link)
    page.click(".rows a")
    page.fill("#first", text)
    page.click("text=Begin")
    return page


if __name__ == "__main__":
    main()
