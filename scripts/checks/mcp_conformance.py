"""Hold our MCP client and server to the conformance suite alone: the second half of `scripts/check mcp`.

scripts/check mcp-conformance [--from FOLDER]: prints the two tables of docs/compatibility/mcp.md. The server runs with
the plugin in scripts/checks/mcp_fixture, which adds the suite's tools, resources and prompts as any plugin does.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path


def main() -> int:
    check = str(Path(__file__).with_name("mcp.py"))
    sides = [subprocess.run([sys.executable, check, *sys.argv[1:], "--only", side]) for side in ("client", "server")]
    return max(done.returncode for done in sides)


if __name__ == "__main__":
    sys.exit(main())
