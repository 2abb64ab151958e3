"""What a page in the browser looks like to a model: lines of text with numbered elements, what is on screen first.

Pure: the browser gives a `PageView`, this makes the words of it, as a whole or as what has changed since.
"""

from __future__ import annotations

from msgspec import Struct

from quintet.domain.base.wording import counted

MOST_LINES = 250
MOST_CHARACTERS = 14_000
MOST_TITLE = 120
MOST_URL = 500
FEW = 0.5  # of a page's lines; if more have changed, the whole is shown


class PageView(Struct, frozen=True):
    """A tab as it is now. The first `fold` lines are on screen; those after it come when one scrolls."""

    url: str
    title: str
    document: str  # the same as long as nothing else was loaded
    lines: tuple[str, ...] = ()
    fold: int = 0
    above: int = 0  # lines further up
    below: int = 0  # further down, and not among `lines`
    unseen: int = 0  # on screen, and not among `lines`
    unfinished: bool = False  # whether the page was too big to be looked at whole
    width: int = 0
    height: int = 0
    top: int = 0  # how far it is scrolled
    whole: int = 0  # the page's height
    tab: int = 0
    tabs: tuple[str, ...] = ()  # of each open tab its number and title; empty if there is only one


def render(view: PageView) -> str:
    """The whole view, bounded; what was left out is said, and how to see it."""
    lines = [*_head(view)]
    if view.above:
        lines.append(f"(about {counted(view.above, 'line')} further up: browser_scroll up)")
    lines += view.lines[: view.fold]
    if view.unseen:
        lines.append(
            f"({counted(view.unseen, 'line')} more on screen, too many to show: browser_console can show some)"
        )
    if view.lines[view.fold :]:
        lines += ["── below, not on screen yet", *view.lines[view.fold :]]
    if view.below:
        lines.append(f"(about {counted(view.below, 'line')} more below: browser_scroll down)")
    if view.unfinished:
        lines.append("(the page is too large to show completely; there is more)")
    if not view.lines and not (view.above or view.below):
        lines.append("(nothing visible)")
    return "\n".join(lines)


def changes(before: PageView | None, after: PageView) -> str:
    """What is different since; the whole view where that is shorter, or where it is another page."""
    if before is None or _place(before) != _place(after):
        return render(after)
    if before.lines == after.lines and before.unseen == after.unseen:
        return "\n".join([*_head(after), "(the page has not changed)"])
    from difflib import SequenceMatcher

    old, new = before.lines, after.lines
    changed = []
    for kind, first, last, begin, end in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if kind != "equal":
            changed += [f"- {line}" for line in old[first:last]] + [f"+ {line}" for line in new[begin:end]]
    if len(changed) > FEW * len(new):
        return render(after)
    return "\n".join([*_head(after), "Changes on the page (browser_view shows all of it):", *changed])


def _place(view: PageView) -> tuple[object, ...]:
    return view.tab, view.document, view.top, view.width


def _head(view: PageView) -> list[str]:
    title = cut(" ".join(view.title.split()), MOST_TITLE)
    lines = [" · ".join(filter(None, (f"tab {view.tab}", title, cut(view.url, MOST_URL))))]
    lines += [f"(other tabs: {', '.join(view.tabs)})"] if view.tabs else []
    if view.whole > view.height:
        end = min(view.top + view.height, view.whole)
        lines.append(f"{view.width}×{view.height}, at {view.top}–{end} of {view.whole} px")
    return lines


def cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[:most]}…"
