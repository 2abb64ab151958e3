"""Whether what a trial left is as a check wants it. Pure: whoever ran the line or read the file brings what it gave."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import PurePosixPath

from quintet.domain.ports.trials import TrialCheck

MOST_SHOWN = 120  # characters of what was found instead
# Appended to a file of tests, one of them has to fail: where the run still passes, the work hides what tests find.
_CONTROLS = {
    ".py": (
        "\n\nimport unittest as unittest_{word}\n\n\nclass Test_{word}(unittest_{word}.TestCase):\n"
        "    def test_{word}(self):\n        self.assertEqual({number}, {number} + 1)\n"
    ),
    ".js": (
        "\n;(globalThis.test ?? globalThis.it ?? require('node:test').test)('{word}', () => {{"
        " require('node:assert').strictEqual({number}, {number} + 1) }})\n"
    ),
    ".mjs": (
        "\nimport {{ test as test_{word} }} from 'node:test'\n"
        "test_{word}('{word}', () => {{ throw Error('{word}') }})\n"
    ),
    ".go": '\nfunc Test_{word}(t *testing.T) {{ t.Fatal("{word}") }}\n',
}
_CONTROLS[".cjs"] = _CONTROLS[".js"]


def problem(check: TrialCheck) -> str:
    """Why a check decides nothing; empty if it can be used."""
    if bool(check.run) == bool(check.file):
        return "a check has either `run` or `file`"
    path = PurePosixPath(check.file)
    if any(one.is_absolute() or ".." in one.parts for one in (path, *map(PurePosixPath, check.files))):
        return "a check's files are in the workspace: give relative paths"
    if check.file and not (check.gone or check.text is not None or check.has or check.lacks):
        return f"{check.file}: say what it has to hold: `text`, `has`, `lacks` or `gone`"
    if check.run and check.output is None and not (check.has or check.hidden):
        return f"`{check.run}`: an exit code alone can be had by anybody: say what it has to print, or give tests"
    return ""


def fault_of_run(check: TrialCheck, code: int, output: str, errors: str = "") -> str:
    """What is wrong with what a line did; empty if nothing is."""
    if code != check.exit:
        lines = (errors or output).strip().splitlines() or [""]
        told = [line for line in lines if "Error" in line] or lines
        return f"it ends with {code} instead of {check.exit}: {_shown(told[-1])}"
    return next(_faults("it", check.output, check.has, check.lacks, output), "")


def fault_of_file(check: TrialCheck, content: str | None) -> str:
    """What is wrong with a file, which is None where it is not there."""
    if content is None:
        return "" if check.gone else f"{check.file} is not there"
    if check.gone:
        return f"{check.file} is still there"
    return next(_faults(check.file, check.text, check.has, check.lacks, content), "")


def _faults(what: str, whole: str | None, has: Sequence[str], lacks: Sequence[str], found: str) -> Iterator[str]:
    if whole is not None and found.rstrip() != whole.rstrip():
        yield f"{what} gives {_shown(found)}"
    yield from (f"{what} lacks {_shown(one)}" for one in has if one not in found)
    yield from (f"{what} has {_shown(one)}" for one in lacks if one in found)


def _shown(text: str) -> str:
    short = text.strip()
    return f'"{short[:MOST_SHOWN]}{"…" if len(short) > MOST_SHOWN else ""}"'


def control(path: str, word: str, number: int) -> str:
    """A test that fails, to be put at the end of a file of tests; empty for a language that is not known."""
    return _CONTROLS.get(PurePosixPath(path).suffix, "").format(word=word, number=number)
