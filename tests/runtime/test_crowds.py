#!/usr/bin/env python3
"""More clients than a server serves at once: clients without a key, programs that work, sessions up to the limit, and a server
that comes and goes."""
import contextlib
import json
import struct
import time
import unittest

import runtime
from cuda import MIB, Program
from runtime import Server, Session, harness
import ports
from test_cuda import GONE, GOOD, TRANSPORTS, Base, needs_capnp, place, serve
from test_faults import files_of, memory_of


class Crowds(Base):
    def test_10000_connects(self):
        """Half of the clients send nothing, the others something wrong, and 100 right ones are among them."""
        with serve() as server:
            self.check_well(server)
            self.check_alone(server)
            before = files_of(server.process.pid), memory_of(server.process.pid)
            for i in range(10000):
                with server.connect() as connection:
                    if i % 2:
                        connection.sendall(struct.pack("<II", 0, 1 + i % 500) + b"\xa5" * (i % 64))
                if i % 100 == 99:
                    self.assertEqual(runtime.run("health", "--socket", server.socket, *server.authentication).returncode, 0)
            self.check_alone(server)
            self.assertTrue(harness.wait_until(lambda: files_of(server.process.pid) <= before[0]), "files stay open")
            if not runtime.IS_SANITIZED:  # a sanitizer keeps freed memory
                self.assertLess(memory_of(server.process.pid), before[1] + MIB)
            with Program(server.address) as program:
                self.assertEqual(program.do("fill 1000"), f"{GOOD} right")

    def test_64_programs_that_work(self):
        with serve(memory="2G") as server, contextlib.ExitStack() as stack:
            programs = [stack.enter_context(Program(place(server, TRANSPORTS[i % 2]), wait=False)) for i in range(64)]
            self.assertEqual({program.read() for program in programs}, {GOOD})
            for step, wanted in (("threads 2", "right"), ("fill 200000", f"{GOOD} right"), (f"take plain {8 * MIB}", GOOD)):
                for program in programs:
                    program.say(step)
                self.assertEqual({program.read() for program in programs}, {wanted}, step)
            told = json.loads(server.health("--json").stdout)["server"]
            self.assertEqual((told["sessions"], told["devices"][0]["sessions"]), (64, 64))
            self.assertGreaterEqual(told["devices"][0]["memory_used_bytes"], 64 * 8 * MIB)
            for program in programs[::2]:  # half of them are killed at work
                program.say("repeat sync")
                program.process.kill()
            for program in programs[1::2]:
                self.assertEqual(program.do("fill 1000"), f"{GOOD} right")
                self.assertEqual(program.end(), "")
            self.check_alone(server)
            self.check_well(server)
            self.assertNotIn("crashed", server.log())

    @needs_capnp
    def test_as_many_sessions_as_there_may_be(self):
        """496 sessions fit. The next one gets an error. When one ends there is room again. Sixteen more are kept for administrators
        (test_floods.py)."""
        with Server("--sim", "--sessions-per-source", "512", key=None) as server, contextlib.ExitStack() as stack:
            sessions, asked = [], time.monotonic()
            for _ in range(496):
                sessions.append(runtime.quick_session(stack.enter_context(contextlib.closing(server.connect()))))
                if time.monotonic() - asked > 5:  # a client that is silent for half a minute is closed
                    asked = time.monotonic()
                    for session in sessions:
                        session.sendall(runtime.encode({"getDevices": None}))
            self.assertEqual(len(server.children()), 496)
            with self.assertRaisesRegex(runtime.Refused, "busy"):
                Session(stack.enter_context(contextlib.closing(server.connect())), key=None)
            self.assertTrue(server.wait_for_log("event=session-refused"))
            self.assertRegex(server.log(), r"event=session-refused peer=\S+ reason=busy detail=\"too many sessions\"\n")
            with Program(server.address, key=None, env={"AITHERION_CONNECT_TIMEOUT": "3"}, alone=True) as program:
                self.assertEqual(program.first, "CUDA_ERROR_SYSTEM_NOT_READY")
                self.assertRegex(program.end(), r"(^|\n)aitherion: no session with '.*': the server refused: too many sessions\n$")
            with Program(server.address, key=None, wait=False, alone=True) as program:  # tries again until there is room
                time.sleep(0.3)
                sessions[7].close()
                self.assertEqual(program.read(), GOOD)
                self.assertEqual(program.do("fill 1000"), f"{GOOD} right")

    def test_a_server_that_comes_again_and_again(self):
        """A program that tries while the server is away finds it later; a program that has lost it keeps failing."""
        address = f"127.0.0.1:{ports.take(1)}"
        with contextlib.ExitStack() as stack:
            for _ in range(3):
                programs = [stack.enter_context(Program(address, wait=False, alone=i % 2)) for i in range(6)]
                time.sleep(0.4)
                with serve(listen=address) as server:
                    self.assertEqual({program.read() for program in programs}, {GOOD})
                    self.assertEqual({program.do("fill 1000") for program in programs}, {f"{GOOD} right"})
                    server.process.kill()
                    server.process.wait()
                self.assertEqual({program.do("fill 1000").split()[0] for program in programs}, {GONE})


if __name__ == "__main__":
    harness.main()
