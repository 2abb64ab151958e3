"""What is done to a page: clicks, keys, typing, scrolling, choices. Each says what it did, or what was in the way."""

from __future__ import annotations

import re
from collections.abc import Sequence
from mimetypes import guess_type
from typing import TYPE_CHECKING, Any

from quintet.domain.base.errors import ToolFailed
from quintet.domain.base.wording import counted
from quintet.features.browser.look import GOING, element, named
from quintet.features.browser.tab import Tab
from quintet.features.browser.values import Direction, Target, Upload

if TYPE_CHECKING:
    from playwright.async_api import ElementHandle

ACTION_SECONDS = 3.0  # that an element has to become visible, still and free
MOST_ANSWER = 10_000  # characters of what an expression gives
CLICKED = ("performing click action", "waiting for scheduled navigations to finish")  # where Playwright was by then
TYPED_BY_KEY = 200  # characters; more are put in at once
SET_AT_ONCE = frozenset({"date", "time", "month", "week", "datetime-local", "color", "range"})
AS_IT_WANTS = "for example a date 2026-01-31, a time 14:30, a color #a0b1c2"
KEYS = {
    "ctrl": "Control",
    "control": "Control",
    "cmd": "Meta",
    "command": "Meta",
    "meta": "Meta",
    "alt": "Alt",
    "option": "Alt",
    "shift": "Shift",
    "esc": "Escape",
    "escape": "Escape",
    "return": "Enter",
    "enter": "Enter",
    "tab": "Tab",
    "space": "Space",
    "del": "Delete",
    "delete": "Delete",
    "backspace": "Backspace",
    "insert": "Insert",
    "home": "Home",
    "end": "End",
    "pageup": "PageUp",
    "pagedown": "PageDown",
    "up": "ArrowUp",
    "down": "ArrowDown",
    "left": "ArrowLeft",
    "right": "ArrowRight",
}
KIND = """e => ({
  tag: e.tagName, kind: e.type || "", editable: e.isContentEditable,
  boxed: e.tagName === "INPUT" && (e.type === "checkbox" || e.type === "radio"),
})"""
SCROLL = """(given, direction) => {
  const scrolls = (e) => {
    if (!e) return false;
    const style = getComputedStyle(e);
    const across = /left|right/.test(direction);
    return across
      ? e.scrollWidth > e.clientWidth + 4 && /auto|scroll/.test(style.overflowX)
      : e.scrollHeight > e.clientHeight + 4 && /auto|scroll/.test(style.overflowY);
  };
  const root = document.scrollingElement || document.documentElement;
  let target = given;
  while (target && !scrolls(target) && target !== root) target = target.parentElement || target.getRootNode().host;
  if (!given && root.scrollHeight <= innerHeight + 4 && !/left|right/.test(direction)) {
    // The page itself does not scroll: the biggest part of it that does.
    const parts = [...document.querySelectorAll("*")].filter((e) => e.clientHeight > 40 && scrolls(e));
    target = parts.sort((a, b) => b.clientHeight * b.clientWidth - a.clientHeight * a.clientWidth)[0];
  }
  target ||= root;
  const page = target === root || target === document.body;
  const [x, y] = [target.scrollLeft, target.scrollTop];
  const [wide, high] = page ? [innerWidth, innerHeight] : [target.clientWidth, target.clientHeight];
  const step = { up: [0, -0.8 * high], down: [0, 0.8 * high], left: [-0.8 * wide, 0], right: [0.8 * wide, 0],
    top: [0, -target.scrollHeight], bottom: [0, target.scrollHeight] }[direction];
  target.scrollBy({ left: step[0], top: step[1], behavior: "instant" });
  return { across: target.scrollLeft - x, down: target.scrollTop - y, page };
}"""
OPTIONS = """e => e.tagName === "SELECT" ? [...e.options].map((o) => o.label || o.text) : null"""
ONLY_SELECT = """() => {
  if (document.activeElement?.tagName === "SELECT") return document.activeElement;
  const all = [...document.querySelectorAll("select")].filter((e) => e.getClientRects().length);
  return all.length === 1 ? all[0] : null;
}"""
ONLY_PICKER = """() => {
  const all = document.querySelectorAll("input[type=file]");
  return all.length === 1 ? all[0] : null;
}"""

ANSWER = """(value, most) => {
  const whole = value instanceof Node ? value.outerHTML || value.textContent
    : typeof value === "object" ? JSON.stringify(value, null, 1) : value;
  const text = String(whole);
  return [text.slice(0, most), Math.max(0, text.length - most)];
}"""


async def click(tab: Tab, target: Target) -> str:
    if target.point:
        await tab.page.mouse.click(*target.point)
        return f"clicked at {_point(target)}"
    handle = await _wanted(tab, target)
    kind = await handle.evaluate(KIND)
    if kind["tag"] == "SELECT":
        raise ToolFailed(
            f"{named(tab, target.element)}: use browser_select_option to choose from it, by the option's index"
        )
    try:
        await handle.click(timeout=ACTION_SECONDS * 1000)
    except Exception as error:
        if str(error).rstrip().endswith(CLICKED):
            return f"clicked {named(tab, target.element)}; the page is slow to respond"
        if not (kind["boxed"] and await handle.evaluate("e => e.labels?.length ? (e.labels[0].click(), true) : false")):
            raise _hindered(error, tab, target) from None
    return f"clicked {named(tab, target.element)}"


async def point(tab: Tab, target: Target) -> str:
    if target.point:
        await tab.page.mouse.move(*target.point)
        return f"the mouse is at {_point(target)}"
    handle = await _wanted(tab, target)
    try:
        await handle.hover(timeout=ACTION_SECONDS * 1000)
    except Exception as error:
        raise _hindered(error, tab, target) from None
    return f"the mouse is over {named(tab, target.element)}"


async def type_text(tab: Tab, text: str, target: Target, enter: bool) -> str:
    where = "where the focus is"
    if target.element:
        handle = await _wanted(tab, target)
        where = f"into {named(tab, target.element)}"
        try:
            await _fill(handle, text)
        except Exception as error:
            raise _hindered(error, tab, target) from None
    else:
        if target.point:
            await tab.page.mouse.click(*target.point)
            where = f"at {_point(target)}"
        if len(text) <= TYPED_BY_KEY:
            await tab.page.keyboard.type(text)
        else:
            await tab.page.keyboard.insert_text(text)
    if enter:
        await tab.page.keyboard.press("Enter")
    number = counted(len(text), "character")
    return f"typed {number} {where}{' and pressed Enter' if enter else ''}"


async def _fill(handle: ElementHandle, text: str) -> None:
    """Replace what an element holds. By keys, as a page expects; what is long or set as a whole, at once."""
    kind = await handle.evaluate(KIND)
    limit = ACTION_SECONDS * 1000
    fillable = kind["editable"] or kind["tag"] == "TEXTAREA" or (kind["tag"] == "INPUT" and not kind["boxed"])
    if not fillable:
        await handle.click(timeout=limit)
        await handle.type(text, timeout=limit)
    elif kind["kind"] in SET_AT_ONCE or len(text) > TYPED_BY_KEY or "\n" in text:
        await handle.fill(text, timeout=limit)
        if kind["kind"] in SET_AT_ONCE and text and not await handle.evaluate("e => e.value"):
            raise ToolFailed(f"it needs a value of its kind ({kind['kind']}): {AS_IT_WANTS}")
    else:
        await handle.fill("", timeout=limit)
        await handle.type(text, timeout=limit)


async def press(tab: Tab, keys: str) -> str:
    pressed: list[str] = []
    for word in keys.split():
        key = normal_key(word)
        try:
            await tab.page.keyboard.press(key)
        except Exception as error:
            if "Unknown key" not in str(error):
                raise
            example = "Enter, Escape, Tab, ArrowDown, PageDown, F5, a, Control+A"
            done = f"; pressed before that: {' '.join(pressed)}" if pressed else ""
            raise ToolFailed(f'"{word}" is not a key. Examples of keys: {example}{done}') from None
        pressed.append(key)
    if not pressed:
        raise ToolFailed("content: which key? For example Enter, Tab or Control+A; several with spaces between")
    return f"pressed {' '.join(pressed)}"


def normal_key(word: str) -> str:
    """A key as the browser calls it, from the usual ways to write it."""
    if word == "+":
        return word
    parts = word.split("+") if not word.endswith("++") else [*word[:-2].split("+"), "+"]
    return "+".join(KEYS.get(part.lower(), part) for part in parts)


async def scroll(tab: Tab, direction: Direction, id: str) -> str:
    given = await element(tab, id) if id else None
    frame = (await given.owner_frame() if given else None) or tab.page.main_frame
    moved = await (
        given.evaluate(SCROLL, direction) if given else frame.evaluate(f"d => ({SCROLL})(null, d)", direction)
    )
    distance = abs(round(moved["across"] or moved["down"]))
    where = "the page" if moved["page"] else named(tab, id) if id else "the largest part that scrolls"
    if not distance:
        return f"{where} does not scroll further {direction}"
    return f"scrolled {where} {direction} by {distance} px"


async def evaluate(tab: Tab, expression: str) -> str:
    """What an expression gives, as text; cut in the page, so that no more of it than that comes here."""
    handle = await tab.page.evaluate_handle(expression)
    try:
        text, more = await handle.evaluate(ANSWER, MOST_ANSWER)
    except Exception as error:
        if not any(words in str(error) for words in GOING):
            raise
        return "(the page has changed, and the result is lost)"
    return f"{text}… ({more} more characters)" if more else str(text)


async def select_option(tab: Tab, index: int, id: str) -> str:
    if id:
        handle: ElementHandle | None = await element(tab, id)
    else:
        handle = (await tab.page.evaluate_handle(ONLY_SELECT)).as_element()
    if handle is None:
        raise ToolFailed("element_id: which one? There is not exactly one list of options on the page")
    options: list[str] | None = await handle.evaluate(OPTIONS)
    if options is None:
        raise ToolFailed(
            f"{named(tab, id)} is not a select field; use browser_click for a list that the page draws itself"
        )
    if not 0 <= index < len(options):
        raise ToolFailed(f"index = {index}: it has {len(options)} options, numbered from 0")
    try:
        await handle.select_option(index=index, timeout=ACTION_SECONDS * 1000)
    except Exception as error:
        raise _hindered(error, tab, Target(id)) from None
    return f'selected {index} "{options[index][:100]}"'


async def select_files(tab: Tab, files: Sequence[Upload]) -> str:
    payload: Any = [{"name": file.name, "mimeType": _kind_of(file.name), "buffer": file.content} for file in files]
    names = ", ".join(file.name for file in files)
    chooser, tab.chooser = tab.chooser, None
    if chooser:
        if len(files) > 1 and not chooser.is_multiple():
            tab.chooser = chooser
            raise ToolFailed(f"the page accepts one file, and these are {len(files)}")
        await chooser.set_files(payload, timeout=ACTION_SECONDS * 1000)
        return f"gave {names} to the page"
    picker = (await tab.page.evaluate_handle(ONLY_PICKER)).as_element()
    if picker is None:
        raise ToolFailed("the page does not ask for a file now: use browser_click on its file picker first")
    try:
        await picker.set_input_files(payload, timeout=ACTION_SECONDS * 1000)
    except Exception as error:
        raise _hindered(error, tab, Target()) from None
    return f"gave {names} to the page's file picker"


def _kind_of(name: str) -> str:
    return guess_type(name)[0] or "application/octet-stream"


async def _wanted(tab: Tab, target: Target) -> ElementHandle:
    if not target.element:
        raise ToolFailed("element_id or coordinates: which element? browser_view shows them with their ids")
    return await element(tab, target.element)


def _point(target: Target) -> str:
    assert target.point
    return f"{target.point[0]:g}, {target.point[1]:g}"


def _hindered(error: Exception, tab: Tab, target: Target) -> Exception:
    """Why something could not be done to an element, in words; the error itself where it says something else."""
    text = str(error)
    what = named(tab, target.element) if target.element else "it"
    if cover := re.search(r"(<[^>\n]{1,200}>).* intercepts pointer events", text):
        return ToolFailed(f"{what} is covered by {cover[1]}; close or scroll that away first")
    reasons = {
        "not visible": "is not visible",
        "not enabled": "is disabled",
        "not editable": "cannot be edited",
        "read-only": "is read-only",
        "not stable": "does not stop moving",
        "outside of the viewport": "is outside the area that can be scrolled to",
        "Malformed value": f"does not accept this value: {AS_IT_WANTS}",
        "not attached": "no longer exists; browser_view shows the current elements",
        "Cannot type text into input[type=number]": "accepts only a number",
        "Non-multiple file input": "accepts one file",
    }
    for words, said in reasons.items():
        if words in text:
            return ToolFailed(f"{what} {said}")
    if isinstance(error, TimeoutError) or type(error).__name__ == "TimeoutError":
        last = text.strip().splitlines()[-1].strip(" -")
        return ToolFailed(f"{what} was not ready within {ACTION_SECONDS:g} s ({last[:200]}); use browser_view again")
    return error
