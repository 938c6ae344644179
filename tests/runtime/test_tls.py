#!/usr/bin/env python3
"""Encrypted sessions (src/remote/tls): which connections are encrypted, attackers on the path, and other versions."""
import contextlib
import json
import shutil
import socket
import struct
import subprocess
import threading
import time
import unittest
import zlib

import runtime
from cuda import MIB, Program
from runtime import Refused, Server, Session, decode, encode, harness, read_frame
from test_cuda import GOOD, Base, needs_capnp

ON = {"AITHERION_ENCRYPT": "on"}
OTHER_KEY = b"another shared key of many bytes"
UP, DOWN = "to the server", "to the client"
HANDSHAKE_S = 5  # of the server


def serve(*arguments, encrypt="on", **options):
    env = harness.environment(AITHERION_SIM_MEMORY="256M", AITHERION_SIM_DEVICES="1")
    return Server("--sim", *arguments, "--encrypt", encrypt, env=env, **options)


def ask(address, key=runtime.KEY, encrypt="auto"):
    """`aitherion-runtime health` at an address."""
    authentication = ["--key", runtime.key_file(key)] if key is not None else ["--no-auth"]
    return runtime.run("health", "--server", address, *authentication, "--timeout", str(harness.PATIENCE_S), "--encrypt", encrypt)


def units(waiting):
    """Cuts whole records of TLS, and whole frames of ours, from the front of a bytearray."""
    while len(waiting) >= (5 if waiting[:1] > b"\0" else 8):
        if waiting[0]:
            length = 5 + struct.unpack(">H", waiting[3:5])[0]
        else:
            length = 8 + 8 * struct.unpack("<I", waiting[4:8])[0]
        if len(waiting) < length:
            return
        yield bytes(waiting[:length])
        del waiting[:length]


class Path:
    """An attacker on the path: a listener that hands records on, keeps them in `seen`, and lets `change` say what goes on in place of
    each: change(direction, connection's number, record's number, record) -> bytes. A plain session's bytes go on as they come."""

    def __init__(self, target, change=None, is_plain=False):
        self.target, self.change, self.is_plain = target, change, is_plain
        self.seen = []  # (direction, connection, record)
        self.lock = threading.Lock()
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.address = f"127.0.0.1:{self.listener.getsockname()[1]}"
        self.open = []
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        for number in range(1000):
            try:
                near, _ = self.listener.accept()
                far = socket.create_connection(("127.0.0.1", self.target))
            except OSError:
                return
            with self.lock:
                self.open += [near, far]
            for direction, source, sink in ((UP, near, far), (DOWN, far, near)):
                source.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                threading.Thread(target=self.hand_on, args=(direction, number, source, sink), daemon=True).start()

    def hand_on(self, direction, number, source, sink):
        waiting, count = bytearray(), 0
        with contextlib.suppress(OSError):
            while got := source.recv(65536):
                waiting += got
                for unit in [got] if self.is_plain else units(waiting):
                    with self.lock:
                        self.seen.append((direction, number, unit))
                    sink.sendall(self.change(direction, number, count, unit) if self.change else unit)
                    count += 1
        with contextlib.suppress(OSError):
            sink.shutdown(socket.SHUT_WR)

    def bytes(self, direction=None, connection=None):
        with self.lock:
            return b"".join(unit for d, c, unit in self.seen if direction in (None, d) and connection in (None, c))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.listener.close()
        for connection in self.open:
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
            connection.close()


def flip(unit):
    return unit[:-1] + bytes([unit[-1] ^ 1])


def inject(unit):
    """A record that the attacker made goes first."""
    return b"\x17\x03\x03\x00\x20" + bytes(32) + unit


class Attack:
    """Does something to one record, and to the one behind it."""

    def __init__(self, kind, direction, connection, record):
        self.kind, self.where = kind, (direction, connection, record)
        self.kept, self.is_done = b"", False

    def __call__(self, direction, connection, record, unit):
        if (direction, connection, record) == self.where:
            self.is_done = True
            self.kept = unit
            return {"flipped": flip(unit), "injected": inject(unit), "twice": unit * 2, "left out": b"", "swapped": b""}[self.kind]
        if self.kind == "swapped" and self.kept and (direction, connection) == self.where[:2]:
            unit, self.kept = unit + self.kept, b""
        return unit


class Seen(Base):
    """An attacker on the path reads nothing."""

    @staticmethod
    def at_work(path, env):
        with Program(path.address, env=env) as program:
            assert program.first == GOOD
            assert program.do("fill 1000") == f"{GOOD} right"
            assert program.do(f"bring 2 {3 * MIB}") == f"{GOOD} right"
            assert program.do("files") is not None
            program.end()
        return path.bytes()

    def test_nothing_can_be_read(self):
        data = struct.pack("<8I", *range(7000, 7056, 7))  # a part of what "bring" copies
        with serve(encrypt="auto") as server, Path(server.port, is_plain=True) as path:
            plain = self.at_work(path, {"AITHERION_ENCRYPT": "off"})
        self.assertIn(b"cuda_steps", plain)
        self.assertIn(data, plain)
        self.assertLess(len(zlib.compress(plain, 1)), len(plain) * 0.9)
        with serve() as server, Path(server.port) as path:
            secret = self.at_work(path, ON)
            self.assertIn("encrypted=yes", server.log())
            self.assertEqual(len({number for _, number, _ in path.seen if len(path.bytes(UP, number)) > MIB // 2}), 4)
        self.assertGreater(len(secret), 6 * MIB)
        for word in (b"cuda_steps", b"aitherion", b"Launch", data):
            self.assertNotIn(word, secret)
        self.assertGreater(len(zlib.compress(secret, 1)), len(secret) * 0.995)

    def test_control_sessions_are_encrypted_too(self):
        with serve() as server, Path(server.port) as path:
            self.assertEqual(ask(path.address, encrypt="on").returncode, 0)
            self.assertNotIn(b"aitherion", path.bytes())
            self.assertGreater(len(path.bytes(DOWN)), 300)


class Changed(Base):
    """An attacker on the path can only end the session."""

    def attack(self, kind, direction, connection, record, step):
        attack = Attack(kind, direction, connection, record)
        with serve() as server, Path(server.port, attack) as path:
            with Program(path.address, env={**ON, "AITHERION_CONNECT_TIMEOUT": "1"}, alone=True) as program:
                ends = program.first
                if ends == GOOD:  # not everything comes before cuInit() has returned
                    ends = program.do(step)
                self.assertTrue(attack.is_done)
                if ends.startswith(GOOD):  # the answer came before the session noticed the record behind it
                    ends = program.do("fill 1000")
                self.assertFalse(ends.startswith(GOOD), f"{kind} {direction}: {ends}")
            self.check_alone(server)
            self.assertRegex(server.log(), "event=session-(broken|closed)")
            self.assertEqual(ask(server.address, encrypt="on").returncode, 0)

    def test_the_handshake(self):
        """TLS's own and ours, which is inside: the fourth record of the client is the hello. A record without a meaning, for networks
        that know TLS 1.2 only, is the second on each side (RFC 8446, D.4)."""
        for direction, record in ((UP, 0), (UP, 2), (UP, 3), (UP, 4), (DOWN, 0), (DOWN, 2), (DOWN, 3), (DOWN, 4)):
            for kind in ("flipped", "injected"):
                with self.subTest(direction=direction, record=record, kind=kind), serve() as server:
                    attack = Attack(kind, direction, 0, record)
                    with Path(server.port, attack) as path:
                        self.assertNotEqual(ask(path.address, encrypt="on").returncode, 0)
                    self.assertTrue(attack.is_done)
                    self.assertEqual(ask(server.address, encrypt="on").returncode, 0)

    def test_calls_to_the_server(self):
        for kind in ("flipped", "injected", "twice"):
            with self.subTest(kind):
                self.attack(kind, UP, 0, 12, "fill 1000")

    def test_answers(self):
        for kind in ("flipped", "injected", "twice"):
            with self.subTest(kind):
                self.attack(kind, DOWN, 0, 14, "fill 1000")

    def test_shares_of_large_copies(self):
        for direction, step in ((UP, f"bring 2 {4 * MIB}"), (DOWN, f"fetch 2 {4 * MIB}")):
            for kind in ("flipped", "twice", "left out", "swapped"):
                with self.subTest(direction=direction, kind=kind):
                    self.attack(kind, direction, 2, 20, step)

    def test_what_was_recorded_opens_nothing_again(self):
        with serve() as server, Path(server.port) as path:
            with Program(path.address, env=ON, alone=True) as program:
                self.assertEqual(program.do("fill 1000"), f"{GOOD} right")
                program.end()
            opened = server.log().count("event=session-opened")
            for number in range(4):
                with server.connect() as again:
                    with contextlib.suppress(OSError):
                        again.sendall(path.bytes(UP, number))
                        again.shutdown(socket.SHUT_WR)
                    self.assertTrue(runtime.is_closed(again))
            self.check_alone(server)
            self.assertEqual(server.log().count("event=session-opened"), opened)
            self.assertEqual(server.log().count("event=session-refused") + server.log().count("event=session-broken") +
                             server.log().count("event=connection-refused"), 4, server.log())

    def test_a_connection_to_join_cannot_be_taken_over(self):
        """An attacker on the path sees the join and sends it first, but has no key for the rest."""
        def change(direction, connection, record, unit):
            if direction == UP and connection == 1 and not unit[0] and not stolen:
                stolen.append(unit)
                with socket.create_connection(("127.0.0.1", server.port), timeout=harness.PATIENCE_S) as thief:
                    thief.sendall(unit + b"\x16\x03\x01\x00\x05hello")
                    with contextlib.suppress(OSError):
                        stolen.append(thief.recv(65536))
                return b""
            return unit
        stolen = []
        with serve() as server, Path(server.port, change) as path:
            with Program(path.address, env=ON, alone=True) as program:
                self.assertNotEqual(program.first, "")
                self.assertFalse(program.do("fill 10").startswith(GOOD))
            self.assertTrue(stolen)
            self.check_alone(server)

    def test_relaying_to_another_server(self):
        with serve(key=OTHER_KEY) as other, Path(other.port) as path:
            result = ask(path.address, encrypt="on")
            self.assertEqual(result.returncode, 5, result.stderr)
            self.assertIn("the server has another key", result.stderr)
            self.assertTrue(other.wait_for_log("reason=keyWrong"))


class Stripped(Base):
    """Servers that answer TLS with something else: the client never goes on plain."""

    def fake(self, answer, expected, code, key=runtime.KEY, encrypt="on"):
        listener = socket.create_server(("127.0.0.1", 0))
        firsts = []

        def serve_fake():
            with contextlib.suppress(OSError):
                while True:
                    connection, _ = listener.accept()
                    with connection:
                        firsts.append(connection.recv(65536))
                        connection.sendall(answer)
                        connection.shutdown(socket.SHUT_WR)
                        while connection.recv(65536):
                            pass
        threading.Thread(target=serve_fake, daemon=True).start()
        with listener:
            result = ask(f"127.0.0.1:{listener.getsockname()[1]}", key=key, encrypt=encrypt)
        self.assertEqual(result.returncode, code, result.stderr)
        self.assertIn(expected, result.stderr)
        self.assertTrue(firsts)
        return [first[0] for first in firsts]

    @needs_capnp
    def test_a_plain_challenge(self):
        challenge = encode({"challenge": {"protocol": runtime.PROTOCOL, "software": "evil", "nonce": [1] * 32, "wantsKey": True}})
        self.assertEqual(self.fake(challenge, "not valid here", 3), [0x16])

    @needs_capnp
    def test_a_plain_refusal(self):
        for reason, code, text in (("encryptionNotServed", 3, "the server does not encrypt"), ("keyNotWanted", 5, "has no key"),
                                   ("busy", 3, "too many"), ("encryptionWanted", 3, "wants this connection to be encrypted")):
            with self.subTest(reason):
                refusal = encode({"refusal": {"reason": reason, "message": "too many sessions"}})
                self.assertEqual(self.fake(refusal, text, code), [0x16])

    @needs_capnp
    def test_a_wish_for_encryption_is_followed_once(self):
        refusal = encode({"refusal": {"reason": "encryptionWanted", "message": ""}})
        self.assertEqual(self.fake(refusal, "wants this connection to be encrypted", 3, encrypt="auto"), [0, 0x16])

    def test_a_server_of_version_0_1_0(self):
        """It closes the connection as soon as it sees no frame."""
        self.assertEqual(self.fake(b"", "a server of version 0.1.0 cannot encrypt", 3), [0x16])


class Versions(Base):
    @needs_capnp
    def test_an_old_client_learns_why(self):
        hello = encode({"hello": {"protocol": 2, "protocolMin": 2, "software": "aitherion 0.1.0", "purpose": "cuda",
                                  "nonce": [3] * 32, "hasKey": True}})
        for encrypt in ("on", "auto"):
            with self.subTest(encrypt), serve(encrypt=encrypt) as server, server.connect() as connection:
                connection.sendall(hello)
                refusal = decode(read_frame(connection))["refusal"]
                self.assertEqual(refusal["reason"], "protocol")
                self.assertIn("this server speaks protocol 3", refusal["message"])
                self.assertTrue(runtime.is_closed(connection))


class Policy(Base):
    """The connections that are encrypted."""

    @needs_capnp
    def test_on_refuses_plain(self):
        with serve() as server:
            with self.assertRaises(Refused) as caught, Session(server.connect()):
                pass
            self.assertEqual(str(caught.exception), "encryptionWanted")
            result = ask(server.address, encrypt="off")
            self.assertEqual(result.returncode, 3)
            self.assertIn("wants this connection to be encrypted", result.stderr)
            self.assertEqual(ask(server.address, encrypt="on").returncode, 0)
            self.assertEqual(ask(server.address, encrypt="auto").returncode, 0)  # the client learns it from the refusal

    def test_off_refuses_tls(self):
        with serve(encrypt="off") as server:
            result = ask(server.address, encrypt="on")
            self.assertEqual(result.returncode, 3)
            self.assertIn("the server does not encrypt", result.stderr)
            self.assertEqual(ask(server.address).returncode, 0)
            problems = json.loads(server.health("--json").stdout)["server"]["problems"]
            self.assertEqual([one["severity"] for one in problems if one["code"] == "not-encrypted"], ["note"])
        for options in {"encrypt": "auto"}, {"encrypt": "off", "key": None}:  # the second one says that it has no key
            with serve(**options) as server:
                self.assertNotIn("not-encrypted", server.health("--json").stdout)

    def test_encryption_needs_a_key(self):
        with serve(encrypt="auto", key=None) as server:
            result = ask(server.address, encrypt="on")
            self.assertEqual(result.returncode, 5)
            self.assertIn("the server has no key", result.stderr)
            result = ask(server.address, key=None, encrypt="on")
            self.assertEqual(result.returncode, 5)
            self.assertIn("encryption needs the server's key", result.stderr)
        result = runtime.run("serve", "--sim", "--no-auth", "--listen", "127.0.0.1:0", "--encrypt", "on")
        self.assertEqual(result.returncode, 1)
        self.assertIn("'--encrypt on' needs a key", result.stderr)

    def test_wrong_words(self):
        for words in (["serve", "--sim", "--no-auth"], ["health", "--no-auth", "--server", "127.0.0.1:1"]):
            result = runtime.run(*words, "--encrypt", "maybe")
            self.assertNotEqual(result.returncode, 0)
            self.assertIn("'maybe' is not auto, on or off", result.stderr)
        result = harness.run("run", "--server", "127.0.0.1:1", "--", "true", env=harness.environment(AITHERION_ENCRYPT="maybe"))
        self.assertIn("AITHERION_ENCRYPT is 'maybe'", result.stderr)

    def test_unix_sockets_stay_plain(self):
        with serve() as server, Program(server.socket, env=ON) as program:
            self.assertEqual(program.do("fill 1000"), f"{GOOD} right")
            self.assertIn("encrypted=no", server.log())

    def test_a_wrong_key(self):
        with serve() as server:
            result = ask(server.address, key=OTHER_KEY, encrypt="on")
            self.assertEqual(result.returncode, 5)
            self.assertIn("the server has another key", result.stderr)
            self.assertTrue(server.wait_for_log("event=session-refused"))
            self.assertIn("reason=keyWrong", server.log())

    def test_auto_encrypts_what_leaves_the_host(self):
        make = ["unshare", "--net", "--map-root-user"]
        if not shutil.which("unshare") or not shutil.which("ip") or subprocess.run(
                [*make, "ip", "link", "set", "lo", "up"], stderr=subprocess.DEVNULL, check=False).returncode:
            self.skipTest("no network namespace of its own may be made here")
        script = "ip link set lo up; ip address add 192.0.2.1/32 dev lo; ip address add 2001:db8::1/128 dev lo; echo up; exec sleep 600"
        with subprocess.Popen([*make, "sh", "-c", script], stdout=subprocess.PIPE) as holder:
            try:
                self.assertEqual(holder.stdout.readline(), b"up\n")
                inside = ["nsenter", "-t", str(holder.pid), "--net", "--user", "--preserve-credentials"]
                for address, is_encrypted in (("127.0.0.1", "no"), ("192.0.2.1", "yes"), ("[::1]", "no"), ("[2001:db8::1]", "yes")):
                    with self.subTest(address), serve(encrypt="auto", listen=f"{address}:0", prefix=inside) as server:
                        with Program(server.address, prefix=inside) as program:
                            self.assertEqual(program.do("fill 1000"), f"{GOOD} right")
                        self.assertIn(f"encrypted={is_encrypted}", server.log())
                        with Program(server.address, prefix=inside, wait=False, alone=True, env={"AITHERION_ENCRYPT": "off"}) as program:
                            self.assertEqual(program.read() == GOOD, is_encrypted == "no")
                        self.assertEqual("reason=encryptionWanted" in server.log(), is_encrypted == "yes")
            finally:
                holder.kill()


class Silent(Base):
    def test_a_silent_peer_is_left_in_time(self):
        """As long as a plain one, wherever it falls silent."""
        hello = self.first_record()
        for begin in (b"\x16", hello[:100], hello):
            with self.subTest(len(begin)), serve() as server, server.connect() as connection:
                since = time.monotonic()
                connection.sendall(begin)
                self.assertTrue(runtime.is_closed(connection))
                self.assertGreater(time.monotonic() - since, HANDSHAKE_S / 2)
                self.check_alone(server)
                self.assertIn("took too long", server.log())

    @staticmethod
    def first_record():
        with serve() as server, Path(server.port) as path:
            ask(path.address, encrypt="on")
            return next(unit for direction, _, unit in path.seen if direction == UP)


if __name__ == "__main__":
    harness.main()
