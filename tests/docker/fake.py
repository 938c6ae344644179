"""A fake daemon on its own socket that answers byte by byte as a test wants."""
import os
import shutil
import socket
import ssl
import tempfile
import threading

import harness

CRLF = b"\r\n"


def answer(status=200, body=b"", headers=(), api="1.41", length=None):
    """Returns a whole HTTP answer. length: a wrong Content-Length; False: no such header."""
    lines = [f"HTTP/1.1 {status} Word".encode()]
    if api:
        lines.append(f"Api-Version: {api}".encode())
    if length is not False:
        lines.append(f"Content-Length: {len(body) if length is None else length}".encode())
    lines += [header.encode() for header in headers]
    return CRLF.join(lines) + CRLF + CRLF + body


def chunk(data):
    return f"{len(data):x}".encode() + CRLF + data + CRLF


class Fake:
    """
    script(connection, method, path, body) writes to the connection (a socket), which is closed afterwards. If ping is not None,
    the fake answers /_ping itself. `requests` lists the requests.
    """

    def __init__(self, script, ping=None, path=None, tls=None, tcp=False, reads_body=True):
        self.script, self.reads_body, self.requests, self.tls = script, reads_body, [], tls
        self.ping = answer(200, b"OK") if ping is None else ping
        self.folder = None
        if tcp or tls:
            self.listener = socket.create_server(("127.0.0.1", 0))
            self.host = "tcp://127.0.0.1:%d" % self.listener.getsockname()[1]
        else:
            if not path:
                self.folder = tempfile.mkdtemp(prefix="ath-fake-")
            self.path = path or os.path.join(self.folder, "d.sock")
            self.listener = socket.socket(socket.AF_UNIX)
            self.listener.bind(self.path)
            self.listener.listen(64)
            self.host = "unix://" + self.path
        self.listening = threading.Thread(target=self._listen, daemon=True)
        self.listening.start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        # A thread about to accept() would otherwise use the next file that gets this descriptor's number.
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listening.join()
        self.listener.close()
        if self.folder:
            shutil.rmtree(self.folder)

    def wait_for_requests(self, path, count=1):
        """Waits until the fake has received `count` requests for a path."""
        harness.wait_until(lambda: sum(path in request[1] for request in self.requests) >= count)

    def _listen(self):
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection):
        try:
            if self.tls:
                connection = self.tls.wrap_socket(connection, server_side=True)
            with connection:
                self._answer(connection)
        except (OSError, ssl.SSLError):
            pass

    def _answer(self, connection):
        data = b""
        while CRLF + CRLF not in data:
            more = connection.recv(65536)
            if not more:
                return
            data += more
            if data.startswith(b"\x16"):  # TLS although the fake has none
                connection.sendall(answer(400, b"Client sent an HTTPS request to an HTTP server."))
                return
        head, body = data.split(CRLF + CRLF, 1)
        method, path, _ = head.split(CRLF)[0].decode().split(" ")
        headers = {name.lower(): value.strip() for name, value in
                   (line.decode().split(":", 1) for line in head.split(CRLF)[1:])}
        while self.reads_body and len(body) < int(headers.get("content-length", 0)):
            body += connection.recv(65536)
        while self.reads_body and headers.get("transfer-encoding") == "chunked" and not body.endswith(b"0\r\n\r\n"):
            body += connection.recv(65536)
        self.requests.append((method, path, headers, body))
        if path == "/_ping":
            connection.sendall(self.ping)
        else:
            self.script(connection, method, path, body)
