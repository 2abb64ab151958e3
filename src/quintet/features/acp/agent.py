"""The methods of the protocol, each over sessions as every surface has them. Nothing here changes anything itself."""

from __future__ import annotations

import asyncio
import contextlib
import os
from typing import Any

from acp.exceptions import RequestError
from acp.interfaces import Client
from acp.meta import PROTOCOL_VERSION
from acp.schema import (
    AgentCapabilities,
    AuthenticateResponse,
    ClientCapabilities,
    CloseSessionResponse,
    ForkSessionResponse,
    Implementation,
    InitializeResponse,
    ListSessionsResponse,
    LoadSessionResponse,
    McpCapabilities,
    NewSessionResponse,
    PromptCapabilities,
    PromptResponse,
    ResumeSessionResponse,
    SessionCapabilities,
    SessionCloseCapabilities,
    SessionForkCapabilities,
    SessionInfo,
    SessionListCapabilities,
    SessionResumeCapabilities,
    SetSessionConfigOptionResponse,
    SetSessionModeResponse,
    TerminalAuthMethod,
    Usage,
)

from quintet import __version__
from quintet.adapters.files.paths import Places, locate
from quintet.adapters.settings import layers as config
from quintet.adapters.sqlite.database import clear_errors
from quintet.app.known_projects import known_projects
from quintet.app.lookups import stored
from quintet.app.session_lists import session_rows
from quintet.app.terminal_ui import at_hand
from quintet.domain.base.errors import NotFound, QuintetError, UsageError
from quintet.domain.base.safe_text import visible
from quintet.domain.dials.axes import AxesChange
from quintet.domain.journal import protocol as p
from quintet.domain.journal.input_outcome import InputOutcome
from quintet.domain.turn.messages import EndStatus
from quintet.features.acp import dials, servers
from quintet.features.acp.errors import answered, failed_turn
from quintet.features.acp.live import AcpSession, ClientAbilities

MODELS = "models"  # the way to set up a model
PAGE = 50  # sessions that are listed at once
STOPS: dict[EndStatus, Any] = {
    EndStatus.LIMIT: "max_turn_requests",
    EndStatus.INTERRUPTED: "cancelled",
    EndStatus.CANCELLED: "cancelled",
}


class EditorAgent:
    """`directory` is where it was started; `axes` where the dials of new sessions begin."""

    def __init__(self, directory: str, axes: AxesChange) -> None:
        self._directory = directory
        self._axes = axes
        self._client: Client | None = None
        self._abilities = ClientAbilities()
        self._live: dict[str, AcpSession] = {}

    def on_connect(self, conn: Client) -> None:
        self._client = conn

    async def close(self) -> None:
        live, self._live = list(self._live.values()), {}
        for one in live:
            await one.close()

    # ── the beginning

    async def initialize(
        self,
        protocol_version: int,
        client_capabilities: ClientCapabilities | None = None,
        client_info: Implementation | None = None,
        **meta: Any,
    ) -> InitializeResponse:
        can = client_capabilities or ClientCapabilities()
        configs = can.session.config_options if can.session else None
        self._abilities = ClientAbilities(
            forms=bool(can.elicitation and can.elicitation.form),
            booleans=bool(configs and configs.boolean),
        )
        terminal = bool(can.auth and can.auth.terminal)
        return InitializeResponse(
            protocol_version=PROTOCOL_VERSION,
            agent_capabilities=AgentCapabilities(
                load_session=True,
                prompt_capabilities=PromptCapabilities(image=True, audio=False, embedded_context=True),
                mcp_capabilities=McpCapabilities(http=True, sse=True),
                session_capabilities=SessionCapabilities(
                    list=SessionListCapabilities(),
                    fork=SessionForkCapabilities(),
                    resume=SessionResumeCapabilities(),
                    close=SessionCloseCapabilities(),
                ),
            ),
            auth_methods=[_model_setup()] if terminal else [],
            agent_info=Implementation(name="quintet", title="Quintet", version=__version__),
        )

    @answered
    async def authenticate(self, method_id: str, **meta: Any) -> AuthenticateResponse | None:
        """There is nobody to log in to: models have keys of their own, and the offline rules need none."""
        if method_id != MODELS:
            raise UsageError(f'unknown authentication method "{method_id}"; `quintet models add` connects a model')
        if not await asyncio.to_thread(lambda: config.load(locate(self._directory)).settings.models):
            hint = "Run `quintet models add` in a terminal. Without a model, Quintet uses its offline rules."
            raise RequestError(-32000, "no model is connected yet", {"code": "LLM_AUTH_FAILED", "hint": hint})
        return AuthenticateResponse()

    # ── sessions

    @answered
    async def new_session(
        self,
        cwd: str,
        additional_directories: list[str] | None = None,
        mcp_servers: list[Any] | None = None,
        **meta: Any,
    ) -> NewSessionResponse:
        live = await self._opened(cwd, additional_directories, mcp_servers, axes=self._axes)
        live.follow()
        state = live.session.state
        return NewSessionResponse(
            session_id=live.id, modes=dials.modes(state.dials), config_options=live.options(state)
        )

    @answered
    async def load_session(
        self,
        cwd: str,
        session_id: str,
        mcp_servers: list[Any] | None = None,
        additional_directories: list[str] | None = None,
        **meta: Any,
    ) -> LoadSessionResponse | None:
        live = await self._taken_up(cwd, session_id, additional_directories, mcp_servers, shown=True)
        state = live.session.state
        return LoadSessionResponse(modes=dials.modes(state.dials), config_options=live.options(state))

    @answered
    async def resume_session(
        self,
        session_id: str,
        cwd: str,
        additional_directories: list[str] | None = None,
        mcp_servers: list[Any] | None = None,
        **meta: Any,
    ) -> ResumeSessionResponse:
        live = await self._taken_up(cwd, session_id, additional_directories, mcp_servers, shown=False)
        state = live.session.state
        return ResumeSessionResponse(modes=dials.modes(state.dials), config_options=live.options(state))

    @answered
    async def fork_session(
        self,
        session_id: str,
        cwd: str,
        additional_directories: list[str] | None = None,
        mcp_servers: list[Any] | None = None,
        **meta: Any,
    ) -> ForkSessionResponse:
        live = await self._opened(cwd, additional_directories, mcp_servers, resume=session_id, fork=True)
        live.follow()
        state = live.session.state
        return ForkSessionResponse(
            session_id=live.id, modes=dials.modes(state.dials), config_options=live.options(state)
        )

    @answered
    async def close_session(self, session_id: str, **meta: Any) -> CloseSessionResponse | None:
        await self._known(session_id).close()
        self._live.pop(session_id, None)
        return CloseSessionResponse()

    @answered
    async def list_sessions(
        self, cwd: str | None = None, cursor: str | None = None, **meta: Any
    ) -> ListSessionsResponse:
        start = _number(cursor)
        found = await asyncio.to_thread(_sessions, _places(cwd) if cwd else None)
        shown = found[start : start + PAGE]
        more = str(start + PAGE) if start + PAGE < len(found) else None
        return ListSessionsResponse(sessions=shown, next_cursor=more)

    async def _taken_up(
        self, cwd: str, session: str, folders: list[str] | None, mcp: list[Any] | None, *, shown: bool
    ) -> AcpSession:
        await asyncio.to_thread(_is_of, _places(cwd), session)
        if known := self._live.pop(session, None):
            await known.close()
        live = await self._opened(cwd, folders, mcp, resume=session)
        await live.replay(shown=shown)
        live.follow()
        return live

    async def _opened(self, cwd: str, folders: list[str] | None, mcp: list[Any] | None, **options: Any) -> AcpSession:
        assert self._client
        if folders:
            raise UsageError(
                "additionalDirectories: a session has one project",
                hint="The setting sandbox.show makes other folders readable for commands.",
            )
        places = _places(cwd)
        if "resume" in options:
            await asyncio.to_thread(_is_of, places, options["resume"])
        loaded = await asyncio.to_thread(config.load, places)
        taken = {key.split(".")[2] for key in loaded.values if key.startswith("mcp.servers.")}
        flags, notes = servers.as_settings(mcp or (), taken)
        models = await asyncio.to_thread(at_hand(places.root).models)
        live = AcpSession(self._client, places, self._abilities, models, notes)
        await live.open(flags, **options)
        if options.get("fork"):
            await live.replay(shown=False)
        self._live[live.id] = live
        return live

    def _known(self, session: str) -> AcpSession:
        if session not in self._live:
            raise NotFound(f"session {session} is not open here", hint="Open it with session/load or session/resume.")
        return self._live[session]

    # ── dials

    @answered
    async def set_session_mode(self, session_id: str, mode_id: str, **meta: Any) -> SetSessionModeResponse | None:
        await self._turn(self._known(session_id), "mode", mode_id)
        return SetSessionModeResponse()

    @answered
    async def set_config_option(
        self, config_id: str, session_id: str, value: str | bool, **meta: Any
    ) -> SetSessionConfigOptionResponse | None:
        live = self._known(session_id)
        await self._turn(live, config_id, value)
        return SetSessionConfigOptionResponse(config_options=live.options(live.session.state))

    async def _turn(self, live: AcpSession, option: str, value: str | bool) -> None:
        outcome = await live.command(dials.command(option, value))
        if outcome.status is EndStatus.FAILED:
            raise UsageError(outcome.reason)

    # ── prompts

    @answered
    async def prompt(self, session_id: str, prompt: list[Any], **meta: Any) -> PromptResponse:
        outcome = await self._known(session_id).prompt(prompt)
        return _answer(outcome)

    async def cancel(self, session_id: str, **meta: Any) -> None:
        with contextlib.suppress(QuintetError):
            await self._known(session_id).cancel()

    async def ext_method(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        raise RequestError.method_not_found(f"_{method}")

    async def ext_notification(self, method: str, params: dict[str, Any]) -> None:
        """None is known."""


def _answer(outcome: InputOutcome | None) -> PromptResponse:
    if outcome is None:
        return PromptResponse(stop_reason="end_turn")
    event = outcome.event
    if outcome.status is EndStatus.FAILED and isinstance(event, p.TurnFinished):
        error = event.error
        raise failed_turn(error.code if error else "UNKNOWN", outcome.reason, error.hint if error else "")
    told: dict[str, Any] = {"status": str(outcome.status)}
    if outcome.reason:
        told["reason"] = outcome.reason
    if isinstance(event, p.CommandRan) and event.code:
        told["code"] = event.code
    usage = event.usage if isinstance(event, p.TurnFinished | p.CycleStopped) else None
    return PromptResponse(
        stop_reason=STOPS.get(outcome.status, "end_turn"),
        usage=Usage(
            total_tokens=usage.input_tokens + usage.output_tokens,
            input_tokens=usage.input_tokens,
            output_tokens=usage.output_tokens,
            cached_read_tokens=usage.cached_tokens,
        )
        if usage and (usage.input_tokens or usage.output_tokens)
        else None,
        field_meta={"quintet": told},
    )


def _model_setup() -> TerminalAuthMethod:
    return TerminalAuthMethod(
        type="terminal",
        id=MODELS,
        name="Connect a model",
        description="Runs `quintet models add`. Without a model, Quintet uses its offline rules.",
        args=["models", "add"],
    )


def _places(cwd: str) -> Places:
    if not os.path.isabs(cwd):
        raise UsageError(f"cwd {cwd!r}: an absolute path is needed")
    if not os.path.isdir(cwd):
        raise NotFound(f"{cwd}: no such folder")
    return locate(cwd)


def _is_of(places: Places, session: str) -> None:
    """A client names a session by the whole of its id, and by the project that it is of."""
    rows = stored(places)
    with clear_errors(places.database):
        known = rows is not None and rows.session(session) is not None
    if not known:
        raise NotFound(
            f"no session {visible(session)[:80]!r} in {places.root}", hint="session/list names those there are."
        )


def _sessions(places: Places | None) -> list[SessionInfo]:
    """Of a project, or of all, newest first."""
    found = []
    for one in [places] if places else known_projects():
        with contextlib.suppress(QuintetError):
            found += [
                SessionInfo(
                    session_id=row["session"], cwd=one.root, title=row["title"] or None, updated_at=row["updated"]
                )
                for row in session_rows(one)
            ]
    return sorted(found, key=lambda one: one.updated_at or "", reverse=True)


def _number(cursor: str | None) -> int:
    if cursor is None:
        return 0
    if not cursor.isascii() or not cursor.isdigit() or len(cursor) > 9:
        raise UsageError(f"cursor {cursor[:40]!r}: unknown")
    return int(cursor)
