"""Kept sandboxes: walls that stay up for the next command of the same grant, since putting them up takes longest.

A room is used again only by a command that would get the very same walls, on the same files: every path they name is
the one it was. One command at a time; nothing of a command outlives it. The walls of a single command are not kept.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import socket
import subprocess
from collections.abc import Mapping

from quintet.adapters.processes.output import Inlet, Output
from quintet.adapters.sandbox.kept_sandbox_init import INTERRUPT, KILL, MOST_BYTES, READY
from quintet.adapters.sandbox.project_watch import Launch, Walls

MOST_ROOMS = 2
MOST_SEEN = 4
READY_SECONDS = 0.5
GRACE_SECONDS = 2.0  # between the polite signal and the last one


class Rooms:
    def __init__(self) -> None:
        self._rooms: dict[Walls, Room] = {}  # the one used last at the end
        self._left: list[Room] = []  # taken down, and perhaps not gone yet
        self._seen: list[Walls] = []  # had by one command, the last one at the end

    async def enter(self, launch: Launch, output: Output) -> Guest | None:
        """The command, started in a room; None if there is none for it now."""
        walls = launch.room
        if walls is None:
            return None
        room = self._rooms.get(walls)
        if room and room.ended:
            self._leave(walls)
        elif room:
            self._rooms[walls] = self._rooms.pop(walls)
            return await room.run(launch, output)
        return None

    def settle(self, launch: Launch, environment: Mapping[str, str]) -> None:
        """After a command that had walls of its own: the second time, they are put up for the next."""
        walls = launch.room
        if walls and walls in self._seen and walls not in self._rooms:
            self._rooms[walls] = Room(walls, environment)
            if len(self._rooms) > MOST_ROOMS:
                self._leave(next(iter(self._rooms)))
        self._seen = [*(one for one in self._seen if one != walls), *((walls,) if walls else ())][-MOST_SEEN:]

    def _leave(self, walls: Walls) -> None:
        room = self._rooms.pop(walls)
        room.leave()
        self._left = [*(one for one in self._left if one.process.poll() is None), room]

    @property
    def free(self) -> bool:
        """Whether there is a room that waits for a command."""
        return any(room.free for room in self._rooms.values())

    async def close(self) -> None:
        for walls in list(self._rooms):
            self._leave(walls)
        for room in self._left:
            await asyncio.to_thread(room.process.wait)


class Room:
    """A sandbox that runs one command after another."""

    def __init__(self, walls: Walls, environment: Mapping[str, str]) -> None:
        self._line, inside = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with inside:
            self.process = subprocess.Popen(
                (*walls.argv, str(inside.fileno())),
                cwd=walls.cwd,
                env=dict(environment),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
                pass_fds=(inside.fileno(),),
            )
        self._line.setblocking(False)
        self._loop = asyncio.get_running_loop()
        self._loop.add_reader(self._line, self._told)
        self._guest: Guest | None = None
        self._ready = asyncio.Event()
        self._left = False  # no command comes any more
        self.ended = False

    @property
    def free(self) -> bool:
        return self._ready.is_set() and not (self._guest or self.ended)

    async def run(self, launch: Launch, output: Output) -> Guest | None:
        request = json.dumps([launch.cwd, *launch.command]).encode()
        if len(request) > MOST_BYTES:
            return None
        with contextlib.suppress(TimeoutError):  # what is almost up is there sooner than other walls would be
            async with asyncio.timeout(READY_SECONDS):
                await self._ready.wait()
        if not self.free:
            return None
        ours, theirs = os.pipe()
        try:
            socket.send_fds(self._line, [request], [theirs])
        except OSError:  # it has just ended
            os.close(ours)
            return None
        finally:
            os.close(theirs)
        self._guest = Guest(self, ours, output)
        return self._guest

    def tell(self, word: bytes) -> None:
        with contextlib.suppress(OSError):
            self._line.send(word)

    def _told(self) -> None:
        try:
            said = self._line.recv(MOST_BYTES)
        except OSError:
            said = b""
        guest = self._guest
        if said == READY:
            self._ready.set()
        elif guest:
            self._guest = None
            guest.over(int(said) if said else None)
        if not said or (self._left and not self._guest):
            self._end()

    def leave(self) -> None:
        """Take it down, once the command in it is over."""
        self._left = True
        if not self._guest:
            self._end()

    def kill(self) -> None:
        self.process.kill()

    def _end(self) -> None:
        if not self.ended:
            self.ended = True
            self._ready.set()
            self._loop.remove_reader(self._line)
            self._line.close()


class Guest:
    """A command in a room."""

    def __init__(self, room: Room, printed: int, output: Output) -> None:
        self.ended = asyncio.Event()
        self.exit_code = 0
        self._room = room
        self._printed = printed
        self._inlet = Inlet(printed, output)
        self._answered = True

    def failure(self, text: str) -> str:
        return "" if self._answered else "the sandbox ended while the command ran; its outcome is unknown"

    def over(self, exit_code: int | None) -> None:
        """It ended with this code, or with the room; nothing of it lives."""
        self._inlet.drain()
        self._answered = exit_code is not None
        self.exit_code = exit_code or 0
        self.ended.set()

    async def end_tree(self) -> None:
        for word in (INTERRUPT, KILL):
            self._room.tell(word)
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(GRACE_SECONDS):
                    await self.ended.wait()
                    return
        self._room.kill()
        await self.ended.wait()

    def release(self) -> None:
        self._inlet.stop()
        os.close(self._printed)
