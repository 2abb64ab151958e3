"""The axes as text: full, compact and critical badge, terminal title, and the colour role of each word.

Every surface draws from here. A narrow host gets the compact form; review and repair always show their full labels,
which wrap and are never cut.
"""

from __future__ import annotations

from quintet.domain.dials.axes import Axes, WorkMode

BAR = " │ "
NARROW = 80  # columns below which the compact form is used
PAUSED = "‖"
CRITICAL = frozenset({WorkMode.REVIEW, WorkMode.REPAIR})

# A first letter is one value's alone, on whatever dial: those that would share one have two.
_TWO_LETTERS = {"assisted": "As", "research": "Rs"}

# Colour roles; a surface maps a role to what its terminal or page can show.
ROLES: dict[str, str] = {
    "chat": "dim",
    "plan": "accent",
    "build": "success",
    "review": "warning",
    "repair": "error",
    "research": "info",
    "manual": "dim",
    "assisted": "warning",
    "autonomous": "success",
    "restricted": "success",
    "normal": "dim",
    "trusted": "warning",
    "unrestricted": "error",
    "fast": "dim",
    "smart": "dim",
    "deep": "accent",
}


def labels(axes: Axes) -> tuple[str, str, str, str]:
    return (axes.work_mode, axes.run_control, axes.permission_profile, axes.model_mode)


def full(axes: Axes, *, paused: bool = False) -> str:
    return BAR.join(labels(axes)) + (f" {PAUSED}" if paused else "")


def compact(axes: Axes, *, paused: bool = False) -> str:
    return "".join(boxes(axes)) + (PAUSED if paused else "")


def boxes(axes: Axes) -> list[str]:
    """The parts of the compact form, one for each dial."""
    return [f"[{_short(word)}]" for word in labels(axes)]


def _short(word: str) -> str:
    return _TWO_LETTERS.get(word, word[0].upper())


def title(axes: Axes, project: str, *, paused: bool = False) -> str:
    """What the terminal's title says."""
    words = (axes.work_mode, _short(axes.run_control), axes.permission_profile, axes.model_mode)
    return f"Quintet[{'|'.join(words)}]{PAUSED if paused else ''} {' '.join(project.split())}"


def lines(axes: Axes, width: int, *, paused: bool = False) -> list[str]:
    """The badge for a host of `width` columns: one line, or for a critical work mode as many as its labels need."""
    whole = full(axes, paused=paused)
    if axes.work_mode in CRITICAL:
        return [whole] if len(whole) <= width else _wrapped(axes, width, paused)
    if width >= NARROW and len(whole) <= width:
        return [whole]
    return _folded([*boxes(axes), *([PAUSED] if paused else [])], max(width, 1))


def _folded(parts: list[str], width: int) -> list[str]:
    if max(map(len, parts)) > width:
        parts = [part.strip("[]")[:width] for part in parts]
    out = [parts[0]]
    for box in parts[1:]:
        if len(out[-1]) + len(box) <= width:
            out[-1] += box
        else:
            out.append(box)
    return out


def _wrapped(axes: Axes, width: int, paused: bool) -> list[str]:
    words = [*labels(axes), *([PAUSED] if paused else [])]
    out = [words[0]]
    for word in words[1:]:
        joiner = " " if word == PAUSED else BAR
        if len(out[-1]) + len(joiner) + len(word) <= width:
            out[-1] += joiner + word
        else:
            out.append(word)
    return out
