"""What the user may set: the table [weather] of settings.toml."""

from typing import Annotated

from msgspec import Struct

from quintet import setting


class WeatherSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """The weather of places."""

    file: Annotated[str, setting("the file of the project that has it, a line each: PLACE: WEATHER")] = "weather.txt"
