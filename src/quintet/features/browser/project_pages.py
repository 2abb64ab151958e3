"""The project's own files as pages. `file:` addresses are opened under a host that only this browser knows.

No page ever gets the `file:` scheme, so none can lead out of the project; what it asks for is read as any tool reads.
Where the project's own code may not run freely, its pages have no origin, as `file:` pages have none: they cannot read
each other or other files.
"""

from __future__ import annotations

from mimetypes import guess_type
from typing import TYPE_CHECKING
from urllib.parse import quote, unquote, urlsplit

from quintet.domain.base.errors import ToolFailed
from quintet.domain.ports.ports import Files

if TYPE_CHECKING:
    from playwright.async_api import BrowserContext, Route

HOST = "quintet-project.localhost"
ORIGIN = f"http://{HOST}"
NO_ORIGIN = "sandbox allow-scripts allow-forms allow-popups allow-modals allow-downloads"
TYPES = {".js": "text/javascript", ".mjs": "text/javascript", ".md": "text/plain", ".wasm": "application/wasm"}


class ProjectPages:
    def __init__(self, files: Files, own_code: bool) -> None:
        self._files = files
        self._own_code = own_code

    def inside(self, path: str) -> str:
        """The address under which a file of the project is shown; what cannot be read is a ToolFailed."""
        return f"{ORIGIN}/{quote(self._found(path))}"

    async def serve(self, context: BrowserContext) -> None:
        """Let the pages of this context have the project's files; no others know the host."""
        await context.route(lambda url: urlsplit(url).hostname == HOST, self._serve)

    def shown(self, url: str) -> str:
        """An address as the model knows it."""
        if not url.startswith(f"{ORIGIN}/"):
            return url
        return f"file://{self._files.root}{url.removeprefix(ORIGIN)}"

    def _found(self, path: str) -> str:
        name = self._files.relative(path)
        if self._files.info(name).kind == "folder":
            name = f"{name}/index.html" if name != "." else "index.html"
        self._files.read(name)
        return name

    async def _serve(self, route: Route) -> None:
        request = route.request
        if not self._own_code and not request.is_navigation_request() and "origin" in await request.all_headers():
            await route.abort("accessdenied")  # a script that would read it; Playwright itself would let it
            return
        parts = urlsplit(request.url)
        try:
            name = self._found(unquote(parts.path).lstrip("/") or ".")
            body = self._files.read(name)
        except (ToolFailed, OSError) as error:
            why = error.message if isinstance(error, ToolFailed) else error.strerror or str(error)
            await route.fulfill(status=404, body=why, content_type="text/plain; charset=utf-8")
            return
        headers = {"Content-Type": _type(name), "Cache-Control": "no-store", "X-Content-Type-Options": "nosniff"}
        if not self._own_code:
            headers["Content-Security-Policy"] = NO_ORIGIN
        await route.fulfill(status=200, body=body, headers=headers)


def _type(name: str) -> str:
    ending = name[name.rfind(".") :].lower() if "." in name else ""
    kind = TYPES.get(ending) or guess_type(name)[0] or "text/plain"
    return f"{kind}; charset=utf-8" if kind.startswith("text/") else kind
