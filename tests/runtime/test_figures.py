#!/usr/bin/env python3
"""The figures that a server measures: counts of each session, and what NVML says of the devices."""
import contextlib
import os
import signal
import time
import unittest

import runtime
from cuda import MIB, Program
from runtime import Server, Session, harness
from test_cuda import TRANSPORTS, place

GOOD = "CUDA_SUCCESS"
COUNTS = ("calls", "receivedBytes", "sentBytes", "waitedUs")


def needs_capnp(test):
    return unittest.skipUnless(runtime.HAS_CAPNP, "no capnp (package capnproto)")(test)


def ask(server, **options):
    with Session(server.connect(), **options) as session:
        return session.ask({"getFigures": None}, "figures")


def counts_of(figures):
    """The counts of each session, with its waits of all durations together, by its id."""
    return {int(one["id"]): dict({name: int(one[name]) for name in COUNTS}, waits=sum(map(int, one["waits"])))
            for one in figures["sessions"]}


def change(server, program, *steps):
    """How steps of the only program change the counts of its session."""
    (before,) = counts_of(ask(server)).values()
    for step in steps:
        program.do(step)
    (after,) = counts_of(ask(server)).values()
    return {name: after[name] - before[name] for name in after}


@needs_capnp
class Counts(unittest.TestCase):
    def test_calls_bytes_and_waits(self):
        for transport in TRANSPORTS:
            with self.subTest(transport), Server("--sim") as server, Program(place(server, transport)) as program:
                program.do(f"take plain {8 * MIB}")
                for step in ("launch 100", "sync"):
                    program.do(step)  # what is asked once, is asked now
                few, many = (change(server, program, *steps) for steps in (("launch 1000", "sync"), ("launch 3000", "sync")))
                # The client gathers calls, and may send a few of an earlier step with this one.
                self.assertAlmostEqual(many["calls"] - few["calls"], 2000, delta=20)
                self.assertAlmostEqual(many["waits"], few["waits"], delta=5)
                self.assertGreater(few["waits"], 0)
                self.assertGreater(many["receivedBytes"] - few["receivedBytes"], 2000 * 64)
                self.assertLess(many["sentBytes"], 4096)
                (session,) = ask(server)["sessions"]
                self.assertEqual(session["transport"], transport)
                self.assertEqual(len(session["waits"]), 9)

    def test_bytes_of_copies(self):
        for transport in TRANSPORTS:
            with self.subTest(transport), Server("--sim") as server, Program(place(server, transport)) as program:
                program.do("fill 1000")
                read = change(server, program, f"fill {4 * MIB}")
                # With shm both sides have the memory, except in builds with sanitizers.
                self.assertGreaterEqual(read["sentBytes"], 16 * MIB if transport == "tcp" else 0)
                self.assertLess(read["sentBytes"], 17 * MIB if transport == "tcp" or runtime.IS_SANITIZED else MIB)

    def test_programs_come_and_go(self):
        with Server("--sim") as server, contextlib.ExitStack() as stack:
            programs = [stack.enter_context(Program(server.socket)) for _ in range(3)]
            for number, program in enumerate(programs):
                program.do(f"launch {1000 * (number + 1)}")
                program.do("sync")
            first = counts_of(ask(server))
            self.assertEqual(list(first), sorted(first))
            self.assertEqual([one["calls"] // 1000 for one in first.values()], [1, 2, 3])
            programs[1].kill()
            self.assertTrue(harness.wait_until(lambda: len(ask(server)["sessions"]) == 2), "a killed program leaves its figures behind")
            programs[0].end()
            self.assertTrue(harness.wait_until(lambda: len(ask(server)["sessions"]) == 1), "an ended program leaves its figures behind")
            with Program(server.socket) as another:
                another.do("sync")
                now = counts_of(ask(server))
                self.assertEqual(list(now)[0], list(first)[2])
                self.assertNotIn(list(now)[1], first)
                self.assertLess(list(now.values())[1]["calls"], 1000)
            figures = ask(server)
            self.assertGreaterEqual(int(figures["accepted"]), 4)
            self.assertEqual((set(figures["refused"]), figures["broken"]), ({"0"}, "0"))

    def test_an_identity_sees_its_own_sessions(self):
        folder = os.path.join(harness.scratch(), "figure-keys")
        os.makedirs(folder, mode=0o700)
        for name in ("alice", "bob"):
            with open(os.open(os.path.join(folder, name), os.O_CREAT | os.O_WRONLY, 0o600), "wb") as file:
                file.write(name.encode() * 8)
        with Server("--sim", keys=folder) as server:
            with Program(server.address, key=b"alice" * 8, env={"AITHERION_KEY_NAME": "alice"}) as program:
                self.assertEqual(program.first, GOOD)
                self.assertEqual(len(ask(server, key=b"alice" * 8, name="alice")["sessions"]), 1)
                others = ask(server, key=b"bob" * 8, name="bob")
                self.assertEqual(others.get("sessions", []), [])
                self.assertEqual(len(others["devices"]), 1)


def of_device(figures, device=0):
    return {name: value if isinstance(value, str) else str(value) for name, value in figures["devices"][device].items()}


@needs_capnp
class Samples(unittest.TestCase):
    def serve(self, **variables):
        return Server("--sim", env=harness.environment(**variables))

    def wait_for(self, server, claim, message):
        """Asks until the claim about the figures is true, and returns them."""
        found = []

        def look():
            found[:] = [ask(server)]
            return claim(found[0])
        self.assertTrue(harness.wait_until(look), f"{message}: {found}")
        return found[0]

    def wait_for_sample(self, server):
        return self.wait_for(server, lambda figures: figures["sampledMsAgo"] != "-1", "there is no sample")

    def test_devices(self):
        with self.serve(AITHERION_SIM_DEVICES="2", AITHERION_SIM_LINKS="0-1:2", AITHERION_SIM_BUSY="40", AITHERION_SIM_MEMORY="64M") as server:
            figures = self.wait_for_sample(server)
            self.assertEqual(len(figures["devices"]), 2)
            pid = harness.sampler_of(server.process.pid)
            files = [os.readlink(f"/proc/{pid}/fd/{name}") for name in os.listdir(f"/proc/{pid}/fd")]
            self.assertFalse([path for path in files if path.startswith("socket:")], "the sampler has a socket")
            self.assertGreaterEqual(int(figures["sampledMsAgo"]), 0)
            for number in range(2):
                device = of_device(figures, number)
                wanted = {"memoryTotalBytes": 64 * MIB, "busyPercent": 40, "memoryBusyPercent": 20, "powerLimitMw": 300000, "smClockMhz": 1000,
                          "xids": 0, "lastXid": -1, "pcieReceivedBytesS": 800_000_000, "pcieSentBytesS": 400_000_000,
                          "nvlinkReceivedBytes": 2 * MIB, "nvlinkSentBytes": 4 * MIB, "healthScore": 100}
                self.assertEqual({name: device[name] for name in wanted}, {name: str(value) for name, value in wanted.items()})
                self.assertGreater(int(device["temperatureC"]), 0)

    def test_faults(self):
        faults = "1:xid=79,1:ecc_uncorrected=3,1:ecc_corrected=7,1:throttle=0x40,1:rows_remapped=2,1:temperature=91,2:lost=1"
        with self.serve(AITHERION_SIM_DEVICES="3", AITHERION_SIM_FAULTS=faults) as server:
            figures = self.wait_for_sample(server)
            sound, faulty, lost = (of_device(figures, number) for number in range(3))
            names = ("xids", "lastXid", "eccUncorrected", "eccCorrected", "throttleReasons", "remappedRows", "temperatureC")
            self.assertEqual([sound[name] for name in names], ["0", "-1", "0", "0", "0", "0", "30"])
            self.assertEqual([faulty[name] for name in names], ["1", "79", "3", "7", "64", "2", "91"])
            self.assertEqual([lost[name] for name in names], ["-1"] * 7)
            self.assertEqual(sound["healthScore"], "100")
            self.assertLess(int(faulty["healthScore"]), 50)
            self.assertLess(int(lost["healthScore"]), 50)
            log = server.log()
            self.assertRegex(log, r"level=error event=gpu-xid device=1 pci=\S+ xid=79 meaning=")
            self.assertRegex(log, r"level=error event=gpu-unhealthy device=1 pci=\S+ score=0 reasons=xid-fatal,ecc-uncorrected,\S*throttled-heat")
            self.assertRegex(log, r"level=error event=gpu-unhealthy device=2 pci=\S+ score=0 reasons=driver-silent\n")
            self.assertNotIn("event=gpu-unhealthy device=0", log)
            os.kill(harness.sampler_of(server.process.pid), signal.SIGKILL)
            figures = self.wait_for(server, lambda now: of_device(now, 1)["xids"] != "1", "the next sampler finds no Xid")
            self.assertEqual([of_device(figures, 1)[name] for name in ("xids", "lastXid")], ["2", "79"])

    def test_an_idle_server_samples_rarely(self):
        """No sample for seconds, after the last question was 10 s ago; a question brings the next one."""
        with self.serve() as server:
            self.wait_for_sample(server)

            def is_old():
                time.sleep(13)  # shows that no sample is taken
                return int(ask(server)["sampledMsAgo"]) > 1500
            self.assertTrue(harness.wait_until(is_old), "an idle server samples often")
            self.wait_for(server, lambda figures: int(figures["sampledMsAgo"]) < 1000, "a question brings no new sample")

    def test_faults_of_devices(self):
        """The server has the same score as the command line tool (tests/cli/test_gpu_health.py); an Xid of a program takes no points."""
        faults = "0:ecc_uncorrected=3,0:ecc_corrected=7,1:xid=79,2:xid=31,3:throttle=0x40,3:rows_pending=1,3:rows_remapped=5,4:lost=2"
        with self.serve(AITHERION_SIM_DEVICES="5", AITHERION_SIM_FAULTS=faults) as server:
            figures = self.wait_for(server, lambda figures: [of_device(figures, i).get("healthScore") for i in range(5)] == ["60", "40", "100", "45", "0"],
                                    "the scores are others")
            names = ("eccUncorrected", "eccCorrected", "xids", "lastXid", "throttleReasons", "remappedRows")
            self.assertEqual([[of_device(figures, i)[name] for name in names] for i in range(4)],
                             [["3", "7", "0", "-1", "0", "0"], ["0", "0", "1", "79", "0", "0"], ["0", "0", "0", "31", "0", "0"],
                              ["0", "0", "0", "-1", "64", "5"]])

    def test_time_of_sessions(self):
        with self.serve(AITHERION_SIM_BUSY="50") as server, Program(server.socket) as program:
            self.assertEqual(program.first, GOOD)

            def of_session(figures):
                (session,) = figures["sessions"]
                return int(session["gpuTimeUs"]), int(session["busyPercent"])
            first = of_session(self.wait_for(server, lambda figures: of_session(figures)[0] > 0, "the session uses no GPU time"))
            self.assertEqual(first[1], 50)
            later = self.wait_for(server, lambda figures: of_session(figures)[0] > first[0], "the GPU time stands still")
            self.assertEqual(of_session(later)[1], 50)

    def test_a_killed_sampler_is_replaced(self):
        with self.serve(AITHERION_SIM_BUSY="50") as server, Program(server.socket) as program:
            self.wait_for(server, lambda figures: int(figures["sessions"][0].get("gpuTimeUs", -1)) > 0, "there is no sample")
            first = harness.sampler_of(server.process.pid)
            before = int(ask(server)["sessions"][0]["gpuTimeUs"])
            os.kill(first, signal.SIGKILL)
            self.assertTrue(server.wait_for_log("event=sampler-ended"))
            self.assertEqual(program.do("sync"), GOOD)
            self.assertTrue(harness.wait_until(lambda: harness.sampler_of(server.process.pid) not in (None, first)), "no other sampler")
            self.wait_for(server, lambda figures: int(figures["sessions"][0]["gpuTimeUs"]) > before, "the time does not go on")
            self.assertRegex(server.log(), f"level=warning event=sampler-ended pid={first} reason=Killed\n")

    def test_a_sampler_that_hangs_is_replaced(self):
        with self.serve() as server, Program(server.socket) as program:
            self.wait_for_sample(server)
            first = harness.sampler_of(server.process.pid)
            os.kill(first, signal.SIGSTOP)
            old = self.wait_for(server, lambda figures: int(figures["sampledMsAgo"]) > 2000, "the sample does not age")
            self.assertEqual(of_device(old)["powerLimitMw"], "300000")
            self.assertEqual(program.do("fill 1000"), f"{GOOD} right")
            self.assertTrue(server.wait_for_log(f"event=sampler-hangs pid={first}"))
            self.assertTrue(harness.wait_until(lambda: harness.sampler_of(server.process.pid) not in (None, first)), "no other sampler")
            self.wait_for(server, lambda figures: 0 <= int(figures["sampledMsAgo"]) < 2000, "there is no new sample")

    def test_nvml_that_hangs_from_the_beginning(self):
        with self.serve(AITHERION_SIM_NVML="hangs") as server, Program(server.socket) as program:
            self.assertEqual(program.do("fill 1000"), f"{GOOD} right")
            self.assertTrue(harness.wait_until(lambda: harness.sampler_of(server.process.pid)))
            figures = ask(server)
            device = of_device(figures)
            self.assertEqual((figures["sampledMsAgo"], device["temperatureC"], device["healthScore"]), ("-1", "-1", "-1"))
            self.assertEqual((device["sessions"], figures["sessions"][0]["gpuTimeUs"]), ("1", "-1"))
            self.assertGreater(int(device["memoryTotalBytes"]), 0)
            sampler = harness.sampler_of(server.process.pid)
            self.assertEqual(server.stop(), 0)
            self.assertTrue(harness.wait_until(lambda: not os.path.exists(f"/proc/{sampler}")), "the sampler outlives the server")

    def test_no_nvml(self):
        """The simulator's folder has a driver and no NVML: no other sampler is tried."""
        folder = os.path.join(harness.scratch(), "no-nvml")
        os.makedirs(folder)
        os.symlink(os.path.join(harness.build(), "lib", "aitherion", "sim", "libcuda.so.1"), os.path.join(folder, "libcuda.so.1"))
        with self.serve(AITHERION_SIM_FOLDER=folder) as server:
            self.assertTrue(server.wait_for_log("event=no-nvml"))
            self.assertTrue(harness.wait_until(lambda: not harness.sampler_of(server.process.pid)))
            self.assertEqual(ask(server)["sampledMsAgo"], "-1")
            self.assertNotIn("sampler-ended", server.log())

    def test_it_ends_with_the_server(self):
        with self.serve() as server:
            self.wait_for_sample(server)
            sampler = harness.sampler_of(server.process.pid)
            server.process.kill()
            self.assertTrue(harness.wait_until(lambda: not os.path.exists(f"/proc/{sampler}")), "the sampler outlives the server")


if __name__ == "__main__":
    harness.main()
