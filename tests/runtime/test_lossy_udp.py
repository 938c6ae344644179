#!/usr/bin/env python3
"""The whole suite of CUDA programs with their large copies by UDP, through a relay that loses one datagram of a hundred. It takes minutes:
`./check all` runs it, and test_udp.py has the programs that copy most for `./check`."""
import os
import sys
import unittest

import runtime
from runtime import harness
from test_cuda import needs_capnp
from test_udp import HERE, RELAYED, Relay, bad_path

sys.path.insert(0, os.path.join(runtime.SOURCE, "tests", "cuda_programs"))
sys.path.insert(0, os.path.join(runtime.SOURCE, "tests", "tools"))

import nodes  # noqa: E402
import programs  # noqa: E402

LEAST_TESTS = 200  # of all programs: fewer would mean that most were skipped


@needs_capnp
class Lossy(unittest.TestCase):
    def check_suite(self, encrypt, arguments=(), port=None):
        """port: of the data addresses; None: there are none, and datagrams go to a port of the address of the calls."""
        with runtime.Server("--sim", "--encrypt", encrypt, *arguments, env=harness.environment(AITHERION_SIM_DEVICES="2")) as server, \
                Relay(server, bad_path(0.01), port) as relay:
            env = programs.environment(programs.library_folder("aitherion"), AITHERION_SERVER=relay.address,
                                       AITHERION_KEY_FILE=runtime.key_file(), AITHERION_TRANSPORT="udp", AITHERION_ENCRYPT=encrypt)
            passed, failed, _ = programs.run_all(env)
            log = server.log()
            self.assertEqual(failed, 0)
            self.assertGreater(passed, LEAST_TESTS)
            self.assertGreater(relay.seen, 1000)
            self.assertNotIn("session-crashed", log)
            self.assertNotIn(" transport=tcp ", log)

    def test_equal_shares(self):
        for encrypt in ("off", "on"):
            with self.subTest(encrypt):
                self.check_suite(encrypt, ("--udp", "0"))

    def test_pieces(self):
        """With a data address, whose connections carry pieces."""
        for encrypt in ("off", "on"):
            with self.subTest(encrypt):
                port = nodes.free_ports(1)[0]
                self.check_suite(encrypt, ("--udp", "on", "--data-listen", f"{HERE}:{port}", "--data-address", f"{RELAYED}:{port}"), port)


if __name__ == "__main__":
    harness.main()
