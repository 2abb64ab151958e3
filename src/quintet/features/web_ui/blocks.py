"""The transcript as HTML: the same story as on the screen, in blocks that a page can add, replace and take away."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable
from typing import Any

from quintet.domain.base.wording import counted
from quintet.domain.journal import protocol as p
from quintet.domain.journal.describe import DIFF_ROLES
from quintet.domain.turn.shown_output import COMMAND, both_ends, without_exit
from quintet.domain.turn.tool_spec import CallStatus
from quintet.features.web_ui.diff import diff_table
from quintet.features.web_ui.html import COPY, e
from quintet.features.web_ui.markdown import StreamedHtml, rendered
from quintet.surfaces.transcript.blocks import (
    ERROR_LINES,
    MOST_LINES,
    AnswerBlock,
    Block,
    CallBlock,
    FoldedBlock,
    JoinedCallsBlock,
    LinesBlock,
    PromptBlock,
)
from quintet.surfaces.transcript.transcript import Transcript

_EXPLAINED = (p.CallDecided, p.DialsTurned, p.QuestionAsked)


class HtmlBlock(Block):
    kind = ""
    id = ""
    seq = 0  # the event it began with
    why = 0  # the event whose reason it can tell
    _html: str | None = None

    def changed(self) -> None:
        self._html = None

    def html(self) -> str:
        if self._html is None:
            self._html = self._made(f' id="{self.id}"')
        return self._html

    def inside(self) -> str:
        """As a part of another block: a page finds by its id only what stands by itself."""
        return self._made("")

    def _made(self, id: str) -> str:
        space = " spaced" if self.spaced else ""
        why = f'<a class="why" href="?why={self.why}" title="Why">why</a>' if self.why else ""
        own = f'<a class="anchor" href="#e{self.seq}" aria-label="Link to this">#</a>' if self.seq else ""
        marks = f'<span class="marks">{own}{why}</span>' if own or why else ""
        return f'<div class="b {self.kind}{space}"{id} data-seq="{self.seq}">{self.body()}{marks}</div>'

    @abstractmethod
    def body(self) -> str:
        """What stands inside it, beside the links to itself and to its reason."""


class PromptHtml(HtmlBlock, PromptBlock):
    kind = "prompt"

    def body(self) -> str:
        quiet = ' class="dim"' if self.role == "dim" else ""
        return f'<span class="sign" aria-hidden="true">›</span><p{quiet}>{e(self.text)}</p>'


class LinesHtml(HtmlBlock, LinesBlock):
    @property
    def kind(self) -> str:  # type: ignore[override]
        if self._is_diff:
            return "lines rows"
        columns = sum("  " in line.text.strip() for line in self.lines)
        return "lines table" if columns > 1 else "lines"

    def body(self) -> str:
        whole = self._is_diff
        texts = [line.text.rstrip() if whole else line.text.strip() for line in self.lines]
        rows = [f'<p class="{roles(line.role)}">{e(text)}</p>' for line, text in zip(self.lines, texts, strict=True)]
        return "".join(rows)

    @property
    def _is_diff(self) -> bool:
        """Whether the blanks that a line begins with are a part of it."""
        return any(DIFF_ROLES.get(line.text[:1]) == line.role for line in self.lines)


class AnswerHtml(HtmlBlock, AnswerBlock):
    kind = "answer"

    def __init__(self, text: str = "", *, plain: bool = False) -> None:
        self._plain = plain
        self._streamed = StreamedHtml(text, plain=plain)
        self.streams = False

    def append(self, text: str) -> None:
        self._streamed.append(text)
        self.streams = True
        self.changed()

    def finish(self, text: str) -> None:
        self._streamed, self.streams = StreamedHtml(text, plain=self._plain), False
        self.changed()

    def news(self) -> tuple[int, list[str]]:
        """The chunks that are new since it was shown last."""
        return self._streamed.news()

    def body(self) -> str:
        self._streamed.news()
        return "".join(f'<div class="chunk">{chunk}</div>' for chunk in self._streamed.html())


class FoldedHtml(HtmlBlock, FoldedBlock):
    kind = "folded"

    def body(self) -> str:
        text = self.text
        inside = f'<div class="md">{rendered(text)}</div>' if self.markdown else f"<pre>{e(text)}</pre>"
        about = f'<span class="sum">{counted(text.count(chr(10)) + 1, "line")}</span>' if text else ""
        heading = f"""<span class="{roles(self.role)}">{e(self.heading)}</span>"""
        return f"<details><summary>{heading}{about}</summary>{inside}</details>"


class CallHtml(HtmlBlock, CallBlock):
    kind = "call"
    row: HtmlBlock | None = None  # that it is folded into

    def body(self) -> str:
        state = "running" if self.status is None else str(self.status)
        head = (
            f'<summary class="{state}"><b>{e(self.tool)}</b> <span class="about">{e(self.about)}</span>'
            f'<span class="sum">{e(self.summary or ("running" if self.status is None else ""))}</span></summary>'
        )
        opened = "" if self.folded else " open"
        if self.status is None:
            shown = f"<pre>{e(chr(10).join(self.latest))}</pre>" if self.latest else ""
            return f"<details open>{head}{shown}</details>"
        if self.diff:
            return f"<details{opened}>{head}{diff_table(self.content.rstrip(chr(10)))}</details>"
        return f"<details{opened}>{head}{self._output()}</details>{self._part() if self.folded else ''}"

    def _lines(self) -> list[str]:
        lines = self.content.rstrip("\n").split("\n") if self.content else []
        return without_exit(lines, self.shell)

    def _output(self) -> str:
        lines = self._lines()
        more = f"\n… {len(lines) - MOST_LINES} more lines" if len(lines) > MOST_LINES else ""
        text = e(chr(10).join(lines[:MOST_LINES]) + more)
        return f'<div class="out">{COPY}<pre tabindex="0" aria-label="Output">{text}</pre></div>'

    def _part(self) -> str:
        """What is shown while it is folded: where an error ends, or how what a command printed begins and ends."""
        lines = self._lines()
        if self.status is CallStatus.ERROR:
            return f'<pre class="part error">{e(chr(10).join(lines[-ERROR_LINES:]))}</pre>'
        if self.tool == COMMAND and self.status is CallStatus.OK and lines:
            first, hidden, last = both_ends(lines)
            between = [f"… {counted(hidden, 'more line')}"] if hidden > 0 else []
            return f'<pre class="part">{e(chr(10).join([*first, *between, *last]))}</pre>'
        return ""


class JoinedHtml(HtmlBlock, JoinedCallsBlock):
    kind = "joined"

    def body(self) -> str:
        brief = " · ".join(f"{e(call.tool)} {e(call.about[:32])}".strip() for call in self.calls)
        inside = "".join(call.inside() for call in self.calls if isinstance(call, CallHtml))
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
        for block in [one for one in self.blocks[min(before, len(self.blocks)) :] if not one.seq]:
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
        if isinstance(block, CallHtml) and block.row:
            block.row.changed()
            self._dirty[id(block.row)] = block.row

    def _join(self, calls: list[Any]) -> None:
        before = set(map(id, self.blocks))
        super()._join(calls)
        for block in self.blocks:
            if id(block) not in before:
                self._count += 1
                block.id = f"{self._name}{self._count}"
                for call in block.calls:
                    call.row = block
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
