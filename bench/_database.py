"""A PostgreSQL server for a measurement, with the tables of Quintet in its database `bench`."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager

sys.path.insert(0, os.path.join(os.path.dirname(__file__), os.pardir))

from tests.postgres import Server as Server

from quintet.features.postgres.link import ServerLink
from quintet.features.postgres.schema import migrate


@contextmanager
def database_server(folder: str) -> Iterator[Server]:
    """With its usual durability, its files in the folder."""
    os.chmod(folder, 0o755)  # the server may run as another user
    server = Server(durable=True, folder=folder)
    try:
        server.execute("CREATE DATABASE bench")
        link = ServerLink(server.url("bench"), reads_only=False)
        migrate(link, init=True)
        link.close()
        yield server
    finally:
        server.close()
