"""The surfaces without a terminal that a scenario is driven through: pages by their requests, an editor, the library.

Each has a process of its own that is forked, or none: the library runs in a thread of the test's.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import threading
import tomllib
from collections.abc import Coroutine
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any, TypeVar

import quintet
from quintet.adapters.files.paths import locate
from quintet.domain.dials.axes import AxesChange, ModelMode, PermissionProfile, RunControl, WorkMode
from quintet.domain.journal import protocol as p
from tests.features.acp.client import FORMS, Editor, editor
from tests.features.web_ui.serving import Web
from tests.scenarios.steps import Answer, Say, Turn
from tests.scenarios.surfaces import SurfaceUnderTest
from tests.surfaces.forked import Piped, forks
from tests.surfaces.program import SECONDS, env

T = TypeVar("T")


class LoopThread:
    """A loop of its own, for what is a coroutine."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()

    def do(self, work: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(SECONDS)

    def begin(self, work: Coroutine[Any, Any, Any]) -> None:
        asyncio.run_coroutine_threadsafe(work, self._loop)

    def soon(self, call: Any, *words: Any) -> None:
        self._loop.call_soon_threadsafe(call, *words)

    def close(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


class WithoutTerminal(SurfaceUnderTest):
    """Turns a dial by its command, and waits for a question before it answers."""

    def turn(self, step: Turn) -> None:
        self.step(Say(f"/{step.dial} {step.value}"))

    def answer(self, step: Answer) -> None:
        before = len(self.journal.events())
        self.give(self.journal.asked(step.key), step)
        self.journal.rests(before)

    def give(self, asked: p.QuestionAsked, step: Answer) -> None:
        raise NotImplementedError

    def kill(self) -> None:
        raise NotImplementedError("no scenario of these kills one")

    def leave(self) -> None:
        pass


class LibrarySurface(WithoutTerminal):
    def open(self) -> None:
        self._thread = LoopThread()
        self._stack = AsyncExitStack()
        axes = AxesChange(*(kind(value) for kind, value in zip(KINDS, self.scenario.dials, strict=True)))  # type: ignore[arg-type]
        text = Path(self.variables["XDG_CONFIG_HOME"], "quintet", "settings.toml").read_text()
        opened = quintet.open(str(self.root), person=True, axes=axes, settings=dict(_leaves(tomllib.loads(text))))
        self._session = self._thread.do(self._stack.enter_async_context(opened))

    def say(self, step: Say) -> None:
        self._thread.do(self._session.say(step.text))

    def give(self, asked: p.QuestionAsked, step: Answer) -> None:
        answer = p.Answer(question=asked.question, choice=step.key, note=step.words)
        self._thread.do(self._session.submit(answer))

    def interrupt(self) -> None:
        self._thread.do(self._session.submit(p.Interrupt()))

    def close(self) -> None:
        self._thread.do(self._stack.aclose())
        self._thread.close()


class EditorSurface(WithoutTerminal):
    def open(self) -> None:
        self._thread = LoopThread()
        self._stack = AsyncExitStack()
        program = editor(self.root, *self.scenario.flags, can=FORMS, **self.variables)
        self._editor: Editor = self._thread.do(self._stack.enter_async_context(program))
        self._session = self._thread.do(self._editor.new(self.root))

    def say(self, step: Say) -> None:
        self._thread.begin(self._editor.says(self._session, step.text))

    def turn(self, step: Turn) -> None:
        work = self._editor.connection.set_config_option(
            session_id=self._session, config_id=step.dial, value=step.value
        )
        self._thread.do(work)

    def give(self, asked: p.QuestionAsked, step: Answer) -> None:
        if step.words:
            self._editor.words.append(step.words)
        self._thread.soon(self._editor.pick, step.key)

    def interrupt(self) -> None:
        self._thread.do(self._editor.connection.cancel(session_id=self._session))

    def close(self) -> None:
        self._thread.do(self._stack.aclose())
        self._thread.close()


class WebSurface(WithoutTerminal):
    """The pages' own requests, without a browser."""

    _server: Piped | None = None

    def open(self) -> None:
        names = ("work_mode", "run_control", "permission_profile", "model_mode")
        dials = "".join(f'{name} = "{value}"\n' for name, value in zip(names, self.scenario.dials, strict=True))
        path = Path(self.variables["XDG_CONFIG_HOME"], "quintet", "settings.toml")
        path.write_text(f"{path.read_text()}\n[dials]\n{dials}")
        with open(self.root.parent / "errors", "wb") as errors:
            around = env(self.variables)
            self._server = forks().piped(("web", "--json"), cwd=self.root, env=around, errors=errors.fileno())
        os.close(self._server.typed)
        with open(self._server.out, "rb") as out:
            self._web = Web(json.loads(out.readline()))
        project = f"/p/{os.path.basename(locate(str(self.root)).state)}/"  # the state of the others lies beside it
        begun = self._web.post(f"{project}new", text="")
        assert begun.status == 303, begun.text
        self._page = project + begun.headers["location"]

    def _post(self, path: str, **fields: str) -> None:
        done = self._web.post(f"{self._page}{path}", **fields)
        assert done.status == 200, done.text

    def say(self, step: Say) -> None:
        self._post("say", text=step.text)

    def give(self, asked: p.QuestionAsked, step: Answer) -> None:
        self._post("answer", question=asked.question, choice=step.key, note=step.words)

    def interrupt(self) -> None:
        self._post("interrupt")

    def close(self) -> None:
        if self._server:
            os.kill(self._server.pid, signal.SIGTERM)
            self._server.wait(SECONDS)


KINDS = (WorkMode, RunControl, PermissionProfile, ModelMode)


def _leaves(table: dict[str, Any], above: str = "") -> Any:
    for name, value in table.items():
        if isinstance(value, dict):
            yield from _leaves(value, f"{above}{name}.")
        else:
            yield f"{above}{name}", value


OTHERS: dict[str, type[SurfaceUnderTest]] = {"web": WebSurface, "acp": EditorSurface, "library": LibrarySurface}
