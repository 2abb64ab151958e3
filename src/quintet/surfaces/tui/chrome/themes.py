"""Themes: what the roles and the screen's parts are coloured like, in five of them.

dark and light need a terminal with many colours, high-contrast has none that are hard to tell apart, 16 leaves the
colours to the terminal's own palette, and plain has none at all: there weight and words say everything.
"""

from __future__ import annotations

from functools import lru_cache

from rich.style import Style
from textual.theme import Theme

AUTO = "auto"

_ANSI = {
    "primary": "ansi_bright_blue",
    "secondary": "ansi_cyan",
    "warning": "ansi_yellow",
    "error": "ansi_red",
    "success": "ansi_green",
    "accent": "ansi_cyan",
    "foreground": "ansi_default",
    "background": "ansi_default",
    "surface": "ansi_default",
    "panel": "ansi_default",
    "boost": "ansi_default",
}
_ANSI_VARIABLES = {
    "ansi-background": "ansi_default",
    "ansi-foreground": "ansi_default",
    "border-blurred": "ansi_default",
    "block-cursor-foreground": "ansi_black",
    "block-cursor-background": "ansi_cyan",
    "input-cursor-background": "ansi_default",
    "input-cursor-foreground": "ansi_default",
    "input-cursor-text-style": "reverse",
    "scrollbar": "ansi_bright_black",
    "scrollbar-background": "ansi_default",
    "scrollbar-corner-color": "ansi_default",
    "screen-selection-background": "ansi_cyan",
    "screen-selection-foreground": "ansi_black",
}
THEMES = {
    "dark": Theme(
        name="dark",
        primary="#7aa2f7",
        secondary="#89ddff",
        accent="#7dcfff",
        warning="#e0af68",
        error="#f7768e",
        success="#9ece6a",
        foreground="#d5d9e8",
        background="#14161c",
        surface="#14161c",
        panel="#1d2029",
        dark=True,
    ),
    "light": Theme(
        name="light",
        primary="#2b5fb8",
        secondary="#00718a",
        accent="#00718a",
        warning="#8a5a00",
        error="#b3261e",
        success="#2f6f1f",
        foreground="#1f2328",
        background="#fbfbf9",
        surface="#fbfbf9",
        panel="#eeeeea",
        dark=False,
    ),
    "high-contrast": Theme(
        name="high-contrast",
        primary="#ffffff",
        secondary="#00ffff",
        accent="#00ffff",
        warning="#ffff00",
        error="#ff6060",
        success="#00ff00",
        foreground="#ffffff",
        background="#000000",
        surface="#000000",
        panel="#000000",
        dark=True,
    ),
    "16": Theme(name="16", ansi=True, dark=True, variables=_ANSI_VARIABLES, **_ANSI),  # type: ignore[arg-type]
    "plain": Theme(
        name="plain",
        ansi=True,
        dark=True,
        variables={**_ANSI_VARIABLES, "block-cursor-text-style": "bold underline"},
        **_ANSI,  # type: ignore[arg-type]
    ),
}

_COLOURS: dict[str, dict[str, str]] = {
    "dark": {
        "dim": "#7f869c",
        "accent": "#7dcfff",
        "success": "#9ece6a",
        "warning": "#e0af68",
        "error": "#f7768e",
        "info": "#7aa2f7",
        "heading": "bold #7aa2f7",
        "code": "#c8d0e8",
        "code_inline": "#e8c88a",
        "match": "#14161c on #e0af68",
    },
    "light": {
        "dim": "#6a7078",
        "accent": "#00718a",
        "success": "#2f6f1f",
        "warning": "#8a5a00",
        "error": "#b3261e",
        "info": "#2b5fb8",
        "heading": "bold #2b5fb8",
        "code": "#33404d",
        "code_inline": "#8a3b00",
        "match": "#fbfbf9 on #8a5a00",
    },
    "high-contrast": {
        "dim": "#d0d0d0",
        "accent": "#00ffff",
        "success": "#00ff00",
        "warning": "#ffff00",
        "error": "bold #ff6060",
        "info": "#80c0ff",
        "heading": "bold underline",
        "code": "#ffffff",
        "code_inline": "bold #ffff00",
        "match": "#000000 on #ffff00",
    },
    "16": {
        "dim": "bright_black",
        "accent": "cyan",
        "success": "green",
        "warning": "yellow",
        "error": "red",
        "info": "bright_blue",
        "heading": "bold bright_blue",
        "code": "default",
        "code_inline": "yellow",
        "match": "reverse",
    },
    "plain": {
        "dim": "dim",
        "accent": "",
        "success": "",
        "warning": "bold",
        "error": "bold",
        "info": "",
        "heading": "bold underline",
        "code": "",
        "code_inline": "underline",
        "match": "reverse",
    },
}
_WEIGHTS = ("bold", "italic", "underline", "strike", "reverse")


@lru_cache(1024)
def style(theme: str, roles: str) -> Style:
    """How a piece with these roles looks; of several colours the last counts."""
    colours = _COLOURS[theme]
    made = Style()
    for role in roles.split():
        words = role if role in _WEIGHTS else colours.get(role, "")
        if words:
            made += Style.parse(words)
    return made


def chosen(setting: str, environment: dict[str, str], color: str = "auto") -> str:
    """The theme to begin with: none of colours where the user or the terminal wants none."""
    if color == "never" or (color == "auto" and "NO_COLOR" in environment):
        return "plain"
    if setting != AUTO:
        return setting
    term, depth = environment.get("TERM", ""), environment.get("COLORTERM", "")
    if depth in ("truecolor", "24bit") or "256" in term or "direct" in term or "kitty" in term:
        return "dark"
    return "16"
