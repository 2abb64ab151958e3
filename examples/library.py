"""Quintet from your own program: submit an input, print what happens, stop when it has ended.

Run it: python examples/library.py [FOLDER] [INPUT]
"""

import asyncio
import sys

import quintet
from quintet.domain.journal.protocol import CallDecided, Recorded, Say, ToolFinished


async def main(folder: str, text: str) -> int:
    async with quintet.open(folder) as session:
        followed = session.follow(await session.submit(Say(text=text)))
        async for item in followed:
            match item:
                case Recorded(seq=seq, event=CallDecided(tool=tool, verdict=verdict, reason=reason)):
                    print(f"{seq:>4}  {verdict} {tool}: {reason}")
                case Recorded(seq=seq, event=ToolFinished(tool=tool, status=status, summary=summary)):
                    print(f"{seq:>4}  {tool} {status}, {summary}")
        outcome = followed.outcome
        print(f"{outcome.status}\n{outcome.answer}")
        return 0 if outcome.status == "done" else 1


if __name__ == "__main__":
    folder = sys.argv[1] if len(sys.argv) > 1 else "."
    text = sys.argv[2] if len(sys.argv) > 2 else "git status"
    sys.exit(asyncio.run(main(folder, text)))
