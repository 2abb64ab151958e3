"""`python -m quintet`."""

from quintet.cli import main

raise SystemExit(main())
