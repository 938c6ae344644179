#!/usr/bin/env python3
"""Memory that the program and the GPU both write, without permission to ask the kernel which pages were written: containers'
filters of system calls forbid userfaultfd(). tests/cuda_programs/coherence.c has what holds where it may.

Pinned memory that no kernel gets costs nothing. tests/cuda_programs/pinned.c has what holds where one does."""
import ctypes
import os
import platform
import struct
import subprocess
import sys
import unittest

import runtime
from runtime import harness
from test_cuda import TRANSPORTS, pins_memory, place, serve

sys.path.insert(0, os.path.join(runtime.SOURCE, "tests", "cuda_programs"))

import programs  # noqa: E402

USERFAULTFD = {"x86_64": 323, "aarch64": 282, "ppc64le": 364}.get(platform.machine())
PR_SET_SECCOMP, PR_SET_NO_NEW_PRIVS, SECCOMP_MODE_FILTER = 22, 38, 2
LOAD, JUMP_EQUAL, RETURN = 0x20, 0x15, 0x06  # BPF_LD|BPF_W|BPF_ABS, BPF_JMP|BPF_JEQ|BPF_K, BPF_RET|BPF_K
ALLOW, FAIL, EPERM = 0x7fff0000, 0x00050000, 1


def forbid():
    """Forbids userfaultfd() in this process and its programs: EPERM, as under a container's filter."""
    steps = [(LOAD, 0, 0, 0), (JUMP_EQUAL, 0, 1, USERFAULTFD), (RETURN, 0, 0, FAIL | EPERM), (RETURN, 0, 0, ALLOW)]
    code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *step) for step in steps))
    program = struct.pack("HxxxxxxP", len(steps), ctypes.addressof(code))
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) or libc.prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, program, 0, 0):
        raise OSError(ctypes.get_errno(), "seccomp")


def may_filter():
    try:
        subprocess.run(["true"], preexec_fn=forbid, check=True)
        return True
    except subprocess.SubprocessError:
        return False


@unittest.skipUnless(USERFAULTFD, "the number of userfaultfd() is not known here")
@unittest.skipUnless(harness.copies_alone(), "an emulator makes other system calls")
class Forbidden(unittest.TestCase):
    def run_program(self, name, where):
        env = programs.environment(programs.library_folder("aitherion"), AITHERION_SERVER=where, AITHERION_KEY_FILE=runtime.key_file())
        result = subprocess.run([os.path.join(harness.build(), "tests", "cuda_programs", name)], env=env, text=True,
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, preexec_fn=forbid, timeout=5 * harness.PATIENCE_S, check=False)
        counts = programs.COUNTS.match(result.stdout.splitlines()[-1])
        self.assertTrue(counts and result.returncode == 0 and counts.group(2) == "0", result.stdout)
        return result.stdout

    def test_everything_else_holds_without_it(self):
        if not may_filter():
            self.skipTest("no filter of system calls can be set here")
        for transport in TRANSPORTS:
            with self.subTest(transport), serve(memory="256M", devices="2") as server:
                self.run_program("memory", place(server, transport))
                said = self.run_program("coherence", place(server, transport))
                self.assertEqual(said.count("skipped: the kernel does not say which pages were written"), 3, said)


@pins_memory
class Unreached(unittest.TestCase):
    def registered(self, server, name):
        """Whether one of pinned.c's tests made the server map pinned memory."""
        env = programs.environment(programs.library_folder("aitherion"), AITHERION_SERVER=server.address,
                                   AITHERION_KEY_FILE=runtime.key_file(), AITHERION_CUDA_LOG="summary")
        result = subprocess.run([os.path.join(harness.build(), "tests", "cuda_programs", "pinned"), name], env=env, text=True,
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=5 * harness.PATIENCE_S, check=False)
        self.assertEqual(result.returncode, 0, result.stdout)
        self.assertIn("cuLaunchKernel", result.stdout)
        return "cuMemHostRegister" in result.stdout

    def test_numbers_do_not_map_memory(self):
        with serve(memory="256M") as server:
            for name, is_mapped in (("a kernel gets an address inside of pinned memory", True), ("in a table that is copied", True),
                                    ("halves of an address side by side are none", False), ("sizes and values are none", False)):
                with self.subTest(name):
                    self.assertEqual(self.registered(server, name), is_mapped)


if __name__ == "__main__":
    harness.main()
