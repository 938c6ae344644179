#!/usr/bin/env python3
"""Addresses for data alone (proto/control.capnp, dataAddresses): who may come there, which connections a program makes, and what large
frames look like on them."""
import contextlib
import json
import math
import os
import random
import re
import select
import shutil
import socket
import struct
import subprocess
import tempfile
import threading
import time
import unittest

import runtime
from cuda import MIB, Program
from runtime import Session, decode, encode, harness, read_frame
from test_cuda import GONE, GOOD, Base, needs_capnp, serve
import nodes
from test_stripes import LARGE, Striped, announce, call, join, join_frame, joined, number_of, ticket_of

UNIT = 65536
EACH = 2        # connections by each of two addresses: three by one address are wanted, and both have the same number


def data_of(server):
    """The data addresses of a server, as its log has them."""
    server.wait_for_log("event=listening-for-data")
    return [word.split("=", 1)[1].strip('"') for line in server.log().splitlines() if "event=listening-for-data" in line
            for word in line.split() if word.startswith("address=")]


def two(*arguments, **options):
    options.setdefault("memory", "256M")
    return serve("--log-level", "debug", "--data-listen", "127.0.0.2:0", "--data-listen", "127.0.0.3:0", *arguments, **options)


def joins(server, way="data"):
    """How many connections have joined at the begin of sessions. On a busy machine one may be lost and join again."""
    return sum(int(number) <= int(of) for number, of in re.findall(fr"event=connection-joined .*number=(\d+) of=(\d+) by={way}\n", server.log()))


def connect(address):
    host, port = address.rsplit(":", 1)
    return socket.create_connection((host, int(port)), timeout=harness.PATIENCE_S)


def join_at(address, number, session, ticket):
    connection = connect(address)
    connection.sendall(join_frame(number, session.id, ticket))
    return connection


@contextlib.contextmanager
def silence():
    """An address where packets vanish: the kernel drops a SYN while the queue of a listening socket is full."""
    with socket.socket() as listener, contextlib.ExitStack() as stack:
        listener.bind(("127.0.0.4", 0))
        listener.listen(0)
        for _ in range(4):
            one = stack.enter_context(socket.socket())
            one.setblocking(False)
            one.connect_ex(listener.getsockname())
        yield "%s:%d" % listener.getsockname()


def head(first, count):
    return struct.pack("<II", first, count)


class InPieces(Striped):
    """A session in Python whose further connections come by data addresses, except the last one, which has the server's verdicts."""

    def __init__(self, server, count=2):
        Session.__init__(self, server.connect(), purpose="cuda")
        announce(self, count + 1)
        addresses, ticket = data_of(server), ticket_of(self)
        self.others = [join_at(addresses[i % len(addresses)], i + 1, self, ticket) for i in range(count)]
        self.back = join(server, count + 1, self.id, ticket)
        self.frames = 0

    def begin(self, words):
        """The head of a large frame, and the channels that it uses: the first connection of each."""
        self.frames += 1
        self.connection.sendall(struct.pack("<II", 0, words) + bytes([1] * len(self.others)).ljust(8, b"\0"))

    def verdict(self):
        """The server's answer to the frame: the channels that are out, and the number of units that are missing."""
        number, out, missing, _ = struct.unpack("<4I", runtime.read_bytes(self.back, 16))
        self.frames_told = number
        return out, missing

    def send(self, frame):
        """The units go by the connections in any order."""
        if len(frame) < LARGE:
            self.connection.sendall(frame)
            return
        self.begin(len(frame) // 8 - 1)
        rest = frame[8:]
        units = list(range(-(-len(rest) // UNIT)))
        random.Random(1).shuffle(units)
        for index, unit in enumerate(units):
            self.others[index % len(self.others)].sendall(head(unit, 1) + rest[unit * UNIT:(unit + 1) * UNIT])
        for connection in self.others:
            connection.sendall(head(0, 0))
        if self.verdict() != (0, 0) or self.frames_told != self.frames:
            raise AssertionError("the frame has not come")

    def __exit__(self, *arguments):
        self.back.close()
        super().__exit__(*arguments)


@needs_capnp
class Joining(Base):
    def test_the_challenge_names_them(self):
        with two() as server, Session(server.connect(), purpose="cuda") as session, Session(server.connect()) as control:
            self.assertEqual(decode(session.challenge)["challenge"]["dataAddresses"], ",".join(data_of(server)))
            self.assertEqual(decode(control.challenge)["challenge"].get("dataAddresses", ""), "")  # has no use for them
        with two("--data-address", "10.0.0.1:5555,[fd00::1]:5556") as server, Session(server.connect(), purpose="cuda") as session:
            self.assertEqual(decode(session.challenge)["challenge"]["dataAddresses"], "10.0.0.1:5555,[fd00::1]:5556")

    def test_pieces_in_any_order(self):
        with two() as server, InPieces(server) as session:
            channel = decode(session.receive("channel"))["channel"]
            self.assertEqual((channel["stripes"], channel["hasPieces"]), (3, True))
            for number, size in enumerate((LARGE - 4096, LARGE, LARGE + 1, 3 * MIB + 7), 1):
                source = list(random.Random(number).randbytes(size))
                session.send(call(number, {"memcpyHtoDAsyncV2": {"dstDevice": "0", "source": source, "stream": "0"}}))
                self.assertEqual(number_of(read_frame(session.connection)), number, size)

    def test_nonsense_in_pieces_ends_that_session_alone(self):
        whole = bytes(LARGE)
        wrong = {"twice": head(0, 1) + whole[:UNIT] + head(0, 1), "beyond": head(16, 1), "too many": head(0, 0xffffffff),
                 "a hole": head(0, 1) + whole[:UNIT] + head(0, 0)}
        with two() as server, Program(server.address) as program:
            for name, sent in wrong.items():
                with self.subTest(name), InPieces(server) as session:
                    self.assertEqual(joined(session), 3)
                    session.begin(LARGE // 8)
                    session.others[1].sendall(head(0, 0))
                    session.others[0].sendall(sent)
                    self.assertTrue(runtime.is_closed(session.connection))
            self.assertEqual(program.do(f"fetch 1 {9 * MIB}"), f"{GOOD} right")
            self.assertNotIn("session-crashed", server.log())

    def test_a_client_that_does_not_know_them(self):
        """It makes its further connections to the server's own address, and divides frames as ever."""
        with two() as server, Striped(server) as session:
            channel = decode(session.receive("channel"))["channel"]
            self.assertEqual((channel["stripes"], channel["hasPieces"]), (3, False))
            source = list(random.Random(1).randbytes(3 * MIB))
            session.send(call(1, {"memcpyHtoDAsyncV2": {"dstDevice": "0", "source": source, "stream": "0"}}))
            self.assertEqual(number_of(read_frame(session.connection)), 1)

    def test_a_channel_that_ends_within_a_frame(self):
        """The server asks for what is missing, by the channels that are left."""
        with two() as server, InPieces(server) as session:
            self.assertEqual(joined(session), 3)
            source = list(random.Random(1).randbytes(LARGE))
            frame = call(1, {"memcpyHtoDAsyncV2": {"dstDevice": "0", "source": source, "stream": "0"}})
            rest = frame[8:]
            session.begin(len(rest) // 8)
            session.others[0].sendall(head(0, 3) + rest[:2 * UNIT + 5])
            session.others[0].close()
            session.others[1].sendall(head(5, 2) + rest[5 * UNIT:7 * UNIT] + head(0, 0))
            units = -(-len(rest) // UNIT)
            self.assertEqual(session.verdict(), (1, units - 4))
            bits, = struct.unpack("<Q", runtime.read_bytes(session.back, 8))
            self.assertEqual(bits, 0b1100011)
            session.others[1].sendall(head(2, 3) + rest[2 * UNIT:5 * UNIT] + head(7, units - 7) + rest[7 * UNIT:] + head(0, 0))
            self.assertEqual(session.verdict(), (0, 0))
            self.assertEqual(number_of(read_frame(session.connection)), 1)
            self.assertIn("event=connection-lost", server.log())

    def test_a_lost_channel_joins_again(self):
        with two() as server, InPieces(server) as session:
            self.assertEqual(joined(session), 3)
            address, ticket = data_of(server)[0], ticket_of(session)
            for number, wrong in ((1, ticket), (3 + 1, ticket[::-1]), (3 + 3, ticket)):
                with join_at(address, number, session, bytes(wrong)) as stranger:  # the first; another's; of no channel
                    self.assertTrue(runtime.is_closed(stranger), number)
            with join(server, 3 + 1, session.id, ticket) as stranger:
                self.assertTrue(runtime.is_closed(stranger))  # not by a data address
            with join_at(address, 3 * 2 + 1, session, ticket) as again:
                self.assertEqual(again.recv(1), b"\0")
                with join_at(address, 3 + 1, session, ticket) as older:
                    older.recv(1)
                    self.assertTrue(runtime.is_closed(older))
                frame = call(1, {"memcpyHtoDAsyncV2": {"dstDevice": "0", "source": list(bytes(LARGE)), "stream": "0"}})
                session.connection.sendall(frame[:8] + bytes([3]).ljust(8, b"\0"))
                for unit in range(0, len(frame) - 8, UNIT):
                    again.sendall(head(unit // UNIT, 1) + frame[8 + unit:8 + unit + UNIT])
                again.sendall(head(0, 0))
                self.assertEqual(session.verdict(), (0, 0))
                self.assertEqual(number_of(read_frame(session.connection)), 1)

    def test_connections_of_other_kinds(self):
        """They could not carry a frame together, so none of them does: the last one by a data address, or another one not."""
        for kinds in ("dd", "cd", "dcc"):
            with self.subTest(kinds), two() as server, Session(server.connect(), purpose="cuda") as session, contextlib.ExitStack() as stack:
                announce(session, len(kinds))
                ticket = ticket_of(session)
                joins = [stack.enter_context(join_at(data_of(server)[0], i, session, ticket) if kind == "d"
                                             else join(server, i, session.id, ticket)) for i, kind in enumerate(kinds, 1)]
                self.assertEqual(joined(session), 0)
                for connection in joins:
                    self.assertTrue(runtime.is_closed(connection))
                session.connection.sendall(call(1, {"driverGetVersion": None}))
                self.assertEqual(number_of(read_frame(session.connection)), 1)

    def test_no_session_begins_there(self):
        with two() as server:
            for address in data_of(server):
                with connect(address) as stranger:
                    stranger.sendall(encode({"hello": {"protocol": runtime.PROTOCOL, "protocolMin": runtime.PROTOCOL, "software": "test",
                                                       "purpose": "cuda", "nonce": [0] * 32, "hasKey": True}}))
                    self.assertEqual(decode(read_frame(stranger))["refusal"]["reason"], "notServed")
                    self.assertTrue(runtime.is_closed(stranger))
                with connect(address) as stranger:
                    stranger.sendall(b"GET / HTTP/1.1\r\n\r\n")
                    self.assertTrue(runtime.is_closed(stranger))
            self.assertNotIn("event=process-started", server.log())
            self.check_well(server)

    def test_wrong_tickets(self):
        """The listening process refuses them, so they cost a session neither a place nor a look."""
        with two() as server, Session(server.connect(), purpose="cuda") as session:
            announce(session, 2)
            address, ticket = data_of(server)[0], ticket_of(session)
            for number, wrong in ((1, bytes(32)), (2, ticket_of(session, b"another")), (1, ticket[::-1])):
                for _ in range(20):  # more than a session has places
                    with join_at(address, number, session, bytes(wrong)) as stranger:
                        self.assertTrue(runtime.is_closed(stranger))
            with join_at(address, 1, session, ticket), join(server, 2, session.id, ticket):
                self.assertEqual(joined(session), 2)
            self.assertIn("its proof for this session is wrong", server.log())


class Cutter:
    """An address that passes connections to another one, and cuts each off after some bytes of either way."""

    def __init__(self, most):
        self.most, self.to, self.cuts = most, None, 0
        self.listener = socket.create_server(("127.0.0.6", 0))
        self.address = "%s:%d" % self.listener.getsockname()
        self.is_over = False

    def __enter__(self):
        threading.Thread(target=self.accept, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.is_over = True
        connect(self.address).close()  # wakes accept()
        self.listener.close()

    def accept(self):
        while not self.is_over:
            near = self.listener.accept()[0]
            if harness.wait_until(lambda: self.to or self.is_over) and not self.is_over:
                threading.Thread(target=self.move, args=(near, connect(self.to)), daemon=True).start()

    def move(self, near, far):
        moved = 0
        with near, far, contextlib.suppress(OSError):
            while moved < self.most:
                for one in select.select((near, far), (), ())[0]:
                    data = one.recv(1 << 18)
                    if not data:
                        return
                    (far if one is near else near).sendall(data)
                    moved += len(data)
            self.cuts += 1


class Programs(Base):
    def check_connections(self, server, program, count):
        self.assertEqual(program.do(f"fetch 3 {20 * MIB + 3}"), f"{GOOD} right")
        self.assertTrue(server.wait_for_log(f" connections={count} "), server.log())
        self.assertNotIn("session-broken", server.log())  # nor the connections that were begun to the address of the calls

    def test_copies_go_by_data_addresses(self):
        for encrypt in ("auto", "on"):
            with self.subTest(encrypt), two("--encrypt", encrypt) as server, \
                    Program(server.address, words=("--encrypt", encrypt)) as program:
                self.check_connections(server, program, 2 + 2 * EACH)
                self.assertEqual(joins(server), 2 * EACH)
                for address in data_of(server):
                    number = harness.wait_until(lambda: self.connections_at(address))
                    self.assertEqual(number, EACH, address)

    @staticmethod
    def connections_at(address):
        """The established connections that a server has at an address."""
        result = subprocess.run(["ss", "-Htn", "state", "established", "src", address], stdout=subprocess.PIPE, text=True, check=True)
        return len(result.stdout.splitlines())

    def test_the_list_of_sessions_shows_them(self):
        with two() as server, Program(server.address) as program:
            self.assertEqual(program.do(f"fetch 1 {9 * MIB}"), f"{GOOD} right")
            named = ("--server", server.address, "--key", runtime.key_file())
            shown = []

            def has_come():  # the session's process notes them every two seconds
                value, faults = harness.check_json(harness.run("session", "list", *named, "--json").stdout)
                self.assertEqual(faults, [])
                shown[:] = value["runtimes"][0]["sessions"][0]["channels"]
                return sum(one["sent_bytes"] for one in shown) >= 9 * MIB
            self.assertTrue(harness.wait_until(has_come), shown)
            self.assertEqual(sorted(one["local"] for one in shown), sorted(data_of(server) * EACH))
            for one in shown:
                self.assertEqual((one["transport"], one["is_lost"], one["datagrams_sent"], one["datagrams_damaged"]), ("tcp", False, None, None))
                self.assertGreaterEqual(one["sent_again"], 0)  # also on the loopback, if this machine is busy
                self.assertRegex(one["peer"], r"^127\.0\.0\.\d+:\d+$")
            text = harness.run("session", "list", "-v", *named).stdout
            self.assertRegex(text, r"Runtime +Session +Channel +Via +Address +From +Sent +Received +Sent again +Damaged\n")
            self.assertNotIn("Channel", harness.run("session", "list", *named).stdout)
            first = re.escape(shown[0]["local"].rsplit(":", 1)[0])
            page = harness.run("metrics", *named).stdout
            self.assertRegex(page, rf'aitherion_runtime_session_channels{{[^}}]*address="{first}",transport="tcp"}} {EACH}\n')

    def test_an_address_that_does_not_answer(self):
        with silence() as silent, socket.socket() as unused:
            unused.bind(("127.0.0.5", 0))  # no process listens
            closed = "%s:%d" % unused.getsockname()
            good = [f"127.0.0.{i}:{20000 + os.getpid() % 10000 + i}" for i in (2, 3)]
            with serve("--log-level", "debug", "--data-listen", ",".join(good), "--data-address", ",".join([silent, closed, *good]),
                       memory="256M") as server, Program(server.address, words=("-v",)) as program:
                self.check_connections(server, program, 6)
                told = program.end()
                self.assertEqual(joins(server), 4, told + server.log())
                self.assertEqual(told.count("is left out"), 2, told)
                self.assertIn(f"the data address {silent} is left out", told)
                self.assertIn(f"the data address {closed} is left out: Connection refused", told)
                for address in good:
                    self.assertEqual(told.count(f" to={address} way=data"), EACH, told)

    def test_no_address_answers(self):
        with silence() as silent, two("--data-address", silent) as server, Program(server.address, words=("-v",)) as program:
            self.check_connections(server, program, 5)
            self.assertEqual(joins(server, "tcp"), 4)
            told = program.end()
            self.assertIn("no data address is of use", told)
            self.assertEqual(told.count(f" to={server.address} way=control"), 4, told)
            self.assertNotIn("connections-missing", server.log())

    def test_copies_go_by_udp(self):
        for encrypt in ("off", "on"):
            with self.subTest(encrypt), two("--encrypt", encrypt, "--udp", "on") as server, \
                    Program(server.address, words=("-v", "--encrypt", encrypt, "--transport", "udp")) as program:
                self.check_connections(server, program, 2 + 2 * EACH)
                self.assertEqual(joins(server, "udp"), 2 * EACH)
                self.assertEqual(joins(server, "tcp"), 1)  # for the verdicts
                self.assertIn(" transport=udp ", server.log())
                told = program.end()
                for address in data_of(server):
                    self.assertEqual(told.count(f" to={address} way=data/udp"), EACH, told)
                    self.assertEqual(self.connections_at(address), 0)

    def test_an_address_that_does_not_answer_by_udp(self):
        good = f"127.0.0.2:{20000 + os.getpid() % 10000}"
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as silent, socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as other:
            for one in (silent, other):
                one.bind(("127.0.0.5", 0))
            told = ["%s:%d" % one.getsockname() for one in (silent, other)]
            with serve("--log-level", "debug", "--encrypt", "off", "--udp", "on", "--data-listen", good, "--data-address", f"{told[0]},{good}", memory="256M") as server, \
                    Program(server.address, words=("-v", "--encrypt", "off", "--transport", "udp")) as program:
                self.check_connections(server, program, 2 + 2 * EACH)
                self.assertEqual(joins(server, "udp"), 2 * EACH)
                self.assertIn(f"the data address {told[0]} is left out", program.end())
            with two("--encrypt", "off", "--udp", "on", "--data-address", ",".join(told)) as server, \
                    Program(server.address, words=("-v", "--encrypt", "off", "--transport", "udp")) as program:
                self.check_connections(server, program, 2 + 2 * EACH)
                self.assertIn(" transport=tcp ", server.log())
                self.assertIn("large data goes by TCP: no way by UDP to the server's data addresses: Connection timed out", program.end())

    def test_udp_is_not_served_there(self):
        with two() as server, Program(server.address, words=("--transport", "udp")) as program:
            self.check_connections(server, program, 2 + 2 * EACH)
            self.assertIn("large data goes by TCP: the server does not take UDP", program.end())

    def test_udp_needs_an_address(self):
        result = runtime.run("serve", "--sim", "--listen", "none", "--socket", os.path.join(harness.scratch(), "s"), "--no-auth", "--udp", "on")
        self.assertEqual(result.returncode, 2)
        self.assertIn("--udp needs an address to listen on", result.stderr)

    def test_a_path_that_breaks_again_and_again(self):
        """Its connection is made again after longer and longer pauses, and its copies go where the calls go meanwhile."""
        with Cutter(4 * MIB) as cutter, two("--data-address", cutter.address) as server:
            cutter.to = data_of(server)[0]
            with Program(server.address, words=("-v",)) as program:
                begin = time.monotonic()
                while time.monotonic() - begin < 6:
                    self.assertEqual(program.do(f"fetch 5 {20 * MIB}"), f"{GOOD} right")
                seconds = time.monotonic() - begin
                told = program.end()
            self.assertGreater(cutter.cuts, 3, told)
            # Three connections: when each breaks for the first time, after 1 s, after 3, after 7 and so on.
            self.assertLessEqual(told.count("is back"), 3 * (1 + math.ceil(math.log2(1 + seconds))), f"{seconds} s: {told}")

    def test_many_programs_from_one_address(self):
        """Connections with the right proof take no attempt of their source."""
        with two(memory="1G") as server, contextlib.ExitStack() as stack:
            programs = [stack.enter_context(Program(server.address)) for _ in range(8)]
            for program in programs:
                program.say(f"fetch 2 {20 * MIB}")
            for program in programs:
                self.assertEqual(program.read(), f"{GOOD} right")
            self.assertEqual(joins(server), 8 * 2 * EACH)

    def test_stripes_are_switched_off(self):
        with two() as server, Program(server.address, env={"AITHERION_DISABLE": "stripes"}) as program:
            self.check_connections(server, program, 1)


def has_namespaces():
    if os.geteuid() or not shutil.which("ip"):
        return False
    name = f"ath-try-{os.getpid()}"
    works = not subprocess.run(["ip", "netns", "add", name], stderr=subprocess.DEVNULL, check=False).returncode
    subprocess.run(["ip", "netns", "delete", name], stderr=subprocess.DEVNULL, check=False)
    return works


class Sides(Base):
    """A server in a network namespace of its own, and programs in another one, with links between them."""

    LINKS = 2

    def setUp(self):
        self.sides = [f"ath-{os.getpid()}-{side}" for side in ("server", "client")]
        for name in self.sides:
            self.ip("netns", "add", name)
            self.addCleanup(self.ip, "netns", "delete", name)
            self.ip("-n", name, "link", "set", "lo", "up")
        for i in range(self.LINKS):
            self.ip("link", "add", f"l{i}", "netns", self.sides[0], "type", "veth", "peer", "name", f"l{i}", "netns", self.sides[1])

    @staticmethod
    def ip(*words):
        subprocess.run(["ip", *words], check=True)

    def address(self, side, link, address):
        self.ip("-n", self.sides[side], "address", "add", address, "dev", link)
        self.ip("-n", self.sides[side], "link", "set", link, "up")

    def inside(self, side):
        return ["ip", "netns", "exec", self.sides[side]]


@unittest.skipUnless(has_namespaces(), "network namespaces need root and ip (package iproute2)")
class Links(Sides):
    def server(self, *arguments):
        return serve("--log-level", "debug", *arguments, listen="10.78.0.1:0", memory="256M", prefix=self.inside(0))

    def program(self, server, *words, place=None):
        return Program(place or server.address, prefix=self.inside(1), words=("-v", *words))

    def test_calls_by_one_link_and_copies_by_the_other(self):
        for i in range(2):
            self.address(0, f"l{i}", f"10.78.{i}.1/24")
            self.address(1, f"l{i}", f"10.78.{i}.2/24")
        with self.server("--data-listen", "10.78.1.1:5555") as server:
            before = self.bytes_of("l0"), self.bytes_of("l1")
            with self.program(server) as program:
                self.assertEqual(program.do(f"fetch 3 {20 * MIB + 3}"), f"{GOOD} right")
            self.assertEqual(joins(server), 3)
            moved = [self.bytes_of(f"l{i}") - before[i] for i in range(2)]
            self.assertLess(moved[0], 4 * MIB)
            self.assertGreater(moved[1], 60 * MIB)

    def bytes_of(self, link, way="r"):
        """The bytes that the client has received (r) or sent (t) by a link."""
        result = subprocess.run([*self.inside(1), "cat", f"/sys/class/net/{link}/statistics/{way}x_bytes"], stdout=subprocess.PIPE, text=True,
                                check=False)
        if result.returncode:  # this /sys is that of another namespace
            result = subprocess.run(["ip", "-n", self.sides[1], "-s", "-j", "link", "show", link], stdout=subprocess.PIPE, check=True)
            return json.loads(result.stdout)[0]["stats64"][f"{way}x"]["bytes"]
        return int(result.stdout)

    def slow_links(self, mbit=200):
        """Two links of so many Mbit/s, with a network each."""
        for i in range(2):
            self.address(0, f"l{i}", f"10.78.{i}.1/24")
            self.address(1, f"l{i}", f"10.78.{i}.2/24")
            for side in self.sides:
                subprocess.run(["tc", "-n", side, "qdisc", "add", "dev", f"l{i}", "root", "tbf", "rate", f"{mbit}mbit", "burst", "128k",
                                "latency", "50ms"], check=True)

    def set_link(self, link, state):
        self.ip("-n", self.sides[1], "link", "set", link, state)

    @staticmethod
    def is_back(server, count, way="data"):
        return lambda: server.log().count(f"by={way}") >= count

    def test_a_link_fails_within_a_copy_and_comes_back(self):
        self.slow_links()
        for encrypt, transport in (("off", "tcp"), ("on", "tcp"), ("off", "udp"), ("on", "udp")):
            for step in ("fetch", "bring"):
                with self.subTest(f"{step}, encrypt {encrypt}, {transport}"), \
                        self.server("--encrypt", encrypt, "--udp", "on", "--data-listen", "10.78.0.1:5555", "--data-listen",
                                    "10.78.1.1:5555") as server, \
                        self.program(server, "--encrypt", encrypt, "--transport", transport) as program:
                    self.assertEqual(program.do(f"{step} 1 {5 * MIB}"), f"{GOOD} right")
                    program.say(f"{step} 6 {20 * MIB}")
                    time.sleep(0.7)
                    self.set_link("l1", "down")
                    self.assertEqual(program.read(), f"{GOOD} right")
                    self.assertGreaterEqual(server.log().count("event=connection-lost"), EACH, server.log())
                    self.set_link("l1", "up")
                    self.assertTrue(harness.wait_until(self.is_back(server, 3 * EACH, "udp" if transport == "udp" else "data")), server.log())
                    before = self.bytes_of("l1", "rt"[step == "bring"])
                    self.assertEqual(program.do(f"{step} 3 {20 * MIB}"), f"{GOOD} right")
                    self.assertGreater(self.bytes_of("l1", "rt"[step == "bring"]) - before, 10 * MIB)
                    told = program.end()
                    for number in (2, 4):
                        self.assertIn(f"channel {number} is lost", told)
                        self.assertIn(f"channel {number} is back", told)

    def lose(self, percent, *what, sides=(0, 1)):
        """Drops so many packets by chance, of those that come to these sides by the second link."""
        for side in sides:
            subprocess.run([*self.inside(side), "iptables", "-w", "-A", "INPUT", "-i", "l1", *what, "-m", "statistic", "--mode", "random",
                            "--probability", str(percent / 100), "-j", "DROP"], check=True)

    @contextlib.contextmanager
    def copying_by_a_data_link(self, *words):
        self.address(0, "l0", "10.78.0.1/24")
        self.address(1, "l0", "10.78.0.2/24")
        self.address(0, "l1", "10.78.1.1/24")
        self.address(1, "l1", "10.78.1.2/24")
        with self.server("--encrypt", "off", "--udp", "on", "--data-listen", "10.78.1.1:5555") as server:
            self.told = ""
            with self.program(server, "--encrypt", "off", *words) as program:
                yield server, program
                self.told += program.end()

    def told_by(self, program):
        """The program's messages so far."""
        while select.select([program.process.stderr], [], [], 0)[0]:
            self.told += os.read(program.process.stderr.fileno(), 65536).decode()
        return self.told

    def slow_udp(self, mbit):
        """So many Mbit/s for UDP by the second link, and all for the rest."""
        for side in self.sides:
            for words in (("qdisc", "add", "dev", "l1", "root", "handle", "1:", "htb"),
                          ("class", "add", "dev", "l1", "parent", "1:", "classid", "1:1", "htb", "rate", f"{mbit}mbit", "burst", "128k",
                           "quantum", "60000"),
                          ("filter", "add", "dev", "l1", "parent", "1:", "protocol", "ip", "u32", "match", "ip", "protocol", "17", "0xff",
                           "flowid", "1:1")):
                subprocess.run(["tc", "-n", side, *words], check=True)

    def copy_until(self, program, done, step=f"fetch 1 {20 * MIB}"):
        """Copies until done() is true, unless told otherwise to the server and back. The memory is freed each time."""
        def is_done():
            self.assertEqual(program.do(step), f"{GOOD} right")
            return done()
        self.assertTrue(harness.wait_until(is_done))

    LARGE = ("-m", "length", "--length", "200:")  # packets with data: no acknowledgements

    def check_loss(self, way, side, times):
        """On the way to the server, or from it: packets that come to one side are lost there."""
        with self.copying_by_a_data_link() as (server, program):
            self.lose(3, *self.LARGE, sides=[side])
            self.assertEqual(joins(server), 3)
            self.copy_until(program, lambda: server.log().count("by=udp") >= 3, f"fetch {times} {20 * MIB}")
            self.assertEqual(program.do(f"fetch 2 {20 * MIB}"), f"{GOOD} right")
            self.assertNotIn("session-broken", server.log())
        self.assertRegex(self.told, r"paths not used: .*udp \(TCP has lost nothing yet; --transport udp begins with UDP\)\n")
        self.assertRegex(self.told, rf"the line {way} 10\.78\.1\.1:5555 loses \d+\.\d % of TCP's segments without a queue: its channels change "
                                    r"to UDP\n")
        for number in (1, 2, 3):
            self.assertIn(f"channel {number} is back, by udp", self.told)

    @unittest.skipUnless(shutil.which("iptables"), "needs iptables, which drops packets by chance")
    def test_a_line_to_the_server_that_loses_changes_to_udp(self):
        self.check_loss("to", 0, 1)

    @unittest.skipUnless(shutil.which("iptables"), "needs iptables, which drops packets by chance")
    def test_a_line_from_the_server_that_loses_changes_to_udp(self):
        self.check_loss("from", 1, 6)

    def check_way_back(self, way, side, times):
        """UDP is much slower than TCP, as behind a switch that holds it up: the copies of one way tell."""
        with self.copying_by_a_data_link() as (server, program):
            self.slow_udp(30)
            self.lose(2, "-p", "tcp", *self.LARGE, sides=[side])
            # The other way carries little until then: on a busy machine TCP sends some of its segments again that were not lost.
            self.copy_until(program, lambda: server.log().count("by=udp") >= 3, f"fetch {times ** 2} {2 * MIB}")
            step = f"fetch {times} {2 * MIB}"
            self.copy_until(program, lambda: "back to TCP" in self.told_by(program), step)
            self.copy_until(program, lambda: self.told_by(program).count("is back, by tcp") == 3, step)
            self.assertGreaterEqual(server.log().count("by=udp"), 3)
            self.assertGreaterEqual(server.log().count("by=data"), 6)
            self.assertEqual(program.do(f"fetch 2 {20 * MIB}"), f"{GOOD} right")
            self.assertNotIn("session-broken", server.log())
        self.assertRegex(self.told, r"copies are slower with UDP to 10\.78\.1\.1:5555: \d\.\d MB/s after \d+\.\d: back to TCP\n")
        self.assertEqual(re.findall(r"the line (\w+) 10\.78\.1\.1:5555 loses", self.told), [way])

    @unittest.skipUnless(shutil.which("iptables"), "needs iptables, which drops packets by chance")
    def test_udp_that_is_slower_to_the_server_is_given_up(self):
        self.check_way_back("to", 0, 1)

    @unittest.skipUnless(shutil.which("iptables"), "needs iptables, which drops packets by chance")
    def test_udp_that_is_slower_from_the_server_is_given_up(self):
        self.check_way_back("from", 1, 4)

    @unittest.skipUnless(shutil.which("iptables"), "needs iptables, which drops packets by chance")
    def test_a_line_that_loses_and_filters_udp(self):
        """TCP goes on. A channel that is silent for long, as TCP is behind several losses, is made again by TCP."""
        with self.copying_by_a_data_link() as (server, program):
            self.lose(100, "-p", "udp")
            self.lose(3)
            self.copy_until(program, lambda: "no way by UDP" in self.told_by(program))
            self.assertEqual(program.do(f"bring 2 {20 * MIB}"), f"{GOOD} right")
            self.assertEqual((joins(server), joins(server, "udp")), (3, 0))
        self.assertIn("no way by UDP to 10.78.1.1:5555: Connection timed out: copies go on by TCP", self.told)
        self.assertNotIn("by udp", self.told)

    @unittest.skipUnless(shutil.which("iptables"), "needs iptables, which drops packets by chance")
    def test_a_program_that_asks_for_tcp_keeps_it(self):
        with self.copying_by_a_data_link("--transport", "tcp") as (server, program):
            self.lose(3)
            self.assertEqual(program.do(f"bring 6 {20 * MIB}"), f"{GOOD} right")
            self.assertEqual(joins(server, "udp"), 0)
        self.assertNotIn("without a queue", self.told)

    def test_a_queue_that_fills_is_no_loss_of_the_line(self):
        """TCP loses segments there by itself."""
        self.slow_links()
        with self.server("--encrypt", "off", "--udp", "on", "--data-listen", "10.78.0.1:5555", "--data-listen", "10.78.1.1:5555") as server, \
                self.program(server, "--encrypt", "off") as program:
            self.assertEqual(program.do(f"bring 6 {20 * MIB}"), f"{GOOD} right")
            self.assertNotIn("without a queue", program.end())
            self.assertEqual(joins(server, "udp"), 0)

    def test_a_link_fails_between_two_copies(self):
        self.slow_links()
        with self.server("--data-listen", "10.78.0.1:5555", "--data-listen", "10.78.1.1:5555") as server, self.program(server) as program:
            for i in range(3):
                self.assertEqual(program.do(f"fetch 1 {9 * MIB}"), f"{GOOD} right")
                self.set_link("l1", "down")
                self.assertEqual(program.do(f"bring 1 {9 * MIB}"), f"{GOOD} right")
                self.set_link("l1", "up")
                self.assertTrue(harness.wait_until(self.is_back(server, (3 + i) * EACH)), server.log())

    def test_all_data_links_fail(self):
        """The copy goes on where the calls go."""
        self.slow_links()
        with self.server("--data-listen", "10.78.1.1:5555") as server, self.program(server) as program:
            program.say(f"fetch 6 {20 * MIB}")
            time.sleep(0.7)
            self.set_link("l1", "down")
            self.assertEqual(program.read(), f"{GOOD} right")
            self.assertGreaterEqual(server.log().count("event=connection-lost"), 3, server.log())

    def test_all_links_fail(self):
        self.slow_links()
        with self.server("--data-listen", "10.78.0.1:5555", "--data-listen", "10.78.1.1:5555") as server, self.program(server) as program:
            program.say(f"fetch 20 {20 * MIB}")
            time.sleep(0.7)
            for link in ("l0", "l1"):
                self.set_link(link, "down")
            begin = time.monotonic()
            self.assertTrue(program.read().startswith(GONE))
            took = time.monotonic() - begin
            self.assertLess(took, 20)  # less than 10 s where the machine is not busy
            print(f"-- CUDA's functions failed {took:.1f} s after the links")

    def both_to_one_address(self, *, is_bridged):
        """Both links of the client have the network of the server's only address."""
        self.ip("-n", self.sides[0], "link", "set", "l1", "up")
        if is_bridged:
            self.ip("-n", self.sides[0], "link", "add", "bridge", "type", "bridge")
            for i in range(2):
                self.ip("-n", self.sides[0], "link", "set", f"l{i}", "up", "master", "bridge")
        self.address(0, "bridge" if is_bridged else "l0", "10.78.0.1/24")
        for i in range(2):
            self.address(1, f"l{i}", f"10.78.0.{2 + i}/24")
        for i in range(2):
            self.assertTrue(harness.wait_until(lambda: "state UP" in self.link_of_client(f"l{i}")))

    def link_of_client(self, name):
        return subprocess.run(["ip", "-n", self.sides[1], "link", "show", name], stdout=subprocess.PIPE, text=True, check=True).stdout

    def test_two_links_to_one_address(self):
        self.both_to_one_address(is_bridged=True)
        with self.server("--data-listen", "10.78.0.1:5555") as server, self.program(server) as program:
            self.assertEqual(program.do(f"fetch 3 {20 * MIB + 3}"), f"{GOOD} right")
            self.assertEqual(joins(server), 4)
            result = subprocess.run([*self.inside(0), "ss", "-Htn", "state", "established", "src", "10.78.0.1:5555"],
                                    stdout=subprocess.PIPE, text=True, check=True)
            for i in range(2):
                self.assertEqual(result.stdout.count(f"10.78.0.{2 + i}:"), 2, result.stdout)
            self.assertNotIn("left out", program.end())

    def test_a_second_link_that_leads_elsewhere(self):
        self.both_to_one_address(is_bridged=False)
        with self.server("--data-listen", "10.78.0.1:5555") as server, self.program(server) as program:
            self.assertEqual(program.do(f"fetch 3 {20 * MIB + 3}"), f"{GOOD} right")
            self.assertEqual(joins(server), 4)
            self.assertIn("is left out from the link 'l1'", program.end())

    def test_a_tunnel_leaks_no_copies(self):
        """A session that came by the loopback is plain. Its copies must not go to another address in the open."""
        self.address(0, "l0", "10.78.0.1/24")
        self.address(1, "l0", "10.78.0.2/24")
        with serve("--log-level", "debug", "--data-listen", "10.78.0.1:5555", memory="256M", prefix=self.inside(0)) as server:
            tunnel = os.path.join(harness.scratch(), "tunnel")
            with Tunnel(self.inside(0), server.address, tunnel), Tunnel(self.inside(1), tunnel, "127.0.0.1:6000"):
                with self.program(server, place="127.0.0.1:6000") as program:
                    self.assertEqual(program.do(f"fetch 2 {20 * MIB}"), f"{GOOD} right")
                    self.assertEqual(joins(server, "tcp"), 4, server.log())
                    self.assertIn("is left out: the session is not encrypted", program.end())
                with self.program(server, "--encrypt", "on", place="127.0.0.1:6000") as program:
                    self.assertEqual(program.do(f"fetch 2 {20 * MIB}"), f"{GOOD} right")
                    self.assertEqual(joins(server), 3, server.log())


class Tunnel:
    """Passes connections from a unix socket to an address, or the other way, in a namespace, as ssh -L does with its two ends."""

    CODE = """
import socket, sys, threading
def make(text, listens):
    family = socket.AF_UNIX if text.startswith("/") else socket.AF_INET
    address = text if family == socket.AF_UNIX else (text.rsplit(":", 1)[0], int(text.rsplit(":", 1)[1]))
    one = socket.socket(family)
    if listens:
        one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        one.bind(address); one.listen()
    else:
        one.connect(address)
    return one
def move(a, b):
    try:
        while data := a.recv(1 << 16):
            b.sendall(data)
    except OSError:
        pass
    for one in (a, b):
        try:
            one.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
listener = make(sys.argv[1], True)
print("ready", flush=True)
while True:
    near = listener.accept()[0]
    far = make(sys.argv[2], False)
    for pair in ((near, far), (far, near)):
        threading.Thread(target=move, args=pair, daemon=True).start()
"""

    def __init__(self, prefix, connects, listens):
        self.process = subprocess.Popen([*prefix, "python3", "-c", self.CODE, listens, connects], stdout=subprocess.PIPE, text=True)

    def __enter__(self):
        self.process.stdout.readline()
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()


@unittest.skipUnless(has_namespaces(), "network namespaces need root and ip (package iproute2)")
@unittest.skipUnless(harness.copies_alone(), nodes.NO_BINDING)
class Started(Sides):
    """A node that `aitherion start` has started, by a document that names two data interfaces."""

    CONTROL, DATA = 50051, 5555

    def setUp(self):
        super().setUp()
        for i in range(2):
            self.address(0, f"l{i}", f"10.78.{i}.1/24")
            self.address(1, f"l{i}", f"10.78.{i}.2/24")
        self.folder = tempfile.mkdtemp(prefix="ath-", dir="/tmp")  # the path of a socket has at most 107 characters
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.document = os.path.join(self.folder, "topology.yaml")

    def write(self, data):
        node = nodes.first_node()
        with open(self.document, "w", encoding="utf-8") as file:
            file.write(f"schema: aitherion.topology/1\nengine: {{ kind: process, sim: true }}\nkey_file: {runtime.key_file(runtime.KEY)}\n"
                       f"numa:\n  - {{ id: 0, node: {node}, memory_nodes: [{node}], memory_percent: 10.0, control_iface: l0, "
                       f"data_iface: {data}, control_port: {self.CONTROL}, data_port: {self.DATA} }}\n")

    def aitherion(self, *words, code=0):
        """Runs in the server's network, with this /sys."""
        result = subprocess.run(["nsenter", f"--net=/run/netns/{self.sides[0]}", harness.binary(), "-c", self.document, *words],
                                env=harness.environment(AITHERION_RUN_FOLDER=os.path.join(self.folder, "run")), capture_output=True,
                                text=True, stdin=subprocess.DEVNULL, timeout=3 * harness.PATIENCE_S, check=False)
        self.assertEqual(result.returncode, code, result.stdout + result.stderr)
        return result.stdout

    def start(self, data):
        self.write(data)
        self.addCleanup(self.aitherion, "clean", "--yes")
        return json.loads(self.aitherion("start", "--json"))["nodes"][0]

    def listening(self):
        return set(json.loads(self.aitherion("status", "--json"))["nodes"][0]["process"]["listening"])

    def told(self):
        """The lines of `run -v` about the connections of a program on the other side."""
        with Program(f"10.78.0.1:{self.CONTROL}", prefix=self.inside(1), words=("-v",)) as program:
            self.assertEqual(program.do(f"fetch 3 {20 * MIB + 3}"), f"{GOOD} right")
            return program.end()

    def test_a_list_of_interfaces(self):
        addresses = [f"10.78.{i}.1:{self.DATA}" for i in range(2)]
        self.assertEqual(self.start("[l0, l1]")["data_addresses"], addresses)
        network = json.loads(self.aitherion("start", "--dry-run", "--json"))["nodes"][0]["network"]
        self.assertEqual((network["data_iface"], network["data_listen"], network["data_addresses"]), (["l0", "l1"], addresses, addresses))
        self.assertEqual(self.listening(), {f"10.78.0.1:{self.CONTROL}", *addresses})
        told = self.told()
        for address in addresses:
            self.assertIn(f" to={address} way=data", told)
        self.assertNotIn("way=control", told)
        self.assertEqual(self.aitherion("status").count(" (data)"), 2)

    def test_one_interface_then_none(self):
        self.start("l1")
        self.assertEqual(self.listening(), {f"10.78.0.1:{self.CONTROL}", f"10.78.1.1:{self.DATA}"})
        told = self.told()
        self.assertIn(f" to=10.78.1.1:{self.DATA} way=data", told)
        self.assertNotIn("way=control", told)
        self.write("[]")
        self.assertEqual(json.loads(self.aitherion("start", "--yes", "--json"))["nodes"][0]["outcome"], "restarted")
        self.assertEqual(self.listening(), {f"10.78.0.1:{self.CONTROL}"})
        self.assertNotIn("way=data", self.told())

    def test_the_control_port_is_found_among_those_of_data(self):
        """A program that does not use the socket gets the control port, whichever address the kernel lists first."""
        self.start("[l1, l0]")
        said = self.aitherion("run", "--numa", "0", "--transport", "tcp", "--", "printenv", "AITHERION_SERVER")
        self.assertEqual(said.strip(), f"10.78.0.1:{self.CONTROL}")

    def test_a_taken_port(self):
        with open(os.path.join(self.folder, "log"), "w", encoding="ascii") as log, subprocess.Popen(
                [*self.inside(0), "python3", "-c", f"import socket; s = socket.create_server(('10.78.1.1', {self.DATA})); print(flush=True); input()"],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log) as other:
            other.stdout.readline()
            self.write("l1")
            self.addCleanup(self.aitherion, "clean", "--yes")
            said = self.aitherion("start", "--json", code=1)
            self.assertIn(f"port {self.DATA} of 'aitherion-numa0' is taken by python3", said)
            self.assertIn("numa.0.data_port=PORT", said)
            other.stdin.close()

    def test_an_interface_without_an_address(self):
        self.ip("-n", self.sides[0], "address", "flush", "dev", "l1")
        node = self.start("[l0, l1]")
        self.assertIn(("data-address-missing", "l1"), [(warning["code"], warning["object"]) for warning in node["warnings"]])
        self.assertEqual(self.listening(), {f"10.78.0.1:{self.CONTROL}", f"10.78.0.1:{self.DATA}"})


class Options(Base):
    def refused(self, *arguments, **variables):
        result = runtime.run("serve", "--no-auth", "--sim", *arguments, env=harness.environment(**variables))
        self.assertEqual(result.returncode, 2 if "DATA_IFACE" not in variables else result.returncode, result.stderr)
        self.assertNotEqual(result.returncode, 0)
        return result.stderr

    def test_wrong_ones(self):
        local = ("--listen", "127.0.0.1:0")
        self.assertIn("stands for all", self.refused(*local, "--data-listen", "0.0.0.0:0"))
        self.assertIn("must be an IP address", self.refused(*local, "--data-listen", "localhost:0"))
        self.assertIn("is no address with a port", self.refused(*local, "--data-listen", "127.0.0.2"))
        self.assertIn("more than 8", self.refused(*local, "--data-listen", ",".join(["127.0.0.2:0"] * 9)))
        self.assertIn("more than 8", self.refused(*local, *["--data-listen", "127.0.0.2:0"] * 9))
        self.assertIn("needs --data-listen", self.refused(*local, "--data-address", "10.0.0.1:5"))
        self.assertIn("has no port", self.refused(*local, "--data-listen", "127.0.0.2:0", "--data-address", "10.0.0.1:0"))
        self.assertIn("needs an address in --listen", self.refused("--listen", "none", "--socket", os.path.join(
            harness.scratch(), "none"), "--data-listen", "127.0.0.2:0"))
        self.assertIn("the data interface 'no-such-link' is not here", self.refused(*local, DATA_IFACE="no-such-link"))
        self.assertIn("ZMQ_PORT is 'x'", self.refused(*local, DATA_IFACE="lo", ZMQ_PORT="x"))

    def test_interfaces_of_the_environment(self):
        port = 20000 + os.getpid() % 10000
        env = harness.environment(AITHERION_SIM_MEMORY="64M", DATA_IFACE="lo", ZMQ_PORT=str(port))
        with runtime.Server("--sim", env=env) as server:
            self.assertEqual(data_of(server), [f"127.0.0.1:{port}"])
        with serve() as server:
            self.assertNotIn("listening-for-data", server.log())


if __name__ == "__main__":
    harness.main()
