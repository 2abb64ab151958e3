"""The weather of places, from a file of the project: a plugin with one of everything that a plugin can add."""

from quintet import Feature, FeatureCheck, FeatureCommand

FEATURE = Feature(
    name="weather",
    about="the weather of places, from a file of the project",
    package=__name__,
    settings={"weather": "settings:WeatherSettings"},
    tools=("tools:weather_of",),
    slash=(FeatureCommand("weather", "/weather [PLACE]", "the weather of one place, or of all", "commands:weather"),),
    checks=(FeatureCheck("health:file_is_there", "health:make_file", "health:KINDS"),),
    service="service:open_station",
    board="health:rows",
)
