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

from playwright.sync_api import Page, sync_playwright

from quintet.app.tour import make

HERE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "pictures")
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
            page = browser.new_page(viewport={"width": 1280, "height": 720})
            page.goto(told["link"])
            page.click(".rows a")
            page.fill("#first", ASKED)
            page.click("text=Begin")
            for number in range(3):
                page.locator("#question h2").wait_for()
                if number == 1:
                    keep(page, "web")
                page.wait_for_timeout(500)
                page.click("#question .yes")
                page.wait_for_timeout(1500)
                if not page.locator("#question h2").count():
                    break
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


if __name__ == "__main__":
    main()
