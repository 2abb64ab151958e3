"""What it costs to keep secrets out: looking at an event, at a reply's delta, at a chunk of a command's output.

python bench/redaction.py [--rounds 40] [--json]. CPU time of this thread, the best of the rounds; nothing is found in
what is looked at, as is the rule. One search for each form of each secret, next to one expression for all of them.
"""

from __future__ import annotations

import argparse
import random
import re
import string
import sys
from collections.abc import Callable
from time import thread_time_ns

from _table import say, table, verdict

from quintet.domain.base.redaction import Redaction
from quintet.domain.journal.protocol import ToolFinished, encode
from quintet.domain.turn.tool_spec import CallStatus

SECRETS = 10
TARGET_US = 50.0  # for an event of the usual size
WORDS = random.Random(5)


def text(size: int, letters: str = string.ascii_letters + string.digits + "     \n") -> str:
    return "".join(WORDS.choices(letters, k=size))


def best(work: Callable[[], object], rounds: int, batch: int) -> float:
    """Microseconds of one piece of work."""
    taken = []
    for _ in range(rounds):
        begun = thread_time_ns()
        for _ in range(batch):
            work()
        taken.append((thread_time_ns() - begun) / batch / 1000)
    return min(taken)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=40)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    redaction = Redaction([text(40, string.ascii_letters + string.digits + "_-") for _ in range(SECRETS)])
    one_for_all = re.compile("|".join(map(re.escape, sorted(redaction.secrets, key=len, reverse=True))))
    rows, figures = [], {}
    for name, size in (("event of 350 bytes", 120), ("event of 2 kB", 1_800), ("event of 30 kB", 30_000)):
        event = ToolFinished(call="call-1", tool="bash", status=CallStatus.OK, content=text(size), seconds=0.1)
        data = encode(event)
        letters, batch = data.decode(), 200 if size < 5_000 else 10
        costs = [
            best(lambda: encode(event), options.rounds, batch),  # noqa: B023
            best(lambda: redaction.in_json(data), options.rounds, batch),  # noqa: B023
            best(lambda: one_for_all.search(letters), options.rounds, batch),  # noqa: B023
        ]
        figures[name] = dict(zip(("encode_us", "look_us", "expression_us"), costs, strict=True))
        rows.append((name, *(f"{cost:.1f}" for cost in costs), f"{costs[2] / costs[1]:.1f}"))
    stream, chunks = redaction.texts(), redaction.chunks()
    printed = text(65_536).encode()
    delta = best(lambda: stream.feed("token "), options.rounds, 200)
    chunk = best(lambda: chunks.feed(printed), options.rounds, 4)
    figures |= {"delta_us": delta, "chunk_of_64k_us": chunk, "forms": len(redaction.secrets)}
    met = figures["event of 350 bytes"]["look_us"] <= TARGET_US
    shown = table(("", "encode µs", "look µs", "one expression µs", "ratio"), rows)
    rest = f"a delta of a reply {delta:.1f} µs, 64 kB of output {chunk / 1000:.2f} ms"
    head = f"{SECRETS} secrets of 40 letters, {len(redaction.secrets)} forms; CPU time, best of {options.rounds}"
    say(f"{head}\n{shown}\n{rest}\nan event of 350 bytes ≤ {TARGET_US:g} µs  {verdict(met)}", figures, options.json)
    return 0 if met else 1


if __name__ == "__main__":
    sys.exit(main())
