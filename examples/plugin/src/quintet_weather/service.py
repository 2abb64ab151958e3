"""What a session holds of this plugin; it is made when the tool or the command first asks for it."""

from quintet import Opening, ToolFailed
from quintet_weather.settings import WeatherSettings


class Station:
    def __init__(self, opening: Opening) -> None:
        self._files = opening.files
        self.asked = 0  # how often the weather was looked up, for the board
        self.file = opening.settings.table("weather", WeatherSettings).file

    def readings(self) -> dict[str, str]:
        """The weather by its place. Files of the project are read as tools read them: secrets are refused."""
        self.asked += 1
        try:
            text = self._files.read(self.file).decode("utf-8", "replace")
        except FileNotFoundError:
            raise ToolFailed(f"{self.file} is not there; weather.file names another") from None
        pairs = (line.partition(":") for line in text.splitlines() if ":" in line)
        return {place.strip(): weather.strip() for place, _, weather in pairs}


def open_station(opening: Opening) -> Station:
    return Station(opening)
