#!/usr/bin/env python3
"""Parts of a GPU's multiprocessors (`aitherion run --sm-share`) with the simulated driver, at a server and with the GPU in the program's own
process: on which ones a program's work runs, what it sees, and that no two programs have the same."""
import functools
import os
import re
import sys
import unittest

import runtime
import test_keys
from cuda import Program
from runtime import Server, harness

sys.path.insert(0, os.path.join(runtime.SOURCE, "tests", "cuda_programs"))

import programs  # noqa: E402

ALL = set(range(16))  # of the simulated GPU, in groups of two
WHERE = ("null", "stream", "nonblocking", "thread", "captured", "node")


def part_of(program, where="null"):
    """The multiprocessors on which a kernel ran."""
    return {int(word) for word in program.do(f"on {where}").split(",")}


def both_ways(test):
    """Runs a test with a program whose GPU is at the server, and with one that has it in its own process."""
    def run(self):
        for is_local in (False, True):
            with self.subTest(is_local=is_local), Server("--sim") as server:
                test(self, server, is_local)
    return functools.wraps(test)(run)


@unittest.skipUnless(harness.copies_alone(), "programs that an emulator runs find no library by LD_LIBRARY_PATH")
class Parts(test_keys.Base):
    def program(self, server, percent, is_local=False, env=None):
        """A program with a part. is_local: the GPU is in its own process."""
        asked = ["--sm-share", str(percent)] if percent else []
        if not is_local:
            program = Program(server.address, words=asked, env=env, name="part_steps")
        else:
            variables = dict(AITHERION_LOCAL=f"unix:{server.socket}", AITHERION_KEY_FILE=runtime.key_file(),
                             AITHERION_DRIVER=os.path.join(programs.library_folder("aitherion/sim"), "libcuda.so.1"),
                             LD_LIBRARY_PATH=programs.library_folder("aitherion/local"), AITHERION_SM_SHARE=str(percent) if percent else "",
                             **(env or {}))
            program = Program(None, alone=True, env=variables, name="part_steps")
        self.addCleanup(program.__exit__)
        return program

    @both_ways
    def test_all_work_of_a_program_runs_on_its_part(self, server, is_local):
        program = self.program(server, 25, is_local)
        self.assertEqual(program.first, "CUDA_SUCCESS")
        for where in WHERE:
            self.assertEqual((where, part_of(program, where)), (where, {0, 1, 2, 3}))
        self.assertLess(part_of(program, "own"), {0, 1, 2, 3})

    @both_ways
    def test_a_program_without_a_part_has_all(self, server, is_local):
        program = self.program(server, None, is_local)
        for where in WHERE:
            self.assertEqual((where, part_of(program, where)), (where, ALL))
        self.assertEqual(program.do("count"), "16 16 16 16")
        self.assertEqual(program.do("context"), "CUDA_SUCCESS")

    @both_ways
    def test_a_program_sees_what_it_has(self, server, is_local):
        program = self.program(server, 25, is_local)
        self.assertEqual(program.do("count"), "4 4 4 4")
        self.assertEqual(program.do("fits"), "CUDA_SUCCESS CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE")
        self.assertEqual(program.do("hidden"), "right")

    @both_ways
    def test_streams_wait_for_each_other_as_cuda_says(self, server, is_local):
        self.assertEqual(self.program(server, 50, is_local).do("order"), "right")
        self.assertEqual(self.program(server, None, is_local).do("order"), "right")

    def test_percentages_are_rounded_down_to_groups(self):
        """At least one group, and 100 is everything."""
        for percent, count in ((1, 2), (12, 2), (13, 2), (24, 2), (25, 4), (99, 14), (100, 16)):
            with self.subTest(percent), Server("--sim") as server:
                program = self.program(server, percent)
                self.assertEqual(program.do("count"), " ".join([str(count)] * 4))
                self.assertEqual(len(part_of(program)), count)

    @both_ways
    def test_programs_have_different_parts(self, server, is_local):
        """Until none is left; with a program that has ended its part is free."""
        first, second = self.program(server, 50, is_local), self.program(server, 25, not is_local)
        parts = [part_of(first), part_of(second)]
        self.assertEqual([len(part) for part in parts], [8, 4])
        self.assertFalse(parts[0] & parts[1])
        third = self.program(server, 50, is_local)
        self.assertEqual(third.first, "CUDA_ERROR_DEVICE_UNAVAILABLE")
        self.assertIn("aitherion: GPU 0 has no 8 multiprocessors left for --sm-share 50: other programs have parts of it; "
                      "ask for less, or wait until one of them has ended\n", third.end())
        first.kill()
        self.assertTrue(harness.wait_until(lambda: self.program(server, 50, is_local).first == "CUDA_SUCCESS"))
        self.assertEqual(part_of(second), parts[1])

    @both_ways
    def test_a_program_that_ends_its_context_gives_its_part_back(self, server, is_local):
        first = self.program(server, 100, is_local)
        self.assertEqual(first.do("again"), "CUDA_SUCCESS")
        self.assertEqual(part_of(first), ALL)
        self.assertEqual(self.program(server, 10, is_local).first, "CUDA_ERROR_DEVICE_UNAVAILABLE")

    def test_programs_with_parts_take_turns(self):
        """Work in the null stream and in streams that wait for it, while another program wants the GPU, too."""
        with Server("--sim", "--sharing", "turns") as server:
            both = [self.program(server, 50), self.program(server, 25, is_local=True)]
            for _ in range(3):
                for program in both:
                    program.say("time 2000 0")
                took = [int(program.read()) for program in both]
                self.assertGreaterEqual(took[0], 40)
                self.assertGreaterEqual(took[1], 80)
                self.assertEqual([program.do("order") for program in both], ["right"] * 2)
            self.assertEqual([len(part_of(program)) for program in both], [8, 4])

    @both_ways
    def test_a_kernel_takes_longer_on_a_part(self, server, is_local):
        self.assertGreaterEqual(int(self.program(server, 25, is_local).do("time 5000 0")), 200)

    @both_ways
    def test_other_contexts_are_refused(self, server, is_local):
        program = self.program(server, 25, is_local)
        self.assertEqual(program.do("context"), "CUDA_ERROR_NOT_SUPPORTED")
        self.assertEqual(part_of(program), {0, 1, 2, 3})
        self.assertIn("has only primary contexts: cuCtxCreate() is refused\n", program.end())

    def test_a_driver_that_cannot_divide(self):
        for is_local in (False, True):
            with self.subTest(is_local=is_local), Server("--sim", env=harness.environment(AITHERION_SIM_PARTS="none")) as server:
                program = self.program(server, 25, is_local, env={"AITHERION_SIM_PARTS": "none"})
                self.assertEqual(program.first, "CUDA_ERROR_NOT_SUPPORTED")
                self.assertIn("aitherion: GPU 0 cannot give a part of its multiprocessors for --sm-share 25: the driver says error 801\n",
                              program.end())
                self.assertEqual(self.program(server, None, is_local).first, "CUDA_SUCCESS")

    def test_odd_wishes(self):
        for words in ("0", "101", "25,cap", "none", "x", ""):
            with self.subTest(words), Server("--sim") as server:
                done = harness.run("run", "--server", server.address, "--key", runtime.key_file(), "--sm-share", words, "--", "true")
                self.assertEqual(done.returncode, 2)
                self.assertIn(f"'{words}' is no part of the multiprocessors\n  hint: give a percentage from 1 to 100, such as 25\n", done.stderr)
        with Server("--sim") as server:
            program = Program(server.address, alone=True, env={"AITHERION_SM_SHARE": "half"}, name="part_steps")
            self.addCleanup(program.__exit__)
            self.assertNotEqual(program.first, "CUDA_SUCCESS")
            self.assertIn("AITHERION_SM_SHARE is 'half', which is no part of the multiprocessors", program.end())

    @both_ways
    def test_session_list_tells_parts(self, server, is_local):
        self.program(server, 25, is_local)
        self.program(server, None, is_local)
        reach = ("--server", f"unix:{server.socket}", "--key", runtime.key_file())
        value, faults = harness.check_json(harness.run("session", "list", "--json", *reach).stdout)
        uses = [use for one in value["runtimes"] for session in one["sessions"] for use in session["devices"]]
        self.assertEqual((faults, [(use["multiprocessors"], use["multiprocessors_total"]) for use in uses]), ([], [(4, 16), (None, None)]))
        self.assertIn(", on 4 of 16 multiprocessors", harness.run("session", "list", *reach).stdout)
        page = harness.run("metrics", *reach).stdout
        self.assertEqual(re.findall(r'(?m)^aitherion_runtime_session_multiprocessors\{.*\} (\S+)$', page), ["4"])
        self.assertTrue(is_local or server.wait_for_log("25 percent wanted, 4 of 16 multiprocessors given"))

    def test_a_key_bounds_the_part(self):
        """For each of its sessions, those that ask for none too."""
        rows = self.rows("alice sm_share=25\n")
        less = "aitherion: warning: the key may have 25 percent of a GPU's multiprocessors, so the program gets that, and not 50 percent\n"
        with Server("--sim", "--identities", rows, keys=self.folder) as server:
            for name, asked, count, said in (("alice", ["--sm-share", "50"], 4, less), ("alice", ["--sm-share", "13%"], 2, ""), ("alice", [], 4, ""),
                                             ("bob", [], 16, "")):
                with self.subTest(name=name, asked=asked):
                    program = Program(server.address, key=None, words=["--key", self.path(name), *asked], env={"AITHERION_KEY_FILE": None},
                                      name="part_steps")
                    self.addCleanup(program.__exit__)
                    self.assertEqual(len(part_of(program)), count)
                    self.assertEqual(program.end(), said)


if __name__ == "__main__":
    unittest.main()
