"""What somebody who answers from elsewhere may not do: make or change a rule, or turn the profile above a limit. Pure.

The limit comes with the submission. It holds for whatever the submission would turn, a command's flags, an answer's
dials and what follows from an answer alike, so it is asked of the events that would be written.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from msgspec import UnsetType

from quintet.domain.dials.axes import AxesChange, PermissionProfile
from quintet.domain.input.slash_line import CommandLine, command_name
from quintet.domain.permission.answers import LASTING, Choice
from quintet.domain.tasks.executors import ACP
from quintet.domain.tasks.roles import ROLE_NAMES

NO_RULES = "rules can be added and revoked only at the computer; from here, answer yes or no to this one call"
NO_PLACE = "a file name can be given only at the computer; /export without a name writes to the default file"
NO_PROGRAM = "acp:COMMAND can be given only at the computer; from here, choose one by its name"
NO_LATER_COMMAND = "a command can be scheduled only at the computer; from here, schedule a request in words"
Highest = PermissionProfile | UnsetType


def offered(kind: str, choices: Iterable[Choice], highest: Highest) -> tuple[Choice, ...]:
    """The choices of a question that can be taken from elsewhere."""
    return tuple(choice for choice in choices if not answer_refused(kind, choice, highest))


def answer_refused(kind: str, choice: Choice, highest: Highest) -> str:
    """Why an answer cannot be given from elsewhere; empty if it can."""
    if isinstance(highest, UnsetType):
        return ""
    if kind == "approve" and choice.key in LASTING:
        return NO_RULES
    return _too_high(choice.turns, highest) if isinstance(choice.turns, AxesChange) else ""


def command_refused(line: CommandLine, highest: Highest) -> str:
    """Why a command cannot be given from elsewhere, whatever it would turn; empty if it can."""
    if isinstance(highest, UnsetType):
        return ""
    if line.name == "rules" and line.words[:1] == ("revoke",):
        return NO_RULES
    if line.name in ROLE_NAMES.values() and any(ACP in word for word in line.words):
        return NO_PROGRAM  # it would start without approval
    if line.name == "schedule" and "--" in line.words and _is_command(line.words[line.words.index("--") + 1 :]):
        return NO_LATER_COMMAND  # nothing would hold it to the limit when it runs
    return NO_PLACE if line.name == "export" and line.words else ""


def _is_command(words: Iterable[str]) -> bool:
    return command_name(" ".join(words)) is not None


def turning_refused(events: Iterable[Any], highest: Highest) -> str:
    """Why what an answer or a command would turn is too much from elsewhere; empty if it is not."""
    if isinstance(highest, UnsetType):
        return ""
    changes = (getattr(event, "change", None) for event in events)
    return next((why for one in changes if isinstance(one, AxesChange) and (why := _too_high(one, highest))), "")


def _too_high(change: AxesChange, highest: PermissionProfile) -> str:
    wanted = change.permission_profile
    if wanted is None or wanted.rank <= highest.rank:
        return ""
    return f"profile {wanted} cannot be set from here: the highest is {highest} (remote.max_profile)"
