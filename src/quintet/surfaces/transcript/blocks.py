"""The blocks that a transcript is made of: what each holds, whatever a surface makes of it.

The transcript fills and changes them; the surface's own kinds, made from these, draw them as rows or as HTML.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

from quintet.domain.edits.numbered_diff import numbered_files
from quintet.domain.journal.describe import Line
from quintet.domain.turn.tool_spec import CallStatus, ShellSeen

MOST_LINES = 400  # of one call's output
MOST_DIFF = 40  # lines of a change that are shown without being asked for
ERROR_LINES = 6
PROGRESS_LINES = 5


class Block(ABC):
    foldable = False
    folded = False
    hidden = False
    spaced = False  # whether an empty row comes before it
    mark = 0  # the event at which its turn or unit began

    @abstractmethod
    def changed(self) -> None:
        """What it holds is another: what was drawn of it is out of date."""


class PromptBlock(Block):
    """What the person said."""

    spaced = True

    def __init__(self, text: str, role: str = "bold") -> None:
        self.text, self.role = text, role


class LinesBlock(Block):
    """Lines with roles, as `describe` gives them."""

    def __init__(self, lines: Sequence[Line], indent: str = "") -> None:
        self.lines, self.indent = list(lines), indent


class AnswerBlock(Block):
    """What the model says, also while it streams."""

    spaced = True

    def __init__(self, text: str = "", *, plain: bool = False) -> None:
        """Hold the text, in the form in which the surface draws it piece by piece; `plain` if it is no Markdown."""

    @abstractmethod
    def append(self, text: str) -> None: ...

    @abstractmethod
    def finish(self, text: str) -> None: ...


class FoldedBlock(Block):
    """A heading, and below it, when opened, a text: reasoning, a report."""

    foldable = True

    def __init__(self, heading: str, text: str = "", role: str = "dim", *, markdown: bool = False) -> None:
        self.heading, self.role, self.markdown = heading, role, markdown
        self.folded = True
        self._parts = [text]

    @property
    def text(self) -> str:
        if len(self._parts) > 1:
            self._parts = ["".join(self._parts)]
        return self._parts[0].strip("\n")

    def append(self, text: str) -> None:
        self._parts.append(text)
        self.changed()


class CallBlock(Block):
    """A tool call: what it is about, and what it changed or printed, or what went wrong."""

    foldable = True

    def __init__(self, tool: str, about: str) -> None:
        self.tool, self.about = tool, about
        self.status: CallStatus | None = None  # while it runs
        self.folded = True
        self.content = self.summary = ""
        self.shell: ShellSeen | None = None  # that ran its line
        self.diff = False  # the content is one
        self.asked_for = False  # what it printed is what the person wants to see
        self.latest: list[str] = []  # lines that it printed while it runs

    def progress(self, text: str) -> None:
        self.latest = "\n".join([*self.latest, text.rstrip("\n")]).split("\n")[-PROGRESS_LINES:]
        self.changed()

    def finish(
        self,
        status: CallStatus,
        content: str,
        summary: str,
        seconds: float,
        *,
        diff: bool,
        shell: ShellSeen | None = None,
    ) -> None:
        self.status, self.content, self.diff, self.shell = status, content, diff, shell
        unsaid = {CallStatus.OK: "", CallStatus.INTERRUPTED: "stopped"}  # the turn's end says interrupted
        took = f"{seconds:.1f} s" if seconds >= 0.1 else ""
        self.summary = ", ".join(filter(None, (summary or unsaid.get(status, str(status)), took)))
        self.folded = not (diff and len(numbered_files(content.rstrip("\n"))) <= MOST_DIFF)
        self.latest = []
        self.changed()

    def show(self) -> None:
        self.folded, self.asked_for = False, True
        self.changed()


class JoinedCallsBlock(Block):
    """The calls of a finished unit, side by side in a row; opened, each as before."""

    foldable = True

    def __init__(self, calls: Sequence[CallBlock]) -> None:
        self.calls = calls
        self.fold(True)

    def fold(self, folded: bool) -> None:
        self.folded = folded
        for call in self.calls:
            call.hidden, call.foldable = folded, not folded
