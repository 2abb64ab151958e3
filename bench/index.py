"""What the index costs next to universal-ctags and ripgrep on the same tree: building, no change, one change, a query.

What an append to the journal costs while the index is built stands beside it.

python bench/index.py [--tree DIR] [--files 10000] [--rounds 1] [--json]. Without a tree one is made: files of 200 lines
in Python, Go, TypeScript and C. ctags has to be installed (universal-ctags). Processor time is shown beside the time on
the clock, because other work on the machine changes the one and hardly the other.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from signal import SIGCONT, SIGKILL, SIGSTOP
from statistics import median, quantiles
from subprocess import PIPE
from typing import Any

import msgspec
from _table import say, table, verdict
from journal import an_event, new_journal

from quintet.app.machine_parts import find_ripgrep
from quintet.domain.permission.protected_paths import PROTECTION
from quintet.features.index.build import Builder, Job
from quintet.features.index.indexer import IndexTask
from quintet.features.index.search import find_symbols, search_code
from quintet.features.index.store import IndexStore, size_on_disk

TARGETS = {"cold": 8.0, "unchanged": 0.3, "saved": 0.5, "symbol": 0.020, "size": 1.0, "journal": 1.25}
CORES = 2
QUERIES = 300
TURNS, APPENDS = 10, 20  # of the journal, with the index being built and without
MEMBER = {
    "py": "class Part{n}(Base{m}):\n    limit_{n} = {n}\n\n    def compute_{n}(self, value):\n"
    "        result = helper_{m}(value) + self.limit_{n}\n        return [one * {n} for one in result]\n\n",
    "go": "type Part{n} struct {{\n\tLimit{n} int\n}}\n\nfunc (p *Part{n}) Compute{n}(value int) int {{\n"
    "\tresult := Helper{m}(value) + p.Limit{n}\n\treturn result * {n}\n}}\n\n",
    "ts": "export class Part{n} extends Base{m} {{\n  limit{n} = {n}\n  compute{n}(value: number): number {{\n"
    "    const result = helper{m}(value) + this.limit{n}\n    return result * {n}\n  }}\n}}\n\n",
    "c": "struct part_{n} {{\n    int limit_{n};\n}};\n\nstatic int compute_{n}(struct part_{n} *p, int value) {{\n"
    "    int result = helper_{m}(value) + p->limit_{n};\n    return result * {n};\n}}\n\n",
}


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--tree", default="", metavar="DIR", help="a tree of your own; it is not changed")
    parser.add_argument("--files", type=int, default=10_000, metavar="N", help="files of the tree that is made (10000)")
    parser.add_argument("--rounds", type=int, default=1, metavar="N", help="times each is built (1)")
    parser.add_argument("--json", action="store_true", help="print JSON")
    wanted = parser.parse_args()
    ctags = shutil.which("ctags")
    if not ctags:
        parser.error("ctags is not installed: apt-get install universal-ctags")
    with tempfile.TemporaryDirectory(prefix="quintet-bench-") as folder:
        root = os.path.join(folder, "tree")
        if wanted.tree:
            shutil.copytree(wanted.tree, root, symlinks=True)
        else:
            _plant(root, wanted.files)
        figures = _measured(root, folder, ctags, wanted.rounds)
    rows = [
        ("ctags, cold", f"{figures['ctags']['wall']:.1f} s", f"{figures['ctags']['cpu']:.1f} s", "", ""),
        ("rg --files", f"{figures['rg']['wall'] * 1e3:.0f} ms", f"{figures['rg']['cpu'] * 1e3:.0f} ms", "", ""),
        (
            "index, cold",
            f"{figures['cold']['wall']:.1f} s",
            f"{figures['cold']['cpu']:.1f} s",
            f"{figures['ratio']:.1f} × ctags",
            verdict(figures["ratio"] <= TARGETS["cold"]),
        ),
        (
            f"  by processor time on {CORES} cores",
            "",
            "",
            f"{figures['cpu_ratio']:.1f} × ctags",
            verdict(figures["cpu_ratio"] <= TARGETS["cold"]),
        ),
        _row("nothing changed", figures["unchanged"], TARGETS["unchanged"]),
        (
            "append to the journal meanwhile",
            f"{figures['journal']['building']:.1f} ms",
            "",
            f"{figures['journal_ratio']:.2f} × without",
            verdict(figures["journal_ratio"] <= TARGETS["journal"]),
        ),
        _row("one file saved, then found", figures["saved"], TARGETS["saved"]),
        (
            "symbol query, p95",
            f"{figures['symbol'] * 1e3:.1f} ms",
            "",
            "≤ 20 ms",
            verdict(figures["symbol"] <= TARGETS["symbol"]),
        ),
        ("search by words, median", f"{figures['search'] * 1e3:.0f} ms", "", "", ""),
        ("index.db", "", "", f"{figures['size']:.2f} × the text", verdict(figures["size"] <= TARGETS["size"])),
    ]
    head = f"{figures['files']:,} files, {figures['lines']:,} lines, {figures['symbols']:,} symbols"
    header = ("measure", "clock", "processor", "target", "")
    say(f"{head}; load {os.getloadavg()[0]:.1f}\n{table(header, rows)}", figures, wanted.json)
    return 0


def _row(name: str, figure: dict[str, float], target: float) -> tuple[str, str, str, str, str]:
    met = verdict(figure["wall"] <= target)
    return name, f"{figure['wall'] * 1e3:.0f} ms", f"{figure['cpu'] * 1e3:.0f} ms", f"≤ {target:g} s", met


def _measured(root: str, folder: str, ctags: str, rounds: int) -> dict[str, Any]:
    path, tags = os.path.join(folder, "index.db"), os.path.join(folder, "tags")
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    job = Job(root, PROTECTION, find_ripgrep())
    subprocess.run([find_ripgrep(), "-c", "x", root], **quiet)  # type: ignore[call-overload]  # the files are in memory

    def tagged() -> None:
        subprocess.run([ctags, "-R", "--fields=+n", "-f", tags, root], **quiet)  # type: ignore[call-overload]

    def listed() -> None:
        subprocess.run([find_ripgrep(), "--files", "--hidden", root], **quiet)  # type: ignore[call-overload]

    def built() -> None:
        for ending in ("", "-wal", "-shm"):
            if os.path.exists(path + ending):
                os.unlink(path + ending)
        with_builder(lambda store, builder: builder.bring())

    def with_builder(work: Callable[[IndexStore, Builder], object]) -> None:
        store = IndexStore(path)
        builder = Builder(job, store, polite=False)
        try:
            work(store, builder)
        finally:
            builder.close()
            store.close()

    took = [(_timed(tagged), _timed(built)) for _ in range(rounds)]
    reference = {kind: median(one[0][kind] for one in took) for kind in ("wall", "cpu")}
    cold = {kind: median(one[1][kind] for one in took) for kind in ("wall", "cpu")}
    settle = time.time() - 60
    for where, _, names in os.walk(root):
        for name in names:
            os.utime(os.path.join(where, name), (settle, settle), follow_symlinks=False)
    with_builder(lambda store, builder: builder.bring())
    unchanged = _timed(lambda: with_builder(lambda store, builder: builder.bring()))
    figures: dict[str, Any] = {}

    def asked(store: IndexStore, builder: Builder) -> None:
        target = os.path.join(root, "a_new_file.py")
        saves = []
        for number in range(4):
            with open(target, "w", encoding="utf-8") as file:
                file.write(f"def saved_just_now_{number}():\n    pass\n")
            saves.append(_timed(lambda: builder.bring()))
            assert find_symbols(store, f"saved_just_now_{number}")[0].line == 1
        figures["saved"] = {kind: median(one[kind] for one in saves[1:]) for kind in ("wall", "cpu")}
        names = [name for _, name in store.declarations()]
        chosen = names[:: max(1, len(names) // QUERIES)][:QUERIES]
        times = [_clock(lambda name=name: find_symbols(store, name)) for name in chosen]  # type: ignore[misc]
        figures["symbol"] = quantiles(times, n=20)[18]
        questions = [" ".join(chosen[at : at + 3]) for at in range(0, min(60, len(chosen) - 3), 3)]
        figures["search"] = median(
            _clock(lambda text=text: search_code(store, root, text))  # type: ignore[misc]
            for text in questions
        )
        figures["files"], figures["lines"], text, _, _, figures["symbols"], _ = store.counts()
        figures["size"] = size_on_disk(path) / text

    with_builder(asked)
    journal = _beside(root, folder)
    return {
        **figures,
        "journal": journal,
        "journal_ratio": journal["building"] / journal["stopped"],
        "ctags": reference,
        "rg": _timed(listed),
        "cold": cold,
        "ratio": cold["wall"] / reference["wall"],
        "cpu_ratio": cold["cpu"] / CORES / reference["cpu"],
        "unchanged": unchanged,
    }


def _beside(root: str, folder: str) -> dict[str, float]:
    """Milliseconds of an append to the journal while the index is built as in a session, and while that is stopped."""
    task = msgspec.json.encode(IndexTask(os.path.join(folder, "beside.db"), Job(root, PROTECTION, find_ripgrep())))
    argv = [sys.executable, "-P", "-m", "quintet.features.index.indexer"]
    with subprocess.Popen(argv, stdin=PIPE, stdout=PIPE, process_group=0) as child:
        assert child.stdin and child.stdout
        child.stdin.write(task + b"\n")
        child.stdin.flush()
        child.stdout.readline()  # it is at work
        try:
            return asyncio.run(_appended(folder, child.pid))
        finally:
            os.killpg(child.pid, SIGKILL)


async def _appended(folder: str, building: int) -> dict[str, float]:
    times: dict[str, list[float]] = {"building": [], "stopped": []}
    async with new_journal(os.path.join(folder, "journal")) as journal:
        for number in range(TURNS):
            for name, signal in (("building", SIGCONT), ("stopped", SIGSTOP)):
                os.killpg(building, signal)
                await asyncio.sleep(0.05)
                for one in range(APPENDS):
                    began = time.perf_counter()
                    await journal.append(an_event(number * APPENDS + one))
                    times[name].append(time.perf_counter() - began)
    return {name: median(found) * 1000 for name, found in times.items()}


def _clock(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def _timed(work: Callable[[], object]) -> dict[str, float]:
    before, wall = _cpu(), _clock(work)
    return {"wall": wall, "cpu": _cpu() - before}


def _cpu() -> float:
    both = (resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN))
    return sum(one.ru_utime + one.ru_stime for one in both)


def _plant(root: str, files: int) -> None:
    endings = list(MEMBER)
    for number in range(files):
        folder = os.path.join(root, f"part_{number // 100}")
        os.makedirs(folder, exist_ok=True)
        ending = endings[number % len(endings)]
        lines = 25  # members of eight lines each
        body = "".join(MEMBER[ending].format(n=number * 40 + one, m=(number * 7 + one) % 5000) for one in range(lines))
        with open(os.path.join(folder, f"file_{number}.{ending}"), "w", encoding="utf-8") as file:
            file.write(("package part\n\n" if ending == "go" else "") + body)


if __name__ == "__main__":
    raise SystemExit(main())
