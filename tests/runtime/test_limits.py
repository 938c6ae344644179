#!/usr/bin/env python3
"""Limits of GPU memory on the simulated driver: from a program's first allocation on, for what the driver takes for a program
(contexts, modules, libraries, the kernels' stacks and heap), and as a server that only counts shows them. test_cuda.py has the
share of all sessions together, and the kinds of memory that programs take."""
import json
import os
import sys
import unittest

import runtime
from cuda import MIB, Program
from runtime import Server, harness

sys.path.insert(0, os.path.join(runtime.SOURCE, "bench"))

from relay import Relay  # noqa: E402

GOOD = "CUDA_SUCCESS"
FULL = "CUDA_ERROR_OUT_OF_MEMORY"
NO_PART = {"multiprocessors": None, "multiprocessors_total": None}
GIB = 1 << 30
DELAY_S = 0.005  # one way; from a round trip of 5 ms on a line counts as slow
THREADS = 16 * 2048  # that a simulated GPU can have at once


def serve(*arguments, **changes):
    variables = {"MEMORY": "64M", "DEVICES": "1", **changes}
    return Server("--sim", *arguments, env=harness.environment(**{f"AITHERION_SIM_{key}": value for key, value in variables.items()}))


def limited(server, memory, **env):
    return Program(server.socket, words=["--memory", memory], env=env)


def listed(server):
    """The devices of each session, from `session list`."""
    result = harness.run("session", "list", "--server", server.socket, "--key", runtime.key_file(runtime.KEY), "--json")
    return [one["devices"] for one in json.loads(result.stdout)["runtimes"][0]["sessions"]]


def used(server, device=0):
    return sum(use["memory_used_bytes"] for devices in listed(server) for use in devices if use["device"] == device)


class Base(unittest.TestCase):
    def all(self, program, steps, wanted=GOOD):
        for step in steps:
            self.assertEqual(program.do(step), wanted, step)

    def check_free(self, server):
        """Waits until all sessions are gone: nothing is counted then."""
        self.assertTrue(harness.wait_until(lambda: not server.children()), "a session is still there")
        self.assertEqual(used(server), 0)
        devices = json.loads(harness.run("session", "list", "--server", server.socket, "--key", runtime.key_file(runtime.KEY),
                                         "--json").stdout)["runtimes"][0]["devices"]
        self.assertEqual({one["memory_used_bytes"] for one in devices}, {0})


class Start(Base):
    def test_a_limit_holds_from_the_first_allocation(self):
        for place in ("socket", "address"):
            with self.subTest(place), serve() as server:
                with Program(getattr(server, place), words=["--memory", "8M"]) as program:
                    self.assertEqual(program.first, GOOD)
                    self.all(program, [f"take plain {8 * MIB + 1}"], FULL)
                    self.assertEqual(program.do("memory"), f"{GOOD} {8 * MIB} {8 * MIB} {8 * MIB}")
                    self.all(program, [f"take plain {8 * MIB}"])
                    self.all(program, ["take plain 1", "take async 1", "take create 65536"], FULL)
                    self.assertEqual(program.do("memory"), f"{GOOD} 0 {8 * MIB} {8 * MIB}")
                    self.all(program, ["give", "take plain 1"])
                    program.end()
                self.check_free(server)

    def test_a_part_of_each_gpu(self):
        with serve(DEVICES="2") as server, limited(server, "12.5%") as program:
            self.all(program, [f"take plain {8 * MIB + 1}", f"take other {8 * MIB + 1}"], FULL)
            self.all(program, [f"take plain {8 * MIB}", f"take other {8 * MIB}"])
            self.assertEqual(listed(server), [[{"device": device, "memory_used_bytes": 8 * MIB, "memory_limit_bytes": 8 * MIB,
                                                "memory_limit_source": "asked", "is_limit_enforced": True, **NO_PART} for device in (0, 1)]])

    def test_the_environment(self):
        for variables, bytes_wanted in (({"AITHERION_MEMORY": "9M"}, 9 * MIB), ({"AITHERION_MEMORY": "25%"}, 16 * MIB),
                                        ({"HCS_VRAM_QUOTA": str(5 * MIB + 7)}, 5 * MIB + 7),
                                        ({"HCS_VRAM_QUOTA": str(5 * MIB), "AITHERION_MEMORY": "9M"}, 9 * MIB),
                                        ({"HCS_VRAM_QUOTA": str(5 * MIB), "AITHERION_MEMORY": "none"}, 64 * MIB)):
            with self.subTest(variables), serve() as server, Program(server.socket, env=variables) as program:
                self.assertEqual(program.do("memory").split()[2:], [str(bytes_wanted)] * 2)
                self.all(program, [f"take plain {bytes_wanted + 1}"], FULL)
                self.all(program, [f"take plain {bytes_wanted}"])
        with serve() as server, Program(server.socket, words=["--memory", "3M"], env={"AITHERION_MEMORY": "9M"}) as program:
            self.assertEqual(program.do("memory").split()[2:], [str(3 * MIB)] * 2)

    def test_a_wrong_environment_is_reported_once(self):
        with serve() as server:
            for variables, pattern in (({"AITHERION_MEMORY": "much"}, "AITHERION_MEMORY is 'much', which is no limit of GPU memory"),
                                       ({"HCS_VRAM_QUOTA": "4G"}, "HCS_VRAM_QUOTA is '4G', which is no number of bytes"),
                                       ({"AITHERION_SHARE": "25x"}, "AITHERION_SHARE is '25x', which is no share of the GPUs' time"),
                                       ({"AITHERION_PRIORITY": "top"}, "AITHERION_PRIORITY is 'top'; it can be high, normal or low")):
                with self.subTest(variables), Program(server.socket, env=variables, alone=True) as program:
                    self.assertEqual(program.first, "CUDA_ERROR_SYSTEM_NOT_READY")
                    self.assertRegex(program.end(), f"^aitherion: {pattern}")

    def test_two_programs_with_4_and_8_gib(self):
        with serve(MEMORY="16G") as server, limited(server, "4G") as small, limited(server, "8G") as large:
            for program, gib in ((small, 4), (large, 8)):
                self.assertEqual(program.do("memory").split()[2:], [str(gib * GIB)] * 2)
                self.all(program, [f"take plain {gib * GIB + 1}"], FULL)
                self.all(program, [f"take plain {gib * GIB - 1}", "take plain 1"])
                self.all(program, ["take plain 1"], FULL)
            self.assertEqual(used(server), 12 * GIB)

    def test_the_smaller_one_of_share_and_limit_holds(self):
        with serve("--vram-fraction", "0.25") as server:
            for memory, mib in (("20M", 16), ("16M", 16), ("12M", 12)):
                with self.subTest(memory), limited(server, memory) as program:
                    self.assertEqual(program.do("memory").split()[2:], [str(mib * MIB)] * 2)
                    self.all(program, [f"take plain {mib * MIB + 1}"], FULL)
                    self.all(program, [f"take plain {mib * MIB}"])
                    program.end()
                self.check_free(server)

    def test_a_limit_is_listed_as_what_it_is(self):
        with serve() as server, limited(server, "8M") as program, Program(server.socket) as other:
            self.all(program, ["take plain 4096"])
            self.all(other, ["take plain 4096"])
            words = ["--server", server.socket, "--key", runtime.key_file(runtime.KEY)]
            sources = [[(use["memory_limit_bytes"], use["memory_limit_source"]) for use in one] for one in listed(server)]
            self.assertEqual(sources, [[(8 * MIB, "asked")], [(None, None)]])
            text = harness.run("session", "list", *words).stdout
            self.assertIn("GPU 0: 4.0 KiB of 8.0 MiB (asked for)", text)
            ids = [line.split()[1] for line in text.splitlines() if "cuda_steps" in line]
            self.assertEqual(harness.run("session", "limit", *words, ids[0], "9M").returncode, 0)
            self.assertEqual(listed(server)[0][0]["memory_limit_source"], "set")
            self.assertIn("GPU 0: 4.0 KiB of 9.0 MiB (set later)", harness.run("session", "list", *words).stdout)
            self.all(program, [f"take plain {9 * MIB - 4096}"])
            self.all(program, ["take plain 1"], FULL)
            self.assertEqual(harness.run("session", "limit", *words, ids[0], "none").returncode, 0)
            self.assertEqual(listed(server)[0][0]["memory_limit_source"], None)
            self.all(program, [f"take plain {20 * MIB}"])

    def test_the_log_says_which_limit_is_reached(self):
        with serve("--vram-fraction", "0.5") as server, limited(server, "8M") as program:
            self.all(program, [f"take plain {8 * MIB + 1}", f"take plain {9 * MIB}"], FULL)
            lines = [line for line in server.log().splitlines() if "event=share-reached" in line]
            self.assertEqual(len(lines), 1)
            self.assertRegex(lines[0], rf"asked_bytes={8 * MIB + 1} allocated_bytes=0 limit_bytes={8 * MIB} limit=session$")


class Contexts(Base):
    def test_each_context_counts(self):
        with serve(CONTEXT="4M", DEVICES="2") as server, limited(server, "16M") as program:
            self.assertEqual(program.do("memory"), f"{GOOD} {12 * MIB} {16 * MIB} {16 * MIB}")
            self.all(program, ["take context 0"] * 2)
            self.all(program, [f"take plain {4 * MIB + 1}"], FULL)
            self.all(program, ["take context 0"])
            self.assertEqual(used(server), 16 * MIB)
            self.all(program, ["take context 0", "take plain 1"], FULL)
            self.all(program, ["take abroad 0"] * 4)
            self.all(program, ["take abroad 0"], FULL)
            self.assertEqual((used(server), used(server, 1)), (16 * MIB, 16 * MIB))
            self.all(program, ["give"] * 7)
            self.assertEqual((used(server), used(server, 1)), (4 * MIB, 0))
            self.all(program, [f"take plain {12 * MIB}"])
            program.end()
            self.check_free(server)

    def test_a_refused_context_leaves_nothing(self):
        with serve(CONTEXT="4M") as server, limited(server, "7M") as program:
            self.all(program, ["take context 0"] * 3, FULL)
            self.assertEqual(used(server), 4 * MIB)
            self.all(program, [f"take plain {3 * MIB}"])
            self.assertEqual(program.do("fill 1000").split()[0], FULL)
            self.all(program, ["give"])
            self.assertEqual(program.do("fill 1000"), f"{GOOD} right")

    def test_a_program_without_room_for_its_first_context(self):
        with serve(CONTEXT="4M") as server, limited(server, str(4 * MIB - 1)) as program:
            self.assertEqual(program.first, FULL)
            self.assertEqual(used(server), 0)
        with serve(CONTEXT="4M") as server, limited(server, "4M") as program:
            self.assertEqual(program.first, GOOD)
            self.all(program, ["take plain 1"], FULL)

    def test_a_session_has_256_contexts_at_most(self):
        with serve() as server, Program(server.socket) as program:
            results = [program.do("take context 0") for _ in range(300)]
            self.assertEqual((results.count(GOOD), results.count(FULL)), (255, 45))
            self.all(program, ["give", "take context 0"])
            self.all(program, ["take context 0"], FULL)

    def test_the_stacks_of_kernels(self):
        room = 512 * THREADS
        with serve() as server, limited(server, str(room)) as program:
            self.all(program, ["take stack 1537"], FULL)
            self.assertEqual(used(server), 0)
            self.all(program, ["take stack 1536"])
            self.assertEqual(used(server), room)
            self.all(program, ["take plain 1", "take stack 2048"], FULL)
            self.all(program, ["give"])
            self.assertEqual(used(server), 0)
            self.all(program, ["take stack 512"])
            self.assertEqual(used(server), 0)

    def test_the_heap_and_the_printf_buffer_of_kernels(self):
        for kind, first in (("heap", 8 * MIB), ("fifo", MIB)):
            with self.subTest(kind), serve() as server, limited(server, "4M") as program:
                self.all(program, [f"take {kind} {first + 4 * MIB + 1}"], FULL)
                self.all(program, [f"take {kind} {first + 4 * MIB}"])
                self.assertEqual(used(server), 4 * MIB)
                self.all(program, ["take plain 1"], FULL)
                self.all(program, ["give", f"take plain {4 * MIB}"])

    def test_the_local_memory_of_kernels(self):
        room = 512 * THREADS + 8 * MIB
        with serve(LOCAL="1536") as server, limited(server, str(room)) as program:
            self.all(program, [f"take plain {8 * MIB + 1}"])
            self.assertEqual(program.do("fill 1000").split()[0], FULL)
            self.assertLess(used(server), 9 * MIB)
            self.all(program, ["give"])
            self.assertEqual(program.do("fill 1000"), f"{GOOD} right")
            self.assertGreaterEqual(used(server), 512 * THREADS)
            before = used(server)
            self.all(program, ["take stack 1536"])
            self.assertEqual(used(server), before)


class Modules(Base):
    def test_a_modules_variables_count(self):
        with serve() as server, limited(server, "8M") as program:
            self.all(program, [f"take module {8 * MIB + 1}"], FULL)
            self.assertEqual(used(server), 0)
            self.all(program, [f"take module {5 * MIB}", f"take module {3 * MIB}"])
            self.assertEqual(used(server), 8 * MIB)
            self.all(program, ["take module 1", "take plain 1"], FULL)
            self.all(program, ["give", f"take plain {3 * MIB}"])
            self.all(program, ["give", "give", f"take plain {8 * MIB}"])
            program.end()
            self.check_free(server)

    def test_a_module_counts_as_much_as_it_has_taken(self):
        with serve(MODULE="1M") as server, limited(server, "8M") as program:
            self.all(program, [f"take plain {7 * MIB}", "take module 8"])
            self.assertEqual(used(server), 8 * MIB)
            self.all(program, ["give", "give", f"take plain {7 * MIB + 1}"])
            self.all(program, ["take module 8"] * 3, FULL)
            self.assertEqual(used(server), 7 * MIB + 1)
            self.all(program, ["give", f"take module {2 * MIB}"])
            self.assertEqual(used(server), 2 * MIB)

    def test_a_module_ends_with_its_context(self):
        with serve() as server, Program(server.socket) as program:
            self.all(program, [f"take module {4 * MIB}"])
            self.assertEqual(used(server), 4 * MIB)
            program.do("reset")  # what comes after it takes a little
            self.assertLess(used(server), MIB)

    def test_a_library_counts_in_each_context(self):
        with serve(DEVICES="2") as server, limited(server, "8M") as program:
            self.all(program, [f"take library {8 * MIB + 1}"], FULL)
            self.all(program, [f"take library {3 * MIB}"])
            self.assertEqual((used(server), used(server, 1)), (3 * MIB, 0))
            self.all(program, ["take abroad 0"])
            self.assertEqual((used(server), used(server, 1)), (3 * MIB, 3 * MIB))
            self.all(program, ["take context 0"])
            self.assertEqual((used(server), used(server, 1)), (6 * MIB, 3 * MIB))
            self.all(program, ["take context 0", f"take library {MIB + 1}"], FULL)
            self.assertEqual((used(server), used(server, 1)), (6 * MIB, 3 * MIB))
            self.all(program, [f"take library {MIB}"])
            self.assertEqual((used(server), used(server, 1)), (8 * MIB, 4 * MIB))
            self.all(program, ["give"] * 4)
            self.assertEqual((used(server), used(server, 1)), (0, 0))

    def test_a_library_counts_as_much_as_it_has_taken(self):
        with serve(MODULE="2M") as server, limited(server, "8M") as program:
            self.all(program, ["take library 8", "take kernel 0"])
            self.assertEqual(used(server), 2 * MIB)
            self.all(program, ["give", "give"])
            self.assertEqual(used(server), 0)
            self.all(program, [f"take plain {7 * MIB}", "take library 8"])
            self.all(program, ["take kernel 0"], FULL)
            self.assertEqual(used(server), 9 * MIB)
            self.all(program, ["give"])
            self.assertEqual(used(server), 7 * MIB)
            self.all(program, [f"take plain {MIB}"])


class Counted(Base):
    """A server that only counts."""

    def test_a_limit_that_is_not_enforced(self):
        with serve("--no-enforce", "--vram-fraction", "0.5", CONTEXT="1M") as server, limited(server, "8M") as program:
            self.assertEqual(program.do("memory").split()[2:], [str(64 * MIB)] * 2)
            self.all(program, [f"take plain {20 * MIB}", f"take plain {20 * MIB}", "take context 0", f"take module {MIB}"])
            self.assertEqual(listed(server)[0], [{"device": 0, "memory_used_bytes": 43 * MIB, "memory_limit_bytes": 8 * MIB,
                                                  "memory_limit_source": "asked", "is_limit_enforced": False, **NO_PART}])
            lines = [line for line in server.log().splitlines() if "event=limit-exceeded" in line]
            self.assertEqual(len(lines), 1)
            self.assertRegex(lines[0], rf"level=warning .*asked_bytes={20 * MIB} allocated_bytes={MIB} limit_bytes={8 * MIB} limit=session$")
            self.assertNotIn("event=share-reached", server.log())
            self.all(program, [f"take plain {40 * MIB}"], FULL)  # the driver's own word
            self.all(program, ["give"] * 4)
            self.assertEqual(used(server), MIB)
            text = harness.run("session", "list", "--server", server.socket, "--key", runtime.key_file(runtime.KEY)).stdout
            self.assertIn("GPU 0: 1.0 MiB of 8.0 MiB (asked for, not enforced)", text)
            health = json.loads(server.health("--json").stdout)
            self.assertIn(("not-enforced", "note"), [(one["code"], one["severity"]) for one in health["server"]["problems"]])

    def test_the_share_is_not_enforced(self):
        with serve("--no-enforce", "--vram-fraction", "0.25") as server, Program(server.socket) as program:
            self.all(program, [f"take plain {16 * MIB}"])
            self.assertNotIn("event=limit-exceeded", server.log())
            self.all(program, ["take async 1", "take create 2097152", "take graph 4096"])
            self.assertRegex(server.log(), rf"event=limit-exceeded .* allocated_bytes={16 * MIB} limit_bytes={16 * MIB} limit=share\n")

    def test_the_environment_of_a_server(self):
        with Server("--sim", env=harness.environment(AITHERION_NO_ENFORCE="1")) as server:
            self.assertIn("not-enforced", server.health("--json").stdout)


class Ahead(Base):
    """On a slow line the client asks for more blocks than the program wants (src/cuda/client/memory_ahead.h)."""

    LIMIT, BLOCK = 8 * MIB, 128 * 1024

    def test_a_program_gets_its_limit_to_the_last_byte(self):
        with serve() as server, Relay(harness.build(), server.address, DELAY_S) as relay:
            with Program(relay.address, words=["--memory", "8M"]) as program:
                self.all(program, [f"take plain {self.BLOCK}"] * (self.LIMIT // self.BLOCK - 1))
                self.assertEqual(program.do("memory").split()[1], str(self.BLOCK))
                self.all(program, [f"take plain {self.BLOCK}"])
                self.assertNotIn("event=share-reached", server.log())  # nothing was refused that the program did not want
                self.all(program, ["take plain 1", f"take async {self.BLOCK}"], FULL)
                self.assertEqual(used(server), self.LIMIT)

    def test_memory_of_other_kinds_is_refused_by_the_programs_own_alone(self):
        with serve() as server, Relay(harness.build(), server.address, DELAY_S) as relay:
            with Program(relay.address, words=["--memory", "8M"]) as program:
                self.all(program, [f"take plain {self.BLOCK}"] * 4)  # and some more ahead
                left = self.LIMIT - 4 * self.BLOCK
                self.all(program, [f"take pitch {left - 2 * self.BLOCK}"])
                self.all(program, [f"take plain {self.BLOCK}"] * 2)
                self.assertNotIn("event=share-reached", server.log())
                self.assertEqual(used(server), self.LIMIT)
                self.all(program, [f"take plain {self.BLOCK}"], FULL)


if __name__ == "__main__":
    harness.main()
