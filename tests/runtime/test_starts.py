#!/usr/bin/env python3
"""A program that starts twice behind a slow line (bench/relay.c): what it waits for, and when what is kept on disk must not count."""
import os
import re
import shutil
import subprocess
import sys
import unittest

import runtime
from cuda import Program, alone_variables
from runtime import harness
from test_cuda import GOOD, serve

sys.path.insert(0, os.path.join(runtime.SOURCE, "bench"))

from relay import Relay  # noqa: E402

DELAY_S = 0.005  # one way; from a round trip of 5 ms on a line counts as slow
LIBRARIES, KERNELS, MODULES, ROWS = 6, 18, 3, 20
# what a program waits for at its first start: its code, and what it asks about it
OF_CODE = ["cuLibraryLoadData", "cuLibraryGetKernel", "cuModuleLoadDataEx", "cuModuleGetFunction", "cuOccupancyMaxActiveClusters",
           "cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags", "cuKernelSetAttribute", "cuLaunchKernelEx", "cuFuncGetAttribute"]
NOT_KEPT = re.compile(r"aitherion\[\d+\]: +(\d+) answers are not kept for the next start: (.*)$", re.M)
LINE = re.compile(r"aitherion\[\d+\]: +(\d+) calls +(\d+) answers +(\d+) round trips .* (\S+)$", re.M)
OBJECTS = ["cuStreamCreate", "cuStreamCreateWithPriority", "cuEventCreate"]


class Base(unittest.TestCase):
    def setUp(self):
        self.server = self.entered(serve(memory="64M", devices="2"))
        self.relay = self.entered(Relay(harness.build(), self.server.address, DELAY_S))
        self.cache = os.path.join(harness.scratch(), f"cache-{self.id()}")
        os.mkdir(self.cache)
        self.addCleanup(shutil.rmtree, self.cache)

    def entered(self, context):
        self.addCleanup(context.__exit__, None, None, None)
        return context.__enter__()

    def start(self, *words, address=None, **env):
        """Starts the program: {function: how often it waited for an answer}."""
        variables = dict(alone_variables(address or self.relay.address), AITHERION_CUDA_LOG="summary", XDG_CACHE_HOME=self.cache)
        variables.update(env)
        result = subprocess.run([os.path.join(harness.build(), "tests", "runtime", "program_start"), str(LIBRARIES), *words], text=True,
                                env=harness.environment(**variables), cwd=harness.scratch(), stdin=subprocess.DEVNULL,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=harness.PATIENCE_S, check=False)
        self.assertEqual((result.returncode, result.stdout.strip()), (0, "right"), result.stderr)
        self.not_kept = {what: int(count) for count, what in NOT_KEPT.findall(result.stderr)}
        self.trips = {name: int(trips) for _, _, trips, name in LINE.findall(result.stderr)}
        return {name: int(answers) for _, answers, _, name in LINE.findall(result.stderr)}

    def files(self):
        folder = os.path.join(self.cache, "aitherion")
        names = os.listdir(folder) if os.path.isdir(folder) else []
        return sorted(os.path.join(folder, name) for name in names if name.startswith("facts-"))

    def check_asks(self, waits, at_once=True):
        """The program has asked all about its code. at_once: about a library's kernels with the first one, and about equal modules with
        the first one."""
        self.assertEqual(waits["cuLibraryLoadData"], LIBRARIES)
        self.assertEqual(waits["cuLibraryGetKernel"], (LIBRARIES if at_once else KERNELS) + 1)  # and one that there is not
        self.assertEqual(waits.get("athLibraryKernels", 0), LIBRARIES if at_once else 0)
        modules = 1 if at_once else MODULES
        self.assertEqual(waits["cuModuleLoadDataEx"], modules + 1)  # and one that is compiled with options
        self.assertEqual(waits["cuModuleGetFunction"], modules + 1)
        self.assertEqual(waits["cuOccupancyMaxActiveClusters"], KERNELS + 2 * modules)  # of two one is refused
        self.assertEqual(waits["cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags"], KERNELS)
        for posted in ("cuKernelSetAttribute", "cuLaunchKernelEx"):
            self.assertEqual(waits.get(posted, 0), 0, posted)

    def check_knows(self, waits):
        """The program has waited for nothing about its code, except for a kernel that there is not."""
        found = {name: waits.get(name, 0) for name in OF_CODE}
        self.assertEqual(found, {**dict.fromkeys(OF_CODE, 0), "cuLibraryGetKernel": 1})
        self.assertEqual(waits.get("cuKernelGetAttribute", 0), 0)
        self.assertEqual(waits.get("athFunctionLayout", 0), 0)


class Starts(Base):
    def test_a_second_start_waits_for_nothing_about_its_code(self):
        self.check_asks(self.start())
        self.assertEqual(len(self.files()), 1)
        self.assertEqual(self.not_kept, {"cuLibraryGetKernel: the driver returned an error": 1})
        self.check_knows(self.start())

    def test_rows_of_clusters_are_asked_at_once(self):
        """The rows in x take two round trips, those in y one each, except that of one block. Settings that do not concern a question do
        not make it a new one."""
        self.start()
        before = self.trips
        self.start("other", "rows")
        self.assertEqual(self.trips["cuOccupancyMaxActiveClusters"] - before["cuOccupancyMaxActiveClusters"], 2 + ROWS - 1)
        for name in ("cuKernelSetAttribute", "cuKernelGetAttribute"):
            self.assertEqual((name, self.trips.get(name, 0)), (name, before.get(name, 0)))
        self.check_knows(self.start("other", "rows"))

    def test_variants_of_a_kernel_come_together(self):
        """The program takes 12 kernels of two families from a library with three of 50. It waits for the first one; with the second all
        of its family come, and with the first of the other family those. The settings do not wait, and only the launches that need more
        than those before."""
        self.server = self.entered(serve(env=dict(AITHERION_SIM_UNKNOWN="ignore")))
        self.relay = self.entered(Relay(harness.build(), self.server.address, DELAY_S))
        self.start()
        before = self.trips
        self.start("other", "variants")
        names = [*OF_CODE, "athLibraryKernels", "cuKernelGetAttribute"]  # athLibraryKernels: sent with cuLibraryGetKernel, and awaited first
        more = {name: self.trips.get(name, 0) - before.get(name, 0) for name in names}
        self.assertEqual(more, {**dict.fromkeys(names, 0), "cuLibraryLoadData": 1, "athLibraryKernels": 3, "cuLaunchKernelEx": 4})
        known = self.start("other", "variants")
        self.assertEqual(known.pop("cuLaunchKernelEx"), 1)  # the one that is refused
        self.check_knows(known)

    def test_modules_of_other_contexts_and_of_none_are_asked(self):
        self.start(CUDA_VISIBLE_DEVICES="0,1")
        known = self.start("", "contexts", CUDA_VISIBLE_DEVICES="0,1")
        self.assertEqual((known["cuModuleLoadDataEx"], known["cuModuleGetFunction"]), (2, 1))
        known = self.start("", "contexts", CUDA_VISIBLE_DEVICES="0,1")
        self.assertEqual((known["cuModuleLoadDataEx"], known.get("cuModuleGetFunction", 0)), (1, 0))

    def test_what_one_program_saves_does_not_replace_another_ones(self):
        for salt in ("a", "b"):
            self.check_asks(self.start(salt))
        for salt in ("a", "b"):
            self.check_knows(self.start(salt))

    def test_libraries_may_be_unloaded_and_loaded_again(self):
        first = self.start("", "unload")
        self.assertEqual(first["cuLibraryLoadData"], LIBRARIES)  # the second half knows what the first half asked
        self.assertEqual(first.get("cuLibraryUnload", 0), 0)
        second = self.start("", "unload")
        self.assertEqual((second["cuLibraryLoadData"], second["cuLibraryGetKernel"]), (0, 1))
        # but what was set before is no longer known, so what depends on it is asked
        self.assertEqual(second["cuOccupancyMaxActiveClusters"], KERNELS)

    def test_machine_code_for_the_gpu_is_loaded_without_waiting(self):
        first = self.start("", "fatbin")
        self.assertEqual(first.get("cuLibraryLoadData", 0), 0)
        self.assertEqual(first["cuLibraryGetKernel"], KERNELS + 1)  # the simulated driver lists other names of compressed code
        self.check_knows(self.start("", "fatbin"))
        for variables in (dict(CUDA_FORCE_PTX_JIT="1"), dict(AITHERION_DISABLE="facts")):
            self.assertEqual(self.start("a", "fatbin", **variables)["cuLibraryLoadData"], LIBRARIES)
        self.check_asks(self.start("b", "older"))  # a compiler makes its code, and may fail

    def test_other_code_is_asked_about(self):
        self.start("a")
        self.check_asks(self.start("b"))

    def test_another_environment_of_the_driver_is_asked(self):
        self.start()
        self.check_asks(self.start(CUDA_FORCE_PTX_JIT="1"))
        self.assertEqual(len(self.files()), 2)

    def test_another_device_is_asked(self):
        self.start(CUDA_VISIBLE_DEVICES="0,1")
        with serve(memory="64M", devices="2") as other, Relay(harness.build(), other.address, DELAY_S) as relay:
            self.check_knows(self.start(address=relay.address, CUDA_VISIBLE_DEVICES="0,1"))  # an equal GPU and driver
        self.start(CUDA_VISIBLE_DEVICES="0")
        self.check_asks(self.start(CUDA_VISIBLE_DEVICES="1"))

    def test_another_driver_is_asked(self):
        self.start()
        folder = os.path.join(self.cache, "driver")
        shutil.copytree(os.path.join(harness.build(), "lib", "aitherion", "sim"), folder)
        env = harness.environment(AITHERION_SIM_FOLDER=folder, AITHERION_SIM_MEMORY="64M")
        with runtime.Server("--sim", env=env) as other, Relay(harness.build(), other.address, DELAY_S) as relay:
            self.check_asks(self.start(address=relay.address))

    def test_a_server_with_another_key_is_asked(self):
        """It may tell any driver: what it says is not for servers with the first key."""
        other_key = b"another key, of another group of servers"
        self.start()
        with serve(memory="64M", devices="2", key=other_key) as other, Relay(harness.build(), other.address, DELAY_S) as relay:
            for check in (self.check_asks, self.check_knows):
                check(self.start(address=relay.address, AITHERION_KEY_FILE=runtime.key_file(other_key)))
        self.assertEqual(len(self.files()), 2)
        self.check_knows(self.start())

    def test_the_switch_and_a_fast_line_keep_nothing(self):
        self.check_asks(self.start(AITHERION_DISABLE="facts"), at_once=False)
        fast = f"unix:{self.server.socket}"
        self.check_asks(self.start(address=fast), at_once=False)
        self.assertEqual((self.files(), self.not_kept), ([], {}))
        self.start()
        self.check_asks(self.start(AITHERION_DISABLE="facts"), at_once=False)
        self.check_asks(self.start(address=fast), at_once=False)


class Files(Base):
    def change(self, how):
        """Saves facts, changes their file, and checks that the next start asks and the one behind it knows again."""
        self.start()
        (path,) = self.files()
        how(path)
        self.check_asks(self.start())
        return path

    def test_damaged_files_are_ignored_and_replaced(self):
        def flip(path):
            with open(path, "r+b") as file:
                file.seek(os.path.getsize(path) // 2)
                byte = file.read(1)[0]
                file.seek(-1, os.SEEK_CUR)
                file.write(bytes([byte ^ 1]))

        for how in (flip, lambda path: os.truncate(path, os.path.getsize(path) - 8), lambda path: os.truncate(path, 0)):
            self.change(how)
            self.check_knows(self.start())

    def test_files_that_others_may_write_are_ignored(self):
        self.change(lambda path: os.chmod(path, 0o666))
        self.check_knows(self.start())  # saved again, and the user's alone

    def test_links_are_ignored(self):
        def link(path):
            os.rename(path, path + ".real")
            os.symlink(path + ".real", path)
        self.change(link)

    @unittest.skipUnless(os.geteuid() == 0, "only root can give a file to another user")
    def test_files_and_folders_of_others_are_left_alone(self):
        path = self.change(lambda path: os.chown(path, 12345, 12345))
        os.unlink(path)
        os.chown(os.path.dirname(path), 12345, 12345)
        self.check_asks(self.start())
        self.assertEqual(self.files(), [])

    def test_a_home_that_cannot_be_written_is_no_error(self):
        for env in ({"XDG_CACHE_HOME": None, "HOME": "/nonexistent"}, {"XDG_CACHE_HOME": "relative"}, {"XDG_CACHE_HOME": "/dev/null"},
                    {"XDG_CACHE_HOME": "/dev/null/below"}):
            for _ in range(2):
                self.check_asks(self.start(**env))

    def test_the_newest_files_stay(self):
        for number in range(12):
            self.start(CUDA_CACHE_PATH=None, CUDA_AUTO_BOOST=str(number))
        self.assertEqual(len(self.files()), 8)


class Memory(Base):
    """Memory that is asked for ahead."""

    def program(self, off=None, **env):
        return Program(self.relay.address, alone=True, env=dict(AITHERION_DISABLE=off, XDG_CACHE_HOME=self.cache, **env))

    def take(self, program, bytes_, wanted=GOOD):
        self.assertEqual(program.do(f"take plain {bytes_}"), wanted)

    def test_blocks_of_a_size_come_several_at_a_time(self):
        self.assertEqual(self.start(AITHERION_DISABLE="spares,facts")["cuMemAlloc_v2"], 25)
        asked = self.start()
        self.assertLess(asked["cuMemGetInfo_v2"], 13)  # one comes with each wait
        self.assertLess(self.start()["cuMemGetInfo_v2"], asked["cuMemGetInfo_v2"])

    def test_free_memory_is_what_the_program_did_not_take(self):
        found = []
        for off in (None, "spares"):
            with self.program(off) as program:
                for _ in range(6):
                    self.take(program, 1 << 16)
                found.append(program.do("memory"))
        self.assertEqual(*found)

    def test_all_memory_can_be_taken(self):
        found = []
        for off in (None, "spares"):
            with self.program(off) as program:
                count = 0
                while (status := program.do(f"take plain {1 << 20}")) == GOOD:
                    count += 1
                found.append((count, status))
        self.assertEqual(*found)
        self.assertEqual(found[0][1], "CUDA_ERROR_OUT_OF_MEMORY")


    def takes(self, *steps, results=None, **env):
        """The calls of a program that takes memory, and comes to its end: {function: how many}."""
        with self.program(AITHERION_CUDA_LOG="summary", **env) as program:
            found = [program.do(step) for step in steps]
            self.assertEqual(found, results or [GOOD] * len(steps))
            return {name: int(calls) for calls, _, _, name in LINE.findall(program.end())}

    def test_a_start_asks_for_what_the_last_one_took(self):
        small, large = f"take plain {1 << 16}", f"take plain {1 << 20}"
        first = self.takes(*[small] * 20, *[large] * 2)
        self.assertGreater(first["cuMemGetInfo_v2"], 4)
        second = self.takes(*[small] * 20, *[large] * 2)
        self.assertEqual(second["cuMemGetInfo_v2"], 2)  # one tells how much is free, then all is asked for
        self.assertEqual(second["cuMemAlloc_v2"], 22)
        self.takes(small)  # and what it did not take is no longer asked for
        third = self.takes(small, large)
        self.assertEqual((third["cuMemGetInfo_v2"], third["cuMemAlloc_v2"]), (2, 2))

    def test_memory_that_another_program_has_meanwhile_is_not_missed(self):
        steps = [f"take plain {1 << 20}"] * 32
        self.server = self.entered(serve("--vram-fraction", "0.625"))
        self.relay = self.entered(Relay(harness.build(), self.server.address, DELAY_S))
        self.takes(*steps)
        found = []
        for off in (None, "spares"):
            with self.program("spares") as other, self.program(off) as program:
                self.take(other, 20 << 20)
                statuses = [program.do(step) for step in steps]
                found.append((statuses, program.do("memory"), other.do("memory")))
        self.assertEqual(*found)
        self.assertIn("CUDA_ERROR_OUT_OF_MEMORY", found[0][0])

    def test_a_question_about_free_memory_does_not_see_what_is_asked_ahead(self):
        steps = [f"take plain {1 << 20}", "memory", f"take plain {1 << 19}", "memory", *[f"take plain {1 << 20}"] * 12, "memory"]
        found = []
        for off in (None, None, "spares"):
            with self.program(off) as program:
                found.append([program.do(step) for step in steps])
                program.end()
        self.assertEqual(found[1:], found[:1] * 2)


class Training(Base):
    """What PyTorch does at its start (tests/cuda_programs/training.c)."""

    def setUp(self):
        super().setUp()
        self.server = self.entered(serve(memory="16G", devices="2"))
        self.relay = self.entered(Relay(harness.build(), self.server.address, DELAY_S))

    def train(self, name="training", **env):
        """{function: round trips} of a start of the program by a name."""
        path = os.path.join(self.cache, name)
        if not os.path.exists(path):
            os.symlink(os.path.join(harness.build(), "tests", "cuda_programs", "training"), path)
        variables = dict(alone_variables(self.relay.address), AITHERION_CUDA_LOG="summary", XDG_CACHE_HOME=self.cache, srcdir=runtime.SOURCE)
        variables.update(env)
        result = subprocess.run([path, "a training starts"], text=True, env=harness.environment(**variables), cwd=harness.scratch(),
                                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=harness.PATIENCE_S,
                                check=False)
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        return {name: int(trips) for _, _, trips, name in LINE.findall(result.stderr)}

    def test_a_second_start_waits_once_for_all_it_takes(self):
        first, second = self.train(), self.train()
        self.assertGreater(first["altogether"], 50)
        self.assertEqual({name: second[name] for name in OBJECTS}, dict.fromkeys(OBJECTS, 0))
        self.assertEqual(second["cuMemGetInfo_v2"], 2 + 2)  # two are the program's own
        self.assertEqual(first["cuDeviceGet"], 0)  # both devices' facts come with cuInit()
        self.assertEqual((first["cuCtxGetStreamPriorityRange"], second.get("cuCtxGetStreamPriorityRange", 0)), (1, 0))
        self.assertLessEqual(second["altogether"], 14)
        self.assertEqual(self.train(), second)

    def test_another_command_line_waits(self):
        self.train()
        other = self.train("other")
        self.assertGreater(other["cuMemGetInfo_v2"], 10)
        self.assertTrue(all(other[name] for name in OBJECTS), other)
        self.assertEqual(other.get("cuLibraryLoadData", 0), 0)  # the code is the same

    def test_what_is_switched_off_waits(self):
        self.train()
        for off in ("facts", "spares"):
            self.assertGreater(self.train(AITHERION_DISABLE=off)["altogether"], 50)


if __name__ == "__main__":
    harness.main()
