"""Calls that need approval in a run where nobody can give it. They are not run, and the run goes on without them.

What is said of such a call: to the model, to whoever reads the result, and at the end of a run that could not do
without it. `end_of_run` bounds a model that keeps trying.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from msgspec import Struct

from quintet.domain.base.wording import counted
from quintet.domain.dials.axes import Axes, PermissionProfile, RunControl, WorkMode
from quintet.domain.permission.effects import NETWORKED, READING, Effect, Sandbox
from quintet.domain.permission.gate import ALWAYS_ASKS, CONTAINED, RUNNING, UNASKED

SAME_KIND = 3  # skipped calls of one tool, with the same effects, for the same kind of reason, that end a run
IN_ALL = 10  # skipped calls of any kind that end a run
LINE_LENGTH = 200  # of a line in a sentence; the list of skipped calls has all of it
SHELL = "bash"
_ALWAYS = {  # the first that fits
    Effect.PUBLISH: "publishes, which always needs approval",
    Effect.OUTSIDE: "accesses something outside the project, which always needs approval",
    Effect.DESTROY: "cannot be undone, which needs approval",
}
INSTEAD = (
    "Nobody can approve calls in this run, so do not repeat this call. Find a way that needs no "
    "approval, split a combined line into separate calls, or leave it out and say so in your "
    "answer."
)


class SkippedCall(Struct, frozen=True, gc=False):
    """A call that was not run because nobody could approve it."""

    tool: str
    line: str  # its shell line, or what else it is about
    reason: str
    effects: tuple[Effect, ...]
    allowed_by: str = ""  # the flags that would have let it run; empty where none would

    @property
    def name(self) -> str:
        """The call in a few words, on one line."""
        words = " ".join((self.line if self.tool == SHELL else f"{self.tool} {self.line}").split())
        return words if len(words) <= LINE_LENGTH else f"{words[: LINE_LENGTH - 1]}…"

    @property
    def kind(self) -> tuple[str, frozenset[Effect], str]:
        return self.tool, frozenset(self.effects), reason_kind(self.reason)


def reason_kind(reason: str) -> str:
    """A reason without what belongs to one call: what is in brackets, after a semicolon or colon, and paths."""
    for end in (" (", ";", ": "):
        reason = reason.partition(end)[0]
    words = [word for word in reason.rstrip(".").split() if word.isalpha()]
    return " ".join(words)


def end_of_run(calls: Sequence[SkippedCall]) -> str:
    """Why these calls, all that were skipped so far, end the run; empty if it goes on."""
    if not calls:
        return ""
    kind, count = Counter(call.kind for call in calls).most_common(1)[0]
    if count >= SAME_KIND:
        same = [call for call in calls if call.kind == kind]
        return _named(f"{count} calls of the same kind", same)
    return _named(f"{len(calls)} calls", calls) if len(calls) >= IN_ALL else ""


def held_up(calls: Sequence[SkippedCall]) -> str:
    """The reason of an end without delivery, where these calls were skipped."""
    return _named(counted(len(calls), "call"), calls)


def _named(many: str, calls: Sequence[SkippedCall]) -> str:
    names = "; ".join(dict.fromkeys(f"{call.name}: {call.reason.rstrip('.')}" for call in calls))
    flags = _allowing(calls)
    end = f". {flags}" if flags else ""
    return f"{many} skipped, because nobody can approve in a non-interactive run: {names}{end}"


def _allowing(calls: Sequence[SkippedCall]) -> str:
    """The flags that would have let some of these calls run, in a sentence; empty where none would."""
    flagged = [call for call in calls if call.allowed_by]
    if not flagged:
        return ""
    widest = max(flagged, key=lambda call: (_rank(call.allowed_by), len(call.allowed_by)))
    which = "all of them" if len(flagged) == len(calls) > 1 else widest.name
    return f"To allow {which}: {widest.allowed_by}"


def _rank(flags: str) -> int:
    return max((profile.rank for profile in PermissionProfile if str(profile) in flags.split()), default=-1)


def sentence(call: SkippedCall) -> str:
    """What was skipped and why, for whoever reads the output of the run."""
    always = next((words for effect, words in _ALWAYS.items() if effect in call.effects), "")
    why = always or f"needs approval ({call.reason.rstrip('.')})"
    flags = f" To allow it: {call.allowed_by}" if call.allowed_by else ""
    return f"Skipped: {call.name} {why}, and this run is non-interactive.{flags}"


def told(call: SkippedCall) -> str:
    """What the model is told, as the reason why its call was not run."""
    return f"{call.reason.rstrip('.')}. The call was {call.tool} {call.line}. {INSTEAD}"


def allowed_by(effects: Sequence[Effect], axes: Axes, sandbox: Sandbox) -> str:
    """The flags by which a call with these effects needs no approval; empty if there are none."""
    wanted = frozenset(effects)
    mixed = wanted & RUNNING and wanted & (NETWORKED | {Effect.COMMIT})
    if not wanted or wanted & ALWAYS_ASKS or mixed or (sandbox is not Sandbox.BWRAP and wanted & CONTAINED):
        return ""
    flags = []
    if axes.work_mode not in (WorkMode.BUILD, WorkMode.REPAIR) and wanted - READING:
        if axes.work_mode is not WorkMode.CHAT:
            return ""  # another work mode would be other work
        flags.append("--mode build")
    if axes.run_control is RunControl.MANUAL:
        flags.append("--control autonomous")
    least = next((profile for profile in PermissionProfile if wanted <= UNASKED[profile]), None)
    if least is None:
        return ""
    if least.rank > axes.permission_profile.rank:
        flags.append(f"--permission-profile {least}")
    return " ".join(flags)
