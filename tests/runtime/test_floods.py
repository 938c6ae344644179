#!/usr/bin/env python3
"""Clients without the key and greedy clients beside right ones: floods of connections, all slots taken, joins that are none, and what one session
may take of the host. Each address of 127.0.0.0/8 is a source of its own for the server."""
import contextlib
import json
import os
import re
import socket
import unittest

import runtime
import test_stripes
from cuda import MIB, Program
from flood import Flood
from runtime import Server, Session, harness
from test_cuda import GOOD

OTHER = "127.0.0.9"
needs_capnp = unittest.skipUnless(runtime.HAS_CAPNP, "no capnp (package capnproto)")


def connect_from(server, source):
    return socket.create_connection(("127.0.0.1", server.port), timeout=harness.PATIENCE_S, source_address=(source, 0))


def hello(purpose="cuda", has_key=True):
    return runtime.encode({"hello": {"protocol": runtime.PROTOCOL, "protocolMin": runtime.PROTOCOL, "software": "test", "purpose": purpose,
                                     "nonce": [9] * 32, "hasKey": has_key}})


def join(session, number=1):
    return runtime.encode({"join": {"session": str(session), "number": number, "mac": [0] * 32}})


def said(connection):
    """The reason of a refusal; None after a challenge."""
    message = runtime.decode(runtime.read_frame(connection))
    return message["refusal"]["message"] if "refusal" in message else None


@needs_capnp
class Floods(unittest.TestCase):
    def check_others(self, server, flood):
        """Root on the socket and a right client of another address get in while the flood goes on, at the first attempt."""
        for place in ("unix:" + server.socket, server.address):
            result = runtime.run("health", "--server", place, *server.authentication, "--timeout", str(harness.PATIENCE_S))
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assertTrue(flood.goes_on())
        with Program(server.address) as program:
            self.assertEqual(program.do("fill 1000"), f"{GOOD} right")
            self.assertTrue(flood.goes_on())

    def check_same(self, server, flood):
        """A program with the key gets in from the flood's own address, because it tries again."""
        with Program(server.address, alone=True) as program:
            self.assertEqual(program.first, GOOD)
            self.assertTrue(flood.goes_on())

    def test_silence_costs_no_process(self):
        with Server("--sim") as server:
            for kind in ("silence", "close", "garbage"):
                self.assertTrue(harness.wait_until(lambda: not server.children()), "a session outlives its program")
                with Flood(server, OTHER, kind) as flood:
                    self.assertEqual(server.children(), [], kind)
                    self.check_others(server, flood)
            with Flood(server, "127.0.0.1", "silence") as flood:
                self.check_same(server, flood)
                self.check_others(server, flood)
            self.assertNotIn("crashed", server.log())

    def test_hellos_without_a_proof(self):
        with Server("--sim") as server:
            with Flood(server, OTHER, "frame", frame=hello()) as flood:
                self.check_others(server, flood)
                self.assertLessEqual(len(server.children()), 64)  # 32, and some that are about to end
            self.assertIn("too many", server.log())

    def test_a_program_beside_hellos_from_its_own_address(self):
        with Server("--sim") as server, Flood(server, "127.0.0.1", "frame", rate=100, frame=hello()) as flood:
            self.check_same(server, flood)

    def test_wrong_keys_use_up_the_attempts_of_their_address_alone(self):
        with Server("--sim") as server:
            wrong = hello() + runtime.encode({"proof": {"mac": [0] * 32}})
            with Flood(server, OTHER, "hit", rate=500, frame=wrong) as flood:
                self.assertTrue(server.wait_for_log("too many failed attempts from this address"))
                self.check_others(server, flood)
            self.assertNotIn("crashed", server.log())

    def test_joins_without_a_session_cost_no_process(self):
        """They are refused at once, and the connections of a program that starts meanwhile join it."""
        with Server("--sim") as server:
            with connect_from(server, OTHER) as connection:
                connection.sendall(join(12345))
                self.assertTrue(runtime.is_closed(connection))
            with Flood(server, OTHER, "frame", frame=join(12345)) as flood:
                self.assertEqual(server.children(), [])
                self.check_others(server, flood)
            self.assertRegex(server.log(), r"event=session-opened .* connections=4 ")
            self.assertNotIn("connections-missing", server.log())

    def test_joins_of_others_for_a_session_that_starts(self):
        """They come before its own connections, and take none of the places of those."""
        with Server("--sim") as server, contextlib.ExitStack() as stack:
            case = self

            class Beset(Session):
                def receive(self, wanted):
                    frame = super().receive(wanted)
                    if wanted == "challenge":
                        number = int(runtime.decode(frame)["challenge"]["session"])
                        bogus = [stack.enter_context(connect_from(server, OTHER)) for _ in range(40)]
                        for one in bogus:
                            one.sendall(join(number))
                        # Nine wait for the session's proof, and the others are refused at once.
                        ended = [one for one in bogus if runtime.is_closed(one, 0.05)]
                        case.assertTrue(harness.wait_until(lambda: sum(runtime.is_closed(one, 0.05) for one in bogus) >= 31), len(ended))
                    return frame
            with Beset(server.connect(), purpose="cuda") as session:
                test_stripes.announce(session, 1)
                with test_stripes.join(server, 1, session.id, test_stripes.ticket_of(session)):
                    self.assertEqual(test_stripes.joined(session), 1)
            self.assertNotIn("connections-missing", server.log())


@needs_capnp
class Slots(unittest.TestCase):
    def fill(self, server, stack, source, count):
        """Takes slots from an address until one is refused; returns the sessions."""
        sessions = []
        for _ in range(count):
            connection = stack.enter_context(contextlib.closing(connect_from(server, source)))
            sessions.append(runtime.quick_session(connection))
        return sessions

    def test_one_address_cannot_take_all_slots(self):
        with Server("--sim", "--sessions-per-source", "5", key=None) as server, contextlib.ExitStack() as stack:
            sessions = self.fill(server, stack, OTHER, 5)
            with connect_from(server, OTHER) as connection:
                connection.sendall(hello(has_key=False))
                self.assertEqual(said(connection), "too many sessions from this address")
            with connect_from(server, "127.0.0.10") as connection:
                connection.sendall(hello(has_key=False))
                self.assertIsNone(said(connection))
            sessions[2].close()
            self.assertTrue(harness.wait_until(lambda: len(server.children()) == 4))
            self.fill(server, stack, OTHER, 1)

    def test_an_administrator_gets_in_when_all_slots_are_taken(self):
        with Server("--sim", key=None) as server, contextlib.ExitStack() as stack:
            for source, count in (("127.0.0.8", 248), (OTHER, 248)):
                self.fill(server, stack, source, count)
            self.assertEqual(len(server.children()), 496)
            with connect_from(server, "127.0.0.10") as connection:
                connection.sendall(hello(has_key=False))
                self.assertEqual(said(connection), "too many sessions")
            listed = harness.run("session", "list", "--server", "unix:" + server.socket, "--json", env=harness.environment(AITHERION_KEY_FILE=""))
            sessions = json.loads(listed.stdout)["runtimes"][0]
            self.assertIsNone(sessions.get("error"), listed.stdout)
            result = runtime.run("health", "--socket", server.socket, "--no-auth", "--timeout", str(harness.PATIENCE_S))
            self.assertEqual(result.returncode, 0, result.stderr)
            # A kept slot is for control: a program of root's gets none.
            with Program("unix:" + server.socket, key=None, env={"AITHERION_CONNECT_TIMEOUT": "1"}, alone=True) as program:
                self.assertNotEqual(program.first, GOOD)
                self.assertIn("too many sessions", program.end())


class Host(unittest.TestCase):
    def test_a_session_ends_before_the_listening_process(self):
        with Server("--sim") as server, Program(server.address) as program:
            self.assertEqual(program.first, GOOD)
            scores = []
            for pid in (server.process.pid, server.children()[0]):
                with open(f"/proc/{pid}/oom_score_adj", encoding="ascii") as file:
                    scores.append(int(file.read()))
            self.assertLess(scores[0], scores[1])
            self.assertGreaterEqual(scores[1], 500)

    def test_descriptors_of_a_session(self):
        with Server("--sim") as server, Program(server.address) as program:
            self.assertEqual(program.first, GOOD)
            with open(f"/proc/{server.children()[0]}/limits", encoding="ascii") as file:
                most = int(re.search(r"Max open files +(\d+)", file.read()).group(1))
            self.assertLessEqual(most, 32768)

    def test_pinned_memory_has_a_bound(self):
        """The bound is 64 MiB here; memory that is given back is available again."""
        total = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
        with Server("--sim", "--host-fraction", repr(64 * MIB / total)) as server, Program(server.socket) as program:
            for _ in range(2):
                self.assertEqual(program.do(f"hold {40 * MIB} {40 * MIB} {20 * MIB}"), f"{GOOD} CUDA_ERROR_OUT_OF_MEMORY {GOOD}")
            self.assertEqual(program.do("fill 1000"), f"{GOOD} right")
            self.assertEqual(server.log().count("event=host-limit-reached"), 1)

    def test_captures_have_a_bound(self):
        """64 threads of a program may capture at the same time."""
        with Server("--sim") as server, Program(server.socket) as program:
            self.assertEqual(program.do("captures 64"), f"64 {GOOD}")
            self.assertEqual(program.do("captures 70"), "64 CUDA_ERROR_OUT_OF_MEMORY")
            self.assertEqual(program.do("captures 64"), f"64 {GOOD}")
            self.assertEqual(program.do("fill 1000"), f"{GOOD} right")


if __name__ == "__main__":
    harness.main()
