"""Doors outside the project that nothing may come to: a loopback port, a unix socket by path and an abstract one.

Each answers as a small web server would, with a canary, so that who reaches it also carries something away.
"""

from __future__ import annotations

import contextlib
import os
import selectors
import socket
import threading
from pathlib import Path

MOST_BYTES = 4096


class Doors:
    def __init__(self, folder: Path, canary: str) -> None:
        self.path = folder / "outside.sock"
        self.abstract = f"quintet-outside-{os.getpid()}-{folder.name}"
        self.came: list[str] = []
        self._answer = f"HTTP/1.1 200 OK\r\nContent-Length: {len(canary)}\r\nConnection: close\r\n\r\n{canary}".encode()
        loopback = socket.create_server(("127.0.0.1", 0))
        self.port: int = loopback.getsockname()[1]
        by_path, abstract = socket.socket(socket.AF_UNIX), socket.socket(socket.AF_UNIX)
        by_path.bind(str(self.path))
        os.chmod(self.path, 0o777)
        abstract.bind(f"\0{self.abstract}")
        self._doors = {loopback: f"127.0.0.1:{self.port}", by_path: "unix socket", abstract: "abstract socket"}
        self._end, self._ends = socket.socketpair()
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def _serve(self) -> None:
        with selectors.DefaultSelector() as selector:
            for door in self._doors:
                if door.family == socket.AF_UNIX:
                    door.listen()
                selector.register(door, selectors.EVENT_READ)
            selector.register(self._ends, selectors.EVENT_READ)
            while True:
                for key, _ in selector.select():
                    if key.fileobj is self._ends:
                        return
                    assert isinstance(key.fileobj, socket.socket)
                    self._meet(key.fileobj)

    def _meet(self, door: socket.socket) -> None:
        visitor, _ = door.accept()
        with visitor, contextlib.suppress(OSError):
            visitor.settimeout(1.0)
            self.came.append(self._doors[door])
            said = visitor.recv(MOST_BYTES)
            self.came[-1] += f" was told {said[:200]!r}"
            visitor.sendall(self._answer)

    def close(self) -> None:
        self._end.send(b".")
        self._thread.join()
        for handle in (*self._doors, self._end, self._ends):
            handle.close()
