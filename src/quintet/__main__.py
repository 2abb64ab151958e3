"""`python -m quintet`."""

from quintet.cli.main import main

raise SystemExit(main())
