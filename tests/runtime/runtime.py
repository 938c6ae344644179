"""Shared by the tests of aitherion-runtime: starting servers, and a client in Python.

The client makes its messages with `capnp` and its proofs with Python's hmac: a second implementation of proto/control.capnp.
"""
import contextlib
import functools
import hashlib
import hmac
import json
import os
import select
import shutil
import signal
import socket
import struct
import subprocess
import sys
import time

SOURCE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(SOURCE, "tests", "tools"))

import harness  # noqa: E402

SCHEMA = os.path.join(SOURCE, "proto", "control.capnp")
KEY = b"a shared key\n\0of any bytes\xff"
HAS_CAPNP = shutil.which("capnp") is not None
IS_SANITIZED = os.environ.get("AITHERION_SANITIZED") == "1"
HAS_OWN_ADDRESSES = os.environ.get("AITHERION_SANITIZED") != "threads"  # ThreadSanitizer ends a program that maps memory at our addresses


def binary():
    return os.path.join(harness.build(), "aitherion-runtime")


def run(*arguments, **options):
    """Runs aitherion-runtime to its end."""
    return harness.run(command=[binary(), *arguments], **options)


@functools.lru_cache(maxsize=None)
def key_file(content=KEY):
    path = os.path.join(harness.scratch(), "key-" + hashlib.sha256(content).hexdigest()[:8])
    with open(path, "wb") as file:
        file.write(content)
    os.chmod(path, 0o644)  # whatever the umask
    os.chmod(path, 0o600)
    return path


def as_user(user):
    """The options of subprocess for a program of another user, without further groups."""
    return {} if user is None else {"user": user, "group": user, "extra_groups": []}


class Server:
    """A server that listens on a free port of the loopback, and on a unix socket; `log` after its end. `prefix` are the words
    in front of its command line, `log_path` is where its log goes instead. `keys` is a folder of keys, instead of the one key. `user` is the
    user that runs it, instead of this one."""

    def __init__(self, *arguments, key=KEY, keys=None, listen="127.0.0.1:0", env=None, prefix=(), log_path=None, user=None):
        self.socket = os.path.join(harness.scratch(), f"socket-{time.monotonic_ns()}")
        self.authentication = ["--key", keys or key_file(key)] if keys or key is not None else ["--no-auth"]
        self.key = key
        self.log_path = log_path or self.socket + ".log"
        words = ["serve", "--socket", self.socket, *self.authentication, *arguments]
        words += ["--listen", listen] if listen else []
        with open(self.log_path, "w", encoding="utf-8") as log:
            self.process = subprocess.Popen([*prefix, binary(), *words], stdout=subprocess.PIPE, stderr=log, text=True,
                                            env=env or harness.environment(), stdin=subprocess.DEVNULL, **as_user(user))
        self.listening = self.process.stdout.readline().strip()
        if not self.listening.startswith("listening on "):
            self.process.wait(harness.PATIENCE_S)
            raise AssertionError(f"the server does not listen: {self.listening!r} {self.log()}")
        self.process.stdout.readline()  # the socket's line
        self.address = self.listening[len("listening on "):]
        self.port = int(self.address.rsplit(":", 1)[1])

    def log(self):
        with open(self.log_path, encoding="utf-8") as file:
            return file.read()

    def wait_for_log(self, word):
        return harness.wait_until(lambda: word in self.log())

    def health(self, *arguments):
        return run("health", "--server", self.address, *self.authentication, "--timeout", str(harness.PATIENCE_S), *arguments)

    def is_well(self):
        """Waits until the server itself reports it, on a busy machine as soon as it has seen that others are gone."""
        return harness.wait_until(lambda: self.health().returncode == 0)

    def connect(self):
        return socket.create_connection(("127.0.0.1", self.port), timeout=harness.PATIENCE_S)

    def children(self):
        """The process ids of its sessions."""
        return harness.children_of(self.process.pid)

    def stop(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        status = self.process.wait(harness.PATIENCE_S)
        self.process.stdout.close()
        return status

    def __enter__(self):
        return self

    def __exit__(self, *_):
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.stop()
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()


@functools.lru_cache(maxsize=None)
def _encoded(text):
    return subprocess.run(["capnp", "convert", "json:binary", SCHEMA, "Message"], input=text.encode(), stdout=subprocess.PIPE,
                          check=True).stdout


PROTOCOL = 3  # proto/control.capnp


def encode(message):
    return _encoded(json.dumps(message, ensure_ascii=False))  # capnp misreads \u escapes that have letters


def decode(frame):
    return json.loads(subprocess.run(["capnp", "convert", "--quiet", "binary:json", SCHEMA, "Message"], input=frame,
                                     stdout=subprocess.PIPE, check=True).stdout)


def read_bytes(connection, count):
    """Reads so many bytes, or fewer if the peer closes the connection. MSG_WAITALL returns fewer at a socket with a time limit."""
    data = b""
    while len(data) < count:
        piece = connection.recv(count - len(data))
        if not piece:
            break
        data += piece
    return data


def read_frame(connection):
    """Reads one frame; b"" if the peer has closed the connection."""
    head = read_bytes(connection, 8)
    if not head:
        return b""
    segments, words = struct.unpack("<II", head)
    assert segments == 0, head
    return head + read_bytes(connection, 8 * words)


def proof(key, side, hello, challenge, client_proof=b""):
    text = b"aitherion " + side.encode() + b" 1\0"
    for frame in (hello, challenge):
        text += struct.pack("<Q", len(frame)) + frame
    return hmac.new(key, text + client_proof, "sha256").digest()


class Refused(Exception):
    pass


class Session:
    """A session over a connected socket; the frames of its handshake are kept, for replaying them."""

    def __init__(self, connection, key=KEY, purpose="control", nonce=bytes(range(32)), name=""):
        self.connection = connection
        self.hello = encode({"hello": {"protocol": PROTOCOL, "protocolMin": PROTOCOL, "software": "test", "purpose": purpose,
                                       "nonce": list(nonce), "hasKey": key is not None, "keyName": name}})
        connection.sendall(self.hello)
        self.challenge = self.receive("challenge")
        self.mac = proof(key, "client", self.hello, self.challenge) if key is not None else b""
        self.proof = encode({"proof": {"mac": list(self.mac)}})
        connection.sendall(self.proof)
        welcome = decode(self.receive("welcome"))["welcome"]
        if key is not None:
            assert bytes(welcome["mac"]) == proof(key, "server", self.hello, self.challenge, self.mac)
        self.id = int(welcome["session"])

    def receive(self, wanted):
        frame = read_frame(self.connection)
        if not frame:
            raise Refused("closed")
        message = decode(frame)
        if "refusal" in message:
            raise Refused(message["refusal"]["reason"])
        assert wanted in message, message
        return frame

    def ask(self, question, answer):
        self.connection.sendall(encode(question))
        return decode(self.receive(answer))[answer]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.connection.close()


HELLO = {"hello": {"protocol": PROTOCOL, "protocolMin": PROTOCOL, "software": "test", "purpose": "cuda", "nonce": [9] * 32, "hasKey": True}}


def greet(connection):
    """Sends a right hello and reads the challenge: from then on the connection has a process, which waits for the proof."""
    connection.sendall(encode(HELLO))
    return read_frame(connection)


def quick_session(connection):
    """Shakes hands without a key, with fixed messages, so that no tool runs for it."""
    connection.sendall(encode({"hello": {"protocol": PROTOCOL, "protocolMin": PROTOCOL, "software": "test", "purpose": "control",
                                         "nonce": [7] * 32, "hasKey": False}}))
    read_frame(connection)
    connection.sendall(encode({"proof": {"mac": []}}))
    read_frame(connection)
    return connection


def is_closed(connection, patience_s=harness.PATIENCE_S):
    """Whether the other side closes a connection; bytes before that are ignored."""
    end = time.monotonic() + patience_s
    while time.monotonic() < end:
        if select.select([connection], [], [], max(end - time.monotonic(), 0))[0]:
            try:
                if not connection.recv(65536):
                    return True
            except ConnectionResetError:
                return True
    return False
