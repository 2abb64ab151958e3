"""The transcript as HTML: the same story as on the screen, in blocks that a page can add, replace and take away."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from typing import Any

from quintet.domain.base.wording import counted
from quintet.domain.journal import protocol as p
from quintet.domain.journal.describe import Line
from quintet.domain.turn.command_output import COMMAND, first_lines, without_exit
from quintet.domain.turn.tool_spec import CallStatus
from quintet.features.web_ui.diff import counts, diff_table
from quintet.features.web_ui.html import e
from quintet.features.web_ui.markdown import StreamedHtml, rendered
from quintet.surfaces.tui.transcript.transcript import Transcript

MOST_OUTPUT = 400  # lines of one call
MOST_DIFF = 40  # lines of a change that are shown without being asked for
ERROR_LINES = 6
PROGRESS_LINES = 5
_EXPLAINED = (p.CallDecided, p.DialsTurned, p.QuestionAsked)


class HtmlBlock(ABC):
    foldable = False
    folded = False
    hidden = False
    spaced = False
    mark = 0
    kind = ""

    def __init__(self) -> None:
        self.id = ""
        self.seq = 0  # the event it began with
        self.why = 0  # the event whose reason it can tell
        self._html: str | None = None

    def changed(self) -> None:
        self._html = None

    def html(self) -> str:
        if self._html is None:
            space = " spaced" if self.spaced else ""
            link = f'<a class="why" href="?why={self.why}" title="Why">why</a>' if self.why else ""
            self._html = (
                f'<div class="b {self.kind}{space}" id="{self.id}" data-seq="{self.seq}">{self.body(link)}</div>'
            )
        return self._html

    @abstractmethod
    def body(self, link: str) -> str:
        """What stands inside it; `link` leads to its reason."""


class PromptHtml(HtmlBlock):
    spaced = True
    kind = "prompt"

    def __init__(self, text: str, role: str = "bold", mark: str = "› ") -> None:
        super().__init__()
        self._text, self._role = text, role

    def body(self, link: str) -> str:
        quiet = ' class="dim"' if self._role == "dim" else ""
        link = f'<a class="anchor" href="#e{self.seq}" aria-label="Link to this">#</a>' if self.seq else ""
        return f'<span class="sign" aria-hidden="true">›</span><p{quiet}>{e(self._text)}</p>{link}'


class LinesHtml(HtmlBlock):
    kind = "lines"

    def __init__(self, lines: Sequence[Line], indent: str = "") -> None:
        super().__init__()
        self.lines = list(lines)

    def body(self, link: str) -> str:
        rows = [f'<p class="{roles(line.role)}">{e(line.text.strip())}</p>' for line in self.lines]
        return "".join(rows) + link


class AnswerHtml(HtmlBlock):
    spaced = True
    kind = "answer"

    def __init__(self, text: str = "") -> None:
        super().__init__()
        self._streamed = StreamedHtml(text)
        self.streams = False

    def append(self, text: str) -> None:
        self._streamed.append(text)
        self.streams = True
        self.changed()

    def finish(self, text: str) -> None:
        self._streamed, self.streams = StreamedHtml(text), False
        self.changed()

    def news(self) -> tuple[int, list[str]]:
        """The chunks that are new since it was shown last."""
        return self._streamed.news()

    def body(self, link: str) -> str:
        self._streamed.news()
        return "".join(f'<div class="chunk">{chunk}</div>' for chunk in self._streamed.html())


class FoldedHtml(HtmlBlock):
    foldable = True
    kind = "folded"

    def __init__(self, heading: str, text: str = "", role: str = "dim", *, markdown: bool = False) -> None:
        super().__init__()
        self.heading = heading
        self._parts = [text]
        self._role, self._markdown = role, markdown

    def append(self, text: str) -> None:
        self._parts.append(text)
        self.changed()

    def body(self, link: str) -> str:
        self._parts = ["".join(self._parts)]
        text = self._parts[0].strip("\n")
        inside = f'<div class="md">{rendered(text)}</div>' if self._markdown else f"<pre>{e(text)}</pre>"
        about = f'<span class="sum">{counted(text.count(chr(10)) + 1, "line")}</span>' if text else ""
        heading = f"""<span class="{roles(self._role)}">{e(self.heading)}</span>"""
        return f"<details><summary>{heading}{about}</summary>{inside}</details>"


class CallHtml(HtmlBlock):
    foldable = True
    kind = "call"

    def __init__(self, tool: str, about: str) -> None:
        super().__init__()
        self.tool, self.about = tool, about
        self.status: CallStatus | None = None
        self.content = ""
        self.summary = ""
        self._diff = self._open = False
        self._progress: list[str] = []

    def progress(self, text: str) -> None:
        self._progress = "\n".join([*self._progress, text.rstrip("\n")]).split("\n")[-PROGRESS_LINES:]
        self.changed()

    def finish(self, status: CallStatus, content: str, summary: str, seconds: float, *, diff: bool) -> None:
        self.status, self.content, self._diff = status, content, diff
        said = summary or {CallStatus.OK: "", CallStatus.INTERRUPTED: "stopped"}.get(status, str(status))
        took = f"{seconds:.1f} s" if seconds >= 0.1 else ""
        self.summary = ", ".join(filter(None, (said, took)))
        self._open = diff and sum(counts(content)) <= MOST_DIFF
        self._progress = []
        self.changed()

    def show(self) -> None:
        self._open = True
        self.changed()

    def body(self, link: str) -> str:
        state = "running" if self.status is None else str(self.status)
        head = (
            f'<summary class="{state}"><b>{e(self.tool)}</b> <span class="about">{e(self.about)}</span>'
            f'<span class="sum">{e(self.summary or ("running" if self.status is None else ""))}</span></summary>'
        )
        opened = " open" if self._open else ""
        if self.status is None:
            shown = f"<pre>{e(chr(10).join(self._progress))}</pre>" if self._progress else ""
            return f"<details open>{head}{shown}</details>{link}"
        if self._diff:
            return f"<details{opened}>{head}{diff_table(self.content.rstrip(chr(10)))}</details>{link}"
        return f"<details{opened}>{head}{self._output()}</details>{'' if self._open else self._part()}{link}"

    def _lines(self) -> list[str]:
        lines = self.content.rstrip("\n").split("\n") if self.content else []
        return without_exit(lines, self.summary)

    def _output(self) -> str:
        lines = self._lines()
        more = f"\n… {len(lines) - MOST_OUTPUT} more lines" if len(lines) > MOST_OUTPUT else ""
        return f'<pre tabindex="0">{e(chr(10).join(lines[:MOST_OUTPUT]) + more)}</pre>'

    def _part(self) -> str:
        """What is shown while it is folded: where an error ends, or how what a command printed begins."""
        lines = self._lines()
        if self.status is CallStatus.ERROR:
            return f'<pre class="part error">{e(chr(10).join(lines[-ERROR_LINES:]))}</pre>'
        if self.tool == COMMAND and self.status is CallStatus.OK and lines:
            first, hidden = first_lines(lines)
            more = f"\n… {counted(hidden, 'more line')}" if hidden > 0 else ""
            return f'<pre class="part">{e(chr(10).join(first) + more)}</pre>'
        return ""


class JoinedHtml(HtmlBlock):
    """The calls of a finished unit in one row; opened, each as before."""

    foldable = True
    kind = "joined"

    def __init__(self, calls: Sequence[CallHtml]) -> None:
        super().__init__()
        self._calls = calls
        for call in calls:
            call.hidden = True

    def body(self, link: str) -> str:
        brief = " · ".join(f"{e(call.tool)} {e(call.about[:32])}".strip() for call in self._calls)
        inside = "".join(call.html() for call in self._calls)
        return f'<details><summary class="ok">{brief}</summary>{inside}</details>'


def roles(role: str) -> str:
    """The classes of a role of `describe`."""
    return " ".join(f"r-{word}" for word in role.split()) or "r-text"


class WebTranscript(Transcript):
    """Follows events as the screen's does; `operations` says what to change on a page since it was last asked."""

    prompt_block = PromptHtml
    lines_block = LinesHtml
    answer_block = AnswerHtml
    folded_block = FoldedHtml
    call_block = CallHtml
    joined_block = JoinedHtml
    blocks: list[Any]
    _calls: dict[str, Any]

    def __init__(self, name: str = "b", *, continues: bool = False) -> None:
        super().__init__(continues=continues)
        self._name = name
        self._count = 0
        self._dirty: dict[int, Any] = {}
        self._decided: dict[str, int] = {}
        self._shown: set[str] = set()  # ids of blocks that pages have

    def _event(self, recorded: p.Recorded) -> None:
        event, before = recorded.event, len(self.blocks)
        if isinstance(event, p.CallDecided):
            self._decided[event.call] = recorded.seq
        super()._event(recorded)
        for block in self.blocks[min(before, len(self.blocks)) :]:
            block.seq = recorded.seq
            block.why = recorded.seq if isinstance(event, _EXPLAINED) else 0
        if isinstance(event, p.ToolStarted) and event.call in self._calls:
            self._calls[event.call].why = self._decided.pop(event.call, 0)

    def _add(self, block: Any) -> None:
        if not block.id:
            self._count += 1
            block.id = f"{self._name}{self._count}"
        super()._add(block)

    def _touch(self, block: Any) -> None:
        super()._touch(block)
        self._dirty[id(block)] = block

    def _join(self, calls: list[Any]) -> None:
        before = set(map(id, self.blocks))
        super()._join(calls)
        for block in self.blocks:
            if id(block) not in before:
                self._count += 1
                block.id = f"{self._name}{self._count}"
        for call in calls:
            self._dirty[id(call)] = call

    def html(self) -> str:
        """All of it; from here on `operations` tells what changes."""
        self._dirty.clear()
        shown = [block for block in self.blocks if not block.hidden]
        self._shown = {block.id for block in shown}
        return "".join(block.html() for block in shown)

    def operations(self) -> list[dict[str, Any]]:
        dirty, self._dirty = list(self._dirty.values()), {}
        if not dirty:
            return []
        places = {id(block): at for at, block in enumerate(self.blocks)}
        made = [self._operation(block, places) for block in self._in_order(dirty, places)]
        return [one for one in made if one]

    def _in_order(self, dirty: Iterable[Any], places: dict[int, int]) -> list[Any]:
        return sorted(dirty, key=lambda block: places.get(id(block), -1))

    def _operation(self, block: Any, places: dict[int, int]) -> dict[str, Any] | None:
        if id(block) not in places or block.hidden:
            known = block.id in self._shown
            self._shown.discard(block.id)
            return {"drop": block.id} if known else None
        if isinstance(block, AnswerHtml) and block.streams and block.id in self._shown:
            first, chunks = block.news()
            return {"grow": block.id, "from": first, "chunks": chunks}
        new = block.id not in self._shown
        self._shown.add(block.id)
        put: dict[str, Any] = {"put": block.id, "html": block.html()}
        if new:
            at = places[id(block)]
            put["after"] = next((one.id for one in reversed(self.blocks[:at]) if not one.hidden), "")
        return put
