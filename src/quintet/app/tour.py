"""The tour: a small real git repository with three files and four tests, and a session on it."""

from __future__ import annotations

import asyncio
import os
import tempfile

from quintet.adapters import sandbox
from quintet.adapters.git.run_git import environment, git_output, git_program
from quintet.adapters.models.registry import Models
from quintet.app.open import open_session
from quintet.domain.dials.axes import INTERACTIVE, AxesChange, Surface
from quintet.domain.permission.gate import Sandbox
from quintet.domain.settings.settings import Settings
from quintet.surfaces.tour import Tour

INTERACTIVE_CHANGE = AxesChange(
    INTERACTIVE.work_mode, INTERACTIVE.run_control, INTERACTIVE.permission_profile, INTERACTIVE.model_mode
)

FILES = {
    "slugs.py": '''"""Turn titles into slugs for addresses."""

import re


def slugify(title: str) -> str:
    words = re.findall(r"[a-z0-9]+", title.lower())
    return "-".join(words)


def unique(title: str, taken: set[str]) -> str:
    slug = slugify(title)
    number = 2
    while slug in taken:
        slug = f"{slugify(title)}-{number}"
        number += 1
    return slug
''',
    "tests/test_slugs.py": """import unittest

from slugs import slugify, unique


class Slugs(unittest.TestCase):
    def test_words_are_joined(self):
        self.assertEqual(slugify("Hello, World"), "hello-world")

    def test_digits_stay(self):
        self.assertEqual(slugify("Top 10"), "top-10")

    def test_nothing_gives_nothing(self):
        self.assertEqual(slugify("!?"), "")

    def test_a_taken_slug_is_numbered(self):
        self.assertEqual(unique("Top 10", {"top-10"}), "top-10-2")
""",
    "README.md": "# slugs\n\nTitles to slugs. `python -m unittest discover -s tests` runs the tests.\n",
}


def make(folder: str) -> None:
    """Write the files and commit them."""
    for name, text in FILES.items():
        path = os.path.join(folder, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
    identity = ("-c", "user.name=Quintet tour", "-c", "user.email=tour@localhost", "-c", "commit.gpgsign=false")
    for command in (("init", "-q", "-b", "main"), ("add", "."), (*identity, "commit", "-q", "-m", "Start slugs")):
        git_output((git_program() or "git", *command), environment(), folder)


def run() -> int:
    return asyncio.run(tour())


async def tour() -> int:
    """A small repository in a temporary folder, and the tour through it."""
    folder = os.path.join(tempfile.mkdtemp(prefix="quintet-tour-"), "slugs")
    os.mkdir(folder)
    make(folder)
    builtin = Models(Settings()).get("builtin")
    async with open_session(folder, surface=Surface.TUI, axes=INTERACTIVE_CHANGE, model=builtin) as session:
        found = sandbox.works_here()
        shown = Tour(session, folder, f"offline rules · sandbox {found}", contained=found is Sandbox.BWRAP)
        return await shown.run()
