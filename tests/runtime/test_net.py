#!/usr/bin/env python3
"""`aitherion net test`: the paths to a server, by TCP and by UDP, plain and encrypted; what it says of paths that are not used; who gets
no test; and what a server does with tests that no client of ours asks for."""
import contextlib
import os
import re
import socket
import struct
import subprocess
import threading
import time
import unittest

import runtime
from cuda import MIB, Program
from runtime import Server, Session, decode, encode, harness, read_frame
from test_cuda import GOOD, Base, needs_capnp, serve
from test_data_addresses import Sides, data_of, has_namespaces, joins, silence, two
from test_stripes import ticket_of, join

QUICK = ("--time", "0.1")
PART = 1024  # of the bytes on a connection, behind which the clock starts


def net(address, *arguments, key=True, **options):
    named = ("--key", runtime.key_file()) if key else ()
    return harness.run("net", "test", "--server", address, *named, *arguments, **options)


def measured(test, address, *arguments):
    """The result as data, which fits its schema."""
    result = net(address, *arguments, "--json")
    test.assertEqual(result.returncode, 0, result.stderr)
    test.assertRegex(result.stderr, r"\A(aitherion: large data goes by TCP: .+\n)?(aitherion: measuring the paths to the runtime\n)?\Z")
    value, faults = harness.check_json(result.stdout)
    test.assertEqual(faults, [])
    return value


def refused(test, address, *arguments, code=1, **options):
    """The error of a test that is not made."""
    result = net(address, *arguments, "--json", **options)
    test.assertEqual(result.returncode, code, result.stdout + result.stderr)
    value, faults = harness.check_json(result.stderr)
    test.assertEqual(faults, [])
    return value


class Old:
    """A relay in front of a server, which cuts a field that is not known to servers of older versions out of the first question."""

    def __init__(self, server):
        self.server = server
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.address = "127.0.0.1:%d" % self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()

    def accept(self):
        with contextlib.suppress(OSError):
            while True:
                client = self.listener.accept()[0]
                server = self.server.connect()
                server.settimeout(None)
                threading.Thread(target=self.ask, args=(client, server), daemon=True).start()
                threading.Thread(target=self.copy, args=(server, client), daemon=True).start()

    def ask(self, client, server):
        with contextlib.suppress(OSError):
            is_first = True
            while is_first and (frame := read_frame(client)):
                message = decode(frame)
                is_first = not {"join", "openChannel"} & set(message)
                if message.get("openChannel", {}).pop("isNetTest", False):
                    frame = encode(message)
                server.sendall(frame)
        self.copy(client, server)

    @staticmethod
    def copy(source, target):
        with contextlib.suppress(OSError):
            while piece := source.recv(1 << 18):
                target.sendall(piece)
        for one in (source, target):
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)


class Liar(Old):
    """A relay that changes what the server says of the bytes that have come."""

    def __init__(self, server, **lies):
        super().__init__(server)
        self.lies, self.told = lies, 0

    def ask(self, client, server):
        Old.copy(client, server)

    def copy(self, source, target):  # from the server to the client
        with contextlib.suppress(OSError):
            while piece := source.recv(1 << 18):
                is_frame = 8 <= len(piece) < 200 and piece[:8] == struct.pack("<II", 0, len(piece) // 8 - 1)
                target.sendall(self.changed(piece) if is_frame else piece)
            target.shutdown(socket.SHUT_RDWR)

    def changed(self, frame):
        message = decode(frame)
        if not int(message.get("netTestDone", {}).get("timeNs", 0)):
            return frame
        message["netTestDone"].update(self.lies)
        self.told += 1
        return encode(message)


class Measuring(Base):
    def check_speed(self, speed):
        self.assertGreater(speed["bytes"], 0)
        self.assertGreater(speed["time_ns"], 0)
        self.assertAlmostEqual(speed["bytes_per_s"], speed["bytes"] * 1e9 / speed["time_ns"], delta=speed["bytes_per_s"] * 1e-6)
        self.assertGreaterEqual(speed["sent_again"], 0)

    def check_path(self, path):
        trips = path["round_trip"]
        self.assertLess(0, trips["min_ns"])
        self.assertLessEqual(trips["min_ns"], trips["median_ns"])
        self.assertLessEqual(trips["median_ns"], trips["p99_ns"])
        self.assertGreaterEqual(trips["count"], 10)
        self.assertEqual((trips["bytes"], path["left_out"], path["link"]), (64, None, None))
        self.assertEqual(path["from"], "127.0.0.1")
        for way in ("to_server", "from_server"):
            self.check_speed(path[way])

    def check_paths(self, value, wanted):
        self.assertEqual([(one["role"], one["transport"], one["to"], one["connections"]) for one in value["paths"]], wanted)
        self.assertEqual([one["number"] for one in value["paths"]], list(range(1, len(wanted) + 1)))
        for path in value["paths"]:
            self.check_path(path)
        shares = not value["has_data_addresses"]  # that of the calls
        self.assertEqual(value["together"]["connections"], shares + sum(count for role, _, _, count in wanted if role == "data"))
        for way in ("to_server", "from_server"):
            self.check_speed(value["together"][way])

    def test_without_data_addresses(self):
        with serve("--log-level", "debug") as server:
            value = measured(self, server.address, *QUICK)
            self.check_paths(value, [("calls", "tcp", server.address, 1), ("data", "tcp", server.address, 3)])
            self.assertEqual((value["transport"], value["why_tcp"], value["is_encrypted"], value["has_data_addresses"], value["slowest"]),
                             ("tcp", None, False, False, None))
            self.assertEqual((value["time_seconds"], value["bytes"], value["is_dry_run"]), (0.1, None, False))
            self.assertTrue(server.wait_for_log("event=session-closed"), server.log())
            self.assertRegex(server.log(), r'event=session-opened .*connections=4 .*devices=0 program="aitherion net test"\n')
            self.assertNotIn("driver-loaded", server.log())
            self.check_alone(server)

    def test_with_data_addresses(self):
        for encrypt in ("auto", "on"):
            with self.subTest(encrypt), two() as server:
                value = measured(self, server.address, *QUICK, "--encrypt", encrypt)
                one, other = data_of(server)
                self.check_paths(value, [("calls", "tcp", server.address, 1), ("data", "tcp", one, 2), ("data", "tcp", other, 2)])
                self.assertEqual((value["is_encrypted"], value["has_data_addresses"]), (encrypt == "on", True))
                lower = [min(path[way]["bytes_per_s"] for way in ("to_server", "from_server")) for path in value["paths"][1:]]
                self.assertEqual(value["slowest"], 2 + lower.index(min(lower)))
                self.assertEqual(joins(server), 4)
                self.assertNotIn("session-broken", server.log())

    def test_by_udp(self):
        with two("--udp", "on") as server:
            value = measured(self, server.address, *QUICK, "--transport", "udp", "--encrypt", "on")
            one, other = data_of(server)
            self.check_paths(value, [("calls", "tcp", server.address, 1), ("data", "udp", one, 2), ("data", "udp", other, 2)])
            self.assertEqual((value["transport"], value["why_tcp"]), ("udp", None))
            self.assertEqual(joins(server, "udp"), 4)

    def test_by_udp_at_the_address_of_the_calls(self):
        with serve("--udp", "0", "--log-level", "debug") as server:
            server.wait_for_log("event=udp ")
            port = re.search(r"event=udp port=(\d+)", server.log()).group(1)
            variable = dict(harness.environment(), AITHERION_TRANSPORT="udp", AITHERION_ENCRYPT="on")
            result = net(server.address, *QUICK, "--json", env=variable)
            self.check_paths(harness.check_json(result.stdout)[0],
                             [("calls", "tcp", server.address, 1), ("data", "udp", f"127.0.0.1:{port}", 3)])

    def test_why_udp_is_not_used(self):
        with two("--udp", "on") as server:
            value = measured(self, server.address, *QUICK, "--transport", "udp")
            self.assertIn("is not encrypted, so UDP would not be, either", value["why_tcp"])
            self.assertEqual({path["transport"] for path in value["paths"]}, {"tcp"})
        with two() as server:
            result = net(server.address, *QUICK, "--transport", "udp", "--encrypt", "on")
            self.assertIn("\nlarge copies go by TCP: the server does not take UDP\n", result.stdout)

    def test_so_many_bytes(self):
        """The clock starts behind the first part of each measurement, or the first of eight frames."""
        with two() as server:
            value = measured(self, server.address, "--bytes", "16M")
            self.assertEqual((value["time_seconds"], value["bytes"]), (None, 16 * MIB))
            for way in ("to_server", "from_server"):
                self.assertEqual([path[way]["bytes"] for path in value["paths"]], [16 * MIB - PART] * 3)
                self.assertEqual(value["together"][way]["bytes"], 14 * MIB)

    def test_gpus_that_are_in_use(self):
        with serve() as server, Program(server.address) as program:
            self.assertEqual(program.do("fill 1000"), f"{GOOD} right")
            self.check_paths(measured(self, server.address, *QUICK),
                             [("calls", "tcp", server.address, 1), ("data", "tcp", server.address, 3)])
            self.assertEqual(program.do("fill 1000"), f"{GOOD} right")

    def test_without_a_driver(self):
        with Server("--sim", env=harness.environment(AITHERION_SIM_FOLDER="/nonexistent")) as server:
            self.assertEqual(len(measured(self, server.address, *QUICK)["paths"]), 2)

    def test_only_the_paths(self):
        with two("--log-level", "debug") as server:
            value = measured(self, server.address, "--dry-run")
            self.assertTrue(value["is_dry_run"])
            self.assertEqual([path["to"] for path in value["paths"]], [server.address, *data_of(server)])
            for path in value["paths"]:
                self.assertEqual((path["round_trip"], path["to_server"], path["from_server"], path["from"]), (None, None, None, "127.0.0.1"))
            self.assertEqual(value["together"], {"connections": 4, "to_server": None, "from_server": None})
            self.assertIn("nothing was measured (--dry-run)\n", net(server.address, "--dry-run").stdout)


class Telling(Base):
    def test_text(self):
        number = r"[0-9.]+"
        speed = rf" +{number} [GMk]b/s"
        trips = rf" +{number} / {number} / {number} ms"
        with two() as server:
            wide = dict(harness.environment(), COLUMNS="200")
            text = net(server.address, *QUICK, env=wide).stdout
            one, other = data_of(server)
            self.assertRegex(text, rf"^runtime {server.address}, session \d+, not encrypted\n\nPath +For +Via +From +To +Connections +"
                             r"Round trip: min / median / p99 +To server +From server +Sent again\n")
            for row, (role, to, count) in enumerate([("calls", server.address, 1), ("data", one, 2), ("data", other, 2)], 1):
                self.assertRegex(text, rf"\n{row} +{role} +tcp +127\.0\.0\.1 +{re.escape(to)} +{count}{trips}{speed}{speed} +\d+ / \d+\n")
            self.assertRegex(text, rf"\nall +data +- +- +- +4 +-{speed}{speed} +\d+ / \d+\n\n")
            self.assertRegex(text, r"\npath [23] is the slowest one of large copies: [0-9.]+ [GMk]b/s (to|from) the runtime\n")
            self.assertRegex(text, r"\nall together carry \d+ % of what the paths carry alone to the runtime, and \d+ % from it\n$")

    def test_an_address_that_does_not_answer(self):
        with silence() as silent, socket.socket() as unused:
            unused.bind(("127.0.0.5", 0))  # no process listens
            closed = "127.0.0.5:%d" % unused.getsockname()[1]
            with serve("--data-listen", "127.0.0.2:0", "--log-level", "debug") as server:
                right = data_of(server)[0]
            port = right.rsplit(":", 1)[1]
            with serve("--data-listen", f"127.0.0.2:{port}", "--data-address", f"{silent},{right},{closed}") as server:
                value = measured(self, server.address, *QUICK)
                self.assertEqual([(path["to"], path["left_out"]) for path in value["paths"]],
                                 [(server.address, None), (right, None), (silent, "Connection timed out"), (closed, "Connection refused")])
                self.assertEqual([path["connections"] for path in value["paths"]], [1, 3, 0, 0])
                self.assertEqual((value["has_data_addresses"], value["slowest"]), (True, None))
                text = net(server.address, *QUICK).stdout
                self.assertIn(f"\npath 4 to {closed} is left out: Connection refused\n", text)
                self.assertNotIn("slowest", text)
            with serve("--data-listen", f"127.0.0.2:{port}", "--data-address", closed) as server:
                value = measured(self, server.address, *QUICK)
                self.assertEqual([(path["role"], path["to"], bool(path["left_out"])) for path in value["paths"]],
                                 [("calls", server.address, False), ("data", server.address, False), ("data", closed, True)])
                self.assertFalse(value["has_data_addresses"])
                self.assertIn("\nno data address is of use: large copies go where the calls go\n", net(server.address, *QUICK).stdout)

    def test_it_is_a_session(self):
        with serve() as server:
            with subprocess.Popen([harness.binary(), "net", "test", "--server", server.address, "--key", runtime.key_file(), "--time", "600"],
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=harness.environment()) as process, \
                    contextlib.ExitStack() as stack:
                stack.callback(process.kill)
                def listed():
                    value, _ = harness.check_json(harness.run("session", "list", "--server", server.address, "--key", runtime.key_file(),
                                                              "--json").stdout)
                    return [one for one in value["runtimes"][0]["sessions"] if one["program"]]
                found = harness.wait_until(listed)
                self.assertEqual([one["program"] for one in found], ["aitherion net test"])
                result = harness.run("session", "end", str(found[0]["id"]), "--server", server.address, "--key", runtime.key_file())
                self.assertEqual(result.returncode, 0, result.stderr)
                _, errors = process.communicate(timeout=harness.PATIENCE_S)
                self.assertEqual(process.returncode, 1)
                self.assertRegex(errors, rf"aitherion: the path from '127\.0\.0\.1' to '{server.address}' broke while it was measured: .+\n"
                                 r"  hint: look for the event session-broken")


@unittest.skipUnless(has_namespaces(), "network namespaces need root and ip (package iproute2)")
class Links(Sides):
    """Links of known speeds between two network namespaces."""

    LINKS = 3
    RATES = (10, 20, 40)  # Mbit/s: of the calls, and of data

    def setUp(self):
        super().setUp()
        for i, rate in enumerate(self.RATES):
            for side in (0, 1):
                self.address(side, f"l{i}", f"10.79.{i}.{1 + side}/24")
                subprocess.run(["tc", "-n", self.sides[side], "qdisc", "add", "dev", f"l{i}", "root", "tbf", "rate", f"{rate}mbit", "burst", "64k",
                                "latency", "50ms"], check=True)

    def measure(self, server, *arguments):
        result = subprocess.run([*self.inside(1), harness.binary(), "net", "test", "--server", server.address, "--key", runtime.key_file(),
                                 "--json", *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=harness.environment(),
                                check=False)
        self.assertEqual(result.returncode, 0, result.stderr)
        value, faults = harness.check_json(result.stdout)
        self.assertEqual(faults, [])
        return value

    def test_speeds_of_links(self):
        """However busy this machine is, no path is faster than its link; and 10 Mbit/s are a few packets in a millisecond."""
        with serve("--data-listen", "10.79.1.1:5555", "--data-listen", "10.79.2.1:5555", "--udp", "on", listen="10.79.0.1:50051",
                   prefix=self.inside(0)) as server:
            for transport in ("tcp", "udp"):
                with self.subTest(transport):
                    value = self.measure(server, "--bytes", "4M", "--transport", transport)
                    self.assertEqual([path["from"] for path in value["paths"]], [f"10.79.{i}.2" for i in range(3)])
                    self.assertEqual([path["transport"] for path in value["paths"]], ["tcp", transport, transport])
                    self.assertTrue(value["is_encrypted"])
                    for rate, path in zip(self.RATES, value["paths"]):
                        for way in ("to_server", "from_server"):
                            mbit = path[way]["bytes_per_s"] * 8 / 1e6
                            self.assertLess(mbit, rate * 1.05, path)
                            self.assertGreater(mbit, rate * 0.1, path)
                    self.assertEqual(value["slowest"], 2)
                    again = [path[way]["sent_again"] for path in value["paths"] for way in ("to_server", "from_server") if path["transport"] == "tcp"]
                    self.assertGreater(sum(again), 0)  # TCP fills the links' queues, which then drop packets
                    for way in ("to_server", "from_server"):
                        self.assertLess(value["together"][way]["bytes_per_s"] * 8 / 1e6, sum(self.RATES[1:]) * 1.1)

    def test_a_link_that_is_down(self):
        """Its connections go by the other one."""
        with serve("--data-listen", "10.79.1.1:5555", "--data-listen", "10.79.2.1:5555", listen="10.79.0.1:50051",
                   prefix=self.inside(0)) as server:
            both = self.measure(server, "--dry-run")
            self.ip("-n", self.sides[0], "link", "set", "l1", "down")
            value = self.measure(server, "--dry-run")
            self.assertEqual([(path["to"], path["connections"], bool(path["left_out"])) for path in value["paths"]],
                             [("10.79.0.1:50051", 1, False), ("10.79.2.1:5555", both["together"]["connections"], False),
                              ("10.79.1.1:5555", 0, True)])


class Refusing(Base):
    def test_keys(self):
        with serve() as server:
            error = refused(self, server.address, "--key", runtime.key_file(b"another key of 32 bytes, or more"), key=False)
            self.assertEqual(error["code"], "key-refused")
            self.assertIn(f"no session with '{server.address}': the server has another key", error["message"])
            self.assertIn("aitherion key --import", error["hint"])
            variables = dict(harness.environment(), AITHERION_KEY_FILE="")
            error = refused(self, server.address, key=False, env=variables)
            self.assertEqual(error["code"], "key-refused")
            self.assertIn("the server wants a key, and this side has none", error["message"])
            self.assertNotIn("session-opened", server.log())

    def test_a_server_that_is_away(self):
        with socket.socket() as unused:
            unused.bind(("127.0.0.1", 0))
            address = "127.0.0.1:%d" % unused.getsockname()[1]
            error = refused(self, address)
            self.assertEqual(error["code"], "peer-unreachable")
            self.assertIn(address, error["message"])

    def test_a_socket_of_this_machine(self):
        with serve() as server:
            error = refused(self, f"unix:{server.socket}", code=2)
            self.assertEqual((error["code"], error["hint"]), ("usage", "aitherion net test --server HOST:PORT"))
            self.assertIn(server.socket, error["message"])

    @needs_capnp
    def test_an_old_server(self):
        with serve() as server, Old(server) as old:
            error = refused(self, old.address, *QUICK)
            self.assertEqual(error["code"], "not-supported")
            self.assertEqual(error["message"], f"the server '{old.address}' knows no tests of the network: its version is older than this one")
            self.assertEqual(error["hint"], "install the same version of aitherion on both machines")
            self.check_well(server)

    @needs_capnp
    def test_a_server_that_lies(self):
        """It cannot have got more bytes than were sent, or for a longer time than passed."""
        for lies in ({"bytes": str(1 << 63)}, {"timeNs": str(1 << 62)}):
            with self.subTest(lies), serve() as server, Liar(server, **lies) as liar:
                error = refused(self, liar.address, *QUICK)
                self.assertEqual((liar.told, error["code"]), (1, "peer-failed"))
                self.assertIn("broke while it was measured: Bad message", error["message"])

    @needs_capnp
    def test_a_server_that_lies_about_its_speed(self):
        """The next measurement does not get as many bytes as would then be right."""
        with serve() as server, Liar(server, timeNs="1") as liar:
            value = measured(self, liar.address, *QUICK)
            self.assertGreater(liar.told, 1)
            self.assertGreater(value["paths"][0]["to_server"]["bytes_per_s"], 1e12)

    def test_amounts(self):
        for words, said in ((("--time", "0"), "'0' is not a time in seconds from 0.1 to 3600"), (("--time", "nan"), "'nan' is not a time"),
                            (("--time", "3601"), "'3601' is not"), (("--bytes", "2097151"), "'2097151' is not a size of at least 2M"),
                            (("--bytes", "many"), "'many' is not"), (("--time", "1", "--bytes", "4M"), "'--time' and '--bytes' exclude each"),
                            (("--transport", "shm"), "shm")):
            with self.subTest(words):
                error = refused(self, "127.0.0.1:1", *words, code=2)
                self.assertEqual(error["code"], "usage")
                self.assertIn(said, error["message"])


@needs_capnp
class Asking(Base):
    """Tests that are asked for in Python."""

    @contextlib.contextmanager
    def opened(self, server, stripes=1):
        with Session(server.connect(), purpose="cuda") as session, contextlib.ExitStack() as stack:
            session.connection.sendall(encode({"openChannel": {"transport": "tcp", "program": "test", "stripes": stripes, "isNetTest": True}}))
            ticket = ticket_of(session)
            session.others = [stack.enter_context(join(server, 1 + i, session.id, ticket)) for i in range(stripes)]
            channel = decode(session.receive("channel"))["channel"]
            self.assertEqual((channel["isNetTest"], channel["stripes"], channel["devices"], channel["driverVersion"]), (True, stripes, 0, 0))
            yield session

    def ask(self, session, **test):
        self.assertNotIn("timeNs", {name for name, value in session.ask({"netTest": test}, "netTestDone").items() if int(value) > 0})

    def done(self, session):
        return {name: int(value) for name, value in decode(session.receive("netTestDone"))["netTestDone"].items()}

    def test_right_ones(self):
        with serve() as server, self.opened(server) as session:
            self.ask(session, kind="look", connections=3)
            self.assertGreaterEqual(self.done(session)["sentAgain"], 0)
            for connections, connection in ((1, session.connection), (2, session.others[0])):
                self.ask(session, kind="echo", connections=connections, bytes="65536", count=3)
                for i in range(3):
                    sent = os.urandom(65536)
                    connection.sendall(sent)
                    self.assertEqual(runtime.read_bytes(connection, 65536), sent, i)
                self.done(session)
            self.ask(session, kind="toServer", connections=3, bytes="1000")
            for connection in (session.connection, session.others[0]):
                connection.sendall(bytes(1000))
            told = self.done(session)
            self.assertIn(told["bytes"], (0, 2 * 1000 - 125))  # 0: all came at one moment
            self.ask(session, kind="fromServer", connections=2, bytes="100001")
            self.assertEqual(len(runtime.read_bytes(session.others[0], 100001)), 100001)
            self.done(session)
            self.ask(session, kind="toServer", connections=0, bytes=str(3 * MIB + 2))  # frames of 1 MiB, with equal shares
            for size in (MIB, MIB, MIB, 2):
                share = size // 2 + 1
                session.connection.sendall(bytes(min(share, size)))
                session.others[0].sendall(bytes(size - min(share, size)))
            self.assertEqual(self.done(session)["bytes"], 2 * MIB + 2)
            self.ask(session, kind="look", connections=0)
            self.assertGreaterEqual(self.done(session)["sentAgain"], 0)
            session.connection.sendall(encode({"netTest": {"kind": "look", "connections": 1}}))  # no more
            self.assertTrue(runtime.is_closed(session.connection))

    def test_wrong_ones(self):
        wrong = [{"kind": "look", "connections": 4}, {"kind": "echo", "connections": 3, "bytes": "1", "count": 1},
                 {"kind": "echo", "connections": 0, "bytes": "1", "count": 1}, {"kind": "echo", "connections": 1, "bytes": "65537", "count": 1},
                 {"kind": "echo", "connections": 1, "bytes": "0", "count": 1}, {"kind": "toServer", "connections": 1, "bytes": "0"},
                 {"kind": "fromServer", "connections": 2, "bytes": "0"}]
        with serve() as server, Program(server.address) as program:
            for test in wrong:
                with self.subTest(test), self.opened(server) as session:
                    session.connection.sendall(encode({"netTest": test}))
                    self.assertTrue(runtime.is_closed(session.connection))
            for frame in (encode({"getHealth": None}), struct.pack("<II", 0, 1 << 20), b"GET / HTTP/1.1\r\n\r\n"):
                with self.opened(server) as session:
                    session.connection.sendall(frame)
                    self.assertTrue(runtime.is_closed(session.connection))
            self.assertNotIn("session-crashed", server.log())
            self.assertEqual(program.do("fill 1000"), f"{GOOD} right")

    def test_connections_that_end(self):
        """The session ends with them, however many bytes are still to come."""
        with serve() as server:
            for kind in ("toServer", "fromServer"):
                with self.subTest(kind), self.opened(server) as session:
                    self.ask(session, kind=kind, connections=2, bytes=str(1 << 40))
                    session.others[0].close()
                    self.assertTrue(runtime.is_closed(session.connection))
            with self.opened(server) as session:
                self.ask(session, kind="toServer", connections=2, bytes=str(1 << 40))
                begin = time.monotonic()
                self.assertTrue(runtime.is_closed(session.connection))  # nothing comes for ten seconds
                self.assertGreater(time.monotonic() - begin, 8)
            self.check_alone(server)

    def test_no_transport_but_sockets(self):
        with serve() as server:
            for transport in ("shm", "local"):
                with self.subTest(transport), Session(server.connect(), purpose="cuda") as session:
                    session.connection.sendall(encode({"openChannel": {"transport": transport, "isNetTest": True}}))
                    self.assertIn("transport", decode(session.receive("failure"))["failure"]["message"])


if __name__ == "__main__":
    harness.main()
