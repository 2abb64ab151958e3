"""The terminal UI's settings: its themes, and its keys with what each does and which it is until you choose another."""

from __future__ import annotations

from typing import Annotated, Literal, get_args

from msgspec import Struct

from quintet.domain.settings.meta import setting

Theme = Literal["auto", "dark", "light", "high-contrast", "16", "plain"]
THEMES: tuple[str, ...] = get_args(Theme)[1:]


class KeySettings(Struct, frozen=True, forbid_unknown_fields=True):
    """Keys of the terminal UI, separated by commas; empty: no key."""

    work_mode: Annotated[
        str, setting("work mode: chat, plan, build, review, repair, research, and back to the first")
    ] = "shift+tab,ctrl+shift+m,f3"
    run_control: Annotated[str, setting("run control: manual, assisted, autonomous, and back to the first")] = "f4"
    permission_profile: Annotated[
        str, setting("permission profile: restricted, normal, trusted, unrestricted, and back to the first")
    ] = "ctrl+shift+p,f5"
    model_mode: Annotated[str, setting("model mode: fast, smart, deep, and back to the first")] = "f6"
    autonomous: Annotated[str, setting("run control autonomous")] = "ctrl+shift+a"
    assisted: Annotated[str, setting("run control assisted")] = "ctrl+shift+s"
    manual: Annotated[str, setting("run control manual")] = "ctrl+shift+i"
    repair: Annotated[str, setting("work mode repair")] = "ctrl+shift+r"
    interrupt: Annotated[str, setting("interrupt what is running; twice: quit")] = "ctrl+c"
    leave: Annotated[str, setting("quit; the session can be resumed")] = "ctrl+q"
    suspend: Annotated[str, setting("suspend; `fg` in the shell continues")] = "ctrl+z"
    keys: Annotated[str, setting("this list of keys; also ? on an empty prompt")] = "f1"
    palette: Annotated[str, setting("every command and key, with search")] = "ctrl+p,f2"
    tasks: Annotated[str, setting("the board of tasks, shells, sessions and questions")] = "ctrl+t,f7"
    settings: Annotated[str, setting("every setting, to read and change")] = "ctrl+s,f11"
    models: Annotated[str, setting("choose the model of this session")] = "alt+m"
    sessions: Annotated[str, setting("resume another session, or a copy of one")] = "alt+s"
    last_session: Annotated[str, setting("resume the newest other session")] = "alt+l"
    agents: Annotated[str, setting("enter an agent, or leave it")] = "alt+a"
    editor: Annotated[str, setting("edit the prompt in $VISUAL or $EDITOR")] = "ctrl+g"
    rewind: Annotated[str, setting("rewind to before a turn, with a preview")] = "alt+r"
    answer: Annotated[str, setting("go to the open question, or back to the prompt")] = "f8"
    forget: Annotated[str, setting("forget what the last run learnt")] = "alt+x"
    tour: Annotated[str, setting("1-minute tour on a small repository")] = "f12"
    find: Annotated[str, setting("find words in the transcript")] = "ctrl+f"
    fold: Annotated[str, setting("open or close every fold of the transcript")] = "ctrl+o,f10"
    copy: Annotated[str, setting("copy what is selected, or else the last answer")] = "ctrl+shift+c,f9"
    line_up: Annotated[str, setting("scroll up a line")] = "ctrl+up"
    line_down: Annotated[str, setting("scroll down a line")] = "ctrl+down"
    page_up: Annotated[str, setting("scroll up a page")] = "pageup"
    page_down: Annotated[str, setting("scroll down a page")] = "pagedown"
    first_line: Annotated[str, setting("scroll to the beginning")] = "ctrl+home"
    last_line: Annotated[str, setting("scroll to the end, and follow")] = "ctrl+end"


PRESSES = {
    "ctrl": "Ctrl",
    "shift": "Shift",
    "alt": "Alt",
    "pageup": "PageUp",
    "pagedown": "PageDown",
    "home": "Home",
    "end": "End",
    "up": "Up",
    "down": "Down",
    "tab": "Tab",
    "escape": "Esc",
    "enter": "Enter",
}


def spelled(key: str) -> str:
    """A key as people write it: ctrl+shift+m is Ctrl+Shift+M."""
    return "+".join(PRESSES.get(word, word.upper()) for word in key.split("+"))


def keys_of(settings: KeySettings) -> dict[str, tuple[str, ...]]:
    """The keys of each action."""
    return {
        name: tuple(key.strip().lower() for key in getattr(settings, name).split(",") if key.strip())
        for name in KeySettings.__struct_fields__
    }


def taken_twice(keys: dict[str, tuple[str, ...]]) -> list[str]:
    """What is to be said of keys that two actions want: the first of them has it."""
    first: dict[str, str] = {}
    return [
        f"{spelled(key)} is keys.{first[key]} and keys.{name}; only the first is used"
        for name, own in keys.items()
        for key in own
        if first.setdefault(key, name) != name
    ]
