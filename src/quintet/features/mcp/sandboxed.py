"""What a server's program gets to see behind the sandbox, and what it was hidden from it, when it does not start.

The program that the user's own settings name is shown with what it is made of, and the folders they give. What a
project names is shown nothing outside the project. A folder that holds the project, the home or Quintet's own files is
never given.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence

from quintet.adapters.files.real_path import real_path
from quintet.adapters.processes.host_programs import acts_on_programs
from quintet.adapters.processes.host_programs import program as program_on_path
from quintet.adapters.sandbox.host_mounts import below, home, shown_folders, toolchains
from quintet.domain.base.lazy_regex import regex
from quintet.features.mcp.values import OWN_SETTINGS, McpServer

ENV = "/usr/bin/env"
SCRIPTS = (".js", ".mjs", ".cjs", ".ts", ".py", ".jar", ".rb", ".sh")
PACKAGE = ("package.json", "pyproject.toml", "pyvenv.cfg", "node_modules")  # beside these, a package begins
FETCHING = frozenset({"npx", "uvx", "bunx", "pnpx", "pipx", "docker", "podman", "deno"})  # that get what they run
# Programs of these are found by their own folders in the home, which a server's home of its own does not have.
TOOL_HOMES = {
    "PYENV_ROOT": ".pyenv",
    "RBENV_ROOT": ".rbenv",
    "ASDF_DATA_DIR": ".asdf",
    "CARGO_HOME": ".cargo",
    "RUSTUP_HOME": ".rustup",
    "VOLTA_HOME": ".volta",
    "MISE_DATA_DIR": ".local/share/mise",
    "UV_PYTHON_INSTALL_DIR": ".local/share/uv/python",
    "GOPATH": "go",
}
_OFFLINE = regex(
    r"ENOTFOUND|EAI_AGAIN|ENETUNREACH|ECONNREFUSED|getaddrinfo|name resolution|unreachable|dns error|Failed to fetch"
)


def whole(path: str) -> str:
    return real_path(os.path.expanduser(path))


def refused_folder(paths: Iterable[str], root: str, private: Sequence[str]) -> str:
    """Why one of these folders cannot be given to a server; empty if all can."""
    for given in paths:
        path = whole(given)
        if not os.path.isabs(os.path.expanduser(given)):
            return f"{given}: expected an absolute path, or one that begins with ~"
        if any(below(place, path) for place in (root, home())):
            return f"{given} contains the project or your home: name a folder inside"
        if any(below(path, own) or below(own, path) for own in map(real_path, private)):
            return f"{given} contains Quintet's own files"
    return ""


def read_folders(server: McpServer, root: str, private: Sequence[str] = ()) -> tuple[str, ...]:
    """The folders outside the project that its program may read: those given, and what it is made of."""
    given = [whole(path) for path in server.folders]
    if server.origin == OWN_SETTINGS and server.command:
        found = [_package(path) for path in _programs(server)]
        given += [path for path in found if path and not refused_folder((path,), root, private)]
    there = list(dict.fromkeys(path for path in given if os.path.exists(path)))
    # What lies in another one of them is shown with it, and a link there cannot be mounted on.
    return tuple(path for path in there if not any(path != other and below(path, other) for other in there))


def _programs(server: McpServer) -> list[str]:
    """The files it is run from: the program, where links lead, and the script among its arguments."""
    first = os.path.expanduser(server.command[0])
    program = first if os.path.isabs(first) else program_on_path(first) or ""
    words = [os.path.expanduser(word) for word in server.command[1:]]
    scripts = [word for word in words if os.path.isabs(word) and word.endswith(SCRIPTS)][:1]
    files = [path for path in (program, *scripts) if path and os.path.isfile(path)]
    seen = _seen()
    return [one for path in files for one in dict.fromkeys((path, real_path(path))) if not _among(one, seen)]


def _package(path: str) -> str:
    """The folder that a program needs: its package or environment, else the folder it lies in."""
    folder = os.path.dirname(path)
    above = folder
    while len(above) > len(home()) and below(above, home()):
        if any(os.path.exists(os.path.join(above, mark)) for mark in PACKAGE):
            return above
        above = os.path.dirname(above)
    return os.path.dirname(folder) if os.path.basename(folder) == "bin" and folder.count("/") > 2 else folder


def hidden(server: McpServer, root: str, shown: Sequence[str]) -> list[str]:
    """What its command, arguments and variables name that is on this machine, and that it cannot see."""
    seen = (*_seen(), root, *shown)
    named = [server.command[0], *server.command[1:], *server.env.values()] if server.command else []
    paths = [os.path.expanduser(word.rpartition("=")[2] if word.startswith("-") else word) for word in named]
    if server.command and not os.path.isabs(paths[0]):
        paths[0] = program_on_path(paths[0]) or ""
    return list(dict.fromkeys(path for path in paths if _is_hidden(path, seen)))


def _is_hidden(path: str, seen: Sequence[str]) -> bool:
    """A file that is to be made counts by the folder it would be in."""
    if not os.path.isabs(path) or len(path) > 4_000 or "\n" in path or "\0" in path:
        return False
    there = path if os.path.lexists(path) else os.path.dirname(path)
    return os.path.exists(there) and there not in ("/", "/tmp") and not _among(there, seen)


def start_hint(server: McpServer, concealed: Sequence[str], said: str) -> str:
    """The likely cause of a start that failed, and the setting that changes it; empty where nothing shows one."""
    if concealed:
        folders = dict.fromkeys(os.path.dirname(path) if os.path.isfile(path) else path for path in concealed)
        given = ", ".join(f'"{folder}"' for folder in folders)
        named = ", ".join(concealed)
        return f" Hidden by the sandbox: {named}; [mcp.servers.{server.name}] folders = [{given}] shows it."
    offline = server.command and (os.path.basename(server.command[0]) in FETCHING or _OFFLINE.search(said))
    if offline and not server.network:
        return " It has no network; `network = true` in its settings gives one."
    return ""


def tool_homes() -> dict[str, str]:
    """Where the toolchains of the user's home are, for programs that would look in their own."""
    found = {name: os.path.join(home(), folder) for name, folder in TOOL_HOMES.items()}
    return {name: path for name, path in found.items() if os.path.isdir(path)}


def _seen() -> tuple[str, ...]:
    return (*shown_folders(), *toolchains(), "/proc", "/dev")


def _among(path: str, folders: Sequence[str]) -> bool:
    return any(below(path, folder) for folder in folders)


def set_inside(argv: tuple[str, ...], variables: Mapping[str, str]) -> tuple[tuple[str, ...], dict[str, str]]:
    """The command that sets, inside the sandbox, the variables that would act on the programs which build it, and the
    rest of the variables. Those hold no secrets: they say what is loaded, and from where."""
    inside = {name: value for name, value in variables.items() if acts_on_programs(name)}
    if not inside:
        return argv, dict(variables)
    words = (ENV, *(f"{name}={value}" for name, value in inside.items()), *argv)
    return words, {name: value for name, value in variables.items() if name not in inside}
