"""Has what is due run each minute: a timer of systemd for the user, or the line for cron where there is none."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from argparse import Namespace
from collections.abc import Callable

from msgspec import Struct

from quintet.adapters.files.paths import config_home, locate
from quintet.adapters.processes.host_programs import host_path, program
from quintet.domain.base.database_url import VARIABLE
from quintet.domain.base.errors import QuintetError
from quintet.surfaces.tables import complain, say, say_json

UNIT = "quintet-schedule"
PASSED_ON = ("XDG_STATE_HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME")
SECONDS = 30
WORDS = ("-P", "-m", "quintet", "schedule", "work", "--once")


class TimerHost(Struct, frozen=True):
    """What a machine offers for a timer."""

    systemd: bool
    folder: str  # of the user's units
    python: str
    environment: dict[str, str]
    systemctl: Callable[..., str]  # carries it out; what it says if it fails


def this_host() -> TimerHost:
    runs = os.path.isdir("/run/systemd/system") and bool(program("systemctl"))
    environment = {"PATH": host_path()} | {name: os.environ[name] for name in PASSED_ON if os.environ.get(name)}
    return TimerHost(runs, os.path.join(config_home(), "systemd", "user"), sys.executable, environment, _systemctl)


def has_timer() -> bool:
    """Whether the timer is installed."""
    return os.path.exists(os.path.join(config_home(), "systemd", "user", f"{UNIT}.timer"))


def units(host: TimerHost) -> dict[str, str]:
    """The files of the timer, by their names."""
    command = " ".join(_quoted(word, "$$") for word in (host.python, *WORDS))
    variables = "".join(f"Environment={_quoted(f'{name}={value}')}\n" for name, value in host.environment.items())
    service = (
        "[Unit]\nDescription=Quintet: run what is due\n\n"
        f"[Service]\nType=oneshot\nExecStart={command}\n{variables}TimeoutStopSec=60\n"
    )
    timer = (
        "[Unit]\nDescription=Quintet: look each minute at what is due\n\n"
        "[Timer]\nOnCalendar=minutely\nAccuracySec=1s\n\n[Install]\nWantedBy=timers.target\n"
    )
    return {f"{UNIT}.service": service, f"{UNIT}.timer": timer}


def cron_line(host: TimerHost) -> str:
    """cron takes a % for a line break unless it is escaped."""
    variables = [f"{name}={shlex.quote(value)}" for name, value in host.environment.items()]
    command = [shlex.quote(word) for word in (host.python, *WORDS)]
    return f"* * * * * {' '.join([*variables, *command])} >/dev/null 2>&1".replace("%", "\\%")


def install(words: Namespace) -> int:
    locate(words.directory)  # no program of the project's is taken for the system's
    if os.environ.get(VARIABLE):  # it may hold a password
        complain(f"{VARIABLE} is set here and not written down: what the timer runs is stored on this machine.")
    return installed(this_host(), as_json=words.json)


def installed(host: TimerHost, *, as_json: bool) -> int:
    if not host.systemd:
        line = cron_line(host)
        if as_json:
            say_json({"systemd": False, "cron": line, "files": []})
        else:
            say(["There is no systemd here. Add this line with `crontab -e`:", "", line])
        return 0
    files = []
    os.makedirs(host.folder, exist_ok=True)
    for name, text in units(host).items():
        files.append(os.path.join(host.folder, name))
        with open(files[-1], "w", encoding="utf-8") as file:
            file.write(text)
    for arguments in (("daemon-reload",), ("enable", "--now", f"{UNIT}.timer")):
        if problem := host.systemctl(*arguments):
            hint = f"The units are written. Try: systemctl --user {' '.join(arguments)}"
            raise QuintetError(f"systemctl --user {arguments[0]} failed: {problem}", hint=hint)
    if as_json:
        say_json({"systemd": True, "cron": "", "files": files})
    else:
        say([*(f"wrote {path}" for path in files), f"{UNIT}.timer is on: what is due is run each minute."])
        say(["To have it run while you are logged out: loginctl enable-linger"])
    return 0


def uninstall(words: Namespace) -> int:
    locate(words.directory)
    return uninstalled(this_host(), as_json=words.json)


def uninstalled(host: TimerHost, *, as_json: bool) -> int:
    files = [path for name in units(host) if os.path.exists(path := os.path.join(host.folder, name))]
    if files and host.systemd:
        host.systemctl("disable", "--now", f"{UNIT}.timer")
    for path in files:
        os.unlink(path)
    if files and host.systemd:
        host.systemctl("daemon-reload")
    if as_json:
        say_json({"removed": files})
    else:
        nothing = "There is no timer of Quintet's. A line for cron is removed with `crontab -e`."
        say([f"removed {path}" for path in files] or [nothing])
    return 0


def _quoted(word: str, dollar: str = "$") -> str:
    """As systemd reads it: % begins a specifier, and $ a variable in a command."""
    escaped = word.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%").replace("$", dollar)
    return f'"{escaped}"'.replace("\n", "\\n")


def _systemctl(*arguments: str) -> str:
    words = [program("systemctl"), "--user", *arguments]
    try:
        done = subprocess.run(words, capture_output=True, text=True, timeout=SECONDS, stdin=subprocess.DEVNULL)
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    return "" if done.returncode == 0 else done.stderr.strip() or f"exit {done.returncode}"
