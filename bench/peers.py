"""Quintet beside other command-line agents, on a harness that runs them all against one scripted model.

scripts/bench peers --harness FOLDER [--bin-dir FOLDER] [--quintet PATH] [--only NAMES] [--quick] [--json]: FOLDER holds
the harness's bench.py and contestants.py, --bin-dir the peers. Ratios are to the best peer, and to a bare loop in
Python, of the same run; the machine should have nothing else to do.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from _table import say, table, verdict

PEERS = ("codex", "claude", "gemini", "opencode")
BARE = ("bare-bwrap", "bare-kept")
OURS = ("quintet-chat", "quintet", "quintet-full")
ENTRIES = Path(__file__).with_name("contestants_quintet.py")
LONG = 500


def main() -> int:
    parser = argparse.ArgumentParser(prog="scripts/bench peers", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--harness", type=Path, required=True, metavar="FOLDER", help="the harness")
    parser.add_argument("--bin-dir", default="", metavar="FOLDER", help="where the peers are, if not on PATH")
    parser.add_argument("--quintet", default=os.path.join(os.path.dirname(sys.executable), "quintet"), metavar="PATH")
    parser.add_argument("--only", default=",".join(PEERS), metavar="NAMES", help=f"the peers ({', '.join(PEERS)})")
    parser.add_argument("--quick", action="store_true", help="fewer rounds")
    parser.add_argument("--json", action="store_true", help="print JSON")
    wanted = parser.parse_args()
    if not (wanted.harness / "bench.py").is_file():
        parser.error(f"{wanted.harness} holds no bench.py")
    rows = _measured(wanted)
    peers = {name: rows[name] for name in wanted.only.split(",") if name in rows}
    if not peers:
        parser.error("none of the peers was found: --bin-dir says where they are")
    _show(rows, peers, wanted.json)
    return 0


def _measured(wanted: argparse.Namespace) -> dict[str, dict[str, Any]]:
    """A row of figures for every contestant, as the harness sums them up, and the gap late in a long run."""
    sys.path.insert(0, str(wanted.harness))
    sum_up = importlib.import_module("bench").summarise
    with tempfile.TemporaryDirectory(prefix="quintet-peers-") as folder:
        names = ",".join((wanted.only, *BARE, *OURS))
        steps = "0:3,50:1" if wanted.quick else "0:7,20:2,50:3"
        together = _harness(wanted, f"{folder}/all.json", names, "steps,rss", steps)
        alone = _harness(wanted, f"{folder}/long.json", "quintet", "steps", f"{LONG}:1")
    rows: dict[str, dict[str, Any]] = sum_up(together)
    gaps = next(run["gaps"] for run in alone["quintet"]["runs"] if run["n"] == LONG)
    rows["quintet"]["early"] = _middle(gaps[5:15])
    rows["quintet"]["late"] = _middle(gaps[LONG - 10 : LONG])
    return rows


def _harness(wanted: argparse.Namespace, out: str, names: str, phases: str, steps: str) -> dict[str, Any]:
    words = [sys.executable, str(wanted.harness / "bench.py"), "--contestants", str(ENTRIES), "--only", names]
    words += ["--exe", f"quintet={wanted.quintet}", "--phases", phases, "--steps", steps, "--out", out]
    for name in BARE:
        words += ["--exe", f"{name}={sys.executable}"]
    words += ["--bin-dir", wanted.bin_dir] if wanted.bin_dir else []
    subprocess.run(words, check=True, stdout=subprocess.DEVNULL)
    results: dict[str, Any] = json.loads(Path(out).read_text())["results"]
    return results


def _middle(values: list[float]) -> float:
    return sorted(values)[len(values) // 2]


def _show(rows: dict[str, dict[str, Any]], peers: dict[str, dict[str, Any]], as_json: bool) -> None:
    header = ("", "one turn s", "gap ms", "p10", "p95", "RSS MiB", "first request B")
    keys = ("n0_s", "gap_med_ms", "gap_p10_ms", "gap_p95_ms", "rss_tree_mib", "first_req_bytes")
    lines = [(name, *(_figure(row.get(key)) for key in keys)) for name, row in rows.items()]
    ours, chat = rows["quintet"], rows["quintet-chat"]

    def best(key: str) -> float:
        return min(row[key] for row in peers.values() if row.get(key))

    gap = ours["gap_med_ms"]
    ratios = [
        ("gap per step / best peer", gap / best("gap_med_ms"), 0.5, 0.3),
        ("gap per step / bare loop with bubblewrap", gap / rows["bare-bwrap"]["gap_med_ms"], 1.6, None),
        ("gap per step / bare loop with a kept one", gap / rows["bare-kept"]["gap_med_ms"], None, None),
        ("one turn / best peer", chat["n0_s"] / best("n0_s"), 1.0, 0.8),
        ("memory / best peer", ours["rss_tree_mib"] / best("rss_tree_mib"), 0.25, None),
        ("gap at steps 491-500 / at 6-15", ours["late"] / ours["early"], 1.5, None),
        ("first request, kB", ours["first_req_bytes"] / 1000, 8.0, None),
    ]
    judged = [
        (name, f"{value:.2f}", _figure(bound), _figure(goal), verdict(value <= bound) if bound else "")
        for name, value, bound, goal in ratios
    ]
    text = table(header, lines) + "\n\n" + table(("", "measured", "at most", "goal", ""), judged)
    say(text, {"contestants": rows, "ratios": {name: value for name, value, *_ in ratios}}, as_json)


def _figure(value: float | None) -> str:
    return "-" if value is None else f"{value:.0f}" if value >= 1000 else f"{value:.2f}"


if __name__ == "__main__":
    sys.exit(main())
