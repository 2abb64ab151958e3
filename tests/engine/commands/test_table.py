"""The slash-command table: what is loaded late is there when it is expected."""

import inspect
import re
from importlib import import_module

import pytest

from quintet.domain.base.errors import UsageError
from quintet.engine.commands import table

LATE = re.findall(r'_later\("(\w+):(\w+)"\)', inspect.getsource(table))


def test_every_handler_that_is_loaded_late_is_there() -> None:
    assert len(LATE) == 20
    for module, function in LATE:
        assert callable(getattr(import_module(f"quintet.engine.commands.{module}"), function))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("/status now please", '/status takes no words; leave out "now please"'),
        ("/reasoning on now", '/reasoning [on|off] takes one word; leave out "now"'),
        ("/status\nfind total", "/status is one line, and nothing was done"),
        ("/mode build\n/status", "/mode is followed by another command, and nothing was done"),
    ],
)
def test_words_and_lines_that_a_command_has_no_use_for_are_refused(text: str, said: str) -> None:
    with pytest.raises(UsageError) as refused:
        table.parse(text)
    assert said in refused.value.message


@pytest.mark.parametrize(
    "text", ["/plan a\nb", "/review\nthe tests only", "/rate 4\nquick", "/model builtin\nfind total"]
)
def test_lines_below_a_command_that_takes_them_stay_with_it(text: str) -> None:
    assert table.parse(text)[1].details == text.split("\n")[1]
