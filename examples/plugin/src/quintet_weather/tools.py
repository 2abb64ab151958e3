"""The tool that a model calls. The gate judges it by what it declares."""

from quintet import Effect, ToolFailed, Workbench, tool
from quintet_weather.service import Station


@tool(effects={Effect.READ}, toolset="data")
async def weather_of(bench: Workbench, place: str) -> str:
    """The weather of a place.

    :place: its name
    """
    station: Station = bench.service("weather")
    readings = station.readings()
    if place not in readings:
        raise ToolFailed(f"{place} is not in {station.file}. Places: {', '.join(readings)}")
    return readings[place]
