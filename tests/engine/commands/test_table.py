"""The slash-command table: what is loaded late is there when it is expected."""

import inspect
import re
from importlib import import_module

from quintet.engine.commands import table

LATE = re.findall(r'_later\("(\w+):(\w+)"\)', inspect.getsource(table))


def test_every_handler_that_is_loaded_late_is_there() -> None:
    assert len(LATE) == 20
    for module, function in LATE:
        assert callable(getattr(import_module(f"quintet.engine.commands.{module}"), function))
