#!/usr/bin/env python3
"""One program with several servers: which devices it has, and what a lost server takes with it. The effects of its calls are in
tests/cuda_programs/several.c, which test_remote.py runs."""
import os
import signal
import subprocess
import sys
import unittest

import runtime

sys.path.insert(0, os.path.join(runtime.SOURCE, "tests", "cuda_programs"))

import programs  # noqa: E402
from runtime import harness  # noqa: E402

HEAD = """
import ctypes, sys
cuda = ctypes.CDLL("libcuda.so.1")
def device_uuids():
    count, uuid = ctypes.c_int(), ctypes.create_string_buffer(16)
    assert cuda.cuDeviceGetCount(ctypes.byref(count)) == 0
    for i in range(count.value):
        assert cuda.cuDeviceGetUuid_v2(uuid, i) == 0
        yield uuid.raw[15]
"""
LIST = HEAD + """
status = cuda.cuInit(0)
print(status, *(device_uuids() if not status else []))
"""
# Memory on each of two devices; then the second's server ends.
LOSE = HEAD + """
assert cuda.cuInit(0) == 0
contexts, memory = [ctypes.c_void_p(), ctypes.c_void_p()], [ctypes.c_uint64(), ctypes.c_uint64()]
for i in range(2):
    assert cuda.cuDevicePrimaryCtxRetain(ctypes.byref(contexts[i]), i) == 0
    assert cuda.cuCtxSetCurrent(contexts[i]) == 0
    assert cuda.cuMemAlloc_v2(ctypes.byref(memory[i]), ctypes.c_size_t(4096)) == 0
print("ready", flush=True)
sys.stdin.readline()
for i in range(2):
    assert cuda.cuCtxSetCurrent(contexts[i]) == 0
    print(cuda.cuMemsetD8_v2(memory[i], 1, ctypes.c_size_t(4096)), cuda.cuCtxSynchronize())
assert cuda.cuCtxSetCurrent(contexts[0]) == 0
more = [cuda.cuMemAlloc_v2(ctypes.byref(ctypes.c_uint64()), ctypes.c_size_t(4096)) for _ in range(4)]
print(*more)
print(cuda.cuMemcpyPeer(memory[0], contexts[0], memory[1], contexts[1], ctypes.c_size_t(4096)))
stream = ctypes.c_void_p()
assert cuda.cuStreamCreate(ctypes.byref(stream), 1) == 0
print(cuda.cuMemcpyPeerAsync(memory[0], contexts[0], memory[1], contexts[1], ctypes.c_size_t(4096), stream),
      cuda.cuStreamSynchronize(stream), cuda.cuStreamSynchronize(stream), cuda.cuCtxSynchronize())
"""
UNAVAILABLE, NO_DEVICE, NOT_READY = "46", "100", "802"  # CUresult


def server(first, devices=1):
    return runtime.Server("--sim", env=harness.environment(AITHERION_SIM_FIRST=str(first), AITHERION_SIM_DEVICES=str(devices)))


def environment(*servers, **changes):
    libraries = os.pathsep.join(programs.library_folder(name) for name in ("aitherion/several", "aitherion"))
    return programs.environment(libraries, AITHERION_SERVER=",".join(servers), AITHERION_KEY_FILE=runtime.key_file(), **changes)


def run(code, env):
    return subprocess.run([sys.executable, "-c", code], env=env, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          timeout=harness.PATIENCE_S, check=False)


@unittest.skipIf(runtime.IS_SANITIZED, "Python does not load libraries with sanitizers; test_remote.py has two servers, too")
class Several(unittest.TestCase):
    def devices(self, *servers, **changes):
        result = run(LIST, environment(*servers, **changes))
        self.assertEqual(result.stderr, "")
        return result.stdout.split()

    def test_list_and_order(self):
        with server(0, 2) as a, server(4) as b:
            ways = ("unix:" + a.socket, b.address)
            self.assertEqual(self.devices(*ways), ["0", "0", "1", "4"])
            self.assertEqual(self.devices(*reversed(ways)), ["0", "4", "0", "1"])
            self.assertEqual(self.devices(a.address), ["0", "0", "1"])
            uuid = "GPU-61697468-6572-696f-6e2d-73696d2d0004"
            for visible, wanted in (("2,0", ["4", "0"]), ("1", ["1"]), ("0,7,1", ["0"]), (uuid, ["4"]), (f"1,{uuid},0", ["1", "4", "0"])):
                with self.subTest(visible):
                    self.assertEqual(self.devices(*ways, CUDA_VISIBLE_DEVICES=visible), ["0", *wanted])
            self.assertEqual(self.devices(*ways, CUDA_VISIBLE_DEVICES=""), [NO_DEVICE])

    def test_lost_server(self):
        with server(0) as a, server(1) as b:
            with subprocess.Popen([sys.executable, "-c", LOSE], env=environment("unix:" + a.socket, b.address), text=True,
                                  stdin=subprocess.PIPE, stdout=subprocess.PIPE) as program:
                self.assertEqual(program.stdout.readline(), "ready\n")
                for session in b.children():
                    os.kill(session, signal.SIGKILL)
                lines = program.communicate("go\n", timeout=harness.PATIENCE_S)[0].splitlines()
        self.assertEqual(lines[0], "0 0")
        self.assertEqual(lines[1].split()[1], UNAVAILABLE)
        self.assertEqual(lines[2], "0 0 0 0")
        self.assertEqual(lines[3], UNAVAILABLE)
        self.assertEqual(lines[4], f"0 {UNAVAILABLE} 0 0")
        self.assertEqual(program.returncode, 0)

    def test_a_server_that_is_missing(self):
        with server(0) as a:
            result = run(LIST, environment("unix:" + a.socket, "127.0.0.1:1", AITHERION_CONNECT_TIMEOUT="0.2"))
            self.assertEqual(result.stdout.split(), [NOT_READY])
            self.assertIn("127.0.0.1:1", result.stderr)
            result = run(LIST, environment(a.address, a.address))
            self.assertEqual(result.stdout.split(), [NOT_READY])
            self.assertIn(a.address, result.stderr)


if __name__ == "__main__":
    if not harness.copies_alone():
        print("skipped: programs that an emulator runs find no library by LD_LIBRARY_PATH")
        sys.exit(harness.finish(0, 0, 1))
    harness.main()
