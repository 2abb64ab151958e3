"""Calls the browser tools as a model does, on an event loop that stays, so that one browser serves many tests."""

import asyncio
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from msgspec import structs

from quintet.adapters.files.project_files import ProjectFiles
from quintet.adapters.http.fetch import Resolve
from quintet.adapters.processes.system import descendants, process_start
from quintet.domain.settings.settings import Settings, WebSettings
from quintet.domain.turn.tool_spec import CallStatus, ToolResult
from quintet.engine.turn.toolbox import ToolAccess
from quintet.features.browser.browser import LocalBrowser
from quintet.features.browser.settings import BrowserSettings
from tests.tools.calling import Caller


class Browsing(Caller):
    """A project's tools with a browser; the names go without their `browser_`."""

    def __init__(
        self, root: Path, outputs: Path, settings: Settings, own_code: bool = False, resolve: Resolve | None = None
    ) -> None:
        super().__init__(root)
        self.outputs = outputs
        self.loop = asyncio.new_event_loop()
        self.browser = LocalBrowser(ProjectFiles(str(root)), str(outputs), settings, own_code=own_code, resolve=resolve)
        bench = structs.replace(self.toolbox.outside._bench, services={"browser": self.browser})
        self.toolbox = self.toolbox.with_access(ToolAccess(bench), self.toolbox.specs)
        self.last = ""

    def __call__(self, tool: str, /, **arguments: Any) -> ToolResult:
        name = tool if tool.startswith("recording") else f"browser_{tool}"
        result = self.loop.run_until_complete(asyncio.wait_for(self.call(name, **arguments), 300))
        self.last = result.content if result.status is CallStatus.OK else self.last
        return result

    def lines(self, tool: str, /, **arguments: Any) -> list[str]:
        return self.ok(tool, **arguments).splitlines()

    def id(self, words: str) -> str:
        """The id of the element that was last shown with these words."""
        found = re.search(rf"\[(\S+) {re.escape(words)}", self.last)
        assert found, f"no {words} in\n{self.last}"
        return found[1]

    def click(self, words: str) -> list[str]:
        return self.lines("click", element_id=self.id(words))

    def running(self, names: str = "chrom|node|MainThread") -> list[int]:
        """The browser's processes and its driver's, below this one."""
        found = []
        for pid, _ in descendants(os.getpid()):
            with suppress(OSError):  # it has just ended
                if process_start(pid) and re.match(names, Path(f"/proc/{pid}/comm").read_text()):
                    found.append(pid)
        return found

    def environments(self) -> list[bytes]:
        """The environment of each of them that has not just ended."""
        found = []
        for pid in self.running():
            with suppress(OSError):
                found.append(Path(f"/proc/{pid}/environ").read_bytes())
        return found


LOOPBACK = ("127.0.0.1:*", "localhost:*")  # what the tests serve is there


@contextmanager
def browsing(
    folder: Path,
    own_code: bool = False,
    browser_seconds: float = 60.0,
    allow: tuple[str, ...] = LOOPBACK,
    resolve: Resolve | None = None,
    **settings: Any,
) -> Iterator[Browsing]:
    root = folder / "project"
    root.mkdir(exist_ok=True)
    browser = BrowserSettings(timeout=browser_seconds, **settings)
    whole = Settings(features={"browser": browser}, web=WebSettings(allow_hosts=allow))
    tools = Browsing(root, folder / "outputs", whole, own_code, resolve)
    try:
        yield tools
    finally:
        tools.loop.run_until_complete(tools.browser.close())
        tools.loop.run_until_complete(tools.loop.shutdown_asyncgens())
        tools.loop.close()
