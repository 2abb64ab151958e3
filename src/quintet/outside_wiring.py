"""What the tools that reach outside work with, made from a project's places and settings."""

from __future__ import annotations

from quintet.adapters.browser.local_browser import LocalBrowser
from quintet.adapters.config import Loaded
from quintet.adapters.places import Places
from quintet.domain.ports import Files


def make_browser(places: Places, loaded: Loaded, files: Files) -> LocalBrowser:
    return LocalBrowser(files, places.outputs, loaded.settings.browser, own_code=loaded.trusted)
