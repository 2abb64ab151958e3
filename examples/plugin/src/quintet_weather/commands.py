"""The slash command, on every surface. It answers with a text."""

from quintet import Opening, ToolFailed
from quintet_weather.service import Station


async def weather(opening: Opening, words: tuple[str, ...]) -> str:
    station: Station = opening.services["weather"]
    readings = station.readings()
    if words and words[0] not in readings:
        raise ToolFailed(f"{words[0]} is not in {station.file}")
    return "\n".join(f"{place}: {said}" for place, said in readings.items() if not words or place == words[0])
