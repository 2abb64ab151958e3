"""What commands and pickers look up in a project without opening a session: its store, its models."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from quintet.adapters import sandbox
from quintet.adapters.files.paths import Places, locate
from quintet.adapters.processes.system import SystemClock, process_identity
from quintet.adapters.stores.chosen import stored_rows
from quintet.domain.base.errors import NotFound
from quintet.domain.settings.settings import ROUTES, RoutingSettings, Settings
from quintet.engine.session.leases import Owned, owner_lives

if TYPE_CHECKING:
    from quintet.domain.ports.stores import StoredRows
    from quintet.engine.session.session import Session

BUILTIN = "builtin"


def stored(places: Places) -> StoredRows | None:
    """The project's store, if there is one yet."""
    return stored_rows(places)


def lives(row: Owned) -> bool:
    """Whether a process owns the session, or works at the task, now."""
    return owner_lives(row, SystemClock().uptime(), process_identity)


def needed(places: Places) -> StoredRows:
    rows = stored(places)
    if rows is None:
        raise NotFound(
            "there is no session in this project yet", hint="`quintet` opens one; `quintet sessions list` shows them."
        )
    return rows


def chosen_models(settings: Settings) -> list[dict[str, Any]]:
    """The models one can choose: the configured ones and the offline rules."""
    return [*configured_models(settings), model_row(settings, BUILTIN, model="offline rules")]


def configured_models(settings: Settings) -> list[dict[str, Any]]:
    return [
        {
            **model_row(settings, name, "configured", model.model, model.wire, model.base_url, model.api_key_env),
            "window": getattr(model, "context_window", 0),
            "prices": {"input": model.price_input, "cached": model.price_cached, "output": model.price_output}
            if model.price_input or model.price_output
            else None,
        }
        for name, model in settings.models.items()
    ]


def model_row(
    settings: Settings,
    name: str,
    source: str = "built in",
    model: str = "",
    wire: str = "",
    base_url: str = "",
    key: str = "",
) -> dict[str, Any]:
    from quintet.adapters.secrets.model_keys import has_key  # brings what starts programs

    return {
        "name": name,
        "source": source,
        "wire": wire,
        "model": model,
        "base_url": base_url,
        "routed": [use for use in ROUTES if settings.routing.model(use) == name],
        "key": {"variable": key, "set": has_key(key)} if key else None,
        "how": "",
        "window": 0,
        "prices": None,
    }


def _route(routing: RoutingSettings, use: str) -> str:
    return str(getattr(routing, use) or routing.smart)


def looks(session: Session, path: str) -> tuple[str, str, str]:
    """What a surface shows around a session: the name of the project at `path`, model and sandbox, the colour setting.

    The folder that the session began in may be gone, as a worker's worktree is once its task is done.
    """
    settings, state = session.settings, session.state
    model = settings.routing.model(state.axes.model_mode, state.dials.model)
    contained = sandbox.chosen(settings.sandbox.use)
    about = f"{'offline rules' if model == 'builtin' else model} · sandbox {contained}"
    return locate(path).name, about, settings.display.color
