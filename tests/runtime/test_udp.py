#!/usr/bin/env python3
"""Large data by UDP (src/remote/udp/carrier.h): programs at a server that takes it, through a relay that loses, damages and copies
datagrams, and what happens if UDP is filtered or not served."""
import os
import random
import re
import socket
import sys
import threading
import unittest

import runtime
from cuda import MIB, Program
from runtime import Session, harness
from test_cuda import GOOD, Base, needs_capnp, serve

sys.path.insert(0, os.path.join(runtime.SOURCE, "tests", "cuda_programs"))

import programs  # noqa: E402

HERE, RELAYED = "127.0.0.1", "127.0.0.2"
PLAIN = ("--encrypt", "off")
UDP = ("--transport", "udp", *PLAIN)
MOVERS = ["coherence", "graphs", "memory", "pinned", "threads"]  # of tests/cuda_programs: those that move large data


def udp_port(server):
    server.wait_for_log("event=udp ")
    return int(re.search(r"event=udp port=(\d+)", server.log()).group(1))


class Relay:
    """Listens at another address of the loopback, at the server's own ports: passes all bytes of TCP on, and datagrams as `treat` says,
    which gets each one and returns those to pass on. port: the server's for datagrams, if its log does not tell."""

    def __init__(self, server, treat, port=None):
        self.server, self.treat = server, treat
        self.port = port or udp_port(server)
        self.seen, self.is_over = 0, False
        self.listener = socket.create_server((RELAYED, server.port))
        self.listener.settimeout(0.1)
        self.front = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.front.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4 << 20)
        self.front.bind((RELAYED, self.port))
        self.front.settimeout(0.1)
        self.backs = {}  # a client's address -> the socket towards the server
        self.address = f"{RELAYED}:{server.port}"
        self.threads = []
        self.begin(self.accept)
        self.begin(self.forward)

    def begin(self, work, *arguments):
        self.threads.append(threading.Thread(target=work, args=arguments, daemon=True))
        self.threads[-1].start()

    def accept(self):
        while not self.is_over:
            try:
                client, _ = self.listener.accept()
            except TimeoutError:
                continue
            server = self.server.connect()
            client.settimeout(None)
            server.settimeout(None)
            self.begin(self.copy, client, server)
            self.begin(self.copy, server, client)

    @staticmethod
    def copy(source, target):
        try:
            while piece := source.recv(1 << 18):
                target.sendall(piece)
            target.shutdown(socket.SHUT_WR)
        except OSError:
            source.close()
            target.close()

    def forward(self):
        while not self.is_over:
            try:
                datagram, client = self.front.recvfrom(65536)
            except TimeoutError:
                continue
            self.seen += 1
            if client not in self.backs:
                back = self.backs[client] = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
                back.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4 << 20)
                back.settimeout(0.1)
                back.connect((HERE, self.port))
                self.begin(self.answer, back, client)
            for piece in self.treat(datagram):
                self.backs[client].send(piece)

    def answer(self, back, client):
        while not self.is_over:
            try:
                datagram = back.recv(65536)
            except TimeoutError:
                continue
            self.seen += 1
            for piece in self.treat(datagram):
                self.front.sendto(piece, client)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.is_over = True
        for thread in self.threads[:2]:
            thread.join()
        self.listener.close()
        self.front.close()


def bad_path(lost, damaged=0.0, copied=0.0):
    """Treats datagrams by chance: parts of 1 are lost, damaged and copied."""
    chance = random.Random(1)

    def treat(datagram):
        if chance.random() < lost:
            return []
        if chance.random() < damaged:
            at = chance.randrange(len(datagram))
            datagram = datagram[:at] + bytes([datagram[at] ^ 1 << chance.randrange(8)]) + datagram[at + 1:]
        return [datagram] * (1 + (chance.random() < copied))
    return treat


@needs_capnp
class Udp(Base):
    def check_copies(self, program):
        for size in (MIB, 5 * MIB + 1, 20 * MIB):
            self.assertEqual(program.do(f"fetch 1 {size}"), f"{GOOD} right")

    def test_large_data_goes_by_udp(self):
        with serve("--udp", "0", *PLAIN) as server, Relay(server, lambda datagram: [datagram]) as relay:
            with Program(relay.address, words=UDP) as program:
                opened = relay.seen
                self.check_copies(program)
                self.assertGreater(relay.seen, opened + 26 * MIB // 65536)
            self.assertIn("transport=udp", server.log())
            self.check_well(server)

    def test_encrypted(self):
        with serve("--udp", "0", "--encrypt", "on") as server, \
                Program(server.address, words=("--transport", "udp", "--encrypt", "on")) as program:
            self.check_copies(program)
            self.assertIn("encrypted=yes", server.log())

    def test_what_stays_on_the_host_is_not_sent_by_udp_in_plain(self):
        """Behind a tunnel, the port of UDP may be another user's."""
        with serve("--udp", "0") as server, Relay(server, lambda datagram: [datagram]) as relay:
            program = Program(relay.address, words=("--transport", "udp"))
            self.check_copies(program)
            self.assertIn("large data goes by TCP: this connection stays on this host and is not encrypted", program.end())
            self.assertEqual(relay.seen, 0)

    def test_a_server_takes_no_plain_udp_either(self):
        """From a client that would send it."""
        with serve("--udp", "0") as server:
            Program(server.address, words=UDP, wait=False).end()
            self.assertIn("the session is not encrypted, and this connection must be", server.log())
            self.check_well(server)

    def test_a_path_that_loses_damages_and_copies(self):
        with serve("--udp", "0", *PLAIN) as server, Relay(server, bad_path(0.01, 0.001, 0.01)) as relay, \
                Program(relay.address, words=UDP) as program:
            self.check_copies(program)

    def test_counts_of_datagrams(self):
        with serve("--udp", "0", *PLAIN) as server, Relay(server, bad_path(0.01, 0.01, 0.01)) as relay, \
                Program(relay.address, words=UDP) as program:
            self.check_copies(program)
            found = []

            def have_come():
                with Session(server.connect()) as session:
                    found[:] = [session.ask({"getFigures": None}, "figures")["datagrams"]]
                return all(int(found[0][0][name]) for name in ("sent", "received", "sentAgain", "lost", "duplicates", "damaged"))
            self.assertTrue(harness.wait_until(have_come), found)
            (counts,) = found[0]
            self.assertEqual(counts["address"], f"{HERE}:{udp_port(server)}")
            with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as stranger:
                stranger.sendto(bytes(100), (HERE, udp_port(server)))
                before = int(counts["foreign"])
                self.assertTrue(harness.wait_until(lambda: have_come() and int(found[0][0]["foreign"]) > before), found)
            helper = harness.udp_helper_of(server.process.pid)
            os.kill(helper, 9)
            self.assertTrue(server.wait_for_log("event=udp-ended"))
            self.assertTrue(harness.wait_until(lambda: harness.udp_helper_of(server.process.pid) not in (None, helper)))
            have_come()
            self.assertGreaterEqual(int(found[0][0]["sent"]), int(counts["sent"]))  # they do not fall

    def channels_of(self, server, until):
        """The channels of the only session, when until() says so of them."""
        shown = []

        def have_come():
            result = harness.run("session", "list", "--json", "--server", server.address, "--key", runtime.key_file())
            value, faults = harness.check_json(result.stdout)
            self.assertEqual(faults, [])
            shown[:] = value["runtimes"][0]["sessions"][0]["channels"]
            return until(shown)
        self.assertTrue(harness.wait_until(have_come), shown)
        return shown

    def test_the_list_of_sessions_shows_its_channels(self):
        with serve("--udp", "0", *PLAIN) as server, Program(server.address, words=UDP) as program:
            self.check_copies(program)
            shown = self.channels_of(server, lambda shown: sum(one["sent_bytes"] for one in shown) > 16 * MIB)
            self.assertEqual({(one["transport"], one["local"]) for one in shown}, {("udp", f"{HERE}:{udp_port(server)}")})
            self.assertEqual(len({one["peer"] for one in shown}), 3)
            for one in shown:
                self.assertRegex(one["peer"], rf"^{re.escape(HERE)}:\d+$")
                self.assertGreaterEqual(one["sent_again"], 0)
                self.assertGreater(one["datagrams_sent"], one["sent_bytes"] // 65536)
                self.assertGreater(one["datagrams_received"], 0)
                self.assertEqual(one["datagrams_damaged"], 0)

    def test_counts_of_datagrams_by_channel(self):
        """A channel counts its own datagrams: those of the other session pass unharmed."""
        names = ("datagrams_lost", "datagrams_duplicates", "datagrams_damaged", "sent_again")
        with serve("--udp", "0", *PLAIN) as server, Relay(server, bad_path(0.01, 0.01, 0.01)) as relay:
            with Program(relay.address, words=UDP) as program:
                self.check_copies(program)
                shown = self.channels_of(server, lambda shown: all(sum(one[name] for one in shown) for name in names))
                for one in shown:
                    self.assertGreater(one["datagrams_sent"], one["datagrams_lost"])
                named = ("--server", server.address, "--key", runtime.key_file())
                page = harness.run("metrics", *named).stdout
                for name in ("datagrams_sent", *names):
                    self.assertRegex(page, rf'aitherion_runtime_session_channel_{name}_total{{[^}}]*address="{HERE}",transport="udp"}} [1-9]')
                text = harness.run("session", "list", "-v", *named).stdout
                self.assertRegex(text, rf" udp +{HERE}:{udp_port(server)} +{HERE}:\d+ .* \d+ +\d+\n")
            with Program(server.address, words=UDP) as program:
                self.check_copies(program)
                shown = self.channels_of(server, lambda shown: sum(one["sent_bytes"] for one in shown) > 16 * MIB)
                self.assertEqual({one["datagrams_damaged"] for one in shown}, {0})

    def paths_of(self, server, until=lambda paths: True):
        """The paths of the only session, in the order of the list."""
        shown = []

        def have_come():
            result = harness.run("session", "list", "--json", "--server", server.address, "--key", runtime.key_file())
            value, faults = harness.check_json(result.stdout)
            self.assertEqual(faults, [])
            shown[:] = value["runtimes"][0]["sessions"][0]["paths"]
            return shown and until(shown)
        self.assertTrue(harness.wait_until(have_come), shown)
        return shown

    def test_the_list_of_sessions_shows_the_paths(self):
        """With their costs, once there were copies."""
        with serve("--udp", "0", *PLAIN) as server, Program(server.address, words=UDP) as program:
            self.check_copies(program)
            paths = self.paths_of(server, lambda paths: paths[1]["bytes_per_s"])
            self.assertEqual([(one["transport"], one["reason"], one["connections"], one["least_bytes"]) for one in paths],
                             [("tcp", None, 1, 0), ("udp", None, 3, MIB), ("local", "not-near", 0, 0), ("shm", "not-near", 0, 0)])
            self.assertGreater(paths[0]["latency_ns"], 0)
            self.assertIsNone(paths[0]["bytes_per_s"])
            self.assertGreater(paths[1]["latency_ns"], 0)
            self.assertGreater(paths[1]["bytes_per_s"], 0)
            result = harness.run("session", "list", "-v", "--server", server.address, "--key", runtime.key_file())
            self.assertRegex(result.stdout, r"udp +copies from 1\.0 MiB, 3 connections +[0-9.]+ [mun]?s +[0-9.]+ [GM]B/s")
            self.assertRegex(result.stdout, r"shm +not used: the program reaches the runtime by an address")

    def test_why_udp_is_not_used(self):
        for words, reason in ((("--udp", "0"), "not-asked"), ((), "not-served")):
            with self.subTest(reason), serve(*words) as server, Program(server.address) as program:
                self.check_copies(program)
                paths = self.paths_of(server, lambda paths: paths[1]["bytes_per_s"])
                self.assertEqual([(one["transport"], one["reason"], one["connections"]) for one in paths],
                                 [("tcp", None, 1), ("tcp", None, 4), ("local", "not-near", 0), ("shm", "not-near", 0), ("udp", reason, 0)])
                self.assertGreater(paths[1]["latency_ns"], 0)

    def test_a_unix_socket_needs_no_udp(self):
        with serve("--udp", "0") as server:
            with Program(f"unix:{server.socket}") as program:
                self.check_copies(program)
                self.assertEqual([(one["transport"], one["reason"], one["connections"]) for one in self.paths_of(server)],
                                 [("shm", None, 1), ("local", "not-asked", 0), ("udp", "not-needed", 0), ("tcp", "not-needed", 0)])
            program = Program(f"unix:{server.socket}", words=UDP)
            self.check_copies(program)
            self.assertIn("large data goes by TCP: the server is reached by its unix socket", program.end())

    def test_a_program_says_its_plan(self):
        """It names the paths of calls and copies, their costs, and why other paths are not used."""
        with serve("--udp", "0", *PLAIN) as server:
            port = udp_port(server)
            for words, copies, refused in (
                    (UDP, rf"3 x udp {HERE}:{port}, and a share by that of the calls", r"shm \(the transport 'udp' is asked for\)"),
                    (PLAIN, rf"4 x tcp {re.escape(server.address)}",
                     r"shm \(the server is reached by an address\), udp \(only on request \(--transport udp\)\)")):
                program = Program(server.address, words=("-v", *words))
                self.check_copies(program)
                said = program.end()
                self.assertRegex(said, rf"calls and copies below 1 MiB: tcp {re.escape(server.address)}, \d+\.\d\d ms\n")
                self.assertRegex(said, rf"copies from 1 MiB: {copies}\n")
                self.assertRegex(said, rf"paths not used: {refused}\n")
                self.assertRegex(said, r"copies from 1 MiB went to the server at [0-9.]+ [GM]B/s: 64 MiB in about [0-9.]+ ms\n")
                carrier, counts = ((f"udp {HERE}:{port}", r"\d+ of [1-9]\d* datagrams sent again, \d+ lost, 0 damaged") if words is UDP else
                                   (f"tcp {re.escape(server.address)}", r"\d+ segments sent again"))
                for number in (1, 2, 3):
                    self.assertRegex(said, rf"channel {number}, {carrier}: [1-9][0-9.]* MiB sent, [1-9][0-9.]* MiB received, {counts}\n")

    def test_filtered(self):
        with serve("--udp", "0", *PLAIN) as server, Relay(server, lambda datagram: []) as relay:
            program = Program(relay.address, words=UDP)
            self.check_copies(program)
            self.assertIn("large data goes by TCP: no way by UDP", program.end())
            self.assertNotIn("transport=udp", server.log())

    def test_not_served(self):
        with serve() as server:
            program = Program(server.address, words=UDP)
            self.check_copies(program)
            self.assertIn("large data goes by TCP: the server does not take UDP", program.end())

    def test_a_killed_helper_is_replaced(self):
        with serve("--udp", "0", *PLAIN) as server:
            with Program(server.address, words=UDP) as program:
                helper = harness.udp_helper_of(server.process.pid)
                self.check_copies(program)
                os.kill(helper, 9)
            self.assertTrue(server.wait_for_log("event=udp-ended"))
            with Program(server.address, words=UDP) as program:
                self.check_copies(program)
            with Session(server.connect()) as session:
                session.ask({"getHealth": None}, "health")

    def test_wrong_ports(self):
        for word in ("-1", "65536", "x", ""):
            result = runtime.run("serve", "--no-auth", "--sim", "--listen", "127.0.0.1:0", "--udp", word)
            self.assertEqual(result.returncode, 2, word)
            self.assertIn(f"'{word}' is no port", result.stderr)
        with serve("--udp", "0", *PLAIN) as server:
            result = runtime.run("serve", "--no-auth", "--sim", "--listen", "127.0.0.1:0", "--udp", str(udp_port(server)))
            self.assertEqual(result.returncode, 1)
            self.assertIn("cannot take datagrams on port", result.stderr)


@needs_capnp
class Programs(unittest.TestCase):
    def test_with_one_percent_of_loss(self):
        with runtime.Server("--sim", "--udp", "0", *PLAIN, env=harness.environment(AITHERION_SIM_DEVICES="2")) as server, \
                Relay(server, bad_path(0.01)) as relay:
            env = programs.environment(programs.library_folder("aitherion"), AITHERION_SERVER=relay.address,
                                       AITHERION_KEY_FILE=runtime.key_file(), AITHERION_TRANSPORT="udp", AITHERION_ENCRYPT="off")
            passed, failed, _ = programs.run_all(env, MOVERS)
            self.assertGreater(passed, 20)
            self.assertEqual(failed, 0)
            self.assertGreater(relay.seen, 1000)
            self.assertNotIn("session-crashed", server.log())


if __name__ == "__main__":
    harness.main()
