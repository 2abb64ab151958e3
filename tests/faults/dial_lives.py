"""A project that lives through random dials, plans, accepts, pauses, refusals, kills and resumes; and what it broke.

python tests/faults/dial_lives.py PROJECT SEED. Each life is a process of its own on the same session: it says some
lines, waits for some of them, and is closed at rest, closed in the middle, or kills itself as `kill -9` would behind
its n-th durable write. The model is at times honest, at times lazy, lying, forbidden or refused, as the seed says. The
last life puts right what the doctor can. Prints a line for each broken promise, and exits 1 if there is one.
"""

from __future__ import annotations

import asyncio
import os
import random
import re
import signal
import sys
import traceback
from collections.abc import AsyncIterator
from typing import Any

import cycle_checks
from cycle_victim import CountingRows
from dial_checks import wrong
from mortal import FOR_EVER

from quintet.adapters.files.paths import locate
from quintet.adapters.settings import layers as config
from quintet.app import open as app
from quintet.domain.base.errors import ModelAuthFailed
from quintet.domain.dials.axes import INTERACTIVE, Surface
from quintet.domain.journal import protocol as p
from quintet.domain.turn.messages import Part, Request
from quintet.engine.session.session import Session
from quintet.testing import ScriptedModel, call

SECONDS = 60.0  # a limit, not a measure: of a life
STUCK = 7
LIVES = 5
SETTINGS = {
    "checkpoints.enabled": False,
    "runs.record": False,
    "tools.presentation": "flat",
    "limits.retries": 0,
    "cycle.max_iterations": 3,
}
PROFILES = ("restricted", "normal", "trusted", "unrestricted")
DIALS = {
    "mode": ("chat", "plan", "build", "build", "review", "repair", "research"),
    "control": ("manual", "assisted", "autonomous"),
    "permission-profile": PROFILES,
    "model-mode": ("fast", "smart", "deep"),
}
SCOPES = ("", "", "", " now", " after-current-tool", " after-current-unit", " next-milestone", " for-next-unit")
ABOUT = re.compile(r"out/([\w.-]+)\.txt")
PUSH = "git push origin main"


class Moody:
    """What the model does at each request: it writes the file that its task names, or something else."""

    def __init__(self, dice: random.Random) -> None:
        self._dice = dice
        self.honest = False

    def reply(self, request: Request) -> Any:
        last, dice = request.messages[-1].text, self._dice
        if request.purpose == "plan":
            return self._plan()
        if "DONE or NEEDS_WORK" in last:
            return "DONE\nit is there" if self.honest else dice.choice(["DONE\nit is there", "NEEDS_WORK\nnot so"])
        if not self.honest:
            if dice.random() < 0.05:
                return ModelAuthFailed("the key is not accepted")
            if dice.random() < 0.2:
                return dice.choice(
                    ["Done, all tests pass.", "Which file do you mean?", "", [call("bash", command=PUSH)]]
                )
        found = [name for message in request.messages for name in ABOUT.findall(message.text)]
        if not found or any(f"out/{found[-1]}.txt" in c.arguments for m in request.messages[-2:] for c in m.calls):
            return "It is written."
        return [call("Write", file_path=f"out/{found[-1]}.txt", content="x\n")]

    def _plan(self) -> str:
        number = self._dice.randint(1, 4)
        stamp = self._dice.randrange(10_000)
        ids = [f"w-{stamp}-{place}" for place in range(number)]
        after = ["", *(f"depends_on: [{id}]\n" if self._dice.random() < 0.5 else "" for id in ids)]
        return "\n".join(
            f"~~~~task\n---\nid: {id}\ntitle: Write {id}\n{needs}---\nWrite the file out/{id}.txt.\n~~~~"
            for id, needs in zip(ids, after, strict=False)
        )


class MoodyModel(ScriptedModel):
    def __init__(self, mood: Moody) -> None:
        super().__init__([])
        self.mood = mood

    async def stream(self, request: Request) -> AsyncIterator[Part]:
        await asyncio.sleep(0.002)  # so that something can happen meanwhile
        self._replies = [self.mood.reply(request)]
        async for part in super().stream(request):
            yield part


def line(dice: random.Random) -> str:
    """Something that a person says."""
    profile = dice.choice(["", *(f" --permission-profile {name}" for name in PROFILES)])
    control = dice.choice(["", " --autonomous", " --autonomous"])
    word = dice.choice(list(DIALS))
    kinds = {
        f"/{word} {dice.choice(DIALS[word])}{dice.choice(SCOPES)}": 4,
        f"/accept{control}{profile}": 3,
        f"/implement{control}{profile}": 5,
        dice.choice(["/next", "/autonomous", "/resume"]): 4,
        dice.choice(["/pause", "/stop", "move", "write out/free.txt"]): 3,
        "/plan write some files": 1,
    }
    return dice.choices(list(kinds), list(kinds.values()))[0]


class Life:
    """One process on the session."""

    def __init__(self, project: str, seed: int, number: int) -> None:
        self.dice = random.Random(f"{seed} {number}")
        self.project = project
        self.last = number == LIVES
        self.person = self.last or self.dice.random() < 0.5
        self.end = "rest" if self.last else self.dice.choice(["rest", "close", "kill", "kill"])
        self.writes = self.dice.randint(8, 150) if self.end == "kill" else FOR_EVER
        self.mood = Moody(random.Random(f"{seed} {number} model"))

    async def live(self) -> None:
        session = await self._opened()
        answers = asyncio.ensure_future(self._answer(session))
        begun = [] if session.state.cycle else ["/accept --autonomous --permission-profile normal", "/plan write files"]
        for _ in range(0 if self.last else self.dice.randint(4, 9)):
            await self._say(session, begun.pop() if begun else line(self.dice), rests=bool(begun))
        if self.last:
            for told in ("/stop", "/doctor fix"):
                await session.say(told)
                await self._rest(session)
        if self.end != "close":
            await self._rest(session)
        if self.end == "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        answers.cancel()
        await session.close()

    async def _opened(self) -> Session:
        places = locate(self.project)
        model: Any = MoodyModel(self.mood)
        core = app.make_core(places, config.load(places, SETTINGS), model=model, person=self.person)
        await core.store.close()
        core.store = store = CountingRows(places.database, self.writes)
        if not store.sessions():
            return await app._begin(core, Surface.RPC, INTERACTIVE.on(Surface.RPC), [], "", places)
        return await app._take_up(core, store, Surface.RPC, app.LATEST, False, [], "", places)

    async def _say(self, session: Session, told: str, *, rests: bool) -> None:
        if told == "move":
            rows = cycle_checks._rows(self.project).tasks()  # type: ignore[arg-type]
            if not rows:
                return
            told = (
                f"/tasks move {self.dice.choice(rows).id} {self.dice.choice(['todo', 'todo', 'paused', 'cancelled'])}"
            )
        await session.say(told)
        how = self.dice.random()
        if how < 0.5 or rests:
            await self._rest(session)
        elif how < 0.8:
            await asyncio.sleep(self.dice.random() * 0.05)

    async def _rest(self, session: Session) -> None:
        """Until nothing moves: it is over, held, or waits for somebody who is not there."""
        while True:
            state, waiting = session.state, session._core.store.inbox(session.id)
            over = not state.busy and not state.turns.following
            if not waiting and (over or state.turns.paused or (state.questions and not self.person)):
                return
            await asyncio.sleep(0.005)

    async def _answer(self, session: Session) -> None:
        """The person, if there is one: never lets anything be published."""
        if not self.person:
            return
        async for item in session.events(0):
            if isinstance(item, p.Recorded) and isinstance(item.event, p.QuestionAsked):
                asked = item.event
                if asked.question in session.state.questions:
                    keys = [choice.key for choice in asked.choices]
                    wanted = "n" if asked.text.startswith("Run") else self.dice.choice(keys)
                    await session.submit(p.Answer(question=asked.question, choice=wanted))


def lived(project: str, seed: int, number: int) -> str:
    """One life in a process of its own; what is wrong with how it ended."""
    pid = os.fork()
    if not pid:
        code = 1
        try:
            asyncio.run(asyncio.wait_for(Life(project, seed, number).live(), SECONDS))
            code = 0
        except TimeoutError:
            code = STUCK
        except BaseException:
            traceback.print_exc()
        finally:
            sys.stderr.flush()
            os._exit(code)
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    if code in (0, -signal.SIGKILL):
        return ""
    return f"life {number} did not come to rest" if code == STUCK else f"life {number} ended with {code}"


def main(project: str, seed: int) -> int:
    killed = False
    for number in range(1, LIVES + 1):
        life = Life(project, seed, number)
        killed = killed or life.end == "kill"
        said = lived(project, seed, number)
        broken = ([said] if said else []) + wrong(project, calm=not killed or number == LIVES)
        for one in broken:
            print(f"seed {seed}, life {number}: {one}", flush=True)
        if broken:
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], int(sys.argv[2])))
