"""Python packages that tools need: found without importing them, or the line that installs them."""

import shlex
import sys

import pytest

from quintet.adapters.processes.python_environment import install_line, package_part


def test_a_package_that_is_there_is_ready_with_its_version() -> None:
    part = package_part("settings files", "msgspec", "any")
    assert part.ready
    assert part.found.startswith("msgspec 0.")
    assert part.missing == ""


@pytest.mark.parametrize("module", ["no_such_module", "no_such.module", "json.no_such"])
def test_a_package_that_is_not_there_comes_with_the_line_to_paste(module: str) -> None:
    part = package_part("gadgets", module, "tools")
    assert not part.ready
    assert part.missing == "gadgets: quintet install tools"


def test_the_line_for_a_package_of_no_part_can_be_pasted() -> None:
    words = shlex.split(install_line("gadgets>=2"))
    assert words == [sys.executable, "-m", "pip", "install", "gadgets>=2"]
