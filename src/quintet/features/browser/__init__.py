"""A Chromium that tools drive: pages as lines of text, elements by their ids, pictures and recordings."""

from quintet.features.feature import Feature, FeatureCheck

FEATURE = Feature(
    name="browser",
    about="a browser that tools can control",
    package=__name__,
    settings={"browser": "settings:BrowserSettings"},
    tools=(
        "tools:browser_navigate",
        "tools:browser_view",
        "tools:browser_click",
        "tools:browser_type",
        "tools:browser_scroll",
        "tools:browser_screenshot",
        "tools:browser_console",
        "tools:browser_press_key",
        "tools:browser_move_mouse",
        "tools:browser_select_option",
        "tools:browser_select_file",
        "tools:browser_set_mobile",
        "tools:browser_restart",
        "tools:recording_start",
        "tools:recording_stop",
    ),
    parts={"chromium": "parts:chromium", "playwright": "parts:playwright"},
    checks=(FeatureCheck("parts:program_is_there", kinds="parts:KINDS"),),
    service="browser:open_browser",
    board="browser:board_rows",
)
