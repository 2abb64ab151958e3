"""Every schedule of lease and inbox: 3 processes with 4 inputs, killed, suspended and with clocks that step.

scripts/faults owner-model [--kills 1] [--lapses 1] [--for-good]. A suspend or a step of a clock is a lapse: a live
owner looks gone. A client that is killed may be started again with the same id, or with --for-good never. Schedules
that only differ in which of two equal clients does what, or in when an effect comes that nobody sees, are walked
through once: a million states for a kill and a lapse together. Then every weaker protocol is explored until its defect
is found. Exit 1 if the protocol breaks a promise, or a weaker one does not.
"""

from __future__ import annotations

import argparse
import sys
import time

from owner_model import FOUR_INPUTS, Defect, Protocol, begin, explore, weaker_worlds


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--kills", type=int, default=1)
    parser.add_argument("--lapses", type=int, default=1)
    parser.add_argument("--for-good", action="store_true", help="a client that is killed is not started again")
    chosen = parser.parse_args()
    began, wrong = time.monotonic(), 0
    try:
        world = begin(FOUR_INPUTS, chosen.kills, chosen.lapses, repeated=not chosen.for_good)
        said = f"{explore(Protocol(), world):,} states, each promise kept in all of them"
    except Defect as error:
        wrong, said = 1, f"broken: {error}"
    sys.stdout.write(f"{chosen.kills} kills, {chosen.lapses} lapses: {said} ({time.monotonic() - began:.0f} s)\n")
    for flag, worlds in weaker_worlds().items():
        said = ""
        for world in worlds:
            try:
                explore(Protocol(**{flag: False}), world)
            except Defect as error:
                said = str(error)
                break
        wrong += not said
        sys.stdout.write(f"without {flag}: {said or 'NOT FOUND'}\n")
        sys.stdout.flush()
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
