"""A process apart that searches with the ddgs library: usage ddgs_child.py, with {query, count, limit, seconds} as JSON
on stdin. It prints JSON: results, each with url, title, text; or problem."""

from __future__ import annotations

import json
import logging
import sys

from ddgs import DDGS
from ddgs.exceptions import DDGSException


def main() -> None:
    logging.disable()
    request = json.loads(sys.stdin.buffer.readline())
    try:
        found = DDGS(timeout=max(1, int(request["seconds"]))).text(
            request["query"], max_results=request["count"], timelimit=request["limit"] or None
        )
    except DDGSException as error:
        if "no results" not in str(error).lower():
            sys.stdout.write(json.dumps({"problem": f"ddgs: {str(error)[:300]}"}))
            return
        found = []
    rows = [{"url": row["href"], "title": row.get("title", ""), "text": row.get("body", "")} for row in found]
    sys.stdout.write(json.dumps({"results": rows}))


if __name__ == "__main__":
    main()
