#!/usr/bin/env python3
"""tests/gpu/run itself, on the simulated driver: what fails, hangs, differs or has no server is found and told."""
import contextlib
import importlib.machinery
import importlib.util
import io
import json
import os
import re
import subprocess
import sys
import tempfile
import time
import types
import unittest

SOURCE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(SOURCE, "tests", "tools"))
sys.path.insert(0, os.path.join(SOURCE, "tests", "gpu"))

import bed as beds  # noqa: E402
import groups  # noqa: E402
import harness  # noqa: E402

RUN = os.path.join(SOURCE, "tests", "gpu", "run")
BUILD = harness.build()


def runner():
    """tests/gpu/run as a module; its name has no ending."""
    loader = importlib.machinery.SourceFileLoader("run", RUN)
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("run", loader))
    loader.exec_module(module)
    return module


def run(*arguments):
    """The command: its result, and results.json or None."""
    with tempfile.TemporaryDirectory() as folder:
        result = subprocess.run([sys.executable, "-B", RUN, "--build", BUILD, "--out", folder, *arguments], text=True,
                                timeout=10 * harness.PATIENCE_S, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False, env=harness.environment())
        path = os.path.join(folder, "results.json")
        results = None
        if os.path.exists(path):
            with open(path, encoding="utf-8") as file:
                results = json.load(file)
        return result, results


def shell(name, text, limit_s=harness.PATIENCE_S, **facts):
    return groups.Test("made up", name, ["sh", "-c", text], limit_s, **facts)


@unittest.skipUnless(harness.copies_alone(), "programs that an emulator runs find no library by LD_LIBRARY_PATH")
class Command(unittest.TestCase):
    def test_tests_of_the_driver_api_on_the_simulated_driver(self):
        result, results = run("--sim", "--jobs", "2", "driver/threads")
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        self.assertRegex(result.stdout.splitlines()[-1], r"^\d+ passed, 0 failed, 0 skipped$")
        self.assertGreaterEqual(results["passed"], 12)
        self.assertRegex(result.stdout, r"driver/threads: \d+ tests +\| ok [\d.]+ +\| ok [\d.]+ +\| ok [\d.]+")

    def test_optimisations_switched_off(self):
        name = "driver/threads: threads work apart"
        result, results = run("--sim", "--jobs", "2", "--disable", "batching,all", name)
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        states = {row["test"]: [row[mode]["state"] for mode in ["native", "shm", "tcp"]] for row in results["tests"]}
        self.assertEqual(states, {name.replace(":", " without batching:"): ["ok", "-", "ok"], name.replace(":", " without all:"): ["ok"] * 3})
        self.assertEqual(results["passed"], 3)
        listed, _ = run("--sim", "--list", "--disable", "each,all", name)
        switches = beds.Bed(BUILD, tempfile.mkdtemp(dir=harness.scratch()), True).switches()
        self.assertEqual(listed.stdout.splitlines(), [name.replace(":", f" without {one}:") for one in [*switches, "all"]])
        result, _ = run("--sim", "--disable", "spining", name)
        self.assertIn("no optimisation 'spining'", result.stderr)

    def test_programs_of_two_servers_on_the_simulated_driver(self):
        result, results = run("--sim", "--jobs", "2", "--two-servers", "driver/several: devices are one list",
                              "two_servers: nvml_lists_the_gpus_of_both", "two_servers: smi_shows_its_table_of_both")
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        self.assertEqual((results["passed"] + results["skipped"], results["failed"]), (6, 0))
        self.assertGreaterEqual(results["passed"], 4)
        result, _ = run("--sim", "--list", "several")
        self.assertNotIn("driver/several", result.stdout)

    def test_programs_by_both_carriers_over_two_data_addresses(self):
        serve = "--udp on --data-listen 127.0.0.2:0 --data-listen 127.0.0.3:0"
        result, results = run("--sim", "--modes", "tcp,udp", "--serve", serve, "driver/memory: 12 MiB", "driver/memory: large copies keep")
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        self.assertEqual((results["failed"], results["passed"]), (0, 2 * len(results["tests"])))
        count = len(results["tests"])
        self.assertTrue(count)
        self.assertIn(f"sessions by transport: tcp {count}, udp {count}", result.stdout)

    def test_faults_on_the_simulated_driver(self):
        result, results = run("--sim", "--jobs", "2", "--modes", "tcp", "faults: a_server_killed_between_calls",
                              "faults: a_wrong_key_is_refused", "faults: a_program_run_by_aitherion_run")
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        self.assertEqual((results["passed"], results["failed"]), (3, 0))

    def test_the_list_names_all_groups(self):
        result, _ = run("--sim", "--list", "--two-servers")
        self.assertEqual(result.returncode, 0, result.stderr)
        names = result.stdout.splitlines()
        self.assertEqual(len(names), len(set(names)))
        for group in [*groups.PYTHON_FILES, *(f"nvcc/{name}" for name in groups.NVCC_PROGRAMS),
                      *(f"driver/{name}" for name in groups.DRIVER_PROGRAMS)]:
            self.assertTrue(any(name.startswith(group + ": ") for name in names), group)

    @unittest.skipIf(os.path.exists("/proc/driver/nvidia/gpus"), "there is a GPU here")
    def test_without_a_gpu_it_is_a_skip(self):
        result, _ = run("driver/threads")
        self.assertEqual(result.returncode, 77)
        self.assertEqual(result.stdout.splitlines()[-1], "0 passed, 0 failed, 1 skipped")

    def test_what_is_packed_runs(self):
        with tempfile.TemporaryDirectory() as folder:
            packed = os.path.join(folder, "packed")
            pack = os.path.join(SOURCE, "tests", "gpu", "pack")
            subprocess.run([sys.executable, "-B", pack, "--build", BUILD, "--no-nvcc", packed], check=True, timeout=10 * harness.PATIENCE_S,
                           stdout=subprocess.DEVNULL)
            for command in [["tests/gpu/run", "--sim", "driver/modules: a module"], ["bench/run", "--sim", "--quick", "calls", "streams"],
                            ["tests/gpu/session", "--list"]]:
                result = subprocess.run([os.path.join(packed, command[0]), *command[1:], "--out", folder], text=True,
                                        timeout=10 * harness.PATIENCE_S, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False, env=harness.environment())
                self.assertEqual(result.returncode, 0, result.stdout + result.stderr)


@unittest.skipUnless(harness.copies_alone(), "programs that an emulator runs find no library by LD_LIBRARY_PATH")
class Judging(unittest.TestCase):
    """With tests that are made up, in this process."""

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        module = runner()
        options = types.SimpleNamespace(out=self.folder.name, modes=["shm", "tcp"], no_native=False, gpus=1, budget=100, jobs=1,
                                        all_rows=True, two_servers=False, serve="")
        self.log = module.Log(self.folder.name)
        self.addCleanup(self.log.file.close)
        self.run_ = module.Run(options, beds.Bed(BUILD, tempfile.mkdtemp(dir=self.folder.name), True), self.log)
        self.addCleanup(self.run_.server.stop)

    def states(self, test):
        with contextlib.redirect_stderr(io.StringIO()):
            self.run_.whole(test)
        return {mode: result.state for mode, result in self.run_.results[test.full_name].items()}

    def test_what_goes_well(self):
        self.assertEqual(self.states(shell("well", "echo '= a: 1'")), {"native": "ok", "shm": "ok", "tcp": "ok"})
        self.assertEqual(self.run_.counts(), (2, 0, 0))

    def test_what_gives_another_value(self):
        test = shell("differs", 'echo "= a: $AITHERION_TEST_MODE"; echo "b: $AITHERION_TEST_MODE"')
        self.assertEqual(self.states(test), {"native": "ok", "shm": "FAILED", "tcp": "FAILED"})
        self.assertIn("native = a: native", beds.tail(self.log.path))

    def test_what_says_less(self):
        test = shell("silent", 'test -n "$AITHERION_SERVER" || echo "= a: 1"')
        self.assertEqual(self.states(test), {"native": "ok", "shm": "FAILED", "tcp": "FAILED"})

    def test_what_fails_natively_is_a_skip(self):
        self.assertEqual(self.states(shell("bad", "exit 3")), {"native": "FAILED", "shm": "skip", "tcp": "skip"})
        self.assertEqual(self.run_.counts(), (0, 0, 2))

    def test_what_fails_remotely(self):
        test = shell("bad", 'test -z "$AITHERION_SERVER"')
        self.assertEqual(self.states(test), {"native": "ok", "shm": "FAILED", "tcp": "FAILED"})
        self.assertEqual(self.states(shell("crash", 'test -z "$AITHERION_SERVER" || kill -SEGV $$'))["tcp"], "FAILED")
        self.assertIn("signal 11", beds.tail(self.log.path))

    def test_what_fails_remotely_is_explained(self):
        test = shell("bad", 'echo "aitherion: ${AITHERION_CUDA_LOG:-nothing} to say"; test -z "$AITHERION_SERVER"')
        self.assertEqual(self.states(test)["shm"], "FAILED")
        self.assertRegex(beds.tail(self.log.path), r"again, code 1: calls that failed\naitherion: errors to say\n")

    def test_what_hangs(self):
        test = shell("hangs", 'test -z "$AITHERION_SERVER" || sleep 1000', 4)
        self.assertEqual(self.states(test), {"native": "ok", "shm": "FAILED", "tcp": "FAILED"})
        text = beds.tail(self.log.path)
        self.assertIn("not done within 4 s", text)
        self.assertRegex(text, r"thread \d+ sleep \|")

    def test_what_is_skipped_says_why(self):
        self.states(shell("skips", "echo skipped: no moon; exit 77"))
        row = self.run_.results["made up: skips"]
        self.assertEqual([(row[mode].state, row[mode].word) for mode in row], [("skip", "no moon")] * 3)
        self.assertEqual(self.states(shell("GPUs", "exit 0", gpus=2)), {"native": "skip", "shm": "skip", "tcp": "skip"})

    def test_a_dead_server_is_started_again(self):
        self.assertEqual(self.states(shell("first", "exit 0"))["tcp"], "ok")
        self.run_.server.kill()
        self.assertEqual(self.states(shell("second", "exit 0"))["tcp"], "ok")
        self.assertEqual(len(self.run_.server.deaths), 1)
        self.assertIn("the server ended with code -9", self.run_.notes[0])

    def test_what_is_switched_off_is_so_on_both_sides(self):
        steps = os.path.join(BUILD, "bench", "steps")
        test = groups.Test("made up", "steps", ["env", "AITHERION_CUDA_LOG=summary", steps, "token of 285 launches", "4"], harness.PATIENCE_S)
        waiting = {}
        few, many = "facts", "rests,facts"  # a program keeps facts if its line is slow, and so does on a busy machine
        with contextlib.redirect_stderr(io.StringIO()):
            for off in [few, many]:
                outcome = self.run_.one(test.without(off), "tcp")
                waiting[off] = int(re.search(r"(\d+) answers .* altogether", outcome.output).group(1))
                self.assertEqual(outcome.state, "ok", outcome.output)
        self.assertGreater(waiting[many], waiting[few])
        opened = [line for line in self.run_.server.logged().splitlines() if "event=session-opened" in line]
        self.assertEqual([line.split("disabled=")[-1] for line in opened], [few, many])

    def test_native_runs_once_whatever_is_switched_off(self):
        path = os.path.join(self.folder.name, "natives")
        test = shell("counts", f'test -n "$AITHERION_SERVER" || echo "=" >> {path}; echo "= ${{AITHERION_DISABLE:-}}"')
        for off in ["all", "spinning"]:
            self.assertEqual(self.states(test.without(off)), {"native": "ok", "shm": "FAILED", "tcp": "FAILED"})  # prints another value
        self.assertEqual(beds.tail(path), "=\n")

    def test_what_the_end_of_the_time_cuts_off_is_no_failure(self):
        self.run_.options.budget = time.monotonic() - self.run_.begin + 3
        self.assertEqual(self.states(shell("long", "sleep 1000")), {"native": "skip", "shm": "skip", "tcp": "skip"})
        self.assertEqual(self.run_.results["made up: long"]["native"].word, "no time left (--budget)")

    def test_what_has_no_time_left(self):
        self.run_.options.budget = 0
        self.assertEqual(set(self.states(shell("late", "exit 0")).values()), {"skip"})


if __name__ == "__main__":
    harness.main()
