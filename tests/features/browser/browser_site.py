"""A small web site on loopback for the browser's tests: forms, frames, dialogs, a file picker, slow and huge pages."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from urllib.parse import urlsplit

from tests.loopback import in_thread

PAGES = {
    "/": """<title>Home</title><h1>Welcome</h1><p>Read <a href="/form">the form</a> first, then go on.</p>
        <ul><li>one<li>two</ul><table><tr><th>Name<th>Age<tr><td>Ada<td>36</table>
        <div style="display:none">not to be seen</div><img src="/dot.png" alt="a dot">""",
    "/form": """<title>A form</title>
        <form action="/sent" method="post">
        <label>User name <input name="user" value="ada" required></label>
        <label>Password <input type="password" name="password" value="hunter2"></label>
        <label><input type="checkbox" name="keep" checked> Keep me signed in</label>
        <label>Country <select name="country"><option>Austria<option>Belgium<option disabled>Chile</select></label>
        <label>Born <input type="date" name="born"></label>
        <textarea name="note" aria-label="Note"></textarea>
        <button disabled>Later</button><button>Send</button></form>""",
    "/dialogs": """<title>Dialogs</title>
        <button onclick="said.textContent = 'alerted ' + (alert('Mind the gap') ?? 'on')">Alert</button>
        <button onclick="said.textContent = confirm('Really delete?') ? 'deleted' : 'kept'">Delete</button>
        <button onclick="said.textContent = 'hello ' + prompt('Your name?', 'nobody')">Ask</button><p id="said"></p>""",
    "/frames": """<title>Frames</title><p>outside</p><iframe src="/inner" title="Inner"></iframe>
        <iframe srcdoc="<button onclick='this.textContent=&quot;pressed&quot;'>In its own</button>"></iframe>
        <iframe src="/inner" style="display:none"></iframe>""",
    "/inner": """<p>inside</p><button onclick="this.textContent = 'done'">Press</button>
        <iframe src="/innermost"></iframe>""",
    "/innermost": """<a href="/form">deep down</a>""",
    "/shadow": """<title>Shadow</title><x-card>slotted <b>words</b></x-card><script>
        customElements.define("x-card", class extends HTMLElement {
          connectedCallback() {
            this.attachShadow({mode: "open"}).innerHTML = `<h2>In the shadow</h2><slot></slot>
              <button onclick="this.textContent = 'pressed'">Shadow button</button>`;
          }
        });</script>""",
    "/upload": """<title>Upload</title><form action="/sent" method="post" enctype="multipart/form-data">
        <label>Avatar <input type="file" name="avatar"></label>
        <label>More <input type="file" name="more" multiple></label>
        <button>Upload</button></form>""",
    "/one-picker": """<title>Picker</title><button onclick="hidden.click()">Choose…</button>
        <input id="hidden" type="file" style="display:none" onchange="said.textContent = this.files[0].name">
        <p id="said"></p>""",
    "/huge": """<title>Huge</title><h1>Fifty thousand</h1><div id="all"></div><script>
        const all = document.getElementById("all");
        let text = "";
        for (let i = 0; i < 25000; i++) text += `<p><button>Button ${i}</button> number ${i}</p>`;
        all.innerHTML = text;</script>""",
    "/crowded": """<title>Crowded</title><style>button { position: absolute; left: 0; top: 0 }</style><script>
        document.write("<button>x</button>".repeat(3000))</script>""",
    "/long": """<title>Long</title><p>top of it</p><div style="height:3000px"></div>
        <button onclick="this.textContent='found'">At the bottom</button>""",
    "/box": """<title>Box</title><div style="height:200px;overflow:auto" id="box"><script>
        for (let i = 0; i < 100; i++) document.write(`<p>row ${i}</p>`)</script></div>
        <div style="height:0;overflow:hidden">folded away</div>""",
    "/app": """<title>App</title><body style="margin:0;height:100vh;overflow:hidden">
        <main style="height:100%;overflow-y:auto"><script>
        for (let i = 0; i < 200; i++) document.write(`<p>item ${i}</p>`)</script></main>""",
    "/text": "<title>Text</title><p>" + " ".join(f"word{n}" for n in range(20_000)) + "</p>",
    "/popup": """<title>Popup</title><button onclick="window.open('/form')">Open</button>
        <a href="/inner" target="_blank">In a new tab</a><button onclick="window.close()">Close</button>""",
    "/flood": """<title>Flood</title>
        <button onclick="for (let i = 0; i < 25; i++) window.open('/inner')">Flood</button>""",
    "/console": """<title>Console</title><script>console.log("hello", {a: 1}); console.warn("careful");
        setTimeout(() => { throw new Error("it broke") }, 0)</script>""",
    "/busy": """<title>Busy</title><button onclick="while (true) {}">Freeze</button>""",
    "/covered": """<title>Covered</title><button>Under</button>
        <div class="cover" style="position:fixed;inset:0;background:#fff8">wait</div>""",
    "/hover": """<title>Hover</title><style>#menu { display: none } #top:hover + #menu { display: block }</style>
        <div id="top" style="width:100px">Menu</div><div id="menu">Hidden entry</div>""",
    "/keys": """<title>Keys</title><input id="in" autofocus><p id="said"></p><script>
        addEventListener("keydown", (e) => { said.textContent += `${e.ctrlKey ? "C-" : ""}${e.key} ` })</script>""",
    "/mobile": """<title>Mobile</title><meta name="viewport" content="width=device-width"><p id="said"></p><script>
        const phone = /Mobile/.test(navigator.userAgent), touch = navigator.maxTouchPoints > 0;
        said.textContent = `${innerWidth} wide, touch ${touch}, phone ${phone}`
        </script>""",
    "/strict": """<title>Strict</title><button>Still here</button>""",
    "/leave": """<title>Leave</title><script>addEventListener("beforeunload", (e) => e.preventDefault())</script>
        <button onclick="this.textContent = 'touched'">Touch</button>""",
    "/pictures": """<title>Pictures</title><body style="margin:0;background:rgb(255, 0, 0)"><button
        onclick="document.body.style.background = 'rgb(0, 0, 255)'">Blue</button>""",
    "/editor": """<title>Editor</title><div contenteditable aria-label="Page">old</div>
        <div onclick="this.textContent = 'clicked'" style="cursor:pointer">A clickable box</div>
        <span role="checkbox" aria-checked="true" tabindex="0">Subscribed</span>
        <details><summary>More</summary><p>folded text</p></details>
        <button class="icon-close"></button>""",
}


class Site:
    """Serves PAGES; `asked` are the requests that came, `release` lets go of pages that wait for it."""

    def __init__(self) -> None:
        self.port = 0
        self.release = threading.Event()
        self.asked: list[tuple[str, str, bytes]] = []
        self.files: dict[str, bytes] = {}

    def __call__(self, path: str) -> str:
        return f"http://127.0.0.1:{self.port}{path}"


@contextmanager
def serving() -> Iterator[Site]:
    site = Site()
    with in_thread(_Handler, ends=site.release.set) as server:
        server.site = site  # type: ignore[attr-defined]
        site.port = server.server_port
        yield site


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, format: str, *args: object) -> None:
        pass

    def do_GET(self) -> None:
        site: Site = self.server.site  # type: ignore[attr-defined]
        path = urlsplit(self.path).path
        site.asked.append(("GET", self.path, b""))
        special: dict[str, Callable[[], None]] = {
            "/download": lambda: self._send(
                b"1,2,3\n" * 1000, "text/csv", {"Content-Disposition": 'attachment; filename="../re port.csv"'}
            ),
            "/endless": self._endless,
            "/never": lambda: site.release.wait(30) and None,
            "/slow-parts": lambda: self._send(b"<title>Slow</title><p>text is here</p><img src='/never'>"),
            "/missing": lambda: self._send(b"<title>Gone</title><p>no such page</p>", status=404),
            "/away": lambda: self._send(b"", headers={"Location": "/form"}, status=302),
            "/away-inside": lambda: self._send(b"", headers={"Location": "http://inside.test/"}, status=302),
            "/strict": lambda: self._send(
                PAGES["/strict"].encode(), headers={"Content-Security-Policy": "default-src 'none'"}
            ),
        }
        if path in special:
            special[path]()
        elif path in PAGES:
            self._send(PAGES[path].encode())
        elif path in site.files:
            self._send(site.files[path], "video/webm")
        else:
            self._send(b"not here", "text/plain", status=404)

    def do_POST(self) -> None:
        site: Site = self.server.site  # type: ignore[attr-defined]
        body = self.rfile.read(int(self.headers["Content-Length"]))
        site.asked.append(("POST", self.path, body))
        self._send(b"<title>Sent</title><p>Thank you</p>")

    def _send(
        self,
        body: bytes,
        kind: str = "text/html; charset=utf-8",
        headers: dict[str, str] | None = None,
        status: int = 200,
    ) -> None:
        self.send_response(status)
        for name, value in {"Content-Type": kind, "Content-Length": str(len(body)), **(headers or {})}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def _endless(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "application/octet-stream")
        self.send_header("Content-Disposition", 'attachment; filename="endless.bin"')
        self.end_headers()
        site: Site = self.server.site  # type: ignore[attr-defined]
        try:
            while not site.release.is_set():
                self.wfile.write(bytes(100_000))
                time.sleep(0.01)
        except OSError:
            pass
        self.close_connection = True
