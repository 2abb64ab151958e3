"""What the doctor and the board show of this plugin."""

import os
from collections.abc import Iterator

from quintet import BoardEntry, BoardKind, Checkup, Finding, FindingKind, HealthScope, Severity
from quintet_weather.service import Station
from quintet_weather.settings import WeatherSettings

WEATHER_FILE = FindingKind(
    "WEATHER_FILE",
    Severity.WARNING,
    HealthScope.PROJECT,
    "`weather.file` names a file that does not exist.",
    "make an empty one",
    fixable=True,
)
KINDS = (WEATHER_FILE,)


def file_is_there(checkup: Checkup) -> Iterator[Finding]:
    """Once the user has named a file, it is to be there. `fixable` says that `make_file` can mend it."""
    named, path = _file(checkup)
    if "weather.file" in checkup.loaded.values and not os.path.exists(path):
        yield WEATHER_FILE.of(named, f"weather.file names {named}, which is not there")


def make_file(checkup: Checkup) -> list[str]:
    if not list(file_is_there(checkup)):
        return []
    named, path = _file(checkup)
    with open(path, "x", encoding="utf-8"):
        return [f"made {named}"]


def _file(checkup: Checkup) -> tuple[str, str]:
    named = checkup.settings.table("weather", WeatherSettings).file
    return named, os.path.join(checkup.places.root, named)


def rows(station: Station) -> list[BoardEntry]:
    """Asked once a second while the board is open, from the time on that the session has used the station."""
    return [BoardEntry(BoardKind.FEATURE, "weather", "☀", f"weather, looked up {station.asked} ×", station.file)]
