"""The program's entry: prints its version and what failed, and imports `commands` for all else."""

from __future__ import annotations

import gc
import os
import sys
from itertools import pairwise

from quintet import __version__

FORMAT = "--output-format"


def main(argv: list[str] | None = None) -> int:
    code = _main(sys.argv[1:] if argv is None else argv)
    if argv is None:
        gc.freeze()  # the process ends: to look through all of it for garbage is a quarter of a short run
    return code


def _main(arguments: list[str]) -> int:
    if arguments[:1] in (["--version"], ["-V"]):
        sys.stdout.write(f"quintet {__version__}\n")
        return 0
    gc.set_threshold(50_000)  # what a start makes stays: looking through it again and again for garbage finds none
    if sys.stdout is None:  # closed before we began: there is nobody to say anything to
        sys.stdout = open(os.devnull, "w")  # noqa: SIM115
    debug = "--debug" in arguments or bool(os.environ.get("QUINTET_DEBUG"))
    arguments = [argument for argument in arguments if argument != "--debug"]
    try:
        from quintet.cli.commands import dispatch

        code = dispatch(arguments)
        sys.stdout.flush()
        return code
    except BrokenPipeError:
        _let_stdout_go()
        return 1
    except KeyboardInterrupt:
        return 130
    except Exception as error:
        return _failed(error, debug, as_json=_wants_json(arguments))
    except BaseException as error:
        if type(error).__name__ == "CancelledError":  # a second interrupt; asyncio is not imported to name it
            return 130
        raise


def _wants_json(arguments: list[str]) -> bool:
    """Whether a result was asked for as JSON: what fails before there is a session is one, too."""
    following = dict(pairwise(arguments))
    chosen = next((one.partition("=")[2] for one in arguments if one.startswith(f"{FORMAT}=")), following.get(FORMAT))
    return chosen in ("json", "stream-json")


def _failed(error: Exception, debug: bool, *, as_json: bool) -> int:
    from quintet.domain.base.errors import QuintetError
    from quintet.domain.base.remedies import where_to_read
    from quintet.surfaces.tables import complain, say_failure

    if debug or not isinstance(error, QuintetError | OSError):
        import traceback

        traceback.print_exception(error)
    if as_json:
        return say_failure(error)
    if isinstance(error, QuintetError):
        complain("\n".join(filter(None, (f"quintet: {error}", where_to_read(error.code)))))
        return error.exit_code
    if isinstance(error, OSError):
        _let_stdout_go()
        where = f"{error.filename}: " if error.filename else ""
        complain(f"quintet: {where}{error.strerror or error}")
    return 1


def _let_stdout_go() -> None:
    """The reader of our output is gone: nothing more can be said there, and Python must not try at exit."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
