#!/usr/bin/env python3
"""Sessions with several connections (proto/control.capnp, Join): who may join, what large frames look like there, and what
happens when one of the connections is late, breaks, is missing or speaks nonsense."""
import contextlib
import functools
import hashlib
import hmac
import json
import os
import random
import socket
import struct
import subprocess
import threading
import time
import unittest

import runtime
from cuda import MIB, Program
from runtime import PROTOCOL, Session, decode, encode, harness, read_frame
from test_cuda import GONE, GOOD, Base, needs_capnp, serve

STRIPES = 3     # connections that a program opens besides its first one
LARGE = MIB     # frames of at least this many bytes are cut


def ticket_of(session, key=runtime.KEY):
    text = b"aitherion ticket 1\0"
    for frame in (session.hello, session.challenge):
        text += struct.pack("<Q", len(frame)) + frame
    return hmac.new(key, text, hashlib.sha256).digest()


@functools.cache  # encode() starts a program
def join_frame(number, session_id, ticket):
    mac = hmac.new(ticket, struct.pack("<I", number), hashlib.sha256).digest()
    return encode({"join": {"session": str(session_id), "number": number, "mac": list(mac)}})


def join(server, number, session_id, ticket):
    connection = server.connect()
    connection.sendall(join_frame(number, session_id, bytes(ticket)))
    return connection


def shares(frame, count):
    """The bytes of a large frame on each connection; the first one also has the head."""
    rest = frame[8:]
    length = len(rest) // count + 1
    cut = [rest[i * length:(i + 1) * length] for i in range(count)]
    return [frame[:8] + cut[0], *cut[1:]]


def call(number, body):
    """A frame, of one segment however large it is."""
    schema = os.path.join(harness.build(), "proto", "cuda-wire.capnp")
    text = json.dumps({"number": str(number), "isAsked": True, **body})
    words = subprocess.run(["capnp", "convert", "json:flat", f"-I{runtime.SOURCE}/proto", schema, "Call"], input=text.encode(),
                           stdout=subprocess.PIPE, check=True).stdout
    return struct.pack("<II", 0, len(words) // 8) + words


def announce(session, count):
    session.connection.sendall(encode({"openChannel": {"transport": "tcp", "program": "striped", "stripes": count}}))


def joined(session):
    """The number of connections that the server then has."""
    return decode(session.receive("channel"))["channel"]["stripes"]


def number_of(answer):
    """The number in an answer's head: its first word behind the root's pointer."""
    return struct.unpack_from("<Q", answer, 16)[0]


class Striped(Session):
    """A session with more connections, in Python."""

    def __init__(self, server, count=STRIPES):
        super().__init__(server.connect(), purpose="cuda")
        announce(self, count)
        ticket = ticket_of(self)
        self.others = [join(server, i + 1, self.id, ticket) for i in range(count)]

    def send(self, frame):
        if len(frame) < LARGE:
            self.connection.sendall(frame)
            return
        for connection, share in zip([self.connection, *self.others], shares(frame, 1 + len(self.others))):
            connection.sendall(share)

    def __exit__(self, *_):
        for connection in (self.connection, *self.others):
            connection.close()


class Early(Session):
    """A session whose other connection joins before the proof is sent."""

    def __init__(self, server):
        self.server = server
        super().__init__(server.connect(), purpose="cuda")

    def receive(self, wanted):
        frame = super().receive(wanted)
        if wanted == "challenge":
            self.challenge = frame
            self.other = join(self.server, 1, int(decode(frame)["challenge"]["session"]), ticket_of(self))
            time.sleep(0.2)
        return frame

    def __exit__(self, *_):
        self.other.close()
        super().__exit__()


@needs_capnp
class Joining(Base):
    def test_a_connection_waits_for_the_proof(self):
        with serve() as server, Early(server) as session:
            announce(session, 1)
            self.assertEqual(joined(session), 1)

    def test_clients_without_the_key_leave_nothing_with_a_session(self):
        """Without a proof no connection is passed on: it ends with the client that should have proven the key."""
        with serve() as server, contextlib.ExitStack() as stack:
            with server.connect() as first:
                first.sendall(encode({"hello": {"protocol": PROTOCOL, "protocolMin": PROTOCOL, "software": "test", "purpose": "cuda",
                                                "nonce": [0] * 32, "hasKey": True}}))
                number = int(decode(read_frame(first))["challenge"]["session"])
                joins = [stack.enter_context(join(server, 1, number, bytes(32))) for _ in range(5)]
                self.assertFalse(runtime.is_closed(joins[0], 0.3))
                self.assertEqual(len(server.children()), 1)
            for connection in joins:
                self.assertTrue(runtime.is_closed(connection))
            self.check_well(server)

    def test_large_frames_are_cut_into_equal_shares(self):
        with serve() as server, Striped(server) as session:
            self.assertEqual(joined(session), STRIPES)
            for number, size in enumerate((LARGE - 4096, LARGE, LARGE + 1, 3 * MIB + 7), 1):
                source = list(random.Random(number).randbytes(size))
                session.send(call(number, {"memcpyHtoDAsyncV2": {"dstDevice": "0", "source": source, "stream": "0"}}))
                self.assertEqual(number_of(read_frame(session.connection)), number, size)
        self.assertNotIn("session-broken", server.log())

    def test_a_session_without_announced_connections_takes_none(self):
        with serve() as server, Session(server.connect(), purpose="cuda") as session:
            channel = session.ask({"openChannel": {"transport": "tcp", "program": "single"}}, "channel")
            self.assertEqual(channel["stripes"], 0)
            with join(server, 1, session.id, ticket_of(session)) as late:
                self.assertTrue(runtime.is_closed(late))
            session.connection.sendall(call(1, {"driverGetVersion": None}))
            self.assertEqual(number_of(read_frame(session.connection)), 1)

    def test_all_announced_connections_or_none(self):
        """If one is missing, the server closes each of those that came."""
        with serve() as server, Session(server.connect(), purpose="cuda") as session:
            announce(session, 3)
            ticket = ticket_of(session)
            came = [join(server, number, session.id, ticket) for number in (2, 3)]
            self.assertEqual(joined(session), 0)
            for connection in came:
                self.assertTrue(runtime.is_closed(connection))
                connection.close()
            session.connection.sendall(call(1, {"driverGetVersion": None}))
            self.assertEqual(number_of(read_frame(session.connection)), 1)

    def check_refused(self, server, session, joins):
        """A session that announced one connection gets none of these, and works."""
        announce(session, 1)
        connections = [make() for make in joins]
        self.assertEqual(joined(session), 0)
        for connection in connections:
            self.assertTrue(runtime.is_closed(connection))
            connection.close()
        session.connection.sendall(call(1, {"driverGetVersion": None}))
        self.assertEqual(number_of(read_frame(session.connection)), 1)
        self.assertTrue(server.wait_for_log("event=connections-missing"))

    def test_clients_without_the_key_cannot_join(self):
        with serve() as server, Session(server.connect(), purpose="cuda") as session, \
                Session(server.connect(), purpose="cuda") as other:
            own, others = ticket_of(session), ticket_of(other)
            for name, joins in {"another session's ticket": [lambda: join(server, 1, session.id, others)],
                                "another number": [lambda: join(server, 2, session.id, own)],
                                "no number": [lambda: join(server, 0, session.id, own)]}.items():
                with self.subTest(name), Session(server.connect(), purpose="cuda") as session:
                    own = ticket_of(session)
                    self.check_refused(server, session, joins)
            self.assertIn("event=connection-refused", server.log())

    def test_a_key_s_own_proof_is_no_ticket(self):
        """A connection without the key is refused, too."""
        with serve() as server:
            for key in (b"", b"another"):
                with Session(server.connect(), purpose="cuda") as session:
                    wrong = ticket_of(session, key)
                    self.check_refused(server, session, [lambda: join(server, 1, session.id, wrong)])

    def test_without_a_key_the_nonces_are_the_ticket(self):
        with serve(key=None) as server, Program(server.address, key=None) as program:
            self.assertEqual(program.do(f"fetch 1 {5 * MIB}"), f"{GOOD} right")
            with Session(server.connect(), key=None, purpose="cuda") as session:
                self.check_refused(server, session, [lambda: join(server, 1, session.id, bytes(32))])
            self.assertEqual(program.do(f"fetch 1 {5 * MIB}"), f"{GOOD} right")

    def test_sessions_that_do_not_exist(self):
        with serve() as server:
            for number in (0, 1, 999999, 2**64 - 1):
                with join(server, 1, number, bytes(32)) as connection:
                    self.assertTrue(runtime.is_closed(connection))
            with Session(server.connect()) as session, join(server, 1, session.id, ticket_of(session)) as connection:
                self.assertEqual(session.ask({"getHealth": None}, "health")["protocol"], PROTOCOL)  # a control session takes none
            self.check_well(server)

    def test_a_crowd_at_one_session(self):
        """More connections than the session takes: other sessions get theirs, and this one is served."""
        with serve() as server, Session(server.connect(), purpose="cuda") as session, contextlib.ExitStack() as stack:
            for _ in range(400):
                stack.enter_context(join(server, 1, session.id, bytes(32)))
            # At once: a client has five seconds to open its channel.
            self.assertEqual(session.ask({"openChannel": {"transport": "tcp", "program": "x"}}, "channel")["stripes"], 0)
            with Program(server.address) as program:
                self.assertEqual(program.do(f"fetch 1 {5 * MIB}"), f"{GOOD} right")
            self.assertTrue(harness.wait_until(lambda: len(server.children()) == 1))

    def test_nonsense_in_a_share_ends_that_session_alone(self):
        with serve() as server, Program(server.address) as program:
            for seed in range(8):
                with Striped(server) as session:
                    self.assertEqual(joined(session), STRIPES)
                    words = LARGE // 8 + seed
                    noise = random.Random(seed).randbytes(8 * words)
                    session.send(struct.pack("<II", 0, words) + noise)
                    self.assertTrue(runtime.is_closed(session.connection), seed)
            self.assertEqual(program.do(f"fetch 1 {9 * MIB}"), f"{GOOD} right")
            self.assertNotIn("session-crashed", server.log())

    def test_a_lost_connection_ends_an_idle_session(self):
        with serve() as server:
            for number in range(STRIPES):
                with Striped(server) as session:
                    self.assertEqual(joined(session), STRIPES)
                    session.others[number].close()
                    self.assertTrue(runtime.is_closed(session.connection), number)
            self.check_alone(server)
            self.assertEqual(server.log().count("event=session-broken"), STRIPES)


class Line:
    """A relay between programs and a server: passes on the bytes of each connection, in order of arrival, until it is stopped."""

    def __init__(self, server, refuses=False):
        self.server, self.refuses = server, refuses
        self.pairs, self.held = [], set()
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.address = "127.0.0.1:%d" % self.listener.getsockname()[1]
        self.threads = [threading.Thread(target=self.accept, daemon=True)]
        self.threads[0].start()

    def accept(self):
        while True:
            try:
                client = self.listener.accept()[0]
            except OSError:
                return
            if self.refuses and self.pairs:
                client.close()
                continue
            pair = client, self.server.connect()
            pair[1].settimeout(None)
            self.pairs.append(pair)
            for way in (pair, pair[::-1]):
                self.threads.append(threading.Thread(target=self.pass_on, args=(len(self.pairs) - 1, *way), daemon=True))
                self.threads[-1].start()

    def pass_on(self, index, source, target):
        with contextlib.suppress(OSError):
            while data := source.recv(65536):
                while index in self.held:
                    time.sleep(0.01)
                target.sendall(data)
        for end in (source, target):
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)

    def cut(self, index):
        for end in self.pairs[index]:
            with contextlib.suppress(OSError):  # pass_on() may have seen the first end go, and ended the second
                end.shutdown(socket.SHUT_RDWR)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        # No descriptor is closed while a thread is about to use it, since its number could become another file's.
        self.listener.shutdown(socket.SHUT_RDWR)
        self.threads[0].join()
        self.held.clear()
        for index in range(len(self.pairs)):
            self.cut(index)
        for thread in self.threads:
            thread.join()
        self.listener.close()
        for pair in self.pairs:
            for end in pair:
                end.close()


class Lines(Base):
    """Programs whose connections break, stall or are cut."""

    FOR_EVER = f"fetch 100000 {20 * MIB}"

    @contextlib.contextmanager
    def running(self, step=FOR_EVER, **options):
        with serve(memory="256M") as server, Line(server, **options) as line, Program(line.address, alone=True) as program:
            self.assertEqual(program.first, GOOD)
            program.say(step)
            if step == self.FOR_EVER:
                time.sleep(0.5)
            yield server, line, program

    def test_each_of_them_breaks_in_a_copy(self):
        for index in range(1 + STRIPES):
            with self.subTest(index), self.running() as (server, line, program):
                self.assertEqual(len(line.pairs), 1 + STRIPES)
                line.cut(index)
                self.assertEqual(program.read(), f"{GONE} wrong")
                self.assertEqual(program.do("fill 10").split()[0], GONE)
                self.check_alone(server)

    def test_each_of_them_is_late(self):
        for index in range(1 + STRIPES):
            with self.subTest(index), self.running(f"fetch 30 {20 * MIB}") as (server, line, program):
                for _ in range(3):
                    line.held.add(index)
                    time.sleep(0.3)
                    line.held.discard(index)
                    time.sleep(0.05)
                self.assertEqual(program.read(), f"{GOOD} right")
                self.assertNotIn("session-broken", server.log())

    def test_a_program_that_is_killed_in_a_copy(self):
        with self.running() as (server, line, program):
            line.held.add(2)
            time.sleep(0.2)
            program.kill()
            line.held.clear()
            self.check_alone(server)

    def test_a_server_that_is_killed_in_a_copy(self):
        with self.running() as (server, line, program):
            line.held.add(1)
            time.sleep(0.2)
            for session in server.children():
                os.kill(session, 9)
            line.held.clear()
            self.assertEqual(program.read(), f"{GONE} wrong")

    def test_a_line_that_passes_one_connection(self):
        with self.running(f"fetch 3 {20 * MIB}", refuses=True) as (server, line, program):
            self.assertEqual(program.read(), f"{GOOD} right")
            self.assertEqual(len(line.pairs), 1)
            self.assertIn("event=connections-missing", server.log())

    def test_stripes_are_switched_off(self):
        with serve(memory="256M") as server, Line(server) as line, \
                Program(line.address, alone=True, env={"AITHERION_DISABLE": "stripes"}) as program:
            self.assertEqual(program.do(f"fetch 3 {20 * MIB}"), f"{GOOD} right")
            self.assertEqual(len(line.pairs), 1)

    def test_threads_that_copy_at_once(self):
        """Calls of several threads lie between other threads' large frames."""
        with serve(memory="1G") as server, contextlib.ExitStack() as stack:
            programs = [stack.enter_context(Program(server.address)) for _ in range(4)]
            for program in programs:
                program.say(f"fetch 10 {20 * MIB + 3}")
            for program in programs:
                self.assertEqual(program.read(), f"{GOOD} right")
                self.assertEqual(program.do("threads 4"), "right")
            self.assertEqual(server.log().count(f" connections={1 + STRIPES} "), 4)


if __name__ == "__main__":
    harness.main()
