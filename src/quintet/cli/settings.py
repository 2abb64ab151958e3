"""`quintet settings`: every setting, its value, and where it came from."""

from __future__ import annotations

import os
from argparse import Namespace

from quintet.adapters.files.paths import locate
from quintet.adapters.settings import layers as config
from quintet.cli.parsing import lookup
from quintet.domain.base.safe_text import on_one_line
from quintet.surfaces.tables import complain, say, say_json


def settings(arguments: Namespace) -> int:
    places = locate(arguments.directory)
    loaded = config.load(places)
    rows = config.shown(loaded)
    for warning in loaded.warnings:
        complain(warning)
    if arguments.json:
        say_json([{"key": key, "value": value, "source": source} for key, value, source in rows])
        return 0
    say(config.as_lines(loaded))
    say(
        [
            "",
            f"yours      {on_one_line(places.user_settings)}{_absent(places.user_settings)}",
            f"project's  {on_one_line(places.project_settings)}{_absent(places.project_settings)}",
            "variables  QUINTET_SECTION_KEY, for example QUINTET_LIMITS_MAX_COST=5",
        ]
    )
    return 0


def _absent(path: str) -> str:
    return "" if os.path.exists(path) else "  (not there)"


SETTINGS = lookup("settings", "Every setting, its value, and where it came from.", settings)
