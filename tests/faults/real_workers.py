"""Real workers on a real PostgreSQL: tasks of one plan, a worker killed every so often, the server restarted meanwhile.

What is counted at the end comes from two places that know nothing of each other: the rows and journals of the
database, and the commits and files of the repository.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

from msgspec import Struct, field
from tests.postgres import Server

from quintet.features.postgres.link import ServerLink
from quintet.features.postgres.schema import migrate

GIT = ("git", "-c", "user.name=Faults", "-c", "user.email=faults@example.org")
RESTARTS = (signal.SIGINT, signal.SIGQUIT)  # once in order, once as a crash


class RealOutcome(Struct):
    seconds: float = 0.0
    done: int = 0
    kills: int = 0
    restarts: int = 0
    put_back: int = 0
    sessions: int = 0
    problems: list[str] = field(default_factory=list)


class RealWorkers:
    def __init__(self, folder: Path, workers: int, tasks: int, *, every: float, seed: int, stall: float) -> None:
        self.folder = folder
        self.workers = workers
        self.ids = [f"t{number:03}" for number in range(1, tasks + 1)]
        self.every = every
        self.stall = stall
        self.random = random.Random(seed)
        self.outcome = RealOutcome()
        self.root = folder / "project"
        self._children: list[subprocess.Popen[bytes]] = []
        os.chmod(folder, 0o755)
        self.server = Server(durable=True, folder=str(folder), more=(f"max_connections={20 + 10 * workers}",))
        self.around = {**os.environ, "QUINTET_DATABASE": self.server.url("faults")}
        self.around |= {"QUINTET_DATABASE_PROJECT": "faults"}

    def run(self) -> RealOutcome:
        began = time.monotonic()
        try:
            self._set_up()
            self._work()
            self._check()
        finally:
            for child in self._children:
                child.kill()
                child.wait()
            self.server.close()
        self.outcome.seconds = time.monotonic() - began
        return self.outcome

    def _set_up(self) -> None:
        self.server.execute("CREATE DATABASE faults")
        link = ServerLink(self.server.url("faults"), reads_only=False)
        migrate(link, init=True)
        link.close()
        self.root.mkdir()
        pages = self.folder / "pages"
        pages.mkdir()
        (self.root / "readme.txt").write_text("begin\n")
        for words in (("init", "-q", "-b", "main"), ("add", "."), ("commit", "-qm", "Begin")):
            subprocess.run([*GIT, *words], cwd=self.root, check=True)
        for id in self.ids:
            head = f"---\nid: {id}\ntitle: Make {id}\nintent: [{id}.txt]\nverification: test -f {id}.txt\n---\n"
            (pages / f"{id}.md").write_text(f'{head}create the file {id}.txt with "{id}"\n')
        self._quintet("tasks", "add", *(str(pages / f"{id}.md") for id in self.ids))

    def _quintet(self, *words: str) -> None:
        argv = [sys.executable, "-m", "quintet", *words]
        subprocess.run(argv, cwd=self.root, env=self.around, check=True, stdout=subprocess.DEVNULL)

    def _work(self) -> None:
        self._children = [self._started() for _ in range(self.workers)]
        killed = moved = time.monotonic()
        restarts = list(RESTARTS)
        at = [len(self.ids) * (number + 1) // (len(restarts) + 1) for number in range(len(restarts))]
        while self.outcome.done < len(self.ids):
            time.sleep(0.25)
            now = time.monotonic()
            if self.every and now - killed >= self.every:
                killed = now
                self._kill()
            if (done := self._done()) > self.outcome.done:
                self.outcome.done, moved = done, now
            if restarts and self.outcome.done >= at[-len(restarts)]:
                self.server.stop(restarts.pop(0))
                self.server.start()
                self.outcome.restarts += 1
            if now - moved > self.stall:
                self.outcome.problems.append(f"nothing was done for {self.stall:.0f} s")
                return

    def _kill(self) -> None:
        place = self.random.randrange(len(self._children))
        self._children[place].kill()
        self._children[place].wait()
        self._children[place] = self._started()
        self.outcome.kills += 1

    def _started(self) -> subprocess.Popen[bytes]:
        words = ("worker", "--wait", "--permission-profile", "normal", "--onto", "main", "--model", "builtin")
        quiet = subprocess.DEVNULL
        argv = [sys.executable, "-m", "quintet", *words]
        return subprocess.Popen(argv, cwd=self.root, env=self.around, stdin=quiet, stdout=quiet, stderr=quiet)

    def _done(self) -> int:
        (row,) = self._rows("SELECT count(*) FROM tasks WHERE status = 'done'")
        return int(row[0])

    def _rows(self, sql: str) -> list[tuple[Any, ...]]:
        return self.server.execute(sql, "faults")

    def _check(self) -> None:
        """Once by the rows and journals, and once by the tree."""
        said = self.outcome.problems
        moves = Counter(
            str(row[0]) for row in self._rows("SELECT task_id FROM task_transitions WHERE to_status = 'done'")
        )
        said += [f"{id} was moved to done {moves[id]} times" for id in self.ids if moves[id] != 1]
        journal = (
            "SELECT data::jsonb->>'task' FROM journal WHERE type = 'task_moved' AND data::jsonb->>'after' = 'done'"
        )
        ends = Counter(str(row[0]) for row in self._rows(journal))
        said += [f"{id} is done {ends[id]} times in the journals" for id in self.ids if ends[id] > 1]
        subjects = Counter(self._git("log", "--format=%s", "main").splitlines())
        said += [f"{id} has {subjects[f'Make {id}']} commits" for id in self.ids if subjects[f"Make {id}"] != 1]
        files = set(self._git("ls-tree", "-r", "--name-only", "main").splitlines())
        said += [f"{id}.txt is not in the tree" for id in self.ids if f"{id}.txt" not in files]
        wrong = [id for id in self.ids if f"{id}.txt" in files and self._git("show", f"main:{id}.txt").strip() != id]
        said += [f"{id}.txt holds something else" for id in wrong]
        if unsaved := self._git("status", "--short"):
            said.append(f"the checkout is not as its branch: {unsaved[:200]}")
        back = "SELECT count(*) FROM task_transitions WHERE to_status = 'todo' AND from_status <> ''"
        self.outcome.put_back = int(self._rows(back)[0][0])
        self.outcome.sessions = int(self._rows("SELECT count(*) FROM sessions")[0][0])

    def _git(self, *words: str) -> str:
        return subprocess.run([*GIT, *words], cwd=self.root, check=True, capture_output=True, text=True).stdout.strip()
