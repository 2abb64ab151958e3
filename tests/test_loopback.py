"""The loopback server of the tests ends also while a client keeps a connection open."""

import http.client
import socket
import threading

from tests.loopback import Answer, serving


def test_connections_that_are_kept_open_do_not_keep_the_server() -> None:
    kept: list[http.client.HTTPConnection | socket.socket] = []

    def use() -> None:
        with serving(lambda asked: Answer("here")) as server:
            asking = http.client.HTTPConnection("127.0.0.1", server.port)
            asking.request("GET", "/a")
            assert asking.getresponse().read() == b"here"
            kept.extend((asking, socket.create_connection(("127.0.0.1", server.port))))

    user = threading.Thread(target=use, daemon=True)
    user.start()
    user.join(60)
    assert len(kept) == 2 and not user.is_alive()
    for connection in kept:
        connection.close()
