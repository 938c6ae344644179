#!/usr/bin/env python3
"""The messages of a program and its server, as AITHERION_RECORD keeps them, read by Cap'n Proto's own tool: every frame is
one, and the calls are the program's, in their order and with its arguments."""
import json
import os
import shutil
import stat
import struct
import subprocess
import unittest

import runtime
from cuda import Program
from runtime import harness
from test_cuda import GOOD, TRANSPORTS, needs_capnp, place, serve

SCHEMA = os.path.join(harness.build(), "proto", "cuda-wire.capnp")
IMPORTS = f"-I{runtime.SOURCE}/proto"


def frames(path):
    found = []
    with open(path, "rb") as file:
        while head := file.read(8):
            segments, words = struct.unpack("<II", head)
            assert not segments
            found.append(file.read(8 * words))
            assert len(found[-1]) == 8 * words, "cut off"
    return found


def decode(path, struct_name):
    """The output of `capnp decode`, one line for each frame; fails if a frame is not this struct."""
    with open(path, "rb") as file:
        result = subprocess.run(["capnp", "decode", "--short", IMPORTS, SCHEMA, struct_name], stdin=file, capture_output=True,
                                check=False)
    assert not result.returncode and not result.stderr, result.stderr
    return result.stdout.decode().splitlines()


def values(path, struct_name):
    """The same as JSON."""
    with open(path, "rb") as file:
        text = subprocess.run(["capnp", "convert", "--quiet", "binary:json", IMPORTS, SCHEMA, struct_name], stdin=file,
                              stdout=subprocess.PIPE, check=True).stdout.decode()
    decoder, at, found = json.JSONDecoder(), 0, []
    while text[at:].strip():
        value, at = decoder.raw_decode(text, at + len(text[at:]) - len(text[at:].lstrip()))
        found.append(value)
    return found


@needs_capnp
class Recording(unittest.TestCase):
    COMMON = {"number", "thread", "captureMode", "context", "isAsked", "status", "printed", "isErrorText"}

    def record(self, transport, steps):
        """([(call, arguments)], {number: answer}, what the program's steps gave)."""
        calls, answers = (os.path.join(harness.scratch(), name) for name in ("calls", "answers"))
        with serve() as server, Program(place(server, transport), env={"AITHERION_RECORD": calls,
                                                                       "AITHERION_RECORD_ANSWERS": answers}) as program:
            given = [program.do(step) for step in steps]
            self.assertEqual(program.end(), "")
        for path in (calls, answers):
            self.assertEqual(stat.S_IMODE(os.stat(path).st_mode), 0o600)
        self.assertEqual(len(decode(calls, "Call")), len(frames(calls)))
        self.assertEqual(len(decode(answers, "Answer")), len(frames(answers)))
        told = values(calls, "Call")
        self.assertEqual([int(one["number"]) for one in told], list(range(1, len(told) + 1)))
        answered = {int(one["number"]): one for one in values(answers, "Answer")}
        asked = {int(one["number"]) for one in told if one["isAsked"]}
        self.assertEqual(set(answered), asked)
        return [self.parts(one) for one in told], {number: self.parts(one) for number, one in answered.items()}, given

    def parts(self, message):
        (name,) = set(message) - self.COMMON
        return name, message[name]

    def test_a_program_s_calls(self):
        for transport in TRANSPORTS:
            with self.subTest(transport):
                calls, answers, given = self.record(transport, ["take plain 12288", "fill 1000", "give"])
                self.assertEqual(given, [GOOD, f"{GOOD} right", GOOD])
                names = [name for name, _ in calls]
                wanted = ["init", "devicePrimaryCtxRetain", "memAllocV2", "streamCreate", "memAllocV2", "moduleLoadDataEx",
                          "moduleGetFunction", "launchKernel", "memcpyDtoHAsyncV2", "memFreeV2", "memFreeV2"]
                self.assertEqual([name for name in names if name in wanted], wanted)
                of = {name: arguments for name, arguments in reversed(calls)}
                self.assertEqual(of["memAllocV2"], {"bytes": "12288"})
                self.assertEqual([arguments["bytes"] for name, arguments in calls if name == "memAllocV2"], ["12288", "4000"])
                self.check_launch(calls, answers, of["launchKernel"])
                self.assertEqual(of["moduleGetFunction"]["name"], "fill")
                first, second = (self.result(calls, answers, "memAllocV2", i)["address"] for i in (0, 1))
                self.assertEqual([arguments["address"] for name, arguments in calls if name == "memFreeV2"], [second, first])
                copy = of["memcpyDtoHAsyncV2"]
                self.assertEqual((copy["srcDevice"], copy["byteCount"]), (second, "4000"))

    def result(self, calls, answers, name, which=0):
        number = [i + 1 for i, (one, _) in enumerate(calls) if one == name][which]
        self.assertEqual(answers[number][0], name)
        return answers[number][1]

    def check_launch(self, calls, answers, launch):
        """fill(float *p, float v, int n) on 1000 floats: 4 blocks of 256, and the bytes of p, 7.0F and 1000."""
        self.assertEqual([launch[key] for key in ("gridDimX", "gridDimY", "blockDimX", "sharedMemBytes")], [4, 1, 256, 0])
        self.assertEqual(launch["stream"], self.result(calls, answers, "streamCreate")["stream"])
        self.assertEqual(launch["function"], self.result(calls, answers, "moduleGetFunction")["function"])
        address = int(self.result(calls, answers, "memAllocV2", 1)["address"])
        (values_,) = [bytes(value) for value in launch.values() if isinstance(value, list)]
        self.assertEqual(values_[:16], struct.pack("<Qfi", address, 7.0, 1000))

    def test_help_as_text(self):
        calls = os.path.join(harness.scratch(), "calls")
        with serve() as server, Program(server.socket, env={"AITHERION_RECORD": calls}) as program:
            self.assertEqual(program.do("take plain 4096"), GOOD)
        lines = decode(calls, "Call")
        self.assertRegex(lines[0], r"^\(number = 1, .*isAsked = true, init = \(flags = 0\)\)$")
        self.assertRegex("\n".join(lines), r"\n\(number = \d+, .*memAllocV2 = \(bytes = 4096\)\)")

    def test_each_process_has_its_own(self):
        folder = os.path.join(harness.scratch(), "recorded")
        os.makedirs(folder)
        try:
            with serve() as server:
                env = {"AITHERION_RECORD": os.path.join(folder, "calls-%p-%p%%")}
                with Program(server.socket, env=env) as one, Program(server.address, env=env) as other:
                    wanted = [f"calls-{pid}-{pid}%%" for pid in (one.process.pid, other.process.pid)]
                    self.assertEqual(sorted(os.listdir(folder)), sorted(wanted))
        finally:
            shutil.rmtree(folder)


if __name__ == "__main__":
    harness.main()
