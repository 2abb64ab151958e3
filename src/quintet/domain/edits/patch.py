"""A patch as models write it: `*** Begin Patch` with its sections, or a unified diff; several files in one.

It adds and changes files. One that would delete, rename or do anything else is refused, with what does it.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from quintet.domain.base.errors import ToolFailed
from quintet.domain.base.lazy_regex import regex

MOST_FILES = 100
_HUNK = regex(r"^@@(?: -(\d+)(?:,\d+)? \+\d+(?:,\d+)? @@)? ?(.*)$")
_IGNORED = regex(r"^(?:diff --git |index [0-9a-f]|new file mode |similarity index |\*\*\* End of File|```)")
_REFUSED = (
    ("*** Delete File:", "a patch cannot delete a file; use fs_delete (toolset data), or bash"),
    ("*** Move to:", "a patch cannot move a file; use fs_move (toolset data), or bash"),
    ("deleted file mode", "a patch cannot delete a file; use fs_delete (toolset data), or bash"),
    ("+++ /dev/null", "a patch cannot delete a file; use fs_delete (toolset data), or bash"),
    ("rename ", "a patch cannot move a file; use fs_move (toolset data), or bash"),
    ("copy ", "a patch cannot copy a file; use Write"),
    ("old mode ", "a patch cannot change file permissions; use bash"),
    ("new mode ", "a patch cannot change file permissions; use bash"),
    ("GIT binary patch", "a patch changes text only"),
    ("Binary files ", "a patch changes text only"),
)
FORM = (
    "a patch has `*** Update File: PATH`, or `--- PATH` and `+++ PATH`; then `@@`; "
    "then lines that begin with a space, - or +"
)


class Hunk(Struct, frozen=True):
    old: tuple[str, ...]
    new: tuple[str, ...]
    line: int = 0  # where the old lines stood, from 1; 0: not said
    under: tuple[str, ...] = ()  # lines that stand above it


class FilePatch(Struct, frozen=True):
    path: str
    hunks: tuple[Hunk, ...] = ()
    added: str | None = None  # the whole content of a new file


def parse(text: str) -> tuple[FilePatch, ...]:
    """The patch of each file; ToolFailed where it is none, or would do more than change files."""
    patches = tuple(_Reader(text.replace("\r\n", "\n").split("\n")).files())
    if not patches:
        raise ToolFailed(f"the patch names no file; {FORM}")
    names = [patch.path for patch in patches]
    if double := next((name for name in names if names.count(name) > 1), ""):
        raise ToolFailed(f"the patch has two sections for {double}; put its hunks into one")
    if len(patches) > MOST_FILES:
        raise ToolFailed(f"the patch has {len(patches)} files; the limit is {MOST_FILES}")
    return patches


class _Reader:
    def __init__(self, lines: Sequence[str]) -> None:
        self._lines = lines
        self._at = 0

    def files(self) -> list[FilePatch]:
        found = []
        while (line := self._next()) is not None:
            if path := _after(line, "*** Update File:"):
                found.append(FilePatch(path, self._hunks(path)))
            elif path := _after(line, "*** Add File:"):
                found.append(FilePatch(path, added=self._added(path)))
            elif line.startswith("--- ") and self._peek().startswith("+++ "):
                found.append(self._unified(line, self._next() or ""))
            elif line.strip() and not _IGNORED.match(line) and line.strip() not in ("*** Begin Patch", "*** End Patch"):
                self._refuse(line)
                raise ToolFailed(f"line {self._at} of the patch is not valid in a patch: {line[:80]!r}; {FORM}")
        return found

    def _next(self) -> str | None:
        if self._at >= len(self._lines):
            return None
        self._at += 1
        return self._lines[self._at - 1]

    def _peek(self) -> str:
        return self._lines[self._at] if self._at < len(self._lines) else ""

    def _refuse(self, line: str) -> None:
        for sign, why in _REFUSED:
            if line.startswith(sign):
                raise ToolFailed(f"{line.strip()[:120]}: {why}. Nothing was changed.")

    def _unified(self, before: str, after: str) -> FilePatch:
        self._refuse(after)
        old, new = (line[4:].partition("\t")[0].strip() for line in (before, after))
        path = new[2:] if new.startswith("b/") and (old.startswith("a/") or old == "/dev/null") else new
        hunks = self._hunks(path)
        if old != "/dev/null":
            return FilePatch(path, hunks)
        if len(hunks) != 1 or hunks[0].old:
            raise ToolFailed(f"{path}: a new file has one hunk that only adds lines")
        return FilePatch(path, added="".join(f"{line}\n" for line in hunks[0].new))

    def _added(self, path: str) -> str:
        lines = []
        while self._at < len(self._lines) and not self._ends(self._peek()):
            line = self._next() or ""
            if line.startswith("+"):
                lines.append(line[1:])
            elif line.strip():
                raise ToolFailed(f"{path}: line {self._at} of the patch: a line of a new file begins with +")
        return "".join(f"{line}\n" for line in lines)

    def _ends(self, line: str) -> bool:
        follows = self._lines[self._at + 1] if self._at + 1 < len(self._lines) else ""
        unified = line.startswith("--- ") and follows.startswith("+++ ")
        return line.startswith(("*** ", "diff --git ")) or unified or (line.startswith("```") and not follows.strip())

    def _hunks(self, path: str) -> tuple[Hunk, ...]:
        hunks: list[Hunk] = []
        line = 0
        under: list[str] = []
        old: list[str] = []
        new: list[str] = []

        def close() -> None:
            nonlocal line
            while old and new and not old[-1] and not new[-1]:  # blank lines behind it are no context
                del old[-1], new[-1]
            if old or new:
                if old == new:
                    raise ToolFailed(f"{path}: hunk {len(hunks) + 1} changes nothing")
                hunks.append(Hunk(tuple(old), tuple(new), line, tuple(under)))
                under.clear()
            old.clear()
            new.clear()
            line = 0

        while self._at < len(self._lines):
            text = self._peek()
            if text.startswith("*** End of File"):
                self._at += 1
                continue
            if self._ends(text):
                self._refuse(text)
                break
            self._at += 1
            if match := _HUNK.match(text):
                close()
                line = int(match[1] or 0)
                if not match[1] and match[2].strip():
                    under.append(match[2])
            elif text.startswith("\\"):
                continue  # no newline at the end of the file: its own end stays as it is
            elif text.startswith("-"):
                old.append(text[1:])
            elif text.startswith("+"):
                new.append(text[1:])
            elif text.startswith(" ") or not text:
                old.append(text[1:])
                new.append(text[1:])
            else:
                self._refuse(text)
                raise ToolFailed(f"{path}: line {self._at} of the patch begins with {text[:1]!r}; {FORM}")
        close()
        if not hunks:
            raise ToolFailed(f"{path}: the patch has no hunk for it; {FORM}")
        return tuple(hunks)


def _after(line: str, sign: str) -> str:
    return line[len(sign) :].strip() if line.startswith(sign) else ""
