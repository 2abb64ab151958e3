"""What the scripts of the sandbox repeat, since they are run alone, is the same in each."""

import ast
from pathlib import Path

from quintet.adapters import sandbox
from quintet.adapters.sandbox import bubblewrap, confine, lfs_filter, sandbox_init, user_network
from quintet.adapters.sandbox import kept_sandbox_init as room

SCRIPTS = [confine, sandbox_init, room, user_network, lfs_filter]


def test_the_exit_code_and_words_of_a_sandbox_that_could_not_be_put_up() -> None:
    assert (sandbox_init.NOT_CONFINED, sandbox_init.COMPLAINT) == (confine.NOT_CONFINED, confine.COMPLAINT)


def test_the_name_server_of_a_network_of_its_own() -> None:
    assert bubblewrap.NAME_SERVER == user_network.NAME_SERVER


def test_the_signals_that_a_command_finds_as_usual() -> None:
    assert set(confine._TO_DEFAULT) == set(sandbox_init._TO_DEFAULT) == set(room._TO_DEFAULT)


def test_scripts_that_are_run_alone_import_nothing_of_quintet() -> None:
    folder = Path(sandbox.__file__).parent
    for module in SCRIPTS:
        tree = ast.parse((folder / f"{module.__name__.rpartition('.')[2]}.py").read_text())
        named = [node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
        named += [alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names]
        assert not [name for name in named if name.startswith("quintet")], module
