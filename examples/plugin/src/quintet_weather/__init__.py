"""The weather of places, from a file of the project: a plugin with a tool, a slash command and a setting."""

from quintet import Feature, FeatureCommand

FEATURE = Feature(
    name="weather",
    about="the weather of places, from a file of the project",
    package=__name__,
    settings={"weather": "settings:WeatherSettings"},
    tools=("tools:weather_of",),
    slash=(FeatureCommand("weather", "/weather [PLACE]", "the weather of one place, or of all", "commands:weather"),),
    service="service:open_station",
)
