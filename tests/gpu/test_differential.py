#!/usr/bin/env python3
"""tests/gpu/differential.py itself, on the simulated driver: sequences repeat, planted differences are found, and no others."""
import contextlib
import io
import os
import subprocess
import sys
import tempfile
import types
import unittest

SOURCE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(SOURCE, "tests", "tools"))
sys.path.insert(0, os.path.join(SOURCE, "tests", "gpu"))
sys.path[2:2] = [os.path.join(SOURCE, "tests", name) for name in ["cuda_programs", "sim"]]

import bed as beds  # noqa: E402
import differential  # noqa: E402
import harness  # noqa: E402
import test_nvcc  # noqa: E402

BUILD = harness.build()
PROGRAM = os.path.join(BUILD, "tests", "gpu", "differential", "differential")


def compare(*arguments):
    """differential.py with the simulated driver: its result."""
    command = [sys.executable, "-B", differential.__file__, "--sim", "--build", BUILD, "--jobs", "2", "--limit", str(harness.PATIENCE_S),
               "--budget", str(harness.PATIENCE_S), *arguments]
    return subprocess.run(command, text=True, timeout=10 * harness.PATIENCE_S, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          check=False, env=harness.environment())


def lines_of(*arguments):
    """The lines of one native sequence."""
    bed = beds.Bed(BUILD, tempfile.mkdtemp(dir=harness.scratch()), True)
    return subprocess.run([PROGRAM, *arguments], text=True, stdout=subprocess.PIPE, check=True, env=bed.environment(beds.NATIVE)).stdout


@unittest.skipUnless(harness.copies_alone(), "programs that an emulator runs find no library by LD_LIBRARY_PATH")
class Sequences(unittest.TestCase):
    def test_a_seed_gives_the_same_lines_again(self):
        first = lines_of("--seed", "3", "--risks", "null,foreign,twice")
        self.assertEqual(first, lines_of("--seed", "3", "--risks", "null,foreign,twice"))
        self.assertNotEqual(first, lines_of("--seed", "4", "--risks", "null,foreign,twice"))
        self.assertTrue(first.endswith("= end\n"))

    def test_skipped_steps_and_other_areas_are_left_out(self):
        lines = lines_of("--seed", "3", "--only", "copies", "--skip", "0-9,12").splitlines()
        steps = {differential.step_of(line) for line in lines}
        self.assertFalse(steps & {*range(10), 12})
        self.assertIn(11, steps)
        areas = {differential.operation_of(line).split()[0] for line in lines if differential.step_of(line) is not None}
        self.assertLessEqual(areas, {"copies", "memory", "streams", "events"})

    def test_every_operation_is_made_by_some_seed(self):
        listed = set(lines_of("--list").splitlines())
        made = set()
        for plan, areas in differential.PLANS.items():
            for seed in ("1", "2", "3"):
                only = ["--only", areas] if areas else []
                lines = lines_of("--seed", seed, "--steps", "400", "--risks", "null,foreign,twice", *only).splitlines()
                made |= {differential.operation_of(line) for line in lines if differential.step_of(line) is not None}
            self.assertTrue(made, plan)
        lacking = {"modules link", "textures ask a surface", "textures destroy a surface"}  # the simulated driver has neither
        self.assertEqual(listed - made - lacking, set())

    def test_nothing_differs_but_what_is_known(self):
        result = compare("--seeds", "1", "--steps", "100")
        self.assertEqual(result.returncode, 0, result.stdout)
        self.assertIn(" 0 kinds of differences, 0 ends of the server, 0 crashes of sessions", result.stdout)

    def test_a_call_that_is_lost_is_found_and_its_sequence_is_short(self):
        result = compare("--seeds", "1", "--modes", "shm", "--plant", "cuMemcpyHtoD_v2", "copies")
        self.assertEqual(result.returncode, 1, result.stdout)
        self.assertIn("\ncheck ", result.stdout)
        self.assertIn("copies in", result.stdout)

    def test_a_result_that_differs_is_found(self):
        result = compare("--seeds", "1", "--modes", "shm", "--plant", "cuPointerGetAttribute", "memory")
        self.assertEqual(result.returncode, 1, result.stdout)
        self.assertIn("\nmemory pointer attribute cuPointerGetAttribute", result.stdout)

    @unittest.skipIf(test_nvcc.why_not(), test_nvcc.why_not())
    def test_the_runtime_api_differs_only_in_known_ways(self):
        result = compare("--seeds", "1-2", "--steps", "100", "runtime")
        self.assertEqual(result.returncode, 0, result.stdout)

    def test_a_run_of_all_tests_has_the_sequences(self):
        run = os.path.join(SOURCE, "tests", "gpu", "run")
        result = subprocess.run([sys.executable, "-B", run, "--sim", "--build", BUILD, "--list", "differential: "], text=True,
                                stdout=subprocess.PIPE, check=True, env=harness.environment())
        self.assertEqual(result.stdout.splitlines(), [f"differential: {plan}" for plan in [*differential.PLANS, "runtime"]])


class Words(unittest.TestCase):
    def test_ranges(self):
        self.assertEqual(differential.ranges({5, 1, 3, 4}), "1,3-5")
        self.assertEqual(differential.ranges(set()), "")

    def test_what_differs_first(self):
        difference = differential.Difference(differential.EXACT, "all", 1, "shm", 4, "= 4 memory free: memory3 | cuMemFree_v2 0",
                                             "= 4 memory free: memory3 | cuMemFree_v2 1")
        self.assertEqual(difference.key, "memory free cuMemFree_v2 0 1")
        self.assertIsNone(difference.reason(True))
        crash = differential.Difference(differential.EXACT, "all", 1, "shm", 4, "= 4 memory free: memory3 | cuMemFree_v2 0",
                                        "= 4 memory free: memory3 | cuMemFree_v2 <- ended with -11")
        self.assertEqual(crash.key, "memory free cuMemFree_v2 0 <-")

    def test_errors_of_calls_that_are_not_waited_for_come_later(self):
        lines = "= 4 memory set: memory3 | cuMemsetD8Async 1", "= 4 memory set: memory3 | cuMemsetD8Async 0"
        self.assertEqual(differential.Difference(differential.VALID, "all", 1, "shm", 4, *lines).reason(False), differential.POSTED)
        self.assertIsNone(differential.Difference(differential.EXACT, "all", 1, "shm", 4, *lines).reason(False))

    def test_differences_are_shown_once(self):
        options = types.SimpleNamespace(budget=60, plans=[], steps=10, tries=0, risks="", sim=True)
        bed = types.SimpleNamespace(build=BUILD)
        server = types.SimpleNamespace(crashes=lambda: ["event=session-crashed pid=7 reason=signal-11"])
        comparison = differential.Comparison(options, bed, server)
        comparison.shrink = lambda *_: None
        lines = "= 4 memory free: memory3 | cuMemFree_v2 0", "= 4 memory free: memory3 | cuMemFree_v2 1"
        for seed in (1, 2):
            self.assertEqual(comparison.note(differential.Difference(differential.EXACT, "all", seed, "shm", 4, *lines), set()), 4)
        shown = io.StringIO()
        with contextlib.redirect_stdout(shown):
            comparison.show()
        self.assertIn("memory free cuMemFree_v2 0 1: 2 times", shown.getvalue())
        self.assertEqual(shown.getvalue().count("native ="), 1)
        self.assertIn("a session crashed: event=session-crashed pid=7", shown.getvalue())


if __name__ == "__main__":
    unittest.main()
