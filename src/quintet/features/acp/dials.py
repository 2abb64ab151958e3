"""The dials as a client sees them: work modes as session modes, and every dial, the model and reasoning as options.

Pure. A choice that a client makes becomes the slash command of the same dial; there is no other way to turn one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from acp.schema import (
    SessionConfigOptionBoolean,
    SessionConfigOptionSelect,
    SessionConfigSelectOption,
    SessionMode,
    SessionModeState,
)

from quintet.domain.base.errors import UsageError
from quintet.domain.base.wording import did_you_mean
from quintet.domain.dials.axes import AXIS_FIELDS, AXIS_WORDS, WorkMode
from quintet.domain.dials.meanings import MEANINGS, NAMES
from quintet.domain.input.slash_line import CommandLine, format_command
from quintet.domain.journal.dial_state import DialState
from quintet.domain.ports.prompt import ModelChoice

MODEL, REASONING, AUTO = "model", "reasoning", "auto"
KINDS: dict[str, str] = {"mode": "mode", "model-mode": "model_config"}  # as the protocol names them

ConfigOption = SessionConfigOptionSelect | SessionConfigOptionBoolean


def modes(dials: DialState) -> SessionModeState:
    return SessionModeState(
        current_mode_id=dials.axes.work_mode,
        available_modes=[SessionMode(id=one, name=one.capitalize(), description=MEANINGS[one]) for one in WorkMode],
    )


def options(dials: DialState, models: Sequence[ModelChoice], *, booleans: bool = False) -> list[ConfigOption]:
    """`booleans`: the client knows options that are on or off."""
    return [*(_axis(word, dials) for word in AXIS_WORDS), _model(dials, models), _reasoning(dials, booleans=booleans)]


def _axis(word: str, dials: DialState) -> ConfigOption:
    choices: list[Any] = [(one, one, MEANINGS[one]) for one in AXIS_WORDS[word]]
    return _select(word, NAMES[word], getattr(dials.axes, AXIS_FIELDS[word]), choices, KINDS.get(word))


def _model(dials: DialState, models: Sequence[ModelChoice]) -> ConfigOption:
    choices = [(AUTO, AUTO, "Chosen by the model mode and your settings")]
    choices += [(one.name, one.name, one.problem or one.about) for one in models]
    if dials.model and dials.model not in {one.name for one in models}:
        choices.append((dials.model, dials.model, ""))
    return _select(MODEL, "Model", dials.model or AUTO, choices, "model")


def _reasoning(dials: DialState, *, booleans: bool) -> ConfigOption:
    about = "Show the agent's reasoning"
    if booleans:
        return SessionConfigOptionBoolean(
            id=REASONING,
            name="Reasoning",
            description=about,
            category="thought_level",
            type="boolean",
            current_value=dials.reasoning,
        )
    choices = [("on", "on", about), ("off", "off", "Do not show it")]
    return _select(REASONING, "Reasoning", "on" if dials.reasoning else "off", choices, "thought_level")


def _select(id: str, name: str, value: str, choices: Sequence[tuple[str, str, str]], kind: Any) -> ConfigOption:
    return SessionConfigOptionSelect(
        id=id,
        name=name,
        category=kind,
        type="select",
        current_value=value,
        options=[
            SessionConfigSelectOption(value=value, name=name, description=about or None)
            for value, name, about in choices
        ],
    )


def command(option: str, value: str | bool) -> str:
    """The slash command that a choice stands for."""
    known = (*AXIS_WORDS, MODEL, REASONING)
    if option not in known:
        raise UsageError(f'"{option}": not one of {", ".join(known)}.{did_you_mean(option, known)}')
    if isinstance(value, bool):
        value = "on" if value else "off"
    if not value.strip():
        raise UsageError(f"{option}: the value is empty")
    return format_command(CommandLine(option, (value,)))
