"""Starting a Chromium of the machine's, with Playwright's driver between it and us.

Both get a small environment and a temporary folder of their own, which goes with them and is their home too: nothing
of theirs is left in the user's. The driver gets a session of its own, so that Ctrl+C at the terminal does not end it.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import shlex
import shutil
import signal
import sys
from typing import TYPE_CHECKING, cast

from quintet.adapters.files.temporary_folders import temporary_folder
from quintet.adapters.processes.host_programs import program
from quintet.adapters.processes.processes import own_environment
from quintet.adapters.processes.python_environment import package_part
from quintet.adapters.processes.system import descendants, process_start
from quintet.domain.base.errors import ToolFailed
from quintet.features.browser.proxy import WayOut
from quintet.features.browser.settings import BrowserSettings

if TYPE_CHECKING:
    from playwright.async_api import Browser, BrowserContext, Error, Playwright
    from playwright.async_api import TimeoutError as TooLate

PART = "browser"  # the optional part that brings playwright
PROGRAMS = (
    "chromium-headless-shell",  # starts in half the time
    "chromium",
    "chromium-browser",
    "google-chrome-stable",
    "google-chrome",
    "chrome",
    "microsoft-edge-stable",
    "brave-browser",
)
MISSING = "chromium: not installed; the user can install one (apt-get install chromium), or set browser.path"
START_SECONDS = 30.0
STOP_SECONDS = 5.0
LONGEST_FOLDER = 64  # of the temporary folder: Chromium ends if the path of its socket has more than 107 characters
WIDTH, HEIGHT = 1280, 800
FLAGS = (
    "--disable-background-networking",
    "--disable-breakpad",
    "--disable-component-update",
    "--disable-crash-reporter",
    "--disable-default-apps",
    "--disable-gpu",
    "--disable-quic",
    "--disable-sync",
    "--no-first-run",
    "--no-default-browser-check",
    "--force-color-profile=srgb",
)


def find(settings: BrowserSettings) -> str:
    """The browser's program; a ToolFailed says how to get one."""
    wanted = os.path.expanduser(settings.path)
    found = next((path for name in ((wanted,) if wanted else PROGRAMS) if (path := program(name))), "")
    if found:
        return found
    if wanted:
        raise ToolFailed(f'chromium: browser.path is "{wanted}", but no program exists there')
    raise ToolFailed(MISSING)


class RunningBrowser:
    """A browser that runs, its driver, the folder they share, and its way to other machines."""

    def __init__(self, folder: str, driver: Playwright, way_out: WayOut) -> None:
        self.folder = folder
        self.driver = driver
        self.way_out = way_out
        self.browser: Browser | None = None

    @property
    def alive(self) -> bool:
        return self.browser is not None and self.browser.is_connected()

    async def new_context(self, network: bool = False) -> BrowserContext:
        """Pages of their own, apart from all others; without the way out they have no network."""
        assert self.browser
        return await self.browser.new_context(
            viewport={"width": WIDTH, "height": HEIGHT},
            accept_downloads=True,
            proxy=self.way_out.proxy(network),
        )

    async def stop(self) -> None:
        """End it all. Never raises: what does not go by asking is killed."""
        leader = _driver_process(self.driver)
        tree = [(leader, process_start(leader)), *descendants(leader)] if leader else []
        with contextlib.suppress(Exception):  # a driver that is gone, or hangs
            async with asyncio.timeout(STOP_SECONDS):
                if self.alive and self.browser:
                    await self.browser.close()
                await self.driver.stop()
        for pid, started in tree:
            if started and process_start(pid) == started:
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.kill(pid, signal.SIGKILL)
        self.way_out.close()
        await asyncio.to_thread(shutil.rmtree, self.folder, ignore_errors=True)


class _NotInstalled(Exception):
    """Never raised: stands for an error of a package that is not there."""


def failure() -> type[Error]:
    """Playwright's own error: it is loaded with the first browser that starts, so not before one can be raised."""
    try:
        from playwright.async_api import Error
    except ImportError:  # what is said instead is that it is not installed
        return cast("type[Error]", _NotInstalled)
    return Error


def too_late() -> type[TooLate]:
    """Playwright's error at a time limit; a failure too."""
    try:
        from playwright.async_api import TimeoutError as TooLate
    except ImportError:
        return cast("type[TooLate]", _NotInstalled)
    return TooLate


async def start(settings: BrowserSettings, way_out: WayOut) -> RunningBrowser:
    program = find(settings)
    if missing := package_part("playwright", "playwright", PART).missing:
        raise ToolFailed(f"the browser tools need {missing}")
    await asyncio.to_thread(__import__, "playwright.async_api")  # half a second that the loop need not wait
    from playwright.async_api import Error, async_playwright

    folder = await asyncio.to_thread(_folder)
    before = os.environ.get(NODE)
    os.environ[NODE] = os.path.join(folder, "driver")
    try:
        async with asyncio.timeout(START_SECONDS):
            driver = await async_playwright().start()
    except (Error, TimeoutError, OSError) as error:
        shutil.rmtree(folder, ignore_errors=True)
        raise ToolFailed(f"Playwright's driver does not start: {_first(error)}") from None
    finally:
        os.environ.pop(NODE) if before is None else os.environ.update({NODE: before})
    running = RunningBrowser(folder, driver, way_out)
    try:
        running.browser = await driver.chromium.launch(
            executable_path=program,
            chromium_sandbox=settings.sandbox and os.geteuid() != 0,
            args=[*FLAGS, *await way_out.flags()],
            env={**_environment(folder)},
            handle_sigint=False,
            handle_sighup=False,
            timeout=START_SECONDS * 1000,
        )
    except BaseException as error:
        await asyncio.shield(running.stop())
        if isinstance(error, Error):
            raise ToolFailed(_why_not(program, str(error))) from None
        raise
    return running


NODE = "PLAYWRIGHT_NODEJS_PATH"  # how Playwright is told which program runs its driver
# Leaves the terminal's session and everything that is secret in the environment behind.
LAUNCHER = "import os, sys; os.setsid(); os.execve(sys.argv[1], sys.argv[1:], dict(p.split('=', 1) for p in {pairs!r}))"


def _folder() -> str:
    """A temporary folder with the program that starts the driver."""
    import playwright

    try:
        folder = temporary_folder(longest=LONGEST_FOLDER)
    except OSError as error:
        raise ToolFailed(f"the browser has no folder for its files: {error}") from error
    for below in HOMES.values():
        os.makedirs(os.path.join(folder, below), mode=0o700, exist_ok=True)
    node = os.environ.get(NODE) or os.path.join(os.path.dirname(playwright.__file__), "driver", "node")
    own = {"PW_LANG_NAME": "python", "PW_LANG_NAME_VERSION": ".".join(map(str, sys.version_info[:2]))}
    pairs = [f"{name}={value}" for name, value in {**_environment(folder), **own}.items()]
    words = (sys.executable, "-IS", "-c", LAUNCHER.format(pairs=pairs), node)
    log = os.path.join(folder, "driver.log")
    launcher = os.path.join(folder, "driver")
    with open(launcher, "w", encoding="utf-8", opener=lambda path, flags: os.open(path, flags, 0o700)) as file:
        file.write(f'#!/bin/sh\nexec {shlex.join(words)} "$@" 2>{shlex.quote(log)}\n')
    return folder


# Where a browser and what it is made of keep things, by variable; all of it goes with the temporary folder.
HOMES = {
    "HOME": "home",
    "XDG_CONFIG_HOME": "home/.config",
    "XDG_CACHE_HOME": "home/.cache",
    "XDG_DATA_HOME": "home/.local/share",
    "XDG_STATE_HOME": "home/.local/state",
    "XDG_RUNTIME_DIR": "home/run",
    "BREAKPAD_DUMP_LOCATION": "home/crashes",
}


def _environment(folder: str) -> dict[str, str]:
    """With a home of its own, settings of the desktop's in memory alone, and no message bus of the user's."""
    homes = {name: os.path.join(folder, below) for name, below in HOMES.items()}
    bus = "disabled:"
    own = {"GSETTINGS_BACKEND": "memory", "DBUS_SESSION_BUS_ADDRESS": bus, "DBUS_SYSTEM_BUS_ADDRESS": bus}
    return {**own_environment(), **homes, **own, "TMPDIR": folder}


def _driver_process(driver: Playwright) -> int:
    """The driver's process id, or 0 where Playwright does not let it be known."""
    found = driver
    for name in ("_impl_obj", "_connection", "_transport", "_proc"):
        found = getattr(found, name, None)  # type: ignore[assignment]
    return int(getattr(found, "pid", 0) or 0)


def _why_not(program: str, said: str) -> str:
    if "No usable sandbox" in said or "SUID sandbox" in said or "zygote_host" in said:
        return (
            f"{program} cannot make its own sandbox here: it may not use user namespaces. The user can "
            "allow them (sysctl kernel.apparmor_restrict_unprivileged_userns=0), or turn the sandbox "
            "off: browser.sandbox = false in their settings"
        )
    lines = said.splitlines()
    words = [line for mark in ("FATAL", "error while loading", "ERROR") for line in lines if mark in line]
    return f"{program} does not start: {(words or [_first(said)])[0].strip(' -')[:300]}"


def _first(error: object) -> str:
    return str(error).strip().partition("\n")[0] or type(error).__name__
